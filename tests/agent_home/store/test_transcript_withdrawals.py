"""Messages that a chat takes back are left out by every reader, in whichever order the rows came."""

from __future__ import annotations

import pytest

from agent_home.home import Home
from agent_home.store import closings, transcript
from agent_home.store.transcript import Message, Withdrawal
from distill.close import close
from interfaces.api import AgentHome
from tests.conftest import NOW


def withdrawn(home: Home, *ids: str, deleted: bool = True) -> None:
    row = Withdrawal(ids=ids, base=ids[0], at="1764400000.000200", deleted=deleted)
    transcript.append(home, "s", [], actor="import", now=NOW, items=lambda _path: [transcript.withdrawal(row)])


def test_a_withdrawn_message_is_left_out_by_every_reader(home: Home) -> None:
    said = [Message(session="s", id=name, content=f"word-{name}") for name in ("m-a", "m-b", "m-c")]
    path = transcript.append(home, "s", said, actor="import", now=NOW).path
    withdrawn(home, "m-b")
    assert [turn.message.id for turn in transcript.read(path)] == ["m-a", "m-c"]
    assert [message.id for message, _, _ in transcript.read_lines(path, withdrawn_too=True) if message] == [
        "m-a", "m-b", "m-c",
    ]  # fmt: skip
    [row] = transcript.withdrawals(path)
    assert (row.ids, row.base, row.deleted) == (("m-b",), "m-b", True)
    assert "word-m-b" in path.read_text()  # a transcript only grows


def test_a_message_that_comes_after_its_withdrawal_is_left_out(home: Home) -> None:
    withdrawn(home, "m-a")
    again = [Message(session="s", id="m-a", content="late"), Message(session="s", id="m-a:pasted", content="a part")]
    path = transcript.append(home, "s", again, actor="import", now=NOW).path
    assert transcript.read(path) == []


def test_a_withdrawn_message_is_not_closed_and_a_later_one_is(home: Home) -> None:
    said = [Message(session="s", id=name, content=f"word-{name}", ts=f"{NOW:%Y-%m-%d}") for name in ("m-a", "m-b")]
    transcript.append(home, "s", said, actor="import", now=NOW)
    withdrawn(home, "m-b")
    close(home, "s", now=NOW)
    assert closings.open_sessions(home) == []
    withdrawn(home, "m-a")
    assert closings.open_sessions(home) == []
    transcript.append(home, "s", [Message(session="s", id="m-d", content="more")], actor="import", now=NOW)
    [(_, turns)] = closings.open_sessions(home)
    assert [turn.message.id for turn in turns] == ["m-d"]


def test_the_index_follows_a_withdrawal(home: Home) -> None:
    said = [Message(session="s", id=name, content=f"zeppelin number {name}") for name in ("m-a", "m-b")]
    transcript.append(home, "s", said, actor="import", now=NOW)
    search = AgentHome(home).search
    assert len(search("zeppelin", mode="lexical", layers=["sessions"]).hits) == 2
    withdrawn(home, "m-b")
    assert [hit.source for hit in search("zeppelin", mode="lexical", layers=["sessions"]).hits] == ["s#m-a"]


def test_a_row_that_withdraws_holds_nothing_to_screen() -> None:
    with pytest.raises(ValueError, match="cannot stand in a row"):
        transcript.withdrawal(Withdrawal(ids=("my password is x",), base="m", at="1", deleted=True))
