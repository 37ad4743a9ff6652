"""Keys in groups are known by their form, and other numbers in groups pass."""

from __future__ import annotations

import pytest

from guard import screen


@pytest.mark.parametrize(
    "key",
    [
        "Q8N4T-WXB2R-6DHKM-P3VYC-9FJG7",
        "K7QD-M2XH-9VTP-B4ZN-R6WL-J8CF",
        "p4gw 9xmt 2hqr l7vd z0ks 6cfn yb3j e8ua",
        "482911-019272-553806-664015-129987-330143-120208-405592",
        "cdfkjrhu-bnvligte-krthcduf-jbiglnev-hurdckft-nblvgije-tkucrhdf-eivnjgbl",
    ],
)
def test_a_key_in_groups_is_redacted_without_a_name(key: str) -> None:
    assert key not in screen(f"on the sticker: {key} thanks", "user", "memory").text


@pytest.mark.parametrize(
    "text",
    [
        "Fingerprint 9F3A 04BC 77E1 D2A8 5C60 1B9E 43F7 A8D2 6E15 C0B4",
        "id 6f1c2b9e-4a7d-4f0e-9b1c-2d3e4f5a6b7c",
        "tracking 4471 2290 8801 3345",
        "w1000 w1001 w1002 w1003 w1004",
        "model ABCD-EFGH-IJKL-MNOP",
        "part number 2026-1188-4421-9034",
    ],
)
def test_other_groups_pass(text: str) -> None:
    assert "[REDACTED:key]" not in screen(text, "user", "memory").text
