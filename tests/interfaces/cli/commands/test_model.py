"""Test the output and the exit codes of ``memory model`` and ``memory model build``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from interfaces.cli import cli
from tests.consenting import agree

KEYS = {"name", "origin", "folder", "dimension", "ready", "sha256"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_HOME_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["model", *arguments])


def configure(home: Home, table: str) -> None:
    path = home.root / "agent.toml"
    path.write_text(path.read_text(encoding="utf-8") + f"\n[embedding]\n{table}\n", encoding="utf-8")
    agree(home)


def test_model_shows_the_missing_model_and_build_makes_it_ready() -> None:
    before = run("--json")
    shown = json.loads(before.stdout)
    assert (before.exit_code, shown["origin"], shown["ready"]) == (1, "package", False)
    assert set(shown) >= KEYS
    assert shown["detail"] == "the model is not built yet. Run `memory model build`"
    built = run("build", "--verify", "--json")
    assert built.exit_code == 0, built.output
    assert json.loads(built.stdout)["problems"] == []
    assert "model.onnx" in built.stderr
    after = run("--json")
    assert (after.exit_code, json.loads(after.stdout)["origin"]) == (0, "cache")
    assert "ready     True" in run().stdout


def test_verify_names_a_changed_file(cache: Path) -> None:
    assert run("build").exit_code == 0
    (path,) = cache.rglob("tokenizer.json")
    path.write_bytes(path.read_bytes() + b" ")
    shown = run("--verify", "--json")
    assert shown.exit_code == 1
    assert "tokenizer.json has" in json.loads(shown.stdout)["problems"][0]


def test_the_settings_of_the_home_apply(home: Home) -> None:
    configure(home, "enabled = false")
    shown = run("--home", str(home.root), "--json")
    assert shown.exit_code == 0, "the user wants none: no finding"
    assert json.loads(shown.stdout)["origin"] == "none"


def test_an_unknown_key_prints_one_line_and_exits_with_7(home: Home) -> None:
    configure(home, 'modell = "x"')
    shown = run("--home", str(home.root))
    assert shown.exit_code == 7
    assert "unknown key 'modell'" in shown.stderr


def test_an_impossible_build_prints_one_line_and_exits_with_8(home: Home) -> None:
    configure(home, 'folder = "/nowhere/at/all"')
    built = run("build", "--home", str(home.root))
    assert built.exit_code == 8
    assert built.stderr.count("\n") == 1
    assert "lacks model.onnx" in built.stderr


def test_options_before_the_subcommand_are_refused() -> None:
    assert run("--json", "build").exit_code == 2
