"""The words the guard answers in: actions, sources, destinations, findings and the verdict.

Values only. Which finding leads to which action is ``guard.policy``'s; how text is read is ``guard.screen``'s.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache


class Action(StrEnum):
    """What happens to a text, mildest first: ``allow < redact < quarantine < reject``.

    Comparison is by severity, not by spelling, so ``max(actions)`` is the strictest one.
    """

    ALLOW = "allow"
    REDACT = "redact"
    QUARANTINE = "quarantine"
    REJECT = "reject"

    @property
    def severity(self) -> int:
        """0 for allow to 3 for reject."""
        return _SEVERITY[self.value]

    def __lt__(self, other: str) -> bool:
        return self.severity < Action(other).severity

    def __le__(self, other: str) -> bool:
        return self.severity <= Action(other).severity

    def __gt__(self, other: str) -> bool:
        return self.severity > Action(other).severity

    def __ge__(self, other: str) -> bool:
        return self.severity >= Action(other).severity


_SEVERITY = {"allow": 0, "redact": 1, "quarantine": 2, "reject": 3}


class Source(StrEnum):
    """Who wrote the text. A person and their agent are trusted; tool results and web pages are not."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    WEB = "web"

    @property
    def trusted(self) -> bool:
        """Whether the text comes from the owner or the owner's agent."""
        return self in {Source.USER, Source.AGENT}


class Destination(StrEnum):
    """What the text is about to become part of."""

    MEMORY = "memory"
    USER_PROFILE = "user_profile"
    DAILY = "daily"
    KNOWLEDGE = "knowledge"
    PROJECT = "project"
    TRANSCRIPT = "transcript"
    OUTPUT = "output"
    PROMPT = "prompt"
    SETTINGS = "settings"

    @property
    def record(self) -> bool:
        """Whether the text is kept as evidence of what was said or printed, and only ever shown as quoted data."""
        return self in {Destination.TRANSCRIPT, Destination.OUTPUT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing the guard saw. It says where and what kind, and never holds the text itself.

    Attributes:
        layer: ``structure``, ``unicode``, ``secret``, ``injection``, ``pii`` or ``provenance``.
        rule: the rule that matched, for example ``github-token``.
        kind: what it means to a reader; also what stands in ``[REDACTED:kind]``.
        start, end: half-open character offsets into the text given to ``screen``.
        action: what this finding alone asks for.
        digest: 16 hexadecimal digits, salted BLAKE2b of the matched text, to recognise the same secret again in
            an audit. Without a salt a short secret, such as a phone number, can be guessed from it.
    """

    layer: str
    rule: str
    kind: str
    start: int
    end: int
    action: Action
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer to one ``screen`` call.

    Attributes:
        action: the strictest action any finding asks for; ``allow`` without findings.
        text: the text with secrets and personal data replaced and hidden characters removed. For ``allow`` and
            ``redact`` it is what to store; for ``quarantine`` what is safe to keep for review; for ``reject``
            what is safe to show in a message. Identical to the input when nothing had to be replaced.
        findings: in order of position.
    """

    action: Action
    text: str
    findings: tuple[Finding, ...] = ()

    @property
    def stored(self) -> bool:
        """Whether ``text`` may be written where it was meant to go."""
        return self.action <= Action.REDACT


def digest(text: str, salt: str = "") -> str:
    """Return 16 hexadecimal digits of BLAKE2b over *salt* and *text*; any string, lone surrogates included."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=_key(salt), digest_size=8).hexdigest()


@cache
def _key(salt: str) -> bytes:
    """A salt of any length as a key of the length BLAKE2b takes."""
    return hashlib.blake2b(salt.encode("utf-8", "surrogatepass"), digest_size=32).digest()
