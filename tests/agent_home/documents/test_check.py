"""``memory check`` names the file, line and rule of every problem, for all kinds of line ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given

from agent_home import storage
from agent_home.creation import template_files
from agent_home.documents import check
from agent_home.documents.check import RULES, entry_files, problems, text_problems
from agent_home.home import Home
from interfaces.cli import cli
from tests.growth import is_linear
from tests.strategies import markdown_texts, memories, wild_texts

MARKER = "<" + "agent-home" + ">"
OURS = "<<<<<<< HEAD"
PARTED = [(3, "conflict-marker"), (5, "conflict-marker"), (7, "conflict-marker")]
#: Text of MEMORY.md, and the (line, rule) of each of its problems.
BROKEN = {
    "fine": ("# M\n\n## Key Decisions\n\n- **[KD-0001] 2026-11-20 T** - b\n  Evidence: verified\n", []),
    "duplicate id": ("## Key Decisions\n\n- **[KD-0001] a**\n- x\n- **[KD-0001] b**\n", [(5, "duplicate-id")]),
    "three of one id": ("## Key Decisions\n- **[KD-0001] a**\n- **[KD-0001] b**\n- **[KD-0001] c**\n",
                        [(3, "duplicate-id"), (4, "duplicate-id")]),
    "section twice": ("## Key Decisions\n\n## Notes\n\n## KEY decisions\n", [(5, "duplicate-section")]),
    "heading without space": ("# M\n\n##Key Decisions\n\ntext\n", [(3, "broken-heading")]),
    "heading glued to an entry": ("## Key Decisions\n\n- **[KD-0001] a**\n##Notes\n", [(4, "broken-heading")]),
    "outside": ("# M\n\n- **[KD-0001] a**\n", [(3, "outside-section")]),
    "wrong section": ("## Key Decisions\n\n- **[LL-0001] a**\n", [(3, "wrong-section")]),
    "unknown prefix": ("## Key Decisions\n\n- **[ZZ-0001] a**\n", [(3, "wrong-section")]),
    "lower-case id": ("## Key Decisions\n\n- **[kd-0001] a**\n", [(3, "malformed-entry")]),
    "no bold": ("## Key Decisions\n\n- [KD-0001] a\n", [(3, "malformed-entry")]),
    "letter outside the alphabet": ("## Key Decisions\n\n- **[KD-000I] a**\n", [(3, "malformed-entry")]),
    "never ends its bold": ("## Key Decisions\n\n- **[KD-0001] a\n", [(3, "malformed-entry")]),
    "indented": ("## Key Decisions\n\n  - **[KD-0001] a**\n", [(3, "malformed-entry")]),
    "indented to code": ("## Key Decisions\n\n    - **[KD-0001] a**\n", [(3, "malformed-entry")]),
    "inside another": ("## Key Decisions\n\n- **[KD-0001] a**\n  - **[KD-0002] b**\n", [(4, "malformed-entry")]),
    "no entry meant": (
        "## Key Decisions\n\n- [link](https://example.org)\n- [todo] x\n- [docs] y\n- [x] done\n- **[link](x)**\n", [],
    ),
    "date that does not exist": ("## Key Decisions\n\n- **[KD-0001] 2026-02-30 a**\n", [(3, "bad-date")]),
    "date in another form": ("## Key Decisions\n\n- **[KD-0001] 2026/2/3 a**\n", [(3, "bad-date")]),
    "fence": ("# M\n\ntext\n\n```python\n# x\n", [(5, "unclosed-fence")]),
    "fence closed by too few": ("````\n```\n", [(1, "unclosed-fence")]),
    "closed fence": ("```\nx\n```\n\n~~~~ a\n```\n~~~~~\n", []),
    "fence in an item": ("- a\n  ```\n  x\n\ntext\n", []),
    "comment": ("# M\n\n<!-- open\n\n## Key Decisions\n", [(3, "unclosed-comment")]),
    "closed comment": ("<!-- a\n\nb -->\n", []),
    "script": ("text\n\n<script>\n\n## Key Decisions\n", [(3, "unclosed-html")]),
    "marker": (f"# M\n\ntwo\nlines {MARKER}\n", [(4, "forged-marker")]),
    "marker in a comment": ("a\n\n<!-- agent-home x -->\n", [(3, "forged-marker")]),
    "chat token": ("a\n\n- b\n- <|im_start|>\n", [(4, "forged-marker")]),
    "conflict": (f"# M\n\n{OURS}\na\n=======\nb\n>>>>>>> main\n", PARTED),
    "conflict over entries": (
        f"## Key Decisions\n\n{OURS}\n- **[KD-0001] a**\n=======\n- **[KD-0002] b**\n>>>>>>> main\n", PARTED,
    ),
    "seven signs under a heading": ("Heading\n=======\n\ntext\n", []),
    "marks in a code block": (f"```\n{OURS}\n{MARKER}\n##x\n- **[kd-1] x**\n```\n", []),
    "control character": ("a\nb\x07c\n", [(2, "control-character")]),
    "form feed and separators move no line": ("a\x85b\u2028c\n\n##x\n", [(3, "broken-heading")]),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_problem_has_a_line_and_a_rule(name: str, end: str) -> None:
    text, wanted = BROKEN[name]
    assert [(p.line, p.rule) for p in text_problems("MEMORY.md", text.replace("\n", end))] == wanted


def test_every_rule_for_texts_has_an_example() -> None:
    elsewhere = {"not-utf8", "bad-manifest", "not-json", "not-a-file", "outside-home", "unreadable", "too-large"} | {
        "name-not-utf8", "link-not-agreed", "shared-folder",
    }  # fmt: skip
    assert {rule for _, wanted in BROKEN.values() for _, rule in wanted} == set(RULES) - elsewhere


@pytest.mark.parametrize(("path", "text"), [pair for pair in template_files() if pair[0].endswith(".md")])
def test_the_template_has_no_problem(path: str, text: str) -> None:
    assert text_problems(path, text) == []


@given(memories())
def test_a_valid_memory_has_no_problem(text: str) -> None:
    assert text_problems("MEMORY.md", text) == []


@given(markdown_texts() | wild_texts())
def test_every_problem_of_any_text_has_an_existing_line(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    for problem in text_problems("MEMORY.md", text):
        assert 1 <= problem.line <= lines
        assert problem.rule in RULES
        assert "\n" not in problem.message


def test_entry_rules_apply_only_to_entry_files() -> None:
    text = "- [KD-0001] a\n- **[KD-0001] a**\n- **[KD-0001] a**\n##x\n"
    assert text_problems("Knowledge/a.md", text) == []
    assert text_problems("Archive/MEMORY-2026-11.md", text) != []


def found(home: Home) -> list[tuple[str, int, str]]:
    return [(p.file, p.line, p.rule) for p in problems(home)]


def test_an_id_in_memory_and_archive_is_reported_once(home: Home) -> None:
    (home.root / "Archive/MEMORY-2026-10.md").write_text("## Key Decisions\n\n- **[KD-0001] a**\n")
    (home.root / "MEMORY.md").write_text("## Key Decisions\n\n- **[KD-0002] b**\n- **[KD-0001] c**\n")
    (problem,) = problems(home)
    assert (problem.file, problem.line, problem.rule) == ("MEMORY.md", 4, "duplicate-id")
    assert "Archive/MEMORY-2026-10.md" in problem.message


def test_files_that_are_not_valid_are_reported_with_the_line(home: Home) -> None:
    (home.root / "Knowledge/a.md").write_bytes(b"one\r\ntwo\r\ncaf\xe9\r\n")
    session = home.sessions / "2026" / "11" / "x.jsonl"
    session.parent.mkdir(parents=True)
    session.write_bytes(b'{"id": "1"}\n[1]\n{half\n\xff\n' + b"[" * 100_000 + b"\n{not the last whole line")
    (home.root / "ledger/references-2026-11.jsonl").write_bytes(b"{}\n\n")
    assert found(home) == [
        ("Knowledge/a.md", 3, "not-utf8"),
        ("ledger/references-2026-11.jsonl", 2, "not-json"),
        *[("sessions/2026/11/x.jsonl", line, "not-json") for line in (2, 3, 4, 5)],
    ]


@pytest.mark.parametrize(
    ("put", "rule"),
    [
        (lambda _: None, "not-a-file"),
        (Path.mkdir, "not-a-file"),
        (lambda path: path.symlink_to("nowhere.md"), "not-a-file"),
        (lambda path: path.symlink_to("../elsewhere.md"), "outside-home"),
        (lambda path: path.symlink_to(path.name), "unreadable"),
    ],
    ids=["absent", "folder", "broken link", "link out", "circle"],
)
def test_a_memory_that_is_not_a_file_is_reported(home: Home, put: Callable[[Path], object], rule: str) -> None:
    (home.root.parent / "elsewhere.md").write_text("# Elsewhere\n")
    path = home.root / "MEMORY.md"
    path.unlink()
    put(path)
    assert found(home) == [("MEMORY.md", 0, rule)]
    done = CliRunner().invoke(cli, ["check", "--home", str(home.root)])
    assert done.exit_code == 1
    assert f"MEMORY.md:0: {rule}: " in done.stdout


def test_a_folder_as_context_file_is_reported_and_a_missing_file_is_not(home: Home) -> None:
    (home.root / "SOUL.md").unlink()
    assert found(home) == []
    (home.root / "SOUL.md").mkdir()
    assert found(home) == [("SOUL.md", 0, "not-a-file")]


def test_files_without_read_permission_are_reported(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = home.root / "ledger" / "references-2026-11.jsonl"
    ledger.symlink_to(ledger.name)
    read_text = storage.read_text

    def refuse(path: Path) -> str:
        if path.name == "SOUL.md":
            raise PermissionError(13, "Permission denied")
        return read_text(path)

    monkeypatch.setattr(storage, "read_text", refuse)
    assert found(home) == [(name, 0, "unreadable") for name in ("SOUL.md", "ledger/references-2026-11.jsonl")]


@pytest.mark.parametrize(("extra", "line"), [("\n= 1\n", True), ("\n[surprise]\n", False)])
def test_a_bad_manifest_is_reported(home: Home, extra: str, line: bool) -> None:
    path = home.root / "agent.toml"
    lines = path.read_text().count("\n")
    path.write_text(path.read_text() + extra)
    assert found(Home(home.root)) == [("agent.toml", lines + 2 if line else 0, "bad-manifest")]


def test_hidden_folders_are_skipped(home: Home) -> None:
    hidden = home.root / ".obsidian" / "x.md"
    hidden.parent.mkdir()
    hidden.write_bytes(b"\xff")
    assert problems(home) == []


@pytest.mark.parametrize("broken", [True, False])
def test_the_command_prints_each_problem_and_its_exit_code(home: Home, broken: bool) -> None:
    if broken:
        (home.root / "Knowledge" / "a.md").write_text(f"# A\n\n{MARKER}\n")
    done = CliRunner().invoke(cli, ["check", "--home", str(home.root), "--json"])
    assert done.exit_code == int(broken)
    rows = json.loads(done.stdout)["problems"]
    assert [(row["file"], row["line"], row["rule"]) for row in rows] == [
        ("Knowledge/a.md", 3, "forged-marker")
    ] * broken
    text = CliRunner().invoke(cli, ["check", "--home", str(home.root)]).stdout
    assert ("Knowledge/a.md:3: forged-marker" in text) == broken


def test_checking_changes_nothing(home: Home) -> None:
    def state(root: Path) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    before = state(home.root)
    problems(home)
    assert state(home.root) == before


def test_an_entry_live_and_archived_is_a_problem_only_with_different_texts(home: Home) -> None:
    entry = "- **[LL-7F3A] 2026-01-01 T** - b\n"
    text = f"# M\n\n## Lessons Learned\n\n{entry}"
    (home.root / "MEMORY.md").write_text(text)
    archive = home.root / "Archive/MEMORY-2026-11.md"
    archive.write_text(text)
    assert problems(home) == []
    archive.write_text(text.replace(" b", " c"))
    assert [(problem.file, problem.rule) for problem in problems(home)] == [("MEMORY.md", "duplicate-id")]
    archive.write_text(text)
    (home.root / "Archive/MEMORY-2026-12.md").write_text(text)  # two archived copies are not a move
    assert [(problem.file, problem.rule) for problem in problems(home)] == [
        ("Archive/MEMORY-2026-12.md", "duplicate-id")
    ]


def test_an_archived_daily_log_has_no_entries(home: Home) -> None:
    folder = home.root / "Archive/DailyActivity"
    folder.mkdir()
    for day in ("2026-01-01", "2026-01-02"):
        (folder / f"{day}.md").write_text("# D\n\n- **[LL-7F3A] quoted**\n- [KD-12] quoted\n\n## A\n\n## A\n")
    assert problems(home) == []
    assert not any(file.startswith("Archive/DailyActivity") for file in entry_files(home))


@pytest.mark.parametrize("unit", ["\x1c", "a\n\x01", MARKER])
def test_time_grows_with_the_number_of_problems_in_a_block(unit: str) -> None:
    def look(text: str) -> None:
        check._text_problems.cache_clear()
        text_problems("Knowledge/x.md", f"# T\n\n{text}")

    assert is_linear(look, unit, 10_000)


def test_each_control_character_has_its_own_line() -> None:
    found = text_problems("Knowledge/x.md", "# T\n\na\x01\r\nb\n\x02c\rd\x03\x04\n")
    assert [problem.line for problem in found] == [3, 5, 6, 6]
