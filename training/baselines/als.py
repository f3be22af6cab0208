"""Matrix factorisation for implicit feedback, with the `implicit` package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from training.baselines.base import Baseline, BaselineUnavailableError
from training.basket_matrix import basket_matrix, cart_matrix
from training.baskets import Baskets, ItemRows
from training.recommender import Pasts, Scores


class Als(Baseline):
    """Alternating least squares (Hu, Koren and Volinsky 2008) with baskets as users.

    The factors of a new cart come from one more least-squares step.
    """

    name: ClassVar[str] = "als"

    def __init__(
        self, factors: int = 64, regularisation: float = 0.01, iterations: int = 15, seed: int = 0
    ) -> None:
        self.options: dict[str, Any] = {
            "factors": factors,
            "regularization": regularisation,
            "iterations": iterations,
            "random_state": seed,
            "num_threads": 1,  # the result must not depend on the machine
        }

    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:  # noqa: ARG002
        """Factorise the baskets."""
        try:  # an optional extra
            from implicit.cpu.als import AlternatingLeastSquares  # noqa: PLC0415
            from threadpoolctl import threadpool_limits  # noqa: PLC0415
        except ImportError:
            raise BaselineUnavailableError(
                "ALS needs the package 'implicit': install Tripod with its 'als' extra"
            ) from None
        with threadpool_limits(1, "blas"):  # implicit warns about any other setting
            self.model = AlternatingLeastSquares(**self.options)
            self.model.fit(sparse.csr_matrix(basket_matrix(baskets)), show_progress=False)
        return self

    def scores(self, carts: Sequence[ItemRows], histories: Pasts | None = None) -> Scores:  # noqa: ARG002
        """Each cart's factors times every item's."""
        items = self.model.item_factors  # (M, factors)
        if not carts:
            return np.empty((0, len(items)), dtype=np.float32)
        held = sparse.csr_matrix(cart_matrix(carts, len(items)))
        users = self.model.recalculate_user(np.arange(len(carts)), held)
        return np.asarray(users @ items.T)
