"""Consent: what the assistant proposed becomes the user's when the user accepts it, in the words of the proposal.

What is accepted is the assistant's last question or proposal, or the option that the user names. Trained models
(``distill.summary.replies``) decide whether the reply accepts and whether the proposal is worth keeping: an offer to
explain something is not, and neither is a question for leave to do something once. A refusal, a condition or a polite
"thanks" accepts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from guard.lazy_regex import lazy_regex

from ..reading.classifier import Act, SentenceReader
from ..reading.labels import ItemKind, parse_label
from ..statements.sentences import is_question, narrowed, prose_lines, split_sentences
from .replies import acceptance_chance, asks_leave, proposal_worth
from .sentence_kinds import narrower_kind

__all__ = ["accepted_sentences", "accepts", "is_consent", "last_question", "proposed_words", "takes_on"]

#: Most sentences of a turn of the assistant that a short "yes" can accept as a whole.
_MAX_ACCEPTED_SENTENCES = 3
#: Most words, or Chinese characters, of a reply that only accepts.
_MAX_ACCEPTING_WORDS = 12
#: Most words or Chinese characters of a question that only asks for consent to the sentence before it ("Okay?").
_MAX_TAG_WORDS = 4
_MAX_SENTENCES = 200
_ACCEPTABLE: Mapping[Act, ItemKind] = {
    "preference": "preference", "decision": "decision", "lesson": "lesson", "thread": "open_thread",
}  # fmt: skip
#: Least chance of a reply that accepts, and of a proposal that is worth keeping.
_LEAST_ACCEPTANCE, _LEAST_WORTH = 0.55, 0.5
#: Least chance of a question of the assistant for leave: a "yes" to "Shall I drop the table?" is used up by the act.
_LEAST_WORTH_OF_LEAVE = 0.65
#: Words that take on a proposal, even with more sentences behind them.
_TAKES_ON = lazy_regex(
    r"\b(?:let['’]s (?:do|go with|take|try|use) (?:it|that|this)|do (?:it|that)|go (?:ahead|for it|with (?:it|that))|"
    r"agreed|deal|works for me|sounds good|settled|i['’]m (?:in|on board))\b|"
    r"就这[么样][定办吧]?|按你说的|听你的|同意|就这样|就它了|成交",
    re.IGNORECASE,
)
#: Words of a condition, which is no consent however kindly it starts.
_CONDITION = lazy_regex(r"\b(?:but|except|instead|unless|if)\b|但|除非|如果|要是", re.IGNORECASE)
#: A sentence of a text that the assistant drafts, such as a mail.
_QUOTED = lazy_regex(r"^[\"“「]|[\"”」]$")
#: Heads of a proposal. They are left out of what is kept. What stands behind the head is what is proposed.
_PROPOSES = lazy_regex(
    r"^(?:(?:so|then|ok(?:ay)?|well|in that case|how about this|alternatively)[,:]?\s+)*"
    r"(?:(?:i(?:['’]d| would)?|my) (?:suggest(?:ion)?|propose|proposal|recommend(?:ation)?)"
    r"(?: is)?(?: that)?(?: we)?\s+|"
    r"(?P<shared>(?:let['’]s|we (?:could|should|can|might|['’]ll|will|use|keep|go|take|move|stick))\b)|"
    r"(?P<asks>(?:shall|should|could|can) we\s+|how about (?:we\s+)?|what if we\s+|why don['’]t we\s+))|"
    r"^(?:那|那么|不如|要不)*(?:我建议|建议|我提议|(?P<shared_zh>我们(?:就|可以|改|用|先|还是)|咱们?(?:就|可以|改|用|先))|"
    r"(?P<asks_zh>要不要|我们要不要|要不|不如))",
    re.IGNORECASE,
)


def accepts(content: str) -> bool:
    """Return whether a turn of the user accepts what the assistant said.

    >>> accepts("ok, go ahead"), accepts("ok, but not today"), accepts("好的,就这样")
    (True, False, True)
    >>> accepts("Yes, let's do that. Can you write the mail to Jo as well?"), accepts("Great. What about the mail?")
    (True, False)
    """
    plain = " ".join(content[:400].split())
    sentences = split_sentences(plain)
    if not sentences or not is_consent(sentences[0]):
        return False
    if len(sentences) == 1 or takes_on(content):
        return True
    return _count(content) <= _MAX_ACCEPTING_WORDS and is_consent(plain)


def takes_on(content: str) -> bool:
    """Return whether the first sentence of a turn of the user clearly takes on a proposal."""
    first = next(iter(split_sentences(" ".join(content[:400].split()))), "")
    return is_consent(first) and _TAKES_ON.search(narrowed(first)) is not None


def accepted_sentences(
    content: str, previous: str, reader: SentenceReader, *, consent: str = ""
) -> list[tuple[ItemKind, str]]:
    """Return the sentences of a turn of the assistant that matter once the user accepted it, with their kinds.

    Of a turn that ends with a question only the question counts. A longer turn without one needs a *consent*, the turn
    of the user, that clearly takes on its one proposal. A short "yes" does not say what it accepts.
    """
    sentences = _without_tag(_sentences(content))
    if not sentences:
        return []
    if is_question(sentences[-1]):
        return _proposals(sentences[-1:], previous, reader)
    if len(sentences) > _MAX_ACCEPTED_SENTENCES:
        found = _proposals(sentences, previous, reader) if takes_on(consent) else []
        return found if len(found) == 1 else _proposals(sentences[-1:], previous, reader)
    return _proposals(sentences, previous, reader)


def proposed_words(sentence: str) -> str:
    """Return what a sentence of the assistant proposes, in its words, or an empty string without such a head.

    >>> proposed_words("I suggest we keep backups for 90 days."), proposed_words("Shall we meet on Thursdays instead?")
    ('keep backups for 90 days.', 'meet on Thursdays instead')
    >>> proposed_words("We could host it on our own server."), proposed_words("Backups matter.")
    ('We could host it on our own server.', '')
    """
    match = _PROPOSES.match(narrowed(sentence))
    if match is None or (is_question(sentence) and not (match["asks"] or match["asks_zh"])):
        return ""
    start = 0 if match["shared"] or match["shared_zh"] else match.end()
    words = sentence[start:].strip()
    return words.rstrip("?\uff1f吗呢 ") if match["asks"] or match["asks_zh"] else words


def last_question(content: str) -> str:
    """Return the last sentence of a turn if it asks, or an empty string."""
    sentences = _sentences(content)
    return sentences[-1] if sentences and is_question(sentences[-1]) else ""


def is_consent(sentence: str) -> bool:
    """Return whether a short reply of the user only accepts."""
    narrow = narrowed(sentence.strip())
    if not 0 < _count(narrow) <= _MAX_ACCEPTING_WORDS or is_question(narrow) or _CONDITION.search(narrow):
        return False
    return acceptance_chance(narrow) >= _LEAST_ACCEPTANCE


def _proposals(sentences: Sequence[str], previous: str, reader: SentenceReader) -> list[tuple[ItemKind, str]]:
    """Return what *sentences* propose that is worth keeping once it is accepted, with its kinds."""
    found: list[tuple[ItemKind, str]] = []
    for sentence in sentences:
        if parse_label(sentence) or not _is_worth_keeping(sentence) or _QUOTED.search(narrowed(sentence)):
            continue  # a line with a label is written down already: "Open question: which nights are missing?"
        reading = reader.read(sentence, previous, "assistant")
        sure = reading.enters and not is_question(sentence)
        kind = _ACCEPTABLE.get(reading.likeliest, "decision") if sure else "decision"
        found.append((narrower_kind(kind, sentence), proposed_words(sentence) or sentence))
    return found


def _is_worth_keeping(sentence: str) -> bool:
    """Return whether *sentence* proposes how things shall be from now on, and not one act of the assistant."""
    return proposal_worth(sentence) >= (_LEAST_WORTH_OF_LEAVE if asks_leave(sentence) else _LEAST_WORTH)


def _without_tag(sentences: Sequence[str]) -> Sequence[str]:
    """Return *sentences* without a last question that only asks for consent to the sentence before it."""
    tagged = len(sentences) > 1 and is_question(sentences[-1]) and _count(sentences[-1]) <= _MAX_TAG_WORDS
    return sentences[:-1] if tagged else sentences


def _count(text: str) -> int:
    """Count words of English and characters of Chinese."""
    return len(re.findall(r"[\u3400-\u9fff]|\w+", text))


def _sentences(content: str) -> list[str]:
    found: list[str] = []
    for line in prose_lines(content):
        if line.kind != "heading":
            found.extend(split_sentences(line.text))
        if len(found) >= _MAX_SENTENCES:
            break
    return found
