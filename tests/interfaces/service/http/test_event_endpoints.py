"""Test the endpoints of the event log."""

from __future__ import annotations

import pytest

from interfaces.service.http import event_endpoints
from interfaces.service.http.callers import Caller
from interfaces.service.http.problem import HttpProblem
from interfaces.service.http.tokens import SCOPES
from tests.interfaces.service.http.served_home import OTHERS, SECRETS, Served, is_error

pytestmark = pytest.mark.xdist_group("endpoints")


def test_a_programs_event_is_read_back_by_its_session_and_time(served: Served) -> None:
    body = {"type": "test_run", "session": "ci-7", "details": {"passed": 40, "failed": 2}}
    logged = served.ask("POST", "/events", json=body).json()["event_id"]
    (found,) = served.ask("GET", "/events", params={"session": "ci-7", "type": "test_run"}).json()["events"]
    assert (found["event_id"], found["details"]) == (logged, {"passed": 40, "failed": 2})
    later = served.ask("GET", "/events", params={"session": "ci-7", "start": "2200-01-01"}).json()
    assert later == {"events": []}
    assert is_error(served.ask("GET", "/events", params={"start": "yesterday"}), 422)
    assert is_error(served.ask("GET", "/events", params={"end": "9999-12-31T23:59:59+14:00"}), 422)


def test_what_the_service_does_is_in_the_log_without_its_words(served: Served) -> None:
    served.ask("POST", "/sessions/ev-1/messages", json={"messages": [{"role": "user", "content": SECRETS[4]}]})
    served.ask("GET", "/prompt", params={"session": "ev-1"})
    found = served.ask("GET", "/events", params={"session": "ev-1"})
    assert [event["type"] for event in found.json()["events"]] == ["append", "prompt"]
    everything = served.ask("GET", "/events", params={"limit": 1000}).text
    assert not [word for word in SECRETS if word in everything]


@pytest.mark.parametrize("audience", OTHERS)
def test_another_token_logs_in_its_own_sessions_and_reads_nothing(served: Served, audience: str) -> None:
    assert is_error(served.ask("GET", "/events", token=audience), 403)
    served.ask("POST", "/events", token=audience, json={"type": "ping", "session": "ci-7"})
    found = served.ask("GET", "/events", params={"type": "ping", "limit": 1000}).json()["events"]
    assert served.lead(audience) + "ci-7" in {event["session"] for event in found}


@pytest.mark.parametrize("kind", ["write", "review", "closing", "verdict"])
def test_no_program_forges_an_event_of_memory(served: Served, kind: str) -> None:
    assert is_error(served.ask("POST", "/events", json={"type": kind}), 422)


def test_another_token_cannot_push_the_owners_events_out(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    large = {"type": "ping", "details": {"text": "x" * 1_100}}
    assert is_error(served.ask("POST", "/events", token="job", json=large), 413)
    assert served.ask("POST", "/events", json=large).status_code == 200
    caller = Caller(name="job", home=served.home, scopes=SCOPES, audience="job", key="ab" * 32)
    monkeypatch.setattr(event_endpoints, "_MOST_A_DAY", 3)
    for _ in range(3):
        event_endpoints._require_room(caller, 10)
    with pytest.raises(HttpProblem) as refused:
        event_endpoints._require_room(caller, 10)
    assert refused.value.status == 429
    other = Caller(name="job", home=served.home, scopes=SCOPES, audience="job", key="cd" * 32)
    event_endpoints._require_room(other, 10)
