"""Define the base class of both meta-estimators: parameters, tags, metadata routing, saving, and fitting."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import _check_sample_weight

from skglex._dask import partitions_of
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
    is_probability_average,
    register_treelite_pickling,
    require_reader,
    steps_of,
    tree_model,
)
from skglex._utils import Execution, VersionedState


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
        if fitted.preprocess is None and not fitted.source.input.encoders:
            return np.zeros((1, X.shape[1]))
        values = row.to_numpy() if is_frame(row) else as_dense(row)
        return values if values.shape[1] == X.shape[1] else np.resize(values, (1, X.shape[1]))
    import pandas as pd

    if is_frame(row):
        return row.reindex(columns=X.columns)
    return pd.DataFrame(np.resize(as_dense(row), (1, len(X.columns))), columns=X.columns)
