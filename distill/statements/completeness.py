"""Completeness of a statement: it names what it is about, so that it can stand in memory without its conversation.

A pronoun needs its noun before it in the same text. The text includes what ``distill.statements.standalone`` added: the
question that a sentence answers, or the sentence before it. A statement that starts in the middle, or that is an
instruction with nothing but a pronoun, does not stand alone.
"""

from __future__ import annotations

import re

from guard.lazy_regex import lazy_regex

from .sentences import narrowed, split_sentences
from .standalone import split_speaker
from .topics import content_terms

__all__ = ["lacks_its_noun", "statement_part"]

_HAN = lazy_regex(r"[\u3400-\u9fff]")
_ASIDE = lazy_regex(r"\((?:asked\b|on ).*?\): |\([^()]*[问就]“.*?”\):", re.DOTALL)
_PRONOUN = lazy_regex(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers)\b(?:['’](?:s|re|ve|ll|d)\b)?|"
    r"\b(?:these|those)\b(?= (?:are|were|ones)\b|[,.!]|$)|"
    r"^(?:\w+ )?(?:this|that)\b"
    r"(?:['’]s\b|(?= (?:is|was|has|had|will|would|means|one|way|kind|sort|stuff|thing)\b|[,.!]|$))",
    re.IGNORECASE,
)
#: "It" that stands for nothing: the weather, the time, or a clause that follows.
_IMPERSONAL = lazy_regex(
    r"\bit(?:['’]s|['’]ll| is| was| takes| took| turns| turned| seems| rains| rained| will| would)\b"
    r"(?=[^.;]*\b(?:to|that|when|if|because|for|since|who|how|like|cold|hot|raining|snowing|late|early)\b)|"
    r"\b(?:make|makes|made|find|found|hate|love|like|take|call) it\b"
    r"(?= (?:when|if|easier|hard|harder|clear|that|to|easy|a)\b)",
    re.IGNORECASE,
)
_DETERMINED = lazy_regex(
    r"\b(?:my|our|the|an?|your|some|any|no|all|both|every|each|two|three|four|five|six|seven|eight|nine|ten|"
    r"\d[\d.,:]*|another|one of)\s+[\w'’-]+|\b(?:mum|mom|mama|dad|papa|grandma|grandpa|nan|granny)\b",
    re.IGNORECASE,
)
#: A name, which starts with a capital inside the sentence.
_NAME = lazy_regex(
    r"(?<=[\w,;:\"'’(/&-] )(?!I\b)[A-Z][\w'’-]+|^(?!I\b)[A-Z][\w-]*(?=,| (?:and|is|was|has|says|said|will)\b|['’]s )"
)
_CHINESE = lazy_regex(
    r"^[\s,]*(?:所以|但是?|而且|然后|就|也)?(?:[他她它]们?|[这那](?=是|样|就|也|会|让))|把[它他她]|[给对跟]它"
)
#: A request behind a statement: «..., can you help me?»
_REQUEST = lazy_regex(
    r"(?:[,;.\u2014-]|\s-)\s*(?:so |and |but |also,? )*"
    r"(?:(?:can|could|would|will) you\b|please\b|help me\b|"
    r"(?:how|what|which|where|why) (?:can|could|should|do|would|is|are)\b|"
    r"is there\b|do you\b|are there\b|any (?:ideas?|tips|advice|suggestions?)\b|what['’]s\b)|"
    r"[,;]\s*(?:你?能不能|能否|可以帮|帮我|请你?|麻烦|该?怎么|你觉得|有什么|有没有)",
    re.IGNORECASE,
)
_MAX_ASIDE_CHARS = 300
_PIECE = lazy_regex(r"[A-Za-z0-9]+|[\u3400-\u9fff]")
#: Words or Chinese characters of a statement without its question. Fewer («8th.») say nothing.
_LEAST_PIECES = 3
#: Terms before a pronoun of which one may be its noun.
_LEAST_TERMS = 2
#: Words or Chinese characters of a statement that is worth separating from the request behind it.
_LEAST_WORDS, _LEAST_CHARS = 5, 8


def lacks_its_noun(told: str) -> bool:
    """Return whether *told* leans on a pronoun whose noun it does not hold, or is a word or two without a question.

    >>> lacks_its_noun("Ana: I chose them because they help."), lacks_its_noun("Ana: My dog hates it when I leave.")
    (True, False)
    >>> lacks_its_noun('Ana (asked: "Why the agency?"): I chose them because they help.')
    False
    """
    asked = _ASIDE.search(narrowed(told)[:_MAX_ASIDE_CHARS])
    words = narrowed(split_speaker(told)[1])
    if asked is None and len(_PIECE.findall(words)) < _LEAST_PIECES:
        return True
    if _HAN.search(words):
        return asked is None and _CHINESE.search(words) is not None
    head = _IMPERSONAL.sub(lambda match: " " * len(match.group()), (split_sentences(words) or [""])[0])
    found = _PRONOUN.search(head)
    if found is None:
        return False
    before = f"{asked.group() if asked else ''} {head[: found.start()]}".lstrip()
    if _DETERMINED.search(before) or _NAME.search(before):
        return False
    return len(set(content_terms(before))) < _LEAST_TERMS


def statement_part(sentence: str) -> str:
    """Return *sentence* without a request behind its statement, or an empty string if there is nothing to part.

    >>> statement_part("I use Flask 2.3 and SQLite for my budget app, can you help me with the schema?")
    'I use Flask 2.3 and SQLite for my budget app'
    >>> statement_part("I use Flask."), statement_part("Well, can you help?")
    ('', '')
    """
    match = _REQUEST.search(narrowed(sentence))
    if match is None:
        return ""
    head = sentence[: match.start()].rstrip(" ,;.-—\uff0c")
    chars = len(_HAN.findall(head))
    return head if chars >= _LEAST_CHARS or len(head.split()) >= _LEAST_WORDS else ""
