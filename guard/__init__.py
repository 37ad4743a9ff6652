"""Screening of text before it becomes memory.

``screen`` is the one gate. It finds secrets, personal data, injected instructions, hidden characters and forged
structure. Its verdict allows the text, redacts it, quarantines it for review or rejects it. The package does no I/O and
imports nothing else of this project.

Names are imported at their first use: a command that screens nothing need not load the rules.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guard.policy import GuardError, RuleError
    from guard.screener import redact_values, screen
    from guard.secrets.gitleaks import rules_from_gitleaks
    from guard.secrets.rule import RuleSet
    from guard.secrets.split import find_in_conversation, find_repeats
    from guard.settings import GuardSettings
    from guard.verdict import Action, Destination, Finding, Source, Verdict

__all__ = [
    "Action",
    "Destination",
    "Finding",
    "GuardError",
    "GuardSettings",
    "RuleError",
    "RuleSet",
    "Source",
    "Verdict",
    "find_in_conversation",
    "find_repeats",
    "redact_values",
    "rules_from_gitleaks",
    "screen",
]

_MODULES = {
    "Action": "guard.verdict",
    "Destination": "guard.verdict",
    "Finding": "guard.verdict",
    "GuardError": "guard.policy",
    "GuardSettings": "guard.settings",
    "RuleError": "guard.policy",
    "RuleSet": "guard.secrets.rule",
    "Source": "guard.verdict",
    "Verdict": "guard.verdict",
    "find_in_conversation": "guard.secrets.split",
    "find_repeats": "guard.secrets.split",
    "redact_values": "guard.screener",
    "rules_from_gitleaks": "guard.secrets.gitleaks",
    "screen": "guard.screener",
}


def __getattr__(name: str) -> Any:
    """Return the public *name*, and import its module first."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value
