"""The docstring check names what breaks the rules, and passes what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.style import Docstring, docstrings, main, measure, offences


def found(source: str, tmp_path: Path) -> list[Docstring]:
    path = tmp_path / "module.py"
    path.write_text(source, encoding="utf-8")
    return list(docstrings([path]))


@pytest.mark.parametrize(
    "text",
    ["What is needed.", "Whether it holds.", "The rows of the file.", "Read it; write it.", "*rows* as text."],
)
def test_a_docstring_that_breaks_a_rule_is_named(text: str, tmp_path: Path) -> None:
    (only,) = found(f'def rows():\n    """{text}"""\n', tmp_path)
    assert offences(only)


@pytest.mark.parametrize(
    "text", ["Return the rows.", "Read ``a; b`` from the file.", "Yield rows.\\n\\n    >>> 1; 2\\n"]
)
def test_a_plain_docstring_passes(text: str, tmp_path: Path) -> None:
    (only,) = found(f'def rows():\n    """{text}"""\n', tmp_path)
    assert offences(only) == []


def test_classes_and_properties_may_open_with_a_noun(tmp_path: Path) -> None:
    source = 'class Row:\n    """A row."""\n\n    @property\n    def size(self):\n        """Size in bytes."""\n'
    assert [offences(one) for one in found(source, tmp_path)] == [[], []]


def test_the_check_fails_with_the_line_of_the_docstring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found('x = 1\n\n\ndef rows():\n    """The rows."""\n', tmp_path)
    assert main(["--check", str(tmp_path)]) == 1
    assert "module.py:4 rows: opens with 'The'" in capsys.readouterr().out


def test_a_codebase_is_measured(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "cart.py").write_text(
        'class CartSettings:\n    size: int = 1\n\n\ndef add():\n    """Add."""\n', "utf-8"
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_cart.py").write_text("", "utf-8")
    figures = measure(package)
    assert (figures.modules, figures.verb_first, figures.settings, figures.mirrored) == (1, 1.0, 1, "1/1")
