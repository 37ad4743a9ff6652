"""What may become memory: text in, verdict out.

``screen`` is the one gate. It finds secrets, personal data, injected instructions, hidden characters and forged
structure, and says whether the text may be stored as it is, redacted, after a person's review, or not at all.
The package does no I/O and imports nothing else of this project.
"""

from guard.policy import GuardError, GuardSettings, RuleError
from guard.screen import screen
from guard.verdict import Action, Destination, Finding, Source, Verdict

__all__ = [
    "Action",
    "Destination",
    "Finding",
    "GuardError",
    "GuardSettings",
    "RuleError",
    "Source",
    "Verdict",
    "screen",
]
