"""Own what a chat host gets: a brief under its limit at the start of a session, and what its first prompt recalls.

The brief is the system prompt for a small window. Its end says how to get the rest. Everything stands between
``<agent-home>`` tags, so that an import of the session leaves it out (``agent_home.screening.injected_context``).
"""

from __future__ import annotations

from datetime import datetime

from agent_home.home import Home
from assembler.errors import WindowTooSmall
from assembler.prompt import Request, assemble
from assembler.searcher import HomeSearcher

from .captured import capture_problem

__all__ = ["brief", "recall"]

_START, _END = "<agent-home>\n", "\n</agent-home>"
_MORE = "This is a part of memory. `memory search WORDS` finds the rest, and `memory prompt` prints all of it."
#: A token has about this many characters, and memory gets this share of a small window.
_CHARS_PER_TOKEN, _SHARE = 3.5, 0.1
_SMALLEST_WINDOW, _ATTEMPTS = 8_000, 5
_RECALL_WINDOW = 32_000


def brief(home: Home, *, session: str, most_chars: int, now: datetime) -> str:
    """Return the brief for a session that starts, in at most *most_chars* characters.

    A session that goes on after its context was compacted gets the same brief, because the host dropped the first one.
    A home that cannot save what hosts say has a line about it on top.
    """
    problem = capture_problem(home)
    head = f"{problem}\n\n" if problem else ""
    room = most_chars - len(_START) - len(_END) - len(head) - len(_MORE) - 2
    text = _fitting(home, session, room, now)
    return f"{_START}{head}{text.rstrip()}\n\n{_MORE}{_END}"


def recall(home: Home, message: str, *, session: str, most_chars: int, now: datetime) -> str:
    """Return what past conversations and knowledge hold about *message*, or an empty text."""
    searcher = HomeSearcher(home)
    searcher.refresh(message)
    window = max(_SMALLEST_WINDOW, min(_RECALL_WINDOW, int(most_chars / _CHARS_PER_TOKEN / _SHARE)))
    request = Request(message=message, session=session, window=window, now=now)
    try:
        receipt = assemble(home, request, searcher)
    except WindowTooSmall:
        return ""
    blocks = _recalled_blocks(receipt.text)
    text = _cut_lines("\n\n".join(blocks), most_chars - len(_START) - len(_END))
    return f"{_START}{text}{_END}" if text.strip() else ""


def _fitting(home: Home, session: str, room: int, now: datetime) -> str:
    """Return the prompt of the largest window whose text has at most *room* characters, else the start of one."""
    window = max(_SMALLEST_WINDOW, int(room / _CHARS_PER_TOKEN / _SHARE))
    text = ""
    for _ in range(_ATTEMPTS):
        try:
            text = assemble(home, Request(session=session, window=window, now=now)).text
        except WindowTooSmall:
            window = int(window * 1.5)
            continue
        if len(text) <= room:
            return text
        if window == _SMALLEST_WINDOW:
            break
        window = max(_SMALLEST_WINDOW, int(window * room / len(text) * 0.95))
    return _cut_lines(text, room)


def _recalled_blocks(text: str) -> list[str]:
    """Return the fenced blocks of layers 3 and 4 in a prompt."""
    blocks, at = [], text.find("<agent-home-recall")
    while at >= 0:
        end = text.find("</agent-home-recall>", at)
        if end < 0:
            break
        end += len("</agent-home-recall>")
        blocks.append(text[at:end])
        at = text.find("<agent-home-recall", end)
    return blocks


def _cut_lines(text: str, most_chars: int) -> str:
    """Return the first lines of *text*, and never a part of one. What is cut is said."""
    if len(text) <= most_chars:
        return text
    note = "[cut here: more than the host takes]"
    kept = text[: max(0, most_chars - len(note) - 1)].rpartition("\n")[0]
    return f"{kept}\n{note}"
