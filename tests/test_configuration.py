"""Tests that every setting and every environment variable that the program reads is documented."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from agent_home.settings import TABLES, OwnerSettings, setting_fields
from assembler.settings import AssemblerSettings
from distill.language_model.endpoint import EndpointSettings
from distill.settings import DistillSettings
from guard.settings import GuardSettings
from interfaces.service.settings import ServeSettings
from recall.embedding.model import EmbeddingSettings
from recall.settings import RecallSettings

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "home.md").read_text(encoding="utf-8")
PACKAGES = ("guard", "agent_home", "recall", "assembler", "distill", "interfaces")
KINDS: dict[str, type] = {
    "assembler": AssemblerSettings,
    "embedding": EmbeddingSettings,
    "recall": RecallSettings,
    "distill": DistillSettings,
    "distill.endpoint": EndpointSettings,
    "guard": GuardSettings,
    "serve": ServeSettings,
    "owner": OwnerSettings,
}
#: Modules that read the environment themselves, besides those of ``interfaces``.
READERS = {
    "agent_home/git": "leave out variables that lead git to another repository",
    "agent_home/machine_key.py": "find the state folder, which belongs to the user and not to the home",
    "guard/inference/runtime.py": "switch telemetry off before the library that reads the variable is loaded",
    "recall/servers.py": "read the addresses of servers, which have passwords and belong to the machine",
    "recall/embedding/model.py": "find the cache folder, which belongs to the machine and not to the home",
}


def environment_readers() -> set[str]:
    """Return the installed files outside ``interfaces`` that name ``os.environ`` or ``os.getenv``."""
    return {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        if package != "interfaces"
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv"}
    }


def test_every_table_of_settings_is_checked() -> None:
    assert {name.partition(".")[0] for name in KINDS} == set(TABLES)


@pytest.mark.parametrize("table", KINDS)
def test_every_setting_of_a_table_is_documented(table: str) -> None:
    documented = set(re.findall(rf"^\| `{re.escape(table)}\.(\w+)` \|", PAGE, re.MULTILINE))
    assert documented == {field.name for field in setting_fields(KINDS[table])} - {"endpoint"}


def test_only_interfaces_and_named_modules_read_the_environment() -> None:
    readers = environment_readers()
    assert {path for path in readers if not path.startswith(tuple(READERS))} == set()
    assert {name for name in READERS if not any(path.startswith(name) for path in readers)} == set()


def test_every_environment_variable_of_ours_is_documented() -> None:
    sources = [path.read_text(encoding="utf-8") for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    read = {name for text in sources for name in re.findall(r"\"(AGENT_HOME[A-Z_]*)\"", text)}
    assert read == set(re.findall(r"^\| `(AGENT_HOME[A-Z_]*)` \|", PAGE, re.MULTILINE))
