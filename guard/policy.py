"""Which finding leads to which action, by who wrote the text and where it is going.

Owns the errors of the package. The reasons stand in ``decide``; what is found is the detectors'.
"""

from guard.match import Match, Strength
from guard.verdict import Action, Destination, Source


class GuardError(Exception):
    """The guard cannot work as configured. Whoever wanted to write must not: fail closed."""


class RuleError(GuardError):
    """A rule does not compile."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(f"guard rule {rule!r} does not compile ({reason}); correct or remove it, nothing was written")
        self.rule, self.reason = rule, reason


def decide(match: Match, source: Source, destination: Destination) -> Action:
    """Return what *match* alone asks for.

    - What is taken out in place (secrets, personal data, stray invisible characters) redacts, whoever wrote it.
    - Hidden text (bidi overrides, tag characters, selector runs) waits for a person, whoever wrote it.
    - An attack is rejected from tools and the web, quarantined from the user and the agent, who may be writing a
      lesson about it. Quoted, it drops one level: a stranger's quotation waits, one's own passes with a note.
    - Suspicion alone (soft rules) counts only for strangers, and there it waits; quoted it is a note.
    - Chat-template tokens and this system's own markers are attacks in text that becomes instructions or memory.
      A record is shown only as quoted data, and people do talk about ``[INST]``: there the token is replaced in
      place, which takes all its force, and the rest of the message stays. One's own quotation is treated so too.
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
