"""Charts are whole SVG: everything lies inside, every text is there and escaped, and the table says the same."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from interfaces.page.charts import COLOURS, Chart, Series, line_chart, number_text, stacked_bar, table_rows, ticks

Drawing = Callable[[Chart], Markup]
NAMESPACE = "{http://www.w3.org/2000/svg}"
DAYS = tuple(f"2026-11-{day:02d}" for day in range(1, 31))
BOTH = pytest.mark.parametrize("draw", [line_chart, stacked_bar])


def chart(*values: Sequence[float | None], labels: tuple[str, ...] = DAYS, **more: str) -> Chart:
    series = [Series(name=f"Series {place}", values=row) for place, row in enumerate(values, 1)]
    texts = {"title": "Entries", "description": "From 1 to 9.", "label_name": "Day", "empty": "Nothing yet", **more}
    return Chart(key="growth", labels=labels, series=series, **texts)


def parsed(svg: Markup) -> ElementTree.Element:
    return ElementTree.fromstring(str(svg))  # noqa: S314 - made here


def texts(svg: Markup, kind: str = "") -> list[str]:
    found = parsed(svg).iter(f"{NAMESPACE}text")
    return [item.text or "" for item in found if kind in {"", item.get("class")}]


def marks(svg: Markup, tag: str) -> list[ElementTree.Element]:
    return [item for item in parsed(svg).iter(f"{NAMESPACE}{tag}") if item.get("class") != "grid"]


def points(svg: Markup) -> Iterator[tuple[float, float]]:
    """Every point that something is drawn at."""
    for item in parsed(svg).iter():
        number = {name: float(value) for name, value in item.items() if re.fullmatch(r"-?[\d.]+", value)}
        for x, y in (("x", "y"), ("x1", "y1"), ("x2", "y2"), ("cx", "cy")):
            if x in number:
                yield number[x], number[y]
        if "width" in number:
            yield number["x"] + number["width"], number["y"] + number["height"]
        for pair in (item.get("points") or "").split():
            x_text, y_text = pair.split(",")
            yield float(x_text), float(y_text)


def assert_inside(svg: Markup) -> None:
    _, _, width, height = map(float, (parsed(svg).get("viewBox") or "").split())
    assert all(0 <= x <= width and 0 <= y <= height for x, y in points(svg))


@BOTH
def test_a_chart_is_named_and_described(draw: Drawing) -> None:
    svg = parsed(draw(chart([1, 2, 3])))
    title, desc = svg[0], svg[1]
    assert (svg.get("role"), svg.get("aria-labelledby")) == ("img", f"{title.get('id')} {desc.get('id')}")
    assert (title.tag, title.text) == (f"{NAMESPACE}title", "Entries")
    assert (desc.tag, desc.text) == (f"{NAMESPACE}desc", "From 1 to 9.")


@BOTH
def test_a_strict_policy_lets_a_chart_be(draw: Drawing) -> None:
    svg = draw(chart([1, None, 3], [2, 2, 2], unit="ms"))
    assert not {name for item in parsed(svg).iter() for name, _ in item.items()} & {
        "style",
        "href",
        "onload",
        "onclick",
    }
    assert not {item.tag for item in parsed(svg).iter()} & {f"{NAMESPACE}{name}" for name in ("style", "script", "a")}


@BOTH
@given(
    rows=st.lists(
        st.lists(st.one_of(st.none(), st.floats(), st.integers(0, 10**6)), max_size=40), min_size=0, max_size=8
    ),
    count=st.integers(0, 95),
    words=st.text(max_size=60),
)
def test_everything_lies_inside(draw: Drawing, rows: list[list[float | None]], count: int, words: str) -> None:
    labels = tuple(f"{words}{at}" for at in range(count))
    svg = draw(chart(*rows, labels=labels, unit=words, title=words, description=words))
    assert_inside(svg)


@BOTH
@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", "\"&<>'", "]]>", "a\x00\x1b\u202eb", "\ud800"])
def test_every_text_is_escaped_and_seen(draw: Drawing, hostile: str) -> None:
    made = Chart(
        key="k", title=hostile, description=hostile, label_name=hostile, unit=hostile, labels=[hostile, "b"],
        series=[Series(name=hostile, values=[1, 2]), Series(name="n", values=[1, 2])],
    )  # fmt: skip
    svg = draw(made)
    assert "<script" not in svg
    assert not {"\x00", "\x1b", "\u202e", "\ud800"} & set(svg)
    shown = {text for item in parsed(svg).iter() for text in [item.text or ""]}
    seen = hostile.replace("\x00", "\\x00").replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    assert {seen.replace("\ud800", "\\ud800")} <= shown


@BOTH
def test_every_value_is_said_with_its_label(draw: Drawing) -> None:
    svg = draw(chart([1, 2000.5], labels=("Monday", "Tuesday"), unit="ms"))
    said = [item.text for item in parsed(svg).iter(f"{NAMESPACE}title")][1:]
    assert said == ["Monday, Series 1: 1 ms", "Tuesday, Series 1: 2 000.5 ms"]


@BOTH
def test_a_chart_without_values_says_so(draw: Drawing) -> None:
    for empty in (chart(), chart([]), chart([None, math.nan, math.inf]), chart([], labels=())):
        svg = draw(empty)
        assert empty.is_empty
        assert texts(svg) == ["Nothing yet"]
        assert_inside(svg)


def test_a_single_value_is_a_mark_in_the_middle() -> None:
    (mark,) = marks(line_chart(chart([7], labels=("Today",))), "circle")
    assert 380 < float(mark.get("cx") or 0) < 430
    (bar,) = marks(stacked_bar(chart([7], labels=("Today",))), "rect")
    assert float(bar.get("width") or 0) < 60


def test_a_gap_ends_a_line_and_a_value_alone_is_a_mark() -> None:
    many = tuple(f"d{at}" for at in range(60))
    svg = line_chart(chart([1, 2, None, 4, None, 5, 6], labels=many))
    assert [len((line.get("points") or "").split()) for line in marks(svg, "polyline")] == [2, 2]
    assert len(marks(svg, "circle")) == 1


def test_a_higher_value_stands_higher() -> None:
    (line,) = marks(line_chart(chart([0, 5, 10], labels=("a", "b", "c"))), "polyline")
    ys = [float(pair.split(",")[1]) for pair in (line.get("points") or "").split()]
    assert ys[0] - ys[1] == pytest.approx(ys[1] - ys[2], abs=0.2)
    assert ys[2] < ys[0]


def test_bars_stand_upon_each_other() -> None:
    svg = stacked_bar(chart([3], [2], [0], [-4], labels=("a",)))
    low, high = (item for item in marks(svg, "rect") if item.get("height") != "12")
    assert float(high.get("y") or 0) + float(high.get("height") or 0) == pytest.approx(
        float(low.get("y") or 0), abs=0.2
    )
    assert float(low.get("height") or 0) / float(high.get("height") or 1) == pytest.approx(1.5, abs=0.01)


def test_series_have_the_classes_of_their_colours() -> None:
    svg = line_chart(chart(*([1.0, 2.0] for _ in range(8)), labels=("a", "b")))
    colours = [(item.get("class") or "").split()[-1] for item in marks(svg, "polyline")]
    assert colours == [f"c{place % COLOURS + 1}" for place in range(8)]


def test_few_labels_are_all_shown_and_of_many_the_ends() -> None:
    few = stacked_bar(chart([1] * 5, labels=("deploy", "release", "cache", "a very long topic of many words", "x")))
    shown = texts(few, "tick")
    assert {"deploy", "release", "cache", "x"} <= set(shown)
    assert any(text.startswith("a very long") and text.endswith("…") for text in shown)
    many = [text for text in texts(line_chart(chart([1.0] * 30)), "tick") if text.startswith("2026")]
    assert (many[0], many[-1]) == (DAYS[0], DAYS[-1])
    assert len(many) <= 8


def test_labels_do_not_touch_each_other() -> None:
    for draw in (line_chart, stacked_bar):
        items = list(parsed(draw(chart([1.0] * 30))).iter(f"{NAMESPACE}text"))
        labels = sorted(float(item.get("x") or 0) for item in items if (item.text or "").startswith("2026"))
        assert all(right - left > 10 * 7.2 for left, right in itertools.pairwise(labels))


def test_the_legend_names_several_series() -> None:
    assert texts(line_chart(chart([1.0], [2.0])), "legend") == ["Series 1", "Series 2"]
    assert texts(line_chart(chart([1.0])), "legend") == []


def test_the_legend_shows_lines_as_they_are_drawn_and_bars_as_boxes() -> None:
    samples = [item.get("class") for item in marks(line_chart(chart([1.0], [2.0])), "line")]
    assert samples == ["line c1", "line c2"]
    boxes = [item for item in marks(stacked_bar(chart([1.0], [2.0])), "rect") if item.get("height") == "12"]
    assert [item.get("class") for item in boxes] == ["bar c1", "bar c2"]


@pytest.mark.parametrize(
    ("low", "high", "whole", "expected"),
    [
        (0, 100, False, [0, 20, 40, 60, 80, 100]),
        (0, 7, True, [0, 2, 4, 6, 8]),
        (0, 2, True, [0, 1, 2]),
        (0, 0, True, [0, 1]),
        (0, 0.4, False, [0, 0.1, 0.2, 0.3, 0.4]),
        (-30, 90, False, [-50, 0, 50, 100]),
    ],
)
def test_ticks_are_round(low: float, high: float, whole: bool, expected: list[float]) -> None:
    assert ticks(low, high, whole=whole) == pytest.approx(expected)


@given(low=st.floats(-1e15, 0), high=st.floats(0, 1e15))
def test_ticks_enclose_the_values(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 2 <= len(found) <= 9
    hair = (found[1] - found[0]) * 1e-6
    assert found[0] <= low + hair
    assert found[-1] >= high - hair


def test_the_table_has_a_row_for_each_label_and_a_cell_for_each_series() -> None:
    made = chart([1, None, 2500], [0.125, math.nan], labels=("a", "b", "<c>"), unit="ms")
    assert table_rows(made) == [
        ("Day", "Series 1 (ms)", "Series 2 (ms)"),
        ("a", "1", "0.125"),
        ("b", "", ""),
        ("<c>", "2 500", ""),
    ]


def test_numbers_are_short() -> None:
    assert [number_text(value) for value in (0, -3, 1234567, 0.1 + 0.2, 0.00012, 99.9996)] == [
        "0", "-3", "1 234 567", "0.3", "0.00012", "100",
    ]  # fmt: skip
