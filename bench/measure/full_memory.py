"""Fill the memory of a home: thousands of entries that hundreds of closings added, each in a commit of its own."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import SECTIONS, Entry, new_id
from agent_home.home import MEMORY, Home
from agent_home.store import transcript
from agent_home.store.branch import own_branch
from agent_home.store.moved_head import note_head
from agent_home.store.transcript import Message

from .grown_home import commit_command, file_command, run_git

__all__ = ["fill_memory", "text_of"]

_WORDS = (
    "index", "release", "deploy", "cache", "worker", "queue", "report", "customer", "schema", "token", "parser",
    "login", "archive", "budget", "search", "backup", "cluster", "invoice", "webhook", "export", "import", "retry",
    "limit", "team", "发布", "缓存", "索引", "报告",
)  # fmt: skip
_MESSAGES = 6


def text_of(number: int) -> str:
    """Return the statement of entry *number*. No two are the same."""
    source = random.Random(number)  # noqa: S311 - data to measure on
    words = " ".join(source.choices(_WORDS, k=source.randint(8, 24)))
    return f"Item {number}: the {words} because of {source.choice(_WORDS)}"


def fill_memory(home: Home, *, entries: int, closings: int, end: datetime) -> None:
    """Add *entries* in *closings* to the new *home*, an hour apart, the last one at *end*."""
    branch = own_branch(home) or run_git(home, "rev-parse", "--abbrev-ref", "HEAD").strip()
    head = run_git(home, "rev-parse", "HEAD").strip()
    document, taken, stream = parse(storage.read_text(home.root / MEMORY)), set[str](), bytearray()
    references: list[str] = []
    bounds = [entries * at // closings for at in range(closings + 1)]
    for closing in range(closings):
        at, session = end - timedelta(hours=closings - 1 - closing), f"talk-{closing:04d}"
        made = []
        for number in range(bounds[closing], bounds[closing + 1]):
            rule = SECTIONS[number % len(SECTIONS)]
            entry_id = new_id(rule.prefix, text_of(number), taken)
            taken.add(entry_id)
            fields = {"Sources": f"{session}#m{number % _MESSAGES}", "Origin": "user" if number % 3 else "agent"}
            if number % 4 == 0:
                fields["Evidence"] = f"verified, commit {head[:7]}"
            made.append((rule.title, Entry(id=entry_id, date=f"{at:%Y-%m-%d}", title=text_of(number), fields=fields)))
        document = document.with_entries(made)
        ids = ", ".join(entry.id for _, entry in made)
        trailers = f"Close session {session}\n\nSession: {session}\nEntries: {ids}\nActor: close\nSource: user"
        stream += commit_command(branch, trailers, at, parent=head if closing == 0 else "")
        stream += file_command(MEMORY, document.render())
        references += [json.dumps({"ts": at.isoformat(), "id": made[0][1].id, "by": "cite", "session": session})]
        messages = [
            Message(session=session, id=f"m{n}", role="assistant" if n % 2 else "user", content=text_of(closing + n),
                    ts=(at - timedelta(minutes=10 - n)).isoformat())
            for n in range(_MESSAGES)
        ]  # fmt: skip
        transcript.append(home, session, messages, actor="import", now=at)
    ledger = f"ledger/references-{end:%Y-%m}.jsonl"
    stream += commit_command(branch, "Cite entries", end) + file_command(ledger, "\n".join(references) + "\n")
    run_git(home, "fast-import", "--quiet", "--done", stdin=bytes(stream) + b"done\n")
    run_git(home, "reset", "-q", "--hard")
    note_head(home)
