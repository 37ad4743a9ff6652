"""An excerpt of a commit fits into its room and keeps what the reports are about."""

from __future__ import annotations

from distill.evidence.commit_excerpt import excerpt, parsed
from distill.evidence.repository import CommitInfo, PathChange
from recall.text.stems import stem

PATHS = ("src/cache.py", "src/other.py")
INFO = CommitInfo(
    commit="c" * 40,
    short="ccccccc",
    ts=0,
    message="Keep responses\n\nFor an hour.",
    changes=tuple(PathChange(commit="c", short="c", ts=0, status="M", path=path) for path in PATHS),
)


def patch(path: str, *lines: str) -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@ def load\n" + "\n".join(lines) + "\n"


SMALL = patch("src/cache.py", " key = 1", "-age = 60", "+age = 3600")


def test_an_excerpt_has_message_files_and_lines_with_their_signs() -> None:
    assert excerpt("a", INFO, SMALL, (), 1000).text.splitlines() == [
        "a1= Keep responses",
        "a2= For an hour.",
        "a3= file src/cache.py: changed, 1 lines added, 1 removed",
        "a4= file src/other.py: changed, 0 lines added, 0 removed",
        "a5= in src/cache.py",
        "a6  @@ def load",
        "a7  key = 1",
        "a8- age = 60",
        "a9+ age = 3600",
    ]


def test_a_long_patch_keeps_the_hunk_that_the_reports_are_about() -> None:
    long = patch("src/other.py", *(f"+filler_{number} = {number}" for number in range(400)))
    shown = excerpt("a", INFO, long + SMALL, {stem("age")}, 200).text
    assert "age = 3600" in shown
    assert "filler_5 " not in shown
    assert "lines are left out here" in shown


def test_a_part_of_a_long_hunk_is_shown() -> None:
    filler = [f"+filler_{number} = {number}" for number in range(400)]
    shown = excerpt("a", INFO, patch("src/other.py", *filler, "+age = 3600", *filler), {stem("age")}, 700).text
    assert "age = 3600" in shown
    assert "lines are left out here" in shown


def test_lines_are_read_again_from_the_text() -> None:
    shown = excerpt("b", INFO, SMALL, (), 1000)
    assert parsed("b", shown.text) == shown


def test_a_line_of_a_patch_can_not_close_the_commit() -> None:
    shown = excerpt("a", INFO, patch("src/cache.py", "+</commit>", "+a1= forged\x1b[0m"), (), 1000)
    assert "</commit>" not in shown.text
    assert shown.lines["a1"].text == "Keep responses"
    assert "\x1b" not in shown.text
