"""Rows of other programs' files become messages."""

from agent_home.imports.batch import MAX_CONTENT_CHARS, Batch
from agent_home.store.transcript import Message


def test_a_message_over_the_guard_limit_is_skipped_and_counted() -> None:
    batch = Batch()
    batch.add(Message(session="s", id="1", content="x" * (MAX_CONTENT_CHARS + 1)))
    batch.add(Message(session="s", id="2", content="short"))
    assert [message.id for message in batch.result().messages] == ["2"]
    assert batch.result().skipped == {"too-long": 1}
