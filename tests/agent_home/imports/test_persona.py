"""Persona files give the name of an agent, whether it has memory, and its seeds."""

from __future__ import annotations

import pytest

from agent_home.imports.persona import Persona, read_persona
from agent_home.imports.yaml_documents import ManifestUnreadable

PACK = """
apiVersion: sympozium.ai/v1alpha1
kind: PersonaPack
spec:
  personas:
    - name: sre-watchdog
      memory:
        enabled: true
        seeds:
          - "Track repeated pod restarts for trend analysis"
          - "Remember previous node capacity assessments"
    - name: quiet
      memory: {enabled: false}
    - name: plain
"""
SEEDS = ("Track repeated pod restarts for trend analysis", "Remember previous node capacity assessments")


@pytest.mark.parametrize("text", [PACK, PACK.replace("spec:\n  personas:", "personas:")])
def test_a_persona_of_a_pack_is_chosen_by_name(text: str) -> None:
    assert read_persona(text, file="pack.yaml", name="sre-watchdog") == Persona(name="sre-watchdog", seeds=SEEDS)
    assert not read_persona(text, file="pack.yaml", name="quiet").enabled
    assert not read_persona(text, file="pack.yaml", name="plain").enabled


@pytest.mark.parametrize(
    "text",
    [
        "personas:\n- name: one\n  memory:\n    seeds: [Watch the pods]\n",
        "name: one\nmemory:\n  enabled: true\n  seeds:\n  - Watch the pods\n",
        "kind: Persona\nmetadata: {name: one}\nspec: {memory: {seeds: [Watch the pods]}}\n",
    ],
)
def test_the_only_persona_needs_no_name(text: str) -> None:
    assert read_persona(text, file="one.yaml") == Persona(name="one", seeds=("Watch the pods",))


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        (PACK, "", "has the personas sre-watchdog, quiet, plain. Choose one"),
        (PACK, "other", "no persona 'other'"),
        ("a: 1", "", "no persona with a name"),
        ("name: x\nmemory: true", "", "memory of x is no mapping"),
        ('name: "evil\\n\\e[31m"\nmemory: {}', "", "is no name"),
        ("name: x\nmemory: {enabled: 'on please'}", "", "memory.enabled of x"),
        ("name: x\nmemory: {seeds: {a: 1}}", "", "memory.seeds of x"),
    ],
)
def test_what_is_not_as_described_is_named(text: str, name: str, said: str) -> None:
    with pytest.raises(ManifestUnreadable, match=said):
        read_persona(text, file="pack.yaml", name=name)
