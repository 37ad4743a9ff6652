"""Asking git again about entries after the code moved on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_home import storage
from agent_home.documents import check as home_check
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.errors import NoSuchEntry
from agent_home.git.history import entry_history
from agent_home.home import Home
from agent_home.store import transcript
from distill.close import close
from distill.evidence.repository import Repository
from distill.evidence.verification import VerificationReport, verify

if TYPE_CHECKING:
    from ..conftest import Repo, Talk

EARLIER = "2026-11-01T09:00:00+00:00"
DURING = "2026-11-20T14:05:00+00:00"
LATER = "2026-11-20T20:00:00+00:00"
ADDED = "Conclusion: Added src/cache.py, which keeps responses on disk."
FIXED = "Conclusion: Fixed the timezone offset in src/estimate.py."
SYMBOL = "Conclusion: Added `load_cached()` to src/cache.py."


@pytest.fixture(scope="session")
def pattern(new_repo: Callable[[Path], Repo], tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = new_repo(tmp_path_factory.mktemp("pattern") / "work")
    repo.commit("Start", {"src/estimate.py": "NOW = now()\n", "README.md": "Parcels\n"}, EARLIER)
    repo.commit("Cache responses on disk", {"src/cache.py": "def load_cached(key):\n    return key\n"}, DURING)
    repo.commit("Fix the timezone offset in estimates", {"src/estimate.py": "NOW = now(UTC)\n"}, DURING)
    return repo


@pytest.fixture
def repo(pattern: Repo, tmp_path: Path) -> Repo:
    return pattern.copied_to(tmp_path / "work")


@pytest.fixture
def remembered(home: Home, repo: Repo, talk: Talk, now: datetime) -> Callable[..., Home]:
    """A home that closed a session in which *texts* were said."""

    def make(*texts: str) -> Home:
        rows = [("assistant", text) for text in texts]
        transcript.append(home, "fc-1", talk(*rows, cwd=str(repo.root)), actor="test", now=now)
        close(home, "fc-1", now=now)
        assert len(entries(home)) == len(texts)
        return home

    return make


def entries(home: Home) -> list[Entry]:
    return list(parse(storage.read_text(home.root / "MEMORY.md")).entries())


def evidence(home: Home) -> list[str]:
    return [entry.fields["Evidence"].split(";")[0] for entry in entries(home)]


def apply(home: Home, now: datetime, *ids: str) -> VerificationReport:
    return verify(home, ids, now=now, apply=True)


def verify_without_transcripts(home: Home, now: datetime) -> VerificationReport:
    hidden = home.root / "hidden"
    home.sessions.rename(hidden)
    done = verify(home, now=now, everything=True)
    hidden.rename(home.sessions)
    return done


def commits(home: Home) -> int:
    command = ["git", "-C", str(home.root), "rev-list", "--count", "HEAD"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_claim_that_still_holds_makes_no_commit(remembered: Callable[..., Home], now: datetime) -> None:
    home = remembered(ADDED, FIXED)
    before = (evidence(home), commits(home))
    done = apply(home, now)
    assert [entry.now for entry in done.entries] == ["verified", "verified"]
    assert (done.commit, done.changed, evidence(home), commits(home)) == (None, (), *before)


def test_a_file_that_was_deleted_later_makes_its_entry_stale(
    remembered: Callable[..., Home], repo: Repo, now: datetime
) -> None:
    home = remembered(ADDED)
    (entry,) = entries(home)
    added = repo.git("rev-parse", "--short", "HEAD~1")
    repo.commit("Drop the cache", {"src/cache.py": None}, LATER)
    shown = verify(home, now=now)
    assert [(entry.was, entry.now, entry.fell) for entry in shown.entries] == [("verified", "stale", True)]
    assert evidence(home)[0].startswith("verified")  # nothing is written unless asked to
    done = apply(home, now)
    address = entry.fields["Evidence"].split("; ")[1]
    line = f"stale, commit {added}, added by {added}, not at HEAD; {address}"
    assert entries(home)[0].fields["Evidence"] == line
    assert (entries(home)[0].text, entries(home)[0].fields["Sources"]) == (entry.text, entry.fields["Sources"])
    assert home_check.problems(home) == []
    last = entry_history(home.root, entry.id)[-1]
    assert (last.commit, last.actor, last.evidence) == (done.commit, "verify", f"stale {added}")


def test_a_renamed_file_is_reported_with_its_new_name(
    remembered: Callable[..., Home], repo: Repo, now: datetime
) -> None:
    home = remembered(ADDED)
    repo.git("mv", "src/cache.py", "src/storage.py")
    repo.commit("Call it storage", {}, LATER)
    assert apply(home, now).entries[0].detail == "src/cache.py is src/storage.py now"


@pytest.mark.parametrize("wording", ["by hash", "by subject", "without a word"])
def test_reverted_work_makes_its_entry_stale(
    remembered: Callable[..., Home], repo: Repo, now: datetime, wording: str
) -> None:
    home = remembered(FIXED)
    subject = "Fix the timezone offset in estimates"
    messages = {
        "by hash": f"Take it back\n\nThis reverts commit {repo.git('rev-parse', 'HEAD')}.",
        "by subject": f'Revert "{subject}" (#7)',
        "without a word": "Estimates are local again",
    }
    repo.commit(messages[wording], {"src/estimate.py": "NOW = now()\n"}, LATER)
    (entry,) = apply(home, now).entries
    assert entry.now == "stale"
    assert ("was reverted by" in entry.detail) == (wording != "without a word")


def test_a_lost_symbol_makes_its_entry_stale_until_it_returns(
    remembered: Callable[..., Home], repo: Repo, now: datetime
) -> None:
    home = remembered(SYMBOL)
    repo.commit("Read once", {"src/cache.py": "def read(key):\n    return key\n"}, LATER)
    assert [entry.now for entry in apply(home, now).entries] == ["stale"]
    repo.commit("Bring it back", {"src/cache.py": "def load_cached(key):\n    return key\n"}, LATER)
    assert [(entry.was, entry.now) for entry in apply(home, now).entries] == [("stale", "verified")]
    assert evidence(home)[0].startswith("verified, commit ")


RATES = "def parse_rate(text):\n    return float(text)\n"
FIXED_RATES = "def parse_rate(text):\n    return float(text.strip())\n"
RENAMED_RATES = "def read_rate(text):\n    return float(text.strip())\n"


def test_work_on_a_symbol_is_stale_while_the_symbol_is_gone(
    remembered: Callable[..., Home], repo: Repo, now: datetime
) -> None:
    repo.commit("Start on rates", {"src/rates.py": RATES}, EARLIER)
    fixed = repo.commit("Fix blanks around rates in parse_rate", {"src/rates.py": FIXED_RATES}, DURING)
    home = remembered(f"Conclusion: I fixed parse_rate, which dropped blanks around rates, commit {fixed[:7]}.")
    assert evidence(home)[0].startswith("verified, commit")
    repo.commit("Say it", {"CHANGELOG.md": "parse_rate is read_rate\n", "src/rates.py": RENAMED_RATES}, LATER)
    assert [(entry.was, entry.now, entry.detail) for entry in apply(home, now).entries] == [
        ("verified", "stale", "parse_rate is gone at HEAD")
    ]
    assert verify(home, now=now, everything=True).changed == ()  # it stays so, however often git is asked
    repo.commit("Bring it back", {"src/rates.py": FIXED_RATES}, LATER)
    assert [(entry.was, entry.now) for entry in apply(home, now).entries] == [("stale", "verified")]


def test_a_symbol_that_moved_to_another_file_is_not_gone(
    remembered: Callable[..., Home], repo: Repo, now: datetime
) -> None:
    repo.commit("Start on rates", {"src/rates.py": RATES}, EARLIER)
    fixed = repo.commit("Fix blanks around rates in parse_rate", {"src/rates.py": FIXED_RATES}, DURING)
    home = remembered(f"Conclusion: I fixed parse_rate, commit {fixed[:7]}.")
    repo.commit("Move it", {"src/rates.py": None, "src/numbers.py": FIXED_RATES}, LATER)
    assert apply(home, now).changed == ()


@pytest.mark.parametrize("claim", ["Deleted parse_rate", "Replaced all calls of parse_rate", "删除了 parse_rate"])
def test_a_removal_is_not_stale_because_its_symbol_is_gone(
    remembered: Callable[..., Home], repo: Repo, now: datetime, claim: str
) -> None:
    both = {"src/rates.py": RATES, "src/use.py": "parse_rate(1)\n", "src/other.py": "parse_rate(2)\n"}
    repo.commit("Start on rates", both, EARLIER)
    files = {"src/use.py": "float(1)\n", "src/other.py": "float(2)\n"}
    removal = "Replaced" not in claim
    done = repo.commit(
        "Replace all calls of parse_rate", {**files, **({"src/rates.py": "RATE = 1\n"} if removal else {})}, DURING
    )
    home = remembered(f"Conclusion: {claim}, commit {done[:7]}.")
    assert evidence(home)[0].startswith("verified, commit")
    repo.commit("Leave nothing of it", {"src/rates.py": "RATE = 2\n"}, LATER)
    assert [(entry.now, entry.line) for entry in apply(home, now).entries] == [("verified", "")]


def test_a_rewritten_commit_is_replaced_by_its_successor_or_stale(
    remembered: Callable[..., Home], repo: Repo, now: datetime
) -> None:
    home = remembered(FIXED)
    old = evidence(home)[0]
    repo.git("commit", "--quiet", "--amend", "-m", "Fix timezone offset of estimates", when=DURING)
    (entry,) = apply(home, now).entries
    assert (entry.was, entry.now, evidence(home)[0] != old) == ("verified", "verified", True)
    assert repo.git("rev-parse", "HEAD").startswith(entry.commit)
    repo.git("checkout", "--quiet", "--detach", "HEAD~1")
    repo.git("branch", "--quiet", "-D", "main")
    assert [(entry.now, entry.detail) for entry in apply(home, now).entries] == [
        ("stale", f"commit {entry.commit} is on no branch")
    ]


def test_checking_out_another_branch_contradicts_nothing(
    remembered: Callable[..., Home], repo: Repo, now: datetime
) -> None:
    home = remembered(ADDED, FIXED)
    before = evidence(home)
    repo.git("checkout", "--quiet", "-b", "release", "HEAD~2")
    done = apply(home, now)
    assert (done.changed, evidence(home)) == ((), before)


def test_work_that_is_committed_later_becomes_verified(home: Home, repo: Repo, talk: Talk, now: datetime) -> None:
    rows = [("assistant", "Conclusion: Added src/labels.py for printing.")]
    (repo.root / "src/labels.py").write_text("LABEL = 1\n", encoding="utf-8")
    transcript.append(home, "fc-1", talk(*rows, cwd=str(repo.root)), actor="test", now=now)
    close(home, "fc-1", now=now)
    assert evidence(home) == ["unverified, not committed"]
    repo.commit("Print labels", {"src/labels.py": "LABEL = 1\n"}, LATER)
    assert [(entry.was, entry.now) for entry in apply(home, now).entries] == [("unverified", "verified")]


def test_entries_whose_repository_did_not_move_are_skipped(
    remembered: Callable[..., Home], repo: Repo, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = remembered(ADDED, FIXED)
    assert len(apply(home, now).entries) == 2
    asked = list[str]()
    original = Repository._git

    def counting(self: Repository, *arguments: str, **options: Any) -> str:
        asked.append(arguments[0])
        return original(self, *arguments, **options)

    monkeypatch.setattr(Repository, "_git", counting)
    again = apply(home, now)
    assert (again.entries, again.unmoved, asked) == ((), 2, ["rev-parse", "for-each-ref"])
    assert len(verify(home, now=now, everything=True).entries) == 2
    assert len(verify(home, [entries(home)[0].id], now=now).entries) == 1
    repo.commit("Another thing", {"README.md": "More\n"}, LATER)
    assert len(apply(home, now).entries) == 2


def test_a_missing_repository_transcript_or_answer_changes_nothing(
    remembered: Callable[..., Home], repo: Repo, now: datetime, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = remembered(ADDED)
    before = evidence(home)
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(
        f'#!/bin/sh\n[ "$GIT_DIR" = {repo.root}/.git ] && exec sleep 30\nexec /usr/bin/git "$@"\n', encoding="utf-8"
    )
    slow.chmod(0o755)
    toml = home.root / "agent.toml"
    toml.write_text(toml.read_text(encoding="utf-8") + "\n[distill]\nclaim-timeout-s = 0.3\n", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{slow.parent}:/usr/bin:/bin")
        assert [entry.now for entry in apply(Home(home.root), now).entries] == ["unchecked"]
    repo.commit("Drop the cache", {"src/cache.py": None}, LATER)
    shutil.move(repo.root, tmp_path / "elsewhere")
    assert [(entry.now, entry.detail) for entry in apply(home, now).entries] == [("unchecked", "no repository")]
    assert apply(home, now).unmoved == 1
    (entry,) = verify_without_transcripts(home, now).entries
    assert "no transcript of fc-1" in entry.detail
    assert evidence(home) == before
    shutil.move(tmp_path / "elsewhere", repo.root)
    assert [entry.now for entry in apply(home, now).entries] == ["stale"]


def test_an_entry_changed_meanwhile_keeps_its_text(remembered: Callable[..., Home], repo: Repo, now: datetime) -> None:
    home = remembered(ADDED)
    repo.commit("Drop the cache", {"src/cache.py": None}, LATER)
    memory = home.root / "MEMORY.md"

    def edit(*_: object) -> None:
        text = memory.read_text(encoding="utf-8")
        memory.write_text(text.replace("on disk", "in memory"), encoding="utf-8")

    done = verify(home, now=now, apply=True, progress=edit)
    assert done.commit is None
    assert "in memory" in memory.read_text(encoding="utf-8")
    assert "stale" not in memory.read_text(encoding="utf-8")
    assert [entry.now for entry in apply(home, now).entries] == ["stale"]  # the next run asks again


def test_only_claims_are_checked_and_an_unknown_id_is_an_error(
    home: Home, talk: Talk, repo: Repo, now: datetime
) -> None:
    rows = [("user", "Decision: ship on Monday.")]
    transcript.append(home, "fc-1", talk(*rows, cwd=str(repo.root)), actor="test", now=now)
    close(home, "fc-1", now=now)
    assert verify(home, now=now, everything=True) == VerificationReport()
    with pytest.raises(NoSuchEntry):
        verify(home, ["KD-0000"], now=now)
