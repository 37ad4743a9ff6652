"""From conversations to memory: summaries, claims checked against git, and entries with their sources.

Import every name from its module (``from distill.close import close``). This package exports no names, so that a check
of its settings does not load everything that reads a conversation.
"""

__all__: list[str] = []
