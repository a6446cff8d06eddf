"""Draw the cases of the fuzzer: a model, a background, rows, and the values expected there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skglex._leaves._additivity import rounding_of
from tests.support import tree_walks
from tests.support.hand_built import (
    HandBuilt,
    cuts_of,
    hand_built,
    rows_at,
    scale_of,
    to_treelite,
    to_xgboost,
)
from tests.support.oracles import brute_force_game, path_dependent_game, to_float32
from tests.support.trained import trained


@dataclass
class Case:
    """Hold a model, a background, rows, and the expected values.

    ``game`` maps rows to the margins of all sets of features (None without an oracle); ``error`` bounds the rounding
    of the model's own margin against a sum in float64 (None until `complete`). ``codes`` are features of categories.
    """

    model: Any
    background: Any
    rows: Any
    weight: Any
    weighting: str
    rng: Any
    margin: Any = None
    game: Any = None
    error: float | None = None
    hand_built: HandBuilt | None = None
    codes: set[int] = field(default_factory=set)


def hand_built_case(seed, *, kind, d, n_trees, max_depth, n_outputs, chain, weighting, n_rows, n_background):
    rng = np.random.default_rng(seed)
    n_outputs = n_outputs if kind == "nodes" else 1
    depth = int(rng.integers(61, 75)) if chain else max_depth
    model = hand_built(
        rng, d=d, n_trees=n_trees, max_depth=depth, n_outputs=n_outputs, chain=chain, kind=kind
    )
    nodes = model.nodes
    codes = {int(nodes.feature[node]) for node in nodes.categories}
    rows = rows_at(rng, cuts_of(model), n_rows, d, codes=codes)
    background = rows_at(rng, cuts_of(model), n_background, d, codes=codes)
    weight = rng.integers(1, 4, n_background) if rng.random() < 0.5 else None
    scale = scale_of(model)
    case = Case(
        model={"nodes": lambda m: m, "xgboost": to_xgboost, "treelite": to_treelite}[kind](model),
        background=background,
        rows=rows,
        weight=weight,
        weighting=weighting,
        rng=rng,
        margin=model.margin,
        game=model.game,
        # A few hundred float64 numbers are summed with signs: allow twice their number of roundings.
        error=1e-13 * scale * 2**d,
        hand_built=model,
    )
    if weighting == "empirical":
        case.game = lambda X: brute_force_game(model.margin, X, background, weight)
    return case


def trained_case(seed, library, d, weighting):
    rng = np.random.default_rng(seed)
    model, X, codes = trained(rng, library, d)
    weighting = "empirical" if library == "planted" else weighting
    n = int(rng.choice([1, 2, 8]))
    background = X[rng.integers(0, len(X), n)]
    if library == "planted" or type(model).__name__ in ("IsolationForest", "GradientBoostingRegressor"):
        background = np.nan_to_num(background)
    return Case(
        model=model,
        background=background,
        rows=None,
        weight=rng.integers(1, 4, n) if rng.random() < 0.5 else None,
        weighting=weighting,
        rng=rng,
        codes=codes,
    )


def complete(case, decomposer):
    """Complete the case of a trained model once it is read: rows at its thresholds, its margin, the oracle."""
    read = decomposer._fitted.source
    grid, d = read.ensemble.grid, read.input.n_features
    cuts = {int(j): grid.cuts_of(s) for s, j in enumerate(grid.features)}
    case.rows = rows_at(
        case.rng,
        cuts,
        int(case.rng.choice([1, 2, 16])),
        d,
        finite=read.input.finite is not False,
        codes=case.codes,
    )
    if hasattr(case.model, "_predictors"):  # Histogram boosting takes finite categories only.
        for j in case.codes:
            case.rows[np.isinf(case.rows[:, j]), j] = np.nan

    def margin(X):
        return np.asarray(read.margin(X), dtype=float).reshape(len(X), -1)

    case.margin = margin
    case.error = float(rounding_of(read.ensemble).max()) * 2**d
    if case.weighting == "empirical":
        case.game = lambda X: brute_force_game(margin, X, case.background, case.weight)
    elif "xgboost" not in type(case.model).__module__:
        case.game = lambda X: tree_walks.game(case.model, X, margin(X))
    else:
        missing = np.float32(read.input.missing)
        case.game = lambda X: path_dependent_game(
            case.model, np.where(to_float32(X) == missing, np.nan, X), read.ensemble.base
        )
