"""Features of two statements about what may be one thing: what they share, what differs, and how the newer one speaks.

The features are numbers between -1 and about 3, in the order of :data:`FEATURES`. ``pair_model``
weighs them. Nothing here decides anything, and no single word does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

from guard.lazy_regex import lazy_regex

from ..statement_parser import Statement, Token, have_opposites, parse_statement

__all__ = ["FEATURES", "MAX_CHARS", "PairFeatures", "compare", "relative_spans", "word_weight"]

#: Only the beginning of a longer statement is compared.
MAX_CHARS = 600
#: Weights of words by how rare they are in conversations. A word that is not in the table weighs most.
_RAREST = 8.0
_RAREST_HAN = 6.5

_WHEN = frozenset({"day", "date", "time", "period"})


def _pattern(*parts: str) -> re.Pattern[str]:
    return lazy_regex("|".join(parts), re.IGNORECASE)


#: Groups of words that say how a statement speaks. Each is one feature of many.
_CUES: Mapping[str, re.Pattern[str]] = {
    "now": _pattern(
        r"\b(?:now|nowadays|these days|from (?:now|here) on|going forward|since|finally|starting|as of|so far)\b",
        r"现在|如今|以后|今后|从.{1,6}起|这学期|今年|已经|最近|往后|起",
    ),
    "turn": _pattern(
        r"\b(?:actually|turns? out|change of plans?|changed (?:our|my|his|her|their) minds?|scratch|forget|correction|"
        r"after all|called|says?|came back|on second thought|never ?mind|ended up|sorry|wait|update|no,)\b",
        r"其实|改主意|更正|还是|算了|又说|通知|说错|不对|决定",
    ),
    "change": _pattern(
        r"\b(?:mov(?:ed|es|ing)|switch\w*|chang(?:e|ed|es|ing)|shift\w*|push(?:ed|es)|postpon\w*|delay\w*|slip(?:s|ped)|"
        r"rais(?:e|ed)|rise|upp?ed|increas\w*|lower\w*|reduc\w*|cut|extend\w*|shorten\w*|renam\w*|renew\w*|replac\w*|"
        r"swap\w*|migrat\w*|bump\w*|went (?:up|down|with)|go(?:ing)? with|became|become|turned|convert\w*|"
        r"resched\w*|brought forward|upgrad\w*|downgrad\w*|(?<!need )(?<!needs )new|"
        r"make (?:it|that)|back to|over to|instead)\b",
        r"改|换|搬|挪|推[迟到]|调[整到成]|延[到期后]|提前|加到|升|降|减|转[到成学]|迁|涨|变|定[了成在为]|成了|让",
    ),
    "left": _pattern(
        r"\b(?:left|sold|quit|gone|cancel\w*|dropp?\w*|stopp?ed|stop|gave up|given up|ditch\w*|retired?|no more|"
        r"any ?more|any longer|no longer|never again|(?:is|are|was|'s) (?:out|over)|expired|moved out)\b",
        r"不再|卖了|退了|取消|停[了用]|辞|调走|不管|离开|戒|别.{0,8}了|不.{1,8}了|没.{1,4}了",
    ),
    "added": _pattern(
        r"\b(?:also|too|as well|either|another|besides|plus|additionally|in addition|and then|more)\b|\+",
        r"还[要有是负会得对需在]|也|另外|再加|同时|并且|此外|以及",
    ),
    "asked": _pattern(
        r"\?\s*$",
        r"^(?:should|would|could|can|do|does|did|is|are|was|what|which|who|when|where|why|how|shall|will)\b",
        r"[吗呢]\s*[??。]?$|要不要|是不是|会不会|能不能|有没有|为什么|怎么",
    ),
    "supposed": _pattern(
        r"\b(?:if|maybe|perhaps|might|would|could|wonder\w*|suppose|considering|thinking (?:about|of)|wish|imagine|"
        r"what if|let me think|not sure|probably|hop(?:e|ing))\b",
        r"如果|要是|假如|可能|也许|考虑|会不会|想想|说不定|大概|万一|希望|可以考虑",
    ),
    "event": _pattern(
        r"\b(?:today|yesterday|tonight|last (?:week|month|night|year|time|summer|winter)|this (?:morning|"
        r"afternoon|month|sprint|quarter|"
        r"evening|week|time|once)|ago|once|back in|as a kid|the other day|just (?:this|for)|for once|just now)\b",
        r"今天|昨[天晚]|今早|今晚|上[周次个]|去年|前[天几]|这[次回]|[本这][周月季年]|刚才|刚刚|那次|小时候|以前|一度|临时",
    ),
    "past": _pattern(
        r"\b(?:was|were|had|did|went|saw|met|ran|took|made|got|came|said|told|failed|broke|stayed|finished|quoted|"
        r"skipped|helped|bought|ate|found|lost|woke|came)\b",
        r"[\u4e00-\u9fff]过|了[\d一二三四五六七八九十两]|才|了[。.!]?$",
    ),
    "lasting": _pattern(
        r"\b(?:is|are|am|'s|'m|'re|every|always|usually|each|never|only|by default|lives?|works?|runs?|prefer\w*|"
        r"please|should|must)\b",
        r"是|每|总|一律|默认|统一|只|请|都|住|由|用",
    ),
    "reason": _pattern(
        r"\b(?:because|since|so that|as|due to|since|otherwise|wasn't|too)\b", r"因为|由于|太|不够|以便|否则"
    ),
    "mistaken": _pattern(
        r"\b(?:i was wrong|was wrong|mixed (?:it |that )?up|misheard|misread|misremember\w*|rumou?r|nothing to do with|"
        r"scratch that|forget what|my mistake|never happened|false alarm|turns out)\b",
        r"[说记听看搞弄]错|误会|误传|没关系|没这回事|刚才说|虚惊",
    ),
    "open": _pattern(
        r"\b(?:to-?do|still (?:have|need)|(?:have|need|got) to|waiting|remind|don't forget|before (?:mon|tues|wednes|"
        r"thurs|fri|satur|sun)day|pending)\b",
        r"还[要没得]|待办|要给|等着?(?=[\u4e00-\u9fff]{2})|别忘|记得|没[修做发写交办]",
    ),
    "told": _pattern(
        r"^(?:we|i|they|she|he|the \w+) (?:\w+ly )?(?!need|embed|exceed|(?:decid|agre|resolv|conclud|settl)ed\b)"
        r"(?:\w{2,}ed|won|lost|sold|bought|ran|went|met|saw|made|had|did|got|found|took|wrote|fixed|broke|ate)\b",
        r"[了过]\s*[\d两二三四五六七八九十]+[次个台本家条份场]",
    ),
    "story": _pattern(
        r"\b(?:book|novel|film|movie|episode|dream(?:t|ed)?|story|joke)\b", r"小说|电影|梦见|据说|听说|剧里"
    ),
}
_NEW_THING = lazy_regex(r"\bnew [a-z][\w-]*", re.IGNORECASE)
#: Words behind which a value stands that no longer holds.
_GONE = lazy_regex(
    r"(?:\b(?:instead of|rather than|in place of|no longer|not(?! only| just| yet| sure)|no more|forget(?: the)?|"
    r"replac\w+|goodbye(?: to)?|stop(?:ped)? being|stop(?:ped)?|stop using|left|sold|quit|drop(?:ped)?|ditch(?:ed)?|"
    r"cancel(?:led|ed)?|isn't|aren't|wasn't|don't|doesn't|didn't|won't|from(?= [^,;.]{1,40} to )|nobody says|"
    r"used to be|formerly|previously|moved out of)\s+"
    r"(?P<behind>(?:(?!\b(?:but|and|so|because|to|into|it's|we|i)\b)[^,;.。!?]){1,60}))"
    r"|(?:\b(?P<before>(?:[\w'%€£$.:-]+\s){1,4})(?:(?:any ?more|any longer|is (?:out|gone|off|over|dead|full)|"
    r"(?:is|was) cancelled|was (?:too|not|full|booked)|wasn't|isn't|got too|"
    r"fell through|is too|went to|left|moved on|has gone)\b))"
    r"|(?:(?:不再|不是|不用|不要|不去|不住|不在|不走|不吃|不喝|不坐|而不是|而非|别再|用不着|别用|别叫|别发|别|不|没|取代|代替|替代|退掉|取消|"
    r"停用|卖了|戒|离开|放弃|原来|原先|本来)(?P<han>[^,;。!?,]{1,16}?)(?=了|[,;。!?,]|改|换|挪|推|调|迁|$))"
    r"|[从把由](?P<hanfrom>[^,;。!?,]{1,16}?)(?=改|换|挪|推迟|提前|调|迁|升|降|变|转)"
    r"|(?P<hanbefore>[^,;。!?,]{1,10})(?:卖了|退了|太短|太少|太小|太贵|太长|不够|不行|取消了?|停了|调走了|离职了|坐不下|不管了|满了)",
    re.IGNORECASE,
)
#: People other than the speaker, by the word for their part.
_KIN = lazy_regex(
    r"\b(?:mum|mom|mother|dad|father|son|daughter|sister|brother|wife|husband|partner|girlfriend|boyfriend|ex|fiancee?|"
    r"uncle|aunt|cousin|niece|nephew|grandma|grandpa|grandmother|grandfather|kids?|neighbou?r|roommate|flatmate|boss|"
    r"colleague|friend|landlord|team|client|customer|dog|cat|in-laws?|parents)\b"
    r"|妈妈?|爸爸?|儿子|女儿|妹妹?|姐姐?|弟弟?|哥哥?|老婆|老公|妻子|丈夫|爱人|男朋友|女朋友|男友|女友|侄[女子]|外甥女?|奶奶|爷爷|外婆|外公|"
    r"姥姥|姥爷|叔叔|阿姨|舅舅|姑姑|表[哥姐弟妹]|邻居|室友|同事|老板|房东|朋友|孩子|[狗猫]|岳[父母]|公公|婆婆|客户",
    re.IGNORECASE,
)
_KIN_NAMES = {"mom": "mum", "mother": "mum", "father": "dad", "妈": "妈妈", "爸": "爸爸", "女友": "女朋友"}
_FIRST_PERSON = lazy_regex(r"\b(?:i|i'm|i've|my|me|mine)\b|我(?!们|[爸妈弟妹哥姐老])", re.IGNORECASE)
_CLAUSE_END = lazy_regex(
    r"[,;:!?。、]\s*|(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bProf)(?<!\bSt)\.(?:\s+|$)|\s[-–—]\s"
)


def _cue_names() -> tuple[str, ...]:
    return tuple(f"{name} {side}" for name in _CUES for side in ("newer", "older"))


#: Names of the features of a pair, in order.
FEATURES: tuple[str, ...] = (
    "share of lighter", "share of older", "share of newer", "shared weight", "only older", "only newer",
    "nothing left of older", "nothing left of newer", "gone value is older", "gone value is not older",
    "another value gone", "gone frame", "number changed", "unit changed", "label changed", "when changed",
    "name changed", "opposites", "opposite thing", "polarity differs", "particular only older",
    "particular only newer", "same particular", "name at head differs", "head shared", "heads differ",
    "first newer shared", "kin differs", "kin added", "kin lost", "self differs", "run of change", "values",
    "plain only older", "plain only newer", "runs older", "runs newer", "same place", "pairs shared",
    "values and plain older", "values and plain newer", "values and heads differ", "cue and shared",
    "cue and value newer", "polarity and mistaken", "cue and values", "cue and gone", "lasting both", "length",
    "newer much longer", "clauses newer", "chinese", "main share of older", "main share of newer",
    "main only older", "main only newer", "main values", "main value added", "main value lost", "main runs older",
    "main runs newer", "main one slot", "main one value", "both said else", "aside", "aside and fresh",
    "aside and gone",
    "change in one slot", *_cue_names(),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFeatures:
    """The *values* of :data:`FEATURES`, and what the vetoes of the model read by name."""

    values: tuple[float, ...]

    def __getitem__(self, name: str) -> float:
        return self.values[_places()[name]]


@cache
def _places() -> Mapping[str, int]:
    return {name: place for place, name in enumerate(FEATURES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One statement of a pair, read once."""

    said: Statement
    cues: Mapping[str, bool]
    gone: tuple[Token, ...]
    kin: frozenset[str]
    self_told: bool
    clauses: tuple[tuple[Token, ...], ...]


def compare(older: str, newer: str) -> PairFeatures:
    """Return the features of the text *newer* beside the text *older*."""
    was, now = _with_one_spelling(_side(older), _side(newer))
    now = _without_known_news(was, now)
    mine, other = _left(was.said.tokens, now.said.tokens), _left(now.said.tokens, was.said.tokens)
    unsaid = _left(now.said.tokens, _left(was.said.tokens, was.gone))
    total, new_total = _sum(was.said.tokens), _sum(now.said.tokens)
    rest, new_rest = _sum(mine), _sum(other)
    shared = min(total - rest, new_total - new_rest)
    lighter = min(total, new_total)
    found: dict[str, float] = {
        "share of lighter": _ratio(shared, lighter),
        "share of older": _ratio(shared, total),
        "share of newer": _ratio(shared, new_total),
        "shared weight": min(3.0, shared),
        "only older": min(3.0, rest),
        "only newer": min(3.0, new_rest),
        "nothing left of older": float(not any(map(_says, mine))),
        "nothing left of newer": float(not any(map(_says, unsaid))),
        "length": min(2.0, lighter / 4),
        "newer much longer": float(new_total > 2 * total),
        "clauses newer": min(3, len(now.clauses)) / 3,
        "chinese": float(was.said.chinese or now.said.chinese),
    }
    found |= _gone_features(was, now)
    found |= _value_features(mine, other, was.said, now.said)
    found |= _head_features(was, now)
    found |= _main_features(was, now, found["gone value is older"])
    changing = any(now.cues[name] for name in ("now", "turn", "change", "left"))
    values = found["values"]
    found["cue and values"] = float(changing) * values
    found["gone and rest of older"] = found["gone value is older"] * found["only older"]
    found["gone and rest of newer"] = found["gone value is older"] * found["plain only newer"]
    found["gone and heads differ"] = found["gone value is older"] * found["heads differ"]
    found["values and plain older"] = min(1.0, values) * found["plain only older"]
    found["values and plain newer"] = min(1.0, values) * found["plain only newer"]
    found["values and heads differ"] = min(1.0, values) * found["heads differ"]
    found["cue and shared"] = float(changing) * found["share of lighter"]
    found["cue and value newer"] = float(changing) * float(any(token.particular for token in other))
    found["polarity and mistaken"] = float(now.cues["mistaken"]) * found["polarity differs"]
    moved = now.cues["change"] or now.cues["left"] or now.cues["now"]
    found["change in one slot"] = float(moved) * found["main one slot"] * found["main share of older"]
    found["cue and gone"] = float(changing) * found["gone value is older"]
    found["lasting both"] = float(was.cues["lasting"] and now.cues["lasting"])
    found |= {f"{name} newer": float(there) for name, there in now.cues.items()}
    found |= {f"{name} older": float(there) for name, there in was.cues.items()}
    return PairFeatures(values=tuple(found[name] for name in FEATURES))


def _gone_features(was: _Side, now: _Side) -> dict[str, float]:
    """Return whether the value that the newer statement calls gone is the older one's, and who else speaks of it."""
    weight = _sum(now.gone)
    held = weight - _sum(_left(now.gone, was.said.tokens))
    is_older = _ratio(held, weight) if weight >= 0.3 else 0.0
    frame = _left(now.said.tokens, now.gone)
    known = _left(now.gone, _left(now.gone, was.said.tokens))
    shared_frame = _sum(frame) - _sum(_left(frame, was.said.tokens))
    return {
        "gone value is older": is_older,
        "gone value is not older": float(weight >= 0.5 and is_older < 0.34),
        "another value gone": float(
            any(token.particular for token in now.gone) and not any(token.particular for token in known)
        ),
        "gone frame": min(2.0, shared_frame) * (is_older > 0.34),
    }


def _value_features(mine: Sequence[Token], other: Sequence[Token], was: Statement, now: Statement) -> dict[str, float]:
    """Return by which kinds of value the statements differ."""
    numbers, new_numbers = _of(mine, "number"), _of(other, "number")
    units, new_units = {_unit(token) for token in numbers}, {_unit(token) for token in new_numbers}
    fits = bool(numbers and new_numbers) and (bool(units & new_units) or "#" in units | new_units)
    when, new_when = _of(mine, *_WHEN), _of(other, *_WHEN)
    names, new_names = _of(mine, "name"), _of(other, "name")
    turned = have_opposites({token.key for token in mine}, {token.key for token in other})
    opposed = turned and not (fits or (when and new_when) or (names and new_names))
    same = {token.key for token in was.tokens if token.particular} & {token.key for token in now.tokens}
    found = {
        "number changed": float(fits),
        "unit changed": float(bool(numbers and new_numbers) and not fits),
        "label changed": float(bool(_of(mine, "label") and _of(other, "label"))),
        "when changed": float(bool(when and new_when)),
        "name changed": float(bool(names and new_names)),
        "opposites": float(opposed),
        "opposite thing": float(turned and not opposed),
        "polarity differs": float(was.negations % 2 != now.negations % 2),
        "same particular": min(2.0, len(same)),
    }
    kinds = {_kind(token) for token in mine if token.particular}
    new_kinds = {_kind(token) for token in other if token.particular}
    found["particular only older"] = float(bool(kinds - new_kinds))
    found["particular only newer"] = float(bool(new_kinds - kinds))
    found["values"] = min(
        2.0, found["number changed"] + found["when changed"] + found["name changed"] + found["opposites"]
    )
    runs, new_runs = _runs(mine), _runs(other)
    found["run of change"] = float(runs == 1 and new_runs == 1)
    found["runs older"], found["runs newer"] = min(3, runs) / 3, min(3, new_runs) / 3
    found["plain only older"] = min(3.0, _sum(token for token in mine if not token.particular))
    found["plain only newer"] = min(3.0, _sum(token for token in other if not token.particular))
    places, new_places = _neighbours(was, mine), _neighbours(now, other)
    found["same place"] = float(bool(places & new_places))
    pairs, new_pairs = _pairs(was), _pairs(now)
    found["pairs shared"] = _ratio(len(pairs & new_pairs), min(len(pairs), len(new_pairs)))
    return found


def _main_features(was: _Side, now: _Side, gone: float) -> dict[str, float]:
    """Compare the older statement with the one clause of the newer that speaks of it, without its reasons.

    *aside* is what the older statement says and another clause of the newer one takes up ("..., Nora has left").
    """
    main: tuple[Token, ...] = ()
    best = -1.0
    for clause in now.clauses:
        shared = _sum(clause) - _sum(_left(clause, was.said.tokens))
        fresh = any(token.particular for token in _left(clause, was.said.tokens))
        if shared + 0.3 * fresh > best:
            main, best = clause, shared + 0.3 * fresh
    mine, other = _left(was.said.tokens, main), _left(main, was.said.tokens)
    elsewhere = [token for clause in now.clauses if clause is not main for token in clause]
    aside = _sum(mine) - _sum(_left(mine, elsewhere))
    total = _sum(was.said.tokens)
    kinds, new_kinds = ({_kind(token) for token in tokens if token.particular} for tokens in (mine, other))
    shared = total - _sum(mine)
    plain, new_plain = ([token for token in tokens if not token.particular] for tokens in (mine, other))
    aside_only = min(1.0, aside) if now.clauses and shared > 0.4 else 0.0
    return {
        "main share of older": _ratio(shared, total),
        "main share of newer": _ratio(shared, _sum(main)),
        "main only older": min(3.0, _sum(mine)),
        "main only newer": min(3.0, _sum(other)),
        "main values": float(len(kinds & new_kinds)),
        "main value added": float(bool(new_kinds - kinds)),
        "main value lost": float(bool(kinds - new_kinds)),
        "main runs older": min(3, _runs(mine)) / 3,
        "main runs newer": min(3, _runs(other)) / 3,
        "main one slot": float(_runs(mine) == 1 and _runs(other) == 1),
        "main one value": float(_runs(mine) == 1 and _runs(other) == 1 and len(kinds & new_kinds) == 1),
        "both said else": gone * min(1.0, _sum(plain), _sum(new_plain)),
        "aside": aside_only,
        "aside and fresh": aside_only * float(any(_says(token) for token in other)),
        "aside and gone": aside_only * gone,
    }


def _clauses(said: Statement) -> tuple[tuple[Token, ...], ...]:
    """Return the tokens of each clause that has any."""
    ends = [match.start() for match in _CLAUSE_END.finditer(said.text)]
    found: list[list[Token]] = [[]]
    place = 0
    for token in said.tokens:
        while place < len(ends) and ends[place] < token.start:
            place += 1
            found.append([])
        found[-1].append(token)
    return tuple(tuple(clause) for clause in found if clause)


def _says(token: Token) -> bool:
    """Return whether a token is more than a word of change."""
    return token.particular or token.key not in _change_words()


def _neighbours(said: Statement, tokens: Sequence[Token]) -> set[str]:
    """Return the words beside the tokens, each with the side on which it stands."""
    places = {token.start: place for place, token in enumerate(said.tokens)}
    found = set()
    for token in tokens:
        place = places[token.start]
        if place:
            found.add(f"{said.tokens[place - 1].key}<")
        if place + 1 < len(said.tokens):
            found.add(f">{said.tokens[place + 1].key}")
    return found


def _pairs(said: Statement) -> set[str]:
    """Return the neighbouring words, or neighbouring Chinese characters, of a statement."""
    return {
        a.key + " " + b.key for a, b in pairwise(said.tokens) if a.kind != "han" or b.kind != "han" or a.end == b.start
    }


def _head_features(was: _Side, now: _Side) -> dict[str, float]:
    """Return whether both begin with the same thing or person."""
    head, new_head = _head(was.said), _head(now.said)
    old_keys, new_keys = {token.key for token in was.said.tokens}, {token.key for token in now.said.tokens}
    lost, gained = was.kin - now.kin, now.kin - was.kin
    head_names = [token for token in (head, new_head) if token and token.kind == "name"]
    return {
        "name at head differs": float(len(head_names) == 2 and head_names[0].key != head_names[1].key),
        "head shared": float(head is not None and head.key in new_keys),
        "heads differ": float(
            head is not None and new_head is not None and head.key not in new_keys and new_head.key not in old_keys
        ),
        "first newer shared": float(new_head is not None and new_head.key in old_keys),
        "kin differs": float(bool(lost and gained)),
        "kin added": float(bool(gained and not lost)),
        "kin lost": float(bool(lost and not gained)),
        "self differs": float(was.self_told != now.self_told and bool(gained)),
    }


@lru_cache(maxsize=4096)
def _side(text: str) -> _Side:
    said = parse_statement(text[:MAX_CHARS])
    plain = said.text
    gone: list[Token] = []
    for match in _GONE.finditer(plain):
        name = next(name for name, value in match.groupdict().items() if value is not None)
        start, end = match.span(name)
        gone += [token for token in said.tokens if start <= token.start < end]
    return _Side(
        said=said,
        cues={name: pattern.search(plain) is not None for name, pattern in _CUES.items()},
        gone=tuple(dict.fromkeys(gone)),
        kin=frozenset(_KIN_NAMES.get(word, word) for word in (found.group().lower() for found in _KIN.finditer(plain))),
        self_told=_FIRST_PERSON.search(plain) is not None,
        clauses=_clauses(said),
    )


def _without_known_news(was: _Side, now: _Side) -> _Side:
    """Return *now* without the cue of change that is only a new thing which *was* names as well: "the new kitchen"."""
    known = was.said.text.casefold()
    left = _NEW_THING.sub(lambda match: "" if match.group().casefold() in known else match.group(), now.said.text)
    if left == now.said.text or _CUES["change"].search(left):
        return now
    return replace(now, cues={**now.cues, "change": False})


def _with_one_spelling(was: _Side, now: _Side) -> tuple[_Side, _Side]:
    """Return both sides with a number without a unit spelled as the other side spells it ("90 days, not 30")."""
    bare, full = (
        {
            token.key
            for side in (was, now)
            for token in side.said.tokens
            if token.kind == "number" and plain == _is_bare(token)
        }
        for plain in (True, False)
    )
    if not bare or not full:
        return was, now
    units = {found.group(): key for key in sorted(full) if (found := re.match(r"number:[-+]?[\d.,]+", key))}
    spelled = {key: units[key] for key in bare if key in units}
    return (_respelled(was, spelled), _respelled(now, spelled)) if spelled else (was, now)


def _is_bare(token: Token) -> bool:
    return re.fullmatch(r"number:[-+]?[\d.,]+", token.key) is not None


def _respelled(side: _Side, spelled: Mapping[str, str]) -> _Side:
    def tokens(found: Iterable[Token]) -> tuple[Token, ...]:
        return tuple(replace(token, key=spelled.get(token.key, token.key)) for token in found)

    said = replace(side.said, tokens=tokens(side.said.tokens))
    return replace(side, said=said, gone=tokens(side.gone), clauses=tuple(tokens(clause) for clause in side.clauses))


def _left(tokens: Sequence[Token], others: Iterable[Token]) -> tuple[Token, ...]:
    """Return *tokens* without as many of each key as *others* have."""
    counts: dict[str, int] = {}
    for token in others:
        counts[token.key] = counts.get(token.key, 0) + 1
    if not counts:
        return tuple(tokens)
    kept = []
    for token in tokens:
        if counts.get(token.key, 0) > 0:
            counts[token.key] -= 1
        else:
            kept.append(token)
    return tuple(kept)


def _sum(tokens: Iterable[Token]) -> float:
    return sum(word_weight(token) for token in tokens)


def relative_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return where *text* names people by their part: "mum", "landlord", 女儿."""
    return tuple(match.span() for match in _KIN.finditer(text))


def word_weight(token: Token) -> float:
    """Return how much a token says, from 0 for a word of change to 1 for a rare word."""
    return _weight(token.kind, token.key) if token.kind in {"han", "word"} else 1.0


@lru_cache(maxsize=1 << 14)
def _weight(kind: str, key: str) -> float:
    if kind == "han":
        if key in _change_words():
            return 0.05
        return 0.5 * min(1.0, max(0.1, (_rarity().get(key, _RAREST_HAN) - 1.5) / 3.5))
    if key in _change_words():
        return 0.1
    return min(1.0, max(0.1, (_rarity().get(key, _RAREST) - 2.5) / 4))


@cache
def _change_words() -> frozenset[str]:
    text = files(__package__).joinpath("data/change_words.txt").read_text("utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


@cache
def _rarity() -> Mapping[str, float]:
    text = files(__package__).joinpath("data/word_rarity.txt").read_text("utf-8")
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {word: float(value) for value, *words in rows for word in words}


def _head(said: Statement) -> Token | None:
    """Return the first token that says something."""
    return next((token for token in said.tokens if word_weight(token) >= 0.3), None)


def _of(tokens: Iterable[Token], *kinds: str) -> list[Token]:
    return [token for token in tokens if token.kind in kinds]


def _kind(token: Token) -> str:
    return "when" if token.kind in _WHEN else token.kind


def _unit(token: Token) -> str:
    return re.sub(r"[-+]?[¥$€£]?[\d.,]+", "#", token.key.partition(":")[2])


def _runs(tokens: Sequence[Token]) -> int:
    """Return how many separate places of a statement the tokens that say something stand in."""
    heavy = [token for token in tokens if word_weight(token) >= 0.15]
    return sum(place == 0 or token.start - heavy[place - 1].end > 2 for place, token in enumerate(heavy))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
