"""Names of files and symbols are found in time that grows with the text alone."""

from __future__ import annotations

import pytest

from distill.statements.names import names_in
from tests.growth import is_linear


@pytest.mark.parametrize("unit", ["[", "]", "+", "[+", "a::", "a#", "a.", "a/", "[//", "`a/", "a.py ", "`a.py` ", "_a"])
@pytest.mark.parametrize("opening", ["", "`"])
def test_time_grows_with_the_length(opening: str, unit: str) -> None:
    assert is_linear(lambda text: names_in(opening + text), unit, 20_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See [[wiki]~/notes/a.md and app/[id]/page.tsx", ["~/notes/a.md", "app/[id]/page.tsx"]),
        ("`a/b/` is no file, `a/b/c` is, and `/a` is none", ["a/b/c"]),
        ("Call a::b::run() and a::b::stop, then Task#go()", ["run", "go"]),
        ("Read `src/a.py` and b.py, see c_d in e.py", ["src/a.py", "b.py", "c_d", "e.py"]),
    ],
)
def test_names_are_in_the_order_of_the_text(text: str, expected: list[str]) -> None:
    assert [name.name for name in names_in(text)] == expected
