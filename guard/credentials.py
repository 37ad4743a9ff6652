"""Secrets: credentials by their published formats, by the name they are assigned to, and in prose.

A rule runs only when one of its keywords occurs in the text, and is compiled then. Every quantifier is bounded.
What stands for a secret without being one (``${VAR}``, ``os.environ[...]``, ``YOUR_API_KEY_HERE``, ``xxxx``,
``changeme``) passes, and so does what merely looks random: entropy alone never acts.

Formats follow the providers' published descriptions. Only the secret is replaced, not the name before it; of a
private key the whole block.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from guard.canonical import Reading
from guard.match import Match, Strength, placeholder
from guard.policy import RuleError


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One format.

    Attributes:
        name: unique, kebab-case.
        kind: what stands in the replacement.
        pattern: regular expression, ASCII classes; its last participating group is the secret, else the whole match.
        keywords: lower-case alternatives between bars; the rule runs when one of them is in the lower-cased text.
        accept: decides on a candidate secret after the pattern matched.
    """

    name: str
    kind: str
    pattern: str
    keywords: str
    accept: Callable[[str], bool]


def find_secrets(reading: Reading) -> Iterator[Match]:
    """Yield the secrets in *reading*, with offsets into its source. Specific formats come before general ones.

    Raises:
        RuleError: a rule whose keyword occurs does not compile.
    """
    if reading.mentions("private key"):
        for start, end in _private_keys(reading.text):
            yield _match("private-key", "private_key", reading.span(start, end))
    for rule in RULES:
        if not reading.mentions(rule.keywords):
            continue
        for match in _compiled(rule.name, rule.pattern).finditer(reading.text):
            group = match.lastindex or 0
            if rule.accept(match[group]):
                yield _match(rule.name, rule.kind, reading.span(*match.span(group)))


def _match(rule: str, kind: str, span: tuple[int, int]) -> Match:
    return Match(
        layer="secret",
        rule=rule,
        kind=kind,
        start=span[0],
        end=span[1],
        strength=Strength.CLEAN,
        replacement=placeholder(kind),
    )


@cache
def _compiled(name: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise RuleError(name, str(error)) from error


_KEY_HEADER = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_FOOTER = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_LINES = r"(?:[\s\\n]{0,8}[A-Za-z0-9+/=.]{12,100})*"


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield whole PEM and PGP private key blocks; one without an end goes as far as its lines of code."""
    position, closed = 0, True
    while header := _compiled("private-key", _KEY_HEADER).search(text, position):
        footer = _compiled("private-key", _KEY_FOOTER).search(text, header.end()) if closed else None
        closed = footer is not None
        if footer is None:
            footer = _compiled("private-key", _KEY_LINES).match(text, header.end())
        position = max(header.end(), footer.end() if footer else 0)
        yield header.start(), position


# --- what a candidate must and must not be -------------------------------------------------------------------

_REDACTED = "[redacted"

_STAND_INS = (
    r"your|my[-_]|example|placeholder|change[-_]?me|replace|insert|redacted|dummy|sample|[-_]here|todo|xxxx|\*{4}|\.{4}|…"
    r"|[<>]|\$[{(]|\{\{|\}\}|%\(|environ|getenv|process\.env|env\[|secrets\.|vault|null|none|undefined|://"
)
"""Parts of what stands where a secret would: a variable, a template, an instruction to put one there."""

_DESCRIPTIONS = (
    r"admin|root|user|username|input|text|string|str|int|bool|bytes|any|number|object|varchar\(255\)|default|true|false"
    r"|none|null|unset|empty|missing|required|optional|reset|changed|expired|incorrect|invalid|wrong|correct|hidden"
    r"|protected|secret|password|passwd|token|test|hash|hashed|encrypted|plain|plaintext|bearer|basic|oauth2?|jwt|base64"
    r"|utf-?8|md5|sha-?(?:1|256|512)|bcrypt|argon2|rsa-(?:2048|4096)|aes-256|ed25519"
)
"""Values that say something about a password or token instead of being one."""


def _stands_in(lowered: str) -> bool:
    return _compiled("stand-ins", _STAND_INS).search(lowered) is not None


def _describes(lowered: str) -> bool:
    return _compiled("descriptions", _DESCRIPTIONS).fullmatch(lowered) is not None


def _varied(secret: str) -> bool:
    """Not a row of few characters, as in ``ghp_xxxxxxxxxxxx``."""
    return _REDACTED not in secret.lower() and len(set(secret)) >= 8


def _strange(secret: str) -> bool:
    """Letters and digits, varied, and no stand-in: what tokens are made of and names are not."""
    lowered = secret.lower()
    return (
        _varied(secret) and any(map(str.isdigit, secret)) and any(map(str.isalpha, secret)) and not _stands_in(lowered)
    )


def _token_value(value: str) -> bool:
    """The value of an assignment to a token-like name."""
    if (
        not _strange(value)
        or len(value) < 12
        or _entropy(value) < 3.0
        or value[0] in "/.~$%@#"
        or _describes(value.lower())
    ):
        return False
    # Paths and dotted names such as self.config.token1 or src/auth/token2.py are code, not secrets.
    return not all(re.fullmatch(r"[A-Za-z]*\d{0,3}", part) for part in re.split(r"[./:_-]", value))


def _password_value(value: str) -> bool:
    """The value of an assignment to a password-like name: not a word, not a name in code."""
    lowered = value.lower()
    if _REDACTED in lowered or _describes(lowered) or _stands_in(lowered):
        return False
    if (
        len(set(value)) < 4
        or value[0] in "/.~$%"
        or re.match(r"[A-Za-z_][\w.]{0,60}\(", value)
        or re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value)
    ):
        return False
    return any(map(str.isdigit, value)) or any(character in "!@#$%^&*+=~?" for character in value)


def _quoted_password(value: str) -> bool:
    lowered = value.lower()
    return (
        _REDACTED not in lowered
        and not _describes(lowered)
        and not _stands_in(lowered)
        and len(set(value)) >= 4
        and " " not in value.strip()
        and not (value.replace("_", "").replace("-", "").isalpha() and re.search("passw|secret|token", lowered))
        and value[0] not in "/.~$%"
    )


def _spoken_password(value: str) -> bool:
    """After 密码是 an ASCII word is the password, unless it says what kind of thing it is."""
    lowered = value.lower().rstrip(".,;:!?)")
    return _REDACTED not in lowered and not _describes(lowered) and not _stands_in(lowered)


def _url_password(value: str) -> bool:
    lowered = value.lower()
    if _stands_in(lowered) or value[0] in "$<{%:" or _REDACTED in lowered:
        return False
    return lowered not in {"pass", "password", "passwd", "pwd", "secret", "token", "x", "pw"}


def _entropy(text: str) -> float:
    """Shannon entropy in bits per character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


# --- rules ---------------------------------------------------------------------------------------------------

_B = r"(?<![A-Za-z0-9])"
_E = r"(?![A-Za-z0-9])"

_KEY_LIKE = (
    r"(?:api|app|access|auth|secret|private|encryption|signing|client|service|account|master|webhook|session|shared"
    r"|storage|subscription|license|deploy|admin|bot|refresh|bearer|id|csrf|consumer)[_\-. ]?(?:key|token|secret)"
    r"|apikey|token|secret|credentials?|auth(?![a-z])"
)
_WORD_LIKE = r"passw(?:or)?d|passphrase|passwd|passcode|pwd|db[_-]?pass|\bpass"
_ASSIGNS = (
    r"""["'`\]]{0,2}\s{0,4}(?:(?:string|String|str)\s{0,2})?"""
    r"""(?:[:?.+]{0,3}={1,3}|=>|->|:|>|(?<=["']),(?=\s{0,2}["']))\s{0,6}"""
)
_BARE = r"""[^\s"'`,;<>(){}\[\]|]"""


def _assignment(names: str, shortest: int) -> str:
    """A name, up to 24 more name characters, an assignment sign, and a bare or quoted value."""
    quoted = "|".join(rf"{mark}([^{mark}\s]{{{shortest},200}}){mark}" for mark in ('"', "'", "`"))
    return rf"(?i:{names})[\w\-]{{0,24}}{_ASSIGNS}(?:{quoted}|({_BARE}{{{shortest},200}})(?![\w(\[{{]))"


RULES: tuple[SecretRule, ...] = (
    SecretRule(
        "aws-access-key",
        "aws_key",
        rf"{_B}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_E}",
        "akia|asia|abia|acca",
        _varied,
    ),
    SecretRule(
        "anthropic-key",
        "anthropic_key",
        rf"{_B}sk-ant-[A-Za-z0-9_-]{{16,200}}",
        "sk-ant-",
        _varied,
    ),
    SecretRule(
        "openrouter-key",
        "openrouter_key",
        rf"{_B}sk-or-(?:v\d-)?[A-Za-z0-9_-]{{20,200}}",
        "sk-or-",
        _varied,
    ),
    SecretRule(
        "stripe-key",
        "stripe_key",
        rf"{_B}(?:[sr]k_(?:live|test|prod)_[A-Za-z0-9]{{10,120}}|whsec_[A-Za-z0-9+/=]{{20,100}}){_E}",
        "k_live_|k_test_|k_prod_|whsec_",
        _varied,
    ),
    SecretRule(
        "openai-key",
        "openai_key",
        rf"{_B}sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{{20,220}}|[A-Za-z0-9]{{20,120}}{_E})",
        "sk-",
        _strange,
    ),
    SecretRule(
        "github-token",
        "github_token",
        rf"{_B}(?:gh[pousr]_[A-Za-z0-9]{{20,255}}|github_pat_[A-Za-z0-9_]{{20,255}}){_E}",
        "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_",
        _varied,
    ),
    SecretRule(
        "gitlab-token",
        "gitlab_token",
        rf"{_B}(?:gl(?:pat|ptt|dt|rt|cbt|oas|soat|ft|imt|agent|ffct|wt)-[A-Za-z0-9_.=-]{{16,300}}"
        rf"|GR1348941[A-Za-z0-9_-]{{20}})",
        "glpat-|glptt-|gldt-|glrt-|glcbt-|gloas-|glsoat-|glft-|glimt-|glagent-|glffct-|glwt-|gr1348941",
        _varied,
    ),
    SecretRule(
        "slack-token",
        "slack_token",
        rf"{_B}(?:xox[abeprs](?:\.xox[bp])?-[A-Za-z0-9-]{{10,250}}|xapp-\d-[A-Za-z0-9-]{{20,250}})",
        "xox|xapp-",
        _strange,
    ),
    SecretRule(
        "slack-webhook",
        "slack_webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,120})",
        "hooks.slack.com",
        _strange,
    ),
    SecretRule(
        "google-api-key",
        "google_key",
        rf"{_B}AIza[A-Za-z0-9_-]{{30,45}}{_E}",
        "aiza",
        _varied,
    ),
    SecretRule(
        "google-oauth",
        "google_key",
        rf"{_B}(?:GOCSPX-[A-Za-z0-9_-]{{28}}|ya29\.[A-Za-z0-9_-]{{20,400}})",
        "gocspx-|ya29.",
        _varied,
    ),
    SecretRule(
        "npm-token",
        "npm_token",
        rf"{_B}npm_[A-Za-z0-9]{{30,60}}{_E}",
        "npm_",
        _varied,
    ),
    SecretRule(
        "pypi-token",
        "pypi_token",
        rf"{_B}pypi-[A-Za-z0-9_-]{{50,1000}}",
        "pypi-",
        _varied,
    ),
    SecretRule(
        "sendgrid-key",
        "sendgrid_key",
        rf"{_B}SG\.[A-Za-z0-9_-]{{16,32}}\.[A-Za-z0-9_=.-]{{16,64}}",
        "sg.",
        _varied,
    ),
    SecretRule(
        "twilio-key",
        "twilio_key",
        rf"{_B}(?:SK|AC)[0-9a-f]{{32}}{_E}",
        "sk|ac",
        _varied,
    ),
    SecretRule(
        "huggingface-token",
        "huggingface_token",
        rf"{_B}(?:hf_|api_org_)[A-Za-z0-9]{{34}}{_E}",
        "hf_|api_org_",
        _varied,
    ),
    SecretRule(
        "digitalocean-token",
        "digitalocean_token",
        rf"{_B}do[opr]_v1_[a-f0-9]{{64}}{_E}",
        "_v1_",
        _varied,
    ),
    SecretRule(
        "shopify-token",
        "shopify_token",
        rf"{_B}shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{{32}}{_E}",
        "shpat_|shpca_|shppa_|shpss_",
        _varied,
    ),
    SecretRule(
        "telegram-token",
        "telegram_token",
        rf"{_B}[0-9]{{8,10}}:AA[A-Za-z0-9_-]{{33}}{_E}",
        ":aa",
        _varied,
    ),
    SecretRule(
        "age-key",
        "age_key",
        rf"{_B}AGE-SECRET-KEY-1[0-9A-Z]{{58}}{_E}",
        "age-secret-key-1",
        _varied,
    ),
    SecretRule(
        "vault-token",
        "vault_token",
        rf"{_B}hv[sb]\.[A-Za-z0-9_-]{{24,300}}",
        "hvs.|hvb.",
        _varied,
    ),
    SecretRule(
        "prefixed-token",
        "token",
        rf"{_B}(?:dckr_pat_|dapi|sq0(?:atp|csp)-|EAAA|lin_api_|ntn_|secret_|figd_|pul-|tfp_|gsk_|xai-"
        r"|nvapi-|pplx-|r8_|tvly-|rubygems_"
        r"|PMAK-|NRAK-|glsa_|glc_|dop_v1_|dp\.pt\.|sntrys_|sntryu_|shippo_live_|atlasv1\.|ATATT3|ATCTT3"
        r"|CCIPAT_|sbp_|rnd_"
        rf"|fio-u-|pnu_|ghapp_|CFPAT-|phc_|phx_)[A-Za-z0-9_.=-]{{20,250}}",
        "dckr_pat_|dapi|sq0|eaaa|lin_api_|ntn_|secret_|figd_|pul-|tfp_|gsk_|xai-|nvapi-|pplx-|r8_|tvly-"
        "|rubygems_|pmak-|nrak-|glsa_|glc_|dop_v1_|dp.pt.|sntrys_|sntryu_|shippo_live_|atlasv1.|atatt3"
        "|atctt3|ccipat_|sbp_|rnd_|fio-u-|pnu_|ghapp_|cfpat-|phc_|phx_",
        _strange,
    ),
    SecretRule(
        "jwt",
        "jwt",
        r"(?<![A-Za-z0-9_-])ey[A-Za-z0-9_-]{10,2000}\.ey[A-Za-z0-9_-]{10,6000}(?:\.[A-Za-z0-9_-]{0,2000})?",
        ".ey",
        _varied,
    ),
    SecretRule(
        "url-credentials",
        "url_password",
        r"""(?<=://)[^\s/:@"'`<>]{0,80}:([^\s/"'`<>]{1,160})@""",
        "://",
        _url_password,
    ),
    SecretRule(
        "authorization",
        "bearer_token",
        rf"(?i:{_B}(?:bearer|basic|authorization[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?(?:token|key|apikey"
        rf"|digest)?))\s{{1,4}}([A-Za-z0-9._~+/=-]{{16,2000}})",
        "bearer|basic|authorization",
        _strange,
    ),
    SecretRule(
        "password-assignment",
        "password",
        _assignment(_WORD_LIKE, 5),
        "pass|pwd",
        _password_value,
    ),
    SecretRule(
        "quoted-password",
        "password",
        rf"(?i:{_WORD_LIKE})[\w\-]{{0,24}}{_ASSIGNS}(?:\"([^\"\n]{{5,100}})\"|'([^'\n]{{5,100}})')",
        "pass|pwd",
        _quoted_password,
    ),
    SecretRule(
        "token-assignment",
        "secret",
        _assignment(_KEY_LIKE, 10),
        "key|token|secret|credential|auth",
        _token_value,
    ),
    SecretRule(
        "spoken-password",
        "password",
        r"(?i:\b(?:password|passphrase|passcode|passwd|pwd|pin(?: code)?)\b(?: (?:for|to|of"
        r"|on) [\w .@/'-]{1,40}?)?)"
        r"\s{0,3}(?i:is now|is|was|has been set to|set to|changed to|will be|are|->"
        r"""|:)\s{1,3}["'`“]?([^\s"'`”,;，。；、<>]{4,64})""",
        "pass|pwd|pin",
        _password_value,
    ),
    SecretRule(
        "spoken-password-zh",
        "password",
        r"(?:密码|密碼|口令|暗号)[^\n,，。;；:：]{0,12}?(?:是|为|為|:|：|=|设为|设置为|改成|改为"
        r"""|换成)\s{0,3}["'`“”「『]?([\x21-\x7e]{4,64})""",
        "密码|密碼|口令|暗号",
        _spoken_password,
    ),
    SecretRule(
        "spoken-key-zh",
        "secret",
        r"(?:(?:密钥|密鑰|秘钥|私钥|令牌|凭证)[^\n,，。;；:：]{0,12}?(?:是|为|為|:|：|=|设为|改成|改为|换成)"
        r"|(?i:api ?key|token)[^\n,，。;；:：]{0,12}?(?:是|为|為|设为|改成|改为|换成))"
        r"""\s{0,3}["'`“”「『]?([\x21-\x7e]{10,400})""",
        "密钥|密鑰|秘钥|私钥|令牌|凭证|key|token",
        _strange,
    ),
)
