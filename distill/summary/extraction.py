"""From messages to a summary: a title, topics, typed items, and the files and commits that were spoken of.

Every item quotes one or more sentences of a turn (or of several that say the same) and points at it; nothing is
reworded, so that an amount or a name is as it was said. Extraction is by rules, without a model, and repeatable.
What a closing does with a summary is the business of ``distill.close``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agent_home.store.transcript import Message

from ..evidence.claims import parse_claim
from ..statements.names import named_paths
from ..statements.sentences import (
    ProseLine,
    is_question,
    narrowed,
    prose_lines,
    sentence_chunks,
    shorten,
    split_sentences,
)
from ..statements.topics import content_terms, find_topics
from .cues import ItemKind, announces_correction, classify_sentence, names_old_value, parse_label

__all__ = ["MAX_ITEM_CHARS", "Item", "Summary", "normalised", "spoken_messages", "summarise"]

#: An item longer than this is cut at a sentence border.
MAX_ITEM_CHARS = 300
#: Fewer characters than this say nothing by themselves.
_MIN_ITEM_CHARS = 4
_MAX_TITLE_CHARS = 60
_MAX_LISTED = 20
#: How many turns back a correction may look for what it corrects.
_LOOK_BACK = 12
_SPOKEN = ("user", "assistant")
_GREETING = re.compile(
    r"^(?:(?:hi|hey|hello|good (?:morning|afternoon|evening)|thanks?(?: you)?|ok(?:ay)?|please|"
    r"早上好|下午好|你好|您好|嗨|早|好的|谢谢|请|麻烦)(?:[ ,.!。]+|$))+",
    re.IGNORECASE,
)
_TITLE_EDGES = " ,.。!?:`*#>-\uff0c\uff01\uff1f\uff1a"
_HELD_BACK = re.compile(r"\[quarantined q-[0-9a-f]+: [^\]]*\]$")
_TOOL_COMMIT = re.compile(r"^\[(?P<branch>[^\]\s]+)(?: \(root-commit\))? (?P<hash>[0-9a-f]{7,40})\]", re.MULTILINE)
_NUMBER = re.compile(r"[+−-]?\s?\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something worth keeping, in the words of the turns at *sources* (``SESSION#MESSAGE``, oldest first).

    *role* and *ts* are those of the turn that said it first. A correction has in *replaces* the sentence it corrects,
    where it does not name the old value itself; *corrected* marks an item that a later turn corrected.
    """

    kind: ItemKind
    text: str
    sources: tuple[str, ...]
    role: str
    ts: str = ""
    replaces: str = ""
    corrected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run of messages was about. *items* are in the order of the conversation."""

    title: str
    topics: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    files: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


def summarise(messages: Sequence[Message], before: Sequence[Message] = (), *, max_topics: int = 6) -> Summary:
    """Summarise *messages*; *before* are earlier ones of the session, which a correction may refer to.

    Tool and system messages give commits only: nobody said them. What the guard held back says nothing.
    """
    said = spoken_messages(messages)
    found = [item for message in said for item in _items_of(message)]
    items = _with_corrections(_united(found), [*before, *messages])
    speakers = {word for message in said for word in message.name.casefold().split()}
    found_topics = find_topics([message.content for message in said], max_topics, without=speakers)
    return Summary(
        title=_title(said, found_topics),
        topics=found_topics,
        items=tuple(items),
        files=_files(said),
        commits=_commits(messages),
    )


def spoken_messages(messages: Sequence[Message]) -> list[Message]:
    """Those of *messages* that somebody said: no tools, and nothing that the guard held back."""
    return [message for message in messages if message.role in _SPOKEN and not _HELD_BACK.match(message.content)]


def normalised(text: str) -> str:
    """*text* as it is compared for exact duplicates: without case, width, space and punctuation.

    Signs, decimal points and units of numbers stay: -12 % and 12 % are not the same.

    >>> normalised("结论:MEAGS  -12 %。") == normalised("结论: meags -12%")
    True
    """
    folded = unicodedata.normalize("NFKC", text).casefold().replace("−", "-")
    folded = re.sub(r"(?<![\w])-\s?(?=\d)", "\x01", folded)
    folded = re.sub(r"(?<=\d)\.(?=\d)", "\x02", folded)
    folded = re.sub(r"(?<=\d),(?=\d{3})", "", folded)
    return "".join(char for char in folded if char.isalnum() or char in "\x01\x02%¥$€£_")


def _items_of(message: Message) -> Iterator[Item]:
    """The items of one turn, in order."""
    opened: ItemKind | None = None  # by a label whose list follows
    heading = False
    for line in prose_lines(message.content):
        label = None if line.kind == "heading" and not line.text else parse_label(line.text)
        if label and not label.rest:
            opened, heading = label.kind, line.kind == "heading"
            continue
        if line.kind == "heading":
            opened = None
            continue
        if label:
            opened = None
            yield from _labelled(message, label.kind, label.rest)
            continue
        if opened and (line.kind == "bullet" or not (heading or line.gap)):
            yield from _labelled(message, opened, line.text)
            opened = opened if line.kind == "bullet" else None
            continue
        opened = None
        yield from _unlabelled(message, line)


def _labelled(message: Message, kind: ItemKind, text: str) -> Iterator[Item]:
    """What a label announces: the rest of its line, up to a sentence that has a label of its own."""
    if kind == "preference" and message.role != "user":
        return
    run: list[str] = []
    for sentence in split_sentences(text):
        label = parse_label(sentence)
        if label and label.rest:
            yield from _pieces(message, kind, text[: text.index(sentence)])
            yield from _labelled(message, label.kind, text[text.index(sentence) :][len(sentence) - len(label.rest) :])
            return
        run.append(sentence)
    if kind != "open_thread" and run and all(is_question(sentence) for sentence in run):
        return
    yield from _pieces(message, kind, text)


def _pieces(message: Message, kind: ItemKind, text: str) -> Iterator[Item]:
    for piece in sentence_chunks(text.strip(), MAX_ITEM_CHARS):
        if _says_something(piece):
            yield _item(message, kind, piece)


def _says_something(text: str) -> bool:
    """Whether *text* can stand alone: long enough, and not the opening of a list."""
    return len(text) >= _MIN_ITEM_CHARS and not narrowed(text).endswith(":")


def _unlabelled(message: Message, line: ProseLine) -> Iterator[Item]:
    sentences = split_sentences(line.text)
    skip = False
    for index, sentence in enumerate(sentences):
        if skip:
            skip = False
            continue
        following = sentences[index + 1] if index + 1 < len(sentences) else ""
        if message.role == "user" and following and announces_correction(sentence, following):
            start = line.text.index(sentence)
            end = line.text.index(following, start + len(sentence)) + len(following)
            yield _item(message, "correction", shorten(line.text[start:end], MAX_ITEM_CHARS))
            skip = True
            continue
        label = parse_label(sentence)
        if label and label.rest:
            yield from _labelled(message, label.kind, label.rest)
            continue
        kind = classify_sentence(sentence, message.role)
        if kind and _says_something(sentence):
            yield _item(message, kind, shorten(sentence, MAX_ITEM_CHARS))


def _item(message: Message, kind: ItemKind, text: str) -> Item:
    return Item(kind=kind, text=text.strip(), sources=(message.source,), role=message.role, ts=message.ts)


def _united(items: Sequence[Item]) -> list[Item]:
    """The items with exact duplicates of one kind made one: the first stays and gains the sources."""
    found: dict[tuple[str, str], Item] = {}
    for item in items:
        key = (item.kind, normalised(item.text))
        first = found.get(key)
        if first is None:
            found[key] = item
        else:
            found[key] = replace(first, sources=tuple(dict.fromkeys((*first.sources, *item.sources))))
    return list(found.values())


def _with_corrections(items: Sequence[Item], messages: Sequence[Message]) -> list[Item]:
    """Each correction with the sentence that it corrects, and the corrected items marked."""
    position = {message.source: index for index, message in enumerate(messages)}
    wrong: set[tuple[str, str]] = set()
    result = []
    for item in items:
        if item.kind != "correction":
            result.append(item)
            continue
        at = position[item.sources[0]]
        old = _corrected_sentence(item.text, messages[max(0, at - _LOOK_BACK) : at])
        if old is None:
            result.append(item)
            continue
        source, sentence = old
        wrong.add((source, normalised(sentence)))
        named = names_old_value(item.text)
        sources = item.sources if named else (source, *item.sources)
        result.append(replace(item, sources=sources, replaces="" if named else shorten(sentence, MAX_ITEM_CHARS)))
    return [replace(item, corrected=True) if _is_wrong(item, wrong) else item for item in result]


def _is_wrong(item: Item, wrong: set[tuple[str, str]]) -> bool:
    if item.kind == "correction":
        return False
    text = normalised(item.text)
    return any(source in item.sources and (sentence in text or text in sentence) for source, sentence in wrong)


def _corrected_sentence(correction: str, earlier: Sequence[Message]) -> tuple[str, str] | None:
    """The latest earlier sentence about the same thing with another value: its source and text.

    The same thing: the two share the most terms, at least one; another value: a number in the old sentence is not
    the new value, or, in a correction that names the old value, is that one.
    """
    subject, numbers = {term.casefold() for term in content_terms(correction)}, _numbers(correction)
    best: tuple[int, int, str, str] | None = None
    for index, message in enumerate(earlier):
        if message.role not in _SPOKEN:
            continue
        for sentence in (part for line in prose_lines(message.content) for part in split_sentences(line.text)):
            shared = len(subject & {term.casefold() for term in content_terms(sentence)})
            others = _numbers(sentence)
            differs = others - numbers if not names_old_value(correction) else others & numbers
            if (
                is_question(sentence)
                or not (differs if numbers else shared > 1)
                or (not shared and not names_old_value(correction))
            ):
                continue
            if best is None or (shared, index) >= best[:2]:
                best = (shared, index, message.source, sentence)
    return best[2:] if best else None


def _numbers(text: str) -> set[str]:
    return {re.sub(r"\s", "", match.group()).replace("−", "-") for match in _NUMBER.finditer(text)}


def _title(said: Sequence[Message], found: Sequence[str]) -> str:
    """The first user sentence that says something, else the topics."""
    for message in (message for message in said if message.role == "user"):
        for sentence in (part for line in prose_lines(message.content) for part in split_sentences(line.text)):
            plain = sentence[_leading(_GREETING, sentence) :].strip(_TITLE_EDGES)
            if len(plain) >= 8 and len({term.casefold() for term in content_terms(plain)}) >= 2:
                return shorten(plain, _MAX_TITLE_CHARS)
    return ", ".join(found[:3]) or "Short session"


def _leading(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(narrowed(text))
    return match.end() if match else 0


def _files(said: Sequence[Message]) -> tuple[str, ...]:
    """The files named, in the order of their first mention."""
    found = (path for message in said for line in prose_lines(message.content) for path in named_paths(line.text))
    return tuple(dict.fromkeys(found))[:_MAX_LISTED]


def _commits(messages: Sequence[Message]) -> tuple[str, ...]:
    """The commits that somebody named as such, and those that git reported in a tool's output."""
    found: dict[str, None] = {}
    for message in messages:
        if message.role in _SPOKEN:
            for line in prose_lines(message.content):
                claim = parse_claim(line.text, message.role)
                if claim and claim.strict:
                    found.update(dict.fromkeys(claim.commits))
        else:
            found.update(dict.fromkeys(match["hash"] for match in _TOOL_COMMIT.finditer(message.content)))
    return tuple(found)[:_MAX_LISTED]
