"""Clauses of a text with what holds for each word in them: denied, possible, conditional, wished, done, and by whom.

A restatement may use other words and another order, but a word that was denied stays denied, what was possible
stays possible, and who did something still did it. ``distill.statements.grounding`` compares the words of a line
with the same words of its turns by these marks. The reading is shallow: clauses end at punctuation and
conjunctions, and the agent of a word is the nearest person before it.
"""

# ruff: noqa: E501 - a pattern is read as a whole
from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

from recall.text.normalise import normalise
from recall.text.word_tables import stop_words, table_lines, word_table

__all__ = [
    "ASSISTANT",
    "NOBODY",
    "OTHERS",
    "USER",
    "MarkedClause",
    "MarkedText",
    "MarkedWord",
    "Voice",
    "mark_text",
    "people_of",
]

Mark = Literal[
    "denied",
    "possible",
    "conditional",
    "wished",
    "advised",
    "due",
    "done",
    "past",
    "settled",
    "asked",
    "opinion",
    "ended",
    "able",
    "future",
    "unable",
]
#: Agents of words. A person other than the speakers is named in lower case.
USER, ASSISTANT = "@user", "@assistant"
#: No person stands before the word.
NOBODY = ""
#: A pronoun of the third person, which may be anybody.
OTHERS = "?"

#: Longer texts are read up to here.
_MAX_CHARS = 8_000
_BREAK = re.compile(
    r"(?<!\d)[.,:](?!\d)|(?<=\d)[.,](?=\s|$)|(?<=\d),(?!\d)|[;!?()\n\"“”。、]|(?<=\d):(?=\s|$)|\s[-–—]+\s|—|(?<=[A-Za-z\u4e00-\u9fff]),|,(?=\s)|"
    r"\b(?:but|so|because|since|although|though|while|whereas|which|who|where|if|when|unless|provided|except|until|"
    r"instead of|rather than|apart from|without|after|before)\b|"
    r"\b(?:and|or)\b(?= (?:i|he|she|they|we|it|the|my|his|her|no|not|don't|never|can't|cannot|also|has|have|had|is|was|are|will|"
    r"needs?|[a-z]+(?:ed|es|s) )\b)|"
    r"(?<=\w )(?=(?:i|we|he|she|they|you)(?:'ll|'d| will| would)\b)|"
    r"(?:但是?|因为|所以|如果|要是|而不是|而且|不过(?!敏)|并且|除了|才能)",
    re.IGNORECASE,
)
_LEAST_CLAUSE_WORDS = 3
#: A Chinese clause that ends so soon after a denial has what it denies before it: 健身卡不续了.
_SHORT_VERB_CHARS = 3
#: Denials that also hold for the words before them.
_WHOLE_DENIALS = frozenset({"nothing", "none", "nobody", "neither", "unavailable"})
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[\n。!?]|;(?=\s)")
_PHRASE_DENIAL = re.compile(r"^(?:instead of|rather than|except|without|而不是)$", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|neither|nor|without|cannot|cant|dont|wont|doesnt|isnt|avoids?|avoid(?:ed|ing)|"
    r"refuse[sd]?|forbids?|forbidden|declined?|stopped|quit|anymore|lack(?:s|ed)?|unable|instead of|rather than|hates?|hated|dislikes?|disliked|loathes?|reject(?:s|ed)?|"
    r"opposes?|opposed|turn(?:s|ed)? down|sa(?:id|ys?) no|can't stand)\b|n't\b|"
    r"\bno longer\b|\bunavailable\b|"
    r"(?<!能)不(?![同仅错但断管论]|过(?!敏)|一定|好意思|然|得不)|没(?![准定])|未(?![来定])|(?<![特区级类分性])别(?![的人名墅])|勿|无(?![论线锡])|拒绝|禁止|避免|停止|讨厌|反感|否决|受不了",
    re.IGNORECASE,
)
#: Two denials of one clause that are one: "not renewing any more", "don't ... anymore", "never ... not".
_NOT_DENIED = re.compile(
    r"\bnot (?:only|just|to mention|that)\b|\b(?:don't|do not|never|won't|can't) (?:forget|worry|hesitate|miss|help but|believe)\b|"
    r"\bhaven't (?:talked|seen|spoken)\b|\bno cakewalk\b|\bno (?:worries|need|kidding|wonder)\b|\bno matter\b|没事|没关系|没问题|不好意思|别忘|"
    r"\bno\.? \d|\bwhy not\b|\bif not\b|\bno problem\b|\bno,|\bnot sure\b|是不是|能不能|要不要|好不好|有没有|可不可以|"
    r"差不多|不一定|说不定|没准|没定|未定|不然|对不起|\bcan't wait\b|\bno worries\b|\bno doubt\b",
    re.IGNORECASE,
)
_MARK_PATTERNS: Mapping[Mark, str] = {
    "possible": r"\b(?:might|maybe|perhaps|possibly|probably|potentially|likely|not sure|unsure|undecided|uncertain|"
    r"consider(?:s|ing)?(?= (?:\w+ing|a|an|the|to|whether)\b)|thinking (?:of|about)|tentative(?:ly)?|presumably|apparently|i guess|when possible|"
    r"if possible|not (?:yet )?(?:decided|settled|fixed)|tbd|leaning|toying)\b|"
    r"(?<!\bin )(?<!\bby )(?<!\bof )(?<!\bsince )(?<!\buntil )(?<!\bmid-)(?<!\bearly )(?<!\blate )(?<!\d )(?<!\d(?:st|nd|rd|th) )"
    r"\b(?-i:may)\b(?= (?!(?:\d|and\b|or\b))[a-z])|"
    r"可能|也许|或许|大概|说不定|没准|考虑|没定|未定|不一定|应该会|估计|尚未(?:确定|决定)|还没(?:决定|想好)|(?<!不)确定不了",
    "conditional": r"(?<!know )(?<!ask )(?<!asked )(?<!see )(?<!check )(?<!wonder )(?<!sure )(?<!decide )\b(?:if|unless|provided(?= (?:that|the|it|he|she|we|they|i)\b)|"
    r"in case|as long as|depending on|assuming)\b(?! (?:you (?:need|want|have any)|possible|so\b))|"
    r"如果|要是|假如|的话|万一|除非|只要|取决于",
    "wished": r"\b(?:want(?:s|ed)?(?! to (?:let|give|tell|say|share|ask|fill|check|thank))|would (?:like|love|prefer|rather)|'d (?:like|love|prefer|rather)|hop(?:e|es|ed|ing|efully)|"
    r"wish(?:es|ed)?|wanna|prefers?|preferred|would rather|rather(?! than)|plan(?:s|ned|ning)?|intends?|aims?|trying to|"
    r"dream(?:s|ing)?)\b|(?<![构设感])想(?![法起到])|希望|打算|宁愿|宁可|愿意|倾向|计划",
    "advised": r"\b(?:should|ought|recommend(?:s|ed)?|suggest(?:s|ed)?|advise[sd]?|shouldn't|better to|had better|proposes?|"
    r"proposed)\b|建议|最好|应该(?!会)|不妨|提议",
    "due": r"\b(?:must|ha(?:s|ve) to|had to|needs? to|needed|gotta|got to|supposed to|due|required?|requires|to-?do|todo|"
    r"remind|pending|still open|outstanding|waiting|owes?)\b|必须|需要|得(?=[^了到])|要(?=[^求是么不])|提醒|待办",
    "done": r"\b(?:finished|done|completed|already|closed|resolved|shipped|handed over|off my plate)\b|"
    r"已经?|完了|完成|搞定|办好|弄好|了(?=$|[,。])",
    "past": r"\bused to\b|\bformerly\b|\bex-|\bin the past\b|曾经?|从前",
    "unable": r"\b(?:can't|cannot|can not|unable|couldn't|not able|allergic|intoleran\w+)\b|不能|不可以|没法|无法|过敏",
    "able": r"\bcould\b",
    "future": r"\b(?:will|won't|going to|gonna|about to|tomorrow|next (?:week|month|year))\b|'ll\b|将要?|即将|准备|打算|明天|下周",
    "ended": r"\b(?:no longer|anymore|any more|not any longer)\b|不再",
    "settled": r"\b(?:decided|decides|decision|chose|settled|final(?:ly|ised|ized)?|certainly|definitely|for (?:certain|sure)|confirmed|agreed)\b|"
    r"决定|定了|敲定|确定(?!不)|就这么",
    "opinion": r"\b(?:i (?:think|guess|believe|feel)|thinks?|believes?|feels?|in my opinion|imo|seems?|according to)\b|"
    r"觉得|认为|看来|好像",
}
_MARKS: Mapping[Mark, re.Pattern[str]] = {
    mark: re.compile(pattern, re.IGNORECASE) for mark, pattern in _MARK_PATTERNS.items()
}
#: Marks that also hold for the clause before, when their own clause has nothing else to say: "..., I think", 还没定.
_AFTERTHOUGHT = re.compile(
    r"^\W*(?:i think|i guess|maybe|probably|not sure|tbd|(?:when(?:ever)?|if|where) possible|(?:但|不过|都)?还?没定|未定|不一定|看情况)\W*(?:yet)?\W*$",
    re.IGNORECASE,
)
_QUANTITIES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "all": r"\b(?:all|every|each|everyone|everybody|everything|everywhere|always|whole|entire|entirely|"
        r"anytime|at all|completely)\b|所有|全部|每(?![次])|任何|总是|永远|大家|从来|一直|全都?|一律|人人|都(?=不|没)",
        "only": r"\b(?<!not )(?:only|solely|exclusively|nothing but|just(?= (?:the|one|two|me|him|her|us)\b))\b|(?<![一二两三四五六七八九十几\d])只(?![好是能得要])|仅",
        "many": r"\b(?:most(?= (?:of|people|days|\w{3,}s)\b)|mostly|usually|often|generally|majority)\b|大多|经常|通常|大部分|许多|很多|多数|常常",
        "few": r"\b(?:sometimes|rarely|occasionally|seldom|partly|hardly|now and then|once in a while|every (?:second|other|third)|some of|half of)\b|有时|偶尔|部分|很少|少数|几乎不",
        "any": r"\b(?:any|anyone|anything|whatever|whenever|whoever)\b|任何|凡是|只要",
        "both": r"\bboth\b|两(?:个|者)?都",
    }.items()
}
_WORDS = re.compile(
    r"(?P<latin>[A-Za-z\u00c0-\u024f\u0370-\u052f]+(?:'[a-z]+)?)|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff]+)"
)
#: Verbs behind which somebody else's statement begins, with a subject of its own.
_TELLING = frozenset(["said", "says", "say", "that", "thinks", "think", "believes"])
_SINGULAR = frozenset(["he", "she", "him", "他", "她"])
_POSSESSIVE = frozenset(["my", "our", "your", "his", "her", "their"])
_SELF = frozenset(
    [
        "i",
        "i'm",
        "i've",
        "i'll",
        "i'd",
        "me",
        "my",
        "mine",
        "myself",
        "im",
        "ive",
        "we",
        "us",
        "our",
        "ours",
        "we're",
        "we've",
        "we'll",
        "we'd",
        "ourselves",
    ]
)
_YOU = frozenset(["you", "your", "yours", "you're", "you've", "you'll", "you'd", "yourself", "u", "ur"])
_THEY = frozenset(
    [
        "family",
        "household",
        "he",
        "she",
        "they",
        "him",
        "her",
        "his",
        "hers",
        "their",
        "them",
        "theirs",
        "himself",
        "herself",
        "who",
        "someone",
        "somebody",
    ]
)
_HAN_PERSONS = re.compile(
    r"(?P<self>我们|咱们|我|咱|俺|本人)|(?P<you>你们|您|你)|(?P<they>他们|她们|他|她|对方|有人|家里人?|家人|全家)|(?P<user>用户)|(?P<assistant>助手|助理)"
)
_ROLE_WORDS: Mapping[str, str] = {"user": USER, "assistant": ASSISTANT, "bot": ASSISTANT, "agent": ASSISTANT}
_BY = re.compile(r"\bby\b")
_PASSIVE = re.compile(
    r"\b(?:is|are|was|were|been|being|be|gets?|got|left)\b(?: \w+ly)? (?:\w+ed|sent|made|given|taken|built|kept|done|held|paid|"
    r"bought|sold|told|written|chosen|broken|lent|brought|set|put|cut|run|led)\b(?P<by>[^,;.]*?\bby\b)?|被|由",
    re.IGNORECASE,
)
#: A name that does something, or with whom something is done.
_ACTING_NAME = re.compile(
    r"\b(?P<name>(?!(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|October|November|December|The|This|That|It|There|If|When)\b)[A-Z][a-z]{1,20})(?='s\b| (?:and I\b|is|was|has|had|will|"
    r"can|can't|never|always|might|may|should|must|won't|got|gave|sent|made|took|lent|bought|sold|left|met|[a-z]+(?:ed|s))\b)"
)
#: A name with whom something is done.
_ADDRESSED_NAME = re.compile(
    r"\b(?:tell|told|ask|asked|let|lent|gave|give|with|call|called|invite|invited|pay|paid|and|help|helped|meet|met) "
    r"(?P<name>(?!(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|October|November|December|The|This|That|It|There|If|When)\b)[A-Z][a-z]{1,20})\b"
)
#: A subject that was left out at the head of a turn is its speaker: "had to cancel", 已把.
_DROPPED = re.compile(
    r"^\W*(?:btw |ok |actually |also |and |just |already |finally )*(?:had|got|went|was|been|did|can't|cannot|pushed|moved|\w{3,}ed|"
    r"started|bought|sold|sent|lent|made|have|need|gotta|love|hate|prefer|will|won't|am|may|might)\b|"
    r"^\W*(?:已|把|刚|建议|正在|在|不|没|打算|想|准备|要|去|给|帮|还|以后|别)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """The speaker of a text: *me* is the agent of "I", *you* that of "you", and *names* are names of *me* or *you*."""

    me: str = ""
    you: str = ""
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedWord:
    """A word in lower case, or a run of Chinese characters, with its place, its agent and the *name* mark."""

    text: str
    start: int
    end: int
    clause: int
    agents: frozenset[str]
    name: bool
    person: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedClause:
    """A part of a text with its marks. *subject* is its first person. *quantities* are classes such as "all"."""

    start: int
    end: int
    marks: frozenset[Mark]
    subject: str
    quantities: frozenset[str]
    denied_from: int = -1

    def marks_at(self, place: int) -> frozenset[Mark]:
        """Return the marks of the word at *place*. A denial holds for the words behind it."""
        return self.marks if place >= self.denied_from else self.marks - {"denied"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedText:
    """A normalised *text* with its clauses and words in order."""

    text: str
    clauses: tuple[MarkedClause, ...]
    words: tuple[MarkedWord, ...]

    def clause_at(self, place: int) -> MarkedClause:
        """Return the clause that holds the character at *place*."""
        at = bisect_right([clause.start for clause in self.clauses], place) - 1
        return self.clauses[max(at, 0)]


@lru_cache(maxsize=512)
def mark_text(text: str, voice: Voice) -> MarkedText:
    """Read *text* as *voice* says it. A third person has the neutral voice ``Voice()`` with the speakers' names."""
    plain = normalise(text)[:_MAX_CHARS]
    spans = list(_clause_spans(plain))
    asked = _questions(plain)
    clauses: list[MarkedClause] = []
    words: list[MarkedWord] = []
    sentence: list[int] = []
    left: frozenset[str] = frozenset()
    other = NOBODY
    for number, (start, end, opener) in enumerate(spans):
        part = plain[start:end]
        if not sentence:
            left = frozenset({voice.me}) if _DROPPED.match(part) and not opener and voice.me else frozenset()
        found = list(_words(plain, start, end, number, left, voice, other))
        other = next((word.person for word in reversed(found) if word.person and word.person[0] not in "@?"), other)
        words += found
        subject = _subject(plain, found)
        if left and subject and _stands_late(plain, found):
            subject = next(iter(left))
        left = frozenset({subject}) if subject else left
        if any(word.text in _TELLING for word in found):  # what is told has a subject of its own
            left = found[-1].agents
        marks, denied_from = _marks(part, opener)
        if any(a <= start < b for a, b in asked):
            marks.add("asked")
        clauses.append(
            MarkedClause(
                start=start, end=end, marks=frozenset(marks), denied_from=start + denied_from, subject=subject,
                quantities=frozenset(name for name, pattern in _QUANTITIES.items() if pattern.search(part)),
            )
        )  # fmt: skip
        sentence.append(number)
        if number + 1 == len(spans) or _SENTENCE_END.search(plain, end - 1, spans[number + 1][0] + 1):
            _spread(clauses, sentence, plain)
            sentence = []
    return MarkedText(text=plain, clauses=tuple(clauses), words=tuple(words))


def _clause_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start and end of each clause with the conjunction that opens it. A clause holds its conjunction.

    "Ben and I have" is no two clauses: before an "and" there must be room for a verb.
    """
    at, opener = 0, ""
    for match in _BREAK.finditer(text):
        end = match.start()
        word = match.group().strip()
        if word.casefold() in {"and", "or"} and len(text[at:end].split()) < _LEAST_CLAUSE_WORDS:
            continue
        if text[at:end].strip(" ,.;:") or opener:
            yield at, end, opener
        opener = word.casefold() if word and (word[0].isalnum()) else ""
        at = match.start() if opener else match.end()
    if at < len(text) or not text:
        yield at, len(text), opener


def _questions(text: str) -> list[tuple[int, int]]:
    """Return the spans of questions."""
    spans, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        if match.group() == "?":
            spans.append((start, match.end()))
        start = match.end()
    return spans


def _marks(part: str, opener: str) -> tuple[set[Mark], int]:
    """Return the marks of a clause, and from where in it a denial holds."""
    marks: set[Mark] = {mark for mark, pattern in _MARKS.items() if pattern.search(part)}
    rest = _NOT_DENIED.sub(lambda match: " " * len(match.group()), part)
    denial = _DENIED.search(rest)
    if _PHRASE_DENIAL.match(opener):
        return marks | {"denied"}, 0
    if denial is None:
        return marks, 0
    short = not denial.group().isascii() and len(part[denial.end() :].strip()) <= _SHORT_VERB_CHARS
    whole = short or denial.group().casefold() in _WHOLE_DENIALS
    return marks | {"denied"}, 0 if whole else denial.start()


def _spread(clauses: list[MarkedClause], sentence: list[int], text: str) -> None:
    """Give marks to the clauses beside the one that has them.

    A question is one as a whole. A condition holds for the clause behind it, or for the one before where it ends the
    sentence. An afterthought ("I think", 还没定) holds for the clause before.
    """
    asked = any("asked" in clauses[number].marks for number in sentence)
    conditions = {number for number in sentence if "conditional" in clauses[number].marks}
    for number in sentence:
        following = clauses[number + 1] if number + 1 in sentence else None
        added: set[Mark] = {"asked"} if asked else set()
        if number - 1 in conditions or (number + 1 in conditions and number + 2 not in sentence):
            added.add("conditional")
        if following and _AFTERTHOUGHT.match(text[following.start : following.end]):
            added |= following.marks & {"possible", "opinion"}
        clauses[number] = replace(clauses[number], marks=clauses[number].marks | added)


def _subject(text: str, words: Sequence[MarkedWord]) -> str:
    """Return the first person of a clause who does not only own another one, or the possessor if there is no other."""
    persons = [at for at, word in enumerate(words) if word.person]
    pieces = [(word.start, word.end, word.person) for word in words]
    first = next((at for at in persons if not _owns_person(text, pieces, at) and not _owns(text, pieces[at])), None)
    if first is None:
        first = next((at for at in persons if not _owns_person(text, pieces, at)), None)
    return words[first].person if first is not None else NOBODY


def _stands_late(text: str, words: Sequence[MarkedWord]) -> bool:
    """Return whether something else stands before the first person of a clause, whose own subject is left out."""
    first = next(word for word in words if word.person)
    before = text[words[0].start : first.start]
    return sum("\u3400" <= char <= "\u9fff" for char in before) > 1 or any(
        word.text.isascii() and word.end <= first.start and word.text not in stop_words("statement") for word in words
    )


def _owns(text: str, piece: tuple[int, int, str]) -> bool:
    start, end, _ = piece
    return text[start:end].casefold() in _POSSESSIVE or text[start:end].endswith("'s") or text.startswith("的", end)


def _owns_person(text: str, pieces: Sequence[tuple[int, int, str]], at: int) -> bool:
    """Return whether the person at *at* only says whose the next person is: "my son", "Maya's son", 我爸."""
    start, end, _ = pieces[at]
    han = not text[start:end].isascii()
    if not _owns(text, pieces[at]) and not han:
        return False
    following = pieces[at + 1 : at + (2 if han else 3)]
    if han and following and text[following[0][0] : following[0][1]] == "的":
        following = pieces[at + 2 : at + 3]
    return any(person for *_, person in following) and not text[end : following[0][0]].strip(" 的")


def _words(
    text: str, start: int, end: int, number: int, left: frozenset[str], voice: Voice, other: str
) -> Iterator[MarkedWord]:
    """Yield the words of a clause. *left* are the agents that the clause before leaves.

    The agents of a word are the first and the nearest person before it. *other* is who "she" is until another is named. "X asked Y to" makes Y the only one.
    """
    passive, by = _passive_places(text, start, end)
    first = nearest = NOBODY
    pieces = list(_pieces(text, start, end, voice))
    for at, (piece_start, piece_end, named) in enumerate(pieces):
        word = text[piece_start:piece_end]
        person = other if named == OTHERS and other and word.casefold() in _SINGULAR else named
        other = named if named and named[0] not in "@?" else other
        if passive <= piece_start < by:  # its subject suffers what the verb says
            first = nearest = NOBODY
            left = frozenset()
        elif person and not _owns_person(text, pieces, at):
            nearest = person
            first = first or person
        if word.casefold() == "to" and at and pieces[at - 1][2]:
            first = nearest
        elif word in {"让", "叫", "请"}:
            first = NOBODY
        yield MarkedWord(
            text=word.casefold(), start=piece_start, end=piece_end, clause=number,
            agents=frozenset({first, nearest} - {NOBODY}) or left, name=word[0].isupper(), person=person,
        )  # fmt: skip
        if word.casefold() in _TELLING:
            first = nearest = NOBODY


def _pieces(text: str, start: int, end: int, voice: Voice) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and person of the words of a clause and of the parts of its Chinese runs."""
    for match in _WORDS.finditer(text, start, end):
        if match["latin"]:
            yield match.start(), match.end(), _person(match.group(), voice)
            continue
        for piece_start, piece_end, person in _han_pieces(match.group(), voice):
            yield match.start() + piece_start, match.start() + piece_end, person


def _passive_places(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where a passive verb begins and from where its agent may be named. Both are *end* in an active clause."""
    match = _PASSIVE.search(text, start, end)
    if match is None:
        return end, end
    if match.group() in {"被", "由"}:
        return start, match.end()
    by = _BY.search(text, match.start(), end)
    return match.start(), by.end() if by else end


def _person(word: str, voice: Voice) -> str:
    """Return the person that a word names, or an empty string."""
    plain = word.casefold().removesuffix("'s").removesuffix("'")
    if plain in _SELF or word == "I":
        return voice.me or OTHERS
    if plain in _YOU:
        return voice.you or OTHERS
    if plain in _THEY:
        return OTHERS
    names = dict(voice.names)
    if plain in names:
        return names[plain]
    if plain in _ROLE_WORDS and not voice.me:
        return _ROLE_WORDS[plain]
    return _people().get(plain, "")


def _han_pieces(run: str, voice: Voice) -> Iterator[tuple[int, int, str]]:
    """Cut a run of Chinese characters at the persons in it."""
    spans: list[tuple[int, int, str]] = [
        (match.start(), match.end(), _han_person(match, voice)) for match in _HAN_PERSONS.finditer(run)
    ]
    for name, person in voice.names:
        spans += [(match.start(), match.end(), person) for match in re.finditer(re.escape(name), run)]
    spans += [
        (match.start(), match.end(), _people().get(match.group(), match.group()))
        for match in _han_people().finditer(run)
    ]
    at = 0
    for start, end, person in sorted(spans):
        if start < at:
            continue
        if start > at:
            yield at, start, ""
        yield start, end, person
        at = end
    if at < len(run):
        yield at, len(run), ""


def _han_person(match: re.Match[str], voice: Voice) -> str:
    kind = match.lastgroup
    if kind == "self":
        return voice.me or OTHERS
    if kind == "you":
        return voice.you or OTHERS
    return {"user": USER, "assistant": ASSISTANT}.get(kind or "", OTHERS)


@cache
def _people() -> Mapping[str, str]:
    """Map each word for a person to the first word of its group of synonyms."""
    canonical: dict[str, str] = {}
    for line in table_lines("restatement_synonyms"):
        words = line.split()
        for word in words:
            canonical.setdefault(word, words[0])
    return {word: canonical.get(word, word) for word in word_table("people_words")}


@cache
def _han_people() -> re.Pattern[str]:
    words = sorted((word for word in _people() if not word.isascii()), key=len, reverse=True)
    return re.compile(
        "|".join(words)
        + r"|[\u4e00-\u9fff](?:总|经理|老师|医生)|[老小](?=[\u4e00-\u9fff])[\u4e00-\u9fff](?![\u4e00-\u9fff]{0,1}[区时说])"
    )


def people_of(text: str) -> dict[str, str]:
    """Return the persons of a text by name in lower case. "My son Leo" makes Leo the son, another name is itself."""
    plain = normalise(text)[:_MAX_CHARS]
    found = {match["name"].casefold(): _people()[match["kin"].casefold()] for match in _kin_name().finditer(plain)}
    for match in (*_ACTING_NAME.finditer(plain), *_ADDRESSED_NAME.finditer(plain)):
        word = match["name"].casefold()
        if word not in stop_words("statement") and word not in word_table("restatement_light_words"):
            found.setdefault(word, word)
    return found


@cache
def _kin_name() -> re.Pattern[str]:
    kin = "|".join(sorted((word for word in _people() if word.isascii()), key=len, reverse=True))
    return re.compile(rf"\b(?P<kin>{kin})(?:'s name is| is called| named| called|,)? (?P<name>[A-Z][a-z]+)\b")
