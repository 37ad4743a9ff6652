"""The policy of the guard and its errors.

``decide`` maps a match to an action by the source and the destination of the text.
"""

from guard.match import Match, Strength
from guard.verdict import Action, Destination, Source

__all__ = ["GuardError", "RuleError", "SlowRule", "decide"]


class GuardError(Exception):
    """The guard cannot work as configured. The caller must not write."""


class RuleError(GuardError):
    """A rule or a rule file is invalid."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(f"guard rule {rule!r} does not compile ({reason}); correct or remove it, nothing was written")
        self.rule, self.reason = rule, reason


class SlowRule(RuleError):
    """A rule took too long on one text."""

    def __init__(self, rule: str, seconds: float) -> None:
        GuardError.__init__(
            self,
            f"guard rule {rule!r} took more than {seconds:g} s on one text; let it look less far, as with .{{0,100}}"
            " for .*, or remove it, nothing was written",
        )
        self.rule, self.reason = rule, "too slow"


def decide(match: Match, source: Source, destination: Destination) -> Action:
    """Return the action for *match* alone.

    - Secrets, personal data and stray invisible characters are redacted from every source.
    - Hidden text (bidi overrides, tag characters, selector runs) is quarantined from every source.
    - An attack from a tool or the web is rejected. An attack from the user or the agent is quarantined, because it
      may be part of a lesson about attacks. A quotation lowers the action by one level.
    - A soft match counts only in text from a tool or the web. It is quarantined there, or allowed in a quotation.
    - Chat-template tokens and markers of this system are attacks in text that becomes instructions or memory. A
      record is shown only as quoted data, and people do write about ``[INST]``. There the token is replaced in
      place and the rest of the message stays. Quotations by the user or the agent are treated the same way.
    """
    fixed = _FIXED.get(match.strength)
    if fixed is not None:
        return fixed
    mild = Action.ALLOW if match.replacement is None else Action.REDACT
    if match.replacement is not None and destination.record:
        return mild
    if match.strength is Strength.SOFT:
        return mild if source.trusted or match.quoted else Action.QUARANTINE
    if source.trusted:
        return mild if match.quoted else Action.QUARANTINE
    return Action.QUARANTINE if match.quoted else Action.REJECT


_FIXED = {
    Strength.NOTE: Action.ALLOW,
    Strength.CLEAN: Action.REDACT,
    Strength.HIDDEN: Action.QUARANTINE,
}
