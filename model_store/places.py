"""Default folders of models and data: in `var/`, or those of release 0.1 while they are in use."""

from __future__ import annotations

import logging
from pathlib import Path

DEFAULT_STORE, DEFAULT_DATA = "var/models", "var/data"
# The folders of release 0.1. The embedded Valkey, with the carts, is always next to the model store.
_STORE_0_1, _DATA_0_1 = "model_store/artifacts", "data"
_CARTS, _CARTS_0_1 = "var/valkey", "model_store/valkey"


def default_store() -> str:
    """The model store if neither `--store` nor TRIPOD_STORE names one.

    Models and carts of release 0.1 are used where they are, with a warning, until someone moves them.
    """
    moves = {_STORE_0_1: DEFAULT_STORE, _CARTS_0_1: _CARTS}
    left = {old: new for old, new in moves.items() if _holds(old) and not _holds(new)}
    store = _STORE_0_1 if left and not _holds(DEFAULT_STORE) else DEFAULT_STORE
    _warn(left, f"the model store is {store}", f"TRIPOD_STORE={_STORE_0_1}")
    return store


def default_data() -> Path:
    """The folder of the demo's baskets, logs and purchases, or that of release 0.1 if only this exists."""
    if _holds(_DATA_0_1, "baskets.parquet") and not _holds(DEFAULT_DATA):
        _warn({_DATA_0_1: DEFAULT_DATA}, f"the data folder is {_DATA_0_1}", f"--data {_DATA_0_1}")
        return Path(_DATA_0_1)
    return Path(DEFAULT_DATA)


def _holds(folder: str, pattern: str = "[!.]*") -> bool:
    return any(Path(folder).glob(pattern))


def _warn(moves: dict[str, str], used: str, option: str) -> None:
    if moves:
        commands = " && ".join(f"mkdir -p {new} && mv {old}/* {new}/" for old, new in moves.items())
        logging.getLogger(__name__).warning(
            "Found %s of an earlier release, and %s: stop Tripod and move the files with `%s`, or keep them "
            "there with %s.",
            " and ".join(moves),
            used,
            commands,
            option,
        )
