"""Tests of reading ``agent.toml``: an unknown key or a wrong value is an error that names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_home.errors import SettingsBroken, SettingsInvalid
from agent_home.settings import TABLES, load_manifest, read_table, setting_fields
from assembler.settings import AssemblerSettings
from distill.settings import DistillSettings
from guard import GuardSettings
from interfaces.service.settings import ServeSettings
from recall.embedding.model import EmbeddingSettings
from recall.settings import RecallSettings

CONTEXT = '[[context]]\nfile = "MEMORY.md"\nowner = "agent"\naudiences = ["owner"]\ncut = "oldest-first"\nfloor = 10\n'


class Colour(StrEnum):
    red = "red"
    blue = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    whole: int = 1
    part: float = 0.5
    word: str = "w"
    switch: bool = False
    choice: Literal["a", "b"] = "a"
    colours: frozenset[Colour] = frozenset()
    words: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    perhaps: int | None = None
    two_words: int = 2
    internal: int = field(default=0, metadata={"setting": False})


@dataclass(frozen=True, slots=True, kw_only=True)
class Needy:
    needed: str


def load(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "agent.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return load_manifest(path)


def test_a_table_fills_the_dataclass_and_missing_keys_keep_defaults() -> None:
    table = {"whole": 3, "part": 2, "colours": ["red"], "words": ["x"], "weights": {"a": 1}, "perhaps": 4}
    sample = read_table(Sample, table, "here")
    assert sample == Sample(
        whole=3, part=2.0, colours=frozenset({Colour.red}), words=("x",), weights={"a": 1.0}, perhaps=4
    )
    assert isinstance(sample.part, float)
    assert read_table(Sample, {}, "here") == Sample()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"unknown": 1}, ["unknown key 'unknown'", "Known keys are", "whole"]),
        ({"wholes": 1}, ["unknown key 'wholes'", "Did you mean 'whole'?"]),
        ({"two_words": 1, "two-words": 2}, ["'two_words' is set twice"]),
        ({"internal": 1}, ["unknown key 'internal'"]),
        ({"whole": "3"}, ["whole", "'3'", "Write a whole number"]),
        ({"whole": True}, ["whole", "True", "Write a whole number"]),
        ({"whole": 1.5}, ["whole", "1.5", "Write a whole number"]),
        ({"part": "x"}, ["part", "Write a number"]),
        ({"part": True}, ["part", "Write a number"]),
        ({"switch": 1}, ["switch", "Write true or false"]),
        ({"choice": "c"}, ["choice", "'a', 'b'"]),
        ({"colours": "red"}, ["colours", "a list"]),
        ({"colours": ["green"]}, ["colours", "'red', 'blue'"]),
        ({"words": ["x", 1]}, ["words", "Write a text in quotation marks"]),
        ({"weights": ["x"]}, ["weights", "a table"]),
        ({"weights": {"a": "x"}}, ["weights.a", "Write a number"]),
    ],
)
def test_an_error_names_a_wrong_key_or_value_and_what_is_expected(table: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        read_table(Sample, table, "agent.toml: [sample]")
    for word in ["agent.toml: [sample]", *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_value_without_default_is_named() -> None:
    with pytest.raises(SettingsInvalid, match="'needed' is missing"):
        read_table(Needy, {}, "here")


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([item.name for item in setting_fields(Sample)]), JSONISH))
def test_any_table_gives_settings_or_a_settings_error(table: dict[str, Any]) -> None:
    try:
        read = read_table(Sample, table, "here")
    except SettingsInvalid:
        return
    assert isinstance(read, Sample)


def test_a_manifest_is_read_in_file_order(tmp_path: Path) -> None:
    manifest = load(
        tmp_path, 'version = 1\nname = "N"\n' + CONTEXT + CONTEXT.replace("MEMORY", "USER") + "[recall]\nk = 1\n"
    )
    assert [item.name for item in manifest.context] == ["MEMORY", "USER"]
    assert (manifest.name, manifest.tables) == ("N", {"recall": {"k": 1}})
    assert manifest.audiences["MEMORY.md"] == {"owner"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version = \n", ["TOML", "line 1"]),
        ("version = 1\n\udcff = 2\n", ["TOML"]),
        (CONTEXT, ["version", "None"]),
        ("version = 2\n" + CONTEXT, ["version", "2"]),
        ("version = 1\nsurprise = 1\n" + CONTEXT, ["unknown key 'surprise'", "Known keys are"]),
        ("version = 1\n" + CONTEXT + "[recal]\n", ["unknown key 'recal'", "Did you mean 'recall'?"]),
        ("version = 1\nname = 3\n" + CONTEXT, ["name", "3", "Write a text"]),
        ("version = 1\n", ["context"]),
        ("version = 1\ncontext = 3\n", ["context"]),
        ('version = 1\ncontext = ["MEMORY.md"]\n', ["context", "MEMORY.md", "table"]),
        ("version = 1\n" + CONTEXT + CONTEXT, ["MEMORY.md", "twice"]),
        ("version = 1\n" + CONTEXT.replace("floor", "flour"), ["flour", "Did you mean 'floor'?"]),
        ("version = 1\n" + CONTEXT.replace('"oldest-first"', '"sometimes"'), ["cut", "sometimes"]),
        ("version = 1\n" + CONTEXT.replace('"agent"', '"nobody"'), ["owner", "nobody"]),
        ("version = 1\n" + CONTEXT.replace('["owner"]', '["everyone"]'), ["everyone"]),
        ("version = 1\n" + CONTEXT.replace("MEMORY.md", "../MEMORY.md"), ["../MEMORY.md", "inside the home"]),
        ("version = 1\n" + CONTEXT.replace("MEMORY.md", "/etc/x.md"), ["/etc/x.md"]),
        ("version = 1\n" + CONTEXT.replace("MEMORY.md", ".memory/x.md"), [".memory/x.md"]),
        ("version = 1\n" + CONTEXT.replace("MEMORY.md", "MEMORY.txt"), ["MEMORY.txt", "Markdown"]),
        ("version = 1\n" + CONTEXT + '[audiences]\n"Knowledge/" = "group"\n', ["Knowledge/", "list"]),
        ("version = 1\n" + CONTEXT + '[audiences]\n"Knowledge/" = ["all"]\n', ["all", "Known audiences are"]),
        ("version = 1\n" + CONTEXT + '[audiences]\n"Knowledge/" = [["group"]]\n', ["group"]),
        ("version = 1\naudiences = 1\n" + CONTEXT, ["audiences", "table"]),
        ("version = 1\nrecall = 1\n" + CONTEXT, ["recall", "table"]),
    ],
)
def test_an_invalid_manifest_is_an_error_that_names_the_fault(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        load(tmp_path, text)
    for word in ["agent.toml", *words]:
        assert word in str(caught.value)


def test_a_package_reads_its_own_table(tmp_path: Path) -> None:
    text = "version = 1\n" + CONTEXT + "".join(f"[{name}]\nwhole = 7\n" for name in TABLES)
    manifest = load(tmp_path, text)
    assert all(manifest.settings(name, Sample).whole == 7 for name in TABLES)
    with pytest.raises(SettingsInvalid, match=r"\[recall\]"):
        manifest.settings("recall", Needy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    kept: int = 1

    RETIRED: ClassVar[frozenset[str]] = frozenset({"old_weight"})


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ("[recall]\nkept = 2\nold_weight = 1 # mine\n", " line 10"),
        ("[recall]\nold-weight = 1\n", " line 9"),
        ("[assembler]\nold_weight = 1\n[recall]\nold_weight = 1\n", " line 11"),
        ("[ recall ]\nold_weight = 1\n", ""),
    ],
)
def test_a_retired_setting_is_an_error_with_its_line_and_what_to_do(tmp_path: Path, rows: str, line: str) -> None:
    manifest = load(tmp_path, "version = 1\n" + CONTEXT + rows)
    with pytest.raises(SettingsInvalid, match="this setting was removed") as caught:
        manifest.settings("recall", Shrunk)
    assert str(caught.value).startswith(f"{tmp_path / 'agent.toml'}{line}: [recall]: 'old")
    assert str(caught.value).endswith("Delete the line")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("[assembler]\npool_share = nan", ["[assembler] pool_share", "is nan", "from 0"]),
        ("[recall]\nsync_timeout_s = inf", ["[recall] sync_timeout_s", "is inf", "from 0"]),
        ("[guard]\nmax_chars = -5", ["[guard] max_chars", "is -5", "from 0"]),
        ("[distill.endpoint]\nurl = 'https://a.example'\ndaily-tokens = 9999999999999",
         ["daily-tokens", "99999", "to 1000"]),
        ('[guard]\nrules = ["a\\u0000b"]', ["[guard] rules", "\\x00", "without control characters"]),
        ('[embedding]\nmodel = "a\\u001b[2J"', ["[embedding] model", "\\x1b", "without control characters"]),
    ],
)  # fmt: skip
def test_a_value_that_no_setting_can_have_is_an_error(tmp_path: Path, row: str, words: list[str]) -> None:
    kinds: dict[str, type] = {
        "assembler": AssemblerSettings, "distill": DistillSettings, "embedding": EmbeddingSettings,
        "guard": GuardSettings, "serve": ServeSettings, "recall": RecallSettings,
    }  # fmt: skip
    path = tmp_path / "agent.toml"
    path.write_text(f"version = 1\n{CONTEXT}{row}\n", "utf-8")
    manifest = load_manifest(path)
    (table,) = manifest.tables
    with pytest.raises(SettingsInvalid) as caught:
        manifest.settings(table, kinds[table])
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize("value", ["[" * 5_000 + "]" * 5_000, "{a=" * 2_000 + "1" + "}" * 2_000, "9" * 5_000])
def test_a_file_that_the_parser_gives_up_on_is_broken_and_not_a_defect(tmp_path: Path, value: str) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(f"version = 1\n{CONTEXT}[guard]\nrules = {value}\n", "utf-8")
    with pytest.raises(SettingsBroken, match="restore it from git"):
        load_manifest(path)
