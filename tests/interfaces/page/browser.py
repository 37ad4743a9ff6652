"""A browser without scripts: it keeps cookies, sends what a browser sends, and reads the tags of an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from html.parser import HTMLParser
from typing import Any

import httpx
from starlette.types import ASGIApp

from agent_home.home import Home
from interfaces.page.access import make_link

__all__ = ["HOST", "URL", "Browser", "Document", "Form", "Tag"]

HOST = "127.0.0.1:8377"
URL = f"http://{HOST}"
#: What a browser says of a request that a page of the same site makes.
_OWN = {"Origin": URL, "Sec-Fetch-Site": "same-origin"}
_EMPTY = frozenset({"br", "hr", "img", "input", "link", "meta"})


@dataclass(frozen=True, slots=True)
class Tag:
    """A start tag."""

    name: str
    attributes: Mapping[str, str]


@dataclass(slots=True)
class Form:
    """A form: its method, its address, and its fields with their values."""

    method: str
    action: str
    fields: dict[str, str] = field(default_factory=dict)


class Document(HTMLParser):
    """The tags, forms and texts of HTML, read as a browser reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[Tag] = []
        self.forms: list[Form] = []
        self._texts: list[str] = []
        self._area = ""
        self.feed(html)
        self.close()

    @property
    def text(self) -> str:
        """What a person reads."""
        return "".join(self._texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.append(Tag(tag, values))
        if tag == "form":
            self.forms.append(Form(values.get("method", "get"), values.get("action", "")))
        elif tag == "input" and self.forms and "name" in values:
            self.forms[-1].fields[values["name"]] = values.get("value", "")
        elif tag == "textarea":
            self._area = values.get("name", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            fields = self.forms[-1].fields
            fields[self._area] = fields.get(self._area, "") + data
        self._texts.append(data)

    def form(self, end: str) -> Form:
        """Return the first form whose address ends so."""
        return next(form for form in self.forms if form.action.endswith(end))


class Browser:
    """A browser of a person. Each request is a loop of its own, as each test is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.cookies = httpx.Cookies()

    def sign_in(self, home: Home, person: str, now: datetime) -> Browser:
        """Follow a new link of *home*."""
        answer = self.get("/page/sign-in", code=make_link(home, person, now))
        assert answer.status_code == 303, answer.text
        return self

    def get(self, path: str, /, *, headers: Mapping[str, str] | None = None, **query: str) -> httpx.Response:
        """Open an address, as a link of the page does."""
        return self.ask("GET", path, headers={"Sec-Fetch-Site": "same-origin", **(headers or {})}, params=query or None)

    def read(self, path: str, **query: str) -> Document:
        """Return what an address shows, which must be there."""
        answer = self.ask("GET", path, headers={"Sec-Fetch-Site": "same-origin"}, params=query or None)
        assert answer.status_code == 200, answer.text
        return Document(answer.text)

    def post(self, path: str, data: Mapping[str, str], *, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Send a form of the page."""
        return self.ask("POST", path, headers={**_OWN, **(headers or {})}, data=dict(data))

    def submit(self, form: Form, **values: str) -> httpx.Response:
        """Send *form* with its own fields and with *values*."""
        return self.post(form.action, {**form.fields, **values})

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        """Send any request."""
        return asyncio.run(self._asked(method, path, given))

    async def _asked(self, method: str, path: str, given: Mapping[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url=URL, cookies=self.cookies) as client:
            answer = await client.request(method, path, **given)
            self.cookies = client.cookies
            return answer
