"""Each thing of a report is described by where the commit has it, and by what stands in its place."""

from __future__ import annotations

from distill.evidence.commit_fit import fit, read_report
from distill.evidence.commit_view import RepositoryWords, view_of
from distill.evidence.repository import CommitInfo
from distill.evidence.unit_support import UNIT_FEATURES

PATCH = """diff --git a/setup.py b/setup.py
--- a/setup.py
+++ b/setup.py
@@ -1,2 +0,0 @@ import os
-import sys
-import setuptools
"""
WORDS = RepositoryWords.of(["Remove unused imports", "Add variables", "Test on 3.12"], ["setup.py", "tests/a.py"])


def features(text: str, subject: str = "Remove unused imports", patch: str = PATCH) -> list[set[str]]:
    report = read_report(text)
    assert report is not None
    view = view_of(CommitInfo(commit="a" * 40, short="aaaaaaa", ts=0, message=subject), patch)
    found = fit(report, view, WORDS)
    return [{UNIT_FEATURES[at] for at, _ in unit} for unit in found.units]


def veto(text: str, subject: str, patch: str = PATCH) -> str:
    report = read_report(text)
    assert report is not None
    view = view_of(CommitInfo(commit="a" * 40, short="aaaaaaa", ts=0, message=subject), patch)
    return fit(report, view, WORDS).veto


def test_a_word_of_the_subject_is_in_the_message() -> None:
    path, unused, imports = features("setup.py has no unused imports any more.")
    assert "name:message" in path
    assert "word:message" in unused
    assert "soft:message" in imports


def test_another_word_stands_in_the_slot_of_an_untold_one() -> None:
    *_, variables = features("setup.py has no unused variables any more.")
    assert {"soft:", "slot", "rival_soft"} <= variables


def test_a_commit_about_one_identifier_is_not_about_another_thing() -> None:
    subject = "low_level: fix missing encoding line"
    assert veto("The missing encoding line in exceptions is there.", subject) == "is about low_level"
    assert "low_level" not in veto("The missing encoding line in low_level is there.", subject)


def test_a_number_that_lines_have_beside_another_word_rules_out() -> None:
    patch = "diff --git a/ci.yml b/ci.yml\n--- a/ci.yml\n+++ b/ci.yml\n@@ -1 +1,2 @@\n+ checkout@v3\n+ setup@v4\n"
    assert veto("The checkout action is at v4.", "Upgrade the actions", patch) == "has another number beside checkout"
    assert not veto("The checkout action is at v3.", "Upgrade the actions", patch)
