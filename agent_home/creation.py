"""Creation of a home: the template's files, a git repository, and the first commit.

Running it again adds missing files and changes no existing one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path

from guard.lazy_regex import lazy_regex

from .consent.settings_in_effect import accept_settings
from .documents.entry import Entry, new_id, section_of
from .errors import GuardRefused, NotCreatable, SettingsInvalid
from .git import commits
from .git.hook import HookState, install_hook
from .git.merge_driver import ATTRIBUTES, install_driver, with_driver
from .home import ALIASES, MEMORY, Home, is_text
from .screening.quarantine import Quarantined
from .screening.service import ScreeningService
from .screening.write_policy import reason_of
from .settings import MANIFEST, OwnerSettings, load_manifest, parse_manifest
from .storage import PRIVATE_FOLDER
from .store.gateway import Transaction, transaction
from .store.speakers import owner_waits

__all__ = ["Created", "create", "template_files", "with_owner"]

#: Files of the template that cannot carry their own name inside a package.
_RENAMED = {"gitignore": ".gitignore", "gitattributes": ".gitattributes"}
#: The table [owner], up to the next table, comment or blank line.
_OWNER_TABLE = lazy_regex(r"^\[owner\][ \t]*\n(?:[ \t]*\w[^\n]*\n?)*", re.MULTILINE)
_FOLDERS = ("DailyActivity", "Knowledge", "Projects", "Archive", "ledger", "sessions", "outputs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """Result of :func:`create`. *commit* is ``None`` when nothing was missing.

    *redacted* counts the seeds that the guard redacted, and *quarantined* holds those that it quarantined. *hook* is
    the commit hook that screens commits made by hand. *outer* is the home in a folder above, or ``None``.
    """

    home: Home
    commit: str | None
    files: tuple[str, ...]
    redacted: int = 0
    quarantined: tuple[Quarantined, ...] = ()
    hook: HookState
    outer: Path | None = None


def create(
    root: Path,
    *,
    name: str = "",
    seeds: Sequence[str] = (),
    owner: OwnerSettings | None = None,
    now: datetime,
) -> Created:
    """Create a home in *root* called *name* (default: the folder's name), with *seeds* as its first preferences.

    A folder that is not there yet is made for its owner alone.

    A home that has a name already keeps it. The names and accounts of *owner* are added to those that the home knows.

    Raises:
        NotCreatable: the folder cannot be made.
        HistoryError: git is absent or refused.
        GuardRefused: the guard could not run.
        SettingsInvalid: the existing ``agent.toml`` is invalid, or the owner that it names waits for consent.
    """
    root = root.expanduser().absolute()
    if not is_text(str(root)):
        raise NotCreatable(root, "its name is not UTF-8, and SQLite opens no such path")
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        root.mkdir(PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        reason = f"{error.filename} is a file" if isinstance(error, FileExistsError) else error.strerror
        raise NotCreatable(root, reason or str(error)) from error
    existed = (root / MANIFEST).exists()
    home = Home(root) if existed else Home(root, load_manifest(_template() / MANIFEST))
    title = " ".join((home.manifest.name if existed else name or root.name).split())
    if not existed:
        _refuse_unstorable(home, title)
    commits.init(root)
    message = f"Add missing files to the home of {title}" if existed else f"Make the home of {title}"
    with transaction(home, actor="init", message=message, source="user", now=now) as edits:
        for path, text in template_files():
            if not _exists(root, path):
                edits.write(path, text.replace("{{name}}", _escaped(title) if path == MANIFEST else title))
        if owner is not None and owner.known:
            _refuse_while_owner_waits(home)
            known = home.manifest.settings("owner", OwnerSettings)
            edits.write(MANIFEST, with_owner(edits.text(MANIFEST), home.path(MANIFEST), known, owner))
        edits.write(ATTRIBUTES, with_driver(edits.text(ATTRIBUTES)))
        for seed in seeds:
            _add_seed(edits, seed, now)
    for folder in _FOLDERS:
        (root / folder).mkdir(exist_ok=True)
    if not existed:  # the person who makes a home agrees to what the template says
        accept_settings(load_manifest(root / MANIFEST), home.machine)
    elif owner is not None and owner.known:
        accept_settings(load_manifest(root / MANIFEST), home.machine, ("owner.names", "owner.accounts"))
    hook = install_hook(home)
    install_driver(home)
    outcome = edits.outcome
    return Created(
        home=Home(root), commit=outcome.commit, files=outcome.paths, redacted=outcome.redacted,
        quarantined=outcome.quarantined, hook=hook,
        outer=next((folder for folder in root.parents if (folder / MANIFEST).is_file()), None),
    )  # fmt: skip


def with_owner(text: str, path: Path, known: OwnerSettings, owner: OwnerSettings) -> str:
    """Return the text of an ``agent.toml`` whose ``[owner]`` has the names and accounts of *known* and *owner*.

    Others that the text has, perhaps from a pull, are left out.

    Raises:
        SettingsInvalid: *text* is no valid manifest, or its ``[owner]`` is written in a form that is not recognised.
    """
    more = {
        "names": tuple(dict.fromkeys((*known.names, *(" ".join(name.split()) for name in owner.names)))),
        "accounts": tuple(dict.fromkeys((*known.accounts, *owner.accounts))),
    }
    lines = [f"{key} = {json.dumps(list(values), ensure_ascii=False)}\n" for key, values in more.items() if values]
    table = f"[owner]\n{''.join(lines)}"
    if "owner" in parse_manifest(text, path).tables:
        made = _OWNER_TABLE.sub(lambda _: table, text, count=1)
    else:
        made = f"{text.rstrip()}\n\n# Who the owner is. Everybody else in a chat speaks for themselves.\n{table}"
    if parse_manifest(made, path).settings("owner", OwnerSettings) != OwnerSettings(**more):
        raise SettingsInvalid(f"{path}: [owner]", "is written in an unusual form. Add the names and accounts by hand")
    return made


def _refuse_while_owner_waits(home: Home) -> None:
    """Refuse to name an owner where ``agent.toml`` names one already and nobody here has agreed or refused.

    Raises:
        SettingsInvalid: names or accounts of the owner wait for consent.
    """
    waits = [f"{item.key} = {json.dumps(item.value, ensure_ascii=False)}" for item in home.manifest.waiting
             if item.key.startswith("owner.")]  # fmt: skip
    if owner_waits(home):
        reason = f"names an owner already, which waits for your consent: {'; '.join(waits)}"
        raise SettingsInvalid(
            f"{home.path(MANIFEST)}: [owner]",
            f"{reason}. Run `memory trust accept`, or `memory trust reject` if that is not you, and then add yours",
        )


def _refuse_unstorable(home: Home, name: str) -> None:
    """Refuse a *name* with a secret or an attack: it goes into files, the first commit and the audit.

    Raises:
        GuardRefused: the name may not be stored as it is.
    """
    verdict = ScreeningService(home).verdict("USER.md", name, "user")
    if not verdict.stored or any(finding.layer in {"secret", "pii"} for finding in verdict.findings):
        raise GuardRefused("the home's name", f"it holds {reason_of(verdict)}. Choose another one with --name")


def template_files() -> Iterator[tuple[str, str]]:
    """Yield ``(path in the home, text)`` of every file of a new home, in order of the path."""
    folder = _template()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in {".py", ".pyc"} and path.name != "py.typed":
            relative = path.relative_to(folder).as_posix()
            yield _RENAMED.get(relative, relative), path.read_text(encoding="utf-8")


def _template() -> Path:
    with resources.as_file(resources.files("agent_home.template")) as folder:
        return folder


def _escaped(name: str) -> str:
    """Return *name* escaped for the inside of a TOML string."""
    return json.dumps(name, ensure_ascii=False)[1:-1]


def _exists(root: Path, path: str) -> bool:
    return (root / path).exists() or (path in ALIASES and (root / ALIASES[path]).exists())


def _add_seed(edits: Transaction, seed: str, now: datetime) -> None:
    """Add *seed* as a standing preference, unless an equal one exists."""
    rule = section_of("SP")
    document = edits.read(MEMORY)
    text = " ".join(seed.split())
    seed_id = new_id("SP", f"seed\0{text}", ())
    if rule is None or not text or any(text == e.text or seed_id == e.id for e in document.section_entries(rule.title)):
        return
    entry = Entry(id=edits.new_id("SP", f"seed\0{text}"), date=f"{now:%Y-%m-%d}", title=text, fields={"Origin": "user"})
    edits.write(MEMORY, document.with_entry(rule.title, entry))
