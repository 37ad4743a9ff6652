"""Render a session in a few hundred tokens, so that another session can continue it.

A resume has the requests, findings, decisions, open threads, changed files, commits and last turns, but not every call.
It is made by rules, without a model, so the same transcript and daily log give the same text. The guard screens every
message again before its text is used. The daily log's marks apply: a corrected line is left out, and a line that git
contradicts is marked. What memory has ended since is left out if it was taken back, and marked if it was superseded or
resolved. The caller fences the text as data and neutralises what could break the fence
(``assembler.resume_hint``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from typing import Any

from agent_home import storage
from agent_home.documents import daily_log
from agent_home.documents.document import parse
from agent_home.documents.standing import Standing, standings
from agent_home.home import MEMORY, Home
from agent_home.store import closings, transcript
from agent_home.store.speakers import resolve_speakers
from agent_home.store.transcript import Message
from agent_home.tokens import count_tokens
from guard.lazy_regex import lazy_regex
from recall.index.indexable import Screen
from recall.search.standing import ended_entries
from recall.text.identity import identity_key

from .entries.recurrence import LogLine, all_log_lines
from .errors import EmptySession, NoSuchSession
from .reading.classifier import SentenceReader
from .reading.labels import ItemKind, parse_label
from .statements.dated_words import without_dates
from .statements.sentences import is_question, narrowed, prose_lines, shorten, split_sentences
from .statements.standalone import split_speaker
from .summary.extraction import Item, Summary, spoken_messages, summarise
from .summary.selection import add_facts
from .summary.sentence_kinds import stated_kind

__all__ = ["Resume", "ResumeLine", "render", "resume"]

#: Number of the last messages that are read. Earlier ones are in the daily log.
_MAX_READ = 400
_FOUND: tuple[ItemKind, ...] = ("conclusion", "root_cause", "correction", "lesson", "deliverable", "fact")
_DECIDED: tuple[ItemKind, ...] = ("decision", "rejected", "preference")
_OPEN: tuple[ItemKind, ...] = ("open_thread", "next_step")
_MAX_ASKED, _MAX_LAST, _MAX_TOUCHED = 6, 4, 12
_LINE_CHARS, _LAST_CHARS, _LEAST_CHARS = 160, 240, 8
#: Share and maximum of the sentences without a cue that count as findings.
_FACTS_SHARE, _MAX_FACTS = 0.25, 18
#: Share of the tokens for the last turns. The other parts use what the turns leave.
_LAST_SHARE = 0.4
#: The form in which imports record a file change of a tool.
_EDITED = lazy_regex(r"^(?:Edit|MultiEdit|Write|NotebookEdit) (?P<path>\S[^\n]*)$", re.MULTILINE)
#: A longer message id, such as a UUID, would cost as much as the message.
_SHORT_ID_CHARS = 8


#: Statements that ended, by the turn that made them: their normalised words and their standing.
_Ended = dict[str, list[tuple[str, Standing]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeLine:
    """A line of a resume, in the words of the turn at *source*. *role* is the speaker.

    *contradicted* is true when git contradicted the line's claim at the session's closing. *ended* says that memory has
    superseded or resolved the line since, and by what.
    """

    text: str
    source: str
    role: str
    contradicted: bool = False
    ended: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Summary from which a session can be continued. Every list is in the order of the conversation.

    *began* and *ended* are the times of the first and last message, or empty. *unread* counts earlier messages that
    were not read.
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
        """Return the fields as plain values for JSON."""
        return asdict(self)


def resume(home: Home, session: str) -> Resume:
    """Return the whole resume of *session*. :func:`render` selects the lines that fit.

    Raises:
        NoSuchSession, EmptySession: no session has that name, or it has no messages.
        GuardRefused: the guard cannot run.
        DocumentInvalid: a daily log since the session began is not UTF-8.
    """
    path = transcript.session_path(home, session)
    if path is None:
        raise NoSuchSession(session, [item.session for item in transcript.sessions(home)])
    name = transcript.session_name(home, session)
    turns = transcript.read(path)
    if not turns:
        raise EmptySession(name, home.relative(path))
    all_messages = [turn.message for turn in resolve_speakers(home, turns).turns]
    times = [message.ts for message in all_messages if message.ts]  # a turn may be appended long after its time
    messages = list(_screened(home, home.relative(path), all_messages[-_MAX_READ:]))
    summary = add_facts(summarise(messages), messages, share=_FACTS_SHARE, max_items=_MAX_FACTS)
    logged = _logged(home, name, closings.first_day(turns))
    ended = _ended(home)
    return Resume(
        session=name,
        title=summary.title,
        began=min(times, default=""),
        ended=max(times, default=""),
        messages=len(all_messages),
        unread=max(0, len(all_messages) - _MAX_READ),
        asked=tuple(_asked(messages, summary)),
        found=_select(summary, _FOUND, logged, ended),
        decided=_select(summary, _DECIDED, logged, ended),
        left_open=_select(summary, _OPEN, logged, ended),
        files=_files(messages, summary),
        commits=summary.commits[-_MAX_TOUCHED:],
        last=tuple(_last_line(message, ended) for message in spoken_messages(messages)[-_MAX_LAST:]),
    )


def render(found: Resume, tokens: int, *, count: Callable[[str], int] = count_tokens) -> str:
    """Render *found* as Markdown with at most *tokens* tokens. The text is empty when the first line does not fit.

    The last turns are added first, newest first, within their share. Then the latest line of each list is added in
    turn. The text ends in one newline.
    """
    kept = replace(found, asked=(), found=(), decided=(), left_open=(), files=(), commits=(), last=())
    if count(_text(kept)) > tokens:
        return ""
    share = int(tokens * _LAST_SHARE)
    for line in reversed(found.last):
        more = replace(kept, last=(line, *kept.last))
        if count(_text(more)) <= share:
            kept = more
    for name, value in _by_priority(found):
        change: dict[str, Any] = {name: _in_order(getattr(found, name), {*getattr(kept, name), value})}
        more = replace(kept, **change)
        if count(_text(more)) <= tokens:
            kept = more
    return _text(kept)


def _screened(home: Home, path: str, messages: Sequence[Message]) -> Iterator[Message]:
    """Yield *messages* as the guard allows them now, without quarantined ones."""
    screen = Screen(home)
    for message in messages:
        content = screen.message(path, message.content)
        if content:
            yield replace(message, content=content)


def _asked(messages: Sequence[Message], summary: Summary) -> Iterator[ResumeLine]:
    """Yield what the user wanted, first and last: the first question of each message, else its first sentence.

    A sentence that states a fact, a wish or a plan is not among them.
    """
    item_texts = {identity_key(item.text) for item in summary.items}
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
        sentences = [part.lstrip("-–— ") for part in sentences]  # the dash before a remark
        requests = [part for part in sentences if identity_key(part) not in item_texts and _only_asks(part)]
        request = next((sentence for sentence in requests if is_question(sentence)), requests[0] if requests else "")
        if request and not any(identity_key(line.text) == identity_key(request) for line in found):
            found.append(_line(message, request, _LINE_CHARS))
    yield from found if len(found) <= _MAX_ASKED else [found[0], *found[1 - _MAX_ASKED :]]


def _only_asks(sentence: str) -> bool:
    """Return whether *sentence* has no exclamation mark and states nothing, as far as the reader can tell."""
    reader = SentenceReader()
    exclaims = narrowed(sentence).rstrip().endswith("!")
    if exclaims or parse_label(sentence) is not None or stated_kind(sentence, "", reader) is not None:
        return False
    return is_question(sentence) or reader.read(sentence, "", "user").act == "none"


def _files(messages: Sequence[Message], summary: Summary) -> tuple[str, ...]:
    """Return the mentioned files, and after them the changed ones."""
    tools = (message.content for message in messages if message.role == "tool")
    edited = dict.fromkeys(match["path"].strip() for content in tools for match in _EDITED.finditer(content))
    return (*(name for name in summary.files if name not in edited), *edited)[-_MAX_TOUCHED:]


def _logged(home: Home, session: str, since: str) -> dict[str, list[LogLine]]:
    """Return the daily log lines of *session* by turn, the last one first."""
    own = [closing for closing in daily_log.closings(home, since) if daily_log.covers_session(closing, session)]
    names = {closing.session for closing in own}
    texts = (storage.read_text(home.root / path) for path in dict.fromkeys(closing.path for closing in own))
    logged = (line for text in texts for line in all_log_lines(text) if line.session in names)
    found: dict[str, list[LogLine]] = {}
    for line in logged:
        for source in line.sources:
            found.setdefault(source, []).insert(0, line)
    return found


def _ended(home: Home) -> _Ended:
    """Return for each turn the statements of its entries that ended, by their normalised words."""
    live = parse(storage.read_text(home.root / MEMORY)).entries()
    archived = {entry.id: entry for entry in ended_entries(home)}
    known = list({**archived, **{entry.id: entry for entry in live}}.values())
    standing_by_id = standings(known)
    found: _Ended = {}
    for entry in known:
        standing = standing_by_id[entry.id]
        if not standing.ended:
            continue
        for source in filter(None, (part.strip() for part in entry.fields.get("Sources", "").split(","))):
            found.setdefault(source, []).append((_told_words(entry.text), standing))
    return found


def _select(
    summary: Summary, kinds: Sequence[ItemKind], logged: Mapping[str, Sequence[LogLine]], ended: _Ended
) -> tuple[ResumeLine, ...]:
    """Return the items of *kinds* without corrected and retracted ones. Contradicted and ended items are marked."""
    lines = []
    for item in summary.items:
        words = identity_key(item.text)
        lines_of_turn = logged.get(item.sources[-1], ())
        known = next((line for line in lines_of_turn if _is_told(words, _told_words(line.text))), None)
        end = _end(ended, item.sources[-1], words)
        taken_back = item.corrected or (known and known.corrected) or (end and end.ended == "retracted")
        if item.kind in kinds and not taken_back:
            line = _item_line(item, contradicted=known is not None and known.contradicted)
            lines.append(replace(line, ended=end.words if end else ""))
    return tuple(lines)


def _end(ended: _Ended, source: str, words: str) -> Standing | None:
    """Return the end of the statement that the turn at *source* made with these normalised *words*."""
    return next((standing for told, standing in ended.get(source, ()) if _is_told(words, told)), None)


def _told_words(text: str) -> str:
    """Return the normalised words of a line of memory, without its speaker and the dates that were added."""
    return identity_key(without_dates(split_speaker(text)[1]))


def _is_told(words: str, told: str) -> bool:
    return words in told or told in words


def _item_line(item: Item, *, contradicted: bool) -> ResumeLine:
    text = shorten(" ".join(item.text.split()), _LINE_CHARS)
    return ResumeLine(text=text, source=item.sources[-1], role=item.role, contradicted=contradicted)


def _last_line(message: Message, ended: _Ended) -> ResumeLine:
    """Return a last turn, which stays even if what it says was taken back."""
    end = _end(ended, message.source, identity_key(message.content))
    return replace(_line(message, message.content, _LAST_CHARS), ended=end.words if end else "")


def _line(message: Message, text: str, limit: int) -> ResumeLine:
    return ResumeLine(text=shorten(" ".join(text.split()), limit), source=message.source, role=message.role)


def _by_priority(found: Resume) -> Iterator[tuple[str, Any]]:
    """Yield ``(list name, value)`` by priority: the first request, then the newest value of each list in turn."""
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
    named = (
        ("From the user", kept.asked), ("Found out", kept.found), ("Decisions and preferences", kept.decided),
        ("Open", kept.left_open),
    )  # fmt: skip
    for title, found in named:
        if found:
            blocks.append(
                f"{title}:\n" + "".join(f"- {line.text}{_marks(line)}{_short_source(line)}\n" for line in found)
            )
    touched = [f"`{name}`" for name in kept.files] + [f"commit {name}" for name in kept.commits]
    if touched:
        blocks.append(f"Touched: {', '.join(touched)}\n")
    if kept.last:
        blocks.append("Last turns:\n" + "".join(f"- {line.role}: {line.text}{_marks(line)}\n" for line in kept.last))
    return "\n".join(blocks)


def _marks(line: ResumeLine) -> str:
    return f"{' (git contradicts it)' if line.contradicted else ''}{f' [{line.ended}]' if line.ended else ''}"


def _short_source(line: ResumeLine) -> str:
    name = line.source.rpartition("#")[2]
    return f" (#{name})" if len(name) <= _SHORT_ID_CHARS else ""
