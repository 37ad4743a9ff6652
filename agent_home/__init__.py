"""An agent's memory as a folder of Markdown in git: layout, documents, entries, the write gateway, history.

Import every name from its module (``from agent_home.store.gateway import transaction``). This package exports no names,
so that reading a document does not load the modules for writing.
"""

__all__: list[str] = []
