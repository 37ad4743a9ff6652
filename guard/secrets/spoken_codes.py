"""Rules for codes that open something, told in plain words: "the alarm code is 9035", 门锁密码4482.

A bare number is a secret only beside the name of a code and of what it opens, in one sentence. So "the error code is
5003", "the code is broken" and "my PIN was wrong" pass.
"""

from guard.secrets.generic import GenericRule
from guard.secrets.rule import RuleSet
from guard.secrets.value import is_code_value, is_network_password

__all__ = ["SPOKEN_CODES"]

_OPENED = (
    r"doors?|gate|garage|alarm|locks?|padlock|locker|lock ?box|safe|key ?(?:pad|box|safe)|entry|entrance|"
    r"wi-?fi|wlan|router|phone|sim|(?:bank|debit|credit)(?: ?card)?|card|security|access|unlock"
)
_NETWORK = r"wi-?fi|wlan|router|hotspot|guest network|network"
_CODE = r"code|pin|combination|combo|passcode|password"
#: Words between a name and its value: "of the house", "at the back".
_BETWEEN = r"[\w '’/-]{0,40}?"
_IS = (
    r"(?:\s{0,2}(?::|=|->)|(?:,\sit)?['’]s|\s(?:is|was|will be|to|are|with))"
    r"(?:\s(?:now|still|just|always))?(?: set to| changed to)?"
)
_QUOTE = r"""\s{0,2}["'`“]?"""
#: A number with signs between its parts, or a word that the check of the rule reads.
_NUMBER = r"[#*]?\d(?:[ .-]?\d){2,11}[#*]?"
_VALUE = rf"({_NUMBER}(?![\w-])|[A-Za-z0-9][\w!@#$%^&*+=~-]{{3,63}})"
#: What makes a number a count or an amount.
_NOT_COUNTED = (
    r"(?!\s{0,2}(?:%|€|\$|(?:percent|lines|digits|characters|chars|letters|words|times|years?|months?|weeks?|days?|hours?"
    r"|minutes?|seconds?|euros?|dollars?|pounds?|[km]?b|bytes|people|metres|meters)\b))"
)
_KEYWORDS = ("code", "pin", "combination", "combo", "passcode", "password")
_ZH_OPENED = r"门(?![店牌诊票])|锁|报警|警报|保险[箱柜]|钥匙[盒箱]|车库|柜|(?i:wi-?fi)|无线|路由|手机|卡|箱"
_ZH_CODE = r"密码|密碼|口令|代码|门禁码|开门码|开锁码|暗码|(?i:pin)码?"
_ZH_IS = r"(?:[^\n,，。;；:：\d]{0,8}?(?:是|为|為|:|：|=|设为|设成|改成|改为|换成|改到))?"

_ZH_VALUE = rf"{_NUMBER}|[A-Za-z]{{3,30}}[-_]?\d{{2,12}}"

SPOKEN_CODES = RuleSet(
    (
        GenericRule(
            name="spoken-code",
            kind="code",
            pattern=(
                rf"(?i:\b(?:{_OPENED})(?:['’]s)?\b[ -](?:[a-z]{{1,12}} )?(?:{_CODE})\b(?:{_BETWEEN}{_IS})?{_QUOTE}"
                rf"{_VALUE}{_NOT_COUNTED})"
            ),
            keywords=_KEYWORDS,
            quick=rf"(?i)\b(?:{_OPENED})(?:['’]s)?\b[ -](?:[a-z]{{1,12}} )?(?:{_CODE})\b",
            accept=is_code_value,
        ),
        GenericRule(
            name="spoken-code-of",
            kind="code",
            pattern=(
                rf"(?i:\b(?:{_CODE})\b(?: (?:for|to|of|on|at))?{_BETWEEN}\b(?:{_OPENED})\b{_BETWEEN}{_IS}{_QUOTE}"
                rf"{_VALUE}{_NOT_COUNTED})"
            ),
            keywords=_KEYWORDS,
            quick=rf"(?i)\b(?:{_CODE})\b[\w '’/-]*\b(?:{_OPENED})\b",
            accept=is_code_value,
        ),
        GenericRule(
            name="spoken-code-before",
            kind="code",
            pattern=(
                rf"(?i:(?<![\w.-])({_NUMBER}) (?:is|was|as) (?:the|my|our|your|his|her|their)(?: new| old)? "
                rf"(?:(?:[a-z]{{1,12}} )?(?:{_OPENED}) (?:{_CODE})\b|pin\b|(?:{_CODE}) (?:for|to|of){_BETWEEN}\b"
                rf"(?:{_OPENED})\b))"
            ),
            keywords=_KEYWORDS,
            quick=r"(?i)\d[#*]? (?:is|was|as) (?:the|my|our|your|his|her|their) ",
            accept=is_code_value,
        ),
        GenericRule(
            name="spoken-pin",
            kind="code",
            pattern=(
                rf"\b(?:PIN|(?i:pin(?=['’]s\s\d)|(?:my|the|our|his|her|their) (?:new |old )?pin))\b"
                rf"(?i:(?: (?:for|of|on|to) {_BETWEEN})?"
                rf"(?:{_IS})?){_QUOTE}({_NUMBER})(?![\w-]){_NOT_COUNTED}"
            ),
            keywords=("pin",),
            quick=r"(?i)\bpin\b",
            accept=is_code_value,
        ),
        GenericRule(
            name="spoken-opening",
            kind="code",
            pattern=(
                rf"(?i:\b(?:{_OPENED})\b{_BETWEEN}\b(?:opens|unlocks|opened|unlocked) with (?:the )?(?:code |pin )?)"
                rf"({_NUMBER})(?![\w-]){_NOT_COUNTED}"
            ),
            keywords=("opens with", "unlocks with", "opened with", "unlocked with"),
            accept=is_code_value,
        ),
        GenericRule(
            name="spoken-network-password",
            kind="password",
            pattern=(
                rf"(?i:\b(?:{_NETWORK})(?:['’]s)?\b (?:{_CODE}|key|passphrase)\b{_BETWEEN}{_IS})"
                r"""\s{0,2}(["'`“][^"'`”\n]{4,64}["'`”]|[A-Za-z0-9][\w!@#$%^&*+=~-]{3,63}(?=[.,;!]?(?:\s|$)))"""
            ),
            keywords=("wifi", "wi-fi", "wlan", "router", "hotspot", "network"),
            accept=is_network_password,
        ),
        GenericRule(
            name="spoken-code-zh",
            kind="code",
            pattern=rf"(?:{_ZH_OPENED})[^\n,，。;；:：]{{0,8}}?(?:{_ZH_CODE}){_ZH_IS}\s{{0,3}}({_ZH_VALUE})(?![\d位个年月天次])",
            keywords=("密码", "密碼", "口令", "代码", "门禁码", "开门码", "开锁码", "暗码", "pin"),
            accept=is_code_value,
        ),
    )
)
"""Rules in order. They follow the generic ones, which know values without the name of what they open."""
