"""What a reader returns, and how readers are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from skglex.ensemble._leaves import LeafEnsemble
from skglex.ensemble.readers._refused import WAYS_OUT

# By the module of a model's class (or of one it derives from), or by a package that it is in: nothing is imported
# before it is needed.
_READERS = {
    "xgboost": "skglex.ensemble.readers._xgboost",
    "lightgbm": "skglex.ensemble.readers._lightgbm",
    "catboost": "skglex.ensemble.readers._catboost",
    "treelite": "skglex.ensemble.readers._treelite_model",
    "skglex": "skglex.ensemble.readers._planted_forest",
    "sklearn.tree": "skglex.ensemble.readers._sklearn",
    "sklearn.ensemble._forest": "skglex.ensemble.readers._sklearn",
    "sklearn.ensemble._gb": "skglex.ensemble.readers._sklearn",
    "sklearn.ensemble._iforest": "skglex.ensemble.readers._sklearn",
    "sklearn.ensemble._hist_gradient_boosting": "skglex.ensemble.readers._hist_boosting",
    "sklearn.ensemble._bagging": "skglex.ensemble.readers._sklearn_sums",
    "sklearn.ensemble._voting": "skglex.ensemble.readers._sklearn_sums",
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
# LightGBM counts values up to this size as zero.
LARGEST_ZERO = float(np.float32(1e-35))


class _PlainState:
    """Saved with partial functions and sets as tuples: skops would have users trust all of their types."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: _to_plain(value) for name, value in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: _from_plain(value) for name, value in state.items()})


def _to_plain(value: Any) -> Any:
    if isinstance(value, partial):
        return "partial", value.func, list(value.args), value.keywords
    if isinstance(value, frozenset):
        return "frozenset", sorted(value)
    return {key: _to_plain(v) for key, v in value.items()} if isinstance(value, dict) else value


def _from_plain(value: Any) -> Any:
    match value:
        case ("partial", function, args, keywords):
            return partial(function, *args, **keywords)
        case ("frozenset", members):
            return frozenset(members)
    return {key: _from_plain(v) for key, v in value.items()} if isinstance(value, dict) else value


@dataclass(frozen=True)
class InputSpec(_PlainState):
    """How a model takes its input.

    Attributes
    ----------
    n_features : int
    feature_names : list of str, or None
        The columns that the model was trained on, where it knows them.
    categories : mapping of int to ndarray
        Category values by code, for the features whose data-frame categories the model maps to codes itself.
    frame_categories : list of ndarray, or None
        The same for a model that knows their order among the categorical columns of a data frame, not the columns.
    unknown_is_missing : bool
        Whether a category that is not among ``categories`` counts as missing (else it is refused).
    encoders : mapping of int to callable
        From a column of raw categories (of an array or of a data frame) to codes, -1 for a category that is in no
        split, for the features whose categories the model encodes itself without keeping them.
    missing : float
        The value that counts as missing, besides NaN.
    sparse_is_missing : bool, or None
        Whether entries that a sparse matrix does not store are missing (else 0); None: sparse matrices are refused.
    by_value : bool
        Whether categories count by their value in every container: a data frame's that the model does not keep
        are numbers then (else codes), and arrays hold values of those that it keeps (else their codes).
    finite : {False, "allow-nan", True}
        Whether the model refuses infinite values (``"allow-nan"``), or missing ones too (True).
    missing_zeros : frozenset of int
        Features whose zeros are missing, values up to ``LARGEST_ZERO`` in size among them.
    truncates_codes : bool
        Whether a category's code is cut off towards zero, so that -0.5 is 0 (else negative values are no category).
    integers_as_float32 : bool
        Whether arrays of other numbers than float64 and float32 are cast to float32.
    spaces_become : str
        What the model writes for a space in the names of data-frame columns.
    """

    n_features: int
    feature_names: list[str] | None = None
    categories: Mapping[int, NDArray[Any]] = field(default_factory=dict)
    frame_categories: list[NDArray[Any]] | None = None
    unknown_is_missing: bool = False
    encoders: Mapping[int, Callable[[Any], NDArray[np.float64]]] = field(default_factory=dict)
    missing: float = np.nan
    sparse_is_missing: bool | None = False
    by_value: bool = False
    finite: bool | Literal["allow-nan"] = False
    missing_zeros: frozenset[int] = frozenset()
    truncates_codes: bool = False
    integers_as_float32: bool = False
    spaces_become: str = " "


@dataclass(frozen=True)
class Isolation:
    """How an isolation forest scores a mean path length m: ``-2 ** (-m / path_length)``.

    Attributes
    ----------
    path_length : float
        Expected path length; 0 where every row scores -1/2 (trees of a single training row).
    offset : float
        Rows that score less are outliers.
    """

    path_length: float
    offset: float

    def score(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """The opposite of the anomaly score: the lower, the more abnormal."""
        return -np.exp2(-margin / self.path_length) if self.path_length else np.full_like(margin, -0.5)


@dataclass(frozen=True)
class ReadModel(_PlainState):
    """A model read into leaves.

    Attributes
    ----------
    ensemble : LeafEnsemble
    input : InputSpec
    margin : callable
        The model's own raw prediction of given rows, of shape (n_samples,) or (n_samples, n_outputs).
    output : callable
        The model's own output: probabilities of a classifier that has them, else its prediction.
    link : str
        Name of the inverse link from margin to output, a key of `skglex._links.inverse_link`.
    classes : ndarray, or None
        Labels, where the model is a classifier that has them.
    isolation : Isolation, or None
        Of an isolation forest, whose margin is the mean path length: how it scores that.
    """

    ensemble: LeafEnsemble
    input: InputSpec
    margin: Callable[[Any], NDArray[Any]]
    output: Callable[[Any], NDArray[Any]]
    link: str = "identity"
    classes: NDArray[Any] | None = None
    isolation: Isolation | None = None


def takes_any_labels(model: Any) -> bool:
    """Whether a classifier encodes the labels that it is fitted on itself."""
    return not any(klass.__module__.partition(".")[0] in _CODED_LABELS for klass in type(model).__mro__)


def averages_probabilities(model: Any) -> bool:
    """Whether a model is a classifier of scikit-learn's whose margin is a probability."""
    return is_classifier(model) and any(
        klass.__module__.startswith(_AVERAGES) for klass in type(model).__mro__
    )


def find_reader(model: Any) -> Callable[[Any], ReadModel] | None:
    """The reader for a model, found by the module path of its class; None if there is none.

    A model that is known to be no sum of trees raises a TypeError that says what to pass instead.
    """
    for klass in type(model).__mro__:
        path = klass.__module__.split(".")
        for depth in range(len(path), 0, -1):
            prefix = ".".join(path[:depth])
            if prefix in WAYS_OUT:
                raise TypeError(f"cannot decompose a {type(model).__name__}: {WAYS_OUT[prefix]}")
            if prefix in _READERS:
                read: Callable[[Any], ReadModel] = import_module(_READERS[prefix]).read
                return read
    return None
