"""Consent: what the assistant proposed becomes the user's when the user accepts it, in the words of the proposal.

A short turn that only accepts takes on the statements of a short turn of the assistant. A clear "let's do that" also
takes on the one proposal of a longer turn, or its last question («Shall we ...?»). A polite "thanks" accepts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..reading.classifier import Act, SentenceReader
from ..reading.labels import ItemKind
from ..statements.sentences import is_question, narrowed, prose_lines, split_sentences
from .sentence_kinds import is_refused, narrower_kind

__all__ = ["accepted_sentences", "accepts", "is_consent", "proposed_words", "takes_on"]

#: Most sentences of a turn of the assistant that a short "yes" can accept as a whole.
_MAX_ACCEPTED_SENTENCES = 3
#: Most words, or Chinese characters, of a sentence of the user that only accepts.
_MAX_ACCEPTING_WORDS = 12
_MAX_SENTENCES = 200
_ACCEPTABLE: Mapping[Act, ItemKind] = {
    "preference": "preference", "decision": "decision", "lesson": "lesson", "thread": "open_thread",
}  # fmt: skip
#: Acts that the words of a proposal may have on their own: an order reads like a wish or a plan.
_DECIDED = frozenset({"decision", "preference", "thread"})
#: Least probability that a proposal is worth keeping, read as if the user said it.
_LEAST_KEEP = 0.5
_ACCEPTS = re.compile(
    r"^(?:yes|yep|yeah|yup|ok(?:ay)?|sure|agreed|perfect|great|fine|deal|exactly|right|correct|sounds good|"
    r"works for me|do (?:it|that)|go (?:ahead|for it)|let['’]s do (?:it|that)|please do|"
    r"(?:好|行|可以|同意|没问题|就这样|就这么[定办]|对|嗯|是的|成)[的吧啊呀了]?)(?=[\s,.;!~。]|$)",
    re.IGNORECASE,
)
#: Words that take on a proposal, even with more sentences behind them.
_TAKES_ON = re.compile(
    r"\b(?:let['’]s (?:do|go with|take|try|use) (?:it|that|this)|do (?:it|that)|go (?:ahead|for it|with (?:it|that))|"
    r"agreed|deal|works for me|sounds good|settled|i['’]m (?:in|on board))\b|"
    r"就这[么样][定办吧]?|按你说的|听你的|同意|就这样|就它了|成交",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(?:but|not|no|don['’]t|wait|except|instead|only if|unless)\b|不(?!错)|但|别|等等", re.IGNORECASE
)
#: Heads of a proposal. What stands behind the head is what is proposed.
_PROPOSES = re.compile(
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
    sentences = split_sentences(" ".join(content[:400].split()))
    if not sentences or not is_consent(sentences[0]):
        return False
    rest = sentences[1:]
    if (
        all(is_consent(sentence) or _is_thanks(sentence) for sentence in rest)
        and _count(content) <= _MAX_ACCEPTING_WORDS
    ):
        return not is_question(content.strip())
    return takes_on(content)


def takes_on(content: str) -> bool:
    """Return whether the first sentence of a turn of the user clearly takes on a proposal."""
    first = next(iter(split_sentences(" ".join(content[:400].split()))), "")
    return is_consent(first) and _TAKES_ON.search(narrowed(first)) is not None


def accepted_sentences(
    content: str, previous: str, reader: SentenceReader, *, consent: str = ""
) -> list[tuple[ItemKind, str]]:
    """Return the sentences of a turn of the assistant that matter once the user accepted it, with their kinds.

    Of a longer turn only its one proposal counts, and only if *consent*, the turn of the user, clearly takes it on. A
    short "yes" does not say what it accepts.
    """
    clearly = takes_on(consent)
    sentences = _sentences(content)
    if len(sentences) > _MAX_ACCEPTED_SENTENCES:
        proposals = [words for sentence in sentences if (words := proposed_words(sentence))] if clearly else []
        return (
            [("decision", proposals[0])] if len(proposals) == 1 and _is_lasting(proposals[0], consent, reader) else []
        )
    found: list[tuple[ItemKind, str]] = []
    for sentence in sentences:
        reading = reader.read(sentence, previous, "assistant")
        words = proposed_words(sentence)
        if not is_refused(sentence) and reading.enters and reading.likeliest in _ACCEPTABLE:
            found.append((narrower_kind(_ACCEPTABLE[reading.likeliest], sentence), words or sentence))
        elif words and clearly and _is_lasting(words, consent, reader):
            found.append(("decision", words))
    return found


def proposed_words(sentence: str) -> str:
    """Return what a sentence of the assistant proposes, in its words, or an empty string.

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


def _is_lasting(words: str, consent: str, reader: SentenceReader) -> bool:
    """Return whether the words of a proposal, or the consent to them, would be worth keeping as the user's."""
    readings = (reader.read(words, "", "user"), reader.read(consent, words, "user"))
    return any(reading.keep >= _LEAST_KEEP and reading.likeliest in _DECIDED for reading in readings)


def is_consent(sentence: str) -> bool:
    """Return whether a sentence of the user only accepts."""
    narrow = narrowed(sentence.strip())
    if not 0 < _count(narrow) <= _MAX_ACCEPTING_WORDS or is_question(sentence):
        return False
    return _ACCEPTS.match(narrow) is not None and _REFUSES.search(narrow) is None


def _is_thanks(sentence: str) -> bool:
    return re.match(r"(?:thanks?|thank you|cheers|谢|多谢|辛苦)", sentence.strip(), re.IGNORECASE) is not None


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
