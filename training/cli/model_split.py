"""Split data in the same way as the fit of a stored model."""

from __future__ import annotations

import numpy as np

from model_store import StoredModel
from training.baskets import NOBODY, Baskets, translate
from training.errors import OptionError
from training.evaluation.assess import Questions, questions_from
from training.evaluation.queries import Protocol
from training.histories import Histories
from training.splitting import Split, bound_for, held_out_below, split, split_by_key, split_temporal

_USUAL_HOLDOUT = 2000  # as in the paper


def questions_of_split(
    data: Baskets,
    stored: StoredModel,
    wanted: dict[str, int | None],
    protocol: Protocol,
    notes: list[str],
) -> tuple[Questions, Baskets, Baskets]:
    """Split as in the model's fit unless options differ; add a note if test baskets were learned from."""
    recorded, histories = stored.manifest.hyperparameters, None
    if recorded.get("split") == "temporal":
        parts, seen = _split_in_time(data, stored, wanted)
    else:
        split_as = _split_by_key if "held_out_below" in recorded else _split_at_random
        parts, seen = split_as(data, stored, wanted)
        if protocol is Protocol.TEMPORAL:
            parts = parts._replace(test=_last_of_each(data, parts.test))
            notes.append(
                "the model has also learned from baskets that are newer than the test baskets; to train on "
                "the past only, fit it with --protocol temporal"
            )
    if not len(parts.test):
        raise OptionError("the model's split holds out no baskets: give --holdout N")
    if seen and data.fingerprint() == stored.manifest.data_fingerprint:
        notes.append(
            f"this is the model's training data, but the split differs from its fit ({seen}): the model has "
            "learned from some test baskets, so its metrics are too optimistic"
        )
    seed = stored.manifest.seed if wanted["seed"] is None else wanted["seed"]
    if protocol is Protocol.TEMPORAL:
        histories = Histories(data).before_each(parts.test)
    questions = questions_from(parts.test, stored.items.ids, protocol, seed, histories)
    train, validation = (translate(part, stored.items.ids) for part in (parts.train, parts.validation))
    return questions, train, validation


def _split_in_time(data: Baskets, stored: StoredModel, wanted: dict[str, int | None]) -> tuple[Split, str]:
    """Split in time, with the number of test baskets of the fit unless another is wanted."""
    own = option_of_fit(stored, "holdout", 0)
    parts = split_temporal(
        data,
        below=held_out_below(stored.manifest) or 0.0,
        validation=wanted["validation"] or option_of_fit(stored, "validation", 0) or None,
        holdout=wanted["holdout"] or own,
    )
    return parts, "" if len(parts.test) <= own else f"holdout {own}"


def _last_of_each(data: Baskets, test: Baskets) -> Baskets:
    """Of the test baskets, the last one of each shopper who has bought anything before it."""
    histories = Histories(data).before_each(test)
    known = test.select(np.flatnonzero([history is not None for history in histories]))
    if known.shoppers is None or known.timestamps is None or not len(known):
        raise OptionError("the protocol temporal needs a shopper_id and a timestamp in the baskets")
    several = known.select(np.flatnonzero((known.sizes > 1) & (known.shoppers != NOBODY)))
    assert several.shoppers is not None
    assert several.timestamps is not None
    ordered = several.select(np.argsort(several.timestamps, kind="stable"))
    assert ordered.shoppers is not None
    last = {shopper: number for number, shopper in enumerate(ordered.shoppers.tolist())}
    return ordered.select(np.array(sorted(last.values()), dtype=np.int64))


def _split_by_key(data: Baskets, stored: StoredModel, wanted: dict[str, int | None]) -> tuple[Split, str]:
    """Split by the model's hold-out bound, or for the wanted number of test baskets.

    Also describes the model's own split if it has learned from some of the test baskets, else "".
    """
    own = held_out_below(stored.manifest)
    below = own if own and wanted["holdout"] is None else bound_for(data, wanted["holdout"] or None)
    parts = split_by_key(
        data,
        below=below,
        validation=wanted["validation"] or option_of_fit(stored, "validation", 0) or None,
        seed=stored.manifest.seed if wanted["seed"] is None else wanted["seed"],
    )
    return parts, "" if own and below <= own else f"holdout {option_of_fit(stored, 'holdout', 0)}"


def _split_at_random(data: Baskets, stored: StoredModel, wanted: dict[str, int | None]) -> tuple[Split, str]:
    """Split at random, like `fit` of release 0.1.

    Training jobs of release 0.1 held out by keys that are no longer computed, so their split is unknown.
    """
    own = {
        "seed": stored.manifest.seed,
        "holdout": option_of_fit(stored, "holdout", 0),
        "validation": option_of_fit(stored, "validation", 0),
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


def option_of_fit(stored: StoredModel, option: str, otherwise: int) -> int:
    """An integer option of the model's fit."""
    value = stored.manifest.hyperparameters.get(option)
    return value if isinstance(value, int) else otherwise
