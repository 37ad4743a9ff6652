"""The page opens for a browser that followed a link, and a form counts from the page that this browser was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

import httpx
import pytest
from starlette.types import ASGIApp

from agent_home.home import Home
from distill.review.queue import waiting
from interfaces.api import AgentHome
from interfaces.page.access import make_link
from interfaces.page.rendering import POLICY
from interfaces.page.routes import ACTIONS, VIEWS
from interfaces.service.http.activity import Activity
from interfaces.service.http.app import application, page_application
from interfaces.service.http.callers import Callers
from interfaces.service.http.tokens import SCOPES, add_token
from tests.conftest import FolderCopy, _configure_git
from tests.interfaces.page.browser import HOST, URL, Browser, Document, Form
from tests.interfaces.page.conftest import Clock

PATHS = [view.path.replace("{entry}", "KD-0001") for view in VIEWS]
POSTS = [*(action.path for action in ACTIONS), "/page/sign-out"]


@dataclass(frozen=True)
class Stage:
    """A home in which one text waits, and a signed-in browser that was shown it. What is refused changes neither."""

    home: Home
    app: ASGIApp
    browser: Browser
    item: str

    @property
    def accepting(self) -> Form:
        """The form that accepts the text."""
        return self.browser.read("/page/review", item=self.item).form(f"/{self.item}/accept")

    @property
    def waits(self) -> bool:
        """True while nobody decided about the text."""
        return [item.id for item in waiting(self.home, datetime.now(UTC))] == [self.item]


@pytest.fixture(scope="module")
def stage(_pattern_home: FolderCopy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = Home(tmp_path_factory.mktemp("stage") / "home")
    _pattern_home.write(home.root)
    now = datetime.now(UTC)
    with pytest.MonkeyPatch.context() as patch:
        _configure_git(patch)
        patch.setattr("interfaces.indexing.MAX_VECTORS", 0)
        AgentHome(home).remember("Decision: we keep one ledger.", origin="participant", speaker="Robin", now=now)
    app = page_application(Callers({"s": home}), Activity(0))
    made = Stage(home, app, Browser(app).sign_in(home, "Kim", now), waiting(home, now)[0].id)
    assert made.waits
    yield made
    assert made.waits


def test_a_link_leads_to_the_review_once(app: ASGIApp, home: Home, clock: Clock) -> None:
    secret = make_link(home, "Kim", clock.now())
    first, second = (Browser(app).get("/page/sign-in", code=secret) for _ in range(2))
    assert (first.status_code, first.headers["location"]) == (303, "/page/review")
    assert secret not in first.headers["set-cookie"]
    assert second.status_code == 401
    assert "This link was used before" in second.text
    assert "set-cookie" not in second.headers


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(app: ASGIApp, home: Home, clock: Clock) -> None:
    answer = Browser(app).get("/page/sign-in", code=make_link(home, "Kim", clock.now()))
    _, *parts = answer.headers["set-cookie"].split("; ")
    assert set(parts) == {"HttpOnly", "SameSite=lax", "Path=/page"}


def test_the_cookie_is_secure_over_tls(app: ASGIApp, home: Home, clock: Clock) -> None:
    secret = make_link(home, "Kim", clock.now())
    answer = Browser(app).get(f"https://{HOST}/page/sign-in?code={secret}")
    assert "Secure" in answer.headers["set-cookie"]


def test_two_homes_on_two_ports_keep_their_cookies_apart(app: ASGIApp, home: Home, clock: Clock) -> None:
    names = set()
    for port in (8377, 8378):
        secret = make_link(home, "Kim", clock.now())
        answer = Browser(app).get(f"http://localhost:{port}/page/sign-in?code={secret}")
        names.add(answer.headers["set-cookie"].partition("=")[0])
    assert len(names) == 2


def test_a_browser_is_signed_out_after_half_a_day(browser: Browser, clock: Clock) -> None:
    clock.pass_(hours=11.9)
    assert browser.get("/page/review").status_code == 200
    clock.pass_(hours=0.2)
    assert browser.get("/page/review").status_code == 401


def test_nobody_else_sees_a_view(stage: Stage) -> None:
    for path in PATHS:
        answer = Browser(stage.app).get(path)
        assert answer.status_code == 401
        assert "memory page" in answer.text
        assert "Test" not in Document(answer.text).text  # the name of the agent


@pytest.mark.parametrize("path", POSTS)
def test_nobody_else_sends_a_form(stage: Stage, path: str) -> None:
    answer = Browser(stage.app).post(path.replace("{item:path}", stage.item), stage.accepting.fields)
    assert answer.status_code == 401
    assert stage.waits


def test_a_browser_of_one_home_sees_nothing_of_another(home: Home, stage: Stage) -> None:
    app, now = page_application(Callers({"s": home, "t": stage.home}), Activity(0)), datetime.now(UTC)
    assert stage.item in Browser(app).sign_in(stage.home, "Kim", now).get("/page/review").text
    assert stage.item not in Browser(app).sign_in(home, "Kim", now).get("/page/review").text


def test_a_token_opens_nothing_of_the_page(stage: Stage) -> None:
    token = add_token(stage.home, "laptop", scopes=SCOPES, audience="owner", now=datetime.now(UTC))
    app = application(Callers({"s": stage.home}), Activity(0), address=HOST)
    headers = {"Authorization": f"Bearer {token}"}
    for path in PATHS:
        assert Browser(app).get(path, headers=headers).status_code == 401
    for path in POSTS:
        assert Browser(app).post(path.replace("{item:path}", stage.item), {}, headers=headers).status_code == 401
    assert Browser(app).get("/page/sign-in", headers=headers, code=token).status_code == 401
    assert stage.waits


def test_a_cookie_opens_nothing_of_the_api(stage: Stage) -> None:
    app = application(Callers({"s": stage.home}), Activity(0), address=HOST)
    api = Browser(app)
    api.cookies = stage.browser.cookies
    assert api.ask("GET", "/page/review").status_code == 200
    assert api.ask("GET", "/search", params={"q": "x"}).status_code in {401, 404, 405}
    assert api.ask("POST", "/entries", json={}).status_code in {401, 404, 405}


def test_a_service_without_a_port_has_no_page(home: Home) -> None:
    answer = Browser(application(Callers({"s": home}), Activity(0))).get("/page/review")
    assert answer.status_code == 404


@pytest.mark.parametrize("path", ["/", "/page/", "/page/sign-in", "/page/static/page.css", "/page/none", *PATHS])
def test_the_homes_socket_has_no_page(stage: Stage, path: str) -> None:
    app = application(Callers({"s": stage.home}), Activity(0), address=HOST)

    async def over_socket() -> httpx.Response:
        async def on_socket(scope: dict[str, object], receive: object, send: object) -> None:
            await app({**scope, "server": ("s", None)}, receive, send)  # type: ignore[arg-type]

        transport = httpx.ASGITransport(app=on_socket)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url=URL, cookies=stage.browser.cookies) as client:
            return await client.get(path)

    answer = asyncio.run(over_socket())
    assert answer.status_code == 404
    assert "location" not in answer.headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8377", "127.0.0.2", "", "@"])
@pytest.mark.parametrize("path", ["/", "/page/sign-in", "/page/review", "/page/static/page.js", "/page/none"])
def test_a_name_that_was_turned_to_this_machine_is_refused(stage: Stage, host: str, path: str) -> None:
    answer = stage.browser.get(path, headers={"Host": host})
    assert answer.status_code == 421
    assert "location" not in answer.headers
    assert "memory page" not in answer.text


def test_a_form_under_a_foreign_name_changes_nothing(stage: Stage) -> None:
    headers = {"Host": "evil.example", "Origin": "http://evil.example"}
    accepting = stage.accepting
    assert stage.browser.post(accepting.action, accepting.fields, headers=headers).status_code == 421
    assert stage.waits


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://localhost:8377"},
        {"Origin": f"{URL}.evil.example"},
        {"Origin": f"http://evil.example/{HOST}"},
        {"Origin": "http://["},
        {"Origin": f"http://evil.example@{HOST}x"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": ""},
    ],
    ids=str,
)
def test_a_form_of_another_site_changes_nothing(stage: Stage, headers: dict[str, str]) -> None:
    accepting = stage.accepting
    answer = stage.browser.post(accepting.action, accepting.fields, headers=headers)
    assert answer.status_code == 403
    assert "does not come from this page" in answer.text
    assert stage.waits


def test_a_form_without_the_key_of_this_browser_changes_nothing(stage: Stage) -> None:
    other, accepting = Browser(stage.app).sign_in(stage.home, "Robin", datetime.now(UTC)), stage.accepting
    foreign = other.read("/page/review").form("/accept").fields["form_key"]
    for key in ("", foreign, accepting.fields["form_key"][:-1], accepting.fields["form_key"] + "\0"):
        assert stage.browser.submit(accepting, form_key=key).status_code == 403
    assert stage.browser.post(accepting.action, {}).status_code == 403
    assert stage.waits


@pytest.mark.parametrize("path", POSTS)
def test_every_form_needs_the_key(stage: Stage, path: str) -> None:
    fields = {**stage.accepting.fields, "form_key": "x"}
    assert stage.browser.post(path.replace("{item:path}", stage.item), fields).status_code in {401, 403}
    assert stage.waits
    assert stage.browser.get("/page/review").status_code == 200


def test_no_address_of_a_form_acts_on_a_link(stage: Stage) -> None:
    fields = stage.accepting.fields
    for path in POSTS:
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            answer = stage.browser.ask(method, path.replace("{item:path}", stage.item), params=fields)
            assert answer.status_code in {404, 405}
    assert stage.waits


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/x-www-form-urlencoded", b"a=1&" * 5000),
        ("application/x-www-form-urlencoded", b"%" * 1000),
        ("application/x-www-form-urlencoded", b"\xff\xfe\0=&;=%00"),
        ("multipart/form-data; boundary=x", b"--x\r\n"),
        ("application/json", b'{"form_key": 1}'),
        ("text/plain", b""),
        ("", b"\0" * 100_000),
    ],
    ids=lambda value: str(len(value)),
)
def test_any_other_body_is_refused(stage: Stage, content_type: str, body: bytes) -> None:
    headers = {"Origin": URL, "Content-Type": content_type}
    answer = stage.browser.ask("POST", stage.accepting.action, content=body, headers=headers)
    assert answer.status_code in {403, 422}
    assert "<!doctype html>" in answer.text
    assert stage.waits


def test_a_flood_of_fields_is_refused_with_the_key(stage: Stage) -> None:
    accepting = stage.accepting
    body = urlencode([*accepting.fields.items(), *((f"f{number}", "x") for number in range(100))])
    headers = {"Origin": URL, "Content-Type": "application/x-www-form-urlencoded"}
    answer = stage.browser.ask("POST", accepting.action, content=body, headers=headers)
    assert answer.status_code == 422
    assert stage.waits


def test_a_body_of_more_than_a_megabyte_is_refused(stage: Stage) -> None:
    answer = stage.browser.submit(stage.accepting, text="x" * (1 << 20))
    assert answer.status_code == 413
    assert answer.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("dest", ["image", "iframe", "script", "empty", "object"])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_page_of_another_origin_loads_a_view_unseen(stage: Stage, site: str, dest: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": dest}
    assert stage.browser.get("/page/review", headers=headers).status_code == 403
    headers["Sec-Fetch-Dest"] = "document"
    assert stage.browser.get("/page/review", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", path) for path in PATHS),
        *(("POST", path) for path in POSTS),
        ("GET", "/"), ("GET", "/page/"), ("GET", "/page"), ("GET", "/page/sign-in"), ("GET", "/page/sign-in?code=x"),
        ("GET", "/page/static/page.css"), ("GET", "/page/static/none"), ("GET", "/page/none"),
        ("PUT", "/page/review"), ("OPTIONS", "/page/review"), ("HEAD", "/page/review"), ("GET", "/none"),
        ("GET", "/page/memory?at=none"), ("GET", "/page/prompt?window=1"), ("GET", "/page/../../etc/passwd"),
    ],
)  # fmt: skip
def test_every_answer_has_the_policy(stage: Stage, method: str, path: str) -> None:
    for asking in (stage.browser, Browser(stage.app)):
        answer = asking.ask(method, path)
        assert answer.headers["content-security-policy"] in {POLICY, "default-src 'none'; frame-ancestors 'none'"}
        assert answer.headers["x-content-type-options"] == "nosniff"
        if "/static/" not in path:
            assert answer.headers["cache-control"] == "no-store"


def test_views_allow_no_frame_no_sniffing_no_cache_and_no_other_site(stage: Stage) -> None:
    headers = stage.browser.get("/page/review").headers
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


def test_a_person_signs_out(app: ASGIApp, browser: Browser) -> None:
    kept = Browser(app)
    kept.cookies.update(browser.cookies)
    answer = browser.submit(browser.read("/page/review").form("/page/sign-out"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/page/sign-in")
    assert browser.get("/page/review").status_code == 401
    assert kept.get("/page/review").status_code == 401


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_language_is_kept(stage: Stage, language: str) -> None:
    browser = Browser(stage.app)
    browser.cookies.update(stage.browser.cookies)
    assert f'lang="{language}"' in browser.get("/page/memory", lang=language).text
    assert f'<html lang="{language}"' in browser.get("/page/memory").text


@pytest.mark.parametrize(
    "language", ["", "xx", "../zh", "zh\r\nSet-Cookie: a=b", "zh; Domain=x", "\0", "x" * 60_000, "ZH"], ids=len
)
def test_no_other_language_is_kept(stage: Stage, language: str) -> None:
    browser = Browser(stage.app)
    browser.cookies.update(stage.browser.cookies)
    answer = browser.get("/page/memory", lang=language)
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert '<html lang="en"' in browser.get("/page/memory").text


def test_links_of_languages_keep_the_query_and_never_the_code(stage: Stage) -> None:
    browser = stage.browser
    shown = browser.read("/page/memory", words='a"&b=c', section="Key Decisions")
    (address,) = {tag.attributes["href"] for tag in shown.tags if tag.attributes.get("hreflang") == "zh"}
    assert browser.read(address).form("/page/memory").fields["words"] == 'a"&b=c'
    assert "zzz" not in "".join(
        tag.attributes.get("href", "") for tag in Document(browser.get("/page/sign-in", code="zzz").text).tags
    )


@pytest.mark.parametrize("value", ["x\r\nX-Evil: 1", "\r\n\r\n<x-evil>", "%0d%0aX-Evil: 1", "//evil.example", "\0"])
def test_no_field_reaches_a_header(browser: Browser, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    for name in ("queue.find", "queue.reject", "require_seen"):
        monkeypatch.setattr(f"interfaces.page.routes.{name}", lambda *_, **__: None)
    fields = browser.read("/page/review").form("/page/sign-out").fields
    answer = browser.post("/page/review/x/reject", {**fields, "next": value})
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/page/review?item=")
    assert "x-evil" not in answer.headers


@pytest.mark.parametrize("path", ["//evil.example/page/", "/page//evil.example", "/\\evil.example", "/page/%2f%2fevil"])
def test_no_address_leads_to_another_site(stage: Stage, path: str) -> None:
    answer = stage.browser.ask("GET", f"{URL}{path}")
    assert answer.status_code == 404
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    "path",
    ["/page/static/../routes.py", "/page/static/..%2froutes.py", "/page/static/%2e%2e%2froutes.py", "/page/static/",
     "/page/static/page.css/x", "/page/static//etc/passwd", "/page/memory/..%2f..%2fagent.toml", "/page/static/a%00"],
)  # fmt: skip
def test_no_address_leaves_the_page(stage: Stage, path: str) -> None:
    assert stage.browser.ask("GET", f"{URL}{path}").status_code == 404


def test_an_unknown_cookie_is_nobody(stage: Stage) -> None:
    for value in (b"x", b"x" * 4000, b"\xff\xfe", b"a; b", b'"', b"\\012", b"%00"):
        headers = [(b"Cookie", b"agent-home-page-8377=" + value)]
        assert Browser(stage.app).ask("GET", "/page/review", headers=headers).status_code == 401
