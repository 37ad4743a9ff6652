"""Pages of other ports and names, in the browser that is signed in, neither see nor use the page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import BrowserContext, Response

from agent_home.home import Home
from distill.review.queue import waiting

from .conftest import link_of

#: What a hostile page does to the page at ADDRESS. It says when it is done.
ATTACK = """<!doctype html><title>hostile</title>
<iframe name=frame src="ADDRESS/page/review"></iframe><img src="ADDRESS/page/review?item=ITEM">
<script src="ADDRESS/page/review"></script><link rel=stylesheet href="ADDRESS/page/memory">
<object data="ADDRESS/page/memory"></object>
<form id=form method=post target=frame action="ADDRESS/page/review/ITEM/accept"><input name=form_key value=x></form>
<script>
const read = [];
const ask = (path, options) => fetch("ADDRESS" + path, {credentials: "include", ...options})
  .then((answer) => answer.text()).then((text) => read.push(text), () => {});
document.getElementById("form").submit();
const form = new URLSearchParams({form_key: "x"});
Promise.all([
  ask("/page/review", {mode: "no-cors"}), ask("/page/review", {}),
  ask("/page/review/ITEM/accept", {method: "POST", mode: "no-cors", body: form}),
  ask("/page/review/ITEM/reject", {method: "POST", body: form}),
]).then(() => setTimeout(() => { document.title = "read " + read.join("").length; }, 1000));
</script>"""


class _Site(ThreadingHTTPServer):
    """A server of one hostile page."""

    text = ""


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, _Site)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.text.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[_Site]:
    with _Site(("127.0.0.1", 0), _Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_another_site_sees_nothing_and_decides_nothing(
    context: BrowserContext, address: str, home: Home, site: _Site, name: str
) -> None:
    context.new_page().goto(link_of(home))
    before = [item.id for item in waiting(home, datetime.now(UTC))]
    site.text = ATTACK.replace("ADDRESS", address).replace("ITEM", before[0])
    answers: list[Response] = []

    def note(answer: Response) -> None:
        answers.append(answer)

    context.on("response", note)
    page = context.new_page()
    page.goto(f"http://{name}:{site.server_port}/")
    page.wait_for_function("document.title.startsWith('read')")
    assert page.title() == "read 0"
    asked = [answer for answer in answers if answer.url.startswith(address) and "/static/" not in answer.url]
    assert asked  # the browser itself throws away most of them
    assert {answer.status for answer in asked} <= {401, 403}
    assert [item.id for item in waiting(home, datetime.now(UTC))] == before


def test_a_form_of_another_site_in_a_window_of_its_own_decides_nothing(
    context: BrowserContext, address: str, home: Home, site: _Site
) -> None:
    context.new_page().goto(link_of(home))
    before = [item.id for item in waiting(home, datetime.now(UTC))]
    site.text = (
        f"<form method=post action='{address}/page/review/{before[0]}/accept'><input name=form_key></form>"
        "<script>document.forms[0].submit()</script>"
    )
    page = context.new_page()
    with page.expect_response(lambda answer: answer.request.method == "POST") as sent:
        page.goto(f"http://127.0.0.1:{site.server_port}/")
    assert sent.value.status == 403
    assert [item.id for item in waiting(home, datetime.now(UTC))] == before
