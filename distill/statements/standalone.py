"""Text of a statement that a reader understands without the conversation around it.

A sentence of a turn keeps its words. Around them come the name of the speaker, the question or the sentence that it
answers or refers to, and the dates that its relative words name. Filler goes, and so does the name of the person to
blame where the sentence also says what follows from it. Nothing else is added: every word of the result is a word of
the turns, a name of a speaker, or a computed date.

The forms of a speaker are ``Maya: ...``, ``Maya (to Leo): ...``, ``Maya (asked: "..."): ...`` and
``Maya (on "..."): ...``. :func:`split_speaker` takes them apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache

from agent_home.store.transcript import Message
from guard.lazy_regex import lazy_regex

from .dated_words import add_dates
from .sentences import is_question, prose_lines, split_sentences

__all__ = [
    "Standalone",
    "Surroundings",
    "day_of",
    "find_surroundings",
    "is_elliptical",
    "join_sentences",
    "plain_turn",
    "question_of",
    "refers_back",
    "sentences_before",
    "speaker_of",
    "speaks_of_self",
    "split_speaker",
    "stand_alone",
    "with_context",
    "without_lead_in",
]

#: Longer sentences are kept as they are.
_MAX_CHARS = 2000
#: Longest question or sentence that is kept with another one.
_MAX_CONTEXT_CHARS = 200
#: Characters before a sentence of a turn that are searched for what it refers to.
_LOOK_BACK_CHARS = 1200
#: Kinds of items that say something about the one who speaks. Their speaker is always named.
_PERSONAL = frozenset({"fact", "preference", "open_thread", "next_step"})
_NAMELESS = frozenset(
    {"", "user", "assistant", "human", "ai", "bot", "agent", "system", "tool", "me", "you", "用户", "助手", "我"}
)
_NOT_A_NAME = lazy_regex(r"[:\uff1a*\[\]<>#`\"|()\uff08\uff09\n]|\d{4}")
_MAX_NAME_CHARS = 40
_FULL_WIDTH_ENDS = "。\uff01\uff1f\uff1b"
_CJK = lazy_regex(r"[\u4e00-\u9fff]")

_HEAD_FILLER = lazy_regex(
    r"(?:(?:well|so|ok(?:ay)?|alright|right|anyways?|oh(?: man| wow)?|ah|ooh|aw+|uh+|um+|uhm|h+m+|er+m?|(?:ha){2,}|"
    r"hehe|lol|wow|whoa|yay|like|honestly|basically|btw|fyi|by the way|i mean|you know(?: what)?|to be honest|tbh|"
    r"let me see|let's see|just so you know|one more thing|quick note|thanks|thank you|cool|great|nice|awesome|"
    r"(?:hey|hi|hello)(?: [A-Z][a-z]+)?|also|anyhow)"
    r"(?:[,.!…;:—-]+ |…| - )\s*"
    r"|(?:uh+|um+|uhm|h+m+|btw|fyi|lol|to be honest|honestly|(?:ha){2,}|oh|ok(?:ay)?(?= so\b)|"
    r"so(?= (?:ok|yeah|basically)\b))\s+"
    r"|(?:and|so|anyhow|anyway)\s+(?=i\b|i'|we\b|we'|my\b|the\b))",
    re.IGNORECASE,
)
_AGREEING_FILLER = lazy_regex(r"(?:yeah|yep|yup|sure|yes|absolutely|definitely|totally)(?:[,.!]+)\s+", re.IGNORECASE)
_TAIL_FILLER = lazy_regex(
    r"[,.!]?\s*(?:\b(?:lol|(?:ha){2,}|btw|fyi|tbh|(?:just so )?you know|hehe)|"
    r"[\U0001f600-\U0001f64f\U0001f900-\U0001f9ff❤\ufe0f]+|"
    r"[:;]-?[)D(P])[.!]*$",
    re.IGNORECASE,
)
_INNER_FILLER = lazy_regex(
    r",? \b(?:um+|uh+|uhm)\b,?(?= )|, (?:you know|i mean|like|i guess)(?=, )| (?:lol|(?:ha){2,})(?=[,;])", re.IGNORECASE
)
_CJK_HEAD_FILLER = lazy_regex(
    r"(?:嗯+|呃+|额|哦+|噢|啊|唉|哎+|诶|欸|哈+|嘿+|好的?|行|你好|谢谢|对了|顺便[说提]一[下句]|还有|另外|话说|那个|这个|就是说?|就是说|然后|怎么说呢|其实|反正|ok)"
    r"[,\uff0c、。.!\uff01… ]+|(?:嗯+|呃+|哦+(?=对了)|话说(?!明)|就是说|哈哈+)",
    re.IGNORECASE,
)
_CJK_TAIL_FILLER = lazy_regex(r"[,\uff0c]?\s*(?:哈哈+|嘿嘿+|嘻嘻+|hhh+)[。!\uff01~]*$")
_MAX_FILLERS = 6
#: Fewest words or Chinese characters of a sentence whose lead-in is left out.
_LEAST_SAID = 3
#: A sentence of at most so many words that holds "it" or "that" needs what stands before it.
_SHORT_WORDS = 9
#: A sentence of at most so many words that holds "it" or "them" needs what stands before it in its turn.
_MIDDLE_WORDS = 14

_FIRST_PERSON = lazy_regex(
    r"\b(?:I|i)\b(?!\.)|\b(?:[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|us|[Oo]urs?|[Ll]et's)\b|[我咱俺]|本人"
)
_FIRST_PERSON_ALONE = lazy_regex(r"\b[Ii]\b(?!\.)|\b(?:[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b|我(?!们)|俺|本人")
_SECOND_PERSON = lazy_regex(r"\b(?:you|your|yours|yourself)\b|[你您]", re.IGNORECASE)
#: A sentence that starts with these words refers to something before it.
_REFERS_BACK = lazy_regex(
    r"(?:it|it's|its|he|he's|his|she|she's|her|they|they're|their|them|both|neither|either|same|agreed|"
    r"(?:that|this|these|those|which)(?:'s| (?:is|was|are|were|would|will|means|happens|happened|has|had|can)))\b"
    r"|[他她它]|[这那](?=是|样|就|也|会|让|么)|同意|都(?!是因为)|[前后]者",
    re.IGNORECASE,
)
#: Words that a short sentence needs something before it to be understood.
_REFERS_ANYWHERE = lazy_regex(r"\b(?:it|that|this|them|those|these)\b|[它那这]", re.IGNORECASE)
_REFERS_INSIDE = lazy_regex(r"\b(?:it|them|him)\b(?!')", re.IGNORECASE)
_ANSWER = lazy_regex(
    r"(?:yes|yeah|yep|yup|no|nope|not|sure|of course|because|only|just|since|until|at|in|on|for|from|with|by|next|last|"
    r"never|always|(?:the )?(?:first|second|third|last|other|former|latter)|option|me|mine|nothing|none|one)\b"
    r"|是的?|对|不|没|因为|可以|好|第|就|只|还",
    re.IGNORECASE,
)
_SMALL_TALK = lazy_regex(
    r"\b(?:how (?:are|have) you|how's it going|how(?:'s| is| was) (?:your|the|it|everything|life)|what's up|what's new|"
    r"anything new|"
    r"what have you been up to|"
    r"you know\?|right\?|what about you|how about you|and you\?)|你好吗|最近怎么样|怎么样了?\?",
    re.IGNORECASE,
)
#: A question that is about something named before it.
_WHICH = lazy_regex(r"\b(?:which one|it|that|this|them|those|these|one of)\b|哪个|哪家|哪一|它|这|那", re.IGNORECASE)
_WORD = lazy_regex(r"[A-Za-z0-9][\w'.:/-]*|[\u4e00-\u9fff]")

#: A sentence with one of these says what follows from a fault.
_CONCLUSION = lazy_regex(
    r"\b(?:so|therefore|hence|we need|from now on|always|never|must|next time|should)\b|以后|所以|必须|下次|今后|从此",
    re.IGNORECASE,
)
_FAULT = lazy_regex(
    r"\b(?P<name>[A-Z][a-z]+|he|she|He|She)(?P<verb> (?:forgot|screwed up|messed up|botched|misread|dropped the ball|"
    r"didn't bother|was (?:careless|sloppy|lazy)|couldn't be bothered))\b"
)
_FAULT_OF = lazy_regex(
    r"\b(?P<lead>(?:thanks to|because of|due to) )[A-Z][a-z]+'s (?=(?:sloppy|careless|lazy|stupid|silly|bad|mistake|"
    r"error|typo|negligence|carelessness)\b)",
    re.IGNORECASE,
)
_BLAMING_CLAUSE = lazy_regex(
    r"^[^,;]{0,120}?\b(?:is|was|were)(?: all)? (?:[A-Z][a-z]+'s|his|her|their) (?:fault|mistake)[,;]"
    r" (?:so |and )?(?=\S)"
    r"|^[^,\uff0c]{0,60}是[^,\uff0c]{1,8}的(?:锅|错|责任|疏忽)[,\uff0c](?:所以)?"
)
_CJK_BLAME = lazy_regex(
    r"(?:都|全)?[怪赖](?P<a>[\u4e00-\u9fff]{1,4}?)(?=忘|没|漏|弄|搞|写|看|改|删)"
    r"|(?P<lead>因为|由于|^)(?:[小老阿][\u4e00-\u9fff]|[\u4e00-\u9fff](?:总|工|哥|姐|经理))(?=忘|没检查|没看|漏|弄错|搞|写错|看错|改错|把[^,\uff0c]{1,8}删)"
)

_SPEAKER = lazy_regex(
    r"(?P<name>[^\s:\uff1a\"()\uff08\uff09\[\]*][^:\uff1a\"()\uff08\uff09\[\]*\n]{0,39}?)"
    r"(?: ?[(\uff08](?:participant|参与者)[)\uff09] ?(?:said|说))?"
    r"(?: ?[(\uff08](?:(?:to|asked|on) [^\n]*?|(?:asked:|accepted,) [^\n]*?|[^\n“”]{0,40}[问就]“[^\n]*?|"
    r"接受[^\n]*?)[)\uff09])?(?:: |\uff1a)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standalone:
    """A statement that stands alone. *context* are the sources of other turns whose words it holds."""

    text: str
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Words around a sentence that stand with it.

    Attributes:
        own: earlier sentences of its own turn.
        other: the end of the other speaker's turn before it.
        asked: whether *other* is a question.
        turn: that turn, whether its words are kept or not.
        topic: sentences of the speaker's own turn before that.
        topic_turn: the turn that says them.
    """

    own: str = ""
    other: str = ""
    asked: bool = False
    turn: Message | None = None
    topic: str = ""
    topic_turn: Message | None = None


def stand_alone(
    sentence: str, turn: Message, earlier: Sequence[Message], owner: str, now: datetime, *, kind: str = ""
) -> str:
    """Return *sentence* of *turn* as a text that stands alone. See :func:`with_context`."""
    return with_context(sentence, turn, earlier, owner, now, kind=kind).text


def with_context(
    sentence: str,
    turn: Message,
    earlier: Sequence[Message],
    owner: str,
    now: datetime,
    *,
    kind: str = "",
    around: Surroundings | None = None,
) -> Standalone:
    """Return *sentence* of *turn* as a text that stands alone, with the sources of other turns that it quotes.

    Args:
        sentence: a sentence of the turn's content.
        turn: the turn that says it.
        earlier: the turns before it, oldest first. Only the last one is read.
        owner: the name of the user of the home, for turns that do not name their speaker, or empty.
        now: the present, whose time zone decides the day of a turn.
        kind: the kind of item that the sentence becomes, where it is known.
        around: the words to keep with the sentence, by default those of :func:`find_surroundings`.
    """
    words = " ".join(sentence.split())
    if not words or len(words) > _MAX_CHARS:
        return Standalone(text=words)
    found = find_surroundings(words, turn, earlier) if around is None else around
    said = day_of(turn.ts, now)
    told = _clean(words, said, answers=found.asked, blame=kind not in _PERSONAL)
    if found.own:
        own = _clean(found.own, said, answers=False, blame=False)
        told = join_sentences(own, told)
    name = speaker_of(turn, owner)
    is_cjk = _CJK.search(told) is not None and not re.search(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}", told)
    aside = _aside(found, told, name, owner, now, is_cjk=is_cjk)
    if not aside and not _needs_speaker(told, name, kind):
        return Standalone(text=told)
    quoted = ((found.topic_turn, found.topic), (found.turn, found.other))
    context = tuple(other.source for other, quotation in quoted if other is not None and quotation)
    shown = name or {("user", True): "用户", ("user", False): "User", ("assistant", True): "助手"}.get(
        (turn.role, is_cjk), "Assistant"
    )
    return Standalone(text=f"{shown}{aside}\uff1a{told}" if is_cjk else f"{shown}{aside}: {told}", context=context)


def speaker_of(turn: Message, owner: str = "") -> str:
    """Return the name of the one who speaks in *turn*, or an empty string. The user's may be the *owner*'s."""
    name = " ".join(turn.name.split())
    if name.casefold() in _NAMELESS or _NOT_A_NAME.search(name) or len(name) > _MAX_NAME_CHARS:
        name = " ".join(owner.split()) if turn.role == "user" else ""
    return "" if _NOT_A_NAME.search(name) or len(name) > _MAX_NAME_CHARS else name


def split_speaker(text: str, names: Sequence[str] = ()) -> tuple[str, str]:
    """Split a text that stands alone into its speaker, or an empty string, and the words after the speaker.

    Without *names*, a speaker is one to three capitalised words or a short Chinese name before the first colon.

    >>> split_speaker('Maya (asked: "When?"): next Wednesday at 3')
    ('Maya', 'next Wednesday at 3')
    >>> split_speaker("Note: the key is at Irma's"), split_speaker("the ratio is 3: 1")
    (('Note', "the key is at Irma's"), ('', 'the ratio is 3: 1'))
    """
    match = _SPEAKER.match(text)
    if match is None:
        return "", text
    name = match["name"]
    known = name in names if names else _LOOKS_LIKE_A_NAME.fullmatch(name) is not None
    return (name, text[match.end() :]) if known else ("", text)


_LOOKS_LIKE_A_NAME = lazy_regex(r"[A-Z][\w.'-]*(?: [A-Z][\w.'-]*){0,2}|[\u4e00-\u9fff]{2,4}")


def speaks_of_self(text: str) -> bool:
    """Return whether *text* says "I" or "my"."""
    return _FIRST_PERSON_ALONE.search(text) is not None


def refers_back(text: str) -> bool:
    """Return whether *text* starts with a word for something before it."""
    return _REFERS_BACK.match(text) is not None


def _needs_speaker(told: str, name: str, kind: str) -> bool:
    """Return whether the reader has to know who said it."""
    if not name:
        return _FIRST_PERSON_ALONE.search(told) is not None
    if kind in _PERSONAL or not kind:
        return True
    return _FIRST_PERSON.search(told) is not None or _SECOND_PERSON.search(told) is not None


def _aside(found: Surroundings, told: str, name: str, owner: str, now: datetime, *, is_cjk: bool) -> str:
    """Return what stands in brackets behind the speaker: the question, the sentence referred to, or the listener."""
    other = speaker_of(found.turn, owner) if found.turn is not None else ""
    other = "" if other == name else other
    if found.topic and found.topic_turn is not None:
        said = day_of(found.topic_turn.ts, now)
        topic = _clean(found.topic, said, answers=False, blame=False)
        if is_cjk:
            asked = f"\uff0c被问“{found.other}”" if found.other else ""
            return f"\uff08就“{topic}”{asked}\uff09"
        asked = ', asked: "{}"'.format(found.other.replace('"', "'")) if found.other else ""
        return ' (on "{}"{})'.format(topic.replace('"', "'"), asked)
    if not found.other:
        is_addressed = other and not is_cjk and _SECOND_PERSON.search(told)
        return f" (to {other})" if is_addressed else ""
    if is_cjk:
        verb = (f"{other}问" if other else "被问") if found.asked else "就"
        return f"\uff08{verb}“{found.other}”\uff09"
    quoted = found.other.replace('"', "'")
    if found.asked:
        return f' (asked by {other}: "{quoted}")' if other else f' (asked: "{quoted}")'
    return f' (on "{quoted}")'


def _clean(words: str, said: date | None, *, answers: bool, blame: bool) -> str:
    told = _without_filler(words, answers=answers)
    if blame:
        told = _without_blame(told)
    return add_dates(told, said) if said is not None else told


def without_lead_in(words: str) -> str:
    """Return *words* without filler at the head, such as "By the way," and «对了,»."""
    text = words
    for _ in range(_MAX_FILLERS):
        match = _HEAD_FILLER.match(text) or _CJK_HEAD_FILLER.match(text)
        if match is None:
            break
        text = text[match.end() :]
    return text if len(_WORD.findall(text)) >= _LEAST_SAID else words


def _without_filler(words: str, *, answers: bool) -> str:
    """Return *words* without filler at the head and the tail. The "yes" of an answer stays."""
    text = words
    for _ in range(_MAX_FILLERS):
        match = _HEAD_FILLER.match(text) or _CJK_HEAD_FILLER.match(text)
        match = match or (None if answers else _AGREEING_FILLER.match(text))
        if match is None:
            break
        text = text[match.end() :]
    for tail in (_TAIL_FILLER, _CJK_TAIL_FILLER):
        match = tail.search(text, max(0, len(text) - 80))
        if match is not None:
            end = text[-1] if text[-1] in ".!" else ""
            text = text[: match.start()].rstrip() + end
    text = _INNER_FILLER.sub("", text).strip()
    return text if len(_WORD.findall(text)) >= min(2, len(_WORD.findall(words))) else words


def _without_blame(text: str) -> str:
    """Return *text* without the name of the one at fault, where it also says what follows from the fault."""
    if not _CONCLUSION.search(text):
        return text
    rest = _BLAMING_CLAUSE.sub("", text, count=1)
    if len(_WORD.findall(rest)) >= 4:
        text = rest
    text = _FAULT.sub(lambda match: ("S" if match.start() == 0 else "s") + f"omeone{match['verb']}", text)
    text = _FAULT_OF.sub(lambda match: f"{match['lead']}someone's ", text)
    return _CJK_BLAME.sub(lambda match: f"{match['lead'] or ''}有人", text)


def find_surroundings(words: str, turn: Message, earlier: Sequence[Message]) -> Surroundings:
    """Return what *words* of *turn* refer to, where the form of the sentence shows that they refer to something."""
    other = next((message for message in reversed(earlier[-4:]) if message.role in {"user", "assistant"}), None)
    if other is not None and (other.role, other.name) == (turn.role, turn.name):
        other = None
    plain = plain_turn(turn.content)
    at = plain.find(words)
    labelled = at > 0 and plain[:at].rstrip().endswith((":", "\uff1a"))
    before = sentences_before(words, turn)
    bare = _without_filler(words, answers=True)
    refers = _REFERS_BACK.match(bare) is not None
    if any(_length(sentence) >= 4 for sentence in before):
        refers = refers or (_length(bare) <= _MIDDLE_WORDS and _REFERS_INSIDE.search(bare) is not None)
        return Surroundings(own=_referred(before) if refers else "", turn=other)
    if other is None:
        return Surroundings()
    last = _end_of_turn(other.content)
    if not last or len(last) > _MAX_CONTEXT_CHARS or _length(last) < 2:
        return Surroundings(turn=other)
    if is_question(last):
        inside = _length(bare) <= _MIDDLE_WORDS and _REFERS_INSIDE.search(bare) is not None
        needed = refers or (not labelled and (inside or is_elliptical(bare, user=turn.role == "user")))
        return Surroundings(other=last if needed and not _SMALL_TALK.search(last) else "", asked=True, turn=other)
    deictic = refers or (not labelled and not is_question(bare) and _REFERS_ANYWHERE.search(bare) is not None)
    needed = deictic and _length(bare) <= _SHORT_WORDS and _length(last) >= 4
    return Surroundings(other=last if needed else "", turn=other)


def join_sentences(first: str, second: str) -> str:
    """Return two sentences of a turn on one line, as the language of the first one joins them."""
    if not first or not second:
        return first or second
    return f"{first}{'' if _CJK.match(first[-2:]) or first[-1] in _FULL_WIDTH_ENDS else ' '}{second}"


def sentences_before(words: str, turn: Message) -> list[str]:
    """Return the sentences of *turn* before *words*, the nearest ones of a long turn."""
    plain = plain_turn(turn.content)
    at = plain.find(words)
    return split_sentences(plain[max(0, at - _LOOK_BACK_CHARS) : at]) if at > 0 else []


def question_of(turn: Message) -> str:
    """Return the question at the end of *turn*, with the sentence before it where it needs that one, or nothing.

    A courtesy ("How are you?") is no question. One sentence may stand behind the question.
    """
    last = _end_of_turn(turn.content)
    if not is_question(last):
        *_, asked = ["", *split_sentences(plain_turn(turn.content[-_LOOK_BACK_CHARS:]))][:-1] or [""]
        last = asked if is_question(asked) else ""
    courtesy = _SMALL_TALK.search(last) is not None and _length(last) <= _SHORT_WORDS
    return last if is_question(last) and len(last) <= _MAX_CONTEXT_CHARS and not courtesy else ""


def _referred(before: Sequence[str]) -> str:
    """Return the sentence that the next one refers to, with the one before it where it refers back itself."""
    kept: list[str] = []
    for sentence in reversed(before[-2:]):
        if sum(map(len, kept)) + len(sentence) > _MAX_CONTEXT_CHARS or _length(sentence) < 3:
            break
        kept.insert(0, sentence)
        if not _REFERS_BACK.match(_without_filler(sentence, answers=True)):
            break
    return " ".join(kept)


@lru_cache(maxsize=64)
def plain_turn(content: str) -> str:
    """Return the prose of a turn on one line. The result is cached, because each of its sentences needs it."""
    return " ".join(line.text for line in prose_lines(content) if line.text)


def is_elliptical(bare: str, *, user: bool) -> bool:
    """Return whether *bare*, an answer of the user or of another speaker, needs its question."""
    length = _length(bare)
    if _CJK.search(bare):
        return user and length <= 24 and _FIRST_PERSON.search(bare, 0, 4) is None
    if length <= 4 or _ANSWER.match(bare):
        return length <= 16
    return user and length <= 9 and _FIRST_PERSON.search(bare) is None


def _end_of_turn(content: str) -> str:
    """Return the last sentence of prose of a turn, with the sentence before a question that needs it."""
    lines = [line.text for line in prose_lines(content[-_LOOK_BACK_CHARS:]) if line.text]
    lines = [line for line in lines if not line.startswith("[")]  # captions of images and notes of the guard
    sentences = [" ".join(sentence.split()) for sentence in split_sentences(lines[-1])] if lines else []
    if not sentences:
        return ""
    both = " ".join(sentences[-2:])
    is_open = is_question(sentences[-1]) and _WHICH.search(sentences[-1]) is not None
    return both if is_open and len(both) <= _MAX_CONTEXT_CHARS else sentences[-1]


def _length(text: str) -> int:
    """Count words of English and characters of Chinese."""
    return len(_WORD.findall(text))


def day_of(ts: str, now: datetime) -> date | None:
    """Return the day of a turn in the time zone of *now*, or ``None`` when the turn has no time."""
    try:
        said = datetime.fromisoformat(ts)
    except ValueError:
        return None
    return (said.astimezone(now.tzinfo) if said.tzinfo is not None and now.tzinfo is not None else said).date()
