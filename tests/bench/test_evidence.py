"""The corpus of claims is what it says it is, and the floors hold on it."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import evidence
from bench.evidence import CHECKOUT, FLOORS, JudgedClaim, by_earlier_rule, by_evidence, judged_claims, score
from bench.evidence_data import HALVES, OWN, LabelledRepository, claims, repositories
from bench.evidence_data.history import git


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LabelledRepository]:
    return repositories(tmp_path_factory.mktemp("repositories"), CHECKOUT)


@pytest.fixture(scope="module")
def ours(found: dict[str, LabelledRepository]) -> list[JudgedClaim]:
    return judged_claims(found, by_evidence)


def test_the_corpus_has_claims_of_every_sort_in_both_languages_without_our_own_history() -> None:
    rows = [claim for half in HALVES for claim in claims(half)]
    scripted = [claim for claim in rows if claim.repo != OWN]
    assert len(scripted) >= 150
    assert len({claim.id for claim in rows}) == len(rows)
    assert len({(claim.repo, claim.session, claim.text) for claim in rows}) == len(rows)
    counts = Counter((claim.lang, claim.label) for claim in scripted)
    assert {key for key, count in counts.items() if count >= 4} == {
        (lang, label) for lang in ("en", "zh") for label in ("true", "false", "vague", "undone")
    }
    assert {"half", "rename", "revert", "outside", "branch", "uncommitted"} <= {claim.kind for claim in scripted}


def test_histories_are_the_same_wherever_they_are_made(found: dict[str, LabelledRepository], tmp_path: Path) -> None:
    again = repositories(tmp_path, tmp_path / "no-checkout")
    assert OWN not in again  # what is absent is left out
    for name, place in again.items():
        assert place.built.commits == found[name].built.commits
        assert git(place.built.root, "fsck", "--strict", "--no-dangling") == ""


def test_our_own_history_ends_at_the_fixed_commit(found: dict[str, LabelledRepository]) -> None:
    if OWN not in found:  # a shallow checkout, or one whose history was packed into other commits
        commits = subprocess.run(
            ["git", "-C", str(CHECKOUT), "cat-file", "-e", "3ce4428^{commit}"], capture_output=True, check=False
        )
        shallow = subprocess.run(
            ["git", "-C", str(CHECKOUT), "rev-parse", "--is-shallow-repository"], capture_output=True, check=False
        )
        assert commits.returncode or shallow.stdout.strip() != b"false"
        return
    assert git(found[OWN].built.root, "rev-parse", "--short=7", "HEAD") == "3ce4428"


@pytest.mark.parametrize("half", [None, *HALVES])
def test_the_floors_hold(ours: Sequence[JudgedClaim], half: str | None) -> None:
    scored = score(row for row in ours if half in {None, row.half})
    assert scored.precision >= FLOORS[0]
    assert scored.recall >= FLOORS[1]
    assert scored.true_contradicted == 0


def test_vague_claims_are_never_verified(ours: Sequence[JudgedClaim]) -> None:
    assert [row.text for row in ours if row.claim.label == "vague" and row.said == "verified"] == []


def test_the_earlier_rule_holds_no_floor(found: dict[str, LabelledRepository]) -> None:
    scored = score(judged_claims(found, by_earlier_rule))
    assert scored.precision < 0.6
    assert scored.recall < 0.6


def test_no_answer_in_time_verifies_nothing(
    found: dict[str, LabelledRepository], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "_TIMEOUT_S", 0.0)
    some = {name: place for name, place in found.items() if name == "parcel"}
    assert {row.said for row in judged_claims(some, by_evidence)} <= {"unchecked", "no claim"}
