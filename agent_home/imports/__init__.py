"""Import of conversations into the home's transcripts.

``chat``, ``claude_code``, ``codex`` and ``gemini`` each parse one format. ``batch`` collects their messages. ``intake``
writes them.
"""

from __future__ import annotations

from ..screening.injected_context import strip_injected
from .batch import ParsedFile
from .intake import (
    BrokenLine,
    ImportReport,
    UnreadableFile,
    host_messages,
    import_chat,
    import_claude_code,
    import_codex,
    import_gemini,
    import_host,
    import_messages,
    salt_of,
)

__all__ = [
    "BrokenLine",
    "ImportReport",
    "ParsedFile",
    "UnreadableFile",
    "host_messages",
    "import_chat",
    "import_claude_code",
    "import_codex",
    "import_gemini",
    "import_host",
    "import_messages",
    "salt_of",
    "strip_injected",
]
