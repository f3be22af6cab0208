"""`python -m training evaluate`: how good is a model, and against what?"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from model_store import ModelStore, StoredModel
from ndpp import Mixture
from training.baselines import BASELINES, Blend
from training.baskets import Baskets
from training.cli.common import (
    DEFAULT_STORE,
    Columns,
    Format,
    Store,
    clear_errors,
    console,
    reading_rules,
)
from training.errors import OptionError
from training.evaluation.assess import Assessment, Questions, assess, questions_from
from training.evaluation.metrics import NLL, QUERY_METRICS, SET_METRICS
from training.evaluation.page import LABELS, NAMES
from training.evaluation.queries import Protocol, read_queries, translate
from training.evaluation.report import CurvePoint, ReportData, write_report
from training.evaluation.scoring import Metrics
from training.evaluation.tripod import TripodModel
from training.publishing import REPORT_TITLE, mixture_text
from training.reading import ReadingRules, read_baskets
from training.splitting import Split, bound_for, held_out_below, split, split_by_key

_USUAL_HOLDOUT = 2000  # the paper's
_ITS_OWN = "the model's own"


@clear_errors()
def evaluate(
    *,
    model: Annotated[str | None, typer.Option(help="The version.", show_default="the active one")] = None,
    store: Store = DEFAULT_STORE,
    baskets: Annotated[str | None, typer.Option(help="Baskets: a file, a folder or an fsspec URL.")] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            help="Ask these instead of a split: JSON lines of a cart (list of ids) and a target (id)."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the split.", show_default=_ITS_OWN)] = None,
    holdout: Annotated[int | None, typer.Option(help="Test baskets.", show_default=_ITS_OWN)] = None,
    validation: Annotated[int | None, typer.Option(help="Validation baskets.", show_default=_ITS_OWN)] = None,
    decoupling: Annotated[
        float | None, typer.Option(min=0, max=1, help="Rank by Δ·r^β·L_ii^−γ with this ω instead.")
    ] = None,
    relevance: Annotated[float | None, typer.Option(min=0, help="The same with this β.")] = None,
    popularity: Annotated[float | None, typer.Option(help="The same with this γ.")] = None,
    protocol: Annotated[Protocol, typer.Option(help="Which item is held out.")] = Protocol.PAPER,
    baselines: Annotated[bool, typer.Option(help="Compare with the baselines.")] = True,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the figures here.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write report.html and report.json here.")] = None,
    max_basket_size: Annotated[
        int | None, typer.Option(min=1, help="Drop larger baskets.", show_default=_ITS_OWN)
    ] = None,
    min_item_count: Annotated[
        int | None, typer.Option(min=1, help="Drop items in fewer baskets.", show_default=_ITS_OWN)
    ] = None,
    data_format: Format = None,
    column: Columns = None,
) -> None:
    """Measure a model on held-out baskets or on given queries, side by side with simple baselines."""
    if baskets is None and queries is None:
        raise OptionError("there is nothing to evaluate on: give --baskets FILE, or --queries FILE.jsonl")
    stored = ModelStore(store).open(model)
    given = {"decoupling": decoupling, "relevance": relevance, "popularity": popularity}
    told = {name: value for name, value in given.items() if value is not None}
    predictor = stored.next_item
    if told:  # these exponents make a score, not a fitted probability
        knobs = replace(stored.manifest.knobs, **told)
        predictor = replace(predictor, mixture=Mixture.plain(**asdict(knobs)))
    if relevance and stored.relevance is None:
        raise OptionError(f"model {stored.version} holds no co-purchase evidence: leave --relevance out")
    notes: list[str] = []
    data = steered = None
    if baskets is not None:
        usual = ReadingRules()
        rules = reading_rules(
            max_basket_size or _learned_with(stored, "max_basket_size", usual.max_basket_size),
            min_item_count or _learned_with(stored, "min_item_count", usual.min_item_count),
            data_format,
            column,
        )
        data = read_baskets(baskets, rules).baskets
    if queries is not None:
        rows = {item: row for row, item in enumerate(stored.items.ids)}
        asked = read_queries(queries, rows)
        questions = Questions(asked, asked.sets, protocol, seed or 0)
        train = None if data is None else translate(data, stored.items.ids)
    else:
        assert data is not None
        wanted = {"seed": seed, "holdout": holdout, "validation": validation}
        questions, train, steered = _split_questions(data, stored, wanted, protocol, notes)
    for note in notes:
        console.print(f"[bold yellow]warning:[/] {escape(note)}", soft_wrap=True)

    tripod = TripodModel(predictor)
    with console.status("reading") as status:
        found = assess(
            tripod,
            _names(stored),
            questions,
            train,
            steered,
            lifts=stored.lifts,
            basket_sizes=stored.basket_sizes,
            peers=(*BASELINES, Blend) if baselines else (),
            progress=status.update,
        )
    _print(found, stored.version, predictor.mixture)
    if json_out is not None:
        json_out.write_text(json.dumps(found.evaluation.as_json(), indent=2) + "\n", encoding="utf-8")
    if report is not None:
        described = mixture_text(predictor.mixture)
        _write_report(
            report, stored, how=described, questions=questions, train=train, found=found, notes=notes
        )


def _split_questions(
    data: Baskets,
    stored: StoredModel,
    wanted: dict[str, int | None],
    protocol: Protocol,
    notes: list[str],
) -> tuple[Questions, Baskets, Baskets]:
    """Split as the model's fit did unless told otherwise; say so when test baskets were learned from."""
    split_as = _split_by_key if "held_out_below" in stored.manifest.hyperparameters else _split_at_random
    parts, seen = split_as(data, stored, wanted)
    if not len(parts.test):
        raise OptionError("no basket is held out by this model's split: give --holdout N")
    if seen and data.fingerprint() == stored.manifest.data_fingerprint:
        notes.append(
            f"these are the baskets the model learned from, split in another way (its own: {seen}):"
            " it has seen test baskets, so its figures are too good"
        )
    seed = stored.manifest.seed if wanted["seed"] is None else wanted["seed"]
    questions = questions_from(parts.test, stored.items.ids, protocol, seed)
    train, validation = (translate(part, stored.items.ids) for part in (parts.train, parts.validation))
    return questions, train, validation


def _split_by_key(data: Baskets, stored: StoredModel, wanted: dict[str, int | None]) -> tuple[Split, str]:
    """By the model's own bound, or for so many test baskets; and how it had split if it has seen some."""
    own = held_out_below(stored.manifest)
    below = own if own and wanted["holdout"] is None else bound_for(data, wanted["holdout"] or None)
    parts = split_by_key(
        data,
        below=below,
        validation=wanted["validation"] or _learned_with(stored, "validation", 0) or None,
        seed=stored.manifest.seed if wanted["seed"] is None else wanted["seed"],
    )
    return parts, "" if own and below <= own else f"holdout {_learned_with(stored, 'holdout', 0)}"


def _split_at_random(data: Baskets, stored: StoredModel, wanted: dict[str, int | None]) -> tuple[Split, str]:
    """As `fit` of release 0.1 did. Its training jobs held out by other keys, which nobody knows any more."""
    own = {
        "seed": stored.manifest.seed,
        "holdout": _learned_with(stored, "holdout", 0),
        "validation": _learned_with(stored, "validation", 0),
    }
    chosen = {name: own[name] if value is None else value for name, value in wanted.items()}
    if chosen["holdout"] == 0:
        chosen["holdout"] = min(_USUAL_HOLDOUT, max(1, len(data) // 5))
    parts = split(
        data, validation=chosen["validation"] or None, holdout=chosen["holdout"], seed=chosen["seed"]
    )
    by_key = stored.manifest.hyperparameters.get("split") == "by_key"
    described = "by the keys of release 0.1" if by_key else ", ".join(f"{n} {v}" for n, v in own.items())
    return parts, described if by_key or own["holdout"] == 0 or chosen != own else ""


def _learned_with(stored: StoredModel, option: str, otherwise: int) -> int:
    """A whole-number option of the model's own fit."""
    value = stored.manifest.hyperparameters.get(option)
    return value if isinstance(value, int) else otherwise


def _names(stored: StoredModel) -> list[str]:
    """What a person calls each item."""
    items = stored.items
    return [name or item_id for item_id, name in zip(items.ids, items.names, strict=True)]


def _print(found: Assessment, version: str, mixture: Mixture) -> None:
    evaluation = found.evaluation
    queries = evaluation.models["tripod"].queries
    table = Table(
        title=f"{version} on {queries:,} queries (protocol {evaluation.protocol}; {mixture_text(mixture)})",
        title_justify="left",
    )
    table.add_column("model")
    columns = [*QUERY_METRICS, *SET_METRICS]
    for column in columns:
        table.add_column(LABELS[column], justify="right")
    for name, metrics in evaluation.models.items():
        table.add_row(NAMES[name], *(_cell(metrics, column) for column in columns))
    out = Console(highlight=False)
    if not out.is_terminal:
        out.width = 120  # a file has no edge to fold the table at
    out.print(table)
    out.print(
        "in percent, but NLL, AUC and log-likelihood; ± half the 95 % bootstrap interval; ties count half; "
        "of NLL lower is better",
        soft_wrap=True,
    )
    if found.truth.next_item is not None:
        out.print(found.truth.next_item.verdict, soft_wrap=True)
    for name, reason in evaluation.skipped.items():
        out.print(f"{NAMES[name]} took no part: {reason}", soft_wrap=True, markup=False)


def _cell(metrics: Metrics, column: str) -> str:
    value = metrics.values[column]
    if value is None:
        return "–"
    places = 3 if column == "auc" else 2 if column in (NLL, "log_likelihood") else 1
    low, high = metrics.intervals[column]
    return f"{value:.{places}f}\n[dim]±{(high - low) / 2:.{places}f}[/]"


def _write_report(
    folder: Path,
    stored: StoredModel,
    *,
    how: str,
    questions: Questions,
    train: Baskets | None,
    found: Assessment,
    notes: list[str],
) -> None:
    manifest = stored.manifest
    facts = {
        "Model": stored.version,
        "Trained": f"{manifest.created:%-d %B %Y, %H:%M} UTC",
        "Kernel": f"{manifest.kind}, rank {manifest.sizes.rank}",
        "Next item": how,
        "Items": f"{manifest.sizes.items:,}",
        "Queries": f"{len(questions.queries):,}",
    }
    if train is not None:
        facts["Baskets behind the baselines"] = f"{len(train):,}"
    pages = write_report(
        ReportData(
            title=REPORT_TITLE,
            facts=facts,
            evaluation=found.evaluation,
            curve=_curve(stored),
            relations=found.relations,
            truth=found.truth,
            notes=notes,
        )
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.html").write_bytes(pages.html)
    (folder / "report.json").write_bytes(pages.json)
    console.print(f"report written to {folder / 'report.html'}", soft_wrap=True, markup=False)


def _curve(stored: StoredModel) -> list[CurvePoint]:
    """The training curve that the fit stored with the model, if it did."""
    name = "training_curve.json"
    if name not in stored.manifest.files:
        return []
    curve = json.loads(stored.read_file(name))
    return [
        CurvePoint(*point) for point in zip(curve["step"], curve["validation_log_likelihood"], strict=True)
    ]
