"""Define the base classes of the meta-estimators: parameters, tags, metadata routing, saving, fitting, predicting."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Bunch, ClassifierTags, RegressorTags, check_array, check_random_state, get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from skglex._dask import lazy_on_dask, partitions_of
from skglex._fitted_model import FittedModel, check_names, read_model, takes_objects
from skglex._input import (
    RawMap,
    as_dense,
    as_numpy,
    check_rows,
    find_outputs_of_all,
    is_frame,
    take_rows,
)
from skglex._kernels import report_compilations
from skglex._leaves import BackgroundLike, NoBackground
from skglex._prefit import is_fitted, resolve_estimator, uses_prefit
from skglex._readers import (
    decides_by_margin,
    is_probability_average,
    register_treelite_pickling,
    require_reader,
    steps_of,
    tree_model,
)
from skglex._response import Response
from skglex._utils import Execution, VersionedState

# Larger numbers may be infinite in float32.
_LARGE = 1e38


class BaseTreeModelEstimator(VersionedState, MetaEstimatorMixin, BaseEstimator):
    """Wrap a tree model: use it as it is or fit it, read its leaves, and bin a background."""

    _fitted: FittedModel

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",  # `fit` validates it, and its error lists the supported models
        "weighting": [StrOptions({"empirical", "path_dependent"})],
        "feature_groups": [dict, StrOptions({"auto"}), None],
        "prefit": ["boolean", StrOptions({"auto"})],
        "missing": [Real],
        "survival_output": [StrOptions({"risk", "cumulative_hazard", "survival"})],
        "times": ["array-like", None],
        "n_background": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner, model = get_tags(self.estimator), tree_model(self.estimator)
            tags.input_tags.sparse = inner.input_tags.sparse
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
            tags.input_tags.categorical = tags.input_tags.string = takes_objects(model)
            tags.target_tags.required = inner.target_tags.required and not is_fitted(self.estimator)
            # Classifiers that average probabilities have different classes for each target, which is not supported.
            tags.target_tags.multi_output = inner.target_tags.multi_output and not is_probability_average(
                model
            )
        return tags

    def __sklearn_clone__(self) -> Any:
        register_treelite_pickling()
        return super().__sklearn_clone__()

    def __getstate__(self) -> dict[str, Any]:
        register_treelite_pickling()
        return super().__getstate__()

    def get_metadata_routing(self) -> MetadataRouter:
        """Route ``sample_weight`` to the background, and all metadata to the estimator.

        Returns
        -------
        MetadataRouter
            The routes; see scikit-learn's user guide on metadata routing.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.estimator, "get_metadata_routing"):
            router.add(
                estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
            )
        return router

    @property
    def _execution(self) -> Execution:
        """Return the execution options that every long-running call gets; report compilations if it is verbose."""
        report_compilations(self.verbose)
        return Execution(self.n_jobs, self.verbose)

    # -- fitting ------------------------------------------------------------------------------

    def _fit_model(
        self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any], *, check_additivity: bool
    ) -> tuple[Any, Any]:
        """Use the estimator as it is or fit it, read its leaves, and bin the background.

        Returns
        -------
        X, Xt : arrays, sparse matrices or data frames
            The checked rows, before and after the preprocessing.
        """
        execution = self._execution
        partitions = partitions_of(X, sample_weight)
        if partitions is not None:
            X, sample_weight = self._rows_of_partitions(partitions, y)
            y = None
        X, y, sample_weight = as_numpy(X), as_numpy(y), as_numpy(sample_weight)
        if len(steps_of(self.estimator)) == 1:
            X = check_rows(X, lambda: takes_objects(tree_model(self.estimator)))
        elif not hasattr(X, "shape"):
            X = np.asarray(X)
        check_names(self, X, reset=True)
        weight = None if sample_weight is None else _check_weight(sample_weight, X)
        read = require_reader(tree_model(self.estimator))
        self.estimator_, classes = resolve_estimator(
            self.estimator, self.prefit, X, y, weight, fit_params, owner=self
        )
        path_dependent = self.weighting == "path_dependent"
        fitted, Xt = self._read_model(read, X, path_dependent=path_dependent)
        classes = fitted.source.response.classes if classes is None else classes
        self.__dict__.pop("classes_", None)
        if classes is not None:
            self.classes_ = classes
        if partitions is None or self.n_background is not None:
            rows, background_weight = self._draw_background(Xt.shape[0], weight)
            part = Xt if len(rows) == Xt.shape[0] else take_rows(Xt, rows)
            sample, _ = fitted.bin_background(part, background_weight, execution)
            fitted.warn_of_missing_values(part)
            if check_additivity:
                fitted.check_additivity(Xt, sample, rows)
            positions = rows if partitions is None else partitions.chosen
            background: BackgroundLike = sample
            self.background_ = Bunch(rows=positions, weights=background_weight)
        else:
            rows = np.zeros(1, np.int64)
            background = fitted.partitioned_background(partitions, self, check_additivity=check_additivity)
            self.background_ = Bunch(rows=range(background.n_rows), weights=None)
        self._fitted = fitted.with_background(background, rows, take_rows(X, rows[:1]), self.weighting)
        return X, Xt

    def _read_model(self, read: Any, X: Any, *, path_dependent: bool) -> tuple[FittedModel, Any]:
        """Read the leaves of the fitted estimator; see `skglex._fitted_model.read_model`."""
        return read_model(
            read,
            self.estimator_,
            X,
            missing=self.missing,
            survival=(self.survival_output, self.times),
            path_dependent=path_dependent,
        )

    def _read_without_rows(self, y: Any) -> None:
        """Read a fitted model without a background, which path-dependent weights do not need."""
        if self.weighting != "path_dependent" or not uses_prefit(self.estimator, self.prefit, y):
            raise ValueError(
                "fit got no rows X. They are optional only for weighting='path_dependent' and a fitted estimator, "
                "whose covers are the weights. Pass X, the background over which features are averaged out"
            )
        read = require_reader(tree_model(self.estimator))
        self.estimator_, _ = resolve_estimator(self.estimator, self.prefit, None, y, None, {}, owner=self)
        fitted, _ = self._read_model(read, None, path_dependent=True)
        self._fitted = fitted.with_background(NoBackground(), np.empty(0, np.int64), None, self.weighting)
        first = fitted.preprocess or fitted.model
        self.n_features_in_ = int(getattr(first, "n_features_in_", fitted.source.input.n_features))
        state = {
            "feature_names_in_": getattr(first, "feature_names_in_", fitted.source.input.feature_names),
            "classes_": fitted.source.response.classes,
        }
        for name, value in state.items():
            self.__dict__.pop(name, None)
            if value is not None:
                setattr(self, name, np.asarray(value, dtype=object if name == "feature_names_in_" else None))
        self.background_ = Bunch(rows=np.empty(0, np.int64), weights=np.empty(0))

    def _trace_columns(self, X: Any) -> RawMap:
        """Return which of the model's columns change with which raw columns; X are the rows passed to `fit`."""
        fitted = self._fitted
        if fitted.preprocess is None or fitted.raw.names:
            return fitted.raw
        rows = X if len(fitted.background_rows) == X.shape[0] else take_rows(X, fitted.background_rows)
        return find_outputs_of_all(rows, fitted.to_model_space, fitted.background)

    def _rows_of_partitions(self, partitions: Any, y: Any) -> tuple[Any, Any]:
        """Return the sampled rows of a Dask collection and their weights; without ``n_background``, its first row."""
        if not uses_prefit(self.estimator, self.prefit, y):
            raise ValueError(
                f"X is a Dask collection, but {type(self).__name__} cannot fit a {type(self.estimator).__name__} on "
                "one. Fit the model first (xgboost.dask trains on Dask collections), pass the fitted model, and call "
                "fit without y"
            )
        if self.n_background is None:
            return partitions.first_row(), None
        rows, weight = partitions.sample(self.n_background, self.random_state)
        return rows, weight

    def _draw_background(
        self, n_rows: int, weight: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the positions of the background rows in X, and their weights."""
        rows = np.arange(n_rows)
        if self.n_background is not None and self.n_background < n_rows:
            rng = check_random_state(self.random_state)
            rows = np.sort(rng.choice(n_rows, self.n_background, replace=False))
        background_weight = np.ones(len(rows)) if weight is None else weight[rows]
        if not background_weight.any():
            raise ValueError(
                f"all {len(rows)} sampled background rows have sample_weight 0. Raise n_background, or pass positive "
                "weights"
            )
        return rows, background_weight


def _check_weight(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError(
            "sample_weight is zero for every row, so the background would be empty. Pass at least one positive weight"
        )
    return np.asarray(weight)


def example_row(estimator: BaseTreeModelEstimator, X: Any) -> Any:
    """Return a background row of a fitted estimator in the container of a Dask collection X."""
    fitted = estimator._fitted
    row = fitted.row
    if hasattr(row, "to_pandas"):
        row = row.to_pandas()
    if not is_frame(X):
        spec = fitted.source.input
        if fitted.preprocess is None and not spec.encoders and spec.derive is None:
            return np.zeros((1, X.shape[1]))
        values = row.to_numpy() if is_frame(row) else as_dense(row)
        return values if values.shape[1] == X.shape[1] else np.resize(values, (1, X.shape[1]))
    import pandas as pd

    if is_frame(row):
        return row.reindex(columns=X.columns)
    return pd.DataFrame(np.resize(as_dense(row), (1, len(X.columns))), columns=X.columns)


def classifies(model: BaseMarginPredictor) -> bool:
    """Return whether there are classes to predict."""
    return bool(is_classifier(model))


def has_decision(model: BaseMarginPredictor) -> bool:
    """Return whether there is a decision function."""
    # Regressors should not define `decision_function` in scikit-learn; without a link, `predict` already is the
    # margin. For classifiers the sign must give the class, which is not true for a probability.
    if get_tags(model).estimator_type == "regressor":
        fitted = getattr(model, "_fitted", None)
        return fitted is not None and fitted.source.response.link != "identity"
    return not is_classifier(model) or decides_by_margin(tree_model(model.estimator))


def scores_samples(model: BaseMarginPredictor) -> bool:
    """Return whether the model is an isolation forest, whose margin has scores."""
    fitted = getattr(model, "_fitted", None)
    if fitted is None:
        return hasattr(model.estimator, "score_samples")
    return fitted.source.response.isolation is not None


def _has_score(model: BaseMarginPredictor) -> bool:
    return get_tags(model).estimator_type in ("classifier", "regressor")


@lazy_on_dask(
    "margin",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    example_row=example_row,
)
class BaseMarginPredictor(BaseTreeModelEstimator):
    """Predict as the model does, from another margin than the model's own."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A model of Spark has no tags, unlike the model of scikit-learn inside.
        tagged = self.estimator if hasattr(self.estimator, "__sklearn_tags__") else tree_model(self.estimator)
        if hasattr(tagged, "__sklearn_tags__"):
            inner = get_tags(tagged)
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags = inner.classifier_tags
            tags.regressor_tags = inner.regressor_tags
            if tags.classifier_tags is not None:
                tags.classifier_tags.multi_label &= tags.target_tags.multi_output
        elif getattr(self.estimator, "_estimator_type", "") == "classifier":
            # Older versions of CatBoost have no tags.
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        # What is left out is information on the target, so that the score may be poor.
        for model_tags in (tags.classifier_tags, tags.regressor_tags):
            if model_tags is not None:
                model_tags.poor_score = True
        return tags

    @abstractmethod
    def _margin_of_bins(self, bins: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
        """Return the margin of binned rows: shape (n_outputs, n_rows)."""

    @available_if(has_decision)
    def decision_function(self, X: Any, *, offset: Any = None) -> NDArray[np.float64]:
        """Compute the decision function, which is the margin for most models.

        - For two classes, the margin at which both classes are equally likely is subtracted.
        - A regressor has this method only if its margin is not its prediction.
        - Classifiers that average probabilities, such as scikit-learn's trees and forests, do not have this method.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Offset of each row, as in `margin`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Positive values predict the second class; for an isolation forest, negative values mark outliers.
        """
        margin = self._margin(X, offset)
        return self._response.decision(margin)

    @available_if(scores_samples)
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Compute the scores of an isolation forest from the mean path length.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores from -1 to 0. Lower scores are more abnormal.
        """
        margin = self._margin(X)
        return self._response.scores(margin)

    def margin(self, X: Any, *, offset: Any = None) -> NDArray[np.float64]:
        """Compute the margin (raw score).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Offset of each row on the margin scale, such as the logarithm of its exposure. It has the meaning that the
            model's library gives it:

            - XGBoost: ``base_margin``, which replaces the base score;
            - LightGBM: ``init_score``, which is added. (LightGBM's own ``predict`` leaves it out.)
            - CatBoost: ``baseline`` of a ``Pool``, which is added.

            Models of other libraries have no offset.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Margin on the link scale (log-odds, one score per class, mean path length, ...).

        Raises
        ------
        ValueError
            The input is invalid, or ``offset`` was passed and the model's library has no offset.
        """
        margin = self._margin(X, offset)
        return margin[:, 0] if margin.shape[1] == 1 else margin

    def predict(self, X: Any, *, offset: Any = None) -> NDArray[Any]:
        """Compute predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Offset of each row, as in `margin`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels for a classifier, and -1 (outlier) or 1 for an isolation forest. Else the numbers that ``predict``
            of the model would return.
        """
        response, margin = self._response, self._margin(X, offset)
        if response.isolation is not None:
            return response.outliers(response.scores(margin))
        return response.predict(response.output(margin))

    @available_if(classifies)
    def predict_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Compute the probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Offset of each row, as in `margin`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with the classes in the order of ``classes_``.
        """
        response = self._response
        return response.probabilities(response.output(self._margin(X, offset)))

    @available_if(classifies)
    def predict_log_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Compute the logarithms of ``predict_proba``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Offset of each row, as in `margin`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, with the classes in the order of ``classes_``.
        """
        probabilities = self.predict_proba(X, offset=offset)
        with np.errstate(divide="ignore"):
            return (
                [np.log(p) for p in probabilities]
                if isinstance(probabilities, list)
                else np.log(probabilities)
            )

    @available_if(_has_score)
    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Compute the accuracy of a classifier, or the R² of a regressor.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            True labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Offset of each row, as in `margin`.

        Returns
        -------
        float
            Result of scikit-learn's ``accuracy_score`` or ``r2_score``.
        """
        metric = accuracy_score if is_classifier(self) else r2_score
        # np.asarray computes the predictions on a Dask collection, which are lazy.
        prediction = np.asarray(self.predict(X, offset=offset))
        if self._response.targets and is_classifier(self):
            return float(np.average((np.asarray(y) == prediction).all(axis=1), weights=sample_weight))
        return float(metric(np.asarray(y), prediction, sample_weight=sample_weight))

    @property
    def _response(self) -> Response:
        """Return the response of the margin, with the labels in the y passed to `fit`."""
        check_is_fitted(self)
        return replace(self._fitted.source.response, classes=self.classes_ if is_classifier(self) else None)

    def _margin(self, X: Any, offset: Any = None) -> NDArray[np.float64]:
        """Return the margin of rows: shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        Xt = self._fitted.check(X, self)
        shape = (self._fitted.source.ensemble.n_outputs,)
        margin = self._fitted.map_rows(Xt, shape, self._margin_of_bins, self._execution, "margins").T
        return margin if offset is None else margin + self._shift(offset, margin.shape)

    def _shift(self, offset: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return what an offset adds to the margin of every row and output."""
        replaced = self._fitted.source.offset_replaces
        if replaced is None:
            raise ValueError(
                f"offset was passed, but a {type(tree_model(self.estimator_)).__name__} has no offset of rows. Leave "
                "it out, or train a model with XGBoost (base_margin), LightGBM (init_score) or CatBoost (baseline)"
            )
        offset = check_array(as_numpy(offset), ensure_2d=False, dtype=np.float64, input_name="offset")
        if offset.shape != shape and (offset.shape != shape[:1] or shape[1] > 1):
            raise ValueError(
                f"offset has the shape {offset.shape}, but there are {shape[0]} rows and {shape[1]} output(s). Pass "
                "one number per row and output"
            )
        return np.asarray(offset.reshape(shape) - replaced)

    def _model_output(self, Xt: Any) -> NDArray[Any]:
        """Return the output that the model's library computes: shape (n_samples, n_outputs)."""
        output = np.asarray(self._fitted.source.output(Xt))
        output = output.reshape(len(output), -1)
        # Binary classifiers return the probabilities of both classes, but have a single margin.
        return output[:, 1:] if self._response.binary and output.shape[1] == 2 else output

    def _check_output(self, Xt: Any) -> None:
        """Raise if the model's output is not the inverse link of its margin on some rows after the preprocessing."""
        response = self._response
        if response.link == "custom" or response.isolation is not None:
            # The link of a custom objective is not known, and the scores of a forest are defined by the margin.
            return
        rows = np.arange(Xt.shape[0])
        model_output = self._model_output(take_rows(Xt, rows))
        with np.errstate(over="ignore"):
            output = response.output(self._fitted.model_margin(Xt, rows))
        # The model's output may be float32, in which a large float64 output is infinite.
        output = np.where(np.isinf(model_output) & (output > _LARGE), model_output, output)
        scale = np.abs(model_output).max(initial=0, where=np.isfinite(model_output))
        close = np.isclose(output, model_output, rtol=1e-4, atol=1e-5 * scale, equal_nan=True).all(axis=1)
        if not close.all():
            row, model = int(np.argmin(close)), tree_model(self.estimator_)
            raise ValueError(
                f"the {type(model).__name__} predicts {model_output[row]} for a background row, but the inverse link "
                f"{response.link!r} of its margin is {output[row]}. If its class changes the predictions of the class "
                "that it derives from, pass a model of that class"
            )
