"""The demo notices an outdated memory section."""

from __future__ import annotations

from bench.demo import CORRECTED, OUTDATED, outdated_memory


def test_the_conclusion_counts_only_in_the_memory_section() -> None:
    assert list(outdated_memory(f"# Home\n\n# Memory\n\n- {CORRECTED}\n\n# 2026-11-20\n\n- {OUTDATED[0]}\n")) == []
    (missing,) = outdated_memory(f"# Home\n\n# Memory\n\n- a\n\n# 2026-11-20\n\n- {CORRECTED}\n")
    assert "does not hold" in missing


def test_an_outdated_line_of_memory_is_named() -> None:
    found = list(outdated_memory(f"# Home\n\n# Memory\n\n- {CORRECTED}\n- {OUTDATED[1]}\n"))
    assert found == [f"the memory section holds the outdated {OUTDATED[1]!r}"]
