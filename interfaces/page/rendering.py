"""Own how views become HTML: templates, in which every value is escaped, and the files beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from agent_home.visible import revealed

from .language import LANGUAGES, translation
from .seen import seen_of

__all__ = ["POLICY", "STATIC", "StaticFile", "render", "static_file"]

#: Nothing runs and nothing loads but the files of this page, and no form leads elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: Names of the files beside the templates, with their types.
STATIC: Mapping[str, str] = {
    "page.css": "text/css",
    "charts.css": "text/css",
    "page.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file beside the templates. *tag* changes with its content."""

    content: bytes
    media_type: str
    tag: str


@cache
def static_file(name: str) -> StaticFile | None:
    """Return the static file of that name, or ``None``."""
    if name not in STATIC:
        return None
    content = files(__package__).joinpath("static", name).read_bytes()
    return StaticFile(content, STATIC[name], hashlib.sha256(content).hexdigest()[:12])


def render(template: str, language: str, *, live: bool = True, **values: Any) -> str:
    """Return the HTML of *template*. Every value is escaped, and invisible characters in it are shown.

    A page that is not *live* is a part of a file: it has no forms, and its links lead to other places of the file.
    """
    return _environment().get_template(template).render(
        _=translation(language), language=language, languages=LANGUAGES, live=live,
        base="base.html" if live else "part.html", **values,
    )  # fmt: skip


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("interfaces.page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters["shown"] = revealed
    made.filters["seen"] = seen_of
    made.globals["static"] = _static_address
    return made


def _static_address(name: str) -> str:
    found = static_file(name)
    assert found is not None, name  # noqa: S101 - templates name files that are here
    return f"/page/static/{name}?v={found.tag}"
