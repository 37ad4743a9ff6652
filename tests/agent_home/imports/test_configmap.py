"""MEMORY.md goes into a ConfigMap as it is, and its statements come back."""

from __future__ import annotations

import json

import kubernetes_validate
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agent_home.imports.configmap import (
    MOST_CONFIGMAP_BYTES,
    ConfigMapMemory,
    instance_name,
    read_configmap,
    render_configmap,
)
from agent_home.imports.yaml_documents import ManifestUnreadable

MEMORY = """# Memory

## Key Decisions

- **[KD-7F3A]** 2026-11-20 Ship the index with its own SQLite
  Evidence: verified, commit 3f9c2e1
- **[KD-2M0Q]** 2026-11-19 Ship the index in Redis
  Superseded-By: KD-7F3A

## Recent Context

- Pod X has recurring OOM issues
"""


@given(st.text(max_size=200))
def test_the_text_stands_in_a_manifest_as_it_is(memory: str) -> None:
    manifest = yaml.safe_load(render_configmap("watchdog", memory, namespace="ops"))
    assert manifest["metadata"] | {"labels": {}} == {"name": "watchdog-memory", "namespace": "ops", "labels": {}}
    assert manifest["data"]["MEMORY.md"] == memory


def test_a_memory_is_shown_line_by_line_in_a_valid_manifest() -> None:
    text = render_configmap("watchdog", MEMORY)
    kubernetes_validate.validate(yaml.safe_load(text), "1.29", strict=True)
    assert "  MEMORY.md: |\n    # Memory\n" in text


def test_entries_in_force_and_plain_items_are_read_back() -> None:
    found = read_configmap(render_configmap("watchdog", MEMORY), file="-")
    assert found == ConfigMapMemory(
        name="watchdog-memory", statements=("Ship the index with its own SQLite", "Pod X has recurring OOM issues")
    )


@pytest.mark.parametrize("memory", ["# Agent Memory\n- Pod X fails\n- Pod Y fails\n", "Pod X fails\nPod Y fails"])
def test_a_flat_memory_is_read_by_items_or_lines(memory: str) -> None:
    manifest = {"kind": "ConfigMap", "metadata": {"name": "blue-memory"}, "data": {"MEMORY.md": memory}}
    assert read_configmap(json.dumps(manifest), file="-").statements == ("Pod X fails", "Pod Y fails")


def test_too_much_for_a_configmap_is_refused() -> None:
    with pytest.raises(ManifestUnreadable, match="1024 KB"):
        render_configmap("watchdog", "x" * MOST_CONFIGMAP_BYTES)


@pytest.mark.parametrize("name", ["Watch Dog", "-dog", "a" * 250, "dog\nkind: Secret"])
def test_a_name_that_kubernetes_refuses_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name for Kubernetes"):
        render_configmap(name, MEMORY)


@given(st.text())
def test_every_name_becomes_one_that_kubernetes_takes(name: str) -> None:
    assert render_configmap(instance_name(name), "x")


@pytest.mark.parametrize(
    "text",
    [
        "kind: Secret\ndata: {MEMORY.md: x}",
        "kind: ConfigMap\ndata: {other: x}",
        "kind: ConfigMap\ndata: {MEMORY.md: 5}",
    ],
)
def test_a_manifest_without_memory_is_refused(text: str) -> None:
    with pytest.raises(ManifestUnreadable, match=r"no ConfigMap with the key MEMORY\.md"):
        read_configmap(text, file="x.yaml")
