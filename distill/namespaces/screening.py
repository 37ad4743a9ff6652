"""Screen what enters a namespace: an exchange before it is logged, and each memory before it is stored.

A secret is replaced in the log already. An exchange with an injected instruction is logged and held back: nothing is
read from it, and no search finds it. A guard that cannot run stops the write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_home.errors import GuardRefused
from recall.postgres.storable_text import storable_text

if TYPE_CHECKING:
    from guard import GuardSettings, Verdict

__all__ = ["ExchangeScreening", "NamespaceGuard"]

_LOG, _MEMORY = "transcript", "memory"
_PLACE = "the namespace"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeScreening:
    """Both sides of an exchange as they may be logged. *held* says why nothing is read from it, or is empty."""

    user_input: str
    ai_output: str
    held: str = ""
    redacted: bool = False


class NamespaceGuard:
    """The guard for namespaces. An object may be shared between threads."""

    def __init__(self, settings: GuardSettings | None = None) -> None:
        self._given = settings

    def exchange(self, user_input: str, ai_output: str, source: str) -> ExchangeScreening:
        """Screen both sides of an exchange, whose user is *source* to the guard.

        Raises:
            GuardRefused: the guard cannot run, or a side is longer than it reads.
        """
        from agent_home.screening.shared_secrets import with_shared_secrets
        from agent_home.screening.write_policy import reason_of

        texts = [storable_text(user_input), storable_text(ai_output)]
        sources = [source, "agent"]
        verdicts = [self._verdict(text, author, _LOG) for text, author in zip(texts, sources, strict=True)]
        shared = with_shared_secrets(texts, verdicts, ["user", "assistant"])
        verdicts = [
            verdict if text == before else self._verdict(text, author, _LOG)
            for text, before, author, verdict in zip(shared, texts, sources, verdicts, strict=True)
        ]
        held = ", ".join(dict.fromkeys(reason_of(verdict) for verdict in verdicts if not verdict.stored))
        clean = [verdict.text for verdict in verdicts]
        return ExchangeScreening(user_input=clean[0], ai_output=clean[1], held=held, redacted=clean != texts)

    def memory(self, text: str, source: str) -> str | None:
        """Return the statement *text* as it may become a memory, or ``None`` if it may not.

        Raises:
            GuardRefused: the guard cannot run.
        """
        verdict = self._verdict(storable_text(text), source, _MEMORY)
        return " ".join(verdict.text.split()) if verdict.stored else None

    def allows(self, name: str) -> bool:
        """Return whether a name of a session or a message may be stored as it is."""
        return self._verdict(name, "participant", _LOG).action == "allow"

    def _verdict(self, text: str, source: str, destination: str) -> Verdict:
        from agent_home.screening.verdicts import verdicts_under
        from guard import GuardError, GuardSettings

        try:
            verdict = verdicts_under(self._given or GuardSettings()).to_store(text, source, destination)
        except GuardError as error:
            raise GuardRefused(_PLACE, f"it cannot run: {error}") from error
        if any(finding.rule == "oversize" for finding in verdict.findings):
            raise GuardRefused(_PLACE, f"{len(text)} characters are more than it reads at once. Split the text")
        return verdict
