"""What a reader returns, and how readers are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex.ensemble._leaves import LeafEnsemble

# By the top-level module of a model's class (or of one it derives from): nothing is imported before it is needed.
_READERS = {
    "xgboost": "skglex.ensemble.readers._xgboost",
    "lightgbm": "skglex.ensemble.readers._lightgbm",
    "skglex": "skglex.ensemble.readers._planted_forest",
}
# Classifiers of these modules refuse labels other than 0 .. K-1.
_CODED_LABELS = {"xgboost"}
# LightGBM counts values up to this size as zero.
LARGEST_ZERO = float(np.float32(1e-35))


@dataclass(frozen=True)
class InputSpec:
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
    missing : float
        The value that counts as missing, besides NaN.
    sparse_is_missing : bool
        Whether entries that a sparse matrix does not store are missing (else 0).
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
    missing: float = np.nan
    sparse_is_missing: bool = False
    missing_zeros: frozenset[int] = frozenset()
    truncates_codes: bool = False
    integers_as_float32: bool = False
    spaces_become: str = " "


@dataclass(frozen=True)
class ReadModel:
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
    """

    ensemble: LeafEnsemble
    input: InputSpec
    margin: Callable[[Any], NDArray[Any]]
    output: Callable[[Any], NDArray[Any]]
    link: str = "identity"
    classes: NDArray[Any] | None = None


def takes_any_labels(model: Any) -> bool:
    """Whether a classifier encodes the labels that it is fitted on itself."""
    return not any(klass.__module__.partition(".")[0] in _CODED_LABELS for klass in type(model).__mro__)


def find_reader(model: Any) -> Callable[[Any], ReadModel] | None:
    """The reader for a model, found by the module path of its class; None if there is none."""
    for klass in type(model).__mro__:
        module = _READERS.get(klass.__module__.partition(".")[0])
        if module is not None:
            read: Callable[[Any], ReadModel] = import_module(module).read
            return read
    return None
