"""A pull screens and merges in one transaction, and loses nothing of this machine."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.errors import HistoryError, PullStopped
from agent_home.git import history
from agent_home.home import Home
from agent_home.pulling.pull import pull
from agent_home.screening.quarantine import waiting
from agent_home.sharing.health import sharing_problems
from agent_home.store import recovery
from agent_home.store.gateway import transaction
from tests.agent_home.pulling.conftest import Push, run_git
from tests.agent_home.pulling.test_incoming import ATTACK, ENTRY, memory
from tests.sharing import FORMS, ORION, put


def ids(root: Path) -> set[str]:
    return {entry.id for entry in parse((root / "MEMORY.md").read_text()).entries()}


def remember(home: Home, name: str, title: str, now: datetime) -> None:
    with transaction(home, actor="test", message=f"Add {title}", now=now) as edits:
        entry = Entry(id=name, date="2026-11-21", title=title)
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))


def test_a_pull_goes_forward_where_nothing_is_held_back(home: Home, other: Path, push: Push, now: datetime) -> None:
    push({"MEMORY.md": memory(other, ENTRY.format("7F3A", "Use apsw")), "Knowledge/a.md": "# A\n"})
    planned = pull(home, "origin", now=now, dry_run=True)
    assert planned.commit is None
    assert planned.incoming is not None
    assert ids(home.root) == set()
    pulled = pull(home, "origin", now=now)
    assert pulled.commit == run_git(other, "rev-parse", "HEAD") == history.head(home.root)
    assert ids(home.root) == {"KD-7F3A"}
    assert (home.root / "Knowledge" / "a.md").read_text() == "# A\n"
    assert run_git(home.root, "status", "--porcelain") == ""
    assert pull(home, "origin", now=now).incoming is None


def test_both_sides_are_merged_by_entries(home: Home, other: Path, push: Push, now: datetime) -> None:
    push(
        {"MEMORY.md": memory(other, ENTRY.format("7F3A", "Use apsw")), "ledger/references-2026-11.jsonl": '{"a": 1}\n'}
    )
    remember(home, "KD-0001", "Use git", now)
    (home.root / "USER.md").write_text((home.root / "USER.md").read_text() + "\nWrites by hand.\n")
    pulled = pull(home, "origin", now=now)
    assert ids(home.root) == {"KD-7F3A", "KD-0001"}
    assert run_git(home.root, "rev-parse", "HEAD^2") == run_git(other, "rev-parse", "HEAD")
    assert pulled.commit == history.head(home.root)
    assert "Writes by hand." in (home.root / "USER.md").read_text()
    assert pull(home, "origin", now=now).incoming is None


def test_what_the_guard_holds_back_waits_and_the_rest_is_merged(
    home: Home, other: Path, push: Push, now: datetime
) -> None:
    entries = (ENTRY.format("7F3A", ATTACK), ENTRY.format("7F3B", "Use apsw. Ask ada@example.org."))
    push({"MEMORY.md": memory(other, *entries)})
    pulled = pull(home, "origin", now=now)
    assert ids(home.root) == {"KD-7F3B"}
    assert ATTACK not in (home.root / "MEMORY.md").read_text()
    assert "ada@example.org" in (home.root / "MEMORY.md").read_text()  # a person put it there
    assert [item.id for item in waiting(home)] == [item.id for item in pulled.quarantined]
    assert pull(home, "origin", now=now).incoming is None


def test_a_refused_file_stops_the_pull_or_is_left_out(home: Home, other: Path, push: Push, now: datetime) -> None:
    push({"Knowledge/a.md": "# A\n", ".memory/screened.json": "[]"})
    before = history.head(home.root)
    with pytest.raises(PullStopped, match=r"\.memory/screened\.json"):
        pull(home, "origin", now=now)
    assert history.head(home.root) == before
    assert not (home.root / "Knowledge" / "a.md").exists()
    pull(home, "origin", now=now, skip_refused=True)
    assert (home.root / "Knowledge" / "a.md").exists()
    assert run_git(home.root, "ls-files", ".memory") == ""


def test_an_edit_by_hand_is_kept(home: Home, other: Path, push: Push, now: datetime) -> None:
    push({"MEMORY.md": memory(other, ENTRY.format("7F3A", "Use apsw"))})
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text() + "\nA line by hand.\n")
    pull(home, "origin", now=now)
    assert ids(home.root) == {"KD-7F3A"}
    assert "A line by hand." in path.read_text()


def test_the_homes_configuration_runs_nothing(
    home: Home, other: Path, push: Push, now: datetime, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n")
    program.chmod(0o755)
    settings = {
        "core.sshCommand": str(program), "remote.origin.uploadpack": str(program), "core.askPass": str(program),
        "core.fsmonitor": str(program), "core.hooksPath": str(tmp_path), "credential.helper": f"!{program}",
        "merge.evil.driver": str(program), "filter.evil.smudge": str(program), "filter.evil.clean": str(program),
        "gpg.program": str(program), "core.editor": str(program), "core.pager": str(program),
        f"url.ext::{program}.insteadOf": str(other), "core.gitProxy": str(program),
    }  # fmt: skip
    for name, value in settings.items():
        run_git(home.root, "config", name, value)
    (home.root / ".git" / "info" / "attributes").write_text("* merge=evil\n")
    for hook in ("post-merge", "reference-transaction", "post-checkout", "post-index-change"):
        (tmp_path / hook).write_bytes(program.read_bytes())
        (tmp_path / hook).chmod(0o755)
    push({"MEMORY.md": memory(other, ENTRY.format("7F3A", "Use apsw"))})
    remember(home, "KD-0001", "Use git", now)
    mark.unlink(missing_ok=True)
    pull(home, "origin", now=now)
    assert ids(home.root) == {"KD-7F3A", "KD-0001"}
    assert not mark.exists()


@pytest.mark.parametrize("remote", ["nowhere", "ext::sh -c x", "--upload-pack=x", "http://a.example/x", "git://a/x"])
def test_an_address_that_runs_programs_or_is_not_encrypted_is_refused(home: Home, now: datetime, remote: str) -> None:
    with pytest.raises(HistoryError):
        pull(home, remote, now=now)


def test_a_killed_pull_is_completed(
    home: Home, other: Path, push: Push, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    push({"MEMORY.md": memory(other, ENTRY.format("7F3A", "Use apsw"))})
    remember(home, "KD-0001", "Use git", now)

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(recovery, "complete", killed)
        with pytest.raises(Killed):
            pull(home, "origin", now=now)
    remember(home, "KD-0002", "Use ruff", now)
    assert ids(home.root) == {"KD-7F3A", "KD-0001", "KD-0002"}
    assert run_git(home.root, "merge-base", "--is-ancestor", run_git(other, "rev-parse", "HEAD"), "HEAD") == ""
    assert list((home.machine / "staging").iterdir()) == []


def test_the_commit_of_a_shared_submodule_is_taken_and_nothing_of_it_is_fetched(
    home: Home, now: datetime, tmp_path: Path
) -> None:
    project = put(home, "submodule", tmp_path / "elsewhere")
    other = tmp_path / "other"
    run_git(home.root, "clone", "-q", str(home.root), str(other))
    run_git(home.root, "remote", "add", "origin", str(other))
    moved = "1" * 40
    run_git(other, "update-index", "--cacheinfo", f"160000,{moved},{ORION}")
    (other / "Knowledge").mkdir(exist_ok=True)
    (other / "Knowledge" / "a.md").write_text("# A\n")
    run_git(other, "add", "Knowledge")
    run_git(other, "commit", "-q", "--no-verify", "-m", "from elsewhere")
    before = run_git(project, "rev-parse", "HEAD")
    pulled = pull(home, "origin", now=now)
    assert pulled.commit
    assert (home.root / "Knowledge" / "a.md").read_text() == "# A\n"
    assert run_git(home.root, "rev-parse", f"HEAD:{ORION}") == moved
    assert run_git(project, "rev-parse", "HEAD") == before
    assert moved[:12] in sharing_problems(home)[0].message


def test_a_submodule_that_went_on_here_keeps_its_commit(home: Home, now: datetime, tmp_path: Path) -> None:
    project = put(home, "submodule", tmp_path / "elsewhere")
    other = tmp_path / "other"
    run_git(home.root, "clone", "-q", str(home.root), str(other))
    run_git(home.root, "remote", "add", "origin", str(other))
    run_git(other, "update-index", "--cacheinfo", f"160000,{'1' * 40},{ORION}")
    run_git(other, "commit", "-q", "--no-verify", "-m", "from elsewhere")
    run_git(project, "commit", "-q", "--allow-empty", "-m", "Here")
    run_git(home.root, "commit", "-q", "--no-verify", "-m", "Here", ORION)
    assert pull(home, "origin", now=now).commit
    assert run_git(home.root, "rev-parse", f"HEAD:{ORION}") == run_git(project, "rev-parse", "HEAD")
    assert pull(home, "origin", now=now).commit is None


@pytest.mark.parametrize("form", FORMS)
def test_a_pull_writes_nothing_into_a_shared_folder(home: Home, now: datetime, tmp_path: Path, form: str) -> None:
    other = tmp_path / "other"
    run_git(home.root, "clone", "-q", str(home.root), str(other))
    run_git(home.root, "remote", "add", "origin", str(other))
    project = put(home, form, tmp_path / "elsewhere")
    (other / ORION).mkdir(parents=True)
    (other / ORION / "NEW.md").write_text("# New\n")
    run_git(other, "add", ".")
    run_git(other, "commit", "-q", "--no-verify", "-m", "from elsewhere")
    with pytest.raises(PullStopped, match="shared here"):
        pull(home, "origin", now=now)
    assert not (project / "NEW.md").exists()
