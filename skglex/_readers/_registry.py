"""What a reader returns, and how readers are found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from numpy.typing import NDArray
from sklearn.base import is_classifier

from skglex._input import InputSpec
from skglex._leaves import LeafEnsemble
from skglex._readers._unsupported import UNSUPPORTED
from skglex._response import Response
from skglex._utils import PlainState

# By the module of a model's class (or of one it derives from), or by a package that it is in: nothing is imported
# before it is needed.
_READERS = {
    "xgboost": "skglex._readers._xgboost",
    "lightgbm": "skglex._readers._lightgbm",
    "catboost": "skglex._readers._catboost",
    "treelite": "skglex._readers._treelite_model",
    "skglex._planted": "skglex._readers._planted_forest",
    "sklearn.tree": "skglex._readers._sklearn",
    "sklearn.ensemble._forest": "skglex._readers._sklearn",
    "sklearn.ensemble._gb": "skglex._readers._sklearn",
    "sklearn.ensemble._iforest": "skglex._readers._sklearn",
    "sklearn.ensemble._hist_gradient_boosting": "skglex._readers._hist_boosting",
    "sklearn.ensemble._bagging": "skglex._readers._averages",
    "sklearn.ensemble._voting": "skglex._readers._averages",
}
# Classifiers of these modules refuse labels other than 0 .. K-1.
_CODED_LABELS = {"xgboost"}
# Classifiers of these modules average probabilities.
_AVERAGES = (
    "sklearn.tree",
    "sklearn.ensemble._forest",
    "sklearn.ensemble._bagging",
    "sklearn.ensemble._voting",
)


@dataclass(frozen=True)
class SourceModel(PlainState):
    """A model read into leaves.

    Attributes
    ----------
    ensemble : LeafEnsemble
    input : InputSpec
    margin : callable
        The model's own raw prediction of given rows, of shape (n_samples,) or (n_samples, n_outputs).
    output : callable
        The model's own output: probabilities of a classifier that has them, else its prediction.
    response : Response
        What the margin means: how it becomes the output, labels, scores.
    """

    ensemble: LeafEnsemble
    input: InputSpec
    margin: Callable[[Any], NDArray[Any]]
    output: Callable[[Any], NDArray[Any]]
    response: Response


def encodes_labels(model: Any) -> bool:
    """Whether a classifier encodes the labels that it is fitted on itself."""
    return not any(klass.__module__.partition(".")[0] in _CODED_LABELS for klass in type(model).__mro__)


def is_probability_average(model: Any) -> bool:
    """Whether a model is a classifier of scikit-learn's whose margin is a probability."""
    return is_classifier(model) and any(
        klass.__module__.startswith(_AVERAGES) for klass in type(model).__mro__
    )


def find_reader(model: Any) -> Callable[[Any], SourceModel] | None:
    """The reader for a model, found by the module path of its class; None if there is none.

    A model that is known to be no sum of trees raises a TypeError that says what to pass instead.
    """
    for klass in type(model).__mro__:
        path = klass.__module__.split(".")
        for depth in range(len(path), 0, -1):
            prefix = ".".join(path[:depth])
            if prefix in UNSUPPORTED:
                raise TypeError(f"cannot decompose a {type(model).__name__}: {UNSUPPORTED[prefix]}")
            if prefix in _READERS:
                read: Callable[[Any], SourceModel] = import_module(_READERS[prefix]).read
                return read
    return None


def require_reader(model: Any) -> Callable[[Any], SourceModel]:
    """The reader for a model; a TypeError where there is none."""
    reader = find_reader(model)
    if reader is None:
        raise TypeError(
            f"cannot read a {type(model).__name__} into leaves. Pass a tree ensemble: an XGBoost or LightGBM model or "
            "booster, a CatBoost model, a tree, forest or boosting model of scikit-learn (or a voting or bagging "
            "ensemble of these), a treelite model, or a random planted forest"
        )
    return reader


def trees_used_by_predict(model: Any) -> Any:
    """The trees that an XGBoost model's own ``predict`` counts, as a booster."""
    return import_module("skglex._readers._xgboost").trees_used_by_predict(model)


def register_treelite_pickling() -> None:
    """Have `copy`, `pickle` and so scikit-learn's `clone` take treelite's models, where there may be any."""
    if "treelite" in sys.modules:
        import_module("skglex._readers._treelite_model")
