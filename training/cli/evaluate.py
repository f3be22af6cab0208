"""`python -m training evaluate`: evaluate a model and compare it with baselines."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from model_store import ModelStore, ModelStoreError, StoredModel
from ndpp import Mixture
from training.baselines import BASELINES, Baseline
from training.baselines.blend import Blend
from training.baskets import Baskets, translate
from training.cli.common import (
    Columns,
    Format,
    Store,
    console,
    reading_rules,
    report_errors,
    shopper_rules,
)
from training.cli.evaluation_tables import print_tables
from training.cli.model_split import option_of_fit, questions_of_split
from training.errors import OptionError
from training.evaluation.assess import Assessment, Questions, assess, item_names
from training.evaluation.queries import Protocol
from training.evaluation.read_queries import USUAL_GAP, HistoryOf, histories_in, read_queries
from training.evaluation.report import CurvePoint, ReportData, write_report
from training.evaluation.tripod import TripodModel
from training.histories import has_histories
from training.publishing import REPORT_TITLE, mixture_text
from training.reading import BasketData, ReadingRules, ShopperRules, read_baskets

_OF_FIT = "as in the model's fit"


@report_errors()
def evaluate(
    *,
    model: Annotated[
        str | None, typer.Option(help="Version to evaluate.", show_default="the active one")
    ] = None,
    store: Store,
    baskets: Annotated[str | None, typer.Option(help="Baskets: a file, a folder or an fsspec URL.")] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            help="Use these queries instead of a split: JSON lines with cart (list of ids), target (id), and "
            "optionally history (list of lists of ids) or shopper_id (looked up in --baskets) with timestamp."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the split.", show_default=_OF_FIT)] = None,
    holdout: Annotated[int | None, typer.Option(help="Test baskets.", show_default=_OF_FIT)] = None,
    validation: Annotated[int | None, typer.Option(help="Validation baskets.", show_default=_OF_FIT)] = None,
    decoupling: Annotated[
        float | None, typer.Option(min=0, max=1, help="Rank by Δ·r^β·L_ii^−γ, with this ω.")
    ] = None,
    relevance: Annotated[float | None, typer.Option(min=0, help="β of that ranking.")] = None,
    popularity: Annotated[float | None, typer.Option(help="γ of that ranking.")] = None,
    protocol: Annotated[Protocol, typer.Option(help="Which item is held out.")] = Protocol.PAPER,
    baselines: Annotated[bool, typer.Option(help="Compare with the baselines.")] = True,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the metrics to this file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Folder for report.html and report.json.")] = None,
    max_basket_size: Annotated[
        int | None,
        typer.Option(min=1, help="Drop larger baskets.", show_default=_OF_FIT),
    ] = None,
    min_item_count: Annotated[
        int | None,
        typer.Option(min=1, help="Drop items in fewer baskets.", show_default=_OF_FIT),
    ] = None,
    data_format: Format = None,
    column: Columns = None,
) -> None:
    """Evaluate a model on held-out baskets or on given queries, and compare it with baselines."""
    if baskets is None and queries is None:
        raise OptionError("there is nothing to evaluate on: give --baskets FILE or --queries FILE.jsonl")
    models = ModelStore(store)
    stored = models.open(model)
    given = {"decoupling": decoupling, "relevance": relevance, "popularity": popularity}
    overrides = {name: value for name, value in given.items() if value is not None}
    predictor = stored.next_item
    if overrides:  # with these exponents the model gives scores, not fitted probabilities
        knobs = replace(stored.manifest.knobs, **overrides)
        predictor = replace(predictor, mixture=Mixture.plain(**asdict(knobs)))
    if relevance and stored.relevance is None:
        raise OptionError(f"model {stored.version} has no relevance prior: leave --relevance out")
    notes: list[str] = []
    read, steered, shoppers = None, None, _shopper_rules(models)
    if baskets is not None:
        usual = ReadingRules()
        rules = reading_rules(
            max_basket_size or option_of_fit(stored, "max_basket_size", usual.max_basket_size),
            min_item_count or option_of_fit(stored, "min_item_count", usual.min_item_count),
            data_format,
            column,
        )
        read = read_baskets(baskets, rules, shoppers=shoppers)
    if queries is not None:
        train = None if read is None else translate(read.baskets, stored.items.ids)
        asked = read_queries(
            queries,
            {item: row for row, item in enumerate(stored.items.ids)},
            gap_days=USUAL_GAP if predictor.mixture.own is None else predictor.mixture.own.gap_days,
            history_of=None if read is None or train is None else _history_of(read, train, shoppers),
            notes=notes,
        )
        questions = Questions(asked, asked.sets, protocol, seed or 0)
    else:
        assert read is not None
        wanted = {"seed": seed, "holdout": holdout, "validation": validation}
        questions, train, steered = questions_of_split(read.baskets, stored, wanted, protocol, notes)
    for note in notes:
        console.print(f"[bold yellow]warning:[/] {escape(note)}", soft_wrap=True)

    tripod = TripodModel(predictor)
    with console.status("reading") as status:
        found = assess(
            tripod,
            item_names(stored.items),
            questions,
            train,
            steered,
            lifts=stored.lifts,
            basket_sizes=stored.basket_sizes,
            sets=stored.set_predictor,
            peers=_peers(questions) if baselines else (),
            progress=status.update,
        )
    print_tables(found, stored.version, predictor.mixture)
    if json_out is not None:
        json_out.write_text(json.dumps(found.evaluation.as_json(), indent=2) + "\n", encoding="utf-8")
    if report is not None:
        described = mixture_text(predictor.mixture)
        _write_report(
            report, stored, how=described, questions=questions, train=train, found=found, notes=notes
        )


def _shopper_rules(models: ModelStore) -> ShopperRules:
    try:
        return shopper_rules(models)
    except ModelStoreError:  # a store without a key that cannot be written: no ids were hashed with its key
        return ShopperRules()


def _peers(questions: Questions) -> tuple[type[Baseline], ...]:
    return questions.usual_peers if questions.queries.histories is not None else (*BASELINES, Blend)


def _history_of(read: BasketData, train: Baskets, shoppers: ShopperRules) -> HistoryOf | None:
    """Finds histories in the baskets (in the model's rows); None if they do not say who bought and when."""
    if not has_histories(train):
        return None
    numbers = {hashed: number for number, hashed in enumerate(read.shopper_hashes)}
    return histories_in(train, numbers, str if shoppers.ids is None else shoppers.ids.hashed)


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
        facts["Training baskets of the baselines"] = f"{len(train):,}"
    pages = write_report(
        ReportData(
            title=REPORT_TITLE,
            facts=facts,
            evaluation=found.evaluation,
            curve=_curve(stored),
            relations=found.relations,
            calibration=found.calibration,
            notes=notes,
        )
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.html").write_bytes(pages.html)
    (folder / "report.json").write_bytes(pages.json)
    console.print(f"report written to {folder / 'report.html'}", soft_wrap=True, markup=False)


def _curve(stored: StoredModel) -> list[CurvePoint]:
    """The training curve stored with the model, if any."""
    name = "training_curve.json"
    if name not in stored.manifest.files:
        return []
    curve = json.loads(stored.read_file(name))
    return [
        CurvePoint(*point) for point in zip(curve["step"], curve["validation_log_likelihood"], strict=True)
    ]
