"""Own the exit codes of ``memory`` and the errors that lead to each of them."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["DEFECT", "EXIT_CODES", "FINDINGS", "INTERRUPTED", "MEANINGS", "REFUSED", "WRONG_USAGE", "exit_code"]

#: The command did its work and has findings to report.
FINDINGS = 1
#: The command line is not one that the command accepts.
WRONG_USAGE = 2
#: The guard refused to store a text. A commit hook that exits with it stops the commit.
REFUSED = 4
#: This program has a defect.
DEFECT = 70
#: Ctrl-C ended the command. Shells count 128 plus the signal's number.
INTERRUPTED = 130
#: Meaning of every exit code, as ``memory --help`` lists them.
MEANINGS: Mapping[int, str] = {
    0: "done",
    FINDINGS: "done, with findings",
    WRONG_USAGE: "wrong usage",
    3: "no home",
    REFUSED: "refused by the guard",
    5: "another process or another host has the home",
    6: "the index is unusable and could not be rebuilt",
    7: "a file is invalid",
    8: "git, the disk or the model failed",
    DEFECT: "a defect of this program",
    INTERRUPTED: "interrupted",
}
#: Exit code for each class of error. Classes are named, because importing their packages may be slow. A subclass
#: shares the code of its nearest parent in the table.
EXIT_CODES: Mapping[str, int] = {
    "click.exceptions.UsageError": WRONG_USAGE,
    "agent_home.errors.NoSuchEntry": 2,
    "agent_home.checkpoints.checkpoint.CheckpointDamaged": 7,
    "agent_home.checkpoints.checkpoint.NoSuchCheckpoint": 2,
    "agent_home.events.recording.EventRefused": 2,
    "interfaces.folder_status.StatusUnusable": 2,
    "distill.reading.memory_marks.MarkedTooLarge": 7,
    "agent_home.imports.yaml_documents.ManifestUnreadable": 7,
    "recall.hot_state.home_key.KeyRefused": 2,
    "recall.hot_state.store.HotStateRefused": 2,
    "recall.namespaces.errors.NamespaceRefused": 2,
    "recall.namespaces.errors.NoSuchNamespace": 2,
    "agent_home.outputs.entry.OutputDamaged": 7,
    "agent_home.outputs.own_place.PlaceIsLink": 7,
    "agent_home.outputs.reading.NoSuchOutput": 2,
    "agent_home.errors.NoSuchRevision": 2,
    "agent_home.errors.NotShareable": 2,
    "agent_home.errors.NotTrustable": 2,
    "interfaces.fleet.errors.HostNameTaken": 5,
    "interfaces.fleet.errors.NoSuchHost": 2,
    "interfaces.fleet.errors.NotInFleet": 2,
    "interfaces.fleet.errors.NotJoined": 2,
    "interfaces.fleet.errors.OtherKey": 7,
    "interfaces.fleet.errors.WrongAddress": 2,
    "interfaces.fleet.errors.WrongName": 2,
    "interfaces.fleet.membership.NoSession": 5,
    "interfaces.frameworks.stored_items.ItemRefused": REFUSED,
    "interfaces.page.seen.ChangedSince": 7,
    "interfaces.service.http.tokens.NoSuchToken": 2,
    "interfaces.service.http.tokens.TokenInvalid": 2,
    "interfaces.service.server.AlreadyServed": 5,
    "interfaces.slack.app.OwnerUnclear": 2,
    "interfaces.slack.record.AlreadyInSlack": 5,
    "distill.errors.NoSuchSession": 2,
    "distill.errors.NoSuchProposal": 2,
    "distill.errors.NotAllowed": 2,
    "distill.errors.NotLive": 2,
    "distill.errors.NotPlaceable": 7,
    "distill.errors.NotShown": 2,
    "distill.errors.StillSuperseded": 1,
    "distill.errors.NotRevertable": 7,
    "distill.errors.NotUndoable": 7,
    "distill.errors.EmptySession": 7,
    "distill.errors.Contended": 5,
    "assembler.errors.WindowTooSmall": 2,
    "agent_home.errors.NoHome": 3,
    "agent_home.errors.GuardRefused": REFUSED,
    "agent_home.errors.PullStopped": REFUSED,
    "guard.policy.GuardError": REFUSED,
    "agent_home.errors.Locked": 5,
    "agent_home.errors.NotHeld": 5,
    "agent_home.moving.departure.StillRunning": 5,
    "agent_home.moving.departure.NotMovable": 2,
    "agent_home.errors.Changed": 5,
    "recall.errors.IndexUnusable": 6,
    "agent_home.errors.DocumentInvalid": 7,
    "interfaces.hosts.install.SettingsElsewhere": 7,
    "interfaces.hosts.install.SettingsUnreadable": 7,
    "agent_home.errors.SettingsInvalid": 7,
    "agent_home.backup.errors.BackupRefused": 2,
    "agent_home.backup.errors.BackupBusy": 5,
    "agent_home.backup.errors.BackupDamaged": 7,
    "agent_home.errors.HomeError": 8,
    "recall.errors.RecallError": 8,
    "apsw.Error": 8,
    "assembler.errors.AssemblerError": 8,
    "distill.errors.DistillError": 8,
    "builtins.OSError": 8,
}


def exit_code(error: BaseException) -> int | None:
    """Return the exit code of an expected error, or ``None`` for a defect of the program."""
    for kind in type(error).__mro__:
        code = EXIT_CODES.get(f"{kind.__module__}.{kind.__qualname__}")
        if code is not None:
            return code
    return None
