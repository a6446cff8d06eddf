"""Predictions of a model without some features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skglex._base import BaseTreeModelEstimator
from skglex._dask import per_partition
from skglex._input import as_numpy, bin_chunks, bin_rows, fill_columns, is_frame, take_rows
from skglex._leaves import LeafSum
from skglex._prefit import tree_model
from skglex._readers import is_probability_average
from skglex._response import Response

# Background rows on which the model's own output is compared with what its link makes of the margin.
_OUTPUT_ROWS = 100
# What may be infinite in float32.
_LARGE = 1e38


def _classifies(remover: DebiasedPredictor) -> bool:
    return bool(is_classifier(remover))


def _has_decision(remover: DebiasedPredictor) -> bool:
    # scikit-learn allows none to regressors; where there is no link, predict is the margin anyhow. A classifier's
    # says the class by its sign, which a probability does not
    if get_tags(remover).estimator_type == "regressor":
        model = getattr(remover, "_model", None)
        return model is not None and model.response.link != "identity"
    return not (is_classifier(remover) and is_probability_average(tree_model(remover.estimator)))


def _scores_samples(remover: DebiasedPredictor) -> bool:
    model = getattr(remover, "_model", None)
    if model is None:
        return hasattr(remover.estimator, "score_samples")
    return model.response.isolation is not None


def _has_score(remover: DebiasedPredictor) -> bool:
    return get_tags(remover).estimator_type in ("classifier", "regressor")


class DebiasedPredictor(BaseTreeModelEstimator):
    """Base of a remover. Its ``fit`` sets the debiased and the full sum of leaves, and the raw columns removed."""

    strength: float
    classes_: NDArray[Any]
    _debiased: LeafSum
    _full: LeafSum
    _raw_removed: list[int]

    @available_if(_has_decision)
    @per_partition
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The debiased margin, as `margin`; a regressor has it where its margin is not its prediction.

        Of two classes minus the margin at which they are equal (one half, where it is a probability as in a planted
        forest). Not of scikit-learn's trees and forests, which have none.
        Of an isolation forest: `score_samples` minus the model's offset, negative for outliers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The sign says the class, or who is an outlier.
        """
        check_is_fitted(self)
        return self._response.decision(self._margin(self._check_X(X)))

    @available_if(_scores_samples)
    @per_partition
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The scores of an isolation forest from the debiased mean path length; the lower, the more abnormal.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            From -1 to 0.
        """
        check_is_fitted(self)
        return self._response.scores(self._margin(self._check_X(X)))

    @per_partition
    def margin(self, X: Any) -> NDArray[np.float64]:
        """The debiased margin (raw score).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            With ``strength=1`` a data frame may lack the removed columns.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            On the margin scale (log-odds, one score per class, mean path length, ...).
        """
        margin = self._margin(self._check_X(X))
        return margin[:, 0] if margin.shape[1] == 1 else margin

    @per_partition
    def predict(self, X: Any) -> NDArray[Any]:
        """The debiased prediction: labels of a classifier, else what the model itself would return.

        Of an isolation forest: 1, or -1 for outliers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            With ``strength=1`` a data frame may lack the removed columns.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            On the scale of the model's own ``predict``.
        """
        check_is_fitted(self)
        if self._model.response.isolation is not None:
            return self._response.outliers(self._margin(self._check_X(X)))
        return self._response.predict(self._output(X))

    @available_if(_classifies)
    @per_partition
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The debiased probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        return self._response.probabilities(self._output(X))

    @available_if(_classifies)
    @per_partition
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @available_if(_has_score)
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R² of a regressor.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            True labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            As scikit-learn's ``accuracy_score`` or ``r2_score``.
        """
        metric = accuracy_score if is_classifier(self) else r2_score
        # numbers, even of a Dask collection
        return float(metric(np.asarray(y), np.asarray(self.predict(X)), sample_weight=sample_weight))

    # -- helpers ------------------------------------------------------------------------------

    @property
    def _response(self) -> Response:
        """Return what the margin means, with the labels that `fit` was given."""
        return replace(self._model.response, classes=self.classes_ if is_classifier(self) else None)

    def _margin(self, Xt: Any) -> NDArray[np.float64]:
        grid = self._model.ensemble.grid
        out = np.empty((self._debiased.n_outputs, Xt.shape[0]))
        for start, stop in bin_chunks(Xt, grid):
            bins = bin_rows(Xt, self._model.input, grid, start, stop, self._execution)
            part = self._debiased(bins, self._execution)
            if self.strength < 1:
                full = self._full(bins, self._execution)
                part = full - self.strength * (full - part)
            out[:, start:stop] = part
        return out.T

    def _output(self, X: Any) -> NDArray[np.float64]:
        """What the model itself returns (probabilities, counts, ...), debiased."""
        Xt = self._check_X(X)
        if self.strength == 0:
            return self._own_output(Xt).astype(np.float64)
        return self._response.output(self._margin(Xt))

    def _own_output(self, Xt: Any) -> NDArray[Any]:
        own = np.asarray(self._model.output(Xt))
        own = own.reshape(len(own), -1)
        # a binary classifier says both probabilities
        return own[:, 1:] if self._response.binary and own.shape[1] == 2 else own

    def _prove_output(self, Xt: Any) -> None:
        """Raise where the model's own output is not what the link makes of its margin, on background rows."""
        response = self._response
        if response.link == "custom" or response.isolation is not None:
            return  # there is no output, or scores of the margin by definition
        rows = self._background_rows[:_OUTPUT_ROWS]
        own = self._own_output(take_rows(Xt, rows))
        with np.errstate(over="ignore"):
            ours = response.output(self._own_margin(Xt, rows))
        ours = np.where(np.isinf(own) & (ours > _LARGE), own, ours)  # the model's own is a float32
        scale = np.abs(own).max(initial=0, where=np.isfinite(own))
        close = np.isclose(ours, own, rtol=1e-4, atol=1e-5 * scale, equal_nan=True).all(axis=1)
        if not close.all():
            row, model = int(np.argmin(close)), tree_model(self.estimator_)
            raise ValueError(
                f"the {type(model).__name__} predicts something else than its margin says: {own[row]} on row "
                f"{rows[row]}, where the margin gives {ours[row]} (by the inverse link {response.link!r}). If its "
                "class changes what another one predicts, pass a model of that class"
            )

    def _check_X(self, X: Any) -> Any:
        check_is_fitted(self)
        own = "strength"  # which may be set after fit
        constraint = {own: self._parameter_constraints[own]}
        validate_parameter_constraints(constraint, {own: self.strength}, type(self).__name__)
        names = getattr(self, "feature_names_in_", None)
        if self.strength == 1:
            # the preprocessing or the model may refuse some of them
            numbers = self._preprocess is not None or bool(self._model.input.finite)
            # one row of the background stands in for removed columns that are absent or hold anything at all
            X = fill_columns(as_numpy(X), self._raw_removed, self._row, names, numbers=numbers)
        elif is_frame(X) and names is not None:
            given = {str(name) for name in X.columns}
            if absent := [str(names[i]) for i in self._raw_removed if str(names[i]) not in given]:
                raise ValueError(
                    "The feature names should match those that were passed during fit: X lacks "
                    f"{absent}, needed with strength={self.strength}. With strength=1 removed columns may be absent"
                )
        return self._checked(X)
