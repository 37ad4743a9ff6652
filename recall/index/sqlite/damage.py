"""Marks a damaged index, so that the next sync sets it aside and builds a new one from the files.

A search that meets the damage only reads, and must not wait for a rebuild. It leaves the mark, and the process that
holds the lock of the index's writer next, which may be the same one, does the work.
"""

from __future__ import annotations

from pathlib import Path

from agent_home import storage

from . import schema

__all__ = ["is_marked", "mark", "set_marked_aside", "sound"]


def mark(index: Path, error: object) -> str:
    """Mark *index* as damaged, and return what to tell. Where nothing can be written, it is only told."""
    storage.write_cache(_mark(index), f"{error}\n".encode("utf-8", "replace"))
    return f"the index is damaged ({error}). The next search or `memory sync` rebuilds it"


def is_marked(index: Path) -> bool:
    """Return whether somebody met damage in *index*."""
    return _mark(index).exists()


def set_marked_aside(index: Path) -> str:
    """Set a marked index aside, and return a note about it, or an empty string. Call with the writer's lock held."""
    if not is_marked(index):
        return ""
    note = ""
    if index.exists():
        aside = schema.set_aside(index)
        note = f"the index was damaged. It is now {aside.name}, and the index was rebuilt"
    storage.remove(_mark(index))
    return note


def sound(index: Path) -> bool:
    """Read every page of *index*, and mark it when one is damaged. Return whether it is sound, absent or locked."""
    try:
        conn = schema.open_reader(index)
    except schema.IndexBusy:  # it can be read later
        return True
    except schema.IndexCorrupt as error:
        mark(index, error)
        return False
    if conn is None:
        return True
    try:
        ((said,),) = schema.rows(conn, "PRAGMA quick_check(1)")
        if said != "ok":
            mark(index, " ".join(str(said).split()))
    except schema.CORRUPTION_ERRORS as error:
        said = str(error)
        mark(index, error)
    finally:
        conn.close()
    return bool(said == "ok")


def _mark(index: Path) -> Path:
    return index.with_name(f"{index.name}.damaged")
