"""Rules for secrets without a format: values assigned to a name such as *password*, in addresses and in prose.

A pattern proposes a candidate, and ``accept`` checks its value. Placeholders (``${VAR}``, ``os.environ[...]``,
``YOUR_API_KEY_HERE``, ``xxxx``, ``changeme``), words, paths and names in code pass. A random value alone is never
enough: a name for secrets has to precede it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from guard.secrets.pattern import Spans
from guard.secrets.rule import RuleSet, SecretRule
from guard.secrets.value import (
    is_basic_credentials,
    is_bracketed_password,
    is_encoded_value,
    is_environment_password,
    is_key_value,
    is_mentioned_token,
    is_password_value,
    is_quoted_password,
    is_random_token,
    is_spoken_password,
    is_token_value,
    is_told_password,
    is_url_password,
    is_varied,
)
from guard.text.canonical import TextVariant
from guard.text.quick_search import first_place

__all__ = ["GENERIC", "GenericRule"]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class GenericRule(SecretRule):
    """A rule of this module, run by Python's ``re``.

    The patterns need look-behind and look-ahead, which RE2 does not have. Every repetition in them is bounded, so
    their time is linear, which ``tests/guard/test_screener_linear_time.py`` measures. Rules of users never run here.

    Attributes:
        pattern: regular expression in Python's syntax, ASCII classes.
        anchor: a quick pattern that matches the lower-cased text wherever *pattern* can match. Empty means that
            *pattern* itself is searched for.
        quick: pattern for ``guard.text.quick_search`` that occurs wherever *pattern* matches. Empty means none.
    """

    anchor: str = ""
    quick: str = ""

    def matches(self, variant: TextVariant) -> Iterator[Spans]:
        """Yield the matches of the pattern in the text of *variant*."""
        if self.quick and first_place(self.quick, variant.utf8) < 0:
            return
        pattern = _compiled(self.pattern)
        if not self.anchor:
            yield from (match.regs for match in pattern.finditer(variant.text))
            return
        behind = 0
        for place in variant.places(_compiled(self.anchor)):
            if place >= behind and (match := pattern.match(variant.text, place)):
                behind = match.end()
                yield match.regs

    def check(self) -> None:
        """Compile the patterns."""
        _compiled(self.pattern)
        _compiled(self.anchor)


_B = r"(?<![A-Za-z0-9])"

_KEY_LIKE = (
    r"token(?!iz)|secret|cred(?:ential)?s?(?![a-z])|auth(?![a-z])"
    r"|(?:api|app|access|auth|private|encryption|signing|client|service|account|master|webhook|session|shared|storage"
    r"|subscription|license|deploy|admin|bot|refresh|bearer|id|csrf|consumer|publishable|server|site|user)[_\-. ]?key"
)
# Look-behinds follow the first character: `re` searches for a fixed first character much more quickly.
_WORD_LIKE = r"p(?:assw(?:or)?d|assphrase|asscode|wd|(?<![a-z]p)ass|(?<=dbp)ass|(?<=userp)ass|(?<=[_-]p)w(?![a-z]))"
_OTHER_KEYS = (
    "cache|primary|foreign|partition|sort|public|idempotency|i18n|object|lookup|hash|group|dedup|row|index|registry"
    "|translation|message|composite|unique|hot|short|dictionary|config|feature|label|map|state|query|routing|event"
    "|issue|jira|project|mon|don|tur|hoc|joc"
)
_KEYS = (
    r"(?<=[A-Za-z_.-])(?i:"
    + "".join(rf"(?<!{name}{sign})" for name in _OTHER_KEYS.split("|") for sign in ("", "_", "-", "[.]"))
    + "key)"
)
"""The end of a name in *key*, except names such as *primary key* that hold no secret."""

_ASSIGNS = (
    r"""["'`\]]{0,2}\s{0,4}(?:(?:string|String|str)\s{0,2})?"""
    r"""(?:[:?.+!]{0,3}={1,3}|=>|->|:{1,3}|>|(?<=["']),(?=\s{0,2}["'])|\((?=["'])"
    r"|(?:["'\s]{1,3}value["']?\s{0,2}[:=]))"""
    r"""[\s(]{0,6}"""
)
_NO_CLIENT_ID = r"(?<!(?i:client[_-]id))(?<!(?i:clientid))"
"""The end of the name of an identifier that the browser of every user sends."""

_NO_KEY = r"(?!\s{0,2}:)"
"""The end of a quoted value. A colon behind it makes it the name of the next field: ``"Action":"pass","Package":``."""

_BARE = r"""[^\s"'`,;<>(){}\[\]|\\]"""


def _assignment(names: str, shortest: int) -> str:
    """Return a pattern: a name, up to 24 more name characters, an assignment sign, a bare or quoted value."""
    quoted = "|".join(rf"[@\\]?{mark}([^{mark}\s]{{{shortest},400}}?)\\?{mark}" for mark in ('"', "'", "`"))
    return rf"(?i:{names})[\w\-]{{0,24}}{_NO_CLIENT_ID}{_ASSIGNS}(?:{quoted}|({_BARE}{{{shortest},400}})(?![\w(\[{{]))"


GENERIC = RuleSet(
    (
        GenericRule(
            name="jwt",
            kind="jwt",
            pattern=(
                r"(?<![A-Za-z0-9_-])ey[A-Za-z0-9_-]{10,2000}\.ey[A-Za-z0-9_-]{10,6000}(?:\.[A-Za-z0-9_-]{0,2000})?"
            ),
            keywords=(".ey",),
            accept=is_varied,
        ),
        GenericRule(
            name="url-credentials",
            kind="url_password",
            pattern=r"""(?<=://)[^\s/:@"'`<>]{0,80}:([^\s/"'`<>]{1,160})@""",
            keywords=("://",),
            accept=is_url_password,
        ),
        GenericRule(
            name="basic-authorization",
            kind="basic_credentials",
            pattern=rf"(?i:{_B}basic)\s{{1,4}}([A-Za-z0-9+/]{{8,400}}={{0,2}})",
            keywords=("basic",),
            accept=is_basic_credentials,
        ),
        GenericRule(
            name="authorization",
            kind="bearer_token",
            pattern=(
                rf"(?i:{_B}(?:bearer|basic|authorization[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?(?:token|key|apikey"
                rf"|digest)?))\s{{1,4}}([A-Za-z0-9._~+/=-]{{16,2000}})"
            ),
            keywords=("bearer", "basic", "authorization"),
            accept=is_random_token,
        ),
        GenericRule(
            name="command-credentials",
            kind="password",
            pattern=(
                r"(?:\bcurl\b[^\n|;]{0,300}?\s(?:-u|--user)[\s=]{1,2}|\b(?:wget|http)\b[^\n|;]{0,300}?\s(?:-a"
                r"|--auth)\s)"
                r"""["']?[^\s:"']{1,80}:([^\s"']{3,120})"""
            ),
            keywords=("curl", "wget", "http"),
            accept=is_spoken_password,
        ),
        GenericRule(
            name="command-key",
            kind="secret",
            pattern=r"""\bcurl\b[^\n|;]{0,300}?\s(?:-u|--user)[\s=]{1,2}["']?([^\s:"']{8,200}):(?=["'\s])""",
            keywords=("curl",),
            accept=is_random_token,
        ),
        GenericRule(
            name="option-password",
            kind="password",
            pattern=r"""-(?<=\s-)-?(?:password|passwd|pass|pw)[\s=]["']?([^\s"']{5,120})""",
            keywords=("-p",),
            accept=is_password_value,
        ),
        GenericRule(
            name="option-token",
            kind="secret",
            pattern=r"""-(?<=\s-)-?[\w-]{0,30}(?:token|secret|api-?key|access-?key|auth)[\s=]["']?([^\s"']{12,400})""",
            keywords=("-",),
            accept=is_token_value,
        ),
        GenericRule(
            name="netrc",
            kind="password",
            pattern=r"(?i:\b(?:login|user)\s{1,4}\S{1,80}\s{1,8}password)\s{1,4}(\S{4,120})",
            keywords=("login", "user"),
            quick=r"(?i)(?:login|user)[\s\x0b]{1,4}\S{1,80}[\s\x0b]{1,8}password",
            accept=is_spoken_password,
        ),
        GenericRule(
            name="element-secret",
            kind="secret",
            pattern=(
                r"(?i)<[\w.:-]{0,40}(?:secret|passw(?:or)?d|passphrase|token|api-?_?key|private-?_?key|access-?_?key)"
                r"[\w.-]{0,20}(?:\s[^<>]{0,80})?>\s{0,8}\{?(?:[A-Z]{9}\s)?([^\s<>{}]{6,2000})\}?\s{0,8}</"
            ),
            keywords=("</",),
            accept=is_quoted_password,
        ),
        GenericRule(
            name="kubernetes-secret",
            kind="secret",
            pattern=(
                r"(?m)^[ \t]{1,8}[\w.-]{1,60}:[ \t]{0,4}(?:[|>]-?[ \t]{0,4}\n[ \t]{1,12})?"
                r"""["']?([A-Za-z0-9+/]{10,4000}={0,2})["']?[ \t]{0,4}$"""
            ),
            keywords=("kind: secret", 'kind: "secret', "kind: 'secret"),
            accept=is_encoded_value,
        ),
        GenericRule(
            name="password-assignment",
            kind="password",
            pattern=_assignment(_WORD_LIKE, 5),
            keywords=("pass", "pwd", "_pw", "-pw"),
            anchor=_WORD_LIKE,
            accept=is_password_value,
        ),
        GenericRule(
            name="quoted-password",
            kind="password",
            pattern=(
                rf"(?i:{_WORD_LIKE})[\w\-]{{0,24}}{_ASSIGNS}[@\\]?"
                rf"(?:\"([^\"\n]{{5,100}})\"|'([^'\n]{{5,100}})'){_NO_KEY}"
            ),
            keywords=("pass", "pwd", "_pw", "-pw"),
            anchor=_WORD_LIKE,
            accept=is_quoted_password,
        ),
        GenericRule(
            name="environment-password",
            kind="password",
            pattern=(
                r"(?:\b(?:[A-Z0-9]{1,30}_){0,5}(?:PASSWORD|PASSWD|PWD|PASS|PASSPHRASE)|[;&?](?i:password|pwd))"
                r"=([^\s\"'`;&,<>(){}$]{6,100})(?=[\s;&]|$)"
            ),
            keywords=("pass", "pwd"),
            quick=r"(?:PASSWORD|PASSWD|PWD|PASS|PASSPHRASE|[;&?](?i:password|pwd))=",
            accept=is_environment_password,
        ),
        GenericRule(
            name="bracketed-password",
            kind="password",
            pattern=rf"(?i:{_WORD_LIKE})[\w\-]{{0,24}}{_ASSIGNS}[\"'`]?([^\s\"'`]{{12,100}})",
            keywords=("pass", "pwd"),
            anchor=_WORD_LIKE,
            accept=is_bracketed_password,
        ),
        GenericRule(
            name="bracketed-secret",
            kind="secret",
            pattern=rf"(?i:{_KEY_LIKE})[\w\-]{{0,24}}{_ASSIGNS}[\"'`]?([^\s\"'`]{{12,100}})",
            keywords=("secret", "key", "token"),
            anchor=_KEY_LIKE,
            accept=is_bracketed_password,
        ),
        GenericRule(
            name="compared-secret",
            kind="secret",
            pattern=rf"[\"']([^\"'\s]{{6,200}})[\"']\s{{0,3}}[!=]={{1,2}}\s{{0,3}}[\w.]{{0,30}}(?i:{_WORD_LIKE}|{_KEY_LIKE})",
            keywords=("==", "!="),
            accept=is_quoted_password,
        ),
        GenericRule(
            name="token-assignment",
            kind="secret",
            pattern=_assignment(_KEY_LIKE, 10),
            keywords=("key", "token", "secret", "cred", "auth"),
            anchor=_KEY_LIKE,
            accept=is_token_value,
        ),
        GenericRule(
            name="key-assignment",
            kind="secret",
            pattern=_assignment(_KEYS, 16),
            keywords=("key",),
            anchor="key",
            accept=is_key_value,
        ),
        GenericRule(
            name="mentioned-token",
            kind="secret",
            pattern=(
                r"(?i:\b(?:(?:api|access|secret|auth|license|master|private)[ _-]?(?:key|token)s?"
                r"|token|secret|credentials?)\b)"
                r"[^\n]{0,40}?[\s:=\"'`(]([A-Za-z0-9_+-]{20,200}={0,2})(?![\w./@-])"
            ),
            keywords=("key", "token", "secret", "credential"),
            anchor=r"(?:api|access|secret|auth|license|master|private)[ _-]?(?:key|token)|token|secret|credential",
            accept=is_mentioned_token,
        ),
        GenericRule(
            name="spoken-password",
            kind="password",
            pattern=(
                r"(?i:\b(?:password|passphrase|passcode|passwd|pwd|pin(?: code)?)\b(?: (?:for|to|of"
                r"|on) [\w .@/'-]{1,40}?)?)"
                r"\s{0,3}(?i:is now|is|was|has been set to|set to|changed to|will be|are|->"
                r"""|:)\s{1,3}["'`“]?([^\s"'`”,;，。；、<>]{4,64})"""
            ),
            keywords=("pass", "pwd", "pin"),
            accept=is_told_password,
        ),
        GenericRule(
            name="spoken-password-zh",
            kind="password",
            pattern=(
                r"(?:密码|密碼|口令|暗号)[^\n,，。;；:：\[]{0,12}?(?:是|为|為|:|：|=|设为|设置为|改成|改为"
                r"""|换成)\s{0,3}["'`“”「『]?([\x21-\x7e]{4,64})"""
            ),
            keywords=("密码", "密碼", "口令", "暗号"),
            accept=is_spoken_password,
        ),
        GenericRule(
            name="spoken-key-zh",
            kind="secret",
            pattern=(
                r"(?:密钥|密鑰|秘钥|私钥|令牌|凭证)[^\n,，。;；:：]{0,12}?(?:是|为|為|:|：|=|设为|改成|改为|换成)"
                r"""\s{0,3}["'`“”「『]?([\x21-\x7e]{10,400})"""
            ),
            keywords=("密钥", "密鑰", "秘钥", "私钥", "令牌", "凭证"),
            accept=is_random_token,
        ),
        GenericRule(
            name="spoken-token-zh",
            kind="secret",
            pattern=(
                r"(?i:api ?key|token)[^\n,，。;；:：]{0,12}?(?:是|为|為|设为|改成|改为|换成)"
                r"""\s{0,3}["'`“”「『]?([\x21-\x7e]{10,400})"""
            ),
            keywords=("是", "为", "為", "改成", "换成"),
            accept=is_random_token,
        ),
    )
)
"""Generic rules in order. A general rule does not report the match of a specific one again."""
