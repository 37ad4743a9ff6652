"""Choice of the words that stand with a sentence, so that a reader of memory understands it months later.

``distill.statements.standalone`` keeps what a pronoun or a short answer shows to be missing. Where the learned chance
(``distill.summary.leaning``) says that the sentence leans on more, it keeps the sentences before it in its turn. A word
of another turn stands with it only if the sentence itself lacks it, and only from the turn right before it. An
unrelated turn misleads more than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise

from agent_home.store.transcript import Message
from guard.lazy_regex import lazy_regex

from ..reading.classifier import SentenceReader
from ..reading.pair_terms import LIGHT_HAN
from ..statements.completeness import lacks_its_noun
from ..statements.sentences import is_question, split_sentences
from ..statements.standalone import (
    Surroundings,
    find_surroundings,
    is_elliptical,
    join_sentences,
    plain_turn,
    question_of,
    sentences_before,
)
from ..statements.topics import content_terms
from .leaning import leans
from .selection import is_courtesy
from .sentence_kinds import is_request

__all__ = ["choose_surroundings", "with_answer"]

#: Least chance of a sentence that gets the sentences before it in its turn, and of one that gets words of other turns.
_LEANS_ON_TURN, _LEANS_ON_OTHERS = 0.12, 0.26
#: Least chance of the start of a turn that keeps the question it answers. A question is short and names the topic.
_LEANS_ON_QUESTION = 0.12
#: Least chance of one that gets words of other turns where sentences of its own turn stand before it.
_LEANS_STILL = 0.4
#: A shorter sentence before it is cheap, and often the heading of what follows ("about that seed").
_HEADING_CHARS = 40
#: Fewer words or Chinese characters ("next.") say nothing.
_HEADING_WORDS = 2
_HEADING_HAN = 4
#: Greatest chance of a sentence that stands without the remark before it, and least chance of such a remark.
_STANDS, _IS_REMARK = 0.2, 0.3
#: Most words of a reply to the turn before at the start of a turn.
_LEAD_IN_WORDS = 5
#: Most characters of the sentences of its own turn, and of an earlier turn, that stand with a sentence.
_MAX_OWN_CHARS, _MAX_TOPIC_CHARS = 260, 200
#: Latest turns of the speaker that are searched for whom "he" or "she" means.
_NEAR = 2
#: Words that open another topic.
_NEW_TOPIC = lazy_regex(
    r"(?:oh|anyway|anyhow|btw|by the way|also|another|next|quick one)\b|(?:哦|哎)?(?:对了|另外|还有|顺便|说正事)",
    re.IGNORECASE,
)
_WISHES = frozenset({"preference", "decision"})
_HAN = lazy_regex(r"[\u3400-\u9fff]")
_POINTING = r"\b(?:it|its|they|them|their|he|him|his|she|her|hers|that|those|this|these|there|then|one)\b"
#: Words of those who talk. A short sentence without them may be a heading ("about the threshold.").
_IN_TALK = lazy_regex(r"\b(?:i|me|my|we|us|you|your|please|thanks)\b|[我你您]", re.IGNORECASE)
_POINTS = lazy_regex(rf"{_POINTING}|[他她它那这]", re.IGNORECASE)
#: The same where nothing before it can be its noun.
_POINTS_BACK = lazy_regex(rf"{_POINTING}|^.{{0,12}}[他她它]|^.{{0,2}}[那这]", re.IGNORECASE)
#: A question that offers something for what the user just said.
_OFFERS = lazy_regex(r"要不要|\b(?:want (?:a|me|to)|shall i|should i|do you want)\b", re.IGNORECASE)
_PERSON_MEANT = lazy_regex(r"\b(?:he|him|his|she|her|hers|hes|shes)\b|[他她](?!们)", re.IGNORECASE)
_HE, _SHE = (
    lazy_regex(r"\b(?:he|him|his|hes)\b|他", re.IGNORECASE),
    lazy_regex(r"\b(?:she|hers?|shes)\b|她", re.IGNORECASE),
)
_HIM = lazy_regex(
    r"\b(?:dad|father|husband|son|brother|grandpa|boyfriend)\b|[爸爹爷哥弟叔]|老公|公公|儿子", re.IGNORECASE
)
_HER = lazy_regex(
    r"\b(?:mum|mom|mother|wife|daughter|sister|grandma|girlfriend)\b|[妈姐妹奶婆]|女儿|闺女", re.IGNORECASE
)
#: A name inside an English sentence, or in Latin letters inside a Chinese one.
_NAME = lazy_regex(r"(?:(?<=[a-z,;\u3400-\u9fff] )|(?<=[\u3400-\u9fff]))(?!I\b)[A-Z][a-z]+")


def choose_surroundings(words: str, turn: Message, earlier: Sequence[Message]) -> Surroundings:
    """Return what stands with *words* of *turn*. *earlier* are the turns before it, oldest first."""
    found = _near_words(words, turn, earlier)
    found = replace(found, other="", asked=False) if found.other and _stands(found.own, words, turn) else found
    around = with_answer(found, words, turn)
    return _with_person(_without_remarks(around, words, turn), words, turn, earlier)


def _stands(own: str, words: str, turn: Message) -> bool:
    """Return whether the reader keeps a wish or a decision without any other turn, and nothing in it points back.

    A fact in few words may be an answer.
    """
    text = join_sentences(own, words)
    points = _POINTS_BACK.search(text) is not None or is_elliptical(words, user=False) or lacks_its_noun(f"A: {text}")
    reading = SentenceReader().read(text, "", turn.role)
    return not points and reading.enters and reading.likeliest in _WISHES


def _without_remarks(around: Surroundings, words: str, turn: Message) -> Surroundings:
    """Return *around* without first sentences that are remarks to the other speaker, where *words* stand without them.

    A question that such a remark answers with yes or no goes too. The remark says nothing to keep, leans on what was
    said before it, and shares no term with *words*.
    """
    if not around.own or leans(words) > _STANDS or _POINTS.match(words) or lacks_its_noun(f"A: {words}"):
        return around
    before, own, reader = sentences_before(words, turn), around.own, SentenceReader()
    for sentence in before:
        rest = own.removeprefix(sentence).lstrip()
        says = leans(sentence) <= _IS_REMARK or reader.read(sentence, "", turn.role).act != "none"
        names_topic = bool(content_terms(sentence)) and not (_POINTS.search(sentence) or _IN_TALK.search(sentence))
        if rest == own or says or names_topic or is_question(sentence) or _share_a_term(sentence, words):
            break
        own = rest
    answered = own != around.own and around.own.startswith(before[0])
    if answered and around.asked and _OFFERS.search(around.other) and not _share_a_term(around.other, words):
        return replace(around, own=own, other="", asked=False, topic="", topic_turn=None)
    return replace(around, own=own)


def with_answer(around: Surroundings, words: str, turn: Message) -> Surroundings:
    """Return *around* with the start of *turn* where a question stands with *words* and that start answers it.

    A long start stays out. It says more than the answer.
    """
    before = sentences_before(words, turn)
    start = reduce(join_sentences, before, "")
    if not (around.asked and around.other) or not before or around.own.startswith(before[0]):
        return around
    fits = len(start) <= _HEADING_CHARS and not is_question(start) and not is_courtesy(start)
    return replace(around, own=start) if fits else around


def _near_words(words: str, turn: Message, earlier: Sequence[Message]) -> Surroundings:
    """Return the sentences of *turn* and of the turns right before it that *words* lean on."""
    found = find_surroundings(words, turn, earlier)
    before = sentences_before(words, turn)
    other = found.turn
    opens = _NEW_TOPIC.match(words) is not None
    own = found.own or ("" if opens else _nearest(before, words))
    own = own if is_question(found.other) else _without_lead_in(own, before, words)
    text = join_sentences(own, words)
    previous = other.content if other is not None else ""
    whole = not before or own.startswith(before[0])
    least = _LEANS_STILL if before and not is_question(previous) else _LEANS_ON_OTHERS
    question = question_of(other) if other is not None else ""
    starts = whole and not opens and _NEW_TOPIC.match(text) is None
    if not starts or not _needs_more(text, previous, least):
        answers = bool(question) and starts and leans(text, previous) > _LEANS_ON_QUESTION
        own = own if answers else _without_answer(own, before)
        asked = question if answers else found.other
        return Surroundings(own=own, other=asked, asked=answers or found.asked, turn=other)
    if question and _is_clear(question) and not lacks_its_noun(f"A (asked: {question!r}): {text}"):
        return Surroundings(own=own, other=question, asked=True, turn=other)
    if not _needs_a_word(words, text):
        return Surroundings(own=own, turn=other)
    return Surroundings(own=own, other=question or found.other, asked=bool(question) or found.asked, turn=other)


def _needs_a_word(words: str, text: str) -> bool:
    """Return whether the sentence itself lacks a word of another turn: it points back, or is a bare answer."""
    return _POINTS_BACK.search(words) is not None or is_elliptical(words, user=True) or lacks_its_noun(f"A: {text}")


def _with_person(around: Surroundings, words: str, turn: Message, earlier: Sequence[Message]) -> Surroundings:
    """Return *around* with the sentence that names whom *words* call him or her, where nothing there does.

    It is the nearest sentence of the speaker's earlier turns that has such a relative, or a name beside that pronoun.
    """
    text = join_sentences(around.own, words)
    pronoun = _PERSON_MEANT.search(text)
    if pronoun is None:
        return around
    his = pronoun.group()[0] in "hH他" and pronoun.group().casefold() not in {"her", "hers"}
    known = f"{around.topic} {around.other} {text[: pronoun.start()]}"
    kin, same = (_HIM, _HE) if his else (_HER, _SHE)
    if (
        _starts_with_a_thing(text[: pronoun.start()])
        or kin.search(known)
        or _NAME.search(known)
        or _HIM.search(known)
        or _HER.search(known)
    ):
        return around
    own = [message for message in earlier if (message.role, message.name) == (turn.role, turn.name)]
    for message in reversed(own[-_NEAR:]):
        for sentence in reversed(split_sentences(plain_turn(message.content))):
            name = _NAME.search(sentence)
            names = kin.search(sentence) or (name is not None and same.search(sentence, name.end()))
            if names and len(sentence) <= _MAX_TOPIC_CHARS:
                return replace(around, topic=sentence, topic_turn=message)
    return around


def _starts_with_a_thing(text: str) -> bool:
    """Return whether English *text* starts with a name or a thing that a pronoun behind it can mean."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return first[:1].isupper() and not _HAN.search(first) and bool(content_terms(first))


def _needs_more(text: str, previous: str, least: float) -> bool:
    return leans(text, previous) > least or lacks_its_noun(f"A: {text}")


def _nearest(before: Sequence[str], words: str) -> str:
    """Return as many of the sentences *before* as *words* need to stand alone, up to the room for them."""
    own = ""
    for sentence in reversed(before):
        if len(own) + len(sentence) > _MAX_OWN_CHARS or is_request(sentence):
            break
        heads = not own and len(sentence) <= _HEADING_CHARS and _is_heading(sentence)
        least = _LEANS_ON_TURN / 2 if not own and _POINTS.search(words) else _LEANS_ON_TURN
        if not heads and not _needs_more(join_sentences(own, words), "", least):
            break
        own = join_sentences(sentence, own)
    return own


def _without_answer(own: str, before: Sequence[str]) -> str:
    """Return *own* without its first sentences that only answer another turn ("draft it.", "那是。")."""
    for sentence in before:
        rest = own.removeprefix(sentence).lstrip()
        says = _is_heading(sentence) and not _POINTS_BACK.search(sentence)
        if rest == own or says or (_is_heading(sentence) and not lacks_its_noun(f"A: {sentence}")):
            break
        own = rest
    return own


def _without_lead_in(own: str, before: Sequence[str], words: str) -> str:
    """Return *own* without a first sentence of the turn that only replies to another one ("that was it.").

    It stays where the sentence behind it starts with a pronoun, which may mean something in it.
    """
    first = before[0] if before else ""
    rest = own.removeprefix(first).lstrip()
    is_reply = len(first.split()) <= _LEAD_IN_WORDS and not _HAN.search(first) and _POINTS.search(first) is not None
    goes_on = _POINTS.match(rest or words) is not None
    return rest if first and own.startswith(first) and is_reply and not goes_on else own


def _share_a_term(text: str, previous: str) -> bool:
    """Return whether both name the same thing, in Chinese two characters of it."""
    mine, theirs = ({term.casefold() for term in content_terms(part)} for part in (text, previous))
    pairs = {
        first + second for first, second in pairwise(text)
        if _HAN.match(first) and _HAN.match(second) and not {first, second} & LIGHT_HAN
    }  # fmt: skip
    return bool(mine & theirs) or any(pair in previous for pair in pairs)


def _is_heading(sentence: str) -> bool:
    """Return whether a short *sentence* says enough to be worth keeping before another one."""
    chars = len(_HAN.findall(sentence))
    says = chars >= _HEADING_HAN or (not chars and len(sentence.split()) >= _HEADING_WORDS)
    return says and not is_courtesy(sentence)


def _is_clear(question: str) -> bool:
    """Return whether a reader knows what *question* is about."""
    return len(content_terms(question)) >= 2 and _POINTS.search(question) is None
