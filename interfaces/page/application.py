"""Own the routes of the page: who is signed in, what each address shows, and the decisions that its forms make.

A form counts only if it comes from this page (``Origin``) and has the key of the browser that it was shown to. The
person who decides is the one that the sign-in link names.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from agent_home import clock
from agent_home.errors import HomeError
from agent_home.home import Home
from agent_home.waiting import most_wait_s
from recall.collector_pause import collector_paused

from ..indexing import index_changes
from .access import Visitor, sign_in, sign_out, visitor_of
from .language import LANGUAGES, chosen_language, translation
from .rendering import POLICY, render, static_file
from .routes import ACTIONS, VIEWS, PageAction, PageView

__all__ = ["page_problem", "page_routes"]

_COOKIE, _LANGUAGE = "agent-home-page", "agent-home-language"
_YEAR_S, _DAY_S = 365 * 86_400, 86_400
#: Seconds that a person waits for another process to leave the home.
_PATIENCE_S = 3.0
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",  # without a referrer a browser names no origin with a form
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class _SignedIn:
    """A request of a browser that is signed in to a home."""

    home: Home
    visitor: Visitor
    cookie: str


def page_routes(homes: Sequence[Home]) -> list[Route]:
    """Return the routes of the page for *homes*. A browser sees the home whose link it followed.

    Whoever serves them refuses requests under a foreign ``Host``, and answers errors with :func:`page_problem`.
    """
    page = _Page(homes)
    return [
        Route("/", page.answer(page.start)),
        Route("/page", page.answer(page.start)),
        Route("/page/", page.answer(page.start)),
        Route("/page/sign-in", page.answer(page.sign_in)),
        Route("/page/static/{name}", page.answer(page.static)),
        *(Route(view.path, page.answer(page.view(view))) for view in VIEWS),
        *(Route(action.path, page.answer(page.action(action)), methods=["POST"]) for action in ACTIONS),
        Route("/page/sign-out", page.answer(page.sign_out), methods=["POST"]),
        Route("/page/{rest:path}", page.answer(page.missing), methods=_METHODS),
    ]


def page_problem(request: Request, status: int, text: str) -> Response:
    """Return the page that says *text*, which is why *request* is not answered as asked."""
    signed: _SignedIn | None = getattr(request.state, "signed", None)
    return _with_headers(_html(request, signed, "error.html", status, text=text, tab=""))


class _Page:
    def __init__(self, homes: Sequence[Home]) -> None:
        self._homes = tuple(homes)

    def answer(self, handler: Handler) -> Handler:
        """Return *handler* with the headers that every answer of the page has."""

        async def answered(request: Request) -> Response:
            waiting = most_wait_s.set(_PATIENCE_S)
            try:
                response = _with_headers(await handler(request))
            finally:
                most_wait_s.reset(waiting)
            chosen = request.query_params.get("lang", "")
            if chosen in LANGUAGES:
                response.set_cookie(_LANGUAGE, chosen, max_age=_YEAR_S, httponly=True, samesite="strict", path="/page")
            return response

        return answered

    async def missing(self, request: Request) -> Response:
        return page_problem(request, 404, "There is no such page.")

    async def start(self, _request: Request) -> Response:
        return RedirectResponse("/page/review", 303)

    async def static(self, request: Request) -> Response:
        found = static_file(request.path_params["name"])
        if found is None:
            return page_problem(request, 404, "There is no such file.")
        kept = f"public, max-age={_YEAR_S if 'v' in request.query_params else _DAY_S}"
        return Response(found.content, media_type=found.media_type, headers={"Cache-Control": kept})

    async def sign_in(self, request: Request) -> Response:
        code = request.query_params.get("code", "")
        cookie = await run_in_threadpool(self._sign_in, code) if code else ""
        if not cookie:
            return _sign_in_page(request, used=bool(code))
        response = RedirectResponse("/page/review", 303)
        secure = request.url.scheme == "https"
        response.set_cookie(_cookie_name(request), cookie, httponly=True, samesite="lax", secure=secure, path="/page")
        return response

    def _sign_in(self, code: str) -> str:
        return next(filter(None, (sign_in(home, code, clock.now()) for home in self._homes)), "")

    async def sign_out(self, request: Request) -> Response:
        signed = await self._signed_in(request)
        if signed is None or await _form_of(request, signed) is None:
            return _sign_in_page(request)
        await run_in_threadpool(sign_out, signed.home, signed.cookie, clock.now())
        response = RedirectResponse("/page/sign-in", 303)
        response.delete_cookie(_cookie_name(request), path="/page")
        return response

    def view(self, view: PageView) -> Handler:
        async def shown(request: Request) -> Response:
            if _is_part_of_another(request):
                return page_problem(request, 403, "No other page can show this one.")
            signed = await self._signed_in(request)
            if signed is None:
                return _sign_in_page(request)
            given = {**request.query_params, **request.path_params}
            return await run_in_threadpool(_rendered, request, signed, view, given)

        return shown

    def action(self, action: PageAction) -> Handler:
        async def done(request: Request) -> Response:
            signed = await self._signed_in(request)
            if signed is None:
                return _sign_in_page(request)
            form = await _form_of(request, signed)
            if form is None:
                text = "This form does not come from this page, or is from before you signed in. Load the page again."
                return page_problem(request, 403, text)
            return await run_in_threadpool(_acted, signed, action, {**form, **request.path_params})

        return done

    async def _signed_in(self, request: Request) -> _SignedIn | None:
        """Return who asks. What goes wrong from then on may say what the home holds."""
        cookie = request.cookies.get(_cookie_name(request), "")
        signed = await run_in_threadpool(self._visitor, cookie) if cookie else None
        request.state.signed, request.state.private = signed, signed is None
        return signed

    def _visitor(self, cookie: str) -> _SignedIn | None:
        now = clock.now()
        for home in self._homes:
            visitor = visitor_of(home, cookie, now)
            if visitor is not None:
                return _SignedIn(Home(home.root), visitor, cookie)
        return None


@collector_paused()
def _rendered(request: Request, signed: _SignedIn, view: PageView, given: Mapping[str, str]) -> Response:
    shown = view.show(signed.home, clock.now(), given, translation(_language(request)))
    return _html(request, signed, view.template, view=shown, tab=view.tab)


def _acted(signed: _SignedIn, action: PageAction, form: Mapping[str, str]) -> Response:
    after = action.act(signed.home, signed.visitor.person, clock.now(), form)
    return RedirectResponse(after, 303, background=BackgroundTask(_index, signed.home))


def _index(home: Home) -> None:
    index_changes(home, lambda _: None)


async def _form_of(request: Request, signed: _SignedIn) -> dict[str, str] | None:
    """Return the fields of a form that this browser was shown by this page, or ``None`` for any other."""
    origin = request.headers.get("origin", "")
    if origin and origin.partition("://")[2] != request.headers.get("host", ""):
        return None
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return None
    body = (await request.body()).decode("utf-8", "replace")
    form = {name: values[-1] for name, values in parse_qs(body, keep_blank_values=True, max_num_fields=50).items()}
    return form if signed.visitor.owns(form.pop("form_key", "")) else None


def _cookie_name(request: Request) -> str:
    """Return the name of the cookie. Browsers send the cookies of one port to all, so each port has its own."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"{_COOKIE}-{port}" if port.isdigit() else _COOKIE


def _is_part_of_another(request: Request) -> bool:
    """Return whether a page of another origin loads this one without a person who sees it, as a picture or a frame."""
    own = request.headers.get("sec-fetch-site", "none") in {"same-origin", "none"}
    return not own and request.headers.get("sec-fetch-dest", "document") != "document"


def _html(request: Request, signed: _SignedIn | None, template: str, status: int = 200, **values: Any) -> Response:
    language = _language(request)
    text = render(
        template, language, visitor=signed.visitor if signed else None,
        agent=_agent_name(signed.home) if signed else "", languages_links=_language_links(request), **values,
    )  # fmt: skip
    return HTMLResponse(text, status)


def _language(request: Request) -> str:
    chosen = request.query_params.get("lang", "") or request.cookies.get(_LANGUAGE, "")
    return chosen_language(chosen, request.headers.get("accept-language", ""))


def _language_links(request: Request) -> dict[str, str]:
    """Return the address of this page in each language. A form's answer is found at the start."""
    path = quote(request.url.path) if request.method == "GET" else "/page/"
    kept = {name: value for name, value in request.query_params.items() if name not in {"lang", "code"}}
    return {code: f"{path}?{urlencode({**kept, 'lang': code})}" for code in LANGUAGES}


def _sign_in_page(request: Request, *, used: bool = False) -> Response:
    return _html(request, None, "sign_in.html", 401, used=used, tab="")


def _with_headers(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _agent_name(home: Home) -> str:
    """Return the name of the agent, or an empty one where a broken manifest is what the page says."""
    with suppress(HomeError, OSError):
        return home.manifest.name
    return ""
