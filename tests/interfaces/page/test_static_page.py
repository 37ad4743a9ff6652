"""The file shows the views as they are now. Nothing in it runs, leads elsewhere, or can be sent."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.git.history import head
from agent_home.home import Home
from interfaces.page.static_page import static_page
from tests.conftest import NOW
from tests.interfaces.page.browser import Document
from tests.interfaces.page.hostile import ENTRY, HIDING, SECRET, hostile

#: Every element of the file.
ALLOWED = frozenset({
    "a", "article", "blockquote", "body", "circle", "code", "dd", "del", "desc", "details", "div", "dl", "dt",
    "figcaption", "figure", "g", "h1", "h2", "h3", "head", "header", "html", "ins", "li", "line", "main", "meta", "nav",
    "ol", "p", "path", "polyline", "pre", "rect", "section", "span", "strong", "style", "summary", "svg", "table",
    "tbody", "td", "text", "th", "thead", "time", "title", "tr", "ul",
})  # fmt: skip


@pytest.fixture(scope="module")
def html(hostile_home: Home) -> str:
    return static_page(hostile_home, NOW)


@pytest.fixture(scope="module")
def document(html: str) -> Document:
    return Document(html)


def test_nothing_in_the_file_can_be_sent_or_run(document: Document) -> None:
    assert {tag.name for tag in document.tags} <= ALLOWED
    for tag in document.tags:
        for name in tag.attributes:
            assert not name.startswith(("on", "hx-")), tag
            assert name not in {"style", "src", "action", "srcset", "background"}, tag


def test_the_links_of_the_file_lead_into_it(document: Document) -> None:
    ids = [tag.attributes["id"] for tag in document.tags if "id" in tag.attributes]
    assert len(ids) == len(set(ids))
    links = {tag.attributes["href"] for tag in document.tags if "href" in tag.attributes}
    assert links
    assert {link[1:] for link in links} <= set(ids)
    assert all(link.startswith("#") for link in links)


def test_the_policy_of_the_file_allows_its_style_alone(html: str, document: Document) -> None:
    (policy,) = (
        tag.attributes["content"]
        for tag in document.tags
        if tag.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'"
    assert not re.search(r"url\(|@import|expression", style)
    assert html.index("Content-Security-Policy") < html.index("<style>")


def test_hostile_texts_are_text_in_the_file(document: Document) -> None:
    for place in ("agent", "statement", "field", "turn", "work-subject", "own-subject", "proposal", "section"):
        assert hostile(place) in document.text, place


def test_the_file_leaves_out_what_the_guard_holds_back(html: str) -> None:
    assert SECRET not in html
    assert f'id="{HIDING}"' not in html
    assert not re.search("[\u200b\u202e]", html)
    assert hostile("held") not in Document(html).text
    assert "1 more. This file leaves out what the guard holds back." in html


def test_the_file_says_of_what_moment_it_is(hostile_home: Home, document: Document) -> None:
    assert "2026-11-21 09:00" in document.text
    assert head(hostile_home.root)[:9] in document.text
    assert f"#{ENTRY}" in {tag.attributes.get("href") for tag in document.tags}


def test_the_file_shows_the_state_of_the_home(document: Document) -> None:
    assert any(tag.attributes.get("id") == "health" for tag in document.tags)
    assert "running" not in document.text


def test_the_file_of_a_new_home_is_whole(home: Home, now: datetime) -> None:
    document = Document(static_page(home, now))
    assert "Nothing waits for you." in document.text
    assert "No entry matches." in document.text


def test_the_file_is_in_the_language_that_is_asked_for(home: Home, now: datetime) -> None:
    assert '<html lang="zh">' in static_page(home, now, "zh")


def test_making_the_file_writes_nothing_into_the_home(home: Home, now: datetime) -> None:
    def kept() -> dict[Path, bytes]:
        files = (path for path in home.root.rglob("*") if path.is_file() and not {".git", ".memory"} & {*path.parts})
        return {path: path.read_bytes() for path in files}

    before = kept()
    static_page(home, now)
    assert kept() == before
