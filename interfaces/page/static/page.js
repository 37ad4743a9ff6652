// Keys of the page. Everything works without this file as well.
"use strict";

function target(key) {
  const found = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  return found || document.querySelector(`[data-key-of="${CSS.escape(key)}"] a`);
}

function follow(element) {
  if (element.matches("input, textarea, select")) {
    element.focus();
    element.select?.();
    return;
  }
  element.click();
  if (element.matches("summary")) {
    element.parentElement.querySelector("textarea, input:not([type=hidden]), button")?.focus();
  }
}

function beside(step) {
  const links = [...document.querySelectorAll(".queue a")];
  const at = links.findIndex((link) => link.getAttribute("aria-current"));
  return at < 0 ? null : links[at + step];
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.matches("input, textarea, select")) {
    event.target.blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) {
    return;
  }
  const step = { j: 1, k: -1 }[event.key];
  const element = (step && beside(step)) || target(event.key);
  if (element) {
    event.preventDefault();
    follow(element);
  }
});

document.addEventListener("htmx:after:swap", () => document.getElementById("main")?.focus({ preventScroll: true }));
