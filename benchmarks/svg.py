"""A small log-log line chart as SVG text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

_COLOURS = ("#1f6f8b", "#c8553d", "#588157", "#7b5ea7")
_WIDTH, _HEIGHT, _MARGIN = 640, 400, 70


def line_chart(
    title: str, x_label: str, y_label: str, series: Mapping[str, Sequence[tuple[float, float]]]
) -> str:
    """Lines through (x, y) points, both axes logarithmic, one decade a grid line."""
    points = [point for line in series.values() for point in line]
    x_low, x_high = _decades([x for x, _ in points])
    y_low, y_high = _decades([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - x_low) / (x_high - x_low)
        up = (math.log10(y) - y_low) / (y_high - y_low)
        return _MARGIN + across * (_WIDTH - 2 * _MARGIN), _HEIGHT - _MARGIN - up * (_HEIGHT - 2 * _MARGIN)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_WIDTH / 2}" y="28" text-anchor="middle" font-size="16">{title}</text>',
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 18}" text-anchor="middle" font-size="13">{x_label}</text>',
        f'<text x="18" y="{_HEIGHT / 2}" text-anchor="middle" font-size="13" '
        f'transform="rotate(-90 18 {_HEIGHT / 2})">{y_label}</text>',
    ]
    for power in range(x_low, x_high + 1):
        x, bottom = place(10.0**power, 10.0**y_low)
        parts.append(f'<line x1="{x}" y1="{_MARGIN}" x2="{x}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle" font-size="11">1e{power}</text>')
    for power in range(y_low, y_high + 1):
        left, y = place(10.0**x_low, 10.0**power)
        parts.append(f'<line x1="{left}" y1="{y}" x2="{_WIDTH - _MARGIN}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end" font-size="11">1e{power}</text>')
    for number, (name, line) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(
            f'<text x="{_MARGIN + 10}" y="{_MARGIN + 14 + 16 * number}" font-size="12" '
            f'fill="{colour}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)
