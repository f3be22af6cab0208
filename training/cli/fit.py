"""`python -m training fit`: train a model on baskets and publish it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from model_store import ModelStore
from training.baskets import Baskets
from training.cli.common import (
    Columns,
    Format,
    ItemColumns,
    MaxBasketSize,
    MinItemCount,
    Store,
    column_mapping,
    console,
    reading_rules,
    report_errors,
    shopper_rules,
)
from training.cli.progress import log_event, progress_reporter, stop_on_interrupt
from training.cli.trials import trials_table
from training.evaluation.next_item_calibration import ENOUGH_QUERIES
from training.evaluation.queries import Protocol
from training.fitting import resolve_options
from training.fitting.checkpoint import Checkpoint
from training.fitting.warm_start import active_model, held_out_by_both
from training.options import FitOptions, Init, KernelKind, Tune
from training.pipeline import train_model
from training.publishing import Publication, publish
from training.reading import read_baskets
from training.reading.item_table import ITEM_COLUMNS, describe_items, keep_listed, read_item_table
from training.recency import effective_size, recency_weights
from training.recipe import Recipe
from training.splitting import bound_for, split_by_key, split_temporal, validation_size

_INTERRUPTED = 130  # the usual exit code after Ctrl-C
_DEFAULTS = FitOptions()
_ENOUGH_BASKETS = 1000  # effective number of baskets, below which a half-life is reported as too short


@report_errors()
def fit_command(
    *,
    baskets: Annotated[str, typer.Option(help="Baskets: a file, a folder or an fsspec URL.")],
    items: Annotated[
        str | None, typer.Option(help="Item table: item_id, name, category, price, in_stock.")
    ] = None,
    store: Store,
    kernel: Annotated[KernelKind, typer.Option(help="Form of the kernel.")] = _DEFAULTS.kernel,
    rank: Annotated[int | None, typer.Option(help="Columns of V.", show_default="from the data")] = None,
    skew_rank: Annotated[
        int | None, typer.Option(help="Columns of B; even.", show_default="from the data")
    ] = None,
    diagonal: Annotated[
        bool, typer.Option(help="Learn a diagonal in addition to the low-rank part.")
    ] = _DEFAULTS.diagonal,
    alpha: Annotated[float, typer.Option(help="Regularisation of V.")] = _DEFAULTS.alpha,
    beta: Annotated[float, typer.Option(help="Regularisation of B.")] = _DEFAULTS.beta,
    init: Annotated[
        Init,
        typer.Option(help="Initial values: scaled by popularity, as in the paper, or from the active model."),
    ] = "scaled",
    steps: Annotated[int, typer.Option(help="Maximum number of steps of Adam.")] = _DEFAULTS.steps,
    batch_size: Annotated[int, typer.Option(help="Baskets per step.")] = _DEFAULTS.batch_size,
    learning_rate: Annotated[
        float, typer.Option(help="Peak learning rate of the one-cycle schedule.")
    ] = _DEFAULTS.learning_rate,
    patience: Annotated[
        int, typer.Option(help="Stop after this many evaluations (every 25 steps) without improvement.")
    ] = _DEFAULTS.patience,
    half_life_days: Annotated[float | None, typer.Option(help="Half-life of basket weights.")] = None,
    tune: Annotated[
        Tune,
        typer.Option(
            help="Tune the relevance prior and the mixture on validation baskets; thorough also tunes the "
            "options of the fit."
        ),
    ] = "quick",
    validation: Annotated[
        int | None,
        typer.Option(help="Baskets for early stopping and tuning.", show_default="a twentieth, 300 to 2,000"),
    ] = None,
    holdout: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of held-out baskets, to evaluate the model and to compare it with later versions. "
            "With 0, training jobs cannot compare new models with this one.",
            show_default="one in twenty",
        ),
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(
            help="How the model is evaluated; temporal trains on the past only, and asks about the last "
            "basket of --holdout shoppers (default: 2,000, at most a third)."
        ),
    ] = Protocol.PAPER,
    seed: Annotated[int, typer.Option(help="Seed of the split and the fit, for reproducible results.")] = 0,
    threads: Annotated[
        int, typer.Option(help="Number of CPU threads; one is fastest on a busy machine.")
    ] = _DEFAULTS.threads,
    max_basket_size: MaxBasketSize = 100,
    min_item_count: MinItemCount = 1,
    only_listed_items: Annotated[
        bool, typer.Option(help="Drop items that are not in the item table.")
    ] = False,
    data_format: Format = None,
    column: Columns = None,
    items_column: ItemColumns = None,
    activate: Annotated[bool, typer.Option(help="Activate the new version.")] = True,
    report: Annotated[
        bool, typer.Option(help="Compare the model with baselines and store report.html with the version.")
    ] = True,
    resume: Annotated[
        bool, typer.Option(help="Resume an interrupted fit with the same data and options.")
    ] = False,
    quiet: Annotated[bool, typer.Option(help="Show no progress bar and no summary.")] = False,
    json_logs: Annotated[bool, typer.Option(help="Print progress as JSON lines on stderr.")] = False,
) -> None:
    """Train a model on baskets, publish it to the model store, and print the name of the new version."""
    options = FitOptions(
        kernel=kernel,
        rank=rank,
        skew_rank=skew_rank,
        diagonal=diagonal,
        alpha=alpha,
        beta=beta,
        init=init,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        patience=patience,
        half_life_days=half_life_days,
        seed=seed,
        threads=threads,
    )
    model_store = ModelStore(store)
    rules = reading_rules(max_basket_size, min_item_count, data_format, column)
    data = read_baskets(baskets, rules, shoppers=shopper_rules(model_store))
    table = None if items is None else read_item_table(items, column_mapping(items_column, ITEM_COLUMNS))
    known = keep_listed(data.baskets, table) if only_listed_items else data.baskets
    _warn_of_short_half_life(known, half_life_days, json_logs=json_logs)
    previous = active_model(model_store) if init == "previous" else None
    temporal = protocol is Protocol.TEMPORAL
    wanted = bound_for(known, None if temporal else holdout)
    recipe = Recipe(options, rules, only_listed_items, tune, validation, held_out_by_both(wanted, previous))
    if validation is None:
        validation = validation_size(len(known), tuned=tune != "none")
    if temporal:
        parts = split_temporal(known, below=recipe.held_out_below, validation=validation, holdout=holdout)
    else:
        parts = split_by_key(known, below=recipe.held_out_below, validation=validation, seed=seed)
    if recipe.held_out_below < wanted:
        _warn(
            f"only {len(parts.test):,} baskets are held out: the fit starts from the active model, which may "
            "have learned from the others; use --init scaled to hold out more",
            json_logs=json_logs,
        )
    options = resolve_options(options, parts.train, previous)

    fingerprint = known.fingerprint()
    checkpoint = Checkpoint.for_fit(_checkpoint_folder(), fingerprint, parts, options)
    if not resume:
        checkpoint.discard()
    elif not checkpoint.exists():
        console.print("there is no interrupted fit with this data and these options: starting a new one")
    with progress_reporter(quiet=quiet, json_logs=json_logs) as show, stop_on_interrupt() as should_stop:
        learned = train_model(
            parts,
            options,
            effort=tune,
            callback=show.fitting,
            tuning_callback=show.tuning,
            should_stop=should_stop,
            checkpoint=checkpoint,
            previous=previous,
        )
        if should_stop():  # even if the fit was already finished, do not activate the model
            learned = replace(learned, interrupted=True)

    if (tuning := learned.tuning) is not None and tuning.queries < ENOUGH_QUERIES:
        _warn(
            f"the probabilities are unreliable: they were fitted to only {tuning.queries} carts; at least "
            f"{ENOUGH_QUERIES} are needed",
            json_logs=json_logs,
        )
    publication = Publication(
        learned,
        parts,
        describe_items(known, table),
        fingerprint,
        recipe,
        protocol,
        known if temporal else None,
    )
    with console.status("evaluating and publishing"):
        version = publish(model_store, publication, report=report and not learned.interrupted)
    if activate and not learned.interrupted:
        model_store.activate(version)
    if not learned.interrupted:
        checkpoint.discard()
    _summarise(publication, quiet=quiet, json_logs=json_logs)
    typer.echo(version)
    if learned.interrupted:
        console.print(
            f"interrupted: {version} is the best model so far and is not active. Continue with --resume, or "
            f"activate it with: python -m model_store --store {store} activate {version}",
            soft_wrap=True,
            markup=False,
        )
        raise typer.Exit(_INTERRUPTED)


def _warn_of_short_half_life(baskets: Baskets, half_life_days: float | None, *, json_logs: bool) -> None:
    weights = recency_weights(baskets, half_life_days)
    if weights is None or effective_size(weights) >= _ENOUGH_BASKETS:
        return
    text = (
        f"with --half-life-days {half_life_days:g} the {len(baskets):,} baskets are worth only "
        f"{effective_size(weights):,.0f} of equal weight: choose a longer half-life"
    )
    _warn(text, json_logs=json_logs)


def _warn(text: str, *, json_logs: bool) -> None:
    if json_logs:
        log_event("warning", text=text)
    else:
        console.print(f"[bold yellow]warning:[/] {text}", soft_wrap=True)


def _summarise(publication: Publication, *, quiet: bool, json_logs: bool) -> None:
    result, tuning = publication.result, publication.learned.tuning
    facts = {
        "steps": result.steps_done,
        "best_step": result.best_step,
        "seconds": round(result.seconds, 1),
        **publication.metrics(),
    }
    if json_logs:
        log_event("fitted", **facts)
    elif not quiet:
        console.print(", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in facts.items()))
        if tuning is not None:
            console.print(trials_table(tuning, publication.learned.kernels))


def _checkpoint_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tripod" / "checkpoints"
