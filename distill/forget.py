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
from agent_home.forgetting.erasure import Place, erase, file_places, history_places, is_memory, new_name, tracked
from agent_home.forgetting.purge import Purged, copies, purge, refuse_shared, renamed_commits, settle, with_new_ids
from agent_home.forgetting.redaction_target import Wanted, entries_in, without
from agent_home.forgetting.structural_words import skeleton_name
from agent_home.forgetting.text_matcher import Phrase
from agent_home.forgetting.tombstones import LEDGER, Tombstone, name_of, tombstone, tombstones
from agent_home.git import history
from agent_home.git.objects import kinds, objects
from agent_home.home import Home
from agent_home.lock import hold
from agent_home.salt import ensure_salt, read_salt
from agent_home.settings import MANIFEST, parse_manifest
from agent_home.storage import read_text
from agent_home.store import catalogue
from agent_home.store.gateway import Outcome, Transaction, transaction
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
    before: tuple[Place, ...]
    remaining: tuple[Place, ...]
    warnings: tuple[str, ...] = ()
    commit: str | None = None
    purged: Purged | None = None

    @property
    def in_history(self) -> tuple[Place, ...]:
        """Those of *remaining* that only a purge takes away."""
        return tuple(place for place in self.remaining if place.kind == "history")


def redaction_target(home: Home, text: str, *, exact: bool = False) -> Wanted:
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
        if name := skeleton_name(home, phrase):
            raise StructuralWord(name)
        return Wanted((phrase,), name=name_of(phrase, salt))
    entries = list(_versions(home, entry_id))
    if not entries and not any(grave.id == entry_id for grave in tombstones(home)):
        raise NoSuchEntry(entry_id)
    phrases = [Phrase(part) for part in dict.fromkeys(part for entry in entries for part in _parts(entry))]
    own = tuple(phrase for phrase in phrases if not skeleton_name(home, phrase))
    return Wanted(own, entry_id, name_of(Phrase(entry_id, exact=True), salt))


def places(home: Home, wanted: Wanted, *, progress: Progress | None = None) -> list[Place]:
    """Everywhere that it stands: files, index, and git with all its objects.

    Raises:
        HistoryError: the history cannot be read.
    """
    say = progress or _silent
    say("searching the files")
    found = list(file_places(home, wanted))
    say("searching the index")
    found += [Place(kind="index", path=f"{file}: {what}") for file, what in index.occurrences(home, wanted)]
    say("searching git's objects")
    return found + history_places(home, wanted)


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
    wanted = redaction_target(home, text, exact=exact)
    before = places(home, wanted, progress=progress)
    say("changing the files")
    done = _out_of_memory(home, wanted, len(before), actor, now) if before else Outcome()
    commit = done.commit
    with hold(home.lock):
        recover(home)
        _commit_known(home, erase(home, wanted), wanted, actor)
    say("building the index anew")
    notes = index.erase(home, home.manifest.settings("recall", RecallSettings)) if before else []
    purged = None
    if history_too and (renamed_commits(home) or any(place.kind == "history" for place in before)):
        say("making the history anew")
        _refuse_kept(home, wanted)
        with hold(home.lock):
            purged = purge(home, wanted)
        _name_anew(home, wanted, actor, now)
        commit = purged.commits.get(commit or "", commit)
    remaining = places(home, wanted, progress=progress)
    return ForgetResult(
        name=wanted.name, before=tuple(before), remaining=tuple(remaining), commit=commit, purged=purged,
        warnings=(*notes, *_left_uncommitted(home, done), *_out_of_reach(home)),
    )  # fmt: skip


def _versions(home: Home, entry_id: str) -> Iterator[Entry]:
    """What the entry says and said: in the files, and in every object of git's."""
    for path in sorted(home.root.glob("**/*.md")):
        try:
            yield from entries_in(read_text(path), entry_id)
        except (DocumentInvalid, OSError):
            continue
    try:
        for item in objects(home.root, [oid for oid, kind in kinds(home.root).items() if kind == "blob"]):
            if f"[{entry_id}]".encode() in item.data:
                yield from entries_in(item.data.decode("utf-8", "replace"), entry_id)
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


def _out_of_memory(home: Home, wanted: Wanted, count: int, actor: str, now: datetime) -> Outcome:
    """Change the files that git knows, and set the tombstones, in one commit."""
    known = tracked(home)
    with transaction(home, actor=actor, message=f"Forget {wanted.name}", source="user", now=now) as edits:
        edits.together = True  # a commit of its own for what a person typed would put it into the history
        catalogue.refresh(edits)
        on_disk = {home.relative(path) for path in home.root.glob("**/*.md")}
        for path in sorted(known | on_disk):
            if is_memory(path, known) and path != LEDGER and (home.root / path).is_file():
                _change(edits, path, wanted)
        set_already = {grave.digest for grave in tombstones(home)}
        rows = [grave for grave in _graves(home, wanted, count, actor, now) if grave.digest not in set_already]
        edits.append(LEDGER, [asdict(grave) for grave in rows])
    return edits.outcome


def _change(edits: Transaction, path: str, wanted: Wanted) -> None:
    try:
        text = edits.text(path)
    except DocumentInvalid:  # no text; its place is reported
        return
    done, name = without(path, text, wanted), new_name(path, wanted)
    if path == MANIFEST and done != text:
        parse_manifest(done, edits.home.root / path)
    if name != path:
        edits.write(path, "")
    if done != text or name != path:
        edits.write(name, done)


def _graves(home: Home, wanted: Wanted, count: int, actor: str, now: datetime) -> Iterator[Tombstone]:
    salt = read_salt(home)
    phrases = wanted.phrases or (Phrase(wanted.entry_id, exact=True),)
    for phrase in phrases:
        yield tombstone(
            phrase, salt, ts=now.isoformat(), name=wanted.name, entry_id=wanted.entry_id, places=count, actor=actor
        )


def _commit_known(home: Home, changed: Sequence[tuple[str, str]], wanted: Wanted, actor: str) -> None:
    """Commit those of the changed files, by old and new path, that git knows: a home may keep its transcripts there."""
    known = tracked(home)
    paths = list(dict.fromkeys(path for pair in changed if pair[0] in known for path in pair))
    if paths:
        history.commit_files(home.root, paths, f"Forget {wanted.name}", {"Actor": actor})


def _name_anew(home: Home, wanted: Wanted, actor: str, now: datetime) -> None:
    """Give the ledgers the new ids of the home's own commits that they name."""
    renamed = renamed_commits(home)
    subject = f"Name the commits as they are called after {wanted.name}"
    with transaction(home, actor=actor, message=subject, source="user", now=now) as edits:
        for path in sorted((home.root / "ledger").glob("*.jsonl")) if renamed else ():
            text = edits.text(home.relative(path))
            edits.write(home.relative(path), with_new_ids(text.encode(), renamed).decode())
    settle(home)


def _refuse_kept(home: Home, wanted: Wanted) -> None:
    """A file that git knows and that cannot be changed here would be brought back by the next commit of it."""
    known = tracked(home)
    for place in file_places(home, wanted):
        if place.path in known:
            raise DocumentInvalid(place.path, place.line, "not-forgotten", place.note or "says it still; change it")


def _left_uncommitted(home: Home, done: Outcome) -> Iterator[str]:
    for remark in failing_edits(home) if done.paths else ():
        if remark.path in done.paths:
            yield (
                f"{remark.path} was changed and not committed: an edit made there by hand has {remark.name} in line"
                f" {remark.line}; take it out, and commit the file"
            )


def _out_of_reach(home: Home) -> Iterator[str]:
    for name, address in copies(home).items():
        yield (
            f"remote {name} ({address}) may hold it: after a purge, push with --force and make every clone anew; "
            "a fetch or pull before that brings it back"
        )


def _silent(what: str) -> None:
    """Progress that nobody watches."""
