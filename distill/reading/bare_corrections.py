"""Corrections without their subject: "no, the 14th" changes the one value that was said just before it.

Such a turn of the user says nothing but a value. The turn before it tells which value is wrong, because it says one of
the same kind. The corrected statement is an earlier sentence of the user, or a live entry, that holds this value once
and all that the turn before says about it. Where that is certain, the value is exchanged there. Where a statement only
may be meant, a person decides. A turn that answers a question about another thing corrects nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent_home.store.transcript import Message
from guard.lazy_regex import lazy_regex

from ..statements.contradiction import named_change
from ..statements.pairs import pair_features
from ..statements.sentences import is_question, split_sentences
from ..statements.standalone import plain_turn
from ..statements.statement_parser import Statement, Token, parse_statement
from ..statements.value_exchange import put_value
from .self_corrections import repaired_value, settle_self_corrections

__all__ = ["BareCorrection", "CorrectedEntry", "SettledTurns", "read_bare_correction", "settle_turns"]

#: Longer turns say more than a value.
_MAX_TURN_CHARS, _MAX_SENTENCE_CHARS = 60, 300
#: Turns before a correction that may say the wrong value, and that may hold the corrected sentence.
_HEARD_TURNS, _LOOK_BACK = 3, 12
#: Kinds of values that stand alone.
_VALUES = frozenset({"date", "day", "time", "number", "name"})
#: Least weight of the words that the sentence with the wrong value shares with the corrected statement. Of so few
#: words a question needs the turn before it to be about the same thing.
_LEAST_SHARED, _FEW_SHARED = 1.0, 2.0
#: Most weight of its other words, if it is no question.
_MOST_OTHER = 1.0
#: Asks about one more thing.
_ANOTHER = lazy_regex(r"\b(?:too|also|as well|either)\b|也", re.IGNORECASE)
_HAN = lazy_regex(r"[\u3400-\u9fff]")
_ARTICLE = lazy_regex(r"(?:the|on|at|in|by|it['’]s|that['’]s|是|在)\s*(?=\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BareCorrection:
    """The *value* that a turn says, and the value that it names as *gone*, if it does.

    *explicit*: a word of repair opens the turn, it names what is gone, or it says that this holds now.
    """

    value: Token
    text: str
    gone: Token | None = None
    explicit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedEntry:
    """The entry *target* with the value of the turn *source* exchanged. Unless *certain*, a person decides.

    *heard* is the source of the turn that said the wrong value.
    """

    target: str
    text: str
    source: str
    heard: str
    certain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledTurns:
    """The turns with their corrections settled.

    *corrected* names the corrected turn of each correcting one, and *sentences* the sentence as it is right. *entries*
    are corrected entries. *left* are the sources of turns that correct a value of nothing that is known.
    """

    messages: tuple[Message, ...]
    corrected: Mapping[str, str] = field(default_factory=dict)
    sentences: Mapping[str, str] = field(default_factory=dict)
    entries: tuple[CorrectedEntry, ...] = ()
    left: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """A *sentence* with wrong values, the turn that says it, and the turn of the user that it answers."""

    sentence: str
    turn: Message
    wrong: tuple[Token, ...]
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _CorrectionMatch:
    """A statement that may be the corrected one. *key* is an entry's id or a turn's source."""

    key: str
    statement: str
    settled: str
    shared: float
    certain: bool


def settle_turns(messages: Sequence[Message], before: Sequence[Message], entries: Mapping[str, str]) -> SettledTurns:
    """Settle the corrections of values in *messages*. *entries* are the statements of live entries by id.

    *before* are the session's earlier messages, whose statements are entries by now if they are kept at all.
    """
    settled = [settle_self_corrections(message) for message in messages]
    corrected, sentences = dict[str, str](), dict[str, str]()
    found: list[CorrectedEntry] = []
    left: set[str] = set()
    for place, message in enumerate(settled):
        bare = read_bare_correction(message.content) if message.role == "user" else None
        if bare is None:
            continue
        spoken = [turn for turn in (*before, *settled[:place]) if turn.role in {"user", "assistant"} and turn.content]
        heard = _heard(bare, spoken)
        if heard is None:
            if bare.explicit and spoken and not is_question(_last_sentence(spoken[-1])):
                left.add(message.source)
            continue
        own = {turn.source: turn.content for turn in settled[max(0, place - _LOOK_BACK) : place] if turn.role == "user"}
        said = next((match for match in _matches(bare, heard, own, cut=True) if match.certain), None)
        if said is not None:
            at = next(at for at, turn in enumerate(settled) if turn.source == said.key)
            content = settled[at].content.replace(said.statement, said.settled, 1)
            settled[at] = replace(settled[at], content=content)
            settled[place] = replace(message, content="")
            corrected[message.source], sentences[message.source] = said.key, said.settled
            continue
        changed = _corrected_entries(bare, heard, entries, message)
        found += changed
        if any(entry.certain for entry in changed):
            settled[place] = replace(message, content="")
        elif bare.explicit and (changed or not is_question(heard.sentence)):
            left.add(message.source)
    return SettledTurns(
        messages=tuple(settled), corrected=corrected, sentences=sentences, entries=tuple(found), left=frozenset(left)
    )  # fmt: skip


def read_bare_correction(content: str) -> BareCorrection | None:
    """Return the value that a turn says and nothing else, with the value that it names as gone.

    >>> found = read_bare_correction("no, the 14th")
    >>> found and (found.text, found.explicit)
    ('14th', True)
    >>> read_bare_correction("No, he comes on the 14th.")
    """
    if len(content) > _MAX_TURN_CHARS:
        return None
    turn = plain_turn(content).strip()
    if not turn or is_question(turn) or len(split_sentences(turn)) != 1:
        return None
    change = named_change(turn)
    said = _value_of(change[1].text.strip(" .。,\uff0c")) if change else None
    if change and said:
        gone = _value_of(change[0].text)
        return BareCorrection(value=said[0], text=said[1], gone=gone[0], explicit=True) if gone else None
    rest = repaired_value(turn)
    said = _value_of(rest or turn.rstrip(".。!\uff01"))
    if change or not said:
        return None
    explicit = bool(rest) or pair_features.compare(turn, turn)["now newer"] > 0
    return BareCorrection(value=said[0], text=said[1], explicit=explicit)


def _value_of(text: str) -> tuple[Token, str] | None:
    """Return the value that *text* says and nothing else, and its words."""
    # Behind a word, a capital shows a name.
    lead = "" if _HAN.search(text) else "at "
    said = parse_statement(lead + text)
    if len(said.tokens) != 1 or said.tokens[0].kind not in _VALUES or said.negations:
        return None
    value = said.tokens[0]
    words = said.text[value.start : value.end].strip()
    rest = said.text[len(lead) : value.start]
    if _HAN.search(rest) and not _ARTICLE.fullmatch(rest):
        return None
    return value, words


def _heard(bare: BareCorrection, spoken: Sequence[Message]) -> _Heard | None:
    """Return the latest sentence with another value of the kind, unless a question stands between.

    Nothing before the latest turn of the user counts.
    """
    for back in range(1, min(_HEARD_TURNS, len(spoken)) + 1):
        turn = spoken[-back]
        for sentence in reversed(split_sentences(plain_turn(turn.content))):
            tokens = parse_statement(sentence[:_MAX_SENTENCE_CHARS]).tokens
            alike = tuple(token for token in tokens if token.kind == bare.value.kind)
            if bare.gone is not None:
                alike = tuple(token for token in alike if token.key == bare.gone.key)
            elif any(token.key == bare.value.key for token in alike):
                return None  # it chooses one of two values
            if alike:
                earlier = spoken[-back - 1].content if len(spoken) > back else ""
                return None if _ANOTHER.search(sentence) else _Heard(
                    sentence=sentence, turn=turn, wrong=alike, before=earlier
                )  # fmt: skip
            if is_question(sentence):
                return None  # it answers this question
        if turn.role == "user":
            return None
    return None


def _matches(
    bare: BareCorrection, heard: _Heard, statements: Mapping[str, str], *, cut: bool
) -> Iterator[_CorrectionMatch]:
    """Yield the statements that may be meant, the latest first. With *cut* each sentence is one."""
    for key, text in reversed(list(statements.items())):
        parts = split_sentences(plain_turn(text)) if cut else [text]
        for part in reversed(parts):
            if part and len(part) <= 2 * _MAX_SENTENCE_CHARS and not is_question(part):
                yield from _match(bare, heard, key, part)


def _match(bare: BareCorrection, heard: _Heard, key: str, statement: str) -> Iterator[_CorrectionMatch]:
    """Yield *statement* if it holds a wrong value once and shares something else with what was heard."""
    said = parse_statement(statement)
    for wrong in heard.wrong:
        run = [token for token in said.tokens if token.kind == wrong.kind and token.key == wrong.key]
        if len(run) != 1 or len(said.text) != len(statement):
            continue
        settled = put_value(statement, run[0], bare.text)
        tokens = [token for token in parse_statement(heard.sentence).tokens if not _is_alike(token, wrong)]
        known = {token.key for token in said.tokens}
        shared = sum(token.weight for token in tokens if token.key in known)
        other = [token for token in tokens if token.key not in known]
        own = heard.turn.source == key and heard.sentence == statement
        echoed = not tokens and heard.turn.role == "assistant" and statement in heard.before
        if any(token.particular for token in other) or not settled or not (own or echoed or shared >= _LEAST_SHARED):
            continue
        sure = own or echoed or _covers(heard, said, shared, sum(token.weight for token in other))
        yield _CorrectionMatch(
            key=key, statement=statement, settled=settled, shared=shared,
            certain=sure and bare.explicit,
        )  # fmt: skip


def _is_alike(token: Token, wrong: Token) -> bool:
    """Return whether *token* is a wrong value, or another amount beside it."""
    return token.key == wrong.key or (token.kind == wrong.kind and token.kind != "name")


def _covers(heard: _Heard, said: Statement, shared: float, other: float) -> bool:
    """Return whether a statement holds all that was heard, and so little else is said that it must be meant."""
    if not is_question(heard.sentence):
        return other <= _MOST_OTHER
    about = {token.key for token in parse_statement(heard.before).tokens}
    return not other and (shared >= _FEW_SHARED or any(token.key in about for token in said.tokens))


def _corrected_entries(
    bare: BareCorrection, heard: _Heard, entries: Mapping[str, str], message: Message
) -> list[CorrectedEntry]:
    """Return the one entry that is meant, or each that may be."""
    matches = sorted(_matches(bare, heard, entries, cut=False), key=lambda match: -match.shared)
    sure = [match for match in matches if match.certain]
    if sure and (len(sure) == 1 or sure[0].shared - sure[1].shared >= _LEAST_SHARED):
        matches = sure[:1]
    else:
        matches = [replace(match, certain=False) for match in matches]
    return [
        CorrectedEntry(
            target=match.key, text=match.settled, source=message.source, heard=heard.turn.source, certain=match.certain
        )
        for match in matches[:2]
    ]  # fmt: skip


def _last_sentence(turn: Message) -> str:
    return next(reversed(split_sentences(plain_turn(turn.content))), "")
