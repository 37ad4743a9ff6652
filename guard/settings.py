"""Settings of the guard: limits, policy by destination and rule files."""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from guard.policy import GuardError
from guard.secrets.rule import RuleSet
from guard.verdict import Destination

__all__ = ["GuardSettings", "InjectionModel"]


@runtime_checkable
class InjectionModel(Protocol):
    """A function from a text to the likelihood, 0 to 1, that it is an injection."""

    def __call__(self, text: str, /) -> float:
        """Return the likelihood that *text* is an injection."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSettings:
    """Limits and policy of the guard.

    Attributes:
        max_chars: longest text in characters for an entry, a profile, settings or a prompt block. A longer one is
            rejected.
        max_document_chars: longest text in characters for whole files and records (transcript, output, knowledge,
            project, daily). They are scanned completely, never only a prefix.
        entries: destinations where a text becomes one list item. A heading in such a text would forge structure.
        keep_email: destinations that may hold the owner's e-mail addresses.
        keep_phone: destinations that may hold the owner's telephone numbers.
        keep_own_contact: True when a person's own e-mail address and telephone number stay in memory and in records
            where that person gives them as such ("my number is ..."). Group and trusted prompts read neither file.
        keep_originals_days: days for which the originals of messages that lost personal data stay in quarantine.
            0 keeps none. Messages with a secret are never kept.
        salt: key of the digests in findings, which makes them unguessable across homes.
        rules: paths of rule files in gitleaks' format.
        model: a function from a text to the likelihood, 0 to 1, that it is an injection. None disables it. An
            exception of the model becomes a ``GuardError``.
        model_threshold: likelihood from which text from a tool or the web is quarantined instead of stored in memory.
        loaded: rule sets from ``rules_from_gitleaks``, used beside the bundled rules. The guard reads no files: the
            caller reads *rules* and sets *loaded*. While *rules* names files and *loaded* is None, ``screen`` raises
            ``GuardError``.
    """

    max_chars: int = 65_536
    max_document_chars: int = 4_194_304
    entries: frozenset[Destination] = frozenset({Destination.MEMORY})
    keep_email: frozenset[Destination] = frozenset({Destination.USER_PROFILE})
    keep_phone: frozenset[Destination] = frozenset({Destination.USER_PROFILE})
    keep_own_contact: bool = True
    keep_originals_days: int = 30
    salt: str = field(default="", repr=False)
    rules: tuple[str, ...] = ()
    loaded: tuple[RuleSet, ...] | None = field(default=None, repr=False, metadata={"setting": False})
    model: InjectionModel | None = field(default=None, repr=False, metadata={"setting": False})
    model_threshold: float = 0.5

    def rule_sets(self) -> tuple[RuleSet, ...]:
        """Return the loaded rule sets.

        Raises:
            GuardError: *rules* names files and *loaded* is None.
        """
        if self.rules and self.loaded is None:
            raise GuardError(f"guard rule files {', '.join(self.rules)} are named but not loaded. Nothing was written")
        return self.loaded or ()

    def limit(self, destination: Destination) -> int:
        """Return the greatest number of characters allowed in *destination*."""
        return self.max_document_chars if destination in _DOCUMENTS else self.max_chars


_DOCUMENTS = frozenset(
    {
        Destination.TRANSCRIPT,
        Destination.OUTPUT,
        Destination.KNOWLEDGE,
        Destination.PROJECT,
        Destination.DAILY,
    }
)
