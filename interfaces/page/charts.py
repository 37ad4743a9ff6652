"""Draw charts as SVG on the server: lines and stacked bars, with the rows of the table that says the same in numbers.

A chart has no style and no script of its own, which the page's policy forbids: its colours are the classes ``c1`` to
``c6``. Every text is escaped, and invisible characters in it are shown.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from agent_home.visible import revealed

__all__ = ["COLOURS", "Chart", "Series", "line_chart", "number_text", "part_bars", "stacked_bar", "table_rows", "ticks"]

#: Series with a colour of their own. Further ones begin again.
COLOURS = 6
#: Size of the picture in its own units, which are pixels on a screen of ordinary width.
_WIDTH, _HEIGHT = 760, 240
_LEAST_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 16, 14, 34
#: Height of a row of the legend, and how wide a letter is at the size of the text (``charts.css``).
_ROW, _LETTER = 22, 7.2
_SWATCH = 34
#: Labels below the horizontal axis: up to this many are all shown, and of more only some.
_MOST_LABELS, _SOME_LABELS = 8, 6
#: The space between labels. Those at the edges are moved inwards.
_LABEL_GAP, _EDGE_GAP = 6, 26
_TICKS = 5
#: More points than these have no mark of their own, only a line.
_MOST_MARKS = 46
_BAR_SHARE, _WIDEST_BAR = 0.72, 56.0
#: A bar that lies: height of its row with the label above it, its own height, and the space beside it.
_BAR_ROW, _BAR_HEIGHT, _BAR_EDGE = 64, 34, 8
_BAR = Markup('<rect class="bar c{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>')
#: Larger numbers are no measurement.
_MOST = 1e15
#: Smallest extent of an axis.
_LEAST_EXTENT = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Values under one name, one for each label of the chart. ``None`` is a gap."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart in numbers and words.

    Attributes:
        key: a name for the chart that no other on the page has, of letters, digits and hyphens.
        title: what it shows, in a few words.
        description: what a person sees in it, for those who do not.
        label_name: what the labels are: days, topics.
        unit: of the values, short, or empty.
        labels: of the horizontal axis, in order.
        series: the values, one for each label.
        empty: what stands in place of a chart without values.
    """

    key: str
    title: str
    description: str
    label_name: str
    labels: Sequence[str]
    series: Sequence[Series]
    unit: str = ""
    empty: str = ""

    @property
    def is_empty(self) -> bool:
        """True when no series has a value."""
        return all(value is None for line in self.series for value in _values(self, line))


def line_chart(chart: Chart) -> Markup:
    """Return *chart* as lines over its labels. A value alone between gaps is a mark."""
    rows = [_values(chart, line) for line in chart.series]
    frame = _Frame.of(chart, [value for row in rows for value in row if value is not None])
    parts = [*_axes(chart, frame, slots=False), *_legend(chart, lines=True)]
    for place, (line, row) in enumerate(zip(chart.series, rows, strict=True)):
        parts += _line(chart, frame, place, line.name, row)
    return _drawn(chart, frame, parts)


def stacked_bar(chart: Chart) -> Markup:
    """Return *chart* as a bar over each label, with the values of all series upon each other.

    Values below 0 are left out.
    """
    rows = [[max(0.0, value) if value is not None else 0.0 for value in _values(chart, line)] for line in chart.series]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    frame = _Frame.of(chart, [] if chart.is_empty else sums)
    parts = [*_axes(chart, frame, slots=True), *_legend(chart, lines=False)]
    base = [0.0] * len(sums)
    for place, (line, row) in enumerate(zip(chart.series, rows, strict=True)):
        parts += _bars(chart, frame, place, line.name, row, base)
        base = [under + value for under, value in zip(base, row, strict=True)]
    return _drawn(chart, frame, parts)


def part_bars(chart: Chart) -> Markup:
    """Return *chart* as a row for each label that lies, with its parts one behind the other in their shares.

    A part that has room for its name shows it. Every part says its name and value where a pointer rests on it.
    """
    rows = [[max(0.0, value or 0.0) for value in _values(chart, line)] for line in chart.series]
    most = max(map(sum, zip(*rows, strict=True)), default=0.0) or 1.0
    scale = (_WIDTH - 2 * _BAR_EDGE) / most
    parts: list[Markup] = []
    for at, label in enumerate(chart.labels):
        y = at * _BAR_ROW + _ROW
        parts.append(_text("label", _BAR_EDGE, y - 6, label, "start"))
        x = float(_BAR_EDGE)
        for place, (line, row) in enumerate(zip(chart.series, rows, strict=True)):
            width = row[at] * scale
            if width > 0:
                said = _said(chart, at, line.name, row[at])
                parts.append(_BAR.format(place % COLOURS + 1, _number(x), y, _number(width), _BAR_HEIGHT, said))
            if 1.2 * _width(line.name) + _LETTER < width:
                parts.append(_text("inside", x + width / 2, y + _BAR_HEIGHT / 2 + 4, line.name, "middle"))
            x += width
    return _picture(chart, len(chart.labels) * _BAR_ROW + 6, parts)


def table_rows(chart: Chart) -> list[tuple[str, ...]]:
    """Return the table that says the same as *chart*: its head, and a row for each label. A gap is an empty cell.

    The texts are not escaped: the template does that.
    """
    head = (chart.label_name, *(f"{line.name} ({chart.unit})" if chart.unit else line.name for line in chart.series))
    columns = [[_cell(value) for value in _values(chart, line)] for line in chart.series]
    return [head, *((label, *(column[at] for column in columns)) for at, label in enumerate(chart.labels))]


def ticks(low: float, high: float, *, whole: bool = False, wanted: int = _TICKS) -> list[float]:
    """Return round numbers from *low* or below to *high* or above, about *wanted* of them, in equal steps.

    *whole* allows whole numbers alone.

    >>> ticks(0, 9300)
    [0.0, 2000.0, 4000.0, 6000.0, 8000.0, 10000.0]
    >>> ticks(0, 1, whole=True)
    [0.0, 1.0]
    """
    if high - low < _LEAST_EXTENT:
        high = low + 1
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    step = max(1.0, step) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def number_text(value: float) -> str:
    """Return a number for a person: thousands apart, and at most three digits behind the point, or two that count.

    >>> number_text(10000), number_text(0.25), number_text(12.0)
    ('10 000', '0.25', '12')
    """
    if 0 < abs(value) < 0.01:
        return f"{value:.2g}"
    text = f"{value:,.3f}".rstrip("0").rstrip(".")
    return text.replace(",", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """Geometry of a chart: the edges of the area of the values, the numbers beside it, and the number of labels."""

    left: float
    top: float
    bottom: float
    marks: Sequence[float]
    count: int

    @classmethod
    def of(cls, chart: Chart, values: Sequence[float]) -> _Frame:
        """Return the frame in which *values* have room."""
        whole = all(value == int(value) for value in values)
        marks = ticks(min([0.0, *values]), max([0.0, *values]), whole=whole)
        left = max(_LEAST_LEFT, 16 + max(_width(number_text(mark)) for mark in marks))
        top = _TOP + _ROW * (len(_legend_rows(chart)) + bool(chart.unit))
        return cls(left=left, top=top, bottom=top + _HEIGHT, marks=marks, count=len(chart.labels))

    @property
    def area(self) -> float:
        """The width of the area of the values."""
        return _WIDTH - _RIGHT - self.left

    @property
    def slot(self) -> float:
        """The room of a bar and the space around it."""
        return self.area / max(1, self.count)

    def middle(self, at: int) -> float:
        """Return the middle of the slot of label *at*."""
        return self.left + self.slot * (at + 0.5)

    def x(self, at: int) -> float:
        """Return where a line has its point for label *at*: from edge to edge, and a single one in the middle."""
        return self.left + self.area * at / (self.count - 1) if self.count > 1 else self.middle(at)

    def y(self, value: float) -> float:
        """Return how high *value* is."""
        low, high = self.marks[0], self.marks[-1]
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low)


def _drawn(chart: Chart, frame: _Frame, parts: Sequence[Markup]) -> Markup:
    if chart.is_empty:
        parts = [_text("empty", _WIDTH / 2, (frame.top + frame.bottom) / 2, chart.empty, "middle")]
    return _picture(chart, frame.bottom + _BOTTOM, parts)


def _picture(chart: Chart, height: float, parts: Sequence[Markup]) -> Markup:
    head = Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-labelledby="{key}-title {key}-desc" '
        'xmlns="http://www.w3.org/2000/svg"><title id="{key}-title">{}</title><desc id="{key}-desc">{}</desc>'
    ).format(
        _WIDTH, _number(height), _shown(chart.title), _shown(chart.description), key=chart.key
    )  # fmt: skip
    return head + Markup("").join(parts) + Markup("</svg>")


def _axes(chart: Chart, frame: _Frame, *, slots: bool) -> Iterator[Markup]:
    """Yield the grid with its numbers, the unit, and the labels of the horizontal axis."""
    for mark in frame.marks:
        y = frame.y(mark)
        yield Markup('<line class="grid" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
            _number(frame.left), _number(y), _WIDTH - _RIGHT, _number(y)
        )
        yield _text("tick", frame.left - 8, y + 4, number_text(mark), "end")
    if chart.unit:
        yield _text("unit", 8, 18, _fitted(chart.unit, _WIDTH / 2), "start")
    shown = _shown_labels(frame.count)
    apart = frame.area / max(1, len(shown) - (0 if slots else 1))
    room = apart - (_LABEL_GAP if slots and len(shown) == frame.count else _EDGE_GAP)
    for at in shown:
        label = _fitted(chart.labels[at], room)
        half = _width(label) / 2 + 4
        x = min(max(frame.middle(at) if slots else frame.x(at), half), _WIDTH - half)
        yield _text("tick", x, frame.bottom + 20, label, "middle")


def _shown_labels(count: int) -> list[int]:
    """Return which labels are shown: all where they have room, else some in equal distances with both ends."""
    if count <= _MOST_LABELS:
        return list(range(count))
    steps = _SOME_LABELS - 1
    return [round((count - 1) * place / steps) for place in range(_SOME_LABELS)]


def _line(chart: Chart, frame: _Frame, place: int, name: str, row: Sequence[float | None]) -> Iterator[Markup]:
    colour = place % COLOURS + 1
    for run in _runs(row):
        points = " ".join(f"{_number(frame.x(at))},{_number(frame.y(value))}" for at, value in run)
        if len(run) > 1:
            yield Markup('<polyline class="line c{}" points="{}"/>').format(colour, points)
        for at, value in run:
            if len(run) == 1 or frame.count <= _MOST_MARKS:
                yield Markup('<circle class="mark c{}" cx="{}" cy="{}" r="3"><title>{}</title></circle>').format(
                    colour, _number(frame.x(at)), _number(frame.y(value)), _said(chart, at, name, value)
                )


def _runs(row: Sequence[float | None]) -> Iterator[list[tuple[int, float]]]:
    """Yield the parts of *row* between its gaps, as places and values."""
    run: list[tuple[int, float]] = []
    for at, value in enumerate(row):
        if value is not None:
            run.append((at, value))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _bars(
    chart: Chart, frame: _Frame, place: int, name: str, row: Sequence[float], base: Sequence[float]
) -> Iterator[Markup]:
    width = min(frame.slot * _BAR_SHARE, _WIDEST_BAR)
    for at, (value, under) in enumerate(zip(row, base, strict=True)):
        if value > 0:
            top = frame.y(under + value)
            yield _BAR.format(
                place % COLOURS + 1, _number(frame.middle(at) - width / 2), _number(top), _number(width),
                _number(frame.y(under) - top), _said(chart, at, name, value),
            )  # fmt: skip


def _said(chart: Chart, at: int, name: str, value: float) -> str:
    unit = f" {chart.unit}" if chart.unit else ""
    return _shown(f"{chart.labels[at]}, {name}: {number_text(value)}{unit}")


def _legend(chart: Chart, *, lines: bool) -> Iterator[Markup]:
    """Yield the names of the series behind samples of them, above the values. One series alone has the title's name."""
    for row, names in enumerate(_legend_rows(chart)):
        y = 18 + (row + bool(chart.unit)) * _ROW
        for place, x, name in names:
            colour, end = place % COLOURS + 1, x + _SWATCH - 6
            if lines:
                yield Markup('<line class="line c{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
                    colour, _number(x), y - 4, _number(end), y - 4
                )
            else:
                yield Markup('<rect class="bar c{}" x="{}" y="{}" width="{}" height="12"/>').format(
                    colour, _number(x), y - 10, _SWATCH - 6
                )
            yield _text("legend", x + _SWATCH, y, name, "start")


def _legend_rows(chart: Chart) -> list[list[tuple[int, float, str]]]:
    """Return the rows of the legend: place, horizontal position and name of each series."""
    if len(chart.series) < 2:
        return []
    rows: list[list[tuple[int, float, str]]] = [[]]
    x = 8.0
    for place, line in enumerate(chart.series):
        name = _fitted(line.name, _WIDTH / 2)
        width = _SWATCH + _width(name) + 18
        if rows[-1] and x + width > _WIDTH - _RIGHT:
            rows.append([])
            x = 8.0
        rows[-1].append((place, x, name))
        x += width
    return rows


def _text(kind: str, x: float, y: float, text: str, anchor: str) -> Markup:
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        kind, _number(x), _number(y), anchor, _shown(text)
    )


def _fitted(text: str, room: float) -> str:
    """Return *text*, cut where it is wider than *room*."""
    text = _shown(text)
    if _width(text) <= room:
        return text
    kept = ""
    for letter in text:
        if _width(f"{kept}{letter}…") > room:
            break
        kept += letter
    return f"{kept}…"


def _width(text: str) -> float:
    """Return about how wide *text* is. Chinese characters have the room of two letters."""
    return sum(_LETTER * (2 if unicodedata.east_asian_width(letter) in "WF" else 1) for letter in text)


def _shown(text: str) -> str:
    """Return *text* as one line without what is not seen. It is escaped where it is put into the picture."""
    return revealed(" ".join(text.split()))


def _values(chart: Chart, line: Series) -> list[float | None]:
    """Return a value for each label. A number that none can be is a gap, and so is what is missing."""
    found = [None if value is None or not abs(value) < _MOST else float(value) for value in line.values]
    count = len(chart.labels)
    return (found + [None] * count)[:count]


def _cell(value: float | None) -> str:
    return "" if value is None else number_text(value)


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
