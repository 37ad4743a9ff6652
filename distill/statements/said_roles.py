"""Find who does, says, holds or receives something else in a line than in its turns."""

# ruff: noqa: E501 - a pattern is read as a whole

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from .marked_clauses import (
    ASSISTANT,
    OTHERS,
    USER,
    MarkedText,
    MarkedWord,
)
from .said_line import (
    MOST_CHANGED,
    MOST_KEYED,
    WHEN,
    LineReading,
    LineToken,
    clause_tokens,
    is_han_character,
    role_agent,
)
from .said_order import direction_marker
from .word_matches import is_light

__all__ = [
    "changed_agents",
    "changed_holders",
    "changed_receivers",
    "changed_speakers",
    "refused_choices",
    "word_agents",
]

#: Verbs of a line that tell what a speaker said or wants. Their content must come from that speaker.
_SAYS = re.compile(
    r"\b(?:sa(?:y|ys|id)|decid\w+|agree[sd]?|wants?|wanted|prefer(?:s|red)?|confirm\w*|ask(?:s|ed)?|plans?|planned|hop(?:es|ed|e)|"
    r"mention\w*|report(?:s|ed)|require[sd]?|insist\w*|suggest(?:s|ed)?|recommend(?:s|ed)?|propose[sd]?|promise[sd]?|likes|loves|hates|"
    r"dislikes?|thinks?|believes?|told|states?|stated|chose|chooses|accept\w*|approv\w*|forb\w+)\b|"
    r"说|决定|同意|希望|想|要求|确认|提到|表示|建议|认为|觉得|答应|打算|喜欢|计划|偏好|偏爱|讨厌",
    re.IGNORECASE,
)
#: Verbs whose subject is compared.
_HOLDS = re.compile(
    r"\b(?:asks?|asked|agree[sd]?|decided|thinks|thought|believes|suggested|suggests|proposed|proposes|promised|promises|"
    r"told|wants|wanted|borrowed|owes|refused|declined|offered|offers|invited|hired|paid|sent|gave)\b|"
    r"同意|决定|认为|觉得|建议|答应|拒绝|邀请|要求",
    re.IGNORECASE,
)
_ACCEPTS = re.compile(
    r"^\W*(?:makes sense|good idea|great idea|why not|perfect|fine|love it|有道理|听你的|就这样|yes|yep|yeah|yup|agreed|sure|ok(?:ay)?,? (?:let's|do|go|with|that)|let's|go (?:ahead|with|for)|do it|deal|sounds good|"
    r"works for me|perfect,|exactly|right,|correct|please do|that works|fine with me|approved|好[,，]?(?:就|按|用|那就)|行|可以|同意|就这么|没问题|"
    r"对[,，。]|是的|嗯[,，]|成[,，。]|就按|ok(?:ay)?[,.!]? *$|好的?[,，。!]? *$)",
    re.IGNORECASE,
)
_BARE_ACCEPTANCE = re.compile(r"^\W*(?:ok(?:ay)?|好的?|嗯)[\s,，。.!]*(?:thanks?|thx|谢谢)?[\s.!。]*$", re.IGNORECASE)
_OFFER = re.compile(
    r"\?|？|吗|\b(?:i can|i could|shall i|should i|i'll|i will|i'd|let's|we could|want me to)\b|要不要", re.IGNORECASE
)
_CHOICE = re.compile(
    r"([\w-]+) or (?:a |an |the |on |in |at |to )?([\w-]+)|([A-Za-z0-9\u4e00-\u9fff]{1,8}?)\s?还是\s?([A-Za-z0-9]+|[\u4e00-\u9fff]{1,4})",
    re.IGNORECASE,
)
#: A verb is compared by its first letters, which its forms share.
_VERB_CHARS = 5


def word_agents(text: MarkedText, at: int) -> frozenset[str]:
    """Return the agents of the word at a place of *text*."""
    index = bisect_right([word.start for word in text.words], at) - 1
    word = text.words[index] if index >= 0 else None
    return word.agents if word and at < word.end else frozenset()


def _is_open(reading: LineReading, token: LineToken, theirs: Sequence[frozenset[str]]) -> bool:
    """Return whether the turns only ask, or say it of a "you" who does not speak in them."""
    silent = {USER, ASSISTANT} - {role_agent(turn.role) for turn in reading.turns}
    return any("asked" in reading.clause(place).marks for place in token.places) or any(
        found & silent for found in theirs
    )


def _nearest_agent(line: MarkedText, word: MarkedWord) -> frozenset[str]:
    """Return the person right before *word*, apart from light words, if there is one: the subject of a verb."""
    before = [other for other in line.words if other.clause == word.clause and other.end <= word.start][-4:]
    for other in reversed(before):
        if other.person:
            owns = other.text in {"my", "our", "his", "her", "their"} or line.text[other.start : other.end].endswith(
                "'s"
            )
            far = owns and other is not before[-1]
            return frozenset() if far or other.person == OTHERS else frozenset({other.person})
        if not is_light(other.text) or not other.text.isascii():
            return frozenset()
    return frozenset()


def _is_head(line: MarkedText, word: MarkedWord, token: LineToken) -> bool:
    """Return whether *token* is right behind the words before it: all of an English word, the head of a Chinese run."""
    return word.start == token.start or (
        token.start - word.start <= 2 and "把" not in line.text[word.start : token.start]
    )


def changed_agents(reading: LineReading) -> Iterator[str]:
    """Yield the persons of the line to whom it gives what the turns say of somebody else."""
    for clause, tokens in clause_tokens(reading):
        changed, compared, agents = 0, 0, frozenset[str]()
        wanted = _SAYS.search(reading.line.text[clause.start : clause.end])
        for token in tokens:
            word = next((word for word in reading.line.words if word.start <= token.start < word.end), None)
            if (
                word is None
                or word.person
                or token.value
                or WHEN.search(token.text)
                or not word.agents
                or OTHERS in word.agents
            ):
                continue
            if wanted and any(agent in {USER, ASSISTANT} and _accepts(reading, agent) for agent in word.agents):
                continue
            theirs = [word_agents(reading.texts[place[0]], place[1]) for place in token.places]
            if any(not found or OTHERS in found for found in theirs) or _is_open(reading, token, theirs):
                continue
            compared += 1
            mine = (_is_head(reading.line, word, token) and _nearest_agent(reading.line, word)) or word.agents
            if mine.isdisjoint(frozenset().union(*theirs)):
                changed += 1 if mine is word.agents else MOST_KEYED
                compared += len(token.text) >= 2 and is_han_character(token.text[0])  # a long run is more than one word
                changed += len(token.text) >= 2 and is_han_character(token.text[0])
                agents = mine
        if changed > 1 and changed >= compared:
            yield f"agent {', '.join(sorted(agent.strip('@') for agent in agents))!r}"


def changed_speakers(reading: LineReading) -> Iterator[str]:
    """Yield the speakers to whom the line gives the words of another one."""
    subject = ""
    for clause, tokens in clause_tokens(reading):
        subject = clause.subject if clause.subject in {USER, ASSISTANT} else subject if not clause.subject else ""
        if not subject or not _SAYS.search(reading.line.text[clause.start : clause.end]):
            continue
        speakers = [
            {
                reading.speaker(place)
                for place in token.places
                if "asked" not in reading.clause(place).marks or len(reading.turns) == 1
            }
            for token in tokens
        ]
        telling = [found for found in speakers if found]
        foreign = sum(subject not in found for found in telling)
        if telling and foreign / len(telling) > MOST_CHANGED and not _accepts(reading, subject):
            yield f"speaker {subject.strip('@')!r}"


def _accepts(reading: LineReading, speaker: str) -> bool:
    """Return whether a turn of *speaker* accepts what another speaker proposes in the turns."""
    before = ""
    for turn in reading.turns:
        mine = role_agent(turn.role) == speaker
        if mine and before and _ACCEPTS.search(turn.content):
            return not _BARE_ACCEPTANCE.match(turn.content) or _OFFER.search(before) is not None
        before = before if mine else turn.content
    return False


def changed_holders(reading: LineReading) -> Iterator[str]:
    """Yield who asks, thinks or agrees in the line while the turns use the same verb of somebody else."""
    for match in _HOLDS.finditer(reading.line.text):
        mine = word_agents(reading.line, match.start())
        if not mine or OTHERS in mine:
            continue
        verb = re.compile(rf"(?<![a-z]){re.escape(match.group()[:_VERB_CHARS])}", re.IGNORECASE)
        holders = [word_agents(text, other.start()) for text in reading.texts for other in verb.finditer(text.text)]
        if holders and all(found and OTHERS not in found and mine.isdisjoint(found) for found in holders):
            yield f"holder of {match.group()!r}"


def changed_receivers(reading: LineReading) -> Iterator[str]:
    """Yield who receives something in the line that somebody else receives in the turns."""
    mine = _receivers(reading.line)
    theirs = {person for text in reading.texts for person in _receivers(text)}
    persons = {word.person for word in reading.line.words if word.person}
    if mine and theirs and mine.isdisjoint(theirs) and theirs & persons and OTHERS not in mine | theirs:
        yield "receiver"


def _receivers(text: MarkedText) -> set[str]:
    return {word.person for word in text.words if word.person and direction_marker(text.text, word.start) == "to"}


def refused_choices(reading: LineReading) -> Iterator[str]:
    """Yield the alternatives of a question whose answer names the other one."""
    for number, text in enumerate(reading.texts[: len(reading.turns)]):
        later = " ".join(other.text.casefold() for other in reading.texts[number + 1 : len(reading.turns)])
        for clause in text.clauses:
            if "asked" not in clause.marks or not later:
                continue
            for match in _CHOICE.finditer(text.text, clause.start, clause.end):
                one, other = (match[1] or match[3]).casefold(), (match[2] or match[4]).casefold()
                for taken, refused in ((one, other), (other, one)):
                    if taken in later and refused not in later:
                        yield from _asserted(reading, refused)


def _asserted(reading: LineReading, refused: str) -> Iterator[str]:
    for token in reading.tokens:
        if token.text.casefold() == refused and "denied" not in reading.line.clause_at(token.start).marks:
            yield f"refused choice {refused!r}"
