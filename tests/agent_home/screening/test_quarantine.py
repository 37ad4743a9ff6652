"""The guard's quarantine keeps a text once, outside git, without the text of a secret."""

from __future__ import annotations

from typing import Any

from agent_home.home import Home
from agent_home.screening.quarantine import Quarantined, hold_back, waiting


def keep(home: Home, text: str, **changes: Any) -> Quarantined:
    given_: dict[str, Any] = {
        "path": "MEMORY.md",
        "reason": "injection/x",
        "source": "web",
        "session": "s",
        "ts": "t",
        "findings": [],
    }
    return hold_back(home, text, **{**given_, **changes})


def test_what_is_held_back_is_read_back(home: Home) -> None:
    item = keep(home, "文 \ud800 text\nline", findings=[{"layer": "injection", "rule": "x", "kind": "y"}])
    assert list(waiting(home)) == [item]
    assert item.findings == ({"layer": "injection", "rule": "x", "kind": "y"},)


def test_the_same_text_for_the_same_file_is_kept_once(home: Home) -> None:
    assert keep(home, "text") == keep(home, "text")
    keep(home, "text", path="USER.md")
    keep(home, "other")
    assert len(list(waiting(home))) == 3
    assert [item.id for item in waiting(home)] == sorted(item.id for item in waiting(home))


def test_a_staged_text_that_a_killed_writer_left_is_not_waiting(home: Home) -> None:
    home.quarantine.mkdir(parents=True)
    (home.quarantine / ".q-0000.tmp").write_text("{half")
    assert list(waiting(home)) == []
