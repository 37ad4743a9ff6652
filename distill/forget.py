"""Forgetting: taking an entry or a text out of everything that a home keeps, and proving that it is gone.

In this order, each step of which can be repeated: the files that git knows, in one commit with a tombstone;
transcripts, outputs and what lies in ``.memory``; the index; and, where that is asked for, git's history. Then
everything is searched again. A forgetting that was killed is finished by asking for it again. Blocks that a disk has
freed, backups, remotes and clones are out of reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from agent_home.documents.entry import ENTRY_ID, Entry
from agent_home.errors import DocumentInvalid, HistoryError, NoSuchEntry
from agent_home.forgetting.erasure import (
    Occurrence,
    erase,
    find_in_files,
    find_in_history,
    is_gateway_file,
    redacted_path,
    tracked_files,
)
from agent_home.forgetting.purge import (
    PurgeReport,
    commit_map,
    drop_commit_map,
    purge,
    refuse_shared,
    remote_addresses,
    with_new_hashes,
)
from agent_home.forgetting.redaction_target import RedactionTarget, find_entries, redacted
from agent_home.forgetting.structural_words import structural_name
from agent_home.forgetting.text_matcher import Phrase
from agent_home.forgetting.tombstones import LEDGER, Tombstone, tombstone, tombstone_name, tombstones
from agent_home.git import history
from agent_home.git.objects import object_kinds, objects
from agent_home.home import Home
from agent_home.lock import hold
from agent_home.salt import ensure_salt, read_salt
from agent_home.settings import MANIFEST, parse_manifest
from agent_home.storage import read_text
from agent_home.store import catalogue
from agent_home.store.gateway import Transaction, WriteOutcome, transaction
from agent_home.store.recovery import recover
from agent_home.store.uncommitted_edits import failing_edits
from recall.index import erasure as index
from recall.settings import RecallSettings

__all__ = ["MIN_CHARS", "ForgetResult", "StructuralWord", "TextTooShort", "forget", "places", "redaction_target"]

#: A shorter text stands in too many words that mean something else.
MIN_CHARS = 4
#: What an entry says is looked for elsewhere when it is at least so long, and so many words or letters that are not
#: ASCII: a word or two that it shares with other texts are not its own.
_PART_CHARS, _PART_WORDS = 16, 3
_PART_WIDE = 6
#: ``progress(what)``, before each step.
Progress = Callable[[str], None]


class TextTooShort(ValueError):
    """The text is so short that it stands in words which mean something else."""

    def __init__(self, chars: int) -> None:
        super().__init__(
            f"a text of {chars} characters stands in too many words; give at least {MIN_CHARS}, or --exact-id for an "
            "identifier that stands alone"
        )


class StructuralWord(ValueError):
    """The text stands in a name that the home is built of."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the text stands in {name!r}, a name that the home itself is made of; give more of what is to be forgotten"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetResult:
    """What was done. *before* is where it stood, *remaining* where it stands still.

    *purged* is ``None`` where no purge was asked for, or none was needed; *warnings* say what is out of reach or was
    left undone; *commit* is the one that took it out of the
    files, ``None`` when no file that git knows said it.
    """

    name: str
    before: tuple[Occurrence, ...]
    remaining: tuple[Occurrence, ...]
    warnings: tuple[str, ...] = ()
    commit: str | None = None
    purged: PurgeReport | None = None

    @property
    def in_history(self) -> tuple[Occurrence, ...]:
        """Those of *remaining* that only a purge takes away."""
        return tuple(place for place in self.remaining if place.kind == "history")


def redaction_target(home: Home, text: str, *, exact: bool = False) -> RedactionTarget:
    """What is meant by *text*: the entry of that id with all it ever said, or the text itself.

    *exact* takes *text* for an identifier: spelled just so, and standing alone.

    Raises:
        TextTooShort: *text* is too short to be looked for.
        StructuralWord: *text* stands in a name that the home is made of.
        NoSuchEntry: it is an id that no entry has, ever had, or was forgotten by.
        HistoryError: the history cannot be read.
    """
    salt = read_salt(home)
    entry_id = text.strip().strip("[]").upper()
    if exact or not ENTRY_ID.fullmatch(entry_id):
        phrase = Phrase(text.strip(), exact)
        if not phrase.folded or (len(phrase.folded) < MIN_CHARS and not exact):
            raise TextTooShort(len(phrase.folded))
        if name := structural_name(home, phrase):
            raise StructuralWord(name)
        return RedactionTarget((phrase,), name=tombstone_name(phrase, salt))
    entries = list(_versions(home, entry_id))
    if not entries and not any(grave.id == entry_id for grave in tombstones(home)):
        raise NoSuchEntry(entry_id)
    phrases = [Phrase(part) for part in dict.fromkeys(part for entry in entries for part in _parts(entry))]
    own = tuple(phrase for phrase in phrases if not structural_name(home, phrase))
    return RedactionTarget(own, entry_id, tombstone_name(Phrase(entry_id, exact=True), salt))


def places(home: Home, target: RedactionTarget, *, progress: Progress | None = None) -> list[Occurrence]:
    """Everywhere that it stands: files, index, and git with all its objects.

    Raises:
        HistoryError: the history cannot be read.
    """
    say = progress or _silent
    say("searching the files")
    found = list(find_in_files(home, target))
    say("searching the index")
    found += [Occurrence(kind="index", path=f"{file}: {what}") for file, what in index.occurrences(home, target)]
    say("searching git's objects")
    return found + find_in_history(home, target)


def forget(
    home: Home, text: str, *, now: datetime, exact: bool = False, history_too: bool = False,
    actor: str = "forget", progress: Progress | None = None,
) -> ForgetResult:  # fmt: skip
    """Take *text*, or the entry whose id it is, out of the home; with *history_too* out of git's history as well.

    Raises:
        TextTooShort, StructuralWord, NoSuchEntry: see :func:`redaction_target`.
        HistoryError: the history cannot be made anew, see :func:`agent_home.forgetting.purge.refuse_shared`; nothing
        was changed. DocumentInvalid, SettingsInvalid: a file would not be what it must be without it; nothing was
        changed. HomeError, RecallError: a step could not be done; doing it again goes on from there.
    """
    say = progress or _silent
    with hold(home.lock):
        recover(home)
        ensure_salt(home)
        if history_too:
            refuse_shared(home)
    target = redaction_target(home, text, exact=exact)
    before = places(home, target, progress=progress)
    say("changing the files")
    done = _out_of_memory(home, target, len(before), actor, now) if before else WriteOutcome()
    commit = done.commit
    with hold(home.lock):
        recover(home)
        _commit_known(home, erase(home, target), target, actor)
    say("building the index anew")
    notes = index.erase(home, home.manifest.settings("recall", RecallSettings)) if before else []
    purged = None
    if history_too and (commit_map(home) or any(place.kind == "history" for place in before)):
        say("making the history anew")
        _refuse_kept(home, target)
        with hold(home.lock):
            purged = purge(home, target)
        _name_anew(home, target, actor, now)
        commit = purged.commits.get(commit or "", commit)
    remaining = places(home, target, progress=progress)
    return ForgetResult(
        name=target.name, before=tuple(before), remaining=tuple(remaining), commit=commit, purged=purged,
        warnings=(*notes, *_left_uncommitted(home, done), *_out_of_reach(home)),
    )  # fmt: skip


def _versions(home: Home, entry_id: str) -> Iterator[Entry]:
    """What the entry says and said: in the files, and in every object of git's."""
    for path in sorted(home.root.glob("**/*.md")):
        try:
            yield from find_entries(read_text(path), entry_id)
        except (DocumentInvalid, OSError):
            continue
    try:
        for item in objects(home.root, [oid for oid, kind in object_kinds(home.root).items() if kind == "blob"]):
            if f"[{entry_id}]".encode() in item.data:
                yield from find_entries(item.data.decode("utf-8", "replace"), entry_id)
    except HistoryError:
        if history.head(home.root):
            raise


def _parts(entry: Entry) -> Iterator[str]:
    """What stands of an entry where else its matter is told: all it says, its title and its body, if they say enough
    to be known as its own.
    """
    for part in (entry.text, entry.title.removesuffix("…"), entry.body, *entry.detail.splitlines()):
        if _says_enough(part):
            yield part.strip()


def _says_enough(part: str) -> bool:
    folded = Phrase(part).folded
    if sum(not char.isascii() for char in folded) >= _PART_WIDE:
        return True
    return len(folded) >= _PART_CHARS and len(folded.split()) >= _PART_WORDS


def _out_of_memory(home: Home, target: RedactionTarget, count: int, actor: str, now: datetime) -> WriteOutcome:
    """Change the files that git knows, and set the tombstones, in one commit."""
    known = tracked_files(home)
    with transaction(home, actor=actor, message=f"Forget {target.name}", source="user", now=now) as edits:
        edits.together = True  # a commit of its own for what a person typed would put it into the history
        catalogue.refresh(edits)
        on_disk = {home.relative(path) for path in home.root.glob("**/*.md")}
        for path in sorted(known | on_disk):
            if is_gateway_file(path, known) and path != LEDGER and (home.root / path).is_file():
                _change(edits, path, target)
        set_already = {grave.digest for grave in tombstones(home)}
        rows = [grave for grave in _graves(home, target, count, actor, now) if grave.digest not in set_already]
        edits.append(LEDGER, [asdict(grave) for grave in rows])
    return edits.outcome


def _change(edits: Transaction, path: str, target: RedactionTarget) -> None:
    try:
        text = edits.text(path)
    except DocumentInvalid:  # no text; its place is reported
        return
    done, name = redacted(path, text, target), redacted_path(path, target)
    if path == MANIFEST and done != text:
        parse_manifest(done, edits.home.root / path)
    if name != path:
        edits.write(path, "")
    if done != text or name != path:
        edits.write(name, done)


def _graves(home: Home, target: RedactionTarget, count: int, actor: str, now: datetime) -> Iterator[Tombstone]:
    salt = read_salt(home)
    phrases = target.phrases or (Phrase(target.entry_id, exact=True),)
    for phrase in phrases:
        yield tombstone(
            phrase, salt, ts=now.isoformat(), name=target.name, entry_id=target.entry_id, places=count, actor=actor
        )


def _commit_known(home: Home, changed: Sequence[tuple[str, str]], target: RedactionTarget, actor: str) -> None:
    """Commit those of the changed files, by old and new path, that git knows: a home may keep its transcripts there."""
    known = tracked_files(home)
    paths = list(dict.fromkeys(path for pair in changed if pair[0] in known for path in pair))
    if paths:
        history.commit_files(home.root, paths, f"Forget {target.name}", {"Actor": actor})


def _name_anew(home: Home, target: RedactionTarget, actor: str, now: datetime) -> None:
    """Give the ledgers the new ids of the home's own commits that they name."""
    renamed = commit_map(home)
    subject = f"Name the commits as they are called after {target.name}"
    with transaction(home, actor=actor, message=subject, source="user", now=now) as edits:
        for path in sorted((home.root / "ledger").glob("*.jsonl")) if renamed else ():
            text = edits.text(home.relative(path))
            edits.write(home.relative(path), with_new_hashes(text.encode(), renamed).decode())
    drop_commit_map(home)


def _refuse_kept(home: Home, target: RedactionTarget) -> None:
    """A file that git knows and that cannot be changed here would be brought back by the next commit of it."""
    known = tracked_files(home)
    for place in find_in_files(home, target):
        if place.path in known:
            raise DocumentInvalid(place.path, place.line, "not-forgotten", place.note or "says it still; change it")


def _left_uncommitted(home: Home, done: WriteOutcome) -> Iterator[str]:
    for remark in failing_edits(home) if done.paths else ():
        if remark.path in done.paths:
            yield (
                f"{remark.path} was changed and not committed: an edit made there by hand has {remark.name} in line"
                f" {remark.line}; take it out, and commit the file"
            )


def _out_of_reach(home: Home) -> Iterator[str]:
    for name, address in remote_addresses(home).items():
        yield (
            f"remote {name} ({address}) may hold it: after a purge, push with --force and make every clone anew; "
            "a fetch or pull before that brings it back"
        )


def _silent(what: str) -> None:
    """Progress that nobody watches."""
