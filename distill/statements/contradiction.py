"""Relation of a newer statement to an older one: the same in other words, its replacement, or something else.

The rules are conservative in both directions. Statements are the *same* only if they differ in no number, date, name,
negation or opposite word, and no word of one stands in the place of another word of the other. An older statement is
*replaced* only by a statement about the same thing that either names what it replaces ("X instead of Y", "no longer",
从 X 改为 Y) or changes exactly one value of a statement that holds until further notice. That older statement may have
replaced another one itself. A statement that adds a condition, tells of another day's event or is about another thing
is *different*, and both stand. Where no rule says more, the learned weights of ``distill.statements.pairs.pair_model``
decide, under the vetoes there. ``distill.entries.consolidation`` decides which entries are compared and what happens
to them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from guard.lazy_regex import lazy_regex
from recall.text.identity import identity_key

from .other_subject import names_other_thing, names_owned_thing, shares_only_name, shares_only_person
from .pairs.pair_features import PairFeatures, compare
from .pairs.pair_model import are_apart, is_change, keeps_older, names_value, restates, score_pair
from .pairs.same_object import is_of_other_object
from .statement_parser import Statement, Token, are_opposites, parse_statement

__all__ = [
    "SAID_CHANGE",
    "SAME_CHANGE",
    "SAME_COSINE",
    "SAME_WORDS",
    "Relation",
    "are_at_odds",
    "are_same_change",
    "named_change",
    "relation",
    "restates_change",
    "without_lead",
]

#: Least cosine of two statements in other words, chosen on observations and labelled pairs (``bench.promotion``).
SAME_COSINE = 0.85
#: Least share of common words among all words of both. Statements about one person or project have near vectors
#: whatever they say.
SAME_WORDS = 0.5
#: Least probability by the learned weights.
_REPLACED = 0.66
#: The same for a statement that names a change and differs in one place, where both share so much of the older one.
_REPLACED_SLOT = 0.55
_WHOLE_FRAME = 0.6
_SAME = 0.4
#: Words of one who repeats something.
_SAID_AGAIN = frozenset({"said", "say", "again"})
#: Probability of *same* from which a statement with the same values replaces nothing.
_MAY_BE_SAME = 0.3
#: Least weight of two statements that are the same in other words.
_LEAST_TOLD = 1.5
_LEARNED = "another value of the same"
#: Reason of a newer statement that says of itself that something changes.
SAID_CHANGE = "another value of the same, with words of change"
SAME_CHANGE = "the same change in other words"
_ENDS = "says that it holds no longer"
_NAMES_REPLACED, _DENIES = "names what it replaces", "denies it"
#: Reasons that name the older statement's own words as gone or denied, so that its object is no question.
_NAMED = frozenset({_ENDS, _NAMES_REPLACED, _DENIES})
#: Least share of the lighter statement's words that both must have before a changed value means anything.
_FRAME = 0.75
#: The same share if the newer statement names what it replaces.
_NAMED_FRAME = 0.5
#: Largest share of words that only one of both has, in relation to common ones, that may be a matter of style.
_STYLE = 0.17
#: Shorter statements say much with words that are left out here ("Yeah, I agree").
_LEAST_SAID = 3
#: Direction words with a second use: "to" also begins an infinitive.
_INFINITIVE = frozenset({"to"})
#: Statements of fewer words in another order may differ.
_LEAST_BAG = 4

_LEAD = lazy_regex(
    r"^(?:(?:no|nope|wrong|sorry|wait|actually|correction|in fact)\b[,.:;—–-]*\s*|"
    r"that(?:'s| is) (?:wrong|not right)[,.:;]*\s*|"
    r"(?:不对|错了|更正|纠正一下|更正一下|数字不对)[,:。;]*\s*)+",
    re.IGNORECASE,
)
_REASON = lazy_regex(
    r"[,;]?\s*(?:\b(?:because|since|so that|due to|as a result of|given that|otherwise)\b|[,;]\s*as\b|"
    r"[,;]\s*(?:which|so)\b|因为|由于|以便|否则|这样)[^.。]*",
    re.IGNORECASE,
)
_CLAUSE = r"[^,;.。]+?(?:\.\d[^,;.。]*)?"
_CHANGED = (
    r"(?:switch|chang|mov|migrat|shift|went|go|rais|lower|cut|increas|decreas|reduc|drop|postpon|delay|push|extend|"
    r"shorten|renam|bump|slipp?|convert)\w*"
)
_NOT_BUT = rf"not (?!only|just)(?P<gone>{_CLAUSE})(?: any ?more| any longer)?,? but (?:now )?(?P<new>{_CLAUSE})"
#: End of the clause behind *to* or *with*.
_STOP = r"(?=[,;.。]|\s+(?:for|in|as|because)\b|$)"
#: Clauses that name a value that no longer holds (*gone*), some of them also the value that replaces it (*new*).
_GONE: tuple[re.Pattern[str], ...] = tuple(
    lazy_regex(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_CHANGED}\b(?P<frame>[^,;.。]*?)\bfrom (?P<gone>{_CLAUSE}) to (?P<new>{_CLAUSE}){_STOP}",
        rf"\breplac\w+ (?P<gone>{_CLAUSE}) (?:with|by) (?P<new>{_CLAUSE}){_STOP}",
        rf"\b(?:drop|abandon|retire|leav|ditch)\w* (?P<gone>{_CLAUSE}) (?:in favou?r of|for) (?P<new>{_CLAUSE}){_STOP}",
        rf"(?P<new>{_CLAUSE}) (?:replaces|supersedes|takes over from) (?P<gone>{_CLAUSE}){_STOP}",
        rf",?\s*\b{_NOT_BUT}(?=[,;.。]|$)",
        rf",?\s*\b(?:instead of|rather than|in place of|and not|and no longer) (?P<gone>{_CLAUSE})(?=[,;.。]|$)",
        rf"(?:,\s*(?:but )?|(?<=[\d%])\s)not (?!only|just|yet|until|before|because)(?P<gone>{_CLAUSE})(?=[,;.。]|$)",
        rf"\(?\b(?:previously|formerly|it was|used to be|before it was) (?P<gone>{_CLAUSE})(?=[,;.。)]|$)",
        r"(?:从|由)(?P<gone>[^,;。]+?)(?:改|换|变|迁移|迁|调整|推迟|提前|延|升|降|挪|转)(?:为|成|到|用|至)(?P<new>[^,;。]+)",
        r"把(?P<gone>[^,;。]+?)(?:换成|改成|改为|替换为|替换成|迁到|迁移到)(?P<new>[^,;。]+)",
        r"不是(?P<gone>[^,;。]+?)[,;]?\s*(?:而是|应该是|而|是)(?P<new>[^,;。]+)",
        r"[,;]?\s*(?:而不是|而非|取代|替代|代替)(?P<gone>[^,;。]+)",
        r"(?:不用|不再用|不要|停用)(?P<gone>[^,;。]+?)了?[,;]\s*(?:改用|换成|改成|换用|改为|换|用)(?P<new>[^,;。]+)",
        r"[,;]\s*(?:不是|不用|不再用|不再是)(?P<gone>[^,;。]+?)了?[。.]?$",
    )
)
#: Words for a change that holds from now on.
_CUE = lazy_regex(
    r"\b(?:now|from now on|no longer|any ?more|instead|any longer|switch\w*|chang(?:e|ed|ing) (?:to|the|our)|moved? to|"
    r"postponed|pushed (?:back )?to|raised to|lowered to|reduced to|increased to|renamed|revised|updated?|after all|"
    r"stop\w* using|back to)\b|改为|改成|改用|改到|换成|换用|换到|不再|调整为|调整到|推迟到|提前到|延到|现在|"
    r"从现在|更新为|升到|降到",
    re.IGNORECASE,
)
_NO_LONGER = lazy_regex(
    r"\b(?:no longer|any ?more|any longer|stop(?:ped)? us\w+|don't .{1,60} any)|不再|停用|弃用", re.IGNORECASE
)
#: Words of a time that is counted from the day of the sentence. They tell of an event.
_DEICTIC = lazy_regex(
    r"\b(?:today|yesterday|tonight|this (?:week|morning|month|time|sprint)|last (?:week|month|night|sprint)|just|"
    r"again)\b"
    r"|今天|昨天|本周|上周|这周|本月|上个?月|这次|刚刚|刚才",
    re.IGNORECASE,
)
_COPULA = lazy_regex(
    r"\b(?:is|are|was|were|has|have|be|will|should|must|can|stays?|remains?|equals?|costs?|takes?|lives?|runs?|expires?|"
    r"means?|owns?|needs?|starts?|ends?|at)\b|是|为|在|有|等于|定在|设为",
    re.IGNORECASE,
)
#: Past events. A decision to do something, or an agreement that it is so, holds and is no past event.
_PAST = lazy_regex(
    r"^(?:we|i|the team|they|she|he|\w+)\s+(?:\w+ly\s+)?"
    r"(?!need|embed|exceed|(?:decid|agre|resolv|conclud|settl)ed\s+(?:to|that|on)\b)(?:\w{2,}ed|won|lost|sold|bought|ran|"
    r"went|met|saw|made|had|did|got|found|took|wrote|fixed)\b|[了过]\s*[\d两二三四五六七八九十]",
    re.IGNORECASE,
)
#: Words with which the order of the other words carries the meaning.
_ORDER = lazy_regex(r"\b(?:before|after|than|then|first|over|under)\b|[先再后前比给向]", re.IGNORECASE)
#: Words before a value. Another value in the same place would contradict it.
_BEHIND = lazy_regex(
    r"(?:\b(?:in|by|to|until|till|on|at|from|with|as|use|using|is|are|be|was|stays?|after|before|every|into|via)|"
    r"到|在|于|是|为|用|至|按|前|从|每)\s*(?:now |currently |the |a |an |v)*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The *kind* of relation and its *reason*: the name of a rule in a few words, never the text itself."""

    kind: Literal["same", "replaced", "different"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewerStatement:
    """A newer statement without its reasons and without the value that it says was *gone*."""

    said: Statement
    gone: Statement | None
    new: Statement | None
    cue: bool
    ends: bool  # says of something that it holds no longer


def relation(
    older: str, newer: str, *, cosine: float | None = None, lasting: bool = True, apart: bool = True
) -> Relation:
    """Return the relation of the text *newer* to the text *older*.

    Args:
        cosine: of the vectors of both texts, where there is a model; without, *same* means the same words.
        lasting: both are of a kind that holds until further notice, such as a decision; if not, a changed value counts
            only with words that say so, or where one says what something *is*.
        apart: they were said in different sessions; in one session two values are a choice until words say otherwise.
    """
    if names_other_thing(older, newer):
        return Relation(kind="different", reason="it tells of another thing")
    if restates_change(older, newer):
        return Relation(kind="same", reason=SAME_CHANGE)
    found = _related(older, newer, cosine=cosine, lasting=lasting, apart=apart)
    if found.kind == "replaced" and names_owned_thing(older, newer):
        return Relation(kind="different", reason="it tells of what belongs to the other")
    if found.kind == "replaced" and shares_only_name(older, newer):
        return Relation(kind="different", reason="it tells another thing of the same name")
    if found.kind == "replaced" and shares_only_person(older, newer):
        return Relation(kind="different", reason="it tells another thing of the same person")
    if found.kind == "replaced" and found.reason not in _NAMED and is_of_other_object(older, newer):
        return Relation(kind="different", reason="it tells of another object")
    if found.kind == "replaced" and _shares_only_values(parse_statement(older), parse_statement(newer)):
        return Relation(kind="different", reason="it shares only a value with it, in another language")
    return found


def _related(older: str, newer: str, *, cosine: float | None, lasting: bool, apart: bool) -> Relation:
    """Return the relation of two statements about what may be one thing."""
    features = compare(older, newer)
    a, b = parse_statement(older), parse_statement(newer)
    found = _by_rules(older, newer, a, b, cosine=cosine, lasting=lasting, apart=apart)
    if found.kind == "replaced":
        kept = keeps_older(features) if found.reason != _ENDS else ""
        return Relation(kind="different", reason=kept) if kept else found
    if found.kind == "same":
        opened = features["open older"] != features["open newer"] and a.text != b.text
        return Relation(kind="different", reason="one is open, the other is not") if opened else found
    return _by_model(older, newer, features, lasting=lasting, apart=apart)


def are_at_odds(one: str, other: str) -> bool:
    """Return whether one of two statements gives the same thing another value, or denies the other one."""
    return any(
        relation(older, newer).kind == "replaced" and names_value(compare(older, newer))
        for older, newer in ((one, other), (other, one))
    )


def are_same_change(one: str, other: str) -> bool:
    """Return whether *other* names the change that *one* names, from the same value to the same value, and no more.

    >>> are_same_change("We changed the supplier, not Ara any more but Tex.", "The supplier is Tex instead of Ara.")
    True
    """
    first, second = _newer_statement(one), _newer_statement(other)
    if first.gone is None or second.gone is None or not second.gone.tokens:
        return False
    changes = [
        [
            sorted(token.key for token in tokens)
            for tokens in (gone.tokens, new.tokens if new else _last(said, gone.tokens))
        ]
        for said, gone, new in ((now.said.tokens, now.gone, now.new) for now in (first, second))
        if gone is not None
    ]
    return changes[0] == changes[1] and not _without(second.said.tokens, parse_statement(one).tokens)


def restates_change(one: str, other: str) -> bool:
    """Return whether both name the same value as gone and give the same one, and one has no word beyond the other's.

    >>> restates_change("The fair is on 12 December, not the 5th.", "It's the fair on 12 Dec, not on 5 December.")
    True
    """
    first, second = _newer_statement(one), _newer_statement(other)
    if first.gone is None or second.gone is None or not (first.gone.tokens and second.gone.tokens):
        return False
    if not _are_same_values(first.gone, second.gone) or first.said.negations % 2 != second.said.negations % 2:
        return False
    a, b = first.said, second.said
    if a.distinguishing_tokens != b.distinguishing_tokens:
        return False
    mine, theirs = ({t.key for t in said.tokens if not t.particular or t.kind == "name"} for said in (a, b))
    mine, theirs = mine - _SAID_AGAIN, theirs - _SAID_AGAIN
    return bool(mine and theirs) and (mine <= theirs or theirs <= mine)


def _are_same_values(a: Statement, b: Statement) -> bool:
    """Return whether both name the same values. A day of the month may stand without its month."""
    mine, theirs = sorted(a.keys), sorted(b.keys)
    return len(mine) == len(theirs) and all(
        one == other or (one.startswith("date:") and one.rpartition("-")[2] == other.rpartition("-")[2]
                         and (one.startswith("date:--") or other.startswith("date:--")))
        for one, other in zip(mine, theirs, strict=True)
    )  # fmt: skip


def _shares_only_values(a: Statement, b: Statement) -> bool:
    """Return whether one of both has Chinese words and the other none, and they share numbers and days alone."""
    if any(t.kind == "han" for t in a.tokens) == any(t.kind == "han" for t in b.tokens):
        return False
    return not {t.key for t in a.tokens if not t.particular or t.kind == "name"} & set(b.keys)


def named_change(text: str) -> tuple[Statement, Statement] | None:
    """Return the value that *text* says is gone, and what it says instead: the new value or all of its other words.

    >>> gone, said = named_change("The visit is at 9:45, not 9:15.") or ((), ())
    >>> gone.keys, said.keys
    (('time:9:15',), ('visit', 'time:9:45'))
    """
    now = _newer_statement(text)
    return None if now.gone is None or not now.gone.tokens else (now.gone, now.new or now.said)


def _by_rules(
    older: str, newer: str, a: Statement, b: Statement, *, cosine: float | None, lasting: bool, apart: bool
) -> Relation:
    """Return the relation by the precise rules alone."""
    was, now = parse_statement(_bare(older)), _newer_statement(newer)
    if a.keys != b.keys:
        held = _newer_statement(older).said
        for whole in dict.fromkeys((was, parse_statement(without_lead(older)))):
            gone = _named(whole, now, held if _newer_statement(older).gone else whole)
            if gone is not None:
                return gone
    if now.gone is None or a.keys == b.keys:  # what names something gone says another thing in another order
        same = _same(a, b, cosine)
        if same is None and (_LEAD.match(a.text) or _LEAD.match(b.text)):
            same = _same(parse_statement(without_lead(older)), parse_statement(without_lead(newer)), None)
        if same is not None:
            return same
    for held in (was, _newer_statement(older).said) if apart or now.cue else ():
        changed = _changed(held, now, lasting=lasting)
        if changed is not None:
            return changed
    return Relation(kind="different", reason="no rule says more")


def _by_model(older: str, newer: str, features: PairFeatures, *, lasting: bool, apart: bool) -> Relation:
    """Return the relation by the learned weights, where no rule says more."""
    kept = keeps_older(features)
    scores = score_pair(features)
    says_so = is_change(features)
    holds = lasting or features["lasting both"]
    a, b = parse_statement(older), parse_statement(newer)
    restated = scores.same >= _MAY_BE_SAME and _alike(a, b)
    least = _REPLACED_SLOT if features["change in one slot"] >= _WHOLE_FRAME else _REPLACED
    kept = kept or ("it gives the same values" if restates(older, newer, features) else "")
    if not kept and not restated and scores.replaced >= least and (says_so or (apart and holds)):
        return Relation(kind="replaced", reason=SAID_CHANGE if says_so else _LEARNED)
    comparable = min(a.weight, b.weight) >= _LEAST_TOLD and _alike(a, b) and not _turned(a, b)
    if comparable and scores.same >= _SAME and not are_apart(features):
        back = compare(newer, older)
        if score_pair(back).same >= _SAME and not are_apart(back):
            return Relation(kind="same", reason="the same in other words")
    return Relation(kind="different", reason=kept or "no rule says more")


def _same(a: Statement, b: Statement, cosine: float | None) -> Relation | None:
    """Return a relation if both say the same."""
    if not a.tokens or not b.tokens or not _alike(a, b):
        return None
    if a.keys == b.keys:
        least = 2 if any(token.kind == "han" for token in a.tokens) else _LEAST_SAID
        told = a.weight >= least or identity_key(a.text) == identity_key(b.text)
        return Relation(kind="same", reason="the same words") if told else None
    mine, other = _without(a.tokens, b.tokens), _without(b.tokens, a.tokens)
    if not mine and not other:
        ordered = a.directions != b.directions or a.chinese or len(a.tokens) < _LEAST_BAG
        return None if ordered else Relation(kind="same", reason="the same words")
    if a.chinese or b.chinese:
        return None
    if cosine is None or cosine < SAME_COSINE or _opposed(mine, other) or a.opener != b.opener != "" != a.opener:
        return None
    shared = a.weight - _weight(mine)
    if shared < SAME_WORDS * (shared + _weight(mine) + _weight(other)):
        return None
    if _is_slot(mine, other, shared) or _adds(mine, other, shared):
        return None
    return Relation(kind="same", reason="the same in other words")


def _alike(a: Statement, b: Statement) -> bool:
    """Return whether both agree in every number, day, name, negation and direction."""
    named = a.names(b.names()) == b.names(a.names())
    named &= not any(_points_elsewhere(word, a, b) for word in {word for word, _ in a.directions} - _INFINITIVE)
    return named and a.negations % 2 == b.negations % 2 and a.distinguishing_tokens == b.distinguishing_tokens


def _turned(a: Statement, b: Statement) -> bool:
    """Return whether both have a word of order ("先 ... 再") and their common words in another order."""
    if not (_ORDER.search(a.text) and _ORDER.search(b.text)):
        return False
    common = set(a.keys) & set(b.keys)
    return [key for key in a.keys if key in common] != [key for key in b.keys if key in common]


def _points_elsewhere(word: str, a: Statement, b: Statement) -> bool:
    """Return whether *word* stands in both and never before the same word."""
    mine, other = ({target for at, target in said.directions if at == word} for said in (a, b))
    return bool(other) and not mine & other


def _named(was: Statement, now: _NewerStatement, held: Statement) -> Relation | None:
    """Return a relation if the newer statement names what it replaces, and the older one says just that.

    *held* is the older statement without the value that it says was gone, which both agree about.
    """
    if now.gone is None or not now.gone.tokens:
        return None
    if not _covers(held.tokens, now.gone.tokens):
        return None
    rest = _without(was.tokens, now.gone.tokens)
    fresh = now.new.tokens if now.new else _last(now.said.tokens, now.gone.tokens)
    frame = _without(now.said.tokens, fresh)
    if not frame:
        # "switch from A to B" without saying for what: only a statement that is about little else.
        return Relation(kind="replaced", reason=_NAMES_REPLACED) if _weight(rest) <= 1 else None
    shared = _weight(frame) - _weight(_without(frame, rest))
    other = _without(frame, rest)
    if shared < 1 or shared < _NAMED_FRAME * _weight(frame):
        return None
    if min(_weight(other), _weight(_without(rest, frame))) >= 1:
        return None  # each speaks of something that the other does not
    return Relation(kind="replaced", reason=_NAMES_REPLACED)


def _changed(was: Statement, now: _NewerStatement, *, lasting: bool) -> Relation | None:
    """Return a relation if the newer statement changes one value of the older one or denies it."""
    if now.gone is not None:
        return None
    mine, other = _without(was.tokens, now.said.tokens), _without(now.said.tokens, was.tokens)
    shared = was.weight - _weight(mine)
    least = min(was.weight, now.said.weight)
    if now.ends and shared >= 1 and not other:
        return Relation(kind="replaced", reason=_ENDS)
    slot = len(mine) == len(other) == 1 and (mine[0].particular or _opposed(mine, other))
    if shared < 1 or (shared < 2 and not now.cue and not slot and not _names(_without(was.tokens, mine))):
        return None
    if was.negations % 2 != now.said.negations % 2:
        turned = not other and (not mine or now.cue) and (lasting or now.cue)
        return Relation(kind="replaced", reason=_DENIES) if turned else None
    if not mine or not other or shared < _FRAME * (least - min(_weight(mine), _weight(other))):
        return None
    if not now.cue and (_DEICTIC.search(was.text) or _DEICTIC.search(now.said.text)):
        return None
    if not now.cue and (_PAST.search(was.text) or _PAST.search(now.said.text)):
        return None
    return _one_value(was, now, mine, other, lasting=lasting)


def _one_value(
    was: Statement, now: _NewerStatement, mine: Sequence[Token], other: Sequence[Token], *, lasting: bool
) -> Relation | None:
    """Return a relation if exactly one value stands in the place of another."""
    holds = lasting or (_COPULA.search(was.text) is not None and _COPULA.search(now.said.text) is not None)
    if not (holds or now.cue):
        return None
    if _opposed(mine, other) and len(mine) == len(other) == 1:
        return Relation(kind="replaced", reason="says the opposite")
    kinds = {token.kind for token in (*mine, *other)}
    if len(mine) == len(other) == 1 and len(kinds) == 1 and mine[0].particular:
        unit = _unit(mine[0]) == _unit(other[0])
        if unit and _is_value(was, mine[0]) and _is_value(now.said, other[0]):
            return Relation(kind="replaced", reason=f"another {mine[0].kind}")
        return None
    slot = _weight(mine) <= 2 and _weight(other) <= 2 and not (_names(mine) or _names(other))
    if now.cue and slot and _in_one_place(mine) and _in_one_place(other) and _same_place(was, mine, now.said, other):
        return Relation(kind="replaced", reason="another value, with words that say so")
    return None


@lru_cache(maxsize=4096)
def _newer_statement(text: str) -> _NewerStatement:
    bare = _bare(text)
    cue, ends = _CUE.search(bare) is not None, _NO_LONGER.search(bare) is not None
    for pattern in _GONE:
        match = pattern.search(bare)
        if match is None:
            continue
        groups = match.groupdict()
        new = groups.get("new") or ""
        frame = groups.get("frame") or ""
        rest = f"{bare[: match.start()]} {frame} {new} {bare[match.end() :]}"
        return _NewerStatement(
            said=parse_statement(rest),
            gone=parse_statement(groups["gone"]),
            new=parse_statement(new) if new else None,
            cue=True,
            ends=ends,
        )
    return _NewerStatement(said=parse_statement(bare), gone=None, new=None, cue=cue, ends=ends)


@lru_cache(maxsize=4096)
def _bare(text: str) -> str:
    """Return *text* normalised, without an opening "no" and without its reasons."""
    return _REASON.sub("", without_lead(text))


def without_lead(text: str) -> str:
    """Return *text* normalised, without an opening "no". What follows from it ("so we stay with X") is still there."""
    return _LEAD.sub("", parse_statement(text).text)


def _without(tokens: Sequence[Token], others: Iterable[Token]) -> tuple[Token, ...]:
    """Return *tokens* without as many of each key as *others* have."""
    left = Counter(token.key for token in others)
    kept = []
    for token in tokens:
        if left[token.key] > 0:
            left[token.key] -= 1
        else:
            kept.append(token)
    return tuple(kept)


def _covers(tokens: Sequence[Token], target: Sequence[Token]) -> bool:
    """Return whether *tokens* hold all distinguishing tokens of *target* and most of its weight."""
    missing = _without(target, tokens)
    return not any(token.particular for token in missing) and _weight(missing) <= 0.34 * _weight(target)


def _last(tokens: Sequence[Token], gone: Sequence[Token]) -> tuple[Token, ...]:
    """Return the last tokens of the kinds of *gone*, or else as many from the end as *gone* has."""
    kinds = {token.kind for token in gone if token.particular}
    alike = [token for token in tokens if token.kind in kinds]
    return tuple(alike[-len(gone) :]) if alike else tuple(tokens[-len(gone) :])


def _weight(tokens: Iterable[Token]) -> float:
    return sum(token.weight for token in tokens)


def _names(tokens: Iterable[Token]) -> bool:
    return any(token.kind == "name" for token in tokens)


def _opposed(mine: Sequence[Token], other: Sequence[Token]) -> bool:
    return any(are_opposites(a.key, b.key) for a in mine for b in other) or are_opposites(_joined(mine), _joined(other))


def _joined(tokens: Sequence[Token]) -> str:
    return "".join(token.key for token in tokens if token.kind == "han")


def _is_slot(mine: Sequence[Token], other: Sequence[Token], shared: float) -> bool:
    """Return whether both are one sentence with another word in one place, which makes another statement."""
    return 0 < _weight(mine) <= 1 and 0 < _weight(other) <= 1 and shared >= 1


def _adds(mine: Sequence[Token], other: Sequence[Token], shared: float) -> bool:
    """Return whether one says all that the other says and more. A word or two in a long sentence may be style."""
    extra = _weight((*mine, *other))
    return (not mine or not other) and extra > _STYLE * shared


def _unit(token: Token) -> str:
    """Return the unit of a number, or the kind of another value."""
    return re.sub(r"[-+]?[\d.,]+", "#", token.key) if token.kind == "number" else token.kind


def _is_value(said: Statement, token: Token) -> bool:
    """Return whether the token is said of the statement's subject and is not part of the subject."""
    before, after = said.text[: token.start], said.text[token.end :]
    if token.kind == "label":
        return False
    if said.tokens and said.tokens[0] is token and token.kind in {"name", "period"}:
        return False
    if token.kind in {"name", "period", "date"}:
        verb = _COPULA.search(after)
        return _BEHIND.search(before) is not None and verb is None
    return True


def _in_one_place(tokens: Sequence[Token]) -> bool:
    return all(b.start - a.end <= 1 for a, b in pairwise(tokens))


def _same_place(was: Statement, mine: Sequence[Token], now: Statement, other: Sequence[Token]) -> bool:
    """Return whether both slots follow the same word."""
    return _before(was, mine[0]) == _before(now, other[0])


def _before(said: Statement, token: Token) -> str:
    at = said.tokens.index(token)
    return said.tokens[at - 1].key if at else ""
