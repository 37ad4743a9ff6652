"""Resolution: which live entries, and which items of the session itself, the session's sentences end.

Every sentence that may end something is compared with the statements that share a word with it. The best match ends a
statement when it is certain and clearly better than the next one: it resolves a thread, takes a claim back, or replaces
a statement by its own. A match that is only likely becomes an unsure operation, which nobody applies and the report
names. The number of comparisons has a limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_home.documents.document import Document
from agent_home.documents.entry import Entry, superseded_by
from agent_home.store.transcript import Message
from guard.lazy_regex import lazy_regex
from recall.embedding.embedder import Embedder
from recall.errors import ModelError
from recall.text.identity import identity_key

from ..evidence.status import Evidence
from ..learning.correction_comparison import same_lesson
from ..reading.endings import Ending, Head, judge_ending, shows_ending
from ..reading.labels import parse_label
from ..reading.pair_terms import is_related, statement_terms
from ..statements.clauses import replaced_clauses
from ..statements.life_changes import ends_life_fact, life_fact
from ..statements.operation import Operation, OperationKind
from ..statements.pairs.pair_features import compare
from ..statements.rejected_value import names_rejected_value, rejects_value_of
from ..statements.sentences import is_question, prose_lines, split_sentences
from ..statements.standalone import split_speaker
from ..summary.extraction import Item, Summary, spoken_messages
from .operations import RESOLVABLE
from .withheld import has_placeholder

__all__ = ["Saying", "doubted_entries", "find_endings", "sayings", "settle_items", "with_endings"]

#: Longer sentences are pasted texts.
_MAX_CHARS = 300
#: A term of more statements selects none, and at most so many pairs are judged.
_MAX_POSTINGS, _MAX_PAIRS = 60, 4000
#: Least lead of the best thread over the next one.
_MARGIN = 0.1
#: Pairs of at least this chance by words are judged again by vectors, the best first.
_WORTH_VECTORS, _MAX_VECTOR_PAIRS = 0.05, 60
#: Least share of a thread's terms in the words of a label such as "Done:".
_LABELLED_SHARE = 0.3
#: What is not done yet ends no thread, whoever was wrong about it.
_NOT_YET = lazy_regex(
    r"(?:\bnot\b|n['’]t\b)[^.;]{0,80}\byet\b|\bstill (?:open|pending|to do)\b|还没|尚未", re.IGNORECASE
)
#: Prefixes of entries that a note may contradict, and most of them that are named.
_NOTED, _MOST_DOUBTED = frozenset({"SP", "KD", "LL", "CO", "OT", "RC"}), 3
#: Least share of the shorter statement in one that says the opposite.
_OPPOSED_SHARE = 0.5
_THREADS = frozenset({"open_thread", "next_step"})
_OPERATIONS: Mapping[Head, OperationKind] = {"replace": "supersede", "resolve": "resolve", "retract": "retract"}
#: Prefixes of entries that decide for a value.
_DECIDED = frozenset({"KD", "SP"})
#: Kinds of items that claim nothing that could be taken back.
_NO_CLAIMS = frozenset({"correction", "deliverable", "rejected"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """A sentence of the session that may end something. *place* is the index of its turn.

    *explicit*: a label such as "Done:" opens it, or git verified it. *plain*: it has no sign of an ending, so it can
    only replace a statement.
    """

    text: str
    source: str
    role: str
    place: int
    explicit: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Endable:
    """A statement that may end: a live entry or an item of the session, said in turn *place*."""

    key: str
    text: str
    thread: bool
    place: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedPair:
    statement: _Endable
    saying: Saying
    ending: Ending

    @property
    def chance(self) -> float:
        return self.ending.chance

    @property
    def kind(self) -> Head:
        """The likeliest kind of ending. Words behind a label such as "Done:" resolve a thread."""
        return "resolve" if self.labelled else self.ending.kind

    @property
    def certain(self) -> bool:
        return self.ending.certain or (self.saying.explicit and self.likely) or self.labelled

    @property
    def likely(self) -> bool:
        return self.ending.likely

    @property
    def labelled(self) -> bool:
        """True when a label ends a thread whose words stand behind it."""
        if not (self.saying.explicit and self.statement.thread):
            return False
        terms, said = statement_terms(self.statement.text), statement_terms(self.saying.text)
        shared = sum(weight for term, weight in terms.items() if term in said)
        return shared >= _LABELLED_SHARE * sum(terms.values())


def with_endings(
    summary: Summary,
    messages: Sequence[Message],
    entries: Sequence[Entry],
    *,
    evidence: Mapping[Item, Evidence],
    embedder: Embedder | None = None,
    tell: Callable[[Saying], str] = lambda saying: saying.text,
) -> Summary:
    """Return *summary* with operations on *entries* that the messages end, and its own items settled.

    *evidence* is git's answer to the items. A sentence that git contradicts ends nothing. *tell* returns a sentence as
    a text that stands alone. What replaces an entry and is an item already has the item's text.
    """
    said = sayings(messages, evidence)

    def told(saying: Saying) -> str:
        own = (item.told for item in summary.items if saying.source in item.sources and item.text == saying.text)
        return next(own, "") or tell(saying)

    operations = find_endings(entries, said, embedder=embedder, tell=told)
    named = {operation.target for operation in summary.operations}
    return replace(
        summary,
        items=tuple(settle_items(summary.items, said, messages, embedder=embedder)),
        operations=(*summary.operations, *(found for found in operations if found.target not in named)),
    )


def sayings(messages: Sequence[Message], evidence: Mapping[Item, Evidence]) -> list[Saying]:
    """Return the sentences of users and assistants that may end something, in order."""
    states = {
        (source, identity_key(item.text)): found.state for item, found in evidence.items() for source in item.sources
    }
    places = {message.source: place for place, message in enumerate(messages)}
    return [
        Saying(
            text=text, source=message.source, role=message.role, place=places[message.source],
            explicit=labelled or states.get((message.source, identity_key(text))) == "verified", plain=plain,
        )
        for message in spoken_messages(messages)
        for text, labelled, plain in _sentences(message)
        if states.get((message.source, identity_key(text))) != "contradicted"
    ]  # fmt: skip


def find_endings(
    entries: Sequence[Entry],
    said: Sequence[Saying],
    *,
    embedder: Embedder | None = None,
    tell: Callable[[Saying], str] = lambda saying: saying.text,
) -> list[Operation]:
    """Return the operations on live *entries* that *said* calls for, at most one for each part of an entry.

    *tell* returns a sentence as a text that stands alone, for the entry that replaces another one.
    """
    replaced = superseded_by(entries)
    live = {entry.id: entry for entry in entries if not entry.retired and entry.id not in replaced}
    statements = [
        _Endable(key=entry.id, text=split_speaker(entry.text)[1], thread=entry.prefix == "OT")
        for entry in live.values()
        if not entry.protected
    ]
    operations = []
    for match in _best_matches(statements, said, embedder):
        entry, saying = live[match.statement.key], match.saying
        kind = _OPERATIONS[match.kind]
        own = saying.role == "user" or entry.fields.get("Origin") == "agent"
        if kind != "resolve" and not own:
            continue  # nobody but the user takes back or replaces what the user said
        if kind == "retract" and same_lesson(match.statement.text, saying.text):
            continue  # "Wrong, by risk" corrects the agent once more, and says the correction again
        operations.append(
            Operation(
                kind=kind, target=entry.id, sources=(saying.source,),
                text=tell(saying) if kind == "supersede" else saying.text,
                reason=f"said with probability {match.chance:.2f}",
                unsure=not match.certain or (kind == "resolve" and entry.prefix not in RESOLVABLE),
            )
        )  # fmt: skip
    named = {operation.target for operation in operations}
    return operations + list(
        _rejected_decisions([entry for entry in live.values() if entry.id not in named], said, tell)
    )


def _rejected_decisions(
    entries: Sequence[Entry], said: Sequence[Saying], tell: Callable[[Saying], str]
) -> Iterator[Operation]:
    """Yield questions about the decisions and wishes among *entries* whose value a sentence names as not taken."""
    spoken = [saying for saying in said if not has_placeholder(saying.text) and names_rejected_value(saying.text)]
    for entry in entries if spoken else ():
        if entry.protected or entry.prefix not in _DECIDED:
            continue
        own = entry.fields.get("Origin") == "agent"
        text = split_speaker(entry.text)[1]
        for saying in spoken:
            if (own or saying.role == "user") and rejects_value_of(text, saying.text):
                yield Operation(
                    kind="supersede", target=entry.id, sources=(saying.source,), text=tell(saying), unsure=True,
                    reason="it names the value that this entry decided for as one that is not taken",
                )  # fmt: skip
                break


def doubted_entries(memory: Document, note: Entry) -> dict[str, str]:
    """Return the live entries of *memory* that *note* perhaps contradicts, by id, those that it may end first."""
    entries = list(memory.entries())
    replaced = superseded_by(entries)
    role = "assistant" if note.fields.get("Origin") == "agent" else "user"
    live = {
        entry.id: split_speaker(entry.text)[1]
        for entry in entries
        if not (entry.retired or entry.id in replaced or entry.id == note.id or entry.prefix not in _NOTED)
    }
    said = Saying(text=note.text[:_MAX_CHARS], source="note", role=role, place=0)
    ended = [
        found.target
        for found in find_endings(entries, [said])
        if found.target in live and not _is_of_another(live[found.target], note.text)
    ]
    opposed = [entry_id for entry_id, text in live.items() if _opposes(text, note.text)]
    return {entry_id: live[entry_id] for entry_id in list(dict.fromkeys([*ended, *opposed]))[:_MOST_DOUBTED]}


def _opposes(older: str, newer: str) -> bool:
    """Return whether *newer* says of the same thing the opposite, or the same with another sign."""
    if max(len(older), len(newer)) > _MAX_CHARS or not is_related(older, newer):
        return False
    found = compare(older, newer)
    turned = found["polarity differs"] > 0 or found["opposites"] > 0
    other = _is_of_another(older, newer) or found["heads differ"] or found["name changed"]
    return turned and not other and found["share of lighter"] >= _OPPOSED_SHARE


def _is_of_another(older: str, newer: str) -> bool:
    """Return whether *newer* speaks of another relative."""
    found = compare(older, newer)
    return bool(found["kin differs"] or found["kin added"])


def settle_items(
    items: Sequence[Item], said: Sequence[Saying], messages: Sequence[Message], *, embedder: Embedder | None = None
) -> list[Item]:
    """Return *items* with threads marked that a later turn resolved, and claims marked that one took back.

    What one session replaces is related when its entries are placed.
    """
    places = {message.source: place for place, message in enumerate(messages)}
    statements = [
        _Endable(
            key=str(number), text=item.text, thread=item.kind in _THREADS,
            place=max(places.get(source, -1) for source in item.sources),
        )
        for number, item in enumerate(items)
        if item.kind not in _NO_CLAIMS and not item.corrected
    ]  # fmt: skip
    settled = list(items)
    for match in _best_matches(statements, said, embedder):
        number = int(match.statement.key)
        item = settled[number]
        if match.certain and match.kind == "resolve" and match.statement.thread:
            settled[number] = replace(item, resolved=match.saying.source)
        elif match.certain and match.kind == "retract" and item.role == match.saying.role:
            settled[number] = replace(item, corrected=True)
    return settled


def _sentences(message: Message) -> Iterator[tuple[str, bool, bool]]:
    """Yield the sentences of a turn that may end something, whether a label says so, and whether no sign does.

    A sentence of the assistant without a sign is left out, because its prose is long and replaces little.
    """
    for line in prose_lines(message.content):
        if line.kind == "heading" or len(line.text) > 20 * _MAX_CHARS:
            continue
        label = parse_label(line.text)
        if label and label.kind == "deliverable" and label.rest:
            yield label.rest[:_MAX_CHARS], True, False
            continue
        for sentence in split_sentences(line.text):
            signed = shows_ending(sentence)
            if len(sentence) <= _MAX_CHARS and (signed or (message.role == "user" and not is_question(sentence))):
                yield sentence, False, not signed


def _best_matches(
    statements: Sequence[_Endable], said: Sequence[Saying], embedder: Embedder | None
) -> Iterator[_JudgedPair]:
    """Yield the best likely match of each statement, in the order of the statements, and those of its other parts.

    Of the statements that one sentence matches, only the best counts, and only with a lead over the next.
    """
    matches = _with_vectors(list(_judged(statements, said)), embedder)
    by_saying: dict[Saying, list[_JudgedPair]] = {}
    for match in matches:
        if match.likely or match.labelled:
            by_saying.setdefault(match.saying, []).append(match)
    best: dict[str, list[_JudgedPair]] = {}
    for found in by_saying.values():
        found.sort(key=lambda match: -match.chance)
        if len(found) > 1 and found[0].chance - found[1].chance < _MARGIN and not _same(found[0], found[1]):
            if found[0].kind != "retract" or not found[0].certain:
                continue  # two statements fit equally well
            found[0] = replace(found[0], ending=replace(found[0].ending, certain=False))  # a person says which one
        match = found[0]
        best.setdefault(match.statement.key, []).append(match)
    for statement in statements:
        if statement.key in best:
            yield from _of_other_parts(
                sorted(best[statement.key], key=lambda match: (not match.certain, -match.chance))
            )


def _of_other_parts(matches: Sequence[_JudgedPair]) -> Iterator[_JudgedPair]:
    """Yield the best of the *matches* of one statement, then the certain ones that replace another part of it."""
    first, *others = matches
    yield first
    if not first.certain or first.kind != "replace":
        return
    gone = {replaced_clauses(first.statement.text, first.saying.text)}
    for match in others:
        part = replaced_clauses(match.statement.text, match.saying.text)
        if match.certain and match.kind == "replace" and part.certain and part.kept and part not in gone:
            gone.add(part)
            yield match


def _judged(statements: Sequence[_Endable], said: Sequence[Saying]) -> Iterator[_JudgedPair]:
    """Yield judged pairs of a statement and a later sentence that share a term."""
    postings: dict[str, list[_Endable]] = {}
    for statement in statements:
        for term in statement_terms(statement.text):
            postings.setdefault(term, []).append(statement)
    lives = [statement for statement in statements if life_fact(statement.text) is not None][:_MAX_POSTINGS]
    judged = 0
    for saying in said:
        if has_placeholder(saying.text):
            continue  # the value that it is about was withheld
        related = {
            statement.key: statement
            for term in statement_terms(saying.text)
            if len(postings.get(term, ())) <= _MAX_POSTINGS
            for statement in postings.get(term, ())
            if statement.place < saying.place and identity_key(statement.text) != identity_key(saying.text)
        }
        related |= {
            statement.key: statement
            for statement in lives
            if statement.place < saying.place and ends_life_fact(statement.text, saying.text)
        }
        unfinished = _NOT_YET.search(saying.text) is not None
        for statement in related.values():
            if statement.thread and unfinished:
                continue
            if judged == _MAX_PAIRS:
                return
            judged += 1
            ending = judge_ending(statement.text, saying.text, saying.role, thread=statement.thread)
            yield _JudgedPair(statement=statement, saying=saying, ending=ending)


def _with_vectors(matches: list[_JudgedPair], embedder: Embedder | None) -> list[_JudgedPair]:
    """Return *matches* with the pairs worth it judged again by their vectors."""
    worth = sorted(matches, key=lambda match: -match.chance)
    worth = [match for match in worth if match.chance >= _WORTH_VECTORS][:_MAX_VECTOR_PAIRS]
    if embedder is None or not worth:
        return matches
    texts = list(dict.fromkeys(text for match in worth for text in (match.statement.text, match.saying.text)))
    try:
        vectors = dict(zip(texts, embedder.embed(texts), strict=True))
    except ModelError:
        return matches  # a closing must not fail with the model
    again = {
        (match.statement.key, match.saying): replace(
            match,
            ending=judge_ending(
                match.statement.text, match.saying.text, match.saying.role,
                (vectors[match.statement.text], vectors[match.saying.text]), thread=match.statement.thread,
            ),
        )
        for match in worth
    }  # fmt: skip
    return [again.get((match.statement.key, match.saying), match) for match in matches]


def _same(one: _JudgedPair, other: _JudgedPair) -> bool:
    return identity_key(one.statement.text) == identity_key(other.statement.text)
