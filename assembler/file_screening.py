"""The home's own files on their way into a prompt pass the guard once more: people edit them by hand.

What fails stands in the prompt as a placeholder that names it, never the text; the receipt says so. A text is looked
at once: its digest, under this home's rules, is kept on this machine, so that the next prompt pays for hashing alone,
and does not load the guard. The record is a cache; where it is lost or cannot be written, texts are looked at again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from agent_home import storage
from agent_home.home import Home
from agent_home.screening.ruleset import guard_signature, text_key

from .receipt import EntryLine

if TYPE_CHECKING:
    from agent_home.screening.inspector import Inspector, Remark

__all__ = ["Gate", "Seen"]

#: Digests that are remembered: several versions of a few thousand blocks.
_MOST_KEPT = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A file's text as a model may see it, and what was taken out of it. *problem*: why own rules could not be used."""

    text: str
    lines: tuple[EntryLine, ...] = ()
    problem: str = ""


class Gate:
    """Shows files of one home as a model may see them. One for each prompt."""

    def __init__(self, home: Home) -> None:
        self._looking = _Looking(
            root=str(home.root), signature=guard_signature(home), approvals=_stamp(home), home=home
        )  # fmt: skip

    def seen(self, path: str, text: str) -> Seen:
        """The Markdown *text* of the file *path* as a model may see it."""
        return _seen(self._looking, path, text)

    def remember(self) -> None:
        """Keep what was found clean, for the next process."""
        looking = self._looking
        if looking.fresh and not looking.inspector.problem:
            kept = [*(key for key in looking.known if key not in looking.fresh), *looking.fresh][-_MOST_KEPT:]
            storage.keep(_record(looking.home), json.dumps(kept).encode())


@dataclass(frozen=True, kw_only=True)
class _Looking:
    """How texts are judged now. Equal when verdicts are: two prompts of one process share what they found."""

    root: str
    signature: str
    approvals: tuple[int, int]
    home: Home = field(compare=False)
    fresh: dict[str, None] = field(default_factory=dict, compare=False)

    @cached_property
    def known(self) -> dict[str, None]:
        """Keys of texts that some prompt before found clean, oldest first."""
        try:
            data = json.loads(_record(self.home).read_bytes())
        except (OSError, ValueError):
            return {}
        return dict.fromkeys(key for key in data if isinstance(key, str)) if isinstance(data, list) else {}

    @cached_property
    def inspector(self) -> Inspector:
        """Loaded when the first text is not known: the guard takes longer to load than a prompt to assemble."""
        from agent_home.screening.inspector import Inspector

        return Inspector(self.home, reading=True)


@lru_cache(maxsize=64)
def _seen(looking: _Looking, path: str, text: str) -> Seen:
    if not text or text_key(looking.signature, path, text) in looking.known:
        return Seen(text=text)
    shown = looking.inspector.shown(path, text, looking.known)
    looking.fresh.update((key, None) for key in shown.clean if key not in looking.known)
    problem = looking.inspector.problem
    return Seen(
        text=shown.text,
        lines=_lines(shown.remarks),
        problem=f"{problem}; texts are judged by the bundled rules" if problem else "",
    )


def _lines(remarks: Iterable[Remark]) -> tuple[EntryLine, ...]:
    """What was taken out of a file, for the receipt: an entry by its id, anything else by file and line."""
    found: dict[str, list[Remark]] = {}
    for remark in remarks:
        found.setdefault(remark.where, []).append(remark)
    return tuple(
        EntryLine(
            id=where,
            action="blocked" if any(remark.fails for remark in group) else "redacted",
            reason=", ".join(dict.fromkeys(remark.what for remark in group)),
            tokens=0,
        )
        for where, group in found.items()
    )


def _record(home: Home) -> Path:
    return home.machine / "screened.json"


def _stamp(home: Home) -> tuple[int, int]:
    """Changes when people approve texts, which were blocked until then."""
    try:
        status = (home.root / "ledger" / "approved.jsonl").stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
