"""Charts as inline SVG; colours are set by CSS class, to follow the page's light or dark theme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, floor, log10

Point = tuple[float, float]
Interval = tuple[float, float]

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 112, 14, 46


@dataclass(frozen=True)
class Axis:
    """An axis: title, range, and labelled ticks."""

    title: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]

    def share(self, value: float) -> float:
        """The position of a value between the ends, 0 to 1."""
        return (value - self.low) / ((self.high - self.low) or 1.0)

    def within(self, share: float) -> float:
        """The value of a share on a logarithmic axis, clipped to its range."""
        return min(max(log10(share), self.low), self.high) if share > 0 else self.low


def number_axis(title: str, values: Sequence[float], *, from_zero: bool = False) -> Axis:
    """An axis for these values, with about five round ticks."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    low = min(low, 0.0) if from_zero else low
    span = (high - low) or abs(high) or 1.0
    step = _round_step(span / 5)
    first, last = floor(low / step), ceil(high / step)
    places = max(0, -floor(log10(step)))
    ticks = [(number * step, _plain(number * step, places)) for number in range(first, last + 1)]
    return Axis(title, first * step, max(last, first + 1) * step, ticks)


def category_axis(title: str, labels: Sequence[str]) -> Axis:
    """An axis with one label at 0, 1, 2, …"""
    return Axis(title, -0.5, len(labels) - 0.5, [(place, label) for place, label in enumerate(labels)])


def share_axis(title: str, shares: Sequence[float]) -> Axis:
    """A logarithmic axis of shares above 0, with ticks at 1, 2 and 5; values are the log10 of shares."""
    low, high = log10(min(shares, default=0.01)), log10(max(shares, default=0.1))
    steps = [power + log10(digit) for power in range(floor(low) - 1, 1) for digit in (1, 2, 5)]
    first = max((step for step in steps if step <= low + 1e-9), default=steps[0])
    last = min((step for step in steps if step >= high - 1e-9), default=0.0)
    last = max(last, first + log10(2))
    ticks = [(step, f"{100 * 10**step:.3g} %") for step in steps if first - 1e-9 <= step <= last + 1e-9]
    return Axis(title, first, last, ticks)


def log_axis(title: str, values: Sequence[float]) -> Axis:
    """A logarithmic axis of values above 0, with round ticks; its values are log10 of the given ones."""
    low, high = log10(min(values)), log10(max(values))
    high = max(high, low + log10(2))
    digits = (1, 2, 5) if high - low < 3 else (1,)
    powers = range(floor(low), ceil(high) + 1)
    ticks = [(power + log10(digit), f"{digit * 10.0**power:,g}") for power in powers for digit in digits]
    return Axis(title, low, high, [tick for tick in ticks if low - 1e-9 <= tick[0] <= high + 1e-9])


def line_chart(
    x: Axis,
    y: Axis,
    lines: Sequence[tuple[str, str, Sequence[Point]]],
    *,
    mark: Point | None = None,
    legend: bool = False,
) -> str:
    """Lines of (css class, label, points), each labelled at its right end; a ring around `mark`.

    With a legend the labels are listed at the top instead: for lines that end far from each other.
    """
    drawn = [line for line in lines if line[2]]
    body = [_polyline(css, [(_x(x, across), _y(y, up)) for across, up in points]) for css, _, points in drawn]
    heights = _spread([TOP + 6 if legend else _y(y, points[-1][1]) for *_, points in drawn])
    for (css, label, points), height in zip(drawn, heights, strict=True):
        place = _x(x, x.high if legend else points[-1][0])
        body.append(_text(f"series {css}", place + 10, height + 4, label))
    if mark:
        body.append(_circle("ring", _x(x, mark[0]), _y(y, mark[1]), 6))
    return _svg(x, y, body)


def scatter_chart(x: Axis, y: Axis, points: Sequence[tuple[float, float, Interval]], diagonal: str) -> str:
    """Points with vertical intervals, and a labelled diagonal."""
    low, high = max(x.low, y.low), min(x.high, y.high)
    body = [
        _line("ideal", _x(x, low), _y(y, low), _x(x, high), _y(y, high)),
        _text("note", _x(x, high) + 10, _y(y, high) + 4, diagonal),
    ]
    for across, up, (bottom, top) in points:
        body.append(_line("whisker m-tripod", _x(x, across), _y(y, bottom), _x(x, across), _y(y, top)))
        body.append(_circle("dot m-tripod", _x(x, across), _y(y, up), 4.5))
    return _svg(x, y, body)


def cloud_chart(x: Axis, y: Axis, points: Sequence[Point], line: tuple[str, Sequence[Point]]) -> str:
    """Thousands of points, drawn once per pixel, and a line with its label."""
    pixels = sorted({(round(_x(x, across)), round(_y(y, up))) for across, up in points})
    cloud = "".join(f"M{across} {up}h0" for across, up in pixels)
    label, course = line
    body = [
        f'<path class="cloud" d="{cloud}"/>',
        _polyline("m-mean", [(_x(x, across), _y(y, up)) for across, up in course]),
        _text("series m-mean", _x(x, x.high) + 10, _y(y, course[-1][1]) + 4, label),
    ]
    return _svg(x, y, body)


def standalone(chart: str, style: str) -> str:
    """A chart as a file of its own, with its style and a background of the class `paper`."""
    start, rest = chart.split(">", 1)
    start = start.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return f'{start}><style>{style}</style><rect class="paper" width="100%" height="100%"/>{rest}\n'


def interval_chart(title: str, rows: Sequence[tuple[str, str, float, Interval]]) -> str:
    """One row per (css class, label, value, interval): a dot and its interval."""
    width, left, right, step = 360, 96, 26, 34
    bottom = step * len(rows) + 12
    x = number_axis(title, [edge for *_, interval in rows for edge in interval])

    def across(value: float) -> float:
        return left + x.share(value) * (width - left - right)

    body = []
    for at, label in x.ticks:
        body.append(_line("grid", across(at), 8, across(at), bottom))
        body.append(_text("tick", across(at), bottom + 16, label, "middle"))
    for number, (css, label, value, (low, high)) in enumerate(rows):
        up = 24 + step * number
        body.append(_text(f"series {css}", left - 12, up + 4, label, "end"))
        body.append(_line(f"whisker {css}", across(low), up, across(high), up))
        body.append(_circle(f"dot {css}", across(value), up, 5))
    body.append(_text("axis", (left + width - right) / 2, bottom + 38, title, "middle"))
    return _frame(width, bottom + 44, title, body)


def _svg(x: Axis, y: Axis, body: Sequence[str]) -> str:
    """A chart with two axes: grid, ticks and titles, then the body."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    frame = []
    for at, label in y.ticks:
        frame.append(_line("grid", LEFT, _y(y, at), right, _y(y, at)))
        frame.append(_text("tick", LEFT - 8, _y(y, at) + 4, label, "end"))
    frame += [_text("tick", _x(x, at), bottom + 18, label, "middle") for at, label in x.ticks]
    frame.append(_line("base", LEFT, bottom, right, bottom))
    frame.append(_text("axis", (LEFT + right) / 2, HEIGHT - 6, x.title, "middle"))
    upright = _text("axis", 0, 0, y.title, "middle")
    frame.append(f'<g transform="translate(14 {(TOP + bottom) / 2}) rotate(-90)">{upright}</g>')
    return _frame(WIDTH, HEIGHT, f"{y.title} against {x.title}", [*frame, *body])


def _x(axis: Axis, value: float) -> float:
    return LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - TOP - BOTTOM)


def _frame(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    box = f"0 0 {width:g} {height:g}"
    return f'<svg viewBox="{box}" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'


def _text(css: str, x: float, y: float, content: str, anchor: str = "start") -> str:
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(content)}</text>'


def _line(css: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _circle(css: str, x: float, y: float, radius: float) -> str:
    return f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>'


def _polyline(css: str, points: Sequence[Point]) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="line {css}" points="{path}"/>'


def _spread(heights: Sequence[float], apart: float = 16) -> list[float]:
    """Move labels apart until none overlap."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed = list(heights)
    for before, after in pairwise(order):
        placed[after] = max(placed[after], placed[before] + apart)
    overflow = max(0.0, max(placed, default=0.0) - (HEIGHT - BOTTOM))
    return [height - overflow for height in placed]


def _round_step(size: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** floor(log10(size))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= size * (1 - 1e-9))


def _plain(value: float, places: int) -> str:
    return f"{value:,.{places}f}".replace("-", "−")
