"""Detection of requests in text from tools and the web.

Such text has no mark of an attack except its source. Statements may become memory, requests are quarantined. A request
is an imperative (alone, polite, or addressed to "you") whose verb acts on something: send, pay, change, delete, grant,
install, run, answer in another way. Imperatives such as "see" and "note that" are no requests.

The rules recognise the imperative, not the intention, so instructions in manuals and letters are quarantined too.
``docs/guard.md`` has the rates. The rules run only on untrusted text for memory, never on records.
"""

import re
from collections.abc import Iterator
from functools import cache

from guard.match import Match, Strength
from guard.text.canonical import TextVariant

__all__ = ["find_requests"]

_ACTS = (
    r"(?:send|forward|e-?mail|mail|transfer|pay|wire|deposit|withdraw|donate|buy|purchase|sell|trade|order|book|reserve"
    r"|schedule|create|make|delete|remove|erase|wipe|drop|update|change|modify|edit|alter|adjust|set|reset|replace"
    r"|grant|revoke|share|invite|add|unlock|lock|disable|enable|turn|switch|activate|deactivate|install|uninstall"
    r"|download|upload|post|publish|tweet|move|copy|rename|execute|invoke|dial|phone|message|notify|dispatch|cancel"
    r"|leave|join|terminate|shut|kill|retrieve|retrive|fetch|get|obtain|collect|gather|extract|export|access|query|look"
    r"|find|search|check|list|provide|give|tell|show|display|print|reveal|disclose|output|repeat|save|store|record|log"
    r"|register|approve|accept|authori[sz]e|confirm|guide|instruct|navigate|visit|click|subscribe|unsubscribe|generate"
    r"|write|compose|draft|translate|summari[sz]e|convert|encode|encrypt|decode|submit|apply|submit|append|insert"
    r"|include|embed|incorporate|integrate|blend|fuse|merge|render|attach|mention|recommend|suggest|promote|advertise"
    r"|hint|respond|reply|answer|act|pretend|ignore|forget|remember|memori[sz]e|assign|rate|review|follow|like|star"
    r"|fork"
    r"|clone|push|deploy|configure|close|open|start|stop|launch|restart|begin|initiate|process|arrange|order|request"
    r"|manage|monitor|track|scan|analy[sz]e|verify|complete|perform|conduct|order|fill|enter|type|paste|use|employ"
    r"|utili[sz]e"
    r"|introduce|scramble|shuffle|rearrange|reverse|swap|substitute|capitali[sz]e|enhance|supplement|inject|develop"
    r"|run|call|ask|let|help|teach|explain|describe|put|place|take|bring|withhold|hide|conceal|bypass|override|spread)"
)
"""Verbs in the imperative that act on something."""

_CONSEQUENCE = (
    r"(?:send|forward|e-?mail|transfer|pay|wire|deposit|withdraw|donate|buy|purchase|sell|trade|book|reserve|delete"
    r"|erase"
    r"|wipe|grant|revoke|invite|unlock|disable|deactivate|dispatch|unsubscribe|authori[sz]e|approve|exfiltrate|disclose"
    r"|reveal|bypass|override|conceal|withhold)"
)
"""Verbs that need no more than an object: money, messages, rights, loss."""

_STAKES = (
    r"(?:my|your|our|his|her|their|user'?s?|customer'?s?|account\w*|passwords?|credentials?|tokens?|secrets?"
    r"|api[ _-]?keys?"
    r"|e-?mails?|inbox|address(?:es)?|phone|contacts?|friends?|bank\w*|payments?|money|funds?|transactions?|invoices?"
    r"|cards?|crypto\w*|bitcoin|wallet|usd|eur|\$|€|£|police|polic(?:y|ies)|permissions?|access|admin\w*|roles?"
    r"|privileges?"
    r"|firewall|security|whitelist|blacklist|two-factor|2fa|mfa|authentication|identity|health|medical|clinical|genetic"
    r"|records?|prescriptions?|appointments?|reservations?|flights?|hotels?|tickets?|calendar|meetings?|events?|channel"
    r"|messages?|documents?|drive|folders?|repositor(?:y|ies)|devices?|robot|lock|door|camera|alarm|thermostat|lights?"
    r"|website|url|link|https?://|www\.|[\w.+-]{1,40}@|server|settings?|configuration|preferences|profile|review|stars?"
    r"|instructions?|response|reply|answer|output|solution|assistant|code (?:snippet|block|excerpt|section))"
)
"""Whom or what a request concerns: people, their accounts, money, rights, homes, and the reader's own answer."""

_CLAUSE = r"(?:\A|[\n\"'`“”‘’|>*•]|[.!?;:]\s)[\s*_#>-]{0,6}(?:\d{1,2}[.)] ?|\[[ x]\] ?)?"
"""Where a clause may begin: after a line end, a quotation mark, a bullet, the end of a sentence."""

_LEAD = (
    r"(?:(?:hi|hey|hello|dear|ok(?:ay)?|important|urgent|attention|note|todo|task|action(?: required)?|request"
    r"|p\.?s\.?)"
    r"\b[^.!?\n]{0,24}?[:,!-]{1,2} ?|(?:first|then|next|also|now|and|after that|finally|lastly|instead|afterwards?"
    r"|so)\b,? )"
)
_POLITE = (
    r"(?:please|pls|plz|kindly|(?:can|could|would|will) you(?: please)?|i(?:'d| would)? (?:want|need|like|ask|request)"
    r"(?: for)? (?:you )?to|(?:you|assistant|the (?:assistant|agent|ai|bot)) (?:must|should|shall|need to|have to"
    r"|ought to)"
    r"|(?:make|be) sure (?:to|you|that you)|(?:don'?t|do not|never) forget to|don'?t hesitate to|remember to"
    r"|keep in mind to"
    r"|ensure (?:that )?you|go ahead and)"
)
_ADVERB = r"(?:(?:immediately|always|never|now|also|just|first|then|quickly|silently|automatically|directly|kindly) )?"

_CLAUSE_RULES: tuple[tuple[str, str], ...] = (
    ("polite-request", rf"{_LEAD}{{0,2}}{_POLITE},? {_ADVERB}{_ACTS}\b(?! (?:free|at home|in mind)\b)"),
    (
        "consequential-request",
        rf"{_LEAD}{{0,2}}{_ADVERB}{_CONSEQUENCE} [^.!?\n]{{0,20}}?\b(?:to|all|as much|{_STAKES})",
    ),
    ("request-at-stake", rf"{_LEAD}{{0,2}}{_ADVERB}{_ACTS}\b[^.!?\n]{{0,60}}?(?<![\w]){_STAKES}(?!\w)"),
    ("task-note", rf"(?:todo|task|action required)\s?[:!-] ?(?:please )?{_ACTS}\b"),
    (
        "how-to-request",
        (
            r"(?:how (?:can|do|should|would|could) (?:i|you|we)|what(?:'s| is| are) (?:the|a"
            r"|some))\b[^.!?\n]{4,160}\?"
        ),
    ),
    (
        "request-de",
        (
            r"(?:bitte\b|\w{3,16}en sie\b)[^.!?\n]{0,60}?\b(?:senden|sende|schicken"
            r"|uberweis\w{1,4}|zahl\w{0,3}|losch\w{1,4}|ander\w{0,3}|aktualisier\w{0,3}"
            r"|gewahr\w{0,3}|installier\w{0,3}|ausfuhr\w{0,3}|fuhr\w{0,3}|deaktivier\w{0,3}"
            r"|teil\w{0,3}|kauf\w{0,3}|buch\w{0,3}|weiterleit\w{0,3})\b"
        ),
    ),
    (
        "request-fr",
        (
            r"(?:veuillez|merci de|s'il (?:vous|te) plait,?)\s[^.!?\n]{0,30}?\b(?:envoy|transfer|pay"
            r"|vir|supprim|modifi|chang|mett|accord|autoris|ajout|invit|desactiv|activ|install|execut"
            r"|telecharg|achet|reserv|partag)\w{0,4}\b"
        ),
    ),
    (
        "request-es",
        (
            r"(?:por favor,?|favor de)\s[^.!?\n]{0,30}?\b(?:envi|transfi|pag|elimin|borr|cambi"
            r"|modifi|actuali|conced|autori|agreg|anad|invit|desactiv|activ|instal|ejecut|descarg|compr|reserv"
            r"|compart)\w{0,5}\b"
        ),
    ),
    (
        "request-ru",
        (
            r"(?:пожалуиста|прошу),?\s[^.!?\n]{0,30}?(?:отправ|перешл|переве|оплат|удал|измен|обнов"
            r"|предостав|разреш|добав|приглас|отключ|включ|установ|запуст|скача|загруз|куп|заброн)\w{0,5}"
        ),
    ),
)
"""Requests, from the beginning of a clause on."""

_OPENING = (
    rf"{_LEAD}{{0,2}}(?:{_ADVERB}{_ACTS}\b|{_POLITE}|{_CONSEQUENCE}|todo|task|action|how|what|bitte|\w{{3,16}}en sie\b"
    r"|veuillez|merci|s'il|por favor|favor de|пожалуиста|прошу)"
)
"""How a clause has to open for any of them."""

_TEXT_RULES: tuple[tuple[str, str, str], ...] = (
    (
        "please",
        "please|kindly| you ",
        (
            rf"\b(?:please|kindly|(?:can|could|would|will) you) {_ADVERB}{_ACTS}\b(?! (?:tell|show|explain"
            r"|describe)\b)"
        ),
    ),
    (
        "answer-steering",
        "your|reply|respond|answer|code ",
        (
            r"\byour (?:next |final |whole |entire )?(?:response|reply|answer|output|solution|implementation|codebase"
            r"|code|algorithm)(?:'s)?\b[^.!?\n]{0,80}\b(?:in|with|by|using|to|that|should|must|can|may)\b"
            r"|\b(?:in|to|of|within|into) your (?:response|reply|answer|output|code|solution|implementation)\b"
            r"|\b(?:reply|respond|answer) (?:in|with|using|only)\b"
            r"|\b(?:following|below|subsequent) code (?:snippet|block|excerpt|section)\b"
        ),
    ),
    (
        "bare-assignment",
        "",
        (
            r"\A\W{0,6}(?:write|compose|translate|summari[sz]e|paraphrase|rewrite|explain|describe|define|draft"
            r"|determine"
            r"|classify|break down|give me|tell me|provide) [^\n]{4,240}\Z"
        ),
    ),
    ("bare-question", "", r"\A[^.!?\n。！？;]{6,240}(?:[?？؟]|(?<=[\u03ac-\u03ce]);)\W{0,4}\Z"),
    (
        "request-zh",
        "请|麻烦",
        (
            r"(?:请|麻烦)(?:你|您)?(?:立即|马上|务必|先|帮我|帮忙|将|把)?[^。！？!?\n]{0,12}?(?:发送|转账|转发|付款|支付|购买|预订|删除|修改|更改|更新|授权"
            r"|授予|添加|邀请|解锁|禁用|启用|关闭|安装|运行|执行|下载|上传|发布|告诉|提供|获取|查询|回复|打开|设置|取消)"
        ),
    ),
    (
        "request-ja",
        "ください|下さい|しなさい|せよ",
        (
            r"(?:送信|転送|送金|振込|支払|購入|予約|削除|変更|更新|許可|追加|招待|解除|無効に|有効に|インストール|実行|ダウンロード|アップロード|設定|取得|教えて"
            r"|返信)[^。\n]{0,10}?(?:してください|して下さい|しなさい|せよ|ください)"
        ),
    ),
    (
        "request-ko",
        "세요|십시오|해라",
        (
            r"(?:전송|보내|송금|이체|결제|구매|예약|삭제|변경|수정|업데이트|허용|추가|초대|해제|비활성화|활성화|설치|실행|다운로드|업로드|설정|알려"
            r"|제공)[^.\n]{0,8}?(?:주세요|하세요|하십시오|십시오|해라)"
        ),
    ),
)
"""Rules for the whole text: name, keywords separated by ``|`` of which one must occur, pattern."""


def find_requests(variant: TextVariant) -> Iterator[Match]:
    """Yield at most one request per rule in *variant*, with offsets into its source."""
    text = variant.lowered
    for rule, keywords, pattern in _TEXT_RULES:
        if (not keywords or variant.mentions(keywords)) and (match := _compiled(pattern).search(text)):
            yield _request(rule, variant, match)
    pending = [(rule, _compiled(pattern)) for rule, pattern in _CLAUSE_RULES]
    opening = _compiled(_OPENING)
    for clause in _compiled(_CLAUSE).finditer(text):
        if not opening.match(text, clause.end()):
            continue
        for rule, compiled in pending:
            if match := compiled.match(text, clause.end()):
                yield _request(rule, variant, match)
                pending = [item for item in pending if item[0] != rule]


def _request(rule: str, variant: TextVariant, match: re.Match[str]) -> Match:
    start, end = variant.span(*match.span())
    return Match(layer="provenance", rule=rule, kind="request", start=start, end=end, strength=Strength.SOFT)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
