"""Decide when the onboarding file leaves the prompt: once the user has told enough about themselves."""

from __future__ import annotations

from guard.lazy_regex import lazy_regex

__all__ = ["ONBOARDING", "USER", "is_filled"]

#: The file that asks the user, and the file that holds the answers.
ONBOARDING, USER = "BOOTSTRAP.md", "USER.md"
#: A line of the form ``- **Name:** Ada`` or ``- Name: Ada``. Full-width colons count.
_BLANK = lazy_regex(
    r"^[ \t]*[-*+][ \t]+(?:\*\*)?(?P<name>[^*:\uff1a\n]{1,40})[:\uff1a](?:\*\*)?[ \t]*(?P<value>[^\n]*)$"
)
#: Part of the blanks that must be filled. The agent takes "skip" for an answer.
_ENOUGH = 0.5
#: Fewest characters of a text without blanks that describe a user.
_MIN_PROSE_CHARS = 40


def is_filled(text: str) -> bool:
    """Return whether the text of USER.md says who the user is.

    At least half of its blanks have a value, or it has no blanks and some prose.

    >>> is_filled("# User\\n\\n- **Name:** Ada\\n- **Role:**\\n"), is_filled("# User\\n\\n- **Name:**\\n- **Role:**\\n")
    (True, False)
    """
    blanks = [match["value"].strip() for line in text.splitlines() if (match := _BLANK.match(line))]
    if blanks:
        return sum(map(bool, blanks)) >= len(blanks) * _ENOUGH
    prose = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", "<!--"))]
    return sum(map(len, prose)) >= _MIN_PROSE_CHARS
