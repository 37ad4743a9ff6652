"""Own what a chat host gets: a brief under its limit at the start of a session, and what its first prompt recalls.

The brief is the system prompt for a small window. Its end says how to get the rest. Everything stands between
``<agent-home>`` tags with a mark of this machine, so that an import of the session leaves it out and nothing else
(``agent_home.screening.injected_context``).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from agent_home.home import MEMORY, Home
from agent_home.screening.injected_context import MARKED_CHARS, marked
from agent_home.tokens import count_tokens
from assembler.errors import WindowTooSmall
from assembler.prompt import Request, assemble
from assembler.section import defused

from ..prompting import prompt_for, record_prompt, sessions_being_closed
from .captured import capture_problem
from .install import program
from .project_part import ProjectPart, project_part

__all__ = ["brief", "recall"]

_START, _END = "<agent-home>", "</agent-home>"
_MORE = (
    "This is a part of memory. `{0} search WORDS --home {1}` finds the rest, `{0} prompt --home {1}` prints all of it, "
    "`{0} remember TEXT --by agent --home {1}` keeps something, and `{0} done ID --home {1}` ends a thread."
)
#: A token has about this many characters.
_CHARS_PER_TOKEN = 3.5
#: Tokens from which memory gets a tenth of the window, and no more than a quarter.
_SMALL_BUDGET = 2_000
#: A larger window gives memory far more than a tenth.
_LARGEST_WINDOW = 63_999
_ATTEMPTS = 6
#: Shares of a brief that files get at least, if they have that much.
_FLOORS: Mapping[str, float] = {MEMORY: 0.6, "USER.md": 0.1, "STEERING.md": 0.05, "AGENT.md": 0.1}
#: A chat host has a character, tools and a folder of its own, and no first meeting.
_LEFT_OUT = frozenset({
    "BOOTSTRAP.md", "IDENTITY.md", "KNOWLEDGE.md", "PRINCIPLES.md", "PROJECTS.md", "SOUL.md", "TOOLS.md"
})  # fmt: skip
_RECALL_WINDOW = 32_000
#: Largest share of a brief for the project at hand. The user's page and preferences hold everywhere.
_PROJECT_SHARE = 0.5


def brief(home: Home, *, session: str, most_chars: int, now: datetime, cwd: str = "") -> str:
    """Return the brief for a session that starts, in at most *most_chars* characters.

    What memory holds of the project of the folder *cwd* stands first.

    A session that goes on after its context was compacted gets the same brief, because the host dropped the first one.
    A home that cannot save what hosts say has a line about it on top.
    """
    problem = capture_problem(home)
    head = f"{defused(problem)}\n\n" if problem else ""
    more = _MORE.format(shlex.join(program()), shlex.quote(str(home.root)))
    room = most_chars - MARKED_CHARS - len(head) - len(more) - 2
    part = _project_part(home, cwd, session, int(room * _PROJECT_SHARE))
    project = f"{part.text}\n" if part.text else ""
    request = Request(session=session, now=now, shown_entries=part.entries, closing=sessions_being_closed(home))
    text = _fitting(home, request, room - len(project))
    record_prompt(home, request, tokens=count_tokens(project + text))
    return marked(f"{head}{project}{text.rstrip()}\n\n{more}")


def recall(home: Home, message: str, *, session: str, most_chars: int, now: datetime) -> str:
    """Return what past conversations and knowledge hold about *message*, or an empty text."""
    request = Request(message=message, session=session, window=_RECALL_WINDOW, now=now)
    try:
        receipt = prompt_for(home, request)
    except WindowTooSmall:
        return ""
    blocks = _recalled_blocks(receipt.text)
    text = _cut_lines("\n\n".join(blocks), most_chars - MARKED_CHARS)
    return marked(text) if text.strip() else ""


def _project_part(home: Home, cwd: str, session: str, most_chars: int) -> ProjectPart:
    """Return the part about the project at hand in at most *most_chars* characters."""
    tokens = int(most_chars / _CHARS_PER_TOKEN)
    for _ in range(_ATTEMPTS):
        part = project_part(home, cwd, tokens, count_tokens, session=session)
        if not part.text or len(part.text) < most_chars:
            return part
        tokens = int(tokens * most_chars / len(part.text) * 0.95)
    return ProjectPart()


def _fitting(home: Home, request: Request, room: int) -> str:
    """Return the largest prompt of at most *room* characters, without its tags, else the start of a small one."""
    tokens, text = int(room / _CHARS_PER_TOKEN), ""
    for _ in range(_ATTEMPTS):
        try:
            text = assemble(_for_hosts(home, tokens), replace(request, window=_window(tokens))).text
        except WindowTooSmall:
            tokens = int(tokens * 1.5)
            continue
        text = text.strip().removeprefix(_START).removesuffix(_END).strip()
        if not text or len(text) <= room:
            return text
        tokens = int(tokens * room / len(text) * 0.95)
    return _cut_lines(text, room)


def _for_hosts(home: Home, tokens: int) -> Home:
    """Return *home* with a manifest for a small brief: memory gets most of *tokens*, and the user's page some.

    In a prompt, the files about the agent come first and are never cut. A chat host has instructions of its own, so
    its brief leaves most of them out, and the others share what memory leaves.
    """
    context = tuple(
        replace(
            item,
            cut=item.cut if item.file == MEMORY else "newest-first",
            floor=int(tokens * _FLOORS.get(item.file, 0.0)),
        )
        for item in home.manifest.context
        if item.file not in _LEFT_OUT
    )
    return Home(home.root, replace(home.manifest, context=context))


def _window(tokens: int) -> int:
    """Return the window of a model that leaves memory *tokens*: a tenth of it, and a quarter of a small one."""
    return min(tokens * 10, _LARGEST_WINDOW) if tokens >= _SMALL_BUDGET else tokens * 4


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
