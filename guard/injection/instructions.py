"""Detection of injected instructions: override, concealment, exfiltration, persistence, change of persona.

Patterns run on the lower-cased variants of ``guard.text.canonical``. They are therefore in lower case, without accents
and, in Cyrillic, with i for short i. *Hard* patterns have no place in a memory except in a quotation. *Soft* patterns
are ordinary among people and suspicious in text from a tool or the web. Instructions in other words are left to
``guard.injection.classifier``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from guard.match import Match, Strength
from guard.policy import RuleError
from guard.text.canonical import TextVariant
from guard.text.keywords import KeywordIndex
from guard.text.quotation import Quotations

__all__ = ["RULES", "InjectionRule", "find_injection"]

_MAX_MATCHES = 16
"""Matches reported per rule and text. One is enough to act, and a text of nothing but attacks stays cheap."""


@dataclass(frozen=True, slots=True)
class InjectionRule:
    """Pattern of one kind of instruction. It runs when one of *keywords*, separated by ``|``, is in the text."""

    name: str
    kind: str
    strength: Strength
    keywords: str
    pattern: str


def find_injection(variant: TextVariant, quotations: Quotations, *, soft: bool) -> Iterator[Match]:
    """Yield injected instructions in *variant*, with offsets into its source. Soft rules run only when *soft* is true.

    Raises:
        RuleError: a rule whose keyword occurs does not compile.
    """
    for number in _index().matching_rules(variant):
        rule = RULES[number]
        if rule.strength is Strength.SOFT and not soft:
            continue
        for count, match in enumerate(_compiled(rule.name, rule.pattern).finditer(variant.lowered)):
            if count == _MAX_MATCHES:
                break
            start, end = variant.span(*match.span())
            yield Match(
                layer="injection",
                rule=rule.name,
                kind=rule.kind,
                start=start,
                end=end,
                strength=rule.strength,
                quoted=quotations.covers(start, end),
            )


@cache
def _index() -> KeywordIndex:
    return KeywordIndex([rule.keywords.split("|") for rule in RULES])


@cache
def _compiled(name: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise RuleError(name, str(error)) from error


_GAP = r"[\s,;:*_\"'\]\[)(-]{1,6}"

# "ignore any of the previous", "disregard all prior": up to six qualifying words, one of which anchors the meaning.
_QUALIFIER = (
    r"(?:all|any|every|each|of|the|these|those|this|that|your|you|my|our|its|both|other|such|and|or|previous(?:ly)?"
    r"|prior|above|preceding|earlier|former|past|initial|original|existing|current|old|system|given|developer|safety"
    r"|standing|foregoing|aforementioned|before|next|following|entire|whole|complete|ethical|moral|provided|stated"
    r"|received|content|openai|policy)"
)
_ANCHOR = (
    r"(?:previous(?:ly)?|prior|above|preceding|earlier|former|foregoing|aforementioned|initial|original|past"
    r"|pre-?existing|system|developer|safety|content|openai|ethical)"
)
_IGNORE = (
    r"\b(?:ignor(?:e|es|ing)|disregard(?:ing|s)?|forget(?:ting|s)?|neglect|discard|dismiss"
    r"|pay no attention to|take no notice of"
    r"|(?:do not|don'?t|never|stop)"
    r" (?:follow(?:ing)?|obey(?:ing)?|adher(?:e|ing) to|listen(?:ing)? to|comply(?:ing)? with))"
)
_ORDERS = (
    r"(?:instruct\w{0,8}|prompts?|rules?|guidelines?|guidance|directives?|directions?|commands?|orders?|programming"
    r"|constraints?|restrictions?|training|guardrails?|inputs?)"
)
_ELSEWHERE = (
    r"(?! (?:found |contained |embedded |given |written |that )?(?:in|inside|within|from|come|appear|arrive)\b)"
)

_VALUABLES = (
    r"(?:api[ _-]?keys?|passwords?|passphrases?|credentials?|secrets?|tokens?|private keys?|ssh keys?|\.env"
    r"|access keys?|env(?:ironment)? var\w{0,6}|cookies|id_rsa|conversation (?:history|log))"
)
_TARGET = (
    r"(?:https?://|[\w.+-]{1,64}@|\b(?:attacker|pastebin|webhook|ngrok|my server"
    r"|external (?:server|url|endpoint|address)|this (?:url|address|e?mail|endpoint|server)))"
)
_ZH_ORDERS = r"(?:指令|指示|提示词|提示|规则|命令|设定|约束|限制|说明|规定|准则|instructions?|prompts?)"
_ZH_VALUABLES = r"(?:密码|密钥|令牌|凭证|口令|私钥|环境变量|api ?key|token)"
_ZH_TARGET = r"(?:https?://|\S{1,64}@|[a-z0-9-]{1,60}\.[a-z]{2,10})"

_HARD, _SOFT = Strength.HARD, Strength.SOFT

RULES: tuple[InjectionRule, ...] = (
    InjectionRule(
        "override",
        "override",
        _HARD,
        "ignor|disregard|forget|neglect|discard|dismiss|attention|notice|follow|obey|adher|listen|comply",
        rf"{_IGNORE}{_GAP}(?:{_QUALIFIER}{_GAP}){{0,5}}?{_ANCHOR}{_GAP}"
        rf"(?:{_QUALIFIER}{_GAP}){{0,4}}{_ORDERS}\b",
    ),
    InjectionRule(
        "override-yours",
        "override",
        _HARD,
        "ignor|disregard|forget|neglect|discard|dismiss|obey|follow|adher|comply",
        rf"{_IGNORE}{_GAP}(?:(?:all|any|every|everything|of|the|each){_GAP}){{0,3}}(?:your|all"
        rf"|every){_GAP}(?:of{_GAP})?(?:(?:the|your|these|those){_GAP})?"
        rf"(?:instructions|guidelines|programming|directives|training|restrictions|ethic\w{{0,6}}"
        rf"|constraints|guardrails|limitations)\b{_ELSEWHERE}",
    ),
    InjectionRule(
        "override-above",
        "override",
        _HARD,
        "ignor|disregard|forget",
        r"\b(?:ignore|disregard|forget)[\s,]{1,3}(?:about )?(?:all|everything|anything"
        r"|what(?:ever)?)(?: (?:of|that|else|the))?"
        r"(?: (?:text|instructions?|content|rules))?[\s,]{1,3}"
        r"(?:above|before this|prior to this|you (?:were|have been|'ve been) (?:told|taught|instructed"
        r"|given)|you got before|you know about)\b",
    ),
    InjectionRule(
        "override-prior",
        "override",
        _HARD,
        "ignore prev|ignore prior|ignore the above|ignore above|disregard prev|disregard the above"
        "|disregard above|disregard prior|forget prev|forget the above",
        r"\b(?:ignore|disregard|forget)(?: the| all)? (?:previous|prior|above|preceding)(?: text| content"
        r"| conversations?| context| statements?| directions?)?"
        r"(?=\s{0,2}(?:[.,!;:\])\"\n]|and\b|then\b|$))",
    ),
    InjectionRule(
        "no-longer-bound",
        "override",
        _HARD,
        "no longer bound|no longer restricted|no longer have to|not bound by|free from|broken free|freed from",
        r"\byou(?: are|'re| have)? (?:now |been )?(?:no longer (?:bound|restricted|limited|constrained)"
        r"|not bound by|free(?:d)? from|broken free)"
        r"[^.\n]{0,40}(?:rules?|guidelines?|restrictions?|limit\w{0,6}|confines|polic\w{1,3}|openai"
        r"|instructions?|typical)",
    ),
    InjectionRule(
        "unrestricted-persona",
        "persona",
        _HARD,
        "you are|you're|act as|jailbroken|mode enabled|mode:|developer mode|persona",
        r"\b(?:you(?:'re| are)(?: now)?(?: going to act as| acting as)?|act as|become|new persona:?"
        r"|in)(?: an?| the| in)?[\s\"'\[]{1,3}(?:[\w-]{1,20} ){0,2}"
        r"(?:dan|jailbroken|unrestricted|unfiltered|uncensored|amoral|lawless|evil(?: \w{1,12})? (?:ai|bot"
        r"|assistant|trusted|confidant)|developer mode|god mode|stan)\b",
    ),
    InjectionRule(
        "anything-now",
        "persona",
        _HARD,
        "do anything now|dan mode|developer mode enabled|developer mode output|jailbreak mode|jailbreak]|jailbroken",
        r"\bdo anything now\b|\bdan mode\b|\bdeveloper mode (?:enabled|output|v\d)|jailbreak\] ?"
        r"|\bjailbreak mode\b|\(.{0,4}jailbroken\)",
    ),
    InjectionRule(
        "prompt-leak",
        "exfiltration",
        _HARD,
        "prompt|instruction|secrets|credential|api key",
        r"\b(?:reveal|leak|exfiltrate|expose|disclose|divulge|dump)(?: (?:me|us|all|any|the|your|of|full"
        r"|entire|complete|hidden|secret|initial|original|stored)){1,5}"
        r" (?:system prompt|(?:system )?instructions|initial prompt|developer message|secrets|credentials"
        r"|api keys?|passwords?|access code)\b",
    ),
    InjectionRule(
        "conceal",
        "concealment",
        _HARD,
        "user|owner|human|operator",
        r"\b(?:(?:do not|don'?t|never|must not|without) (?:tell(?:ing)?|inform(?:ing)?"
        r"|reveal(?:ing)?(?: (?:this|it|that))? to|let(?:ting)?|disclos(?:e|ing)(?: (?:this|it|that))? to"
        r"|mention(?:ing)?(?: (?:this|it|that))? to)"
        r"(?: (?:the|your|any))? (?:user|owner|human|operator)s?\b(?! (?:to|how|which|what|where|whether"
        r"|when|why|if)\b)(?: (?:know|about|of|that|see|notice|this|find)\b|[.,!;\n]|$)"
        r"|without (?:the )?(?:user|owner|operator)(?:'?s)? (?:knowing|noticing|knowledge|awareness)"
        r"|(?:keep|hide) (?:this|it|these instructions?)(?: (?:hidden|secret"
        r"|concealed))? from (?:the )?(?:user|owner|human|operator))",
    ),
    InjectionRule(
        "exfiltrate",
        "exfiltration",
        _HARD,
        "send|upload|forward|exfiltrat|leak|transmit|post|mail|curl|wget",
        r"\b(?:send|upload|forward|exfiltrate|leak|transmit|post|e?mail|curl|wget)\b[^.\n]{0,40}?\b(?:your"
        r"|the user'?s?|the owner'?s?|all|any|every|stored|saved|his|her|their|users?'?)\b[^.\n]{0,24}?"
        rf"{_VALUABLES}[^\n]{{0,40}}?{_TARGET}",
    ),
    InjectionRule(
        "exfiltrate-command",
        "exfiltration",
        _HARD,
        "curl|wget|nc ",
        r"\b(?:curl|wget)\b[^\n]{0,120}(?:\$\((?:cat|env|printenv|base64)|@[~/][\w./-]{0,60}(?:id_rsa"
        r"|\.env|credentials|\.ssh)|`(?:cat|env|printenv))",
    ),
    InjectionRule(
        "persist-and-hide",
        "persistence",
        _HARD,
        "memory|remember|future|every session|all sessions|memory_persist|user_memory",
        r"\b(?:remember|save|store|add|write|persist)\b[^\n]{0,80}\b(?:memory|future (?:conversation"
        r"|session|interaction)s?|every session)\b[^\n]{0,80}\b(?:secretly|silently|without (?:telling"
        r"|asking|mentioning|confirm\w{0,7})"
        r"|never mention|do not mention|don'?t mention|https?://)"
        r"|\[memory_persist\]|\[user_memory ?=|\bas a system (?:directive|instruction|prompt"
        r"|rule)\b[^\n]{0,60}\b(?:session|conversation|future)s?",
    ),
    InjectionRule(
        "skip-approval",
        "persistence",
        _HARD,
        "approv|confirmation|without asking",
        r"\b(?:from now on|always|never|you may|approve)\b[^.\n]{0,60}\b(?:skip the approval"
        r"|ask (?:the )?(?:operator|user|owner) for (?:confirmation|approval|permission)"
        r"|without asking (?:the )?(?:operator|user|owner))",
    ),
    InjectionRule(
        "override-zh",
        "override",
        _HARD,
        "忽略|无视|無視|忘记|忘掉|忘記|不要理会|不要遵守|不要遵循|抛弃|不再遵守|不用遵守|忽视|绕过",
        r"(?:忽略|忽视|无视|無視|忘记|忘記|忘掉|抛弃|绕过|不(?:要|用|再|必)(?:理会|遵守|遵循|听从))[^。,!?\n]{0,14}?(?:之前|先前|以前|以上|上述|上面|前面"
        r"|此前|原有|原来|所有|全部|一切|系统|系統|你的|您的|任何|先の)"
        rf"[^。!?\n]{{0,12}}?{_ZH_ORDERS}",
    ),
    InjectionRule(
        "conceal-zh",
        "concealment",
        _HARD,
        "用户|使用者|主人|用戶",
        r"(?:(?:不要|别|切勿|禁止|不得|不能|勿|不可)(?:让|告诉|告知|透露给|通知|向)[^。,\n]{0,4}?(?:用户|使用者|主人|用戶)(?!(?:去|如何|怎么|怎样|等待"
        r"|重复))"
        r"|(?:瞒着|背着|隐瞒|悄悄地?背着)(?:用户|使用者|主人))",
    ),
    InjectionRule(
        "exfiltrate-zh",
        "exfiltration",
        _HARD,
        "密码|密钥|令牌|凭证|口令|私钥|环境变量|api key|token",
        rf"(?:把|将|請將|请将)[^。\n]{{0,16}}?{_ZH_VALUABLES}[^。\n]{{0,16}}?(?:发送|上传|发到|发给|转发|传到|提交|寄)"
        rf"[^。\n]{{0,12}}?{_ZH_TARGET}"
        rf"|(?:发送|上传|转发|泄露|提交)[^。\n]{{0,16}}?{_ZH_VALUABLES}[^。\n]{{0,12}}?(?:到|至|给)"
        rf"[^。\n]{{0,12}}?{_ZH_TARGET}",
    ),
    InjectionRule(
        "persona-zh",
        "persona",
        _HARD,
        "你现在|你現在|从现在起你|从现在开始你|越狱|开发者模式",
        r"(?:你现在|你現在|从现在(?:起|开始),?你)[^。\n]{0,16}?(?:不受(?:任何)?(?:限制|约束)|没有(?:任何)?(?:限制|约束)|越狱|开发者模式|dan\b"
        r"|无限制)",
    ),
    InjectionRule(
        "leak-zh",
        "exfiltration",
        _HARD,
        "系统提示|系统指令|初始指令",
        r"(?:泄露|透露|输出|显示|打印|告诉我|重复|公开)[^。,\n]{0,12}?(?:你的|您的|完整的?|全部的?|隐藏的?)[^。,\n]{0,6}?(?:系统提示词?|系统指令"
        r"|初始指令)",
    ),
    InjectionRule(
        "override-ja",
        "override",
        _HARD,
        "無視|忘れ",
        r"(?:以前|これまで|上記|前|先ほど|すべて|全て|今まで)の[^。\n]{0,10}?(?:指示|命令|プロンプト|ルール|指令)[^。\n]{0,8}?(?:無視|忘れ)",
    ),
    InjectionRule(
        "override-ko",
        "override",
        _HARD,
        "무시|잊",
        r"(?:이전|위의|앞의|앞선|기존|모든|지금까지)[^.\n]{0,12}?(?:지시|명령|프롬프트|규칙|지침)[^.\n]{0,10}?(?:무시|잊)",
    ),
    InjectionRule(
        "override-de",
        "override",
        _HARD,
        "ignorier|vergiss|vergessen|missacht",
        r"\b(?:ignorier\w{0,4}|vergiss|vergessen sie|missacht\w{0,3})\b[^.\n]{0,24}?\b(?:vorherig|bisherig"
        r"|obig|fruher|vorangegangen|vorig|alle)\w{0,3}\b[^.\n]{0,24}?(?:anweisung|instruktion|regel"
        r"|befehl|vorgabe)",
    ),
    InjectionRule(
        "override-fr",
        "override",
        _HARD,
        "ignor|oubli|compte",
        r"\b(?:ignore[rz]?|oublie[rz]?|ne tene?[zs] (?:pas|aucun) compte)\b[^.\n]{0,24}?(?:instructions?"
        r"|consignes?|regles?|directives?)[^.\n]{0,16}?(?:precedent|anterieur|ci-dessus)",
    ),
    InjectionRule(
        "override-es",
        "override",
        _HARD,
        "ignor|olvid|caso omiso",
        r"\b(?:ignor[ae]\w{0,2}|olvid[ae]\w{0,2}|haz caso omiso de"
        r"|haga caso omiso de)\b[^.\n]{0,24}?(?:instruccion|ordene|regla|indicacion"
        r"|directric)\w{0,4}[^.\n]{0,16}?(?:anterior|previ|precedente|de arriba)",
    ),
    InjectionRule(
        "override-pt",
        "override",
        _HARD,
        "ignor|esque",
        r"\b(?:ignor[ae]\w{0,2}|esqueca)\b[^.\n]{0,24}?(?:instruco|ordens|regras"
        r"|comandos)\w{0,4}[^.\n]{0,16}?(?:anterior|previ|acima)",
    ),
    InjectionRule(
        "override-it",
        "override",
        _HARD,
        "ignor|dimentica",
        r"\b(?:ignor[ai]\w{0,2}|dimentica\w{0,2})\b[^.\n]{0,24}?(?:istruzion|regol|ordin"
        r"|comand)\w{0,3}[^.\n]{0,16}?(?:precedent|sopra|anterior)",
    ),
    InjectionRule(
        "override-ru",
        "override",
        _HARD,
        "игнор|забуд",
        r"(?:про)?(?:игнорир|забуд)\S{0,6}\s[^.\n]{0,24}?(?:предыдущ|прошл|все|выше"
        r"|ранее)[^.\n]{0,24}?(?:инструкци|указани|правил|команд)",
    ),
    InjectionRule(
        "system-note",
        "override",
        _SOFT,
        "system:|developer:|important|<information>|new instructions|system note|admin:",
        r"(?:^|[\n.:!] ?)\s{0,4}(?:system|developer|admin(?:istrator)?)\s?: ?(?:you|from now|ignore"
        r"|override|new|approve|the assistant)\b|<information>\s"
        r"|\bimportant message (?:from|for) (?:me|you|the|all)\b|\bnew instructions?\s?:|\bimportant!{2,}",
    ),
    InjectionRule(
        "override-soft",
        "override",
        _SOFT,
        "ignore|override|bypass|disregard|forget",
        r"\b(?:override|bypass|circumvent)(?: (?:the|all|any|your|every|system|its)){0,3} (?:security"
        r"|safety|system|content|approval|restrictions?|instructions?|guidelines?|rules|polic(?:y|ies)"
        r"|filters?)\b"
        r"|\b(?:ignore|disregard|forget)(?: (?:my|all|any|the|these|your|of|every)){1,3} (?:instructions?"
        r"|rules?|prompts?|commands?|orders?|messages?|text)\b",
    ),
    InjectionRule(
        "prompt-request",
        "exfiltration",
        _SOFT,
        "prompt|instruction|access code|password|everything above|said above|secret|were told",
        r"\b(?:repeat|print|show|output|display|tell|write|say|spell|translate|encode|summari[sz]e|copy"
        r"|list|give|recite|return|provide|state|what (?:is|are|was|were)|include)\b[^.\n]{0,60}?"
        r"\b(?:(?:system|initial|original|hidden|secret|your|first|entire|previous|above) (?:prompts?"
        r"|instructions?|access code|password|passphrase|secret key|secret word|secret)"
        r"|the (?:system prompt|initial prompt|access code|password|passphrase|secret (?:key|word|code))"
        r"|access code|everything above|text above|words above"
        r"|(?:your|you were) (?:told|given))\b",
    ),
    InjectionRule(
        "instruction-request",
        "exfiltration",
        _SOFT,
        "instructions|directives|system message|ruleset",
        r"\b(?:repeat|return|format|convert|explain|output|translate|list|rephrase|recite|print|show|reveal|clarify"
        r"|summari[sz]e|include|rap about|tell me)s?\b[^.!?\n]{0,30}?\b(?:all|your|the|any|prior|previous|other)"
        r"(?: of)?(?: the| your)?(?: prior| previous| original| starting| other)? (?:instructions?|directives"
        r"|system message"
        r"|ruleset)(?: (?:so far|with which|prior|above|as|in|and|or|to make|received|you)\b|\s{0,2}(?:[.!?]|$))",
    ),
    InjectionRule(
        "access-granted",
        "override",
        _SOFT,
        "access grant|access code|user input|access denied|end user|password",
        r"\baccess (?:is )?granted\b|\b(?:correct|valid|entered|input|true|real) access code\b"
        r"|\baccess code (?:is|was|has been) (?:correct|valid|entered|accepted|input)"
        r"|\bend (?:of )?(?:untrusted )?user (?:input|ambiguity)\b|\baccess grant\b"
        r"|^\W{0,4}(?:the )?(?:correct|accurate|right|valid) (?:password|access|passcode)\W{0,4}$",
    ),
    InjectionRule(
        "role-play",
        "persona",
        _SOFT,
        "act as|pretend|you are now|you will now|simulate|role|from now on|character|going to act"
        "|you are an ai|persona|you are going to|you are to",
        r"\b(?:you (?:are|will|shall|must)(?: now)?(?: going to| to)? (?:act(?:ing)?(?: as)?|simulate"
        r"|pretend|play|roleplay|role-play|impersonate|be acting|emulate|respond as|behave)"
        r"|from now on,? (?:you|we|i want you|every|always|do not|whenever)"
        r"|i (?:want|need|would like) you to (?:act|pretend|role-?play|simulate|reply|respond|become)"
        r"|pretend (?:you are|that you)|you are now (?:an?|the|in|going|called|my|known)\b"
        r"|let'?s (?:play a game|role-?play)|stay in character|act as if you\b"
        r"|you (?:are|will be) (?:a|an) (?:character|ai|unrestricted|evil|chatbot|rude)\b)",
    ),
    InjectionRule(
        "no-limits",
        "persona",
        _SOFT,
        "restriction|censor|filter|ethic|moral|illegal|policy|policies|unethical|guideline|refuse|limitation",
        r"\b(?:no|without|any|bypass|free of|not have|ignore|regardless of"
        r"|zero)(?! (?:language|date|age|time|dietary|travel|other))(?: \w{1,12}){0,2} (?:restrictions?|censorship"
        r"|filters|ethic\w{0,6}|moral\w{0,6}"
        r"|limitations?|guidelines|disclaimers?|warnings?)\b"
        r"|\b(?:never|not|cannot|can't|won't|don't) (?:\w{1,12} )?refuse\b|\bunethical\b|\b(?:openai"
        r"|content) polic(?:y|ies)\b|\billegal(?:ity)?\b[^.\n]{0,60}\b(?:unethical|immoral|harmful)\b",
    ),
    InjectionRule(
        "persistence",
        "persistence",
        _SOFT,
        "future|from now on|memory|all sessions|every session|whenever|always",
        r"\b(?:in|for|to|across) (?:all|every|any) (?:future|later|subsequent) (?:conversation|session"
        r"|interaction|chat|response)s?\b|\b(?:save|store|add|write|commit) (?:this|the following"
        r"|it) (?:to|in|into) (?:your )?(?:long-?term |permanent )?memory\b"
        r"|\bwhenever (?:the )?user (?:asks|mentions|says|requests)\b[^.\n]{0,80}\b(?:always|instead"
        r"|must)\b",
    ),
    InjectionRule(
        "privilege",
        "persistence",
        _SOFT,
        "admin|root|superuser|privilege|unrestricted",
        r"\b(?:full|root|admin(?:istrator)?|unrestricted|superuser) (?:access|rights|privileges|mode"
        r"|override)\b|\bno safety\b",
    ),
    InjectionRule(
        "persistence-zh",
        "persistence",
        _SOFT,
        "从现在|今后|以后|永远|记住",
        r"(?:从现在(?:起|开始)|今后|以后)[^。\n]{0,20}?(?:必须|始终|总是|永远|一律)|(?:写入|存入|保存到|加入)(?:你的|长期)?(?:记忆|内存)",
    ),
)
