"""A message that lost personal data can be read by its owner for a time, a message with a secret cannot."""

import json
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from agent_home.screening.originals import expire, original, originals
from agent_home.store import transcript
from agent_home.store.transcript import Message
from interfaces.cli import cli

PHONE = "+49 151 23456789"
NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)


def imported(home: Home, *said: str) -> str:
    messages = [
        Message(session="s", id=f"m{place}", ts="2026-11-20T10:00:00Z", role="user", name="Ana", content=content)
        for place, content in enumerate(said)
    ]
    return transcript.append(home, "s", messages, actor="import", now=NOW).path.read_text("utf-8")


def test_personal_data_can_be_read_again(home: Home) -> None:
    text = f"Call Bob on {PHONE} tomorrow"
    assert PHONE not in imported(home, text, "Thanks")
    assert [(item.source, item.text) for item in originals(home, NOW)] == [("s#m0", text)]


def test_only_the_owner_of_the_home_can_read_an_original(home: Home) -> None:
    imported(home, f"Call Bob on {PHONE}")
    (path,) = home.quarantine.glob("o-*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_secret_is_not_kept(home: Home) -> None:
    imported(home, f"Bob is {PHONE}, password: Fjord#Kran93", "the pin of my card is 4471")
    assert list(originals(home, NOW)) == []


LATER = "2026-12-21T10:00:00+00:00"
TALK = {"session": "t", "id": "m1", "ts": "2026-12-21T09:00:00Z", "role": "user", "name": "Ana", "content": "Hello"}


def run(home: Home, *arguments: str, now: str = LATER) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--home", str(home.root), "--now", now])


def test_an_original_expires(home: Home) -> None:
    imported(home, f"Call Bob on {PHONE}")
    assert expire(home, datetime(2026, 12, 1, tzinfo=UTC)) == 0
    assert expire(home, datetime(2027, 1, 1, tzinfo=UTC)) == 1
    assert not any(home.quarantine.iterdir())


def test_an_expired_original_is_neither_listed_nor_printed(home: Home) -> None:
    imported(home, f"Call Bob on {PHONE}")
    (item,) = originals(home, NOW)
    later = datetime.fromisoformat(LATER)
    assert list(originals(home, later)) == []
    assert original(home, item.id, later) is None
    assert item.id not in run(home, "review", "originals").output
    assert item.id in run(home, "review", "originals", now="2026-12-20T09:00:00+00:00").output


@pytest.mark.parametrize("command", ["close s", "close --all", "distill", "import chat talk.jsonl"])
def test_what_runs_regularly_drops_expired_originals(
    home: Home, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(home, f"Call Bob on {PHONE}")
    monkeypatch.chdir(tmp_path)
    Path("talk.jsonl").write_text(json.dumps(TALK), encoding="utf-8")
    assert run(home, *command.split(), now="2026-12-20T09:00:00+00:00").exit_code == 0
    assert len(list(home.quarantine.iterdir())) == 1
    result = run(home, *command.split())
    assert result.exit_code == 0, result.output
    assert not any(home.quarantine.iterdir())


def test_the_doctor_names_expired_originals_and_drops_them(home: Home) -> None:
    imported(home, f"Call Bob on {PHONE}")
    for left in ("[forgotten f-0a1b2c3d].json", "o-0123456789.json", ".o-0123456789.tmp"):
        text = json.dumps({"id": "[forgotten f-0a1b2c3d]", "source": "s#m0", "ts": LATER, "text": PHONE})
        (home.quarantine / left).write_text(text, encoding="utf-8")
    assert "4 originals of messages with personal data, kept past their 30 days" in run(home, "doctor").output
    assert "dropped 4 expired originals" in run(home, "doctor", "--fix").output
    assert not any(home.quarantine.iterdir())
    assert "kept past" not in run(home, "doctor").output


def test_an_original_is_printed_at_a_terminal_only(home: Home) -> None:
    imported(home, f"Call Bob on {PHONE}")
    (item,) = originals(home, NOW)
    result = CliRunner().invoke(cli, ["review", "originals", item.id, "--home", str(home.root)])
    assert result.exit_code == 2
    assert PHONE not in result.output
    assert original(home, item.id, NOW) == item


def test_forgetting_erases_an_original(home: Home) -> None:
    imported(home, f"Call Bob on {PHONE}", "Thanks")
    result = CliRunner().invoke(cli, ["forget", PHONE, "--apply", "--home", str(home.root)])
    assert result.exit_code in {0, 1}, result.output
    assert PHONE not in json.dumps([item.text for item in originals(home, NOW)])


def test_forgetting_its_id_removes_an_original(home: Home) -> None:
    imported(home, f"Call Bob on {PHONE}", f"Call Eve on {PHONE}")
    first, second = originals(home, NOW)
    result = CliRunner().invoke(cli, ["forget", first.id, "--apply", "--home", str(home.root)])
    assert result.exit_code == 0, result.output
    assert "found nowhere" in result.output
    assert list(originals(home, NOW)) == [second]
    assert [path.name for path in home.quarantine.iterdir()] == [f"{second.id}.json"]


def test_no_name_in_quarantine_is_rewritten(home: Home) -> None:
    held = home.quarantine / "q-0123456789.json"
    held.parent.mkdir(exist_ok=True)
    held.write_text('{"id": "q-0123456789", "text": "The word is blue heron"}', encoding="utf-8")
    result = CliRunner().invoke(cli, ["forget", "Q-0123456789", "--apply", "--home", str(home.root)])
    assert result.exit_code == 0, result.output
    assert list(home.quarantine.iterdir()) == []


def test_forgetting_any_words_of_an_original_erases_them_there(home: Home) -> None:
    imported(home, f"Call Bob on {PHONE} about the kestrel")
    result = CliRunner().invoke(cli, ["forget", "kestrel", "--apply", "--home", str(home.root)])
    assert result.exit_code == 0, result.output
    (item,) = originals(home, NOW)
    assert "kestrel" not in item.text
    assert PHONE in item.text


def test_forgetting_an_entry_removes_the_originals_of_its_turns(home: Home) -> None:
    imported(home, f"Decision: we call Bob on {PHONE} before each launch.", f"Call Eve on {PHONE}")
    done = CliRunner().invoke(cli, ["close", "s", "--json", "--home", str(home.root)])
    (entry,) = json.loads(done.stdout)["entries"]
    result = CliRunner().invoke(cli, ["forget", entry["id"], "--apply", "--home", str(home.root)])
    assert result.exit_code in {0, 1}, result.output
    assert [item.source for item in originals(home, NOW)] == ["s#m1"]


def test_a_message_with_something_forgotten_is_not_kept(home: Home) -> None:
    imported(home, "The word is blue heron")
    result = CliRunner().invoke(cli, ["forget", "blue heron", "--apply", "--home", str(home.root)])
    assert result.exit_code in {0, 1}, result.output
    imported(home, f"Call Bob on {PHONE}, the word is Blue  Heron", "blue heron", f"Call Eve on {PHONE}")
    assert [item.text for item in originals(home, NOW)] == [f"Call Eve on {PHONE}"]


def test_no_index_and_no_commit_holds_an_original(home: Home) -> None:
    imported(home, f"Call Bob on {PHONE}")
    assert home.quarantine.is_relative_to(home.machine)
    assert PHONE not in json.dumps([path.read_text("utf-8") for path in home.sessions.rglob("*.jsonl")])
