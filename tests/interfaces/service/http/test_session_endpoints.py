"""Test the endpoints of sessions and jobs."""

from __future__ import annotations

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import httpx
import pytest

from agent_home.documents.document import parse
from agent_home.errors import DocumentInvalid
from agent_home.home import Home
from agent_home.settings import MANIFEST
from agent_home.store import transcript
from interfaces.api import AgentHome
from interfaces.service.http.jobs import Jobs
from interfaces.service.http.tokens import SCOPES, add_token, remove_token
from tests.consenting import agree
from tests.interfaces.service.http.served_home import (
    OTHERS,
    Served,
    finished,
    is_error,
    lead_of,
    owner_only,
)
from tests.interfaces.service.running_service import (
    PATIENCE_S,
    ask_app,
    made_app,
    until,
)

pytestmark = pytest.mark.xdist_group("endpoints")


def test_a_failed_job_tells_another_audience_nothing_of_memory(
    home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object, **__: object) -> None:
        raise DocumentInvalid("MEMORY.md", 12, "id", "entry id KD-7F3A is used twice")

    monkeypatch.setattr(AgentHome, "close", damaged)
    owner_only(home.root / MANIFEST)
    home = agree(Home(home.root))
    token = add_token(home, "pod", scopes=("write",), audience="group", now=now)
    AgentHome(home).append(f"{lead_of(home, 'pod')}talk", [{"role": "user", "content": "Ship on Monday."}], now=now)
    app = made_app(home)
    begun = ask_app(app, "POST", "/sessions/talk/close", token=token)
    assert begun.status_code == 202

    def job() -> httpx.Response:
        return ask_app(app, "GET", begun.headers["location"], token=token)

    until("the job has ended", lambda: job().status_code == 200)
    assert job().json()["state"] == "failed", job().text
    assert "KD-7F3A" not in job().text
    assert "MEMORY.md" not in job().text


@pytest.mark.parametrize(
    "session", ["..", ".", "%2e%2e", "..%5c..%5cx", "%00", "a%00b", "con%0Atrol", "x" * 3000, "~", "-x"]
)
def test_a_session_of_any_name_stays_in_its_folder(served: Served, session: str) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": f"Hello from {len(session)}"}]})
    files = {path for path in served.home.root.rglob("*.md") if ".git" not in path.parts}
    connection = http.client.HTTPConnection("127.0.0.1", served.service.port, timeout=PATIENCE_S)
    headers = {"Authorization": f"Bearer {served.tokens['owner']}", "Content-Type": "application/json"}
    connection.request("POST", f"/sessions/{session}/messages", body, headers)
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()
    assert (answer.status, said["messages"]) == (200, 1)
    (name,) = said["session_ids"]
    path = transcript.session_path(served.home, name)
    assert path is not None
    assert served.home.sessions in path.parents
    assert {path for path in served.home.root.rglob("*.md") if ".git" not in path.parts} == files
    assert not list(served.home.root.parent.glob("*.jsonl"))


def test_a_blank_session_is_refused(served: Served) -> None:
    body = {"messages": [{"role": "user", "content": "x"}]}
    assert served.ask("POST", "/sessions/%20/messages", json=body).status_code == 409


def test_a_closing_is_accepted_at_once_and_its_job_ends_with_the_result(served: Served) -> None:
    said = {"messages": [{"role": "user", "content": "Decision: we repaint the lighthouse in May.", "id": "m1"}]}
    assert served.ask("POST", "/sessions/lighthouse/messages", json=said).json()["messages"] == 1
    begun = served.ask("POST", "/sessions/lighthouse/close")
    assert begun.status_code == 202
    assert begun.headers["location"] == f"/jobs/{begun.json()['job']}"
    assert int(begun.headers["retry-after"]) >= 1
    job = finished(served, begun, "owner")
    assert (job.status_code, job.json()["state"]) == (200, "done")
    assert "lighthouse" in job.json()["result"]["entries"][0]["text"]
    assert "lighthouse" in served.memory()
    assert served.ask("GET", begun.headers["location"], token="write").status_code == 404, "another token's job"


def test_closing_a_session_that_there_is_not_begins_no_job(served: Served) -> None:
    answer = served.ask("POST", "/sessions/nope/close")
    assert is_error(answer, 404)
    assert "nope" in answer.json()["error"]


def test_messages_that_are_sent_again_add_nothing(served: Served) -> None:
    body = {
        "messages": [{"role": "user", "content": "Hello", "id": "a"}, {"role": "assistant", "content": "Hi", "id": "b"}]
    }
    counts = [served.ask("POST", "/sessions/twice/messages", json=body).json() for _ in range(2)]
    assert [(count["messages"], count["duplicates"]) for count in counts] == [(2, 0), (0, 2)]


def roles(home: Home, session: str) -> list[str]:
    path = transcript.session_path(home, session)
    assert path is not None
    return [json.loads(line)["role"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize("audience", ["owner", *OTHERS])
def test_only_a_token_of_the_owner_brings_the_words_of_the_owner(served: Served, audience: str) -> None:
    given = ("user", "assistant", "participant", "tool", "system")
    body = {"messages": [{"role": role, "content": f"It says {role}", "id": role} for role in given]}
    assert served.ask("POST", f"/sessions/roles-{audience}/messages", token=audience, json=body).status_code == 200
    name = f"{served.lead(audience)}roles-{audience}"
    others = ["participant", "participant", "participant", "tool", "tool"]
    assert roles(served.home, name) == (list(given) if audience == "owner" else others)
    path = transcript.session_path(served.home, name)
    assert path is not None
    assert (f'"name": "{audience}"' in path.read_text()) == (audience != "owner")


@pytest.mark.parametrize("audience", OTHERS)
def test_another_token_has_sessions_of_its_own(served: Served, audience: str) -> None:
    mine = {"messages": [{"role": "user", "content": "The gate stays shut", "id": "m1"}]}
    theirs = {"messages": [{"role": "user", "content": "The gate stays open", "id": "m1"}]}
    served.ask("POST", "/sessions/gate/messages", json=mine)
    closing = {name: served.ask("POST", f"/sessions/{name}/close", token=audience) for name in ("gate", "no-gate")}
    assert {answer.status_code for answer in closing.values()} == {404}
    assert closing["gate"].json()["error"] == closing["no-gate"].json()["error"]
    assert served.ask("POST", "/sessions/gate/messages", token=audience, json=theirs).json()["messages"] == 1
    path, own = (transcript.session_path(served.home, name) for name in ("gate", f"{served.lead(audience)}gate"))
    assert (path is not None, own is not None) == (True, True)
    assert "open" not in (path.read_text() if path else "open")
    again = served.ask("POST", f"/sessions/{served.lead(audience)}gate/messages", token=audience, json=theirs)
    assert again.json()["messages"] == 0  # its stored name means the same session


def test_a_later_token_of_the_same_name_sees_no_job_of_the_earlier_one(home: Home, now: datetime) -> None:
    app = made_app(home)
    first = add_token(home, "pod", scopes=("write",), audience="job", now=now)
    AgentHome(home).append(f"{lead_of(home, 'pod')}talk", [{"role": "user", "content": "The tide is low."}], now=now)
    begun = ask_app(app, "POST", "/sessions/talk/close", token=first)
    place = begun.headers["location"]
    until("the job has ended", lambda: ask_app(app, "GET", place, token=first).status_code == 200)
    remove_token(home, "pod")
    second = add_token(home, "pod", scopes=("write",), audience="job", now=now)
    assert ask_app(app, "GET", place, token=second).status_code == 404


def test_appends_at_once_lose_nothing(served: Served) -> None:
    def append(number: int) -> int:
        body = {"messages": [{"role": "user", "content": f"Wave number {number}", "id": f"w{number}"}]}
        with httpx.Client(base_url=served.service.url, timeout=PATIENCE_S, trust_env=False) as client:
            headers = {"Authorization": f"Bearer {served.tokens['owner']}"}
            return client.post("/sessions/waves/messages", json=body, headers=headers).status_code

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(append, range(20))) == [200] * 20
    path = transcript.session_path(served.home, "waves")
    assert path is not None
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(row["id"] for row in rows) == sorted(f"w{number}" for number in range(20))
    assert {row["content"] for row in rows} == {f"Wave number {number}" for number in range(20)}


def test_a_closing_keeps_the_service_until_its_job_has_ended(
    home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    from interfaces.service.http.activity import Activity

    token = add_token(home, "laptop", scopes=("write",), audience="owner", now=now)
    AgentHome(home).append("talk", [{"role": "user", "content": "Decision: ship on Monday."}], now=now)
    activity = Activity(0.001)
    running_at: list[int] = []
    start = Jobs.start

    def noted(*arguments: Any, **more: Any) -> Any:
        running_at.append(activity.running)
        return start(*arguments, **more)

    monkeypatch.setattr(Jobs, "start", noted)
    ask_app(made_app(home, activity=activity), "POST", "/sessions/talk/close", token=token)
    assert running_at == [2], "the request and its job"


def test_what_another_token_says_as_the_agent_decides_and_ends_nothing(home: Home, now: datetime) -> None:
    agent = AgentHome(home)
    thread = agent.remember("Renew the TLS certificate of the shop", kind="thread", now=now)
    before = {entry.id for entry in parse((home.root / "MEMORY.md").read_text()).entries()}
    app, token = made_app(home), add_token(home, "pod", scopes=SCOPES, audience="group", now=now)
    said = (
        "Decision: we use PostgreSQL for the billing service.",
        "Lesson: never push to main without a green build.",
        "Correction: the staging server is called crane.",
        "Done: I renewed the TLS certificate of the shop.",
    )
    rows = [{"role": "assistant", "content": text, "cwd": str(home.root)} for text in said]
    assert ask_app(app, "POST", "/sessions/s/messages", token=token, json={"messages": rows}).status_code == 200
    begun = ask_app(app, "POST", "/sessions/s/close", token=token)
    place = begun.headers["location"]
    until("the job has ended", lambda: ask_app(app, "GET", place, token=token).status_code == 200)
    entries = {entry.id: entry for entry in parse((home.root / "MEMORY.md").read_text()).entries()}
    assert not entries[thread.id].retired
    new = [entry for name, entry in entries.items() if name not in before]
    assert {(entry.prefix, entry.fields.get("Origin")) for entry in new} <= {("RC", "participant")}
