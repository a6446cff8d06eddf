"""Read scikit-survival's trees, forests and gradient boosting.

The reader needs scikit-learn only, since scikit-survival keeps the trees of scikit-learn.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skglex._readers._sklearn import join_trees, predict, read_trees
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._response import Response

# For each survival output: its position among the values of a node, and the method that predicts it.
_CURVES = {
    "cumulative_hazard": (0, "predict_cumulative_hazard_function"),
    "survival": (1, "predict_survival_function"),
}

READS = (
    ModelKind(
        "scikit-survival",
        (
            "sksurv.ensemble.RandomSurvivalForest",
            "sksurv.ensemble.ExtraSurvivalTrees",
            "sksurv.tree.SurvivalTree",
            "sksurv.tree.ExtraSurvivalTree",
        ),
        "risk score, or with ``survival_output`` the cumulative hazard or survival function, one output per time",
        "weighted rows",
        "NaN, if the model accepts it",
        "with ``low_memory=True``: curves",
    ),
    ModelKind(
        "scikit-survival",
        ("sksurv.ensemble.GradientBoostingSurvivalAnalysis",),
        "logarithm of the hazard ratio (``coxph``) or of the time; curves are responses",
        "weighted rows",
        "none",
    ),
)


def read(model: Any, survival_output: str = "risk", times: Any = None) -> SourceModel:
    """Read a fitted tree, forest or gradient boosting.

    Parameters
    ----------
    model : estimator
    survival_output : {"risk", "cumulative_hazard", "survival"}
        What the margin of trees and forests is. For boosting, it is what the response is.
    times : array-like of shape (n_times,), optional
        Times of the curves, one output each. None: the times of the training data.
    """
    check_is_fitted(model)
    if times is not None and survival_output == "risk":
        raise ValueError(
            "times was passed, but survival_output='risk' is one number per row. Set survival_output to "
            "'cumulative_hazard' or 'survival', or leave times out"
        )
    if hasattr(model, "learning_rate"):
        return _read_boosting(model, survival_output, times)
    return _read_forest(model, survival_output, times)


def _read_forest(model: Any, survival_output: str, times: Any) -> SourceModel:
    """Read a mean over trees of a risk score, or of a curve at some times."""
    members = getattr(model, "estimators_", [model])
    if survival_output == "risk":
        values = [_risk(member) for member in members]
        margin, labels = partial(predict, model), None
    else:
        if members[0].low_memory:
            raise ValueError(
                f"survival_output={survival_output!r} needs the curves in the leaves, but this {type(model).__name__} "
                "was trained with low_memory=True and has only the risk score. Train it with low_memory=False, or use "
                "survival_output='risk'"
            )
        at = _positions(model.unique_times_, times)
        place, method = _CURVES[survival_output]
        values = [member.tree_.value[:, at, place] for member in members]
        margin, labels = partial(_curve, model, method, at), _labels(model.unique_times_, times)
    n_outputs = values[0].shape[1]
    return _with_outputs(
        model,
        read_trees(
            model,
            join_trees(
                [member.tree_ for member in members],
                [value / len(members) for value in values],
                base=np.zeros(n_outputs),
            ),
            margin=margin,
            output=margin,
            response=Response(n_outputs=n_outputs, output_labels=labels if n_outputs > 1 else None),
        ),
    )


def _risk(tree: Any) -> NDArray[np.float64]:
    """Return the risk score of every node: the sum of its cumulative hazard over the event times."""
    hazard = tree.tree_.value[:, :, 0]
    return np.asarray(
        hazard if tree.low_memory else hazard[:, tree.is_event_time_].sum(axis=1, keepdims=True)
    )


def _read_boosting(model: Any, survival_output: str, times: Any) -> SourceModel:
    """Read a sum of trees: the logarithm of the hazard ratio, or of a time."""
    trees = [tree.tree_ for tree in model.estimators_.ravel()]
    scale = model.learning_rate * np.asarray(getattr(model, "_scale", np.ones(len(trees))))
    base = np.ravel(model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32)))
    output, response = (
        partial(predict, model),
        Response("identity" if model.loss == "coxph" else "exponential"),
    )
    if survival_output != "risk":
        if model.loss != "coxph":
            raise ValueError(
                f"survival_output={survival_output!r} needs a baseline hazard, which a {type(model).__name__} has only "
                f"with loss='coxph'; this one has loss={model.loss!r}. Use survival_output='risk'"
            )
        baseline = model._get_baseline_model().cum_baseline_hazard_
        at = _positions(baseline.x, times)
        output = partial(_curve, model, _CURVES[survival_output][1], at)
        inverse = partial(_proportional, baseline.y[at], survival_output)
        response = Response("function", inverse=inverse, output_labels=_labels(baseline.x, times))
    return _with_outputs(
        model,
        read_trees(
            model,
            join_trees(trees, [s * tree.value[:, 0] for s, tree in zip(scale, trees)], base=base),
            margin=partial(_raw_prediction, model),
            output=output,
            response=response,
        ),
    )


def _with_outputs(model: Any, source: SourceModel) -> SourceModel:
    """Add the function that reads the model with another output."""
    return replace(source, with_survival=partial(read, model))


def _positions(known: NDArray[np.float64], times: Any) -> NDArray[np.int64]:
    """Return the position of the last known time up to each of ``times``, as scikit-survival's step functions do."""
    if times is None:
        return np.arange(len(known))
    times = np.asarray(times, dtype=np.float64)
    increasing = times.ndim == 1 and len(times) > 0 and bool((np.diff(times) > 0).all())
    if not (increasing and times[0] >= 0 and times[-1] <= known[-1]):
        raise ValueError(
            f"times must be increasing numbers from 0 to {known[-1]:g}, the last time of the training data; got "
            f"{times.tolist() if times.size < 20 else times}"
        )
    return np.asarray(np.maximum(np.searchsorted(known, times, side="right") - 1, 0))


def _labels(known: NDArray[np.float64], times: Any) -> list[float]:
    return [float(time) for time in (known if times is None else times)]


def _curve(model: Any, method: str, at: NDArray[np.int64], X: Any) -> NDArray[np.float64]:
    """Return a predicted curve at some of the known times: shape (n_samples, n_times)."""
    return np.asarray(getattr(model, method)(X, return_array=True)[:, at])


def _proportional(
    baseline: NDArray[np.float64], survival_output: str, margin: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the cumulative hazard of proportional hazards, or the survival function: shape (n_samples, n_times)."""
    hazard = np.exp(margin[:, :1]) * baseline
    return np.exp(-hazard) if survival_output == "survival" else hazard


def _raw_prediction(model: Any, X: Any) -> NDArray[np.float64]:
    rows = X if hasattr(X, "tocsr") else np.asarray(X)
    return np.asarray(model._raw_predict(rows.astype(np.float32, order="C")))
