"""Own the app of Slack: which events go where, and how the bot runs, over Slack's socket or over HTTP."""

from __future__ import annotations

import contextlib
import logging
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from slack_bolt import App, Assistant, BoltResponse
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient
from slack_sdk.http_retry import HttpResponse
from slack_sdk.http_retry.builtin_handlers import ConnectionErrorRetryHandler, RateLimitErrorRetryHandler

from agent_home.audience import Audience
from agent_home.errors import HomeError
from agent_home.home import Home
from agent_home.store.speakers import owner_settings

from .app_manifest import checked_app
from .channel_audience import ChannelAudiences
from .conversation import Conversations, Workspace
from .delivery import Delivery
from .door import LOGGER, SlackDoor
from .idle_threads import IdleThreads
from .record import slack_record
from .responder import Responder

__all__ = [
    "OwnerUnclear",
    "SlackBot",
    "SlackSetup",
    "SlackUnusable",
    "bolt_app",
    "http_application",
    "owner_account",
    "slack_bot",
    "slack_client",
    "stop_at_signals",
]

API_URL = "https://slack.com/api/"
#: The path of events and commands over HTTP.
EVENTS_PATH = "/slack/events"
#: Seconds of one call of Slack's API, and times that a call waits as long as Slack asks for.
_TIMEOUT_S, _RATE_LIMITED = 30, 3
#: Seconds that Slack may ask a call to wait. A call that would wait for longer fails.
_MOST_WAIT_S = 60
#: Events that are worked on at the same time. Answers have threads of their own.
_LISTENERS = 8
_MOST_BODY_BYTES = 1 << 20
_GRACE_S = 10
#: Seconds after which a signal is noticed at the latest.
_LOOK_S = 0.5
_USER = re.compile(r"[UW][A-Z0-9]{4,20}")
_CHANGES = frozenset({"message_changed", "message_deleted"})


class SlackUnusable(HomeError):
    """The bot cannot work in Slack as it is set up."""


class OwnerUnclear(HomeError):
    """The settings do not say which Slack user is the owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSetup:
    """Setup of the bot: its tokens, of which each mode needs some, the *owner*'s Slack user, and its limits.

    *widest* is the audience that no channel exceeds. *idle_s* are the seconds after which a thread becomes memory.
    """

    bot_token: str = field(repr=False)
    app_token: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)
    owner: str = ""
    widest: Audience = Audience.owner
    idle_s: float = 3600.0
    api_url: str = API_URL


@dataclass(slots=True)
class SlackBot:
    """A bot that is ready to be connected."""

    app: App
    door: SlackDoor
    idle: IdleThreads
    team_name: str
    problems: tuple[str, ...]
    setup: SlackSetup

    def serve_socket(self, stop: threading.Event, ready: Callable[[], None] = lambda: None) -> None:
        """Answer over Slack's socket until *stop* is set."""
        handler: Any = SocketModeHandler(self.app, self.setup.app_token)  # the library leaves its methods untyped
        handler.connect()
        try:
            with self._closing_threads():
                ready()
                while not stop.wait(_LOOK_S):  # a signal may come to another thread, and the main one must wake for it
                    pass
        finally:
            handler.close()

    def serve_http(self, address: tuple[str, int], ready: Callable[[int], None] = lambda _port: None) -> None:
        """Answer over HTTP until a signal. Slack's signature of each request is checked. Call it in the main thread.

        Raises:
            OSError: the port is taken.
        """
        import uvicorn

        from ..service.http.request_limits import LimitedConnection

        config = uvicorn.Config(
            http_application(self.app), log_level="warning", access_log=False, ws="none", lifespan="off",
            server_header=False, timeout_graceful_shutdown=_GRACE_S, http=LimitedConnection,
        )  # fmt: skip
        signal.signal(signal.SIGTERM, _end)
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        with socket.create_server(address, family=family) as listening, self._closing_threads():
            ready(listening.getsockname()[1])
            uvicorn.Server(config).run(sockets=[listening])

    @contextlib.contextmanager
    def _closing_threads(self) -> Iterator[None]:
        """Close idle threads for the block."""
        over = threading.Event()
        worker = threading.Thread(target=self.idle.run, args=(over,), name="slack-idle")
        worker.start()
        try:
            yield
        finally:
            over.set()
            worker.join()


@contextlib.contextmanager
def slack_bot(home: Home, setup: SlackSetup, responder: Responder, *, socket_mode: bool) -> Iterator[SlackBot]:
    """Make the bot of *home* for the block. At its end, answers that are being written are waited for.

    Raises:
        SlackUnusable: Slack does not know a token, or the socket is not switched on.
        AlreadyInSlack: another process serves Slack for this home.
    """
    client = slack_client(setup)
    checked = checked_app(client, setup.app_token, socket_mode=socket_mode)
    if not checked.usable:
        raise SlackUnusable("; ".join(checked.problems))
    workspace = Workspace(team=checked.team, agent=checked.agent, bot=checked.bot, owner=setup.owner)
    with slack_record(home) as record, contextlib.ExitStack() as stack:
        audiences = ChannelAudiences(client, owner=setup.owner, team=checked.team, widest=setup.widest)
        conversations = Conversations(home, client, record, workspace)
        delivery = Delivery(client, audiences)
        door = SlackDoor(home, record, conversations, audiences, delivery, responder)
        stack.callback(door.close)
        listeners = stack.enter_context(ThreadPoolExecutor(_LISTENERS, thread_name_prefix="slack-event"))
        yield SlackBot(
            app=bolt_app(client, door, listeners, signing_secret=setup.signing_secret), door=door,
            idle=IdleThreads(home, record, conversations, door, idle_s=setup.idle_s),
            team_name=checked.team_name, problems=checked.problems, setup=setup,
        )  # fmt: skip


def slack_client(setup: SlackSetup) -> WebClient:
    """Return a client that waits as long as Slack asks for, a few times."""
    return WebClient(
        token=setup.bot_token, base_url=setup.api_url, timeout=_TIMEOUT_S, logger=_quiet_logger(),
        retry_handlers=[ConnectionErrorRetryHandler(), _PatientHandler(max_retry_count=_RATE_LIMITED)],
    )  # fmt: skip


class _PatientHandler(RateLimitErrorRetryHandler):
    """Waits as long as Slack asks, but not for hours, in which a thread would do nothing else."""

    def _can_retry(self, *, response: HttpResponse | None = None, **values: Any) -> bool:
        if response is None or not super()._can_retry(response=response, **values):
            return False
        asked = [value for key, value in response.headers.items() if key.lower() == "retry-after"]
        try:
            return all(0 <= int(value if isinstance(value, str) else value[0]) <= _MOST_WAIT_S for value in asked)
        except (ValueError, IndexError):
            return False


def bolt_app(client: WebClient, door: SlackDoor, listeners: Executor, *, signing_secret: str = "") -> App:
    """Return the app that brings Slack's events to *door*. *listeners* works on events behind their confirmation."""
    app = App(
        name="agent-home", client=client, signing_secret=signing_secret, listener_executor=listeners,
        token_verification_enabled=False, logger=_quiet_logger(),
    )  # fmt: skip

    # Before the assistant, which confirms changes in its threads and hides them from listeners.
    @app.middleware  # type: ignore[untyped-decorator,unused-ignore]
    def changes(body: Mapping[str, Any], next: Callable[[], BoltResponse]) -> BoltResponse:  # noqa: A002 - a name of the library
        event = body.get("event")
        if isinstance(event, Mapping) and event.get("type") == "message" and event.get("subtype") in _CHANGES:
            listeners.submit(_logged, door.on_change, body)
            return BoltResponse(status=200)
        return next()

    assistant = Assistant()

    @assistant.thread_started  # type: ignore[untyped-decorator,unused-ignore]
    def started(body: Mapping[str, Any], say: Callable[[str], Any]) -> None:
        door.on_thread_started(body, say)

    @assistant.thread_context_changed  # type: ignore[untyped-decorator,unused-ignore]
    def context_changed() -> None:
        """Take no note of the channel that the person looks at meanwhile."""

    @assistant.user_message  # type: ignore[untyped-decorator,unused-ignore]
    def user_message(body: Mapping[str, Any]) -> None:
        door.on_message(body)

    app.use(assistant)

    @app.event("message")  # type: ignore[untyped-decorator,unused-ignore]
    def message(body: Mapping[str, Any]) -> None:
        door.on_message(body)

    @app.event("app_mention")  # type: ignore[untyped-decorator,unused-ignore]
    def mention(body: Mapping[str, Any]) -> None:
        door.on_message(body)

    @app.command("/memory")  # type: ignore[untyped-decorator,unused-ignore]
    def memory(ack: Callable[[], Any], command: Mapping[str, Any], respond: Callable[..., Any]) -> None:
        ack()
        respond(text=door.run_command(command), response_type="ephemeral", unfurl_links=False, unfurl_media=False)

    return app


def http_application(app: App) -> Any:
    """Return the application that takes Slack's requests at :data:`EVENTS_PATH`."""
    from slack_bolt.adapter.starlette.handler import to_bolt_request, to_starlette_response
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    async def answer(request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_BODY_BYTES:
                return Response("the body is too large", 413)
        try:
            asked = to_bolt_request(request, bytes(body))
        except UnicodeDecodeError:
            return Response("the body is not UTF-8", 400)
        return to_starlette_response(await run_in_threadpool(app.dispatch, asked))

    return Starlette(routes=[Route(EVENTS_PATH, answer, methods=["POST"])])


def owner_account(home: Home, given: str = "") -> str:
    """Return the owner's Slack user: the *given* one, or the one that ``[owner] accounts`` names. It may be empty.

    Raises:
        OwnerUnclear: *given* is no Slack user or contradicts the settings, or they name several.
    """
    accounts = owner_settings(home).accounts
    if given:
        if not _USER.fullmatch(given):
            raise OwnerUnclear(f"{given!r} is no Slack user. Write an id such as U012AB3CD, from the person's profile")
        if accounts and given not in accounts:
            raise OwnerUnclear(
                f"agent.toml names other accounts of the owner than {given}. "
                f"`memory init {home.root} --account {given}` adds it"
            )
        return given
    found = [account for account in accounts if _USER.fullmatch(account)]
    if len(found) > 1:
        raise OwnerUnclear(f"agent.toml names several Slack users: {', '.join(found)}. Choose one with --owner")
    return found[0] if found else ""


def stop_at_signals(stop: threading.Event) -> None:
    """Let SIGINT and SIGTERM set *stop*. Call it in the main thread."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())


def _end(_number: int, _frame: FrameType | None) -> None:
    """End the process. The server raises the signal again when it is done."""
    raise SystemExit(0)


def _logged(work: Callable[[Mapping[str, Any]], None], body: Mapping[str, Any]) -> None:
    try:
        work(body)
    except Exception:  # noqa: BLE001 - the border of a thread of the library's
        LOGGER.exception("an event was not handled")


def _quiet_logger() -> logging.Logger:
    """Return the log of Slack's libraries. At their lower levels they log texts of messages."""
    logger = logging.getLogger("agent_home.slack.library")
    logger.setLevel(logging.ERROR)
    return logger
