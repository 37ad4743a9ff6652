"""The kind of a sentence without a label, from the trained reader and a few precise rules.

The reader decides the act of a sentence. Rules only refuse (a question, a condition), or name a narrower kind of the
same act. The user's sentences count by themselves. The assistant's prose counts when it reports work or an attempt that
failed, or says what was learned in a turn that reports work. What the user accepts is the business of
``distill.summary.acceptance``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from guard.lazy_regex import lazy_regex

from ..evidence.claims import is_completed_work
from ..reading.classifier import Act, SentenceReader, SentenceReading, is_chinese
from ..reading.corrections import corrects_value, states_correction, states_rejection
from ..reading.labels import ItemKind
from ..statements.sentences import is_question, narrowed, prose_lines, split_sentences
from ..statements.topics import content_terms
from .replies import leaving_chance
from .standing import Question, standing_chance

__all__ = [
    "asks_for_always",
    "is_refused",
    "is_request",
    "is_standing_order",
    "narrower_kind",
    "reported_kind",
    "reports_work",
    "stated_kind",
    "takes_leave",
]

_KINDS: Mapping[Act, ItemKind] = {
    "preference": "preference",
    "decision": "decision",
    "lesson": "lesson",
    "correction": "correction",
    "thread": "open_thread",
    "fact": "fact",
}
_CONDITION = lazy_regex(
    r"^(?:and |but |so )?(?:if|when|whenever|unless|suppose|imagine|should you|in case|depending|whether)\b"
    r"|^(?:如果|要是|假如|假设|万一|若|当|一旦|除非)",
    re.IGNORECASE,
)
#: A request for this moment, unless the reader takes it for a lasting preference.
_REQUEST = lazy_regex(r"(?:please|pls|plz|can you|could you|would you|help me)\b|帮我|请你?|麻烦", re.IGNORECASE)
#: A wish that is bound to the moment.
_FOR_NOW = lazy_regex(
    r"\b(?:for|until|till) (?:only )?(?:today|tonight|now|once|lunch)\b|\b(?:today|tonight) only\b|"
    r"\b(?:just|only|for) this (?:once|one)\b|\bthis time\b|^tonight\b|"
    r"(?:今天|今晚|这次|这回|这一[次回])[^,。]{0,3}(?:先|就|别|不|只|用|写|要|压)|^先别",
    re.IGNORECASE,
)
#: Least chances of a sentence that enters below the reader's threshold: to be worth keeping by the reader, and to be
#: kept and in the right section by the judges of entries.
_LEAST_KEEP = 0.8
_LEAST_STANDING: Mapping[Question, float] = {"kept": 0.55, "section": 0.6}
#: Least chance that an order for always is worth keeping.
_LIKELY_ORDER = 0.4
#: An order for always, in so few words that the reader is unsure of it.
_STANDING_ORDER = lazy_regex(
    r"(?:please |pls |and |also )*(?:always |never (?!mind)|from now on\b|(?:do not|don['’]t) ever )"
    r"|请?(?:你)?(?:以后|今后|从现在起|下次)?请?(?:总是|一律|永远|每次都|一定要?|务必|都)(?:先|要|用|别|不要|给|把|叫|写|说|回)",
    re.IGNORECASE,
)
_DENIAL = lazy_regex(
    r"\bnot?\b|n['’]t\b|\b(?:wrong|actually|correction|instead|mistake)\b|[不没错]|其实|并非|反了|才对", re.IGNORECASE
)
#: Least chance of a sentence that only takes leave or wants nothing more, and the longest of them in characters.
_LEAVES = 0.5
_MAX_LEAVE_CHARS = 80
_ROOT_CAUSE = lazy_regex(r"\broot cause\b|根因|根本原因|问题根源", re.IGNORECASE)


def stated_kind(sentence: str, previous: str, reader: SentenceReader) -> ItemKind | None:
    """Return the kind of a sentence of the user, ``None`` for most sentences. *previous* is the assistant's turn."""
    if is_refused(sentence):
        return None
    corrects = corrects_value(sentence, previous) or (states_correction(sentence) and not takes_leave(sentence))
    explicit: ItemKind | None = "correction" if corrects else None
    explicit = explicit or ("rejected" if states_rejection(sentence) else None)
    if explicit:
        return explicit
    reading = reader.read(sentence, previous, "user")
    if is_standing_order(sentence) and _reads_as_preference(sentence, reading, reader):
        return "preference"
    if _REQUEST.match(sentence) and reading.likeliest != "preference":
        return None
    if reading.likeliest == "correction":
        if takes_leave(sentence) or (not previous and _DENIAL.search(narrowed(sentence)) is None):
            return None
        reading = _correcting(sentence, previous, reader, reading)
    if reading.likeliest == "preference" and _FOR_NOW.search(narrowed(sentence)):
        return None
    if (reading.enters or _stands_plainly(sentence, previous, reading)) and _may_be_kept(sentence, reading):
        return narrower_kind(_KINDS[reading.likeliest], sentence)
    return "deliverable" if is_completed_work(narrowed(sentence), "user") else None


def _may_be_kept(sentence: str, reading: SentenceReading) -> bool:
    return reading.likeliest in _KINDS and _has_content(sentence)


def _stands_plainly(sentence: str, previous: str, reading: SentenceReading) -> bool:
    """Return whether a sentence just below the reader's threshold is one that judges of memory would keep.

    The threshold is that of all sentences. What judges kept tells those apart that were nearly entered.
    """
    if reading.act not in _KINDS or reading.keep < _LEAST_KEEP:
        return False
    kind, told = _KINDS[reading.act], f"用户\uff1a{sentence}" if is_chinese(sentence) else f"User: {sentence}"
    return all(
        standing_chance(question, told, kind, sentence, previous) >= least
        for question, least in _LEAST_STANDING.items()
    )


def _has_content(sentence: str) -> bool:
    """Return whether *sentence* names or counts anything. "Not yet." does not, whatever the turn before it asked."""
    return is_chinese(sentence) or bool(content_terms(sentence)) or any(char.isdigit() for char in sentence)


def takes_leave(sentence: str) -> bool:
    """Return whether a short *sentence* only takes leave, thanks, or refuses an offer.

    >>> takes_leave("No, that's it for today."), takes_leave("No, that's the old password.")
    (True, False)
    """
    return len(sentence) <= _MAX_LEAVE_CHARS and leaving_chance(sentence) >= _LEAVES


def is_standing_order(sentence: str) -> bool:
    """Return whether *sentence* opens as an order for always ("From now on, ...", «以后都...»)."""
    return _STANDING_ORDER.match(sentence) is not None


def asks_for_always(wish: str, reader: SentenceReader, *, has_reason: bool) -> bool:
    """Return whether the *wish* behind a statement is a preference. One with a lasting reason needs less evidence."""
    reading = reader.read(wish, "", "user")
    if has_reason:
        return _reads_as_preference(wish, reading, reader)
    return stated_kind(wish, "", reader) == "preference"


def _reads_as_preference(sentence: str, reading: SentenceReading, reader: SentenceReader) -> bool:
    """Return whether the reader likes best to take an order for a preference, and not one for the moment."""
    readings = (reading, reader.read(sentence, "", "user"))
    likely = any(one.likeliest == "preference" and one.keep >= _LIKELY_ORDER for one in readings)
    return likely and not _FOR_NOW.search(narrowed(sentence))


def _correcting(sentence: str, previous: str, reader: SentenceReader, reading: SentenceReading) -> SentenceReading:
    """Return *reading* if *sentence* corrects something, else what it says by itself.

    A long turn before it makes many a fact look like a correction. A correction reads like one by itself, or is about
    something that the turn before it says, and denies it or is worth keeping by itself.
    """
    alone = reader.read(sentence, "", "user")
    said = {term.casefold() for term in content_terms(sentence)}
    about_it = any(term.casefold() in said for term in content_terms(previous))
    if alone.likeliest == "correction" or (about_it and (alone.enters or _DENIAL.search(narrowed(sentence)))):
        return reading
    return alone


def reported_kind(sentence: str, previous: str, reader: SentenceReader, *, in_report: bool) -> ItemKind | None:
    """Return the kind of a sentence of the assistant that needs nobody's consent.

    Args:
        sentence: the sentence.
        previous: the user's turn before it.
        reader: judges sentences.
        in_report: whether the same turn reports work. What was learned from the work counts there.
    """
    if is_refused(sentence):
        return None
    if is_completed_work(narrowed(sentence), "assistant"):
        return "deliverable"
    reading = reader.read(sentence, previous, "assistant")
    if reading.enters and reading.likeliest == "report":
        return "deliverable"
    if states_rejection(sentence):
        return "rejected"
    if in_report and _ROOT_CAUSE.search(sentence):
        return "root_cause"
    return "lesson" if in_report and reading.enters and reading.likeliest == "lesson" else None


def reports_work(content: str) -> bool:
    """Return whether a turn of the assistant reports completed work in one of its sentences."""
    return any(is_completed_work(narrowed(sentence), "assistant") for sentence in _sentences(content))


def is_refused(sentence: str) -> bool:
    """Return whether *sentence* asks, or states only a condition."""
    narrow = narrowed(sentence)
    return is_question(narrow) or _CONDITION.match(narrow) is not None


def is_request(sentence: str) -> bool:
    """Return whether *sentence* starts with a request for this moment."""
    return _REQUEST.match(sentence) is not None


def narrower_kind(kind: ItemKind, sentence: str) -> ItemKind:
    """Return the narrower kind of a decision or lesson about a rejected approach or a root cause."""
    if kind in {"lesson", "decision"} and states_rejection(sentence):
        return "rejected"
    return "root_cause" if kind in {"lesson", "fact", "decision"} and _ROOT_CAUSE.search(sentence) else kind


def _sentences(content: str, most: int = 200) -> Sequence[str]:
    found: list[str] = []
    for line in prose_lines(content):
        if line.kind != "heading":
            found.extend(split_sentences(line.text))
        if len(found) >= most:
            break
    return found
