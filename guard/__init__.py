"""Screening of text before it becomes memory.

``screen`` is the one gate. It finds secrets, personal data, injected instructions, hidden characters and forged
structure. Its verdict allows the text, redacts it, quarantines it for review or rejects it. The package does no I/O and
imports nothing else of this project.
"""

from guard.policy import GuardError, RuleError
from guard.screen import screen
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
    "rules_from_gitleaks",
    "screen",
]
