"""Conversations from elsewhere, brought into the home's transcripts.

``chat`` and ``claude_code`` read a format and know nothing of homes; ``injected`` takes this system's own words out;
``intake`` writes.
"""

from __future__ import annotations

from ..screening.injected_context import strip_injected
from .batch import Parsed
from .intake import Imported, Unread, import_chat, import_claude_code

__all__ = ["Imported", "Parsed", "Unread", "import_chat", "import_claude_code", "strip_injected"]
