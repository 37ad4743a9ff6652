"""What a report says came and went is told apart, and plans and denials are seen."""

from __future__ import annotations

import pytest

from distill.evidence.direction import denies, directions, is_report
from distill.evidence.wording import read_units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The pager uses mkstemp instead of mktemp.", {"mkstemp": "new", "mktemp": "old"}),
        ("Removed the `shim` module.", {"shim": "old"}),
        ("`shim` is gone.", {"shim": "old"}),
        ("There is a new `shim`.", {"shim": "present"}),
        ("分页器里的 mktemp 换成了 mkstemp。", {"mktemp": "old", "mkstemp": "new"}),
        ("去掉了 2.6,加上了 3.6。", {"2.6": "old", "3.6": "present"}),
        ("gin 升级到 1.9.1。", {"gin": "present", "1.9.1": "present"}),
    ],
)
def test_each_name_has_the_direction_of_the_sentence(text: str, expected: dict[str, str]) -> None:
    units = read_units(text)
    found = {unit.text: heading for unit, heading in zip(units, directions(text, units), strict=True)}
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    "text", ["I'll add it.", "We should drop it.", "Add a test.", "接下来改配置。", "还没改配置。"]
)
def test_a_plan_is_no_report(text: str) -> None:
    assert not is_report(text)


@pytest.mark.parametrize("text", ["I did not touch the config.", "没有改配置。"])
def test_a_denial_is_seen(text: str) -> None:
    assert denies(text)
