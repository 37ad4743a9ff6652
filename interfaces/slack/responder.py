"""Own who writes the answers: a language model behind an address, or a command of this machine.

Both get the prompt of the home and the lines of the thread. Both are limited in time and length. An answer comes in
pieces where the responder gives it so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from distill.errors import EndpointFailed
from distill.language_model.chat_stream import stream_chat
from distill.language_model.command import CommandFailed, run_command
from distill.language_model.endpoint import Endpoint

__all__ = ["CommandResponder", "EndpointResponder", "Question", "Responder", "ResponderFailed", "ThreadLine"]

#: Characters of an answer. Slack takes 12 000 in a message, and nobody reads more than a few of them.
MOST_ANSWER_CHARS = 40_000
_MOST_ANSWER_BYTES = 1 << 18
#: Beginning of the names of variables that a command does not get.
_KEPT_FROM_COMMANDS = "SLACK_"


class ResponderFailed(Exception):
    """No answer came. The message says why, without any secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadLine:
    """A line of the thread: *role* is user or assistant, *name* who wrote it, *owner* whether it was the owner."""

    role: str
    name: str
    text: str
    ts: str = ""
    owner: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Input of a responder: the prompt of the home, empty while memory is off, and the thread, oldest first."""

    prompt: str
    thread: Sequence[ThreadLine]
    session: str
    audience: str


class Responder(Protocol):
    """Somebody who writes answers."""

    def answer(self, question: Question) -> Iterator[str]:
        """Yield the answer in pieces.

        Raises:
            ResponderFailed: there is none, or only a part of one.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointResponder:
    """A language model behind an address that speaks OpenAI's interface for chats."""

    endpoint: Endpoint

    def answer(self, question: Question) -> Iterator[str]:
        """Yield the answer as the model writes it."""
        chars = 0
        try:
            for piece in stream_chat(self.endpoint, question.prompt, list(_turns(question.thread))):
                chars += len(piece)
                if chars > MOST_ANSWER_CHARS:
                    raise ResponderFailed(f"the answer is longer than {MOST_ANSWER_CHARS} characters")
                yield piece
        except EndpointFailed as error:
            raise ResponderFailed(str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResponder:
    """A command line, which reads a JSON object from standard input and prints the answer.

    It gets the environment of this process without the tokens of Slack.
    """

    command: str
    timeout_s: float = 120.0

    def answer(self, question: Question) -> Iterator[str]:
        """Yield the answer in one piece."""
        given = {
            "prompt": question.prompt, "session": question.session, "audience": question.audience,
            "thread": [
                {"role": line.role, "name": line.name, "text": line.text, "ts": line.ts, "owner": line.owner}
                for line in question.thread
            ],
        }  # fmt: skip
        try:
            text = run_command(
                self.command, json.dumps(given) + "\n", timeout_s=self.timeout_s, max_bytes=_MOST_ANSWER_BYTES,
                environ=command_environment(os.environ),
            )  # fmt: skip
        except CommandFailed as error:
            raise ResponderFailed(str(error)) from error
        if len(text) > MOST_ANSWER_CHARS:
            raise ResponderFailed(f"the answer is longer than {MOST_ANSWER_CHARS} characters")
        yield text


def command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return *environ* without the variables that hold tokens of Slack."""
    return {name: value for name, value in environ.items() if not name.upper().startswith(_KEPT_FROM_COMMANDS)}


def _turns(thread: Sequence[ThreadLine]) -> Iterator[dict[str, str]]:
    """Yield the thread as turns of a chat. Unless the owner alone speaks, each turn begins with the name."""
    alone = all(line.owner for line in thread if line.role == "user")
    for line in thread:
        lead = f"{line.name}: " if line.role == "user" and not alone else ""
        yield {"role": line.role, "content": f"{lead}{line.text}"}
