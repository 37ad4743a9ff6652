"""The demo's conversations say what the demo shows, and their repository is real."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from git import Repo

from agent_home.imports import chat, claude_code
from bench import demo_data
from bench.demo_data import CODING_SESSION, FORECAST_REVIEW
from bench.demo_data.repository import KEPT_FILE

SOURCES = Path(demo_data.__file__).parent


@pytest.fixture
def values(now: datetime) -> dict[str, str]:
    here = {"repo": "/srv/invoices", "true_commit": "3f9c2e1a7b"}
    return here | demo_data.dates(now) | demo_data.planted()


def encoded(lines: list[str]) -> list[bytes]:
    return [line.encode() + b"\n" for line in lines]


@pytest.mark.parametrize("name", [FORECAST_REVIEW, CODING_SESSION])
def test_every_line_is_an_object_and_no_placeholder_is_left(name: str, values: dict[str, str]) -> None:
    lines = demo_data.load(name, values)
    assert all(isinstance(json.loads(line), dict) for line in lines)
    assert not [line for line in lines if "{{" in line]


@pytest.mark.parametrize("name", [FORECAST_REVIEW, CODING_SESSION])
def test_an_unknown_placeholder_is_an_error(name: str) -> None:
    with pytest.raises(KeyError):
        demo_data.load(name, {})


def test_a_value_may_hold_anything_that_a_path_can_hold(values: dict[str, str]) -> None:
    odd = 'C:\\temp\\"quoted"\nfolder'
    rows = [json.loads(line) for line in demo_data.load(CODING_SESSION, values | {"repo": odd})]
    assert {row["cwd"] for row in rows if "cwd" in row} == {odd}


def test_the_forecast_review_is_imported_whole_and_stands_on_yesterday(values: dict[str, str], now: datetime) -> None:
    parsed = chat.parse(encoded(demo_data.load(FORECAST_REVIEW, values)))
    assert not parsed.skipped
    assert 18 <= len(parsed.messages) <= 24
    assert {message.ts[:10] for message in parsed.messages} == {f"{now - timedelta(days=1):%Y-%m-%d}"}
    assert [message.role for message in parsed.messages] == ["user", "assistant"] * 11
    stamps = [message.ts for message in parsed.messages]
    assert stamps == sorted(stamps)


def test_the_forecast_review_holds_what_the_prompt_must_recall(values: dict[str, str]) -> None:
    said = "\n".join(
        message.content for message in chat.parse(encoded(demo_data.load(FORECAST_REVIEW, values))).messages
    )
    for fact in ("MEAGS 风险最大(-12 %)", "NORDA(-4 %)", "APX(-7 %)", "Halden ¥2.1M", "预算冻结"):
        assert fact in said
    for cue in ("结论:", "更正一下:", "不是 APX 的,而是 NORDA 的", "决定:", "教训:", "待确认:", "下一步:", "以后"):
        assert cue in said
    assert values["api_key"] in said
    assert values["phone"] in said


def test_the_figures_of_the_forecast_review_add_up(values: dict[str, str]) -> None:
    targets = {"MEAGS": 41.0, "APX": 28.0, "NORDA": 30.0, "ISEA": 21.0}
    forecast = {"MEAGS": 36.1, "APX": 26.0, "NORDA": 28.8, "ISEA": 21.2}
    gaps = {unit: round(100 * (forecast[unit] - targets[unit]) / targets[unit]) for unit in targets}
    assert gaps == {"MEAGS": -12, "APX": -7, "NORDA": -4, "ISEA": 1}
    said = "\n".join(demo_data.load(FORECAST_REVIEW, values))
    total = round(sum(forecast.values()) - sum(targets.values()), 1)
    assert total == -7.9
    assert f"-¥{-total}M" in said
    for amount in (*targets.values(), *forecast.values()):
        assert f"¥{amount}M" in said


def test_no_secret_stands_in_the_sources() -> None:
    planted = demo_data.planted()
    for path in SOURCES.iterdir():
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert not [value for value in planted.values() if value in text]
            assert not re.search(r"AKIA[0-9A-Z]{16}|\b1[3-9]\d{9}\b", text)


def test_the_coding_session_has_what_real_ones_have_and_keeps_only_what_was_said(values: dict[str, str]) -> None:
    parsed = claude_code.parse(encoded(demo_data.load(CODING_SESSION, values)))
    assert set(parsed.skipped) == {
        "command",
        "meta",
        "sidechain",
        "summary",
        "thinking",
        "tool-result",
        "tool-use",
        "unknown-type",
    }
    assert {message.cwd for message in parsed.messages} == {"/srv/invoices"}
    said = "\n".join(message.content for message in parsed.messages)
    assert "agent-home" not in said
    assert f"Fixed in commit {values['true_commit']}" in said
    assert f"deleted {KEPT_FILE}" in said
    notes = [message.content for message in parsed.messages if message.role == "tool"]
    assert notes[:2] == ["Edit invoice.py", "Edit test_invoice.py"]
    assert notes[2].endswith("git commit -am 'Round half to even in invoice totals'")
    assert notes[3] == f"[main {values['true_commit']}] Round half to even in invoice totals"


@pytest.fixture
def invoices(tmp_path: Path, now: datetime) -> dict[str, str]:
    return demo_data.make_repository(tmp_path / "invoices", now)


def test_the_true_commit_changes_the_rounding_and_the_kept_file_is_still_there(invoices: dict[str, str]) -> None:
    with Repo(invoices["repo"]) as repo:
        commit = repo.commit(invoices["true_commit"])
        assert commit.hexsha == invoices["true_commit_full"]
        assert commit.message == "Round half to even in invoice totals"
        assert set(commit.stats.files) == {"invoice.py", "test_invoice.py"}
        assert len(list(repo.iter_commits())) == 5
        assert not repo.is_dirty(untracked_files=True)
        assert KEPT_FILE in repo.head.commit.tree
    assert (Path(invoices["repo"]) / KEPT_FILE).is_file()


def test_the_same_moment_gives_the_same_commits(invoices: dict[str, str], tmp_path: Path, now: datetime) -> None:
    again = demo_data.make_repository(tmp_path / "again", now)
    assert again["true_commit_full"] == invoices["true_commit_full"]


def test_the_scripted_tests_of_the_repository_pass(invoices: dict[str, str]) -> None:
    code = "import test_invoice as t; [f() for n, f in vars(t).items() if n.startswith('test_')]"
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=invoices["repo"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
