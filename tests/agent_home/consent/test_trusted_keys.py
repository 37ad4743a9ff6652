"""The list of trusted keys is this machine's."""

from __future__ import annotations

from pathlib import Path

from agent_home.consent.trusted_keys import keep_keys, trusted_keys


def test_the_list_is_ordered_and_names_a_key_once(tmp_path: Path) -> None:
    assert trusted_keys(tmp_path) == ()
    keep_keys(tmp_path, ["b", "a", "b"])
    assert trusted_keys(tmp_path) == ("a", "b")
    keep_keys(tmp_path, [])
    assert trusted_keys(tmp_path) == ()
