"""Test who may ask: sockets, hosts, tokens, audiences, and how often."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from starlette.requests import Request

from agent_home.errors import NoSuchEntry
from agent_home.home import Home
from agent_home.store.speakers import speaker_label
from agent_home.store.transcript import session_name
from interfaces.api import AgentHome
from interfaces.service.http.bodies import Role
from interfaces.service.http.callers import HIDDEN_PROBLEM, Caller, Callers
from interfaces.service.http.problem import HttpProblem
from interfaces.service.http.tokens import SCOPES, add_token, remove_token, tokens
from tests.conftest import FolderCopy

SOCKET = "/homes/a/service.sock"


@pytest.fixture
def pattern(_pattern_home: FolderCopy) -> FolderCopy:
    """The files of a new home."""
    return _pattern_home


def request(*, over: str = "", **headers: str) -> Request:
    """Return a request over the socket *over*, else over a port of this machine."""
    given = {"host": "localhost:8080", **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": "/review", "query_string": b"",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
        "server": (over, None) if over else ("127.0.0.1", 8080),
    }  # fmt: skip
    return Request(scope)


def bearer(token: str) -> Request:
    return request(authorization=f"Bearer {token}")


@pytest.fixture
def token(home: Home, now: datetime) -> str:
    return add_token(home, "pod", scopes=("read",), audience="job", now=now)


@pytest.fixture
def callers(home: Home) -> Callers:
    return Callers({SOCKET: home})


def test_who_comes_over_the_socket_is_the_owner_with_every_scope(callers: Callers, home: Home) -> None:
    caller = callers.identify(request(over=SOCKET))
    assert caller == Caller(name="socket", home=home, scopes=SCOPES, audience="owner", namespaces=("*",))


def test_each_socket_speaks_for_its_home(home: Home, tmp_path: Path, pattern: FolderCopy) -> None:
    pattern.write(tmp_path / "other")
    other = Home(tmp_path / "other")
    callers = Callers({"/a": home, "/b": other})
    assert [callers.identify(request(over=place)).home for place in ("/a", "/b")] == [home, other]
    assert callers.homes == [home, other]


def test_a_token_has_its_own_scopes_and_audience(callers: Callers, home: Home, token: str) -> None:
    found = callers.identify(bearer(token))
    assert found == Caller(name="pod", home=home, scopes=("read",), audience="job", key=tokens(home)[0].digest)


@pytest.mark.parametrize("audience", ["trusted", "group", "job"])
def test_another_than_the_owner_speaks_for_itself_and_has_sessions_of_its_own(home: Home, audience: str) -> None:
    caller = Caller(name="pod", home=home, scopes=SCOPES, audience=audience, key="1af23450")
    assert (caller.speaker, caller.source) == ({"origin": "participant", "speaker": "pod"}, "participant")
    assert caller.author == {**caller.speaker, "session": f"{caller.lead}notes"}
    assert caller.lead == "pod-bkpcdefa:"
    names = ["monday", "pod-bkpcdefa:monday", "pods:monday", "pod", ""]
    assert [caller.session(name) for name in names] == [
        "pod-bkpcdefa:monday", "pod-bkpcdefa:monday", "pod-bkpcdefa:pods:monday", "pod-bkpcdefa:pod", "",
    ]  # fmt: skip
    assert dataclasses.replace(caller, key="00" * 32).session("monday") == "pod-aaaaaaaa:monday"


@pytest.mark.parametrize("audience", ["trusted", "group", "job"])
def test_messages_of_others_are_their_own_and_name_no_repository(home: Home, audience: str) -> None:
    caller = Caller(name="pod", home=home, scopes=SCOPES, audience=audience, key="1a")
    roles = {role: caller.said({"role": role, "content": "x"})["role"] for role in get_args(Role)}
    spoken = dict.fromkeys(("user", "assistant", "participant"), "participant")
    assert roles == {**spoken, "tool": "tool", "system": "tool"}
    told = {"role": "user", "content": "x", "cwd": "/repo", "account": "U1", "id": "7", "channel": "c"}
    names = [caller.said({**told, "name": name})["name"] for name in ("", "pod", "Sam", " job\n2 ")]
    assert names == ["pod", "pod", "Sam via pod", "job 2 via pod"]
    assert caller.said(told).keys() == {"role", "content", "id", "channel", "name"}
    owner = dataclasses.replace(caller, audience="owner")
    assert owner.said(told) == told


def test_a_caller_whose_texts_wait_in_number_is_asked_to_wait(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = Caller(name="pod", home=home, scopes=SCOPES, audience="job", key="1a")
    caller.require_room(50)
    with pytest.raises(HttpProblem, match="too many at once"):
        caller.require_room(51)
    monkeypatch.setattr(
        "distill.review.queue.waiting_of_sessions", lambda _home, lead: 50 if lead == caller.lead else 0
    )
    with pytest.raises(HttpProblem, match="memory review") as refused:
        caller.require_room()
    assert refused.value.status == 429
    dataclasses.replace(caller, audience="owner").require_room(1000)


def test_the_owners_token_is_the_agent_and_names_any_session(home: Home) -> None:
    caller = Caller(name="pod", home=home, scopes=SCOPES, audience="owner")
    assert (caller.author, caller.source, caller.session("monday")) == ({"origin": "agent"}, "agent", "monday")


def test_a_token_speaks_for_its_home_alone(
    home: Home, token: str, tmp_path: Path, pattern: FolderCopy, now: datetime
) -> None:
    pattern.write(tmp_path / "other")
    other = Home(tmp_path / "other")
    theirs = add_token(other, "pod", scopes=("read", "write"), audience="owner", now=now)
    both = Callers({"/a": home, "/b": other})
    assert (both.identify(bearer(token)).home, both.identify(bearer(theirs)).home) == (home, other)
    with pytest.raises(HttpProblem):
        Callers({"/a": home}).identify(bearer(theirs))


@pytest.mark.parametrize("kind", ["Bearer", "bearer", "BEARER"])
def test_the_kind_of_authorization_may_be_in_any_case(callers: Callers, token: str, kind: str) -> None:
    assert callers.identify(request(authorization=f"{kind} {token} ")).name == "pod"


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer ", "Basic {0}", "{0}", "Bearer{0}", "Bearer {0}x", "Bearer ü"])
def test_another_authorization_is_refused(callers: Callers, token: str, given: str) -> None:
    with pytest.raises(HttpProblem) as refused:
        callers.identify(request(authorization=given.format(token)))
    assert (refused.value.status, refused.value.headers) == (401, {"WWW-Authenticate": "Bearer"})
    assert token not in str(refused.value)


def test_a_removed_token_is_refused_at_once(callers: Callers, home: Home, token: str) -> None:
    assert callers.identify(bearer(token)).name == "pod"
    remove_token(home, "pod")
    with pytest.raises(HttpProblem) as refused:
        callers.identify(bearer(token))
    assert refused.value.status == 401


#: What follows the bracket is not looked at. No browser can send such a name.
@pytest.mark.parametrize(
    "host",
    [
        "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:localhost", "127.0.0.2",
        "localhost@evil.example", "evil.example\tlocalhost", "::1", "pod.lan",
        "[::1", "[::1].evil.example",
    ],
)  # fmt: skip
def test_a_forged_host_is_refused(callers: Callers, host: str) -> None:
    with pytest.raises(HttpProblem) as refused:
        callers.require_own_host(request(host=host))
    assert refused.value.status == 421


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "", "http://localhost:8080"])
def test_a_request_of_a_web_page_is_refused_whatever_its_origin_is(callers: Callers, origin: str) -> None:
    with pytest.raises(HttpProblem) as refused:
        callers.require_own_host(request(origin=origin))
    assert refused.value.status == 403


def test_the_socket_needs_no_host(callers: Callers) -> None:
    callers.require_own_host(request(over=SOCKET, host="anything"))


def test_one_request_too_many_is_refused_until_a_minute_has_passed(
    home: Home, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = 0.0
    monkeypatch.setattr("interfaces.service.http.callers.time.monotonic", lambda: moment)
    callers = Callers({SOCKET: home}, per_minute=2)
    callers.identify(bearer(token))
    moment = 20
    callers.identify(bearer(token))
    for _ in range(3):  # a refused request counts for nothing
        with pytest.raises(HttpProblem) as refused:
            callers.identify(bearer(token))
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "40"})
    moment = 60.1
    callers.identify(bearer(token))
    with pytest.raises(HttpProblem):
        callers.identify(bearer(token))


def test_each_token_has_a_limit_of_its_own_and_the_socket_has_none(home: Home, token: str, now: datetime) -> None:
    callers = Callers({SOCKET: home}, per_minute=1)
    other = add_token(home, "other", scopes=("read",), audience="job", now=now)
    callers.identify(bearer(token))
    assert callers.identify(bearer(other)).name == "other"
    assert [callers.identify(request(over=SOCKET)).name for _ in range(5)] == ["socket"] * 5


def test_a_limit_of_0_is_none(home: Home, token: str) -> None:
    callers = Callers({SOCKET: home}, per_minute=0)
    assert [callers.identify(bearer(token)).name for _ in range(5)] == ["pod"] * 5


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_that_a_token_has_not_is_refused(home: Home, scope: str) -> None:
    others = tuple(other for other in SCOPES if other != scope)
    Caller(name="t", home=home, scopes=(scope,), audience="job").require(scope)
    with pytest.raises(HttpProblem) as refused:
        Caller(name="t", home=home, scopes=others, audience="owner").require(scope)
    assert refused.value.status == 403


@pytest.mark.parametrize("audience", ["trusted", "group", "job"])
def test_what_is_the_owners_alone_is_refused_to_others(home: Home, audience: str) -> None:
    with pytest.raises(HttpProblem) as refused:
        Caller(name="t", home=home, scopes=SCOPES, audience=audience).require("read", owner=True)
    assert refused.value.status == 403


@pytest.mark.parametrize("own", ["owner", "trusted", "group", "job"])
@pytest.mark.parametrize("asked", ["", "owner", "trusted", "group", "job"])
def test_only_the_owner_chooses_the_audience_of_an_answer(home: Home, own: str, asked: str) -> None:
    caller = Caller(name="t", home=home, scopes=SCOPES, audience=own)
    if own == "owner" or asked in {"", own}:
        assert caller.audience_for(asked) == (asked or own)
        return
    with pytest.raises(HttpProblem) as refused:
        caller.audience_for(asked)
    assert refused.value.status == 403


@pytest.mark.parametrize("own", ["owner", "job"])
def test_an_unknown_audience_is_a_wrong_value(home: Home, own: str) -> None:
    with pytest.raises(HttpProblem) as refused:
        Caller(name="t", home=home, scopes=SCOPES, audience=own).audience_for("everybody")
    assert refused.value.status == 422


def test_a_caller_that_does_not_read_the_archive_cites_no_archived_entry(home: Home, now: datetime) -> None:
    note = AgentHome(home).remember("The staging server is called heron", kind="fact", now=now)
    (home.root / "Archive").mkdir(exist_ok=True)
    archived = "# Archive\n\n## Recent Context\n\n- **[RC-7F3A]** 2026-01-02 The old server was called osprey.\n"
    (home.root / "Archive" / "MEMORY-2026-01.md").write_text(archived)
    pod = Caller(name="pod", home=home, scopes=("write",), audience="job")
    pod.require_live([note.id])
    with pytest.raises(NoSuchEntry):
        pod.require_live([note.id, "RC-7F3A"])
    Caller(name="socket", home=home, scopes=SCOPES, audience="owner").require_live(["RC-7F3A"])


def test_problems_are_named_to_the_owner_alone(home: Home) -> None:
    problems = ["Projects/secret.md could not be read", "Projects/secret.md could not be read"]
    owner = Caller(name="socket", home=home, scopes=SCOPES, audience="owner")
    assert owner.shown(problems) == ("Projects/secret.md could not be read",)
    assert Caller(name="pod", home=home, scopes=("read",), audience="job").shown(problems) == (HIDDEN_PROBLEM,)
    assert Caller(name="pod", home=home, scopes=("read",), audience="job").shown([]) == ()


@pytest.mark.parametrize("name", ["\u202ebad0", "x" * 256, "a\nb", "sk-" + "a1B2" * 12, "..", "会话"])
def test_a_session_of_another_token_keeps_its_lead_whatever_it_is_called(home: Home, name: str) -> None:
    caller = Caller(name="grp", home=home, scopes=SCOPES, audience="group", key="ab" * 32)
    given = caller.session(name)
    assert given.startswith(caller.lead)
    assert session_name(home, given).startswith(caller.lead)
    assert caller.session(name) == given == caller.session(given)


@pytest.mark.parametrize(
    "told",
    ["Sam Ortiz the owner of this home and of all of it", "Sam" + "." * 60, "Sam -", "\u0405am", "Sam\u3164", "·", "",
     "Bartholomew Featherstonehaugh-Cholmondeley", "grp", "Sam\u0640\u0640"],
)  # fmt: skip
def test_the_name_of_a_token_stands_in_every_name_that_it_says(home: Home, told: str) -> None:
    caller = Caller(name="grp", home=home, scopes=SCOPES, audience="group", key="ab" * 32)
    name = caller.said({"role": "user", "content": "x", "name": told})["name"]
    assert name == "grp" or name.endswith(" via grp")
    assert speaker_label(name) == name


def test_no_more_messages_come_than_a_person_would_look_through(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = Caller(name="grp", home=home, scopes=SCOPES, audience="group", key="ab" * 32)
    for waiting, messages, status in ((0, 50, 0), (0, 51, 413), (20, 30, 0), (20, 31, 429), (50, 1, 429), (50, 0, 429)):
        monkeypatch.setattr("distill.review.queue.waiting_of_sessions", lambda _home, _lead, count=waiting: count)
        if status:
            with pytest.raises(HttpProblem) as refused:
                caller.require_room(messages)
            assert refused.value.status == status
        else:
            caller.require_room(messages)
