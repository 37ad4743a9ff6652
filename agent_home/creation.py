"""Making a home: the template's files, a git repository, and the first commit.

Doing it again adds what is missing and changes nothing that is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path

from .documents.entry import Entry, new_id, section_of
from .git import history
from .git.hook import HookState, install_hook
from .git.merge_driver import ATTRIBUTES, install_driver, with_driver
from .home import ALIASES, MEMORY, Home
from .screening.quarantine import Quarantined
from .settings import MANIFEST, load_manifest
from .store.gateway import Transaction, transaction

__all__ = ["Created", "create", "template_files"]

#: Files of the template that cannot carry their own name inside a package.
_RENAMED = {"gitignore": ".gitignore", "gitattributes": ".gitattributes"}
_FOLDERS = ("DailyActivity", "Knowledge", "Projects", "Archive", "ledger", "sessions", "outputs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """What :func:`create` did. *commit* is ``None`` when nothing was missing.

    *redacted* counts the seeds of which the guard took something out, *quarantined* are those that it held back. *hook*
    is the commit hook that screens what people commit by hand.
    """

    home: Home
    commit: str | None
    files: tuple[str, ...]
    redacted: int = 0
    quarantined: tuple[Quarantined, ...] = ()
    hook: HookState


def create(root: Path, *, name: str = "", seeds: Sequence[str] = (), now: datetime) -> Created:
    """Make *root* a home called *name* (default: the folder's name), with *seeds* as its first preferences.

    A home that has a name already keeps it.

    Raises:
        HistoryError: git is absent or refused.
        GuardRefused: the guard could not run.
        SettingsInvalid: there is an ``agent.toml`` that does not say what it must.
    """
    root = root.expanduser().absolute()
    root.mkdir(parents=True, exist_ok=True)
    history.init(root)
    made = (root / MANIFEST).exists()
    home = Home(root) if made else Home(root, load_manifest(_template() / MANIFEST))
    called = " ".join((home.manifest.name if made else name or root.name).split())
    message = f"Add what was missing in the home of {called}" if made else f"Make the home of {called}"
    with transaction(home, actor="init", message=message, source="user", now=now) as edits:
        for path, text in template_files():
            if not _exists(root, path):
                edits.write(path, text.replace("{{name}}", _quoted(called) if path == MANIFEST else called))
        edits.write(ATTRIBUTES, with_driver(edits.text(ATTRIBUTES)))
        for seed in seeds:
            _add_seed(edits, seed, now)
    for folder in _FOLDERS:
        (root / folder).mkdir(exist_ok=True)
    hook = install_hook(home)
    install_driver(home)
    outcome = edits.outcome
    return Created(
        home=Home(root), commit=outcome.commit, files=outcome.paths, redacted=outcome.redacted,
        quarantined=outcome.quarantined, hook=hook,
    )  # fmt: skip


def template_files() -> Iterator[tuple[str, str]]:
    """``(path in the home, text)`` of every file that a new home starts with, in order of the path."""
    folder = _template()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in {".py", ".pyc"} and path.name != "py.typed":
            relative = path.relative_to(folder).as_posix()
            yield _RENAMED.get(relative, relative), path.read_text(encoding="utf-8")


def _template() -> Path:
    with resources.as_file(resources.files("agent_home.template")) as folder:
        return folder


def _quoted(name: str) -> str:
    """*name* as it stands between the quotes of a TOML string."""
    return json.dumps(name, ensure_ascii=False)[1:-1]


def _exists(root: Path, path: str) -> bool:
    return (root / path).exists() or (path in ALIASES and (root / ALIASES[path]).exists())


def _add_seed(edits: Transaction, seed: str, now: datetime) -> None:
    """Add *seed* as a standing preference, unless one says the same already."""
    rule = section_of("SP")
    document = edits.read(MEMORY)
    text = " ".join(seed.split())
    planted = new_id("SP", f"seed\0{text}", ())
    if rule is None or not text or any(text == e.text or planted == e.id for e in document.section_entries(rule.title)):
        return
    entry = Entry(id=edits.new_id("SP", f"seed\0{text}"), date=f"{now:%Y-%m-%d}", title=text, fields={"Origin": "user"})
    edits.write(MEMORY, document.with_entry(rule.title, entry))
