"""Own the checks of everything that a home needs to work.

A check that raises an error fails with that error as its detail. It never stops the other checks.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from agent_home import storage
from agent_home.documents.check import problems
from agent_home.documents.document import parse
from agent_home.documents.entry_merge import conflicting_id
from agent_home.errors import HomeError, SettingsBroken, SettingsInvalid
from agent_home.forgetting.tombstones import returned
from agent_home.git import commits, history
from agent_home.git.acknowledged import entries_without_trace, taken_back
from agent_home.git.hidden_files import hidden_memory
from agent_home.git.hook import hook_state
from agent_home.git.merge_driver import driver_state
from agent_home.git.own_folder import links_out
from agent_home.home import MEMORY, Home
from agent_home.pulling.trust import trust_of
from agent_home.salt import read_salt
from agent_home.screening.quarantine import unreadable, waiting
from agent_home.screening.review_ledger import decisions
from agent_home.screening.service import ScreeningService
from agent_home.settings import MANIFEST, TABLES, OwnerSettings, load_manifest
from agent_home.sharing.folders import own_markdown_files
from agent_home.store import appended, closings, losses, moved_head, recovery, set_aside, transcript
from agent_home.store.branch import elsewhere, tip
from agent_home.store.proposals import overview, pending_ids
from agent_home.store.speakers import humans_of_shared_chats, owner_advice, owner_settings, owner_waits
from agent_home.store.uncommitted_edits import failing_edits
from guard import GuardError
from guard.inference.passage_network import network_problem

from ..counts import counted
from ..hosts.check import hosts_check
from ..service.settings import ServeSettings
from .fleet_check import fleet_check
from .growth import originals_check, packing_check, records_check
from .state_checks import (
    backup_check,
    permissions_check,
    private_check,
    sharing_check,
    special_files_check,
    state_check,
)
from .stored import outputs_check, redis_check

__all__ = ["Check", "examine", "remedy"]

Status = Literal["ok", "info", "warning", "failed"]
#: Most things of one kind that are named. The rest is counted.
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Result of one check. *detail* says what was found and, unless the status is ok, what to do."""

    name: str
    status: Status
    detail: str


def examine(home: Home, now: datetime) -> list[Check]:
    """Run all checks, in an order in which a later one depends only on earlier ones."""
    checks: tuple[tuple[str, Callable[[], Iterator[Check]]], ...] = (
        ("manifest", lambda: _manifest(home)),
        ("trust", lambda: _trust(home)),
        ("pipes", lambda: _grown("pipes", special_files_check(home))),
        ("git", lambda: _git(home)),
        ("state", lambda: (Check(name="state", status=status, detail=detail) for status, detail in state_check(home))),
        ("permissions", lambda: _grown("permissions", permissions_check(home))),
        ("private", lambda: _grown("private", private_check(home))),
        ("hidden", lambda: _hidden(home)),
        ("arrived", lambda: _arrived(home)),
        ("packing", lambda: _grown("packing", packing_check(home))),
        ("records", lambda: _grown("records", records_check(home))),
        ("fleet", lambda: (Check(name="fleet", status=status, detail=said) for status, said in fleet_check(home))),
        ("backup", lambda: _grown("backup", backup_check(home))),
        ("hosts", lambda: _grown("hosts", hosts_check(home, Path.home(), _working_folder()))),
        ("outputs", lambda: _grown("outputs", outputs_check(home))),
        ("redis", lambda: _grown("redis", redis_check(home))),
        ("originals", lambda: _grown("originals", originals_check(home, now))),
        ("closings", lambda: _closings(home)),
        ("transcripts", lambda: _transcripts(home)),
        ("acknowledged", lambda: _acknowledged(home)),
        ("losses", lambda: _losses(home)),
        ("recovered", lambda: _recovered(home)),
        ("clone", lambda: _clone(home)),
        ("guard", lambda: _guard(home)),
        ("owner", lambda: _owner(home)),
        ("edits", lambda: _edits(home)),
        ("hook", lambda: _hook(home)),
        ("merge", lambda: _merge(home)),
        ("files", lambda: _files(home)),
        (
            "sharing",
            lambda: (Check(name="sharing", status=status, detail=said) for status, said in sharing_check(home)),
        ),
        ("forgotten", lambda: _forgotten(home)),
        ("quarantine", lambda: _quarantine(home)),
        ("proposals", lambda: _proposals(home)),
        ("model", lambda: _model(home)),
        ("index", lambda: _index(home)),
        ("prompt", lambda: _prompt(home, now)),
    )
    results: list[Check] = []
    for name, check in checks:
        try:
            results += check()
        except (HomeError, OSError, ValueError, ImportError, RuntimeError) as error:
            results.append(Check(name=name, status="failed", detail=" ".join(str(error).split())))
    return results


def _working_folder() -> Path | None:
    """Return the folder that the doctor is called in, whose project may have settings for hosts."""
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return None


def _manifest(home: Home) -> Iterator[Check]:
    """Check that ``agent.toml`` names existing files, and that each of its settings tables is valid."""
    try:
        load_manifest(home.root / MANIFEST)
    except SettingsBroken as error:
        yield Check(name="manifest", status="failed", detail=str(error))
        return
    wrong = list(_wrong_settings(home))
    yield from (Check(name="manifest", status="failed", detail=problem) for problem in wrong)
    absent = [file.file for file in home.manifest.context if not (home.root / home.context_path(file.file)).exists()]
    renamed = home.renamed_by_case()
    for file, other in renamed:
        detail = f"{file} is named {other} on the disk, and nobody reads it. Run `git mv {other} {file}` in {home.root}"
        yield Check(name="manifest", status="failed", detail=detail)
    if not renamed and (beside := home.other_case(MEMORY)):
        detail = f"{beside} lies beside {MEMORY}, and nobody reads it. Move its entries into {MEMORY}, and delete it"
        yield Check(name="manifest", status="warning", detail=detail)
    absent = [file for file in absent if file not in dict(renamed)]
    absent = [file for file in absent if file != "BOOTSTRAP.md"]  # the agent deletes this file once it knows its user
    hidden = {file.path for file in hidden_memory(home)} if absent else set()  # another check names them
    absent = [file for file in absent if file not in hidden]
    held = history.snapshot(home.root, absent).texts if absent else {}
    deleted = [file for file in absent if held[file]]
    if deleted:
        names = " ".join(deleted)
        detail = f"deleted, and git still has: {names}. `git checkout HEAD -- {names}` there brings it back"
        yield Check(name="manifest", status="failed", detail=detail)
    elif absent:
        detail = f"named in agent.toml and not there: {', '.join(absent)}. `memory init` adds missing files"
        yield Check(name="manifest", status="warning", detail=detail)
    elif not wrong and _lacks_http_client(home):
        detail = "[distill.endpoint] is set, but httpx is missing. Run `pip install 'agent-home[endpoint]'`"
        yield Check(name="manifest", status="warning", detail=detail)
    elif not wrong and not renamed:
        yield Check(name="manifest", status="ok", detail=counted(len(home.manifest.context), "context file"))


def _wrong_settings(home: Home) -> Iterator[str]:
    """Yield the error of each settings table that its package cannot read."""
    from assembler.settings import AssemblerSettings
    from distill.settings import DistillSettings
    from guard import GuardSettings
    from recall.embedding.model import EmbeddingSettings
    from recall.settings import RecallSettings

    kinds: dict[str, type] = {
        "owner": OwnerSettings,
        "embedding": EmbeddingSettings,
        "recall": RecallSettings,
        "assembler": AssemblerSettings,
        "distill": DistillSettings,
        "guard": GuardSettings,
        "serve": ServeSettings,
    }
    manifest = load_manifest(home.root / MANIFEST)  # also what is not in effect yet
    for table in TABLES:
        try:
            manifest.settings(table, kinds[table])
        except SettingsInvalid as error:
            yield " ".join(str(error).split())


def _trust(home: Home) -> Iterator[Check]:
    """Name what came with a pull and waits for a person of this machine."""
    found = trust_of(home)
    if found.settings and not found.refused:
        keys = ", ".join(item.key for item in found.settings[:_MAX_NAMED])
        detail = f"settings of agent.toml that are not in effect until you agree: {keys}. `memory trust` shows them"
        yield Check(name="trust", status="warning", detail=detail)
    if found.approvals:
        rows = counted(len(found.approvals), "approval")
        detail = f"{rows} of others count for nothing here, the first {found.approvals[0].id}. See `memory trust`"
        yield Check(name="trust", status="warning", detail=detail)
    if not found.approvals and (found.refused or not found.settings):
        yield Check(name="trust", status="ok", detail="every setting in effect has the consent of this machine")


def _lacks_http_client(home: Home) -> bool:
    """Return whether a language model is configured and the package that talks to it is missing."""
    from distill.settings import DistillSettings

    endpoint = home.manifest.settings("distill", DistillSettings).endpoint
    return endpoint is not None and endpoint.kind != "command" and find_spec("httpx") is None


def _git(home: Home) -> Iterator[Check]:
    for link in links_out(home.root):
        detail = f"{link} is a link out of git's folder, and nothing is written through it. Put a copy in its place"
        yield Check(name="git", status="failed", detail=detail)
    head = history.head(home.root)
    wrong = elsewhere(home)
    if wrong:
        yield Check(name="git", status="failed", detail=wrong)
        return
    if recovery.is_pending(home):
        detail = "a write was interrupted. The next write finishes it"
        yield Check(name="git", status="warning", detail=detail)
    if locks := recovery.blocking_locks(home):
        files = " ".join(shlex.quote(lock) for lock in locks)
        detail = f"a git command that is gone left locks, and every write waits for them. Remove them: rm {files}"
        yield Check(name="git", status="warning", detail=detail)
    uncommitted = history.dirty(home.root, [*own_markdown_files(home), "agent.toml"])
    if uncommitted:
        detail = f"not committed: {', '.join(uncommitted[:5])}. The next write to a file commits it, or commit it now"
        yield Check(name="git", status="warning", detail=detail)
    else:
        yield Check(name="git", status="ok", detail=f"HEAD {head[:7] or 'does not exist yet'}, nothing uncommitted")


def _hidden(home: Home) -> Iterator[Check]:
    """Name the files that git does not look at, and those that it took from the disk. Writes to them are refused."""
    found = sorted(hidden_memory(home), key=lambda file: not file.differs)
    if not found:
        yield Check(name="hidden", status="ok", detail="git hides no file of memory")
        return
    named = ", ".join(f"{file.path} {file.state}" for file in found[:_MAX_NAMED])
    more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
    commands = ", ".join(dict.fromkeys(file.command for file in found[:_MAX_NAMED]))
    detail = f"hidden from git: {named}{more}. Run {commands} in {home.root}"
    if found[0].differs:
        yield Check(name="hidden", status="failed", detail=f"{detail}. Until then writes to these files are refused")
    else:
        yield Check(name="hidden", status="warning", detail=f"{detail}, or an edit by hand is overlooked")


def _arrived(home: Home) -> Iterator[Check]:
    """Screen what git commands brought since the last write."""
    start = moved_head.head_moved(home)
    if not start:
        yield Check(name="arrived", status="ok", detail="HEAD is where the last write left it")
        return
    found = moved_head.arrived(home, start)
    places = [*(f"{one.where} {one.name}" for one in found.findings), *found.strange]
    since = f"git changed {counted(found.files, 'file')} since {start[:7]}"
    if not places:
        yield Check(name="arrived", status="info", detail=f"{since}, and the guard finds nothing in them")
        return
    named = ", ".join(places[:_MAX_NAMED])
    detail = f"{since}, with what memory does not take: {named}. Prompts leave such texts out. Correct the files"
    yield Check(name="arrived", status="failed", detail=f"{detail}, or undo the merge")


def _grown(name: str, found: tuple[Status, str]) -> Iterator[Check]:
    yield Check(name=name, status=found[0], detail=found[1])


def _closings(home: Home) -> Iterator[Check]:
    """Check that the transcripts of closed sessions are there, and that what was closed is still in memory."""
    absent = closings.absent_transcripts(home)
    if absent:
        yield Check(name="closings", status="failed", detail=absent)
        return
    lost = set(closings.lost(home)) & {session for session, _ in closings.open_sessions(home)}
    if lost:
        some = ", ".join(sorted(lost)[:5])
        detail = f"the branch of memory holds the closings of {some} no more. `memory close --all` closes them again"
        yield Check(name="closings", status="warning", detail=detail)
        return
    gone = entries_without_trace(home)
    if gone:
        some = f"{', '.join(gone[:_MAX_NAMED])}{f' and {len(gone) - _MAX_NAMED} more' * (len(gone) > _MAX_NAMED)}"
        detail = f"no file has {some} any more. An edit by hand or git removed that, and no command of this program"
        detail = f"{detail}. `memory history {gone[0]}` shows when, `memory revert {gone[0]} --apply` brings it back"
        yield Check(name="closings", status="info", detail=detail)
    else:
        yield Check(name="closings", status="ok", detail="what was closed is in memory")


def _transcripts(home: Home) -> Iterator[Check]:
    """Check that every transcript is as long as this machine wrote it."""
    found = appended.shortened(home)
    if not found or closings.absent_transcripts(home):
        yield Check(name="transcripts", status="ok", detail="each is as long as it was written")
        return
    ends = closings.closed_here(home)
    is_closed = {one.path: one.size <= ends.get(one.session, 0) for one in found}
    for one in sorted(found, key=lambda one: is_closed[one.path])[:_MAX_NAMED]:
        state = "is shorter than it was written" if (home.root / one.path).exists() else "is not there"
        told = "What was closed stays in memory" if is_closed[one.path] else "What it held was not closed"
        status: Status = "info" if is_closed[one.path] else "warning"
        detail = f"{one.path} {state}. {told}. Import the conversation again, or copy the file back"
        yield Check(name="transcripts", status=status, detail=detail)
    if len(found) > _MAX_NAMED:
        detail = f"{len(found) - _MAX_NAMED} more are shorter than they were written, or are not there"
        yield Check(name="transcripts", status="info", detail=detail)


def _acknowledged(home: Home) -> Iterator[Check]:
    """Check that the branch has the commits that this machine acknowledged."""
    lacking = taken_back(home, tip(home), every=True)
    if lacking is None:
        yield Check(name="acknowledged", status="ok", detail="the branch has what this machine acknowledged")
        return
    status: Status = "warning" if taken_back(home, tip(home)) else "info"  # a write that followed has named it
    yield Check(name="acknowledged", status=status, detail=lacking.describe(home.root))


def _losses(home: Home) -> Iterator[Check]:
    """Check that no edit by hand removes many entries."""
    (new, gone), waits = losses.uncommitted(home), losses.waiting(home)
    if new:
        yield Check(name="losses", status="failed", detail=". ".join(new))
    for loss in waits:
        detail = f"{loss.reason}. `memory review show {loss.id}` shows them"
        yield Check(name="losses", status="warning", detail=detail)
    if gone:
        yield Check(name="losses", status="failed", detail=losses.ledger_advice(home, gone))
    if not new and not waits and not gone:
        yield Check(name="losses", status="ok", detail="no edit by hand removes many entries")


def _recovered(home: Home) -> Iterator[Check]:
    """Name what recovery set aside because a person had changed the file, and how it differs."""
    from distill.review.recovered_texts import difference

    found = set_aside.waiting(home)
    for item in found[:_MAX_NAMED]:
        detail = f"{item.name} was set aside on {item.ts[:10]}, {item.reason}"
        detail = f"{detail}: {difference(home, item)}. `memory review show {item.id}` shows it"
        yield Check(name="recovered", status="warning", detail=detail)
    if len(found) > _MAX_NAMED:
        more = f"{len(found) - _MAX_NAMED} more were set aside. `memory review` lists them"
        yield Check(name="recovered", status="warning", detail=more)
    if not found:
        yield Check(name="recovered", status="ok", detail="nothing was set aside")


def _clone(home: Home) -> Iterator[Check]:
    """Say what a clone lacks, because it is in no commit. None of it is a failure."""
    if not history.head(home.root):
        return
    is_fresh = not home.audit.exists()  # nothing was written on this machine
    lacking = []
    closed = any((home.root / "ledger").glob("closings-*.jsonl")) and not closings.absent_transcripts(home)
    if closed and not (home.sessions.is_dir() and transcript.count(home)):
        lacking.append(
            "no transcripts: sessions/ is not in git, so recall finds no turns. Copy the folder from the machine that"
            " has it, or import the conversations again"
        )
    if is_fresh:
        lacking.append("no quarantine: held-back texts stay on their machine. Run `memory review` there")
    if is_fresh and not read_salt(home):
        lacking.append(
            "no salt: the first write makes one. To recognise forgotten texts here, copy .git/agent-home/salt from the"
            " machine that forgot them before that"
        )
    tips = history.branch_tips(home.root, "refs/remotes/*/proposals/*")
    known: set[str] = set()
    if tips or is_fresh:
        decided = decisions(home)
        known = pending_ids(home) | {row.id for row in (*decided.approved, *decided.rejected)}
    remote = {tip.branch.rpartition("/")[2]: tip.branch.partition("/")[0] for tip in tips}
    away = sorted(remote.keys() - known)
    if away:
        name = remote[away[0]]
        fetch = f"git fetch {name} 'refs/heads/proposals/*:refs/heads/proposals/*'"
        lacking.append(f"no proposals: {len(away)} are on {name}. `{fetch}` brings them here, to be read one by one")
    elif is_fresh and not known:
        lacking.append("no proposals: they come here if the other machine pushes its branches proposals/*")
    yield from (Check(name="clone", status="info", detail=line) for line in lacking)


def _guard(home: Home) -> Iterator[Check]:
    """Check that the home's own rules work. Without them reading continues and writing stops."""
    try:
        sets = ScreeningService(home).settings.rule_sets()
        for rules in sets:
            rules.check()
    except GuardError as error:
        yield Check(
            name="guard",
            status="failed",
            detail=f"{error}. Until then reading uses only the bundled rules",
        )
        return
    if problem := network_problem():
        detail = f"instructions and told secrets are judged by the quick models alone: {problem}"
        yield Check(name="guard", status="warning", detail=detail)
        return
    own = f"and {sum(len(rules.rules) for rules in sets)} rules of this home" if sets else "only"
    yield Check(name="guard", status="ok", detail=f"the bundled rules {own}")


def _owner(home: Home) -> Iterator[Check]:
    known = owner_settings(home)
    if known.known:
        detail = f"{counted(len(known.names), 'name')}, {counted(len(known.accounts), 'account')}"
        yield Check(name="owner", status="ok", detail=detail)
        return
    names = humans_of_shared_chats(home)
    if names or owner_waits(home):
        shown = f"several people speak in one chat ({', '.join(names[:_MAX_NAMED])}), so nobody in it is taken for"
        detail = f"{shown if names else 'nobody is taken for'} the owner: {owner_advice(home)}"
        yield Check(name="owner", status="warning", detail=detail)
    else:
        yield Check(name="owner", status="ok", detail="not named. The only person in a chat counts as the owner")


def _edits(home: Home) -> Iterator[Check]:
    """Check uncommitted manual edits. The gateway does not commit an edit that the guard refuses."""
    failing = failing_edits(home)
    if failing:
        places = ", ".join(f"{remark.path}:{remark.line} {remark.name}" for remark in failing[:5])
        more = f" and {len(failing) - 5} more" if len(failing) > 5 else ""
        detail = f"manual edits that the guard refuses: {places}{more}. Remove the text, or commit it yourself"
        yield Check(name="edits", status="failed", detail=detail)
    else:
        yield Check(name="edits", status="ok", detail="no edit by hand is refused")


def _hook(home: Home) -> Iterator[Check]:
    """Check that a hook screens manual commits."""
    state = hook_state(home)
    if state.works and not state.advice:
        yield Check(name="hook", status="ok", detail=f"{state.path} screens manual commits")
    else:
        problem = "another installation's hook" if state.works else "manual commits are not screened"
        yield Check(name="hook", status="warning", detail=f"{problem} ({state.state}, {state.path}): {state.advice}")


def _merge(home: Home) -> Iterator[Check]:
    """Check that clones are merged by entries, and list entries in conflict."""
    driver = driver_state(home)
    if driver.advice:
        yield Check(name="merge", status="warning", detail=driver.advice)
    memory = parse(storage.read_text(home.root / MEMORY))
    flagged = [f"{entry.id} and {other}" for entry in memory.entries() if (other := conflicting_id(entry))]
    if flagged:
        detail = f"changed on two machines, with both versions kept: {', '.join(flagged[:5])}. Edit each pair into one"
        yield Check(name="merge", status="warning", detail=detail)
    elif not driver.advice:
        yield Check(name="merge", status="ok", detail="clones are merged by entries, and none is in conflict")


def _files(home: Home) -> Iterator[Check]:
    found = problems(home)
    conflicts = [problem for problem in found if problem.rule == "conflict-marker"]
    if conflicts:
        places = ", ".join(f"{problem.file}:{problem.line}" for problem in conflicts[:_MAX_NAMED])
        names = " ".join(dict.fromkeys(problem.file for problem in conflicts))
        detail = (
            f"conflict markers of a merge at {places}. Writes to {names} are refused until you keep the lines that hold"
            f" and remove the markers, or run `{commits.undoing(home.root) or f'git checkout HEAD -- {names}'}`"
        )
        yield Check(name="files", status="failed", detail=detail)
    if found:
        first = found[0]
        detail = (
            f"{counted(len(found), 'problem')}, the first {first.file}:{first.line} {first.rule}. Run `memory check`"
        )
        yield Check(name="files", status="failed", detail=detail)
    else:
        yield Check(name="files", status="ok", detail="every file is valid")


def _forgotten(home: Home) -> Iterator[Check]:
    """Name what was forgotten and stands in a file again, as after a merge with a clone that still had it."""
    found = list(returned(home))
    if not found:
        yield Check(name="forgotten", status="ok", detail="nothing that was forgotten is back")
        return
    places = ", ".join(f"{one.path}:{one.line}{f' {one.id}' if one.id else ''}" for one in found[:_MAX_NAMED])
    ids = dict.fromkeys(one.id for one in found[:_MAX_NAMED] if one.id)
    commands = [f"`memory forget {name} --apply --purge`" for name in ids]
    if any(not one.id for one in found):
        commands.append("`memory forget TEXT --apply --purge` with the text that stands there")
    more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
    detail = f"forgotten, and back: {places}{more}. Run {', '.join(commands)}"
    yield Check(name="forgotten", status="warning", detail=detail)


def _quarantine(home: Home) -> Iterator[Check]:
    quarantined = list(waiting(home))
    broken = [str(problem) for problem in unreadable(home)]
    if broken:
        yield Check(name="quarantine", status="failed", detail=". ".join(broken))
    if quarantined:
        first = f"the first {quarantined[0].id}: {quarantined[0].reason}"
        waits = counted(len(quarantined), "text waits", "texts wait")
        detail = f"{waits} for a person, {first}. Run `memory review list`"
        yield Check(name="quarantine", status="warning", detail=detail)
    elif not broken:
        yield Check(name="quarantine", status="ok", detail="nothing waits")


def _proposals(home: Home) -> Iterator[Check]:
    """Count the proposals. A waiting proposal is no warning."""
    found = overview(home)
    if found.broken:
        lost = ", ".join(found.broken[:5])
        detail = f"git cannot read {lost}. Fetch it from another clone, or run `memory doctor --fix`"
        yield Check(name="proposals", status="failed", detail=detail)
    moot: set[str] = set()
    if found.ended:
        from distill.review.entry_endings import moot_ids

        moot = moot_ids(home)
    ids, asked = found.pending - moot, found.ended - moot
    detail = "nothing waits"
    if ids:
        waits = counted(len(ids), "proposal waits", "proposals wait")
        about = f", {len(asked)} of them about the end of an entry" if asked else ""
        detail = f"{waits} for a person{about}. `memory review list` lists what waits"
    yield Check(name="proposals", status="ok", detail=detail)


def _model(home: Home) -> Iterator[Check]:
    from recall.embedding.model import EmbeddingSettings, locate, words_only

    location = locate(home.manifest.settings("embedding", EmbeddingSettings))
    if location.ready:
        yield Check(
            name="model", status="ok", detail=f"{location.name} from {location.origin}, {location.folder or ''}"
        )
    else:
        yield Check(name="model", status="warning", detail=words_only(location.detail))


def _index(home: Home) -> Iterator[Check]:
    from recall.embedding.model import EmbeddingSettings, locate
    from recall.errors import RecallError
    from recall.index.sqlite.damage import sound
    from recall.index.sync import ensure_fresh
    from recall.settings import RecallSettings

    sound(home.index)
    try:
        report = ensure_fresh(home, home.manifest.settings("recall", RecallSettings), None)
    except RecallError as error:
        yield Check(name="index", status="failed", detail=str(error))
        return
    if report.skipped:
        detail = f"not indexed: {', '.join(report.skipped[:3])}"
        yield Check(name="index", status="warning", detail=detail)
    if report.degraded:
        yield Check(name="index", status="warning", detail=". ".join(report.degraded))
    elif report.pending and locate(home.manifest.settings("embedding", EmbeddingSettings)).ready:
        detail = f"{counted(report.pending, 'passage has', 'passages have')} no vectors yet. Run `memory sync`"
        yield Check(name="index", status="warning", detail=detail)
    else:
        yield Check(name="index", status="ok", detail="up to date. `memory index verify` compares it with the files")
    yield from _database(home)


def _database(home: Home) -> Iterator[Check]:
    """Check PostgreSQL, if the index is there."""
    from recall.index.store_choice import chosen_namespace

    if not chosen_namespace(home):
        return
    from .store_report import report_stores

    report = report_stores(home)
    if report.problems:
        advice = "If the database is gone for good: `memory stores migrate sqlite --abandon`"
        yield Check(name="database", status="failed", detail=f"{'. '.join(report.problems)}. {advice}")
        return
    index = report.index
    detail = f"the index is in namespace {index.namespace} at {index.address}, {index.server}"
    yield Check(name="database", status="ok", detail=detail)


def _prompt(home: Home, now: datetime) -> Iterator[Check]:
    """Check the prompt without a message: every cut and every blocked text is a warning."""
    from assembler.prompt import Request, assemble

    receipt = assemble(home, Request(now=now))
    blocked = [f"{line.id} {line.reason}" for line in receipt.entries if line.action == "blocked"]
    if blocked:
        more = f" and {len(blocked) - 5} more" if len(blocked) > 5 else ""
        detail = f"blocked from prompts by the guard: {', '.join(blocked[:5])}{more}"
        advice = remedy(line.reason for line in receipt.entries if line.action == "blocked")
        yield Check(name="blocked", status="warning", detail=f"{detail}. {advice}")
    cuts = [section for section in receipt.sections if section.full_tokens > section.tokens]
    share = f"{receipt.tokens} of {receipt.budget} tokens, {receipt.advice}"
    if cuts:
        names = ", ".join(f"{cut.name} ({cut.tokens} of {cut.full_tokens}: {cut.action})" for cut in cuts)
        yield Check(name="prompt", status="warning", detail=f"{share}. Cut: {names}")
    else:
        yield Check(name="prompt", status="ok", detail=f"{share}. Nothing cut")


def remedy(reasons: Iterable[str]) -> str:
    """Return what to do about blocked texts. *reasons* name the findings of each, such as ``secret/aws-access-key``."""
    layers = {name.strip().partition("/")[0] for reason in reasons for name in reason.split(",")}
    parts = []
    if "secret" in layers:
        parts.append("Remove the secret from the file, or erase it with `memory forget`")
    if "injection" in layers:
        parts.append("Remove the text that reads like an instruction, or put it in quotation marks")
    if layers - {"secret", "injection"} or not parts:
        parts.append("Remove the blocked text from the file")
    return ". ".join(parts)
