"""Test how memory goes to pods and comes back: a persona's home, a ConfigMap, and an import of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from interfaces.cli import cli

PACK = """personas:
- name: sre-watchdog
  memory:
    enabled: true
    seeds: [Track repeated pod restarts for trend analysis]
- name: quiet
  memory: {enabled: false}
"""


def memory(*words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(words), input=given)


@pytest.fixture
def watchdog(tmp_path: Path) -> Path:
    (tmp_path / "pack.yaml").write_text(PACK)
    made = memory("init", str(tmp_path / "watchdog"), "--persona", f"{tmp_path / 'pack.yaml'}#sre-watchdog")
    assert made.exit_code == 0, made.output
    return tmp_path / "watchdog"


def test_a_persona_gives_the_home_its_name_and_seeds(watchdog: Path, tmp_path: Path) -> None:
    assert "Track repeated pod restarts" in (watchdog / "MEMORY.md").read_text()
    assert 'name = "sre-watchdog"' in (watchdog / "agent.toml").read_text()
    refused = memory("init", str(tmp_path / "quiet"), "--persona", f"{tmp_path / 'pack.yaml'}#quiet")
    assert (refused.exit_code, (tmp_path / "quiet").exists()) == (2, False)
    several = memory("init", str(tmp_path / "quiet"), "--persona", str(tmp_path / "pack.yaml"))
    assert several.exit_code == 7
    assert "sre-watchdog, quiet" in several.stderr


def test_memory_goes_through_a_configmap_into_another_home_once(watchdog: Path, tmp_path: Path) -> None:
    manifest = memory("export", "--configmap", "--home", str(watchdog), "--namespace", "ops").stdout
    assert yaml.safe_load(manifest)["metadata"]["name"] == "sre-watchdog-memory"
    other = str(tmp_path / "other")
    memory("init", other)
    first = json.loads(memory("import", "configmap", "-", "--home", other, "--json", given=manifest).stdout)
    assert (len(first["ids"]), first["known"]) == (1, 0)
    again = json.loads(memory("import", "configmap", "-", "--home", other, "--json", given=manifest).stdout)
    assert (again["ids"], again["known"]) == ([], 1)
    assert "Origin: agent" in (tmp_path / "other" / "MEMORY.md").read_text()


def test_an_export_keeps_what_the_guard_keeps_out_of_prompts(watchdog: Path) -> None:
    key = "AKIA" + "Q3EGRT5L" + "WX2NPK7D"
    with (watchdog / "MEMORY.md").open("a") as file:
        file.write(f"- the key is {key}\n")
    for words in (["export"], ["export", "--configmap"]):
        text = memory(*words, "--home", str(watchdog)).stdout
        assert key not in text
        assert "Track repeated pod restarts" in text


def test_a_memory_that_the_audience_may_not_read_is_not_exported(watchdog: Path) -> None:
    refused = memory("export", "--home", str(watchdog), "--audience", "group")
    assert refused.exit_code == 2
    assert "audience group" in refused.stderr
    assert refused.stdout == ""
    assert memory("export", "--configmap", "--home", str(watchdog), "--instance", "Not A Name").exit_code == 2


def test_three_pods_that_mount_memory_see_what_the_earlier_ones_found(watchdog: Path, tmp_path: Path) -> None:
    mounted, seen = tmp_path / "mounted.md", []
    for run in range(1, 4):
        manifest = yaml.safe_load(memory("export", "--configmap", "--home", str(watchdog)).stdout)
        mounted.write_text(manifest["data"]["MEMORY.md"])  # as the kubelet does
        seen.append(mounted.read_text().count("Pod X restarted for lack of memory"))
        log = ["__SYMPOZIUM_MEMORY__", f"Pod X restarted for lack of memory, run {run}", "__SYMPOZIUM_MEMORY_END__"]
        done = memory("ingest-output", "-", "--home", str(watchdog), given="\n".join(log))
        assert done.stdout == "1 entries written\n", done.stderr
    assert seen == [0, 1, 2]
