"""Extraction of a summary from messages: a title, topics, typed items, and the files and commits that were mentioned.

Every item quotes sentences of a turn, or of several turns that say the same, and cites these turns. Nothing is
reworded, so amounts and names are verbatim. Labels, the trained reader (``distill.reading``) and a few rules find the
items, without a language model. Extraction is deterministic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_home.store.transcript import Message
from guard.lazy_regex import lazy_regex
from recall.embedding.embedder import Embedder
from recall.text.identity import identity_key

from ..evidence.claims import parse_claim
from ..reading.classifier import SentenceReader
from ..reading.corrections import announces_correction, names_old_value
from ..reading.labels import ItemKind, parse_label
from ..statements.completeness import statement_part
from ..statements.names import named_paths
from ..statements.operation import Operation
from ..statements.sentences import (
    ProseLine,
    is_question,
    narrowed,
    prose_lines,
    sentence_chunks,
    shorten,
    split_sentences,
)
from ..statements.standalone import plain_turn, question_of, without_lead_in
from ..statements.topics import content_terms, find_topics
from ..statements.value_exchange import exchange_value
from .acceptance import accepted_sentences, accepts, is_consent, last_question
from .echo import repeats
from .options import chosen_option
from .replies import answer_worth, proposal_worth
from .sentence_kinds import asks_for_always, reported_kind, reports_work, stated_kind, takes_leave

__all__ = ["MAX_ITEM_CHARS", "Item", "Summary", "spoken_messages", "summarise"]

#: Longer items are cut at the end of a sentence.
MAX_ITEM_CHARS = 300
#: Shorter texts cannot stand alone.
_MIN_ITEM_CHARS = 4
_MAX_TITLE_CHARS = 60
_MAX_LISTED = 20
#: Most words, or Chinese characters, of an answer that needs its question.
_MAX_ANSWER_WORDS, _MAX_ANSWER_CHARS = 10, 20
#: Least chance that an answer with its question is worth keeping, and that a choice is.
_LEAST_ANSWER, _LEAST_CHOICE = 0.5, 0.3
#: Kinds of a short answer, where the reader thinks that the answer alone is as worth keeping. Any other one is a fact.
_LEAST_KEEP = 0.5
_ANSWERS: Mapping[str, ItemKind] = {"preference": "preference", "decision": "decision"}
#: Number of turns before a correction that are searched for the corrected sentence.
_LOOK_BACK = 12
_SPEAKERS = ("user", "assistant")
#: Kinds of items of the assistant that the user may have said just before. Its own work is none of the user's words.
_REPEATED = frozenset({"conclusion", "correction", "decision", "next_step", "open_thread", "rejected"})
_GREETING = lazy_regex(
    r"^(?:(?:hi|hey|hello|good (?:morning|afternoon|evening)|thanks?(?: you)?|ok(?:ay)?|please|"
    r"早上好|下午好|你好|您好|嗨|早|好的|谢谢|请|麻烦)(?:[ ,.!。]+|$))+",
    re.IGNORECASE,
)
_TITLE_EDGES = " ,.。!?:`*#>-\uff0c\uff01\uff1f\uff1a"
#: Longest number or abbreviation that a sentence begins with.
_MAX_MARK_CHARS = 10
#: What stands between a statement and the wish behind it.
_WISH_EDGES = " ,;.-\u2014\uff0c\uff1b"
_QUARANTINED = lazy_regex(r"\[quarantined q-[0-9a-f]+: [^\]]*\]$")
_TOOL_COMMIT = lazy_regex(r"^\[(?P<branch>[^\]\s]+)(?: \(root-commit\))? (?P<hash>[0-9a-f]{7,40})\]", re.MULTILINE)
_NUMBER = lazy_regex(r"[+−-]?\s?\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A quotation worth keeping, from the turns at *sources* (``SESSION#MESSAGE``, oldest first).

    Attributes:
        role: the role of the first turn that said it.
        ts: the time of that turn.
        said_in: sources of the turns that each say all of it. Empty where only all sources together do.
        replaces: of a correction, the sentence it corrects. Empty where the correction names the old value.
        corrected: whether a later turn corrected the item.
        resolved: of an open thread, the later turn that resolved it.
        doubt: why a person must decide about the item.
        read: whether a language model read it, or somebody asked to remember it. Such a fact earns an entry at once.
        standalone: the text that stands alone, where it differs from *text*. See ``distill.summary.standalone_items``.
        context: sources of other turns whose words it holds.
        lasting: of a fact, whether it is one of the user's life or work that earns an entry at once.
        worked: whether its turn names a folder of work.
        accepted: whether the user accepted what the assistant said, or said it before.
        asked: the question of the turn before it that the user answers with it, or chooses from. It stands with it.
        consented: whether the assistant proposed it and the user accepted it in the next turn.
        marked: whether a label in the turn marks it, on purpose.
        dangling: whether nobody understands it without its conversation. The daily log keeps it beside its turn.
    """

    kind: ItemKind
    text: str
    sources: tuple[str, ...]
    role: str
    ts: str = ""
    said_in: tuple[str, ...] = ()
    replaces: str = ""
    corrected: bool = False
    resolved: str = ""
    doubt: str = ""
    read: bool = False
    standalone: str = ""
    context: tuple[str, ...] = ()
    lasting: bool = False
    worked: bool = False
    accepted: bool = False
    asked: str = ""
    consented: bool = False
    marked: bool = False
    dangling: bool = False

    @property
    def told(self) -> str:
        """The item as memory shows it."""
        return self.standalone or self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exchange:
    """A turn, and the latest turn of the other speaker before it."""

    message: Message
    answered: Message | None
    in_report: bool = False

    @property
    def previous(self) -> str:
        return self.answered.content if self.answered else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Summary of consecutive messages. *items* are in the order of the conversation.

    *operations* are changes to entries of ``MEMORY.md`` that the messages call for. *doubted* are items that a person
    decides about. They are in no daily log.
    """

    title: str
    topics: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    doubted: tuple[Item, ...] = ()
    files: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()


def summarise(
    messages: Sequence[Message],
    before: Sequence[Message] = (),
    *,
    max_topics: int = 6,
    embedder: Embedder | None = None,
) -> Summary:
    """Summarise *messages*. *before* are earlier messages of the session, which a correction may refer to.

    With *embedder*, the promising sentences of the user are read by their vectors as well.

    Tool and system messages only contribute commits. Quarantined messages are left out.
    """
    spoken = spoken_messages(messages)
    reader = SentenceReader(embedder)
    exchanges = list(_exchanges(spoken, before))
    reader.prepare([row for exchange in exchanges for row in _readable(exchange)])
    found = [item for exchange in exchanges for item in _extract_items(exchange, reader)]
    items = _resolve_corrections(_merge_duplicates(found), [*before, *messages])
    speakers = {word for message in spoken for word in message.name.casefold().split()}
    topics = find_topics([message.content for message in spoken], max_topics, without=speakers)
    return Summary(
        title=_title(spoken, topics),
        topics=topics,
        items=tuple(items),
        files=_files(spoken),
        commits=_commits(messages),
    )


def spoken_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the messages of users and assistants that the guard did not quarantine."""
    return [message for message in messages if message.role in _SPEAKERS and not _QUARANTINED.match(message.content)]


def _exchanges(spoken: Sequence[Message], before: Sequence[Message]) -> Iterator[_Exchange]:
    """Yield the turns of *spoken* with the turns that they answer, which may stand in *before*."""
    latest = {message.role: message for message in spoken_messages(before[-_LOOK_BACK:])}
    for message in spoken:
        assistant = message.role == "assistant"
        answered = latest.get("user" if assistant else "assistant")
        yield _Exchange(message=message, answered=answered, in_report=assistant and reports_work(message.content))
        latest[message.role] = message


def _extract_items(exchange: _Exchange, reader: SentenceReader) -> Iterator[Item]:
    """Yield the items of one turn, in order, after those of the assistant's turn that it accepts.

    What the assistant repeats after the user is the user's.
    """
    message, answered = exchange.message, exchange.answered
    if message.role == "user":
        accepted = list(_accepted_items(answered, message, reader)) if answered and accepts(message.content) else []
        accepted = accepted or list(_answer_items(exchange, reader))
        yield from accepted
        said = {item.text for item in accepted}
        own = (item for item in _own_items(exchange, reader) if item.text not in said)
        yield from (item for item in own if not (accepted and is_consent(item.text)))
        return
    for item in _own_items(exchange, reader):
        if answered and item.kind in _REPEATED and repeats(item.text, answered):
            sources, said_in = (answered.source, *item.sources), (answered.source, *item.said_in)
            yield replace(item, sources=sources, said_in=said_in, accepted=True)
        else:
            yield item


def _own_items(exchange: _Exchange, reader: SentenceReader) -> Iterator[Item]:
    """Yield the items of one turn, in order."""
    message = exchange.message
    list_kind: ItemKind | None = None  # of a label whose list follows
    heading = False
    for line in prose_lines(message.content):
        label = None if line.kind == "heading" and not line.text else parse_label(line.text)
        if label and not label.rest:
            list_kind, heading = label.kind, line.kind == "heading"
            continue
        if line.kind == "heading":
            list_kind = None
            continue
        if label:
            list_kind = None
            yield from _labelled_items(message, label.kind, label.rest)
            continue
        if list_kind and (line.kind == "bullet" or not (heading or line.gap)):
            for item in _labelled_items(message, list_kind, line.text):
                # A heading of an explanation («Next Steps») marks nothing on purpose.
                yield replace(item, marked=item.marked and not (heading and message.role == "assistant"))
            list_kind = list_kind if line.kind == "bullet" else None
            continue
        list_kind = None
        yield from _unlabelled_items(exchange, line, reader)


def _readable(exchange: _Exchange) -> Iterator[tuple[str, str, str]]:
    """Yield the sentences of a turn of the user, as the reader takes them."""
    if exchange.message.role == "user":
        for line in prose_lines(exchange.message.content):
            if line.kind != "heading":
                for sentence in split_sentences(line.text):
                    stated = statement_part(sentence) or sentence
                    plain = without_lead_in(stated)
                    for words in dict.fromkeys((stated, plain, plain[:1].upper() + plain[1:])):
                        yield words, exchange.previous, "user"


def _accepted_items(proposal: Message, acceptance: Message, reader: SentenceReader) -> Iterator[Item]:
    """Yield what the user accepts of the assistant's turn *proposal*, or the option they choose, citing both turns."""
    sources = (proposal.source, acceptance.source)
    option = chosen_option(proposal.content, acceptance.content)
    if option:
        asked = last_question(proposal.content)
        if max(answer_worth(asked, option), proposal_worth(asked), proposal_worth(option)) >= _LEAST_CHOICE:
            item = _item(proposal, "decision", shorten(option, MAX_ITEM_CHARS))
            yield replace(item, sources=sources, accepted=True, consented=True, asked=asked)
        return
    for kind, sentence in accepted_sentences(proposal.content, "", reader, consent=acceptance.content):
        if _stands_alone(sentence):
            item = _item(proposal, kind, shorten(sentence, MAX_ITEM_CHARS))
            yield replace(item, sources=sources, accepted=True, consented=True)


def _answer_items(exchange: _Exchange, reader: SentenceReader) -> Iterator[Item]:
    """Yield the first sentence of a short turn that is worth keeping together with the question before it."""
    message, previous = exchange.message, exchange.answered
    question = question_of(previous) if previous is not None and previous.role == "assistant" else ""
    turn = plain_turn(message.content)
    sentence = next(iter(split_sentences(turn)), "")
    if not question or not sentence or is_question(sentence) or not _is_short(turn) or parse_label(sentence):
        return
    reading = reader.read(sentence, question, "user")
    if _kind(exchange, sentence, reader) or answer_worth(last_question(question), sentence) < _LEAST_ANSWER:
        return
    kind = _ANSWERS.get(reading.likeliest, "fact") if reading.keep >= _LEAST_KEEP else "fact"
    yield replace(_item(message, kind, sentence), lasting=kind == "fact", asked=question)


def _is_short(turn: str) -> bool:
    """Return whether an answer has so few words that it needs its question."""
    chars = sum("\u3400" <= char <= "\u9fff" for char in turn)
    return chars <= _MAX_ANSWER_CHARS if chars else len(turn.split()) <= _MAX_ANSWER_WORDS


def _labelled_items(message: Message, kind: ItemKind, text: str) -> Iterator[Item]:
    """Yield the items of a label from the rest of its line. A sentence with a label of its own begins a new part."""
    begin = end = 0
    own_sentences: list[str] = []
    if kind == "preference" and message.role != "user":
        return
    for whole in split_sentences(text):
        start, sentence = text.index(whole, end), whole
        end = start + len(whole)
        if begin and len(own_sentences) == 1 and _goes_on(own_sentences[0]):
            own_sentences[0] += f" {sentence}"
            continue
        while (label := parse_label(sentence)) and label.rest:
            yield from _chunk_items(message, kind, text[begin:start])
            kind, sentence = label.kind, label.rest
            begin = start = end - len(sentence)
            own_sentences = []
            if kind == "preference" and message.role != "user":
                return
        own_sentences.append(sentence)
    if kind != "open_thread" and own_sentences and all(map(is_question, own_sentences)):
        return
    yield from _chunk_items(message, kind, text[begin:])


def _goes_on(sentence: str) -> bool:
    """Return whether *sentence* is the mark of a longer one, as "5." is behind the label of "Note: 5. Buy milk."."""
    return len(sentence) <= _MAX_MARK_CHARS and len(split_sentences(f"{sentence} x")) == 1


def _chunk_items(message: Message, kind: ItemKind, text: str) -> Iterator[Item]:
    for chunk in sentence_chunks(text.strip(), MAX_ITEM_CHARS):
        if _stands_alone(chunk):
            yield replace(_item(message, kind, chunk), marked=True)


def _stands_alone(text: str) -> bool:
    """Return whether *text* is long enough for an item and does not open a list."""
    return len(text) >= _MIN_ITEM_CHARS and not narrowed(text).endswith(":")


def _unlabelled_items(exchange: _Exchange, line: ProseLine, reader: SentenceReader) -> Iterator[Item]:
    message = exchange.message
    sentences = split_sentences(line.text)
    skip = False
    for index, sentence in enumerate(sentences):
        if skip:
            skip = False
            continue
        following = sentences[index + 1] if index + 1 < len(sentences) else ""
        announced = message.role == "user" and following and announces_correction(sentence, following)
        if announced and not takes_leave(f"{sentence} {following}"):
            start = line.text.index(sentence)
            end = line.text.index(following, start + len(sentence)) + len(following)
            yield _item(message, "correction", shorten(line.text[start:end], MAX_ITEM_CHARS))
            skip = True
            continue
        label = parse_label(sentence)
        if label and label.rest:
            yield from _labelled_items(message, label.kind, label.rest)
            continue
        kind, stated = _statement(exchange, sentence, reader)
        if kind and _stands_alone(stated):
            item = _item(message, kind, shorten(stated, MAX_ITEM_CHARS))
            yield replace(item, lasting=kind == "fact")


def _statement(exchange: _Exchange, sentence: str, reader: SentenceReader) -> tuple[ItemKind | None, str]:
    """Return the kind of *sentence* and as much of it as is kept.

    A question behind a statement is left off. A wish with its reason is one statement, and a preference if it holds for
    always.
    """
    stated = (statement_part(sentence) if exchange.message.role == "user" else "") or sentence
    kind = _kind(exchange, stated, reader)
    if stated == sentence or is_question(sentence):
        return kind, stated
    wish = sentence[len(stated) :].lstrip(_WISH_EDGES)
    if asks_for_always(wish, reader, has_reason=kind is not None):
        return "preference", sentence
    return kind or _kind(exchange, sentence, reader), sentence


def _kind(exchange: _Exchange, sentence: str, reader: SentenceReader) -> ItemKind | None:
    if exchange.message.role == "user":
        plain = without_lead_in(sentence)
        # Behind a lead-in a sentence starts small.
        bare = plain[:1].upper() + plain[1:] if plain != sentence else sentence
        kinds = (stated_kind(words, exchange.previous, reader) for words in dict.fromkeys((bare, plain, sentence)))
        return next((kind for kind in kinds if kind), None)
    return reported_kind(sentence, exchange.previous, reader, in_report=exchange.in_report)


def _item(message: Message, kind: ItemKind, text: str) -> Item:
    source = (message.source,)
    return Item(
        kind=kind, text=text.strip(), sources=source, role=message.role, ts=message.ts, said_in=source,
        worked=bool(message.cwd),
    )  # fmt: skip


def _merge_duplicates(items: Sequence[Item]) -> list[Item]:
    """Merge exact duplicates of one kind into the first, which gains their sources."""
    found: dict[tuple[str, str], Item] = {}
    for item in items:
        key = (item.kind, identity_key(f"{item.asked} {item.text}"))
        first = found.get(key)
        if first is None:
            found[key] = item
        else:
            sources = dict.fromkeys((*first.sources, *item.sources))
            said_in = dict.fromkeys((*first.said_in, *item.said_in))
            found[key] = replace(first, sources=tuple(sources), said_in=tuple(said_in))
    return list(found.values())


def _resolve_corrections(items: Sequence[Item], messages: Sequence[Message]) -> list[Item]:
    """Complete each correction with the sentence that it corrects, and mark the corrected items."""
    position = {message.source: index for index, message in enumerate(messages)}
    wrong: set[tuple[str, str]] = set()
    result = []
    for item in items:
        if item.kind != "correction":
            result.append(item)
            continue
        index = position[item.sources[0]]
        old = _corrected_sentence(item.text, messages[max(0, index - _LOOK_BACK) : index])
        if old is None:
            result.append(item)
            continue
        source, sentence = old
        own = any(message.source == source and message.role == item.role for message in messages[:index])
        if not (own and exchange_value(sentence, item.text)):  # what it says besides the value would be lost
            wrong.add((source, identity_key(sentence)))
        named = names_old_value(item.text)
        sources = item.sources if named else (source, *item.sources)
        result.append(replace(item, sources=sources, replaces="" if named else shorten(sentence, MAX_ITEM_CHARS)))
    return [replace(item, corrected=True) if _is_wrong(item, wrong) else item for item in result]


def _is_wrong(item: Item, wrong: set[tuple[str, str]]) -> bool:
    if item.kind == "correction":
        return False
    text = identity_key(item.text)
    return any(source in item.sources and (sentence in text or text in sentence) for source, sentence in wrong)


def _corrected_sentence(correction: str, earlier: Sequence[Message]) -> tuple[str, str] | None:
    """Return the source and text of the corrected sentence: the latest one with the same subject and another value.

    The sentence that shares the most terms with the correction wins. It must hold a number that the correction lacks.
    Where the correction names the old value, it must hold a number of the correction instead.
    """
    subject, numbers = {term.casefold() for term in content_terms(correction)}, _numbers(correction)
    best: tuple[int, int, str, str] | None = None
    for index, message in enumerate(earlier):
        if message.role not in _SPEAKERS:
            continue
        for sentence in (part for line in prose_lines(message.content) for part in split_sentences(line.text)):
            shared = len(subject & {term.casefold() for term in content_terms(sentence)})
            old_numbers = _numbers(sentence)
            differs = old_numbers - numbers if not names_old_value(correction) else old_numbers & numbers
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


def _title(spoken: Sequence[Message], topics: Sequence[str]) -> str:
    """Return the first user sentence with at least two terms, or else the topics."""
    for message in (message for message in spoken if message.role == "user"):
        for sentence in (part for line in prose_lines(message.content) for part in split_sentences(line.text)):
            plain = sentence[_match_length(_GREETING, sentence) :].strip(_TITLE_EDGES)
            if len(plain) >= 8 and len({term.casefold() for term in content_terms(plain)}) >= 2:
                return shorten(plain, _MAX_TITLE_CHARS)
    return ", ".join(topics[:3]) or "Short session"


def _match_length(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(narrowed(text))
    return match.end() if match else 0


def _files(spoken: Sequence[Message]) -> tuple[str, ...]:
    """Return the files named, in the order of their first mention."""
    found = (path for message in spoken for line in prose_lines(message.content) for path in named_paths(line.text))
    return tuple(dict.fromkeys(found))[:_MAX_LISTED]


def _commits(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the commits that somebody named as such, and those that git reported in a tool's output."""
    found: dict[str, None] = {}
    for message in messages:
        if message.role in _SPEAKERS:
            for line in prose_lines(message.content):
                claim = parse_claim(line.text, message.role)
                if claim and claim.strict:
                    found.update(dict.fromkeys(claim.commits))
        else:
            found.update(dict.fromkeys(match["hash"] for match in _TOOL_COMMIT.finditer(message.content)))
    return tuple(found)[:_MAX_LISTED]
