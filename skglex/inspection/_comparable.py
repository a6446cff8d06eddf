"""Check that two decomposers can be compared, and decompose a model over the background of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposer import GlexDecomposer
from skglex._decomposition import Explained, explained
from skglex._input import as_numpy, take_rows
from skglex._leaves import Background, BackgroundLike, Grid


def check_comparable(first: Explained, other: Explained, names: tuple[str, str]) -> None:
    """Raise unless two decomposers explain the same features on the same scale, with the same weighting.

    Parameters
    ----------
    first, other : Explained
    names : tuple of two str
        What errors call the two.
    """
    one, two = (view.groups.names for view in (first, other))
    if sorted(one) != sorted(two):
        different = sorted(set(one) ^ set(two))[:10]
        raise ValueError(
            f"{names[0]} and {names[1]} explain different features: only one of them has {different}. Compare models "
            "of the same features and feature_groups"
        )
    scales = [_describe_scale(view) for view in (first, other)]
    if scales[0] != scales[1]:
        raise ValueError(
            f"{names[0]} and {names[1]} have no common scale: the margin of the first is {scales[0]}, that of the "
            f"second is {scales[1]}. Compare models with the same kind of margin"
        )
    weightings = [view.estimator.weighting for view in (first, other)]
    if weightings[0] != weightings[1]:
        raise ValueError(
            f"{names[0]} and {names[1]} have different weightings: {weightings[0]!r} and {weightings[1]!r}. Fit both "
            "decomposers with the same weighting"
        )


def _describe_scale(view: Explained) -> str:
    """Return what kind of number the margin is."""
    response = view.source.response
    if response.isolation is not None:
        return "the path length of an isolation forest"
    kind = "a regressor" if response.classes is None else "a classifier"
    outputs = (
        "" if view.output_labels is None else f" with the outputs {[str(o) for o in view.output_labels]}"
    )
    positive = "" if not response.binary else f" of the class {getattr(view.estimator, 'classes_', [1])[-1]}"
    return f"that of {kind} with the inverse link {response.link!r}{outputs}{positive}"


def decompose(model: Any, X: Any, sample_weight: Any, like: Any = None, **params: Any) -> GlexDecomposer:
    """Decompose a fitted model over the background X, with the parameters of another decomposer."""
    if like is not None:
        params = {**like.get_params(deep=False), **params}
    fixed = {"estimator": model, "prefit": True, "n_background": None}
    made: GlexDecomposer = GlexDecomposer(**{**params, **fixed}).fit(X, sample_weight=sample_weight)
    return made


def on_same_background(decomposer: Any, model: Any, X: Any) -> Any:
    """Return a decomposer of a model over the background of another decomposer.

    Parameters
    ----------
    decomposer : GlexDecomposer
    model : GlexDecomposer or fitted model
        A decomposer is returned as it is if its background is the same.
    X : array-like, sparse matrix or data frame
        Rows that may contain the background of ``decomposer``, at the positions ``background_.rows``.
    """
    view = explained(decomposer)
    if hasattr(type(model), "strongest_components"):
        other = explained(model)
        check_comparable(view, other, ("decomposer", "model_new"))
        if view.estimator.weighting == "empirical" and not have_same_rows(view, other):
            raise ValueError(
                "the backgrounds of decomposer and model_new differ, so that differences of their components mix the "
                "models with the backgrounds. Fit both on the same rows"
            )
        return model
    sample = view.estimator.background_
    X = None if X is None else as_numpy(X)
    rows = np.asarray(sample.rows)
    found = X is not None and len(rows) and np.shape(X)[0] > rows.max()
    if found and not isinstance(view.background, Background):
        found = False
    if found:
        part = take_rows(X, rows)
        bins = view.fitted.bins(view.check(part), view.execution)
        found = np.array_equal(bins, view.background.in_memory().bins)
    if not found:
        raise ValueError(
            "model_new must be decomposed over the background of decomposer, whose rows are not those of X_old. Pass "
            "GlexDecomposer(model_new).fit(background), with the rows that decomposer was fitted on"
        )
    made = decompose(model, part, sample.weights, like=decomposer)
    check_comparable(view, explained(made), ("decomposer", "model_new"))
    return made


def have_same_rows(first: Explained, other: Explained) -> bool:
    """Return whether two backgrounds can be the same rows, as far as the bins of both models tell."""
    return same_rows(first, first.background, other, other.background)


def same_rows(first: Explained, rows: BackgroundLike, other: Explained, other_rows: BackgroundLike) -> bool:
    """Return whether rows binned for one model can be the rows binned for another.

    The bins of a feature must overlap in every row, and weights must be proportional. Rows in Dask partitions are not
    compared.
    """
    if rows.n_rows != other_rows.n_rows:
        return False
    if not (isinstance(rows, Background) and isinstance(other_rows, Background)):
        return True
    if not np.allclose(rows.weight / rows.total, other_rows.weight / other_rows.total, rtol=1e-9, atol=0):
        return False
    for i, feature in enumerate(first.grid.features):
        name = first.feature_names[int(feature)]
        if name not in other.feature_names:
            continue
        j = np.flatnonzero(other.grid.features == other.feature_names.index(name))
        if not len(j) or first.grid.categorical[i] or other.grid.categorical[j[0]]:
            continue
        low, high, missing = _limits(first.grid, i, rows.bins[i])
        other_low, other_high, other_missing = _limits(other.grid, int(j[0]), other_rows.bins[j[0]])
        overlap = (low < other_high) & (other_low < high)
        if not np.where(missing | other_missing, missing == other_missing, overlap).all():
            return False
    return True


def _limits(
    grid: Grid, used_feature: int, bins: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return where the bins of rows begin and end, and which are the bin of missing values."""
    borders = np.concatenate([[-np.inf], grid.edges(used_feature), [np.inf, np.inf]])
    missing = bins == grid.n_bins[used_feature] - 1
    position = np.where(missing, 0, bins).astype(np.int64)
    return borders[position], borders[position + 1], missing
