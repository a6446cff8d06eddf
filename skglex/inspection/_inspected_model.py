"""Read the model that a user inspects: of a fitted decomposer, or by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight

from skglex._decomposition import explained
from skglex._fitted_model import FittedModel, read_model, takes_objects
from skglex._input import as_numpy, check_rows, frame_names, is_frame, is_text, raw_column
from skglex._leaves import Background, LeafSum
from skglex._mixed_rows import Link
from skglex._prefit import resolve_estimator, tree_model
from skglex._readers import require_reader
from skglex._response import Response, split_link
from skglex._utils import Execution

_MARGINS: WeakKeyDictionary[Any, tuple[bytes, NDArray[np.float64]]] = WeakKeyDictionary()
# Links of models that add up probabilities.
_OWN_PROBABILITIES = {"identity", "identity_multiclass", "probability", "clip"}
# A model is read as a decomposer reads it by default.
_HOW: dict[str, Any] = {"missing": np.nan, "survival": ("risk", None), "path_dependent": False}


@dataclass(frozen=True)
class InspectedModel:
    """Hold a model that was read, and the rows on which it is inspected.

    Attributes
    ----------
    estimator : object
        The fitted estimator.
    fitted : FittedModel
        Its leaves and its input.
    X : array, sparse matrix or data frame
        The rows as the user passed them.
    rows : Background
        The rows in bins, with their weights.
    bin : callable
        Returns the bins of other rows of the same form as X.
    execution : Execution
    classes : list, or None
        The labels of a classifier.
    decomposition : Decomposition, or None
        That of a decomposer.
    """

    estimator: Any
    fitted: FittedModel
    X: Any
    rows: Background
    bin: Callable[[Any], NDArray[Any]]
    execution: Execution
    classes: list[Any] | None
    decomposition: Any = None

    @cached_property
    def margin(self) -> NDArray[np.float64]:
        """Return the margin of the rows: shape (n_outputs, n_rows).

        That of the last rows is kept for each decomposer, since curves of one feature after the other are common.
        """
        bins = np.ascontiguousarray(self.rows.bins)
        if self.decomposition is None:
            return LeafSum(self.fitted.source.ensemble)(bins, self.execution)
        key = blake2b(bins.data, digest_size=16).digest()
        kept = _MARGINS.get(self.decomposition)
        if kept is None or kept[0] != key:
            kept = key, self.decomposition.margins(bins, self.execution)
            _MARGINS[self.decomposition] = kept
        return kept[1]

    @property
    def names(self) -> list[str]:
        """Return the names of the columns of X: x0, x1, ... for an array."""
        return frame_names(self.X) if is_frame(self.X) else [f"x{i}" for i in range(self.X.shape[1])]

    def known_categories(self, positions: Sequence[int], kind: str) -> list[bool]:
        """Return which columns are categorical if the user does not say so.

        These are columns of texts and categories. Codes that the model splits as categories count too, where
        scikit-learn's display can draw them: not for curves of rows, and not in a pair with a number.
        """
        texts = [is_text(raw_column(self.X, position)) for position in positions]
        if kind != "average" or self.fitted.preprocess is not None:
            return texts
        grid = self.fitted.grid
        codes = set(grid.features[grid.categorical].tolist())
        either = [text or position in codes for text, position in zip(texts, positions)]
        return either if all(either) else texts

    @property
    def response(self) -> Response:
        """Return what the margin means."""
        return self.fitted.source.response

    def link(self, response_method: str) -> Link:
        """Return the function from margins to what scikit-learn inspects: one column for two classes."""
        response = self.response
        if response.isolation is not None:
            raise ValueError(
                "'estimator' must be a fitted regressor or classifier; got an isolation forest. The mean path lengths "
                "that it sums are what GlexDecomposer(forest).fit(X).partial_dependence returns"
            )
        if response.targets:
            raise ValueError("Multiclass-multioutput estimators are not supported. Use GlexDecomposer")
        if not response.is_classifier:
            if response_method != "auto":
                raise ValueError(
                    "The response_method parameter is ignored for regressors and must be 'auto'; got "
                    f"{response_method!r}"
                )
            return response.output
        if response_method == "decision_function" and response.without_margin is not None:
            raise ValueError(f"{response.without_margin}; use response_method='predict_proba'")
        if response_method == "decision_function":
            on_link = split_link(response.link)[0] not in _OWN_PROBABILITIES
            if not on_link and not hasattr(self.estimator, "decision_function"):
                raise ValueError(
                    f"the {type(self.fitted.model).__name__} has no decision_function: its trees add up to a "
                    "probability, not to log-odds. Use response_method='predict_proba'"
                )
            return partial(_decision, response)
        return partial(_probabilities, response)


def inspect(estimator: Any, X: Any, sample_weight: Any, execution: Execution | None = None) -> InspectedModel:
    """Read a model, unless it is that of a fitted decomposer, and bin the rows."""
    if not (hasattr(X, "shape") or is_frame(X) or hasattr(X, "__array__")):
        X = check_array(X, ensure_all_finite="allow-nan", dtype=object)
    X = as_numpy(X)
    if hasattr(type(estimator), "strongest_components"):
        view = explained(estimator)
        fitted, execution = view.fitted, execution or view.execution
        classes, estimator = getattr(estimator, "classes_", None), estimator.estimator_
        check, decomposition = view.check, view.decomposition
    else:
        read = require_reader(tree_model(estimator))
        estimator, _ = resolve_estimator(estimator, True, X, None, None, {}, owner=None)
        execution = execution or Execution()
        checked = (
            check_rows(X, partial(takes_objects, estimator)) if tree_model(estimator) is estimator else X
        )
        fitted, _ = read_model(read, estimator, checked, **_HOW)
        check, classes, decomposition = partial(_check, fitted), fitted.source.response.classes, None

    def bin_rows(rows: Any) -> NDArray[Any]:
        return fitted.bins(check(rows), execution)

    Xt = check(X)
    weight = np.ones(Xt.shape[0])
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight is zero for every row. Pass at least one positive weight")
    rows = Background(fitted.bins(Xt, execution), weight)
    if fitted.background is None:
        fitted.check_additivity(Xt, rows, np.arange(Xt.shape[0]))
    labels = None if classes is None else list(classes)
    return InspectedModel(estimator, fitted, X, rows, bin_rows, execution, labels, decomposition)


def _check(fitted: FittedModel, X: Any) -> Any:
    """Check rows, and take them through the preprocessing."""
    if fitted.preprocess is None:
        X = check_rows(X, partial(takes_objects, fitted.model))
    Xt = fitted.to_model_space(X)
    fitted.check_columns(Xt)
    return Xt


def _probabilities(response: Response, margin: NDArray[np.float64]) -> NDArray[np.float64]:
    output = response.output(margin)
    if response.binary and len(response.classes) == 2:
        return output
    probabilities: NDArray[np.float64] = response.probabilities(output)
    return probabilities[:, 1:] if probabilities.shape[1] == 2 and not response.multilabel else probabilities


def _decision(response: Response, margin: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.reshape(response.decision(margin), (len(margin), -1))
