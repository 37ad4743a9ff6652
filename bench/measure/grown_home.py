"""Give a home a past of thousands of closings in seconds: what closing them one by one would leave.

There is one commit for each closing, with its section of the daily log, its row in the ledger and its entry. The
transcripts, the audit and this machine's record are there too. Entries older than ``LIVE`` are in the archive, file by
month. The words are invented and short, because the number of things is what costs.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from agent_home import storage
from agent_home.documents import daily_log
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, new_id
from agent_home.home import MEMORY, Home
from agent_home.store.branch import own_branch
from agent_home.store.closings import message_digest
from agent_home.store.transcript import Message

__all__ = [
    "A_DAY", "END", "LIVE", "commit_command", "file_command", "give_past", "moment_of", "run_git", "session_of", "talk",
]  # fmt: skip

#: The past ends here, whatever its length, so that a new session is as near to the last closings in every home.
END = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
A_DAY = 30
#: Entries that are live, in a home of any age: older ones are archived.
LIVE = 60
_WORDS = (
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "granite", "harbor", "indigo", "juniper", "lagoon", "maple",
    "nectar", "onyx", "pepper", "quartz", "raven", "saffron", "tundra", "umber", "velvet", "walnut", "yarrow", "beacon",
)  # fmt: skip


@dataclass(slots=True)
class _Past:
    """Everything that closings leave outside git, and the files that they leave in it."""

    daily: dict[str, str] = field(default_factory=dict)
    ledgers: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    entries: list[tuple[str, Entry]] = field(default_factory=list)
    record: list[dict[str, object]] = field(default_factory=list)
    stream: bytearray = field(default_factory=bytearray)
    taken: set[str] = field(default_factory=set)


def session_of(number: int) -> str:
    return f"past-{number:05d}"


def moment_of(number: int, sessions: int) -> datetime:
    """Return the start of session *number* of *sessions*: thirty a day, twenty minutes apart, the last ones at END."""
    days, at = divmod(sessions - 1 - number, A_DAY)
    return END - timedelta(days=days, minutes=20 * at)


def talk(session: str, started: datetime, number: int) -> list[Message]:
    """Return the messages of one session: a decision and an answer."""
    one, two = _WORDS[number % len(_WORDS)], _WORDS[number // len(_WORDS) % len(_WORDS)]
    said = (
        ("user", f"Decision: we ship {one} {two} number {number} on Friday."),
        ("assistant", f"I looked at {two} and at what is left of {one}; the run took {number % 90} minutes."),
    )
    return [
        Message(session=session, id=f"m{at}", ts=(started + timedelta(seconds=20 * at)).isoformat(), role=role,
                content=content)
        for at, (role, content) in enumerate(said)
    ]  # fmt: skip


def give_past(home: Home, sessions: int) -> None:
    """Let *sessions* have been closed in *home*, which is new."""
    past = _Past()
    head = run_git(home, "rev-parse", "HEAD").strip()
    branch = own_branch(home) or run_git(home, "rev-parse", "--abbrev-ref", "HEAD").strip()
    for number in range(sessions):
        _close(home, past, number, sessions, branch, head if number == 0 else "")
    files = {**past.daily, **{path: "".join(lines) for path, lines in past.ledgers.items()}, **_entry_files(home, past)}
    past.stream += commit_command(branch, f"Archive entries of {sessions} sessions", END)
    for path, text in files.items():
        past.stream += file_command(path, text)
        (home.root / path).parent.mkdir(parents=True, exist_ok=True)
        (home.root / path).write_text(text, "utf-8")
    marks = home.machine / "past.marks"
    run_git(home, "fast-import", "--quiet", "--done", f"--export-marks={marks}", stdin=bytes(past.stream) + b"done\n")
    run_git(home, "read-tree", "HEAD")
    run_git(home, "update-index", "-q", "--refresh")
    commits = dict(line.split() for line in marks.read_text("ascii").splitlines())
    marks.unlink()
    rows = [json.dumps({**row, "commit": commits[f":{at}"]}) + "\n" for at, row in enumerate(past.record, 1)]
    (home.machine / "closings.jsonl").write_text("".join(rows), "utf-8")
    digest = "0" * 64
    changed = [{"path": path, "before": digest, "after": digest} for path in (MEMORY, "DailyActivity/d.md", "ledger/c")]
    audit = [{**row, "message": "Close", "files": changed, "commit": digest[:40]} for row in past.record]
    home.audit.write_text("".join(json.dumps(row) + "\n" for row in audit), "utf-8")


def _close(home: Home, past: _Past, number: int, sessions: int, branch: str, parent: str) -> None:
    """Add one closed session to *past*, with the commit that holds its section and its row."""
    started = moment_of(number, sessions)
    messages = talk(session_of(number), started, sessions - number)  # the last ones say the same in every home
    size = _write_transcript(home, messages, started)
    closing = daily_log.Closing(
        session=session_of(number), date=f"{started:%Y-%m-%d}", time=f"{started:%H:%M}", title=f"Part {number}",
        first=1, last=len(messages), start=0, end=size,
        recorded_anchor=daily_log.anchor_of(session_of(number), 0, messages[0].id),
    )  # fmt: skip
    text = messages[0].content.removeprefix("Decision: ")
    section = daily_log.render_closing(closing, f"### Decisions\n\n- {text} `{messages[0].source}`\n")
    past.daily[closing.path] = past.daily.get(closing.path, f"# {closing.date}\n") + f"\n{section}"
    row = {"closing": f"{closing.date}#{closing.anchor}", "messages": [message_digest(item) for item in messages]}
    ledger = f"ledger/closings-{closing.date[:7]}.jsonl"
    past.ledgers[ledger].append(json.dumps(row) + "\n")
    entry_id = new_id("KD", text, past.taken)
    past.taken.add(entry_id)
    fields = {"Evidence": "none", "Sources": closing.address, "Origin": "user"}
    past.entries.append((closing.date, Entry(id=entry_id, date=closing.date, title=text, fields=fields)))
    mark = f"mark :{number + 1}\n".encode()
    past.stream += commit_command(branch, f"Close session {closing.session}", started, mark, parent)
    past.stream += file_command(closing.path, section) + file_command(ledger, json.dumps(row))
    past.record.append({"session": closing.session, "start": 0, "end": size, "ts": started.isoformat()})


def _write_transcript(home: Home, messages: list[Message], started: datetime) -> int:
    """Write a transcript as an import leaves it, and return its size in bytes."""
    rows = (
        {"session": m.session, "id": m.id, "ts": m.ts, "role": m.role, "name": "", "content": m.content,
         "source": m.origin, "said": "0" * 16}
        for m in messages
    )  # fmt: skip
    path = home.sessions / f"{started:%Y/%m}" / f"{messages[0].session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))


def _entry_files(home: Home, past: _Past) -> dict[str, str]:
    """Return MEMORY.md with the last entries, and the archive files of the months with the others."""
    live, months = past.entries[-LIVE:], defaultdict[str, list[str]](list)
    for date, entry in past.entries[:-LIVE]:
        months[f"Archive/MEMORY-{date[:7]}.md"].append(entry.render())
    memory = parse(storage.read_text(home.root / MEMORY)).with_entries([("Key Decisions", entry) for _, entry in live])
    archive = {path: "# Archive\n\n## Key Decisions\n\n" + "".join(entries) for path, entries in months.items()}
    return {MEMORY: memory.render(), **archive}


def commit_command(branch: str, message: str, at: datetime, mark: bytes = b"", parent: str = "") -> bytes:
    said = message.encode()
    start = f"from {parent}\n".encode() if parent else b""
    head = f"commit refs/heads/{branch}\n".encode() + mark
    head += f"committer bench <bench@localhost> {int(at.timestamp())} +0000\ndata {len(said)}\n".encode()
    return head + said + b"\n" + start


def file_command(path: str, text: str) -> bytes:
    data = text.encode()
    return f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


def run_git(home: Home, *arguments: str, stdin: bytes = b"") -> str:
    done = subprocess.run(["git", *arguments], cwd=home.root, input=stdin, check=True, capture_output=True)
    return done.stdout.decode()
