"""Forget an entry or a text: remove it from everything that a home keeps, and verify the removal.

The steps run in a fixed order, and each can be repeated:

1. the files in git, in one commit with a tombstone
2. transcripts, outputs and machine state
3. the index
4. on request, git's history

Then everything is searched again. Running the command again finishes a removal that was killed. Freed disk blocks,
backups, remotes and clones are out of reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from unicodedata import normalize

from agent_home.backup.known_backups import known_backups
from agent_home.documents.entry import ENTRY_ID
from agent_home.errors import DocumentInvalid
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
    with_new_hashes,
)
from agent_home.forgetting.redaction_target import RedactionTarget, redacted, without_empty_entries
from agent_home.forgetting.structural_words import structural_name
from agent_home.forgetting.text_matcher import Phrase, has_word_borders
from agent_home.forgetting.tombstones import LEDGER, Tombstone, tombstone, tombstone_name, tombstones
from agent_home.forgetting.variants import encoded, respelled, topic_words
from agent_home.git import commits
from agent_home.git.fetching import remote_addresses
from agent_home.home import Home
from agent_home.lease.publication import pack_outbox
from agent_home.outputs.erasure import drop_outputs, outputs_with
from agent_home.salt import ensure_salt, read_salt
from agent_home.screening.originals import drop_originals
from agent_home.settings import MANIFEST, parse_manifest
from agent_home.sharing.folders import shared_folders
from agent_home.sharing.waiting_texts import redact as redact_waiting
from agent_home.store import catalogue
from agent_home.store.gateway import Transaction, WriteOutcome, transaction
from agent_home.store.machine_state import hold_home
from agent_home.store.moved_head import note_head
from agent_home.store.recovery import marked_git, recover
from agent_home.store.uncommitted_edits import failing_edits
from recall.hot_state import drop_hot_state
from recall.index import erasure as index
from recall.settings import RecallSettings

from .entry_target import RemovalPlan, Turns, entry_plan

__all__ = [
    "MIN_CHARS",
    "NOT_SEARCHED",
    "ForgetResult",
    "StructuralWord",
    "TextTooShort",
    "forget",
    "places",
    "removal_plan",
]

#: A shorter text is part of too many unrelated words. A Chinese, Japanese or Korean character counts twice: a name has
#: two or three of them.
MIN_CHARS = 4
#: What is not looked for, as the command says it.
NOT_SEARCHED = (
    "other words for it",
    "one of its words alone",
    "misspellings, nicknames and other scripts",
    "letters set apart",
    "encodings besides base64, hexadecimal digits, percent, HTML entities and escapes of programs",
    "compressed files, pictures and other binary files",
)
#: ``progress(step)``, called before each step.
Progress = Callable[[str], None]


class TextTooShort(ValueError):
    """The text is so short that it is part of unrelated words."""

    def __init__(self, text: str) -> None:
        advice = ", or use --exact-id for an identifier that stands alone" if any(map(has_word_borders, text)) else ""
        super().__init__(
            f"a text of length {len(text)} is part of too many words. Give at least {MIN_CHARS} characters, or "
            f"{MIN_CHARS // 2} in Chinese, Japanese or Korean{advice}"
        )


class StructuralWord(ValueError):
    """The text is part of a name in the structure of the home."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the text is part of {name!r}, a name in the structure of the home. Give a longer text")


#: Outputs that a warning names.
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetResult:
    """The result of :func:`forget`.

    *before* holds the places found before the removal, and *remaining* those found after it. *purged* is ``None`` when
    no purge was requested or needed. *warnings* name what is out of reach or was not done. *commit* removed the text
    from the files and is ``None`` when no file in git had it.
    """

    name: str
    before: tuple[Occurrence, ...]
    remaining: tuple[Occurrence, ...]
    warnings: tuple[str, ...] = ()
    commit: str | None = None
    purged: PurgeReport | None = None
    plan: RemovalPlan

    @property
    def in_history(self) -> tuple[Occurrence, ...]:
        """The places of *remaining* that only a purge removes."""
        return tuple(place for place in self.remaining if place.kind == "history")


def removal_plan(home: Home, text: str, *, exact: bool = False, turns: Turns = "sentences") -> RemovalPlan:
    """Return what is forgotten with *text*: the entry with that id and what its turns say of it, or the text itself.

    *exact* treats *text* as an identifier: case matters, and it must stand alone. In a script without word borders
    every text is the same as without *exact*. *turns* is what is forgotten of the turns that an entry cites.

    Raises:
        TextTooShort: *text* is too short to be searched for.
        StructuralWord: *text* is part of a name in the structure of the home.
        NoSuchEntry: *text* is an id that no entry has or had, and that was not forgotten before.
        HistoryError: the history cannot be read.
    """
    entry_id = text.strip().strip("[]").upper()
    if not exact and ENTRY_ID.fullmatch(entry_id):
        return entry_plan(home, entry_id, turns)
    alone = exact and any(map(has_word_borders, text.strip()))
    phrase = Phrase(text.strip(), alone)
    if not phrase.folded or (_length(phrase) < MIN_CHARS and not alone):
        raise TextTooShort(normalize("NFC", phrase.folded))
    if name := structural_name(home, phrase):
        raise StructuralWord(name)
    name = tombstone_name(phrase, read_salt(home))
    if exact:
        return RemovalPlan(target=RedactionTarget((phrase,), name=name))
    spelled = (phrase, *(other for other in respelled(phrase.text) if not structural_name(home, other)))
    codes = dict.fromkeys(code for other in spelled for code in encoded(other.text))
    target = RedactionTarget((*spelled, *codes), name=name, recognised=spelled, topics=topic_words(phrase.text))
    return RemovalPlan(target=target)


def places(home: Home, target: RedactionTarget, *, progress: Progress | None = None) -> list[Occurrence]:
    """Return all places of *target*: in the files, in the index and in all objects of git.

    Raises:
        HistoryError: the history cannot be read.
    """
    say = progress or _silent
    say("searching the files")
    found = list(find_in_files(home, target))
    found += [
        Occurrence(kind="output", path=f"{output.id}: its content", note="is compressed. The output goes as a whole")
        for output in outputs_with(home, target)
    ]
    say("searching the index")
    found += [Occurrence(kind="index", path=f"{file}: {what}") for file, what in index.occurrences(home, target)]
    say("searching git's objects")
    return found + find_in_history(home, target)


def forget(
    home: Home, text: str, *, now: datetime, exact: bool = False, history_too: bool = False, turns: Turns = "sentences",
    actor: str = "forget", progress: Progress | None = None,
) -> ForgetResult:  # fmt: skip
    """Remove *text*, or the entry with that id, from the home, and with *history_too* from git's history as well.

    *turns* is what is forgotten of the turns that an entry cites. If the turns say it in other words, they and the
    history are kept, and the turns are among the places that remain.

    Raises:
        TextTooShort, StructuralWord, NoSuchEntry: see :func:`removal_plan`.
        HistoryError: the history cannot be rewritten, see :func:`agent_home.forgetting.purge.refuse_shared`. Nothing
            was changed.
        DocumentInvalid, SettingsInvalid: a file would be invalid without the text. Nothing was changed.
        HomeError, RecallError: a step failed. Running the function again continues from there.
    """
    say = progress or _silent
    with hold_home(home):
        recover(home)
        ensure_salt(home)
        if history_too:
            refuse_shared(home)
    plan = removal_plan(home, text, exact=exact, turns=turns)
    target = plan.target
    before = places(home, target, progress=progress)
    say("changing the files")
    done = _remove_from_files(home, target, len(before), actor, now) if before else WriteOutcome()
    commit = done.commit
    with hold_home(home):
        recover(home)
        redact_waiting(home, lambda path, text: redacted(path, text, target))
        dropped = drop_outputs(home, target)  # before their records get other names
        _commit_tracked(home, erase(home, target), target, actor)
        hot_state = drop_hot_state(home)
        # what is forgotten has marks in place of personal data, and an original does not have the marks
        drop_originals(home, {turn.source for turn in plan.turns if turn.passages})
    say("rebuilding the index")
    notes = index.erase(home, home.manifest.settings("recall", RecallSettings)) if before else []
    purged = None
    # the history alone still names the turns of a removed entry
    if history_too and not plan.unclear and (commit_map(home) or any(place.kind == "history" for place in before)):
        say("rewriting the history")
        _refuse_remaining(home, target)
        with hold_home(home), marked_git(home):
            purged = purge(home, target)
            note_head(home)
        _update_commit_ids(home, target, actor, now)
        commit = purged.commits.get(commit or "", commit)
    pack_outbox(home)  # a fleet's home keeps what it has published
    remaining = [*places(home, target, progress=progress), *_unclear_places(plan)]
    return ForgetResult(
        name=target.name, before=tuple(before), remaining=tuple(remaining), commit=commit, purged=purged, plan=plan,
        warnings=(
            *notes, *_left_uncommitted(home, done), *done.waiting, *_not_here(plan), *_out_of_reach(home),
            *_shared_by_others(home, before), *_in_backups(home, before), *_dropped(dropped), *hot_state,
        ),
    )  # fmt: skip


def _length(phrase: Phrase) -> int:
    """Return the length of a text in Latin letters. A letter of a script without word borders counts twice."""
    return sum(1 if has_word_borders(char) else 2 for char in normalize("NFC", phrase.folded))


def _remove_from_files(home: Home, target: RedactionTarget, count: int, actor: str, now: datetime) -> WriteOutcome:
    """Change the files in git and write the tombstones, in one commit."""
    in_git = tracked_files(home)
    with transaction(home, actor=actor, message=f"Forget {target.name}", source="user", now=now) as edits:
        edits.together = True  # a separate commit of a person's edits would put the text into the history
        catalogue.refresh(edits)
        on_disk = {home.relative(path) for path in home.files("", "**/*.md")}
        for path in sorted(in_git | on_disk):
            if is_gateway_file(path, in_git) and path != LEDGER and (home.root / path).is_file():
                _rewrite_file(edits, path, target)
        known_digests = {row.digest for row in tombstones(home)}
        new_rows = [row for row in _tombstone_rows(home, target, count, actor, now) if row.digest not in known_digests]
        edits.append(LEDGER, [asdict(row) for row in new_rows])
    return edits.outcome


def _rewrite_file(edits: Transaction, path: str, target: RedactionTarget) -> None:
    try:
        text = edits.text(path)
    except DocumentInvalid:  # not a text file, reported as a place
        return
    new_text, new_path = without_empty_entries(path, redacted(path, text, target)), redacted_path(path, target)
    if path == MANIFEST and new_text != text:
        parse_manifest(new_text, edits.home.root / path)
    if new_path != path:
        edits.write(path, "")
    if new_text != text or new_path != path:
        edits.write(new_path, new_text)


def _tombstone_rows(home: Home, target: RedactionTarget, count: int, actor: str, now: datetime) -> Iterator[Tombstone]:
    salt = read_salt(home)
    phrases = target.recognised or target.phrases or (Phrase(target.entry_id, exact=True),)
    for phrase in phrases:
        yield tombstone(
            phrase, salt, ts=now.isoformat(), name=target.name, entry_id=target.entry_id, places=count, actor=actor
        )


def _commit_tracked(home: Home, changed: Sequence[tuple[str, str]], target: RedactionTarget, actor: str) -> None:
    """Commit the changed files, by old and new path, that are in git. A home may keep its transcripts in git."""
    in_git = tracked_files(home)
    paths = list(dict.fromkeys(path for pair in changed if pair[0] in in_git for path in pair))
    if paths:
        with marked_git(home):
            commits.commit_files(home.root, paths, f"Forget {target.name}", {"Actor": actor})


def _update_commit_ids(home: Home, target: RedactionTarget, actor: str, now: datetime) -> None:
    """Replace commit ids in the ledgers by the ids of the rewritten commits."""
    renamed = commit_map(home)
    subject = f"Update commit ids after {target.name}"
    with transaction(home, actor=actor, message=subject, source="user", now=now) as edits:
        for path in home.files("ledger", "*.jsonl") if renamed else ():
            text = edits.text(home.relative(path))
            edits.write(home.relative(path), with_new_hashes(text.encode(), renamed).decode())
    drop_commit_map(home)


def _refuse_remaining(home: Home, target: RedactionTarget) -> None:
    """Raise ``DocumentInvalid`` if a file in git still has the text, because that file would bring the text back."""
    in_git = tracked_files(home)
    for place in find_in_files(home, target):
        if place.path in in_git:
            raise DocumentInvalid(
                place.path, place.line, "not-forgotten", place.note or "still has the text. Remove it"
            )


def _left_uncommitted(home: Home, done: WriteOutcome) -> Iterator[str]:
    for remark in failing_edits(home) if done.paths else ():
        if remark.path in done.paths:
            yield (
                f"{remark.path} was changed and not committed: an edit by hand has {remark.name} in line {remark.line}."
                " Remove it, and commit the file"
            )


def _out_of_reach(home: Home) -> Iterator[str]:
    for name, address in remote_addresses(home.root).items():
        yield (
            f"remote {name} ({address}) may have the text. After a purge, push with --force and make new clones. "
            "A fetch or pull before that brings the text back"
        )


def _shared_by_others(home: Home, before: Sequence[Occurrence]) -> Iterator[str]:
    """Name the shared folders that had the text: what others keep of it is not looked at."""
    for shared in shared_folders(home):
        if any(place.path.startswith(f"{shared.place}/") for place in before):
            kept = f"The history of {shared.repository}, its remotes" if shared.repository else "Copies"
            unknown = "and the memory of other agents may have the text, and were not searched"
            yield f"{shared.place} is shared. {kept} {unknown}"


def _dropped(outputs: Sequence[str]) -> Iterator[str]:
    """Name the outputs that are gone, because a compressed content cannot be changed in a place."""
    if outputs:
        more = f" and {len(outputs) - _MOST_NAMED} more" if len(outputs) > _MOST_NAMED else ""
        yield f"outputs that held it were deleted as a whole: {', '.join(outputs[:_MOST_NAMED])}{more}"


def _in_backups(home: Home, found: Sequence[Occurrence]) -> Iterator[str]:
    for folder, made in known_backups(home).items() if found else ():
        yield (
            f"the backup of {made[:10]} in {folder} may have the text. `memory backup {folder}` takes it out. Older "
            "copies of that folder keep it"
        )


def _not_here(plan: RemovalPlan) -> Iterator[str]:
    if plan.missing:
        yield f"{', '.join(plan.missing)} is cited, and its session is not on this machine. Forget it there as well"


def _unclear_places(plan: RemovalPlan) -> Iterator[Occurrence]:
    for turn in plan.unclear:
        note = f"{turn.source} may say it in other words"
        yield Occurrence(kind="transcript", path=turn.path, line=turn.line, note=note)


def _silent(_step: str) -> None:
    """Ignore the progress."""
