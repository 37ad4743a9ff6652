"""A commit's patch is read into paths, words and numbers with their side."""

from __future__ import annotations

from distill.evidence.commit_view import RepositoryWords, view_of
from distill.evidence.repository import CommitInfo

PATCH = """diff --git a/a.py b/b.py
similarity index 90%
rename from a.py
rename to b.py
--- a/a.py
+++ b/b.py
@@ -1 +1 @@ def run_all(jobs):
-    wait(30)
+    wait(60)
diff --git a/CHANGES.md b/CHANGES.md
--- a/CHANGES.md
+++ b/CHANGES.md
@@ -0,0 +1 @@
+- run_all waits 60 seconds instead of 30.
"""
INFO = CommitInfo(commit="a" * 40, short="aaaaaaa", ts=1, message="Wait longer")


def test_paths_hold_the_old_name_of_a_moved_file() -> None:
    assert set(view_of(INFO, PATCH).paths) == {"a.py", "b.py", "CHANGES.md"}


def test_code_decides_before_prose() -> None:
    view = view_of(INFO, PATCH)
    assert view.sides("30").balance == (0, 1)
    assert view.sides("60").balance == (1, 0)


def test_a_name_beside_the_change_is_known() -> None:
    assert "job" in view_of(INFO, PATCH).header_words


def test_a_content_line_that_looks_like_a_header_is_content() -> None:
    view = view_of(INFO, "diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1 +0,0 @@\n--- a comment\n")
    assert view.lines == [(-1, "q.sql", "-- a comment")]


def test_rare_words_weigh_more() -> None:
    words = RepositoryWords.of(["fix pager", "fix editor", "fix docs"], ["src/pager.py"])
    assert words.rarity(("editor",)) > words.rarity(("fix",))
    assert not words.knows(("walru",))
