"""The message of a state proves which host made it."""

from __future__ import annotations

import pytest

from agent_home.errors import HistoryError
from agent_home.lease.state_commit import StateRefs, StateSaid, read_message, tree_digest

SAID = StateSaid(home="ada", host="one", incarnation="x", epoch=7, machine="/srv/ada/.git/agent-home", tree="00")


def test_a_signed_message_is_read_back() -> None:
    assert read_message(SAID.message()) == SAID


@pytest.mark.parametrize(
    ("old", "new"), [("Epoch: 7", "Epoch: 8"), ('"one"', '"two"'), ("Signature: ", "Signature: 0"), ("Signature", "X")]
)
def test_a_changed_message_is_refused(old: str, new: str) -> None:
    with pytest.raises(HistoryError):
        read_message(SAID.message().replace(old, new))


def test_a_name_with_a_line_break_forges_no_line() -> None:
    forged = StateSaid(home='a"\nEpoch: 99\n', host="one", incarnation="x", epoch=7, machine="m", tree="00")
    assert read_message(forged.message()) == forged


def test_the_digest_depends_on_every_name_mode_and_object() -> None:
    rows = [("a", "100644", "1"), ("b", "100644", "2")]
    assert tree_digest(rows) == tree_digest(reversed(rows))
    assert len({tree_digest(rows), tree_digest(rows[:1]), tree_digest([("a", "100755", "1"), rows[1]])}) == 3


def test_refs_are_read_back() -> None:
    refs = StateRefs(head="refs/heads/main", refs={"refs/heads/main": "1" * 40}, form="sha1")
    assert StateRefs.of(refs.data()) == refs
    assert refs.memory == "1" * 40
