"""Values of the guard's interface: actions, sources, destinations, findings and the verdict."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

__all__ = ["Action", "Destination", "Finding", "Source", "Verdict", "digest"]


class Action(StrEnum):
    """Treatment of a text, mildest first: ``allow < redact < quarantine < reject``.

    Actions compare by severity, so ``max(actions)`` is the strictest one.
    """

    ALLOW = "allow"
    REDACT = "redact"
    QUARANTINE = "quarantine"
    REJECT = "reject"

    @property
    def severity(self) -> int:
        """Severity from 0 (allow) to 3 (reject)."""
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
    """Author of a text. The owner and their agent are trusted. Other participants, tools and web pages are not."""

    USER = "user"
    AGENT = "agent"
    PARTICIPANT = "participant"
    TOOL = "tool"
    WEB = "web"

    @property
    def trusted(self) -> bool:
        """True for the owner and the owner's agent."""
        return self in {Source.USER, Source.AGENT}


class Destination(StrEnum):
    """Target of a text, such as memory or a transcript."""

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
        """True for transcripts and outputs, which are kept as evidence and shown only as quoted data."""
        return self in {Destination.TRANSCRIPT, Destination.OUTPUT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One reported match. It holds position and kind, never the text itself.

    Attributes:
        layer: ``structure``, ``unicode``, ``secret``, ``injection`` or ``pii``.
        rule: the rule that matched, for example ``github-token``.
        kind: name for readers, as in ``[REDACTED:kind]``.
        start, end: half-open character offsets into the text given to ``screen``.
        action: the action for this finding alone.
        digest: 16 hexadecimal digits of the salted BLAKE2b of the matched text. It identifies the same secret in an
            audit. Without a salt, a short secret such as a phone number can be guessed from it.
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
    """Result of one ``screen`` call.

    Attributes:
        action: the strictest action of the findings, ``allow`` without findings.
        text: the text with secrets and personal data replaced and hidden characters removed. It is safe to store
            (``allow``, ``redact``), to keep for review (``quarantine``) or to show in a message (``reject``). It is
            the input itself when nothing was replaced.
        findings: in order of position.
    """

    action: Action
    text: str
    findings: tuple[Finding, ...] = ()

    @property
    def stored(self) -> bool:
        """True when ``text`` may be written to its destination."""
        return self.action <= Action.REDACT


def digest(text: str, salt: str = "") -> str:
    """Return 16 hexadecimal digits of BLAKE2b over *salt* and *text*, which may hold lone surrogates."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=_key(salt), digest_size=8).hexdigest()


@cache
def _key(salt: str) -> bytes:
    """Return *salt*, which may have any length, as a key of 32 bytes."""
    return hashlib.blake2b(salt.encode("utf-8", "surrogatepass"), digest_size=32).digest()
