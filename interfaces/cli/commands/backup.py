"""Define ``memory backup`` and ``memory restore-home``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_home.settings import MANIFEST

from ...answers import backup_answer, damage_answer, restored_answer
from ...counts import counted
from ..command import Command
from ..exit_codes import FINDINGS, exit_code
from ..invocation import Invocation, home_command, options
from ..progress import ProgressMeter
from ..surroundings import surroundings

if TYPE_CHECKING:
    from agent_home.backup.making import BackupProgress, BackupReport
    from agent_home.backup.restoring import RestoredHome
    from agent_home.backup.verification import VerifiedBackup

__all__ = ["backup", "restore_home"]

_FOLDER = click.Path(path_type=Path)
#: Damaged files that a person is shown.
_MAX_LINES = 30


@home_command(
    "backup",
    examples=(
        ("Copy the home, and later what changed since", "memory backup /mnt/disk/agent-backup"),
        ("Check every file of the copy", "memory backup /mnt/disk/agent-backup --verify"),
        ("Show what would be copied", "memory backup /mnt/disk/agent-backup --dry-run"),
    ),
)
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--verify", is_flag=True, help="Copy nothing, and check the backup in DIR. It needs no home.")
@click.option("--dry-run", is_flag=True, help="Print what would be copied, and write nothing.")
@click.pass_context
def backup(context: click.Context, invocation: Invocation, folder: Path, *, verify: bool, dry_run: bool) -> None:
    """Copy the whole home into a folder, or check the copy.

    An earlier copy in DIR is brought up to date. The copy has everything that git does not carry as well: transcripts,
    outputs, checkpoints, quarantine, the audit, uncommitted edits, all branches and stashes, and the repositories
    inside the home, such as shared projects. Only what changed is copied. What the home has lost or forgotten leaves
    the copy too. A backup that is killed, or finds the disk full, leaves the earlier one as it was.

    DIR is a new folder, or one with a backup of this home. It lies outside of the home, best on another disk. Its
    files are readable by you alone and are not encrypted. The search index is not copied, because it is made again.
    `memory restore-home` makes a home of the copy.

    With --verify the exit code is 1 when a file of the backup is damaged or missing. Without it, the exit code is 1
    when a file or a repository of the home could not be read.
    """
    folder = surroundings().folder / folder.expanduser()
    if verify and dry_run:
        raise click.UsageError("name --verify or --dry-run, not both")
    if verify:
        from agent_home.backup.verification import verify_backup

        checked = verify_backup(folder, progress=_progress())
        invocation.show({"folder": str(folder), **damage_answer(checked)}, _checked_lines(checked))
        context.exit(FINDINGS if checked.damaged else 0)
    from agent_home.backup.making import backup as back_up
    from recall.hot_state import settle_hot_state

    home = invocation.home
    if not dry_run:
        settle_hot_state(home)
    report = back_up(home, folder, now=invocation.moment, dry_run=dry_run, progress=_progress())
    for item in report.left_out:
        invocation.warn(f"{item.path} is not in the backup: {item.reason}")
    invocation.show({**backup_answer(report), "dry_run": dry_run}, _report_lines(report, dry_run=dry_run))
    context.exit(FINDINGS if report.unread else 0)


@click.command(
    "restore-home",
    cls=Command,
    examples=(
        ("Make a home from a backup", "memory restore-home /mnt/disk/agent-backup ~/agent"),
        ("Check the backup first", "memory restore-home /mnt/disk/agent-backup ~/agent --dry-run"),
    ),
)
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.argument("root", metavar="NEW_HOME", type=_FOLDER)
@click.option("--dry-run", is_flag=True, help="Check the backup, and write nothing.")
@click.option("--partial", is_flag=True, help="Leave out files whose copies are damaged.")
@options
@click.pass_context
def restore_home(
    context: click.Context, invocation: Invocation, folder: Path, root: Path, *, dry_run: bool, partial: bool
) -> None:
    """Make a home again from a backup.

    DIR is the backup. NEW_HOME is a folder that is not there yet, or an empty one. Every file is checked before
    anything is visible there. A restore that is killed leaves nothing in NEW_HOME.

    The backup may come from anybody. Git checks its history, no setting or hook of it is taken over, and nothing is
    written outside of NEW_HOME. What a person agreed to on the machine of the backup counts in NEW_HOME if that was
    this machine and user. Otherwise it waits in `memory trust` and `memory review`. A damaged backup is refused, exit
    code 7, unless --partial leaves the damaged files out, exit code 1.
    """
    from agent_home.backup.errors import BackupDamaged
    from agent_home.backup.restoring import restore_home as restore

    here = surroundings().folder
    folder, root = here / folder.expanduser(), here / root.expanduser()
    try:
        done = restore(folder, root, dry_run=dry_run, partial=partial, progress=_progress())
    except BackupDamaged as error:
        if not (invocation.as_json and error.files):
            raise
        invocation.warn(str(error))
        invocation.show({"home": None, "damaged": [{"path": f.path, "problem": f.problem} for f in error.files]}, [])
        context.exit(exit_code(error) or 0)
    outer = next((place for place in done.root.parents if (place / MANIFEST).is_file()), None)
    if outer is not None:
        invocation.warn(f"{done.root} is inside the home {outer}. The two share nothing")
    invocation.show({**restored_answer(done), "dry_run": dry_run}, _restored_lines(done, dry_run=dry_run))
    context.exit(FINDINGS if done.missing else 0)


def _progress() -> BackupProgress:
    """Return what says on a terminal how far the work is."""
    meter = ProgressMeter()
    return lambda step, files, size: meter(f"{step}, files", files, note=_megabytes(size))


def _report_lines(report: BackupReport, *, dry_run: bool) -> Iterator[str]:
    manifest = report.manifest
    would = "would copy" if dry_run else "copied"
    yield (
        f"{report.folder}: {report.new} files new, {report.unchanged} unchanged, {report.removed} removed, "
        f"{would} {_megabytes(report.written)} of {_megabytes(manifest.bytes)}"
    )
    if manifest.repositories:
        yield f"  with {counted(len(manifest.repositories), 'repository', 'repositories')} inside the home"
    if report.mended:
        yield f"  {counted(report.mended, 'damaged copy', 'damaged copies')} in the folder made whole again"
    if dry_run:
        yield f"Nothing was written. `memory backup {report.folder}` does it"


def _checked_lines(checked: VerifiedBackup) -> Iterator[str]:
    manifest = checked.manifest
    said = f"{checked.folder}: {len(manifest.files)} files of {manifest.name}, {_megabytes(manifest.bytes)}"
    yield f"{said}, made {manifest.made}{'' if manifest.own else ' on another machine or by another user'}"
    if manifest.repositories:
        yield f"  with {counted(len(manifest.repositories), 'repository', 'repositories')} inside the home"
    if not checked.damaged:
        yield "every file was read and is what was backed up"
        return
    yield from (f"  {file.path} {file.problem}" for file in checked.damaged[:_MAX_LINES])
    if len(checked.damaged) > _MAX_LINES:
        yield f"  and {len(checked.damaged) - _MAX_LINES} more. --json names them all"
    yield f"{counted(len(checked.damaged), 'file')} damaged. `memory backup {checked.folder}` copies them again"


def _restored_lines(done: RestoredHome, *, dry_run: bool) -> Iterator[str]:
    manifest = done.manifest
    said = f"{len(manifest.files)} files of {manifest.name}, {_megabytes(manifest.bytes)}, made {manifest.made}"
    yield f"the backup is whole: {said}. Nothing was written" if dry_run else f"{done.root}: {said}"
    for file in done.missing:
        yield f"  left out: {file.path} {file.problem}"
    if not manifest.own:
        yield "  The backup was made on another machine, or by another user. Consents and keys of that machine do not"
        yield "  count here: see `memory trust` and `memory review`. `memory guard scan --history` screens everything"
    addresses = list(_address_lines(done))
    yield from addresses[:_MAX_LINES]
    if len(addresses) > _MAX_LINES:
        yield f"  and {len(addresses) - _MAX_LINES} more addresses. --json names them all"
    if not dry_run:
        yield f"Next: memory doctor --home {done.root}"


def _address_lines(done: RestoredHome) -> Iterator[str]:
    """Yield how a person gives the home, and the repositories inside it, the addresses that they had."""
    manifest, left_out = done.manifest, {file.path for file in done.missing}
    for name, address in manifest.remotes.items():
        yield f"  The home had the remote {name}: {_remote_added(done.root, name, address)}"
    for place, repository in manifest.repositories.items():
        if not left_out.isdisjoint({f"{place}/.git", *(pack.path for pack in repository.packs)}):
            continue
        for name, address in repository.remotes.items():
            yield f"  {place} had the remote {name}: {_remote_added(done.root / place, name, address)}"
        if repository.url:
            setting = f"submodule.{repository.name}.url"
            words = ["git", "-C", str(done.root / repository.of), "config", setting, repository.url]
            yield f"  {place} is a submodule from {repository.url}: {shlex.join(words)}"


def _remote_added(root: Path, name: str, address: str) -> str:
    return shlex.join(["git", "-C", str(root), "remote", "add", "--", name, address])


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count} bytes"
