"""Limits, policy by destination, and the rule files of a user's own."""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from guard.policy import GuardError
from guard.secrets.rule import RuleSet
from guard.verdict import Destination


@runtime_checkable
class InjectionModel(Protocol):
    """A function from a text to the likelihood, 0 to 1, that it is an injection."""

    def __call__(self, text: str, /) -> float:
        """Return the likelihood."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSettings:
    """Limits and policy; everything else is fixed.

    Attributes:
        max_chars: longest text for an entry, a profile, settings or a prompt block; a longer one is rejected.
        max_document_chars: the same for whole files and records (transcript, output, knowledge, project, daily).
            These are scanned as a whole, never only a prefix: every rule is bounded, so time grows with length.
        entries: destinations where a text becomes one list item, so that a heading in it forges structure.
        keep_email, keep_phone: destinations that may hold the owner's addresses and numbers.
        salt: makes digests in findings unguessable across homes.
        rules: paths of rule files in gitleaks' format. The guard reads no files: whoever takes the settings from a
            configuration reads these and sets *loaded*. While *rules* names files and *loaded* is None, every
            ``screen`` raises ``GuardError``.
        model: a function from a text to the likelihood, 0 to 1, that it is an injection; None asks nobody. What it
            raises becomes a ``GuardError``: nothing is written.
        model_threshold: from where on a stranger's text that is to become memory waits for a person.
        loaded: what ``rules_from_gitleaks`` made of their texts, used beside the bundled rules.
    """

    max_chars: int = 65_536
    max_document_chars: int = 4_194_304
    entries: frozenset[Destination] = frozenset({Destination.MEMORY})
    keep_email: frozenset[Destination] = frozenset({Destination.USER_PROFILE})
    keep_phone: frozenset[Destination] = frozenset({Destination.USER_PROFILE})
    salt: str = field(default="", repr=False)
    rules: tuple[str, ...] = ()
    loaded: tuple[RuleSet, ...] | None = field(default=None, repr=False, metadata={"setting": False})
    model: InjectionModel | None = field(default=None, repr=False, metadata={"setting": False})
    model_threshold: float = 0.5

    def rule_sets(self) -> tuple[RuleSet, ...]:
        """Return the loaded rule files.

        Raises:
            GuardError: files are named that nobody has loaded.
        """
        if self.rules and self.loaded is None:
            raise GuardError(f"guard rule files {', '.join(self.rules)} are named but not loaded; nothing was written")
        return self.loaded or ()

    def limit(self, destination: Destination) -> int:
        """Return the greatest number of characters allowed there."""
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
