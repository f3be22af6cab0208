"""Random kernels of every kind, and the slow, obviously right answers: dense determinants in float64."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from ndpp import Kernel, Tilt

KINDS = ("symmetric", "ndpp2019", "scalable", "tied")


def make_kernel(
    rng: np.random.Generator,
    size: int,
    kind: str,
    *,
    rank: int = 4,
    diagonal: bool = False,
    scale: float = 1.0,
) -> Kernel:
    V = rng.normal(size=(size, rank)) * scale
    B = rng.normal(size=(size, rank)) * scale
    D = rng.normal(size=(rank, rank))
    d = rng.uniform(0, 1, size) * scale**2 if diagonal else None
    if kind == "symmetric":
        return Kernel.symmetric(V, d)
    if kind == "ndpp2019":
        return Kernel.ndpp2019(V, B, rng.normal(size=(size, rank)) * scale, d)
    if kind == "scalable":
        return Kernel.scalable(V, B, D - D.T, d)
    return Kernel.tied(V, D - D.T, d)


def kernels(max_size: int = 9) -> st.SearchStrategy[Kernel]:
    """Kernels of every kind, with zero rows, (nearly) repeated rows, huge and tiny scales mixed in."""

    @st.composite
    def build(draw: st.DrawFn) -> Kernel:
        rng = np.random.default_rng(draw(st.integers(0, 10_000)))
        size = draw(st.integers(1, max_size))
        kernel = make_kernel(
            rng,
            size,
            draw(st.sampled_from(KINDS)),
            rank=draw(st.integers(1, 5)),
            diagonal=draw(st.booleans()),
            scale=draw(st.sampled_from([1.0, 1e-5, 1e5])),
        )
        factors, diagonal = kernel.factors.copy(), kernel.diagonal.copy()
        if draw(st.booleans()):
            factors[draw(st.integers(0, size - 1))] = 0.0
        if draw(st.booleans()):
            source, target = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
            nearly = 1 + draw(st.sampled_from([0.0, 1e-13, 1e-9, 1e-6, 1e-3])) * rng.normal(
                size=factors.shape[1]
            )
            factors[target], diagonal[target] = factors[source] * nearly, diagonal[source]
        if draw(st.booleans()):
            factors *= rng.permutation(np.arange(1, size + 1.0) ** -1.0)[:, None]
        return Kernel(factors, kernel.core, diagonal)

    return build()


def dense_gains(L: np.ndarray, cart: list[int], decoupling: float = 0.0) -> np.ndarray:
    """det(L̃_{Y+i}) / det(L̃_Y), with only the cart's own block decoupled; 0 inside the cart."""
    gains = np.zeros(len(L))
    block = L[np.ix_(cart, cart)]
    block = (1 - decoupling) * block + decoupling * np.diag(np.diag(block))
    for i in set(range(len(L))) - set(cart):
        bordered = np.block([[block, L[cart, i][:, None]], [L[i, cart][None, :], L[[[i]], [i]]]])
        gains[i] = np.linalg.det(bordered) / np.linalg.det(block) if cart else L[i, i]
    return np.maximum(gains, 0.0)


def full_matrix(kernel: Kernel) -> np.ndarray:
    return kernel.submatrix(np.arange(kernel.size))


def well_conditioned(L: np.ndarray, cart: list[int]) -> bool:
    """Whether a dense determinant of the cart can be trusted to about eight digits."""
    block = L[np.ix_(cart, cart)]
    scale = np.sqrt(np.abs(block).max(axis=1, initial=0.0) * np.abs(block).max(axis=0, initial=0.0))
    if not len(cart):
        return True
    if not scale.all():
        return False
    return bool(np.linalg.cond(block / np.sqrt(np.outer(scale, scale))) < 1e6)


def random_tilt(rng: np.random.Generator, size: int) -> Tilt:
    base = rng.uniform(0.2, 2, size) if rng.random() < 0.5 else None
    rows = rng.integers(0, size, rng.integers(0, 4))
    return Tilt(base, rows, rng.choice([0.0, 0.5, 3.0], len(rows)))


def dense_conditional(kernel: Kernel, cart: list[int], tilt: Tilt, decoupling: float) -> np.ndarray:
    """The tilted kernel given the cart over the whole catalogue, (M, M)."""
    L = full_matrix(kernel)
    block = L[np.ix_(cart, cart)]
    block = (1 - decoupling) * block + decoupling * np.diag(np.diag(block))
    tau = np.sqrt(tilt.dense(kernel.size))
    tau[cart] = 0
    return np.outer(tau, tau) * (L - L[:, cart] @ np.linalg.inv(block) @ L[cart, :])


def best_set(K: np.ndarray, candidates: list[int], k: int) -> tuple[int, ...]:
    """The k candidates with the largest determinant of all sets."""
    return max(itertools.combinations(candidates, k), key=lambda rows: np.linalg.det(K[np.ix_(rows, rows)]))
