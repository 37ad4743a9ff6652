"""Places in source code: which of them are the project's own."""

from __future__ import annotations

__all__ = ["is_foreign"]

_FOREIGN = (
    "site-packages/", "dist-packages/", "/lib/python", "<frozen ", "node_modules/", "node:", "internal/", "/rustc/",
    "/.cargo/registry/", "/rustlib/", "/pkg/mod/", "/usr/local/go/", "/src/testing/", "/src/runtime/", "/usr/lib/",
    "/usr/include/",
)  # fmt: skip


def is_foreign(path: str) -> bool:
    """Return whether a file belongs to a library or to the language and not to the project.

    >>> is_foreign("/venv/lib/python3.12/json/decoder.py"), is_foreign("src/app.py")
    (True, False)
    """
    return path.startswith("<") or any(part in path for part in _FOREIGN)
