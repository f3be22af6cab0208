"""The report as one self-contained HTML page without scripts, in a light and a dark theme."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from training.evaluation.calibration import Calibration
from training.evaluation.charts import (
    category_axis,
    interval_chart,
    line_chart,
    number_axis,
    scatter_chart,
    share_axis,
)
from training.evaluation.history_page import history_sections
from training.evaluation.labels import LABELS, NAMES
from training.evaluation.lifts import Pair, StrongestPairs
from training.evaluation.metrics import NLL, QUERY_METRICS, SET_METRICS, decimal_places
from training.evaluation.next_item_calibration import NextItemCalibration
from training.evaluation.queries import Protocol
from training.evaluation.scoring import Evaluation, Metrics

if TYPE_CHECKING:
    from training.evaluation.report import CurvePoint, ReportData

_CALIBRATION_NOTE = (
    "Ten groups with the same number of suggestions. Both axes are logarithmic; bars are 95 % intervals."
)
_MANY_QUERIES = 20  # smaller size groups are left out of the chart


def render(data: ReportData) -> str:
    """The whole page."""
    sections = [
        _heading(data),
        _comparison(data.evaluation, data.determinant),
        *history_sections(data.evaluation),
        _by_size(data.evaluation),
        _claims(data.calibration),
        _calibration(data.calibration.next_item),
        _relations(data.relations),
        _curve(data.curve),
        _method(data.evaluation),
    ]
    style = files("training.evaluation").joinpath("report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(data.title)}</title><style>{style}</style></head><body><main>"
        f"{''.join(sections)}</main></body></html>\n"
    )


def _heading(data: ReportData) -> str:
    facts = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in data.facts.items())
    notes = "".join(f'<p class="warning">{escape(note)}</p>' for note in data.notes)
    lede = f'<p class="lede">{_lede(data.evaluation)}</p>'
    return f"<header><h1>{escape(data.title)}</h1>{lede}{notes}<dl>{facts}</dl></header>"


def _lede(evaluation: Evaluation) -> str:
    """The main result in two sentences."""
    hits = {name: m.values["hit@10"] or 0.0 for name, m in evaluation.models.items()}
    if "tripod" not in hits:
        return ""
    ours = hits.pop("tripod")
    hits.pop("tripod_cart", None)
    text = (
        f"For <strong>{ours:.1f} %</strong> of {evaluation.models['tripod'].queries:,} carts, the held-out"
        " item is among the first ten suggestions."
    )
    if hits:
        best = max(hits, key=hits.__getitem__)
        text += f" The best baseline, {NAMES.get(best, best)}, reaches {hits[best]:.1f} %"
        popular = hits.get("popularity")
        text += "." if popular is None or best == "popularity" else f"; popularity {popular:.1f} %."
    return text


def _comparison(evaluation: Evaluation, determinant: str) -> str:
    charts = "".join(
        _figure(interval_chart(f"{LABELS[metric]}, %", rows))
        for metric in ("hit@10", "mpr")
        if (rows := _interval_rows(evaluation, metric))
    )
    skipped = "".join(
        f"<li>{escape(NAMES.get(name, name))} was skipped: {escape(reason)}.</li>"
        for name, reason in evaluation.skipped.items()
    )
    return (
        "<section><h2>Comparison with baselines</h2>"
        "<p>All models are asked the same queries. Bars and small figures are 95 % bootstrap intervals.</p>"
        f'<div class="row">{charts}</div>{_metric_table(evaluation)}{_paragraph(determinant)}'
        + (f'<ul class="skipped">{skipped}</ul>' if skipped else "")
        + "</section>"
    )


def _interval_rows(evaluation: Evaluation, metric: str) -> list[tuple[str, str, float, tuple[float, float]]]:
    return [
        (f"m-{name}", NAMES.get(name, name), value, metrics.intervals[metric])
        for name, metrics in evaluation.models.items()
        if (value := metrics.values[metric]) is not None
    ]


def _metric_table(evaluation: Evaluation) -> str:
    columns = [*QUERY_METRICS, *SET_METRICS]
    best = {column: _best(evaluation, column) for column in columns}
    head = "".join(f'<th scope="col">{LABELS[column]}</th>' for column in columns)
    rows = "".join(
        f'<tr class="m-{escape(name)}"><th scope="row">{escape(NAMES.get(name, name))}</th>'
        + "".join(_cell(metrics, column, best[column] == name) for column in columns)
        + "</tr>"
        for name, metrics in evaluation.models.items()
    )
    return (
        f'<div class="wide"><table class="metrics"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _best(evaluation: Evaluation, column: str) -> str | None:
    values = {n: v for n, m in evaluation.models.items() if (v := m.values[column]) is not None}
    if len(values) < 2:
        return None
    return (min if column == NLL else max)(values, key=values.__getitem__)


def _cell(metrics: Metrics, column: str, is_best: bool) -> str:
    value = metrics.values[column]
    if value is None:
        return '<td class="none">–</td>'
    places, (low, high) = decimal_places(column), metrics.intervals[column]
    css = ' class="best"' if is_best else ""
    text = f"{value:.{places}f}<small>{low:.{places}f} – {high:.{places}f}</small>"
    return f"<td{css}>{text.replace('-', '−')}</td>"


def _by_size(evaluation: Evaluation) -> str:
    sizes = {
        label: metrics.queries
        for groups in evaluation.by_size.values()
        for label, metrics in groups.items()
        if metrics.queries >= _MANY_QUERIES
    }
    if len(sizes) < 2:
        return ""
    labels = list(sizes)
    lines = []
    for name, groups in evaluation.by_size.items():
        points = [(float(i), groups[label].values["hit@10"] or 0.0) for i, label in enumerate(labels)]
        lines.append((f"m-{name}", NAMES.get(name, name), points))
    x = category_axis("items in the cart", [_cart_label(label) for label in labels])
    y = number_axis("hit@10, %", [up for *_, points in lines for _, up in points], from_zero=True)
    count = ", ".join(f"{_cart_label(label)}: {n:,}" for label, n in sizes.items())
    return (
        "<section><h2>By cart size</h2><p>How often the held-out item is among the first ten suggestions.</p>"
        f"{_figure(line_chart(x, y, lines), f'Carts of each size: {count}.')}</section>"
    )


def _cart_label(basket_label: str) -> str:
    """Cart sizes are one less than basket sizes, which include the held-out item."""
    return "–".join(str(int(end) - 1) for end in basket_label.split("-"))


def _claims(calibration: Calibration) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(row.what)}</th><td>{row.claimed}</td><td>{row.true}</td></tr>'
        for row in calibration.rows()
    )
    if not rows:
        return ""
    return (
        "<section><h2>Are its numbers true?</h2><p>Mean predictions of the model, and what happened in the"
        " held-out baskets. A cart is a random prefix of a basket in random order.</p>"
        '<div class="wide"><table class="truth"><thead><tr><th></th><th scope="col">claimed</th>'
        f'<th scope="col">true</th></tr></thead><tbody>{rows}</tbody></table></div></section>'
    )


def _calibration(calibration: NextItemCalibration | None) -> str:
    if calibration is None:
        return ""
    bins = calibration.bins
    shares = [share for part in bins for share in (part.claimed, part.true, *part.interval) if share > 0]
    x = share_axis("predicted probability", [part.claimed for part in bins if part.claimed > 0])
    y = share_axis("share of items that came next", shares)
    points = [
        (x.within(part.claimed), y.within(part.true), (y.within(bottom), y.within(top)))
        for part in bins
        for bottom, top in [part.interval]
    ]
    chart = scatter_chart(x, y, points, "claimed = true")
    return (
        "<section><h2>Can its probabilities be trusted?</h2>"
        f'<p class="verdict">{escape(calibration.verdict)}</p>'
        "<p>The first ten suggestions for each cart, grouped by probability. On the dashed line the"
        " probabilities are exact: items with 1 % come next in 1 % of cases. Above it they are too low, below"
        " it too high. The expected calibration error is"
        f" {100 * calibration.expected_error:.2f} percentage points.</p>"
        f"{_figure(chart, _CALIBRATION_NOTE)}</section>"
    )


def _relations(relations: StrongestPairs | None) -> str:
    if relations is None:
        return ""
    return (
        "<section><h2>Complements and substitutes</h2><p>The pairs with the strongest evidence. With a lift"
        " of 3 two items are bought together three times as often as unrelated items in baskets of the same"
        " size; with 0.2, a fifth as often. The 95 % interval is in brackets; the columns on the right are"
        " the number of baskets with both items, and the number expected by chance.</p>"
        f'<div class="row">{_pair_table("Complements", relations.complements)}'
        f"{_pair_table('Substitutes', relations.substitutes)}</div></section>"
    )


def _pair_table(title: str, pairs: Sequence[Pair]) -> str:
    if not pairs:
        return f"<div><h3>{title}</h3><p>None with enough evidence.</p></div>"
    rows = "".join(
        f"<tr><td>{escape(pair.first)}<br>{escape(pair.second)}</td><td>{pair.lift:.2f}"
        f" ({pair.lift_low:.2f}–{pair.lift_high:.2f})</td><td>{_count(pair.together)}</td>"
        f"<td>{pair.by_chance:,.1f}</td></tr>"
        for pair in pairs
    )
    return (
        f"<div><h3>{title}</h3><table class='pairs'><thead><tr><th>pair</th><th>lift</th>"
        f"<th>together</th><th>by chance</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _count(together: int | None) -> str:
    return "–" if together is None else f"{together:,}"


def _curve(curve: Sequence[CurvePoint]) -> str:
    if len(curve) < 2:
        return ""
    points = [(float(step), value) for step, value in curve]
    best = max(points, key=lambda point: point[1])
    x = number_axis("training step", [step for step, _ in points])
    # Leave out the first steps from the random start, whose range would flatten the rest of the curve.
    settled = points[len(points) // 10 :]
    y = number_axis("validation log-likelihood", [value for _, value in settled])
    shown = [point for point in points if point[1] >= y.low]
    chart = line_chart(x, y, [("m-tripod", f"{points[-1][1]:.2f}".replace("-", "−"), shown)], mark=best)
    caption = f"Best at step {best[0]:,.0f}: {best[1]:.3f} nats per basket; this kernel was kept."
    return f"<section><h2>Training curve</h2>{_figure(chart, caption.replace('-', '−'))}</section>"


def _method(evaluation: Evaluation) -> str:
    held_out = {
        Protocol.PAPER: "a random item of each test basket is held out; all baskets have equal weight",
        Protocol.TEMPORAL: "a random item of each shopper's last basket is held out; models are given the"
        " rest of it and what the shopper had bought before",
        Protocol.PUBLISHED: "the item with the largest id is held out, and three basket-size buckets have"
        " equal weight, as in the code released by the paper's authors",
    }[evaluation.protocol]
    return (
        f"<section><h2>How it was measured</h2><p>Protocol <em>{evaluation.protocol}</em>: {held_out}."
        " A model ranks all items that are not in the cart; ties count half."
        " <b>MPR</b>, mean percentile rank: the share of items ranked at or below the held-out one."
        " <b>hit@k</b>: it is among the first k. <b>NDCG@10</b> and <b>MRR</b> reward a rank near the top."
        " <b>AUC</b>: how well the model distinguishes baskets from random sets of the same size."
        " <b>NLL</b>: the mean negative log-likelihood of the held-out item, in nats; lower is better;"
        " only for models with fitted probabilities."
        " <b>Log-lik.</b>: the mean log-probability of a test basket, in nats."
        f" Bootstrap seed {evaluation.seed}.</p></section>"
    )


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>" if text else ""


def _figure(chart: str, caption: str = "") -> str:
    return f"<figure>{chart}{f'<figcaption>{escape(caption)}</figcaption>' if caption else ''}</figure>"
