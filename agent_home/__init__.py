"""An agent's memory as a folder of Markdown in git: layout, documents, entries, the write gateway, history.

Everything is imported from its module (``from agent_home.store.gateway import transaction``); this package adds no
names, so that reading a document does not load what writing one needs.
"""

__all__: list[str] = []
