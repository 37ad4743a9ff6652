"""A session in a few hundred tokens, so that it can be continued without being replayed.

Not what was done call by call, but what was asked, found out, decided and left open, which files and commits were
touched, and the last turns. By rules, without a model: the same transcript and daily log give the same text. Every
message passes the guard again before anything is taken from it. What the daily log says of a line since its session was
closed holds here too: one that was corrected is left out, one that git contradicts is marked. Fencing the text as data
is the business of whoever puts it before a model (``assembler.resume_hint``), and so is neutralising what could break
that fence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from typing import Any

from agent_home import storage
from agent_home.documents import daily_log
from agent_home.home import Home
from agent_home.store import closings, transcript
from agent_home.store.transcript import Message
from agent_home.tokens import count_tokens
from recall.index.indexable import Screen
from recall.text.identity import identity_key

from .entries.recurrence import LogLine, all_log_lines
from .errors import EmptySession, NoSuchSession
from .statements.sentences import is_question, narrowed, prose_lines, shorten, split_sentences
from .summary.cues import ItemKind, classify_sentence, parse_label
from .summary.extraction import Item, Summary, spoken_messages, summarise
from .summary.selection import add_facts

__all__ = ["Resume", "ResumeLine", "render", "resume"]

#: Messages that are read, the last ones; what came before them is in the daily log.
_MOST_READ = 400
_FOUND: tuple[ItemKind, ...] = ("conclusion", "root_cause", "correction", "lesson", "deliverable", "fact")
_DECIDED: tuple[ItemKind, ...] = ("decision", "rejected", "preference")
_OPEN: tuple[ItemKind, ...] = ("open_thread", "next_step")
_MOST_ASKED, _MOST_LAST, _MOST_TOUCHED = 6, 4, 12
_LINE_CHARS, _LAST_CHARS, _LEAST_CHARS = 160, 240, 8
#: Sentences without a cue that are offered as found out: so much of what was said, and no more of them.
_FACTS_SHARE, _MOST_FACTS = 0.25, 18
#: The last turns' part of the tokens; what they leave is for the rest.
_LAST_PART = 0.4
#: How imports write down that a tool changed a file.
_EDITED = re.compile(r"^(?:Edit|MultiEdit|Write|NotebookEdit) (?P<path>\S[^\n]*)$", re.MULTILINE)
#: A longer message id, such as a UUID, would cost as much as what was said.
_SHORT_ID_CHARS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeLine:
    """A line of a resume, in the words of the turn at *source*; *role* is who said it.

    *contradicted* says that git, asked when the session was closed, did not have what the line claims.
    """

    text: str
    source: str
    role: str
    contradicted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """What a session came to. Every list is in the order of the conversation.

    *began* and *ended* are the times of its first and last message, or empty; *unread* counts the messages before
    those that were read.
    """

    session: str
    title: str
    began: str
    ended: str
    messages: int
    unread: int = 0
    asked: tuple[ResumeLine, ...] = ()
    found: tuple[ResumeLine, ...] = ()
    decided: tuple[ResumeLine, ...] = ()
    left_open: tuple[ResumeLine, ...] = ()
    files: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    last: tuple[ResumeLine, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as JSON has them."""
        return asdict(self)


def resume(home: Home, session: str) -> Resume:
    """What *session* came to, all of it; :func:`render` chooses what fits.

    Raises:
        NoSuchSession, EmptySession: there is nothing of that name, or nothing in it.
        GuardRefused: the guard cannot run.
        DocumentInvalid: a daily log since the session began is not UTF-8.
    """
    path = transcript.session_path(home, session)
    if path is None:
        raise NoSuchSession(session, len(transcript.sessions(home)))
    name = transcript.session_name(home, session)
    turns = transcript.read(path)
    if not turns:
        raise EmptySession(name, home.relative(path))
    every = [turn.message for turn in turns]
    messages = list(_seen(home, home.relative(path), every[-_MOST_READ:]))
    summary = add_facts(summarise(messages), messages, share=_FACTS_SHARE, max_items=_MOST_FACTS)
    logged = _logged(home, name, closings.first_day(turns))
    return Resume(
        session=name,
        title=summary.title,
        began=every[0].ts,
        ended=every[-1].ts,
        messages=len(every),
        unread=max(0, len(every) - _MOST_READ),
        asked=tuple(_asked(messages, summary)),
        found=_of(summary, _FOUND, logged),
        decided=_of(summary, _DECIDED, logged),
        left_open=_of(summary, _OPEN, logged),
        files=_files(messages, summary),
        commits=summary.commits[-_MOST_TOUCHED:],
        last=tuple(_line(message, message.content, _LAST_CHARS) for message in spoken_messages(messages)[-_MOST_LAST:]),
    )


def render(found: Resume, tokens: int, *, count: Callable[[str], int] = count_tokens) -> str:
    """*found* as Markdown in at most *tokens* tokens; empty where not even its first line fits.

    The last turns come first, the newest before the others, in their part; then the latest of each list in turn. The
    text ends in one newline.
    """
    kept = replace(found, asked=(), found=(), decided=(), left_open=(), files=(), commits=(), last=())
    if count(_text(kept)) > tokens:
        return ""
    part = int(tokens * _LAST_PART)
    for line in reversed(found.last):
        more = replace(kept, last=(line, *kept.last))
        if count(_text(more)) <= part:
            kept = more
    for name, value in _queue(found):
        shown: dict[str, Any] = {name: _in_order(getattr(found, name), {*getattr(kept, name), value})}
        more = replace(kept, **shown)
        if count(_text(more)) <= tokens:
            kept = more
    return _text(kept)


def _seen(home: Home, path: str, messages: Sequence[Message]) -> Iterator[Message]:
    """*messages* as the guard passes them now; one that it holds back is left out."""
    screen = Screen(home)
    for message in messages:
        content = screen.message(path, message.content)
        if content:
            yield replace(message, content=content)


def _asked(messages: Sequence[Message], summary: Summary) -> Iterator[ResumeLine]:
    """The first request and the latest ones: of each message of the user its first question, or first sentence."""
    said = {identity_key(item.text) for item in summary.items}
    found: list[ResumeLine] = []
    for message in spoken_messages(messages):
        if message.role != "user":
            continue
        sentences = [
            part
            for line in prose_lines(message.content)
            for part in split_sentences(line.text)
            if len(part) >= _LEAST_CHARS
        ]
        wanted = [part for part in sentences if identity_key(part) not in said and _only_asks(part)]
        request = next((sentence for sentence in wanted if is_question(sentence)), wanted[0] if wanted else "")
        if request and not any(identity_key(line.text) == identity_key(request) for line in found):
            found.append(_line(message, request, _LINE_CHARS))
    yield from found if len(found) <= _MOST_ASKED else [found[0], *found[1 - _MOST_ASKED :]]


def _only_asks(sentence: str) -> bool:
    """Whether *sentence* is no exclamation, and nothing marks it as a decision, wish or correction, told as that."""
    exclaims = narrowed(sentence).rstrip().endswith("!")
    return not exclaims and parse_label(sentence) is None and classify_sentence(sentence, "user") is None


def _files(messages: Sequence[Message], summary: Summary) -> tuple[str, ...]:
    """The files that were spoken of, and after them those that were changed."""
    tools = (message.content for message in messages if message.role == "tool")
    edited = dict.fromkeys(match["path"].strip() for content in tools for match in _EDITED.finditer(content))
    return (*(name for name in summary.files if name not in edited), *edited)[-_MOST_TOUCHED:]


def _logged(home: Home, session: str, since: str) -> dict[tuple[str, str], LogLine]:
    """What the closings of *session* wrote down, by turn and normalised text; of two the later one counts."""
    mine = [closing for closing in daily_log.closings(home, since) if daily_log.covers_session(closing, session)]
    names = {closing.session for closing in mine}
    texts = (storage.read_text(home.root / path) for path in dict.fromkeys(closing.path for closing in mine))
    told = (line for text in texts for line in all_log_lines(text) if line.session in names)
    return {(source, identity_key(line.text)): line for line in told for source in line.sources}


def _of(
    summary: Summary, kinds: Sequence[ItemKind], logged: Mapping[tuple[str, str], LogLine]
) -> tuple[ResumeLine, ...]:
    """The items of *kinds*, without those that were corrected later; those that git contradicts are marked."""
    lines = []
    for item in summary.items:
        known = logged.get((item.sources[-1], identity_key(item.text)))
        if item.kind in kinds and not item.corrected and not (known and known.corrected):
            lines.append(_of_item(item, contradicted=known is not None and known.contradicted))
    return tuple(lines)


def _of_item(item: Item, *, contradicted: bool) -> ResumeLine:
    text = shorten(" ".join(item.text.split()), _LINE_CHARS)
    return ResumeLine(text=text, source=item.sources[-1], role=item.role, contradicted=contradicted)


def _line(message: Message, text: str, limit: int) -> ResumeLine:
    return ResumeLine(text=shorten(" ".join(text.split()), limit), source=message.source, role=message.role)


def _queue(found: Resume) -> Iterator[tuple[str, Any]]:
    """What is to be shown, the most useful first: the first request, then the newest of each list in turn."""
    if found.asked:
        yield "asked", found.asked[0]
    lists = {"left_open": found.left_open, "decided": found.decided, "found": found.found, "asked": found.asked[1:],
             "files": found.files, "commits": found.commits}  # fmt: skip
    for row in zip_longest(*(reversed(values) for values in lists.values())):
        yield from ((name, value) for name, value in zip(lists, row, strict=True) if value is not None)


def _in_order(values: Sequence[Any], chosen: set[Any]) -> tuple[Any, ...]:
    return tuple(value for value in values if value in chosen)


def _text(kept: Resume) -> str:
    times = " to ".join(dict.fromkeys(ts[:16].replace("T", " ") for ts in (kept.began, kept.ended) if ts))
    when = f", {times}" if times else ""
    unread = f", the first {kept.unread} not read" if kept.unread else ""
    blocks = [f"Session {' '.join(kept.session.split())}{when}, {kept.messages} messages{unread}.\n"]
    named = (("Asked", kept.asked), ("Found out", kept.found), ("Decided", kept.decided), ("Open", kept.left_open))
    for title, found in named:
        if found:
            blocks.append(f"{title}:\n" + "".join(f"- {line.text}{_doubt(line)}{_where(line)}\n" for line in found))
    touched = [f"`{name}`" for name in kept.files] + [f"commit {name}" for name in kept.commits]
    if touched:
        blocks.append(f"Touched: {', '.join(touched)}\n")
    if kept.last:
        blocks.append("Last turns:\n" + "".join(f"- {line.role}: {line.text}\n" for line in kept.last))
    return "\n".join(blocks)


def _doubt(line: ResumeLine) -> str:
    return " (git contradicts it)" if line.contradicted else ""


def _where(line: ResumeLine) -> str:
    name = line.source.rpartition("#")[2]
    return f" (#{name})" if len(name) <= _SHORT_ID_CHARS else ""
