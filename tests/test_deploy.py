"""The container and the cluster: valid manifests, and a start that makes a home and answers the pods."""

from __future__ import annotations

import configparser
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import click
import kubernetes_validate
import pytest
import yaml

from interfaces.cli import cli

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"


def manifests(file: str = "kubernetes.yaml") -> list[dict[str, Any]]:
    text = (DEPLOY / file).read_text("utf-8").replace("INSTANCE", "watchdog").replace("IMAGE", "memory:1")
    return list(yaml.safe_load_all(text))


FLEET = manifests("fleet/kubernetes.yaml")


@pytest.mark.parametrize("manifest", [*manifests(), *FLEET], ids=lambda manifest: str(manifest["kind"]))
def test_a_manifest_fits_the_schema(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, "1.29", strict=True)


def test_a_wrong_manifest_does_not_fit() -> None:
    wrong = {**manifests()[0], "spec": {"acessModes": []}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.29", strict=True)


def test_the_names_are_those_that_agents_know() -> None:
    found = {manifest["kind"]: manifest for manifest in manifests()}
    assert found["PersistentVolumeClaim"]["metadata"]["name"] == "watchdog-memory-db"
    assert found["PersistentVolumeClaim"]["spec"]["resources"]["requests"]["storage"] == "1Gi"
    assert found["Service"]["metadata"]["name"] == found["StatefulSet"]["spec"]["serviceName"] == "watchdog-memory"
    assert found["Service"]["spec"]["ports"][0]["port"] == 8080
    pod = found["StatefulSet"]["spec"]["template"]["spec"]
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == "watchdog-memory-db"
    assert found["Job"]["spec"]["template"]["spec"]["initContainers"][0]["name"] == "wait-for-memory"


def test_a_fleet_has_hosts_whose_parts_know_each_other() -> None:
    found = {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in FLEET}
    hosts = found["StatefulSet", "memory-fleet"]["spec"]
    assert hosts["replicas"] == 3
    assert ("Service", hosts["serviceName"]) in found
    pod = hosts["template"]["spec"]
    containers = {item["name"]: item for item in (*pod["initContainers"], *pod["containers"])}
    script = (DEPLOY / "fleet" / "host.sh").read_text("utf-8")
    for name, container in containers.items():
        assert container["command"] == ["fleet-host", name]
        assert re.search(rf"^{name}\)", script, re.MULTILINE)
        assert {item["name"] for item in container["env"]} >= {"HOST_NAME", "ADDRESS", "AGENT_HOME_DATABASE_URL"}
    leave = containers["host"]["lifecycle"]["preStop"]["exec"]["command"]
    assert int(leave[1]) < pod["terminationGracePeriodSeconds"]
    assert f"http://$(HOST_NAME).{hosts['serviceName']}:8080" in str(containers["join"]["env"])
    job = found["CronJob", "memory-fleet-nightly"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    parse(job["containers"][0]["command"])


@pytest.mark.parametrize("path", sorted((DEPLOY / "fleet").glob("*.service")), ids=lambda path: path.stem)
def test_a_unit_starts_a_command_that_there_is(path: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(path)
    parse(unit["Service"]["ExecStart"].split())
    assert unit["Service"]["User"] == "memory"
    assert "AGENT_HOME_STATE=" in unit["Service"]["Environment"]


def parse(words: list[str]) -> None:
    """Let click read a command line, and run nothing."""
    assert words[0].rpartition("/")[2] == "memory"
    command: click.Command = cli
    context, rest = click.Context(cli, info_name="memory"), words[1:]
    while isinstance(command, click.Group):
        inner = command.get_command(context, rest[0])
        assert inner is not None, rest[0]
        command, rest = inner, rest[1:]
    command.make_context("memory", rest, parent=context)


def test_a_container_joins_the_fleet_and_leaves_it(new_database_url: str, tmp_path: Path) -> None:
    environment = {
        **os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOMES": str(tmp_path / "homes"), "HOST_NAME": "memory-fleet-0", "ADDRESS": "http://memory-fleet-0:8080",
        "AGENT_HOME_STATE": str(tmp_path / "state"), "AGENT_HOME_DATABASE_URL": new_database_url,
    }  # fmt: skip

    def run(word: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", str(DEPLOY / "fleet" / "host.sh"), word]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)

    joined = run("join")
    assert joined.returncode == 0, joined.stderr
    assert (tmp_path / "state" / "machine.key").exists()
    command = ["sh", str(DEPLOY / "fleet" / "host.sh"), "host"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as host:
        try:
            assert host.stdout is not None
            assert "the host memory-fleet-0 serves" in host.stdout.readline()
            left = run("leave")
            assert left.returncode == 0, left.stderr
            assert "hands its homes over" in left.stdout
        finally:
            host.terminate()
    assert run("dance").returncode == 2


def test_the_image_copies_files_that_are_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+) ", (DEPLOY / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_a_container_makes_its_home_answers_pods_and_starts_again(tmp_path: Path) -> None:
    token = "t" * 40
    (tmp_path / "token").write_text(token + "\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "INSTANCE": "watchdog",
        "AGENT_HOME": str(tmp_path / "data" / "home"), "AGENT_HOME_STATE": str(tmp_path / "data" / "state"),
        "TOKEN_FILE": str(tmp_path / "token"), "AUDIENCE": "job",
        "ADDRESS": f"127.0.0.1:{port}",
    }  # fmt: skip
    for start in range(2):
        with subprocess.Popen(
            ["sh", str(DEPLOY / "start.sh")], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            try:
                assert until_ready(port, process)
                if not start:
                    stored = ask(
                        port, token, "/memory/store", {"content": "Pod X has recurring OOM issues", "tags": ["k8s"]}
                    )
                    assert stored["success"] is True
                found = ask(port, token, "/memory/search", {"query": "previous issues of pod X"})
                told = "pods (participant) said: Pod X has recurring OOM issues"
                assert [row["content"] for row in found["content"]][:1] == [told]
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=60)


def until_ready(port: int, process: subprocess.Popen[bytes]) -> bool:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    return False


def ask(port: int, token: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        found: dict[str, Any] = json.load(answer)
    return found
