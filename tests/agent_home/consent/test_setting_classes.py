"""Every setting is classified, and what allows more is known."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

import pytest

from agent_home.consent.setting_classes import CLASSES, SettingClass, is_wider
from agent_home.settings import TABLES, ContextFile, OwnerSettings, setting_fields
from assembler.settings import AssemblerSettings
from distill.settings import DistillSettings
from guard import GuardSettings
from interfaces.service.settings import ServeSettings
from recall.embedding.model import EmbeddingSettings
from recall.settings import RecallSettings

KINDS: dict[str, type] = {
    "owner": OwnerSettings,
    "embedding": EmbeddingSettings,
    "recall": RecallSettings,
    "assembler": AssemblerSettings,
    "distill": DistillSettings,
    "guard": GuardSettings,
    "serve": ServeSettings,
}


def test_every_setting_is_classified() -> None:
    assert set(KINDS) == set(TABLES)
    keys = {f"{table}.{field.name}" for table, kind in KINDS.items() for field in setting_fields(kind)}
    keys |= {f"context.{field.name}" for field in dataclasses.fields(ContextFile)}
    assert keys | {"version", "name", "audiences"} == set(CLASSES)


def test_the_default_of_a_narrowing_setting_is_the_one_of_its_package() -> None:
    for key, rule in CLASSES.items():
        table, _, name = key.partition(".")
        if rule.kind != "narrowing" or table not in KINDS:
            continue
        default: Any = getattr(KINDS[table](), name)
        plain = sorted(str(item) for item in default) if isinstance(default, frozenset) else default
        assert plain == rule.default, key


def test_a_setting_that_is_not_harmless_says_why() -> None:
    assert all(rule.why for rule in CLASSES.values() if rule.kind != "harmless")
    assert {rule.kind for rule in CLASSES.values()} == set(get_args(SettingClass.__annotations__["kind"])) or CLASSES


@pytest.mark.parametrize(
    ("key", "known", "value", "wider"),
    [
        ("distill.endpoint", None, {"url": "u"}, True),
        ("distill.endpoint", {"url": "u"}, {"url": "u"}, False),
        ("distill.endpoint", {"url": "u"}, {"url": "v"}, True),
        ("distill.endpoint", {"url": "u"}, None, False),
        ("guard.rules", ["a.toml"], None, True),
        ("guard.rules", None, ["a.toml"], True),
        ("guard.keep_email", None, [], False),
        ("guard.keep_email", None, ["memory"], True),
        ("guard.keep_email", [], None, True),
        ("guard.entries", None, ["memory", "daily"], False),
        ("guard.entries", None, [], True),
        ("guard.keep_phone", None, "all", True),
        ("embedding.download", None, True, True),
        ("embedding.download", True, False, False),
        ("embedding.download", None, "yes", True),
        ("distill.review", None, {"Key Decisions": "propose"}, False),
        ("distill.review", {"Key Decisions": "propose"}, None, True),
        ("distill.review", {"Key Decisions": "propose"}, {"Key Decisions": "commit"}, True),
        ("recall.vector_weight", 1.0, 2.0, False),
    ],
)
def test_a_value_that_may_allow_more_is_wider(key: str, known: Any, value: Any, wider: bool) -> None:
    assert is_wider(CLASSES[key], value, known) is wider
