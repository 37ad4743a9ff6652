"""A stand-in of Slack: its Web API over HTTP, its socket over a websocket, and what people do there."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

TEAM, AGENT, BOT = "T0HOME001", "U0AGENT01", "B0AGENT01"
OWNER, MARA, GUEST, STRANGER = "U0OWNER01", "U0MARA001", "U0GUEST01", "U0ALIEN01"
SCOPES = (
    "app_mentions:read,assistant:write,channels:history,channels:read,chat:write,commands,groups:history,groups:read,"
    "im:history,im:read,mpim:history,mpim:read,users:read"
)
Row = dict[str, Any]


def person(user: str, name: str, **flags: Any) -> Row:
    """A user as Slack describes one."""
    return {
        "id": user, "team_id": TEAM, "name": name.lower(), "is_restricted": False, "is_ultra_restricted": False,
        "profile": {"display_name": name, "real_name": name}, **flags,
    }  # fmt: skip


def channel(name: str, **flags: Any) -> Row:
    """A channel as Slack describes one: public, unless the flags say otherwise."""
    return {
        "id": name, "is_channel": True, "is_private": False, "is_im": False, "is_mpim": False, "is_shared": False,
        "is_ext_shared": False, "is_org_shared": False, "context_team_id": TEAM, **flags,
    }  # fmt: skip


def direct(name: str, user: str, **flags: Any) -> Row:
    """A direct message of the agent with *user*, which has fewer keys than a channel."""
    return {"id": name, "is_im": True, "user": user, "context_team_id": TEAM, **flags}


class SlackServer:
    """State of a workspace, and the two servers in front of it."""

    def __init__(self) -> None:
        self.users = {
            row["id"]: row
            for row in (
                person(OWNER, "Sam"), person(MARA, "Mara"), person(GUEST, "Gus", is_restricted=True),
                person(STRANGER, "Alia", team_id="T0ALIEN01", is_stranger=True), person(AGENT, "ada", is_bot=True),
            )
        }  # fmt: skip
        self.channels = {
            row["id"]: row
            for row in (
                channel("C0PUBLIC1"), channel("C0PRIVATE", is_private=True), direct("D0OWNER01", OWNER),
                direct("D0MARA001", MARA),
            )
        }  # fmt: skip
        self.members = {"C0PRIVATE": [OWNER, MARA, AGENT], "C0PUBLIC1": [OWNER, MARA, AGENT]}
        self.messages: dict[str, list[Row]] = {}
        self.calls: list[tuple[str, Row]] = []
        self.failing: dict[str, str] = {}
        self.limited: Counter[str] = Counter()
        self.before: dict[str, Callable[[Row], None]] = {}
        self.responses: list[Row] = []
        self.acknowledged: list[str] = []
        self.scopes = SCOPES
        self.retry_after = "0"
        self.headers: Row = {}
        self.bodies: dict[str, Any] = {}
        self.statuses: dict[str, int] = {}
        self.times: list[tuple[str, float]] = []
        self._numbers = itertools.count(1)
        self._last = 0.0
        self._connections: list[ServerConnection] = []
        self._lock = threading.RLock()
        self.url, self.socket_url = "", ""

    # ------------------------------------------------------------------------------------------------- people

    def stamp(self) -> str:
        """A new time stamp, later than the others."""
        with self._lock:
            self._last = max(time.time(), self._last + 0.000_01)
            return f"{self._last:.6f}"

    def write(self, place: str, user: str, text: str, *, thread: str = "", ts: str = "") -> Row:
        """Let *user* write a message, of which no event comes yet."""
        row = {"type": "message", "user": user, "text": text, "ts": ts or self.stamp(), "team": TEAM}
        if thread:
            row["thread_ts"] = thread
        with self._lock:
            self.messages.setdefault(place, []).append(row)
        return row

    def say(self, place: str, user: str, text: str, *, thread: str = "") -> str:
        """Let *user* write a message, and send its event. Return its time stamp."""
        row = self.write(place, user, text, thread=thread)
        self.send(self.event_of(place, row))
        return str(row["ts"])

    def event_of(self, place: str, row: Row, **values: Any) -> Row:
        """The event of a message."""
        return {**row, "channel": place, "channel_type": self._channel_type(place), "event_ts": row["ts"], **values}

    def edit(self, place: str, ts: str, text: str, *, at: str = "") -> Row:
        """Let the author change a message. Return the event, which is not sent."""
        row = self.message(place, ts)
        before, at = dict(row), at or self.stamp()
        row.update(text=text, edited={"user": row["user"], "ts": at})
        return {
            "type": "message", "subtype": "message_changed", "channel": place, "hidden": True, "ts": at, "event_ts": at,
            "channel_type": self._channel_type(place), "message": dict(row), "previous_message": before,
        }  # fmt: skip

    def delete(self, place: str, ts: str) -> Row:
        """Let the author delete a message. Return the event, which is not sent."""
        row = self.message(place, ts)
        self.messages[place].remove(row)
        at = self.stamp()
        return {
            "type": "message", "subtype": "message_deleted", "channel": place, "hidden": True, "ts": at, "event_ts": at,
            "deleted_ts": ts, "channel_type": self._channel_type(place), "previous_message": dict(row),
        }  # fmt: skip

    def message(self, place: str, ts: str) -> Row:
        """The message with that time stamp."""
        return next(row for row in self.messages[place] if row["ts"] == ts)

    def answers(self, place: str, thread: str = "") -> list[str]:
        """The texts that the agent wrote in a channel, or in one thread of it, oldest first."""
        with self._lock:
            rows = [row for row in self.messages.get(place, []) if row.get("user") == AGENT]
        return [row["text"] for row in rows if not thread or row.get("thread_ts") == thread]

    def called(self, method: str) -> list[Row]:
        """The arguments of the calls of a method, in order."""
        with self._lock:
            return [given for name, given in self.calls if name == method]

    def _channel_type(self, place: str) -> str:
        info = self.channels.get(place, {})
        return "im" if info.get("is_im") else "mpim" if info.get("is_mpim") else "channel"

    # ------------------------------------------------------------------------------------------------- socket

    def send(self, event: Row, *, event_id: str = "", retry: int = 0, team: str = TEAM) -> str:
        """Send an event over the socket, and wait until it is confirmed. Return its id."""
        event_id = event_id or f"Ev{next(self._numbers):09d}"
        body = {
            "type": "event_callback", "team_id": team, "api_app_id": "A0APP", "event": event, "event_id": event_id,
            "event_time": int(time.time()),
            "authorizations": [{"team_id": team, "user_id": AGENT, "is_bot": True}],
        }  # fmt: skip
        extra = {"retry_attempt": retry, "retry_reason": "timeout"} if retry else {}
        self._deliver("events_api", body, accepts_response_payload=False, **extra)
        return event_id

    def command(self, place: str, user: str, text: str, **values: Any) -> str:
        """Let *user* give the command /memory, and return what is shown for it."""
        number = next(self._numbers)
        body = {"command": "/memory", "text": text, "user_id": user, "channel_id": place, "team_id": TEAM,
                "trigger_id": f"{number}.1", "response_url": f"{self.url}respond/{number}", **values}  # fmt: skip
        self._deliver("slash_commands", body, accepts_response_payload=True)
        wait_for(lambda: any(row["number"] == number for row in self.responses))
        shown = next(row for row in self.responses if row["number"] == number)
        assert shown["response_type"] == "ephemeral"
        return str(shown["text"])

    def disconnect(self) -> None:
        """Ask the bot to come back over a new connection, as Slack does every few hours."""
        old = self._connections[-1]
        old.send(json.dumps({"type": "disconnect", "reason": "refresh_requested"}))
        wait_for(lambda: bool(self._connections) and self._connections[-1] is not old)

    @property
    def is_connected(self) -> bool:
        """True while a bot listens on the socket."""
        return bool(self._connections)

    def nudge(self) -> None:
        """Send an empty message over each connection."""
        for connection in list(self._connections):
            with suppress(ConnectionClosed):
                connection.send("{}")

    def _deliver(self, kind: str, payload: Row, **values: Any) -> None:
        envelope = f"E{next(self._numbers)}"
        row = {"type": kind, "envelope_id": envelope, "payload": payload, **values}
        wait_for(lambda: bool(self._connections))
        self._connections[-1].send(json.dumps(row))
        wait_for(lambda: envelope in self.acknowledged)

    def _socket(self, connection: ServerConnection) -> None:
        connection.send(json.dumps({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A0APP"}}))
        self._connections.append(connection)
        with suppress(ConnectionClosed):
            for text in connection:
                self.acknowledged.append(json.loads(text).get("envelope_id", ""))
        self._connections = [one for one in self._connections if one is not connection]

    # ------------------------------------------------------------------------------------------------- Web API

    def answer(self, method: str, given: Row) -> tuple[int, Row, Any]:
        """The status, the headers and the body of a call."""
        with self._lock:
            self.calls.append((method, given))
            self.times.append((method, time.monotonic()))
        if method in self.before:
            self.before[method](given)
        if self.limited[method] > 0:
            self.limited[method] -= 1
            return 429, {"Retry-After": self.retry_after}, {"ok": False, "error": "ratelimited"}
        if method in self.bodies:
            return self.statuses.get(method, 200), {}, _said(self.bodies[method])
        if method in self.failing:
            return 200, {}, {"ok": False, "error": self.failing[method]}
        known = getattr(self, f"_{method.replace('.', '_')}", None)
        with self._lock:
            body = known(given) if known else {"error": "unknown_method"}
        headers = {"x-oauth-scopes": self.scopes} if method == "auth.test" else {}
        headers |= self.headers
        return 200, headers, {"ok": "error" not in body, **body}

    def _auth_test(self, _given: Row) -> Row:
        return {"team": "Home", "team_id": TEAM, "user": "ada", "user_id": AGENT, "bot_id": BOT, "url": self.url}

    def _api_test(self, _given: Row) -> Row:
        return {}

    def _apps_connections_open(self, _given: Row) -> Row:
        return {"url": self.socket_url}

    def _conversations_info(self, given: Row) -> Row:
        info = self.channels.get(given["channel"])
        return {"channel": dict(info)} if info else {"error": "channel_not_found"}

    def _conversations_members(self, given: Row) -> Row:
        return _page(self.members[given["channel"]], "members", given)

    def _users_info(self, given: Row) -> Row:
        return {"user": self.users[given["user"]]} if given["user"] in self.users else {"error": "user_not_found"}

    def _conversations_replies(self, given: Row) -> Row:
        rows = [
            row for row in self.messages.get(given["channel"], [])
            if given["ts"] in {row["ts"], row.get("thread_ts")}
        ]  # fmt: skip
        if not rows:
            return {"error": "thread_not_found"}
        return _page(sorted(rows, key=lambda row: float(row["ts"])), "messages", given)

    def _chat_postMessage(self, given: Row) -> Row:  # noqa: N802
        row = self.write(given["channel"], AGENT, given.get("markdown_text") or given.get("text") or "")
        row.update({"bot_id": BOT, **({"thread_ts": given["thread_ts"]} if given.get("thread_ts") else {})})
        return {"ts": row["ts"], "channel": given["channel"], "message": row}

    def _chat_postEphemeral(self, _given: Row) -> Row:  # noqa: N802
        return {"message_ts": self.stamp()}

    def _chat_startStream(self, given: Row) -> Row:  # noqa: N802
        return self._chat_postMessage(given)

    def _chat_appendStream(self, given: Row) -> Row:  # noqa: N802
        row = self.message(given["channel"], given["ts"])
        row["text"] += given.get("markdown_text") or ""
        return {"ts": given["ts"], "channel": given["channel"]}

    _chat_stopStream = _chat_appendStream  # noqa: N815

    def _assistant_threads_setStatus(self, _given: Row) -> Row:  # noqa: N802
        return {}

    # ------------------------------------------------------------------------------------------------- running

    @contextmanager
    def running(self) -> Iterator[SlackServer]:
        """Run both servers for the block."""
        web = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        web.daemon_threads = True
        socket: Server = serve(self._socket, "127.0.0.1", 0, ping_interval=None)
        self.url = f"http://127.0.0.1:{web.server_address[1]}/api/"
        self.socket_url = f"ws://127.0.0.1:{socket.socket.getsockname()[1]}/link"
        threads = [
            threading.Thread(target=web.serve_forever, args=(0.01,)), threading.Thread(target=socket.serve_forever),
        ]  # fmt: skip
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            web.shutdown()
            web.server_close()
            socket.shutdown()
            for thread in threads:
                thread.join()


def wait_for(ready: Callable[[], bool], *, most_s: float = 200.0) -> None:
    """Wait until *ready* is true."""
    until = time.monotonic() + most_s
    while not ready():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


def signed(secret: str, body: str) -> dict[str, str]:
    """The headers of a request that Slack signed."""
    at = str(int(time.time()))
    digest = hmac.new(secret.encode(), f"v0:{at}:{body}".encode(), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={digest}", "Content-Type": "application/json"}


def _said(body: Any) -> Any:
    """An odd body of an answer, of which Slack says that all is well where it can."""
    return {"ok": True, **body} if isinstance(body, dict) else body


def _page(rows: list[Any], key: str, given: Row) -> Row:
    start, limit = int(given.get("cursor") or 0), int(given.get("limit") or 100)
    more = start + limit < len(rows)
    return {key: rows[start : start + limit], "response_metadata": {"next_cursor": str(start + limit) if more else ""}}


def _handler(server: SlackServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            if "json" in self.headers.get("Content-Type", ""):
                given = json.loads(raw)
            else:
                given = {key: values[0] for key, values in parse_qs(raw).items()}
            method = self.path.removeprefix("/api/")
            if method.startswith("respond/"):
                server.responses.append({**given, "number": int(method.removeprefix("respond/"))})
                self._send(200, {}, {"ok": True})
            else:
                self._send(*server.answer(method, given))

        do_GET = do_POST  # noqa: N815

        def _send(self, status: int, headers: Row, body: Any) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response_only(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
                "Date": self.date_time_string(),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    return Handler
