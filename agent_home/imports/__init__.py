"""Import of conversations into the home's transcripts.

``chat`` and ``claude_code`` each parse one format. ``batch`` collects their messages. ``intake`` writes them.
"""

from __future__ import annotations

from ..screening.injected_context import strip_injected
from .batch import ParsedFile
from .intake import BrokenLine, ImportReport, UnreadableFile, import_chat, import_claude_code, import_messages

__all__ = [
    "BrokenLine",
    "ImportReport",
    "ParsedFile",
    "UnreadableFile",
    "import_chat",
    "import_claude_code",
    "import_messages",
    "strip_injected",
]
