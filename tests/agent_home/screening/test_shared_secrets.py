"""What only several messages together show is redacted in each of them."""

import json

from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message

KEY = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def stored(home: Home, *said: str) -> str:
    messages = [
        Message(
            session="s", id=f"m{number}", ts=f"2026-11-20T10:{number:02}:00Z", name="Ana", content=content,
            role="assistant" if number % 2 else "user",
        )
        for number, content in enumerate(said)
    ]  # fmt: skip
    written = transcript.append(home, "s", messages, actor="import")
    return "\n".join(json.loads(line)["content"] for line in written.path.read_text("utf-8").splitlines())


def test_a_secret_that_was_told_once_is_redacted_in_every_message(home: Home) -> None:
    text = stored(home, "I tried Fjord#Kran93 first", "ok", "the nas password is Fjord#Kran93", "noted: Fjord#Kran93")
    assert "Fjord#" not in text
    assert text.startswith("I tried [REDACTED:password] first")


def test_a_secret_in_two_messages_of_one_person_is_redacted(home: Home) -> None:
    text = stored(home, f"the first half is {KEY[:20]}", "and the rest?", f"the rest is {KEY[20:]}")
    assert KEY[:20] not in text
    assert KEY[20:] not in text


def test_an_answer_to_the_question_for_a_password_is_redacted(home: Home) -> None:
    assert "Kiesel" not in stored(home, "hi", "what is the wifi password?", "Kiesel-Bach!74")


def test_ordinary_messages_stay(home: Home) -> None:
    said = ("Which release?", "1.4.2", "commit a1b2c3d", "build 77 passed", "thanks!")
    assert stored(home, *said) == "\n".join(said)
