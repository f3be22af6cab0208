"""`python -m training fit`: learn a kernel from baskets and publish it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from model_store import ModelStore
from training.baskets import Baskets
from training.checkpoint import Checkpoint
from training.cli.common import (
    DEFAULT_STORE,
    Columns,
    Format,
    ItemColumns,
    MaxBasketSize,
    MinItemCount,
    Store,
    clear_errors,
    column_mapping,
    console,
    reading_rules,
)
from training.cli.progress import log_event, progress_reporter, stop_on_interrupt
from training.cli.trials import trials_table
from training.evaluation.calibration import ENOUGH_QUERIES
from training.fitting import resolve_options
from training.item_table import ITEM_COLUMNS, describe_items, keep_listed, read_item_table
from training.learning import learn
from training.options import FitOptions, Init, KernelKind
from training.publishing import Publication, publish
from training.reading import read_baskets
from training.recency import effective_size, recency_weights
from training.recipe import Recipe
from training.splitting import bound_for, split_by_key, validation_size
from training.tuning import Tune
from training.warm_start import active_model, held_out_by_both

_INTERRUPTED = 130  # what a shell expects after Ctrl-C
_DEFAULTS = FitOptions()
_ENOUGH_BASKETS = 1000  # of equal weight


@clear_errors()
def fit_command(
    baskets: Annotated[str, typer.Option(help="Baskets: a file, a folder or an fsspec URL.")],
    items: Annotated[
        str | None, typer.Option(help="The item table: item_id, name, category, price, in_stock.")
    ] = None,
    store: Store = DEFAULT_STORE,
    kernel: Annotated[KernelKind, typer.Option(help="The form of the kernel.")] = _DEFAULTS.kernel,
    rank: Annotated[int | None, typer.Option(help="Columns of V.", show_default="from the data")] = None,
    skew_rank: Annotated[
        int | None, typer.Option(help="Columns of B, even.", show_default="from the data")
    ] = None,
    diagonal: Annotated[
        bool, typer.Option(help="Learn a diagonal beside the low-rank part.")
    ] = _DEFAULTS.diagonal,
    alpha: Annotated[float, typer.Option(help="Regularisation of V.")] = _DEFAULTS.alpha,
    beta: Annotated[float, typer.Option(help="Regularisation of B.")] = _DEFAULTS.beta,
    init: Annotated[
        Init,
        typer.Option(help="Where to start: scaled by popularity, as in the paper, or at the active model."),
    ] = "scaled",
    steps: Annotated[int, typer.Option(help="Steps of Adam at most.")] = _DEFAULTS.steps,
    batch_size: Annotated[int, typer.Option(help="Baskets in a step.")] = _DEFAULTS.batch_size,
    learning_rate: Annotated[
        float, typer.Option(help="The peak of the one-cycle schedule.")
    ] = _DEFAULTS.learning_rate,
    patience: Annotated[
        int, typer.Option(help="Stop after this many evaluations (each 25 steps) without a new best.")
    ] = _DEFAULTS.patience,
    half_life_days: Annotated[float | None, typer.Option(help="Baskets this much older count half.")] = None,
    tune: Annotated[
        Tune,
        typer.Option(
            help="Choose relevance prior and knobs on held-out items; thorough: the fit's options as well."
        ),
    ] = "quick",
    validation: Annotated[
        int | None,
        typer.Option(help="Baskets that steer fit and tuning.", show_default="a twentieth, 300 to 2,000"),
    ] = None,
    holdout: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Held-out baskets: they measure the result, and compare it with later versions. With 0 "
            "no training job can compare its model with this one.",
            show_default="one in twenty",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same split and the same kernel.")] = 0,
    threads: Annotated[
        int, typer.Option(help="CPU threads; one is fastest on a busy machine.")
    ] = _DEFAULTS.threads,
    max_basket_size: MaxBasketSize = 100,
    min_item_count: MinItemCount = 1,
    only_listed_items: Annotated[
        bool, typer.Option(help="Drop items that the item table does not list.")
    ] = False,
    data_format: Format = None,
    column: Columns = None,
    items_column: ItemColumns = None,
    activate: Annotated[bool, typer.Option(help="Make the new version the active one.")] = True,
    report: Annotated[
        bool, typer.Option(help="Measure the model beside the baselines; report.html goes with the version.")
    ] = True,
    resume: Annotated[
        bool, typer.Option(help="Continue an interrupted fit of the same data and options.")
    ] = False,
    quiet: Annotated[bool, typer.Option(help="No progress bar, no summary.")] = False,
    json_logs: Annotated[bool, typer.Option(help="Progress as JSON lines on stderr.")] = False,
) -> None:
    """Learn a kernel from baskets, publish it to the store, and print the new version's name last."""
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
    data = read_baskets(baskets, rules)
    table = None if items is None else read_item_table(items, column_mapping(items_column, ITEM_COLUMNS))
    known = keep_listed(data.baskets, table) if only_listed_items else data.baskets
    _warn_of_short_half_life(known, half_life_days, json_logs=json_logs)
    previous = active_model(model_store) if init == "previous" else None
    wanted = bound_for(known, holdout)
    recipe = Recipe(options, rules, only_listed_items, tune, validation, held_out_by_both(wanted, previous))
    if validation is None:
        validation = validation_size(len(known), tuned=tune != "none")
    parts = split_by_key(known, below=recipe.held_out_below, validation=validation, seed=seed)
    if recipe.held_out_below < wanted:
        _warn(
            f"only {len(parts.test):,} baskets are held out: the active model, where this fit begins, may "
            "have learned from the others; --init scaled holds them out",
            json_logs=json_logs,
        )
    options = resolve_options(options, parts.train, previous)

    fingerprint = known.fingerprint()
    checkpoint = Checkpoint.for_fit(_checkpoint_folder(), fingerprint, parts, options)
    if not resume:
        checkpoint.discard()
    elif not checkpoint.exists():
        console.print("nothing to resume for this data and these options: starting afresh")
    with progress_reporter(quiet=quiet, json_logs=json_logs) as show, stop_on_interrupt() as should_stop:
        learned = learn(
            parts,
            options,
            effort=tune,
            callback=show.fitting,
            tuning_callback=show.tuning,
            should_stop=should_stop,
            checkpoint=checkpoint,
            previous=previous,
        )
        if should_stop():  # even too late to save any work: whoever stops it wants no new model live
            learned = replace(learned, interrupted=True)

    if (tuning := learned.tuning) is not None and tuning.queries < ENOUGH_QUERIES:
        _warn(
            f"probabilities rest on few baskets: they were fitted to {tuning.queries} carts, and fewer than "
            f"{ENOUGH_QUERIES} are too few to rely on",
            json_logs=json_logs,
        )
    publication = Publication(learned, parts, describe_items(known, table), fingerprint, recipe)
    with console.status("measuring, and publishing"):
        version = publish(model_store, publication, report=report and not learned.interrupted)
    if activate and not learned.interrupted:
        model_store.activate(version)
    if not learned.interrupted:
        checkpoint.discard()
    _summarise(publication, quiet=quiet, json_logs=json_logs)
    typer.echo(version)
    if learned.interrupted:
        console.print(
            f"interrupted: {version} holds the best so far and is not active. Continue with --resume, or "
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
        f"with --half-life-days {half_life_days:g} the {len(baskets):,} baskets say no more than "
        f"{effective_size(weights):,.0f} of equal weight would: choose a longer half-life"
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
