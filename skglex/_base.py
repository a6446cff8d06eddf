"""What the meta-estimators have in common: take or fit a model, read it, keep a background."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from skglex._dask import is_dask, partitioned_background, partitions_of
from skglex._input import as_numpy, bin_all, categories_of, check_rows, is_frame, name_categories, take_rows
from skglex._leaves import Background, LeafSum, PathDependent, Weighting, require_equal, rounding_of
from skglex._prefit import is_fitted, resolve_estimator, steps_of, tree_model, unwrap_frozen, uses_prefit
from skglex._readers import SourceModel, is_probability_average, register_treelite_pickling, require_reader
from skglex._utils import Execution, VersionedState, budgets, warn_user

# Background rows on which the leaves must reproduce the model's own margin.
_PROOF_ROWS = 1000


class BaseTreeModelEstimator(VersionedState, MetaEstimatorMixin, BaseEstimator):
    """Base of the meta-estimators around tree models."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",  # what has no reader is refused with the models that have one
        "weighting": [StrOptions({"empirical", "path_dependent"})],
        "feature_groups": [dict, None],
        "prefit": ["boolean", StrOptions({"auto"})],
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
            inner = get_tags(self.estimator)
            tags.input_tags.sparse = inner.input_tags.sparse
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
            tags.input_tags.categorical = tags.input_tags.string = self._takes_objects()
            tags.target_tags.required = inner.target_tags.required and not is_fitted(self.estimator)
            # scikit-learn's trees and forests keep the classes of several targets apart, which is refused
            tags.target_tags.multi_output = inner.target_tags.multi_output and not is_probability_average(
                tree_model(self.estimator)
            )
        return tags

    def __sklearn_clone__(self) -> Any:
        register_treelite_pickling()
        return super().__sklearn_clone__()

    def __getstate__(self) -> dict[str, Any]:
        register_treelite_pickling()
        return super().__getstate__()

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes: ``sample_weight`` to the background, and with all else to the estimator."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.estimator, "get_metadata_routing"):
            router.add(
                estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
            )
        return router

    @property
    def _execution(self) -> Execution:
        """Execution options passed to every long-running call."""
        return Execution(self.n_jobs, self.verbose)

    # -- fitting ------------------------------------------------------------------------------

    def _fit_model(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> tuple[Any, Any]:
        """Take or fit the estimator, read it and keep the background.

        Returns X checked, and X after the preprocessing, as the model takes it.
        """
        partitions = None
        if is_dask(X):
            X, sample_weight, partitions = self._take_partitions(X, y, sample_weight)
            y = None
        X, y, sample_weight = as_numpy(X), as_numpy(y), as_numpy(sample_weight)
        if not isinstance(unwrap_frozen(self.estimator), Pipeline):
            X = check_rows(X, self._takes_objects)
        elif not hasattr(X, "shape"):
            X = np.asarray(X)
        X = validate_data(self, X, skip_check_array=True)
        weight = None if sample_weight is None else self._check_weight(sample_weight, X)
        read = require_reader(tree_model(self.estimator))
        self.estimator_, classes = resolve_estimator(self, X, y, sample_weight, weight, fit_params)
        Xt = self._read_model(read, X)
        classes = self._model.classes if classes is None else classes
        self.__dict__.pop("classes_", None)
        if classes is not None:
            self.classes_ = classes
        if partitions is None or self.n_background is not None:
            self._keep_background(Xt, weight)
            if partitions is not None:
                self.background_["rows"] = partitions.chosen
        else:
            self._background = self._partitioned(partitions, prove=getattr(self, "check_additivity", True))
            self._background_rows = np.zeros(1, np.int64)
            self.background_: Bunch = Bunch(rows=range(self._background.n_rows), weights=None)
        self._row = take_rows(X, self._background_rows[:1])
        return X, Xt

    def _read_model(self, read: Callable[[Any], SourceModel], X: Any) -> Any:
        """Read the fitted model and name its features; returns X after the preprocessing."""
        *before, model = steps_of(self.estimator_)
        self._preprocess: Any = make_pipeline(*before) if before else None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self._model = read(model)
        values = self._model.ensemble.value
        if not (finite := np.isfinite(values)).all():
            raise ValueError(
                f"the {type(model).__name__} has leaves of the value {values[~finite][0]}: no sum of them means "
                "anything. Train it without infinite or missing targets and weights, or with a smaller learning rate"
            )
        Xt = self._to_model_space(X)
        if is_frame(Xt):
            spec = replace(self._model.input, categories=categories_of(Xt, self._model.input))
            self._model = replace(self._model, input=spec)
        self._model_names = self._name_features(Xt)
        self._check_columns(Xt)
        spec = name_categories(Xt, self._model.input, self._model.ensemble.grid)
        self._model = replace(self._model, input=spec)
        if self.weighting == "path_dependent":
            if self._model.ensemble.path_ratio is None:
                raise ValueError(
                    f"weighting='path_dependent' needs node covers, which this {type(model).__name__} does not "
                    "have. Use weighting='empirical'"
                )
            for warning in caught:
                warn_user(str(warning.message), warning.category)
        return Xt

    def _check_weight(self, sample_weight: Any, X: Any) -> NDArray[np.float64]:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight is zero for every row: the background would be empty")
        return np.asarray(weight)

    # -- the model's own space ----------------------------------------------------------------

    def _to_model_space(self, X: Any) -> Any:
        if self._preprocess is None:
            return X
        return check_rows(self._preprocess.transform(X), self._takes_objects)

    def _takes_objects(self) -> bool:
        """Whether the model takes arrays of strings, as CatBoost does."""
        model = tree_model(self.estimator)
        return hasattr(model, "__sklearn_tags__") and bool(get_tags(model).input_tags.categorical)

    def _check_X(self, X: Any) -> Any:
        """Check rows given after fitting, and take them to the model's space."""
        check_is_fitted(self)
        return self._checked(X)

    def _checked(self, X: Any) -> Any:
        """As `_check_X`, of an estimator that is known to be fitted."""
        X = as_numpy(X)
        if self._preprocess is None:
            X = check_rows(X, self._takes_objects)
        X = validate_data(self, X, reset=False, skip_check_array=True)
        Xt = self._to_model_space(X)
        self._check_columns(Xt)
        return Xt

    def _check_columns(self, Xt: Any) -> None:
        spec = self._model.input
        if Xt.shape[1] != spec.n_features:
            raise ValueError(
                f"X has {Xt.shape[1]} features, but the model was trained on {spec.n_features}"
                + (f": {spec.feature_names}" if spec.feature_names else "")
            )
        if is_frame(Xt) and len(set(Xt.columns)) < Xt.shape[1]:
            names = list(Xt.columns)
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"X has {names.count(twice)} columns that are called {twice!r}: rename them")
        given = [str(c).replace(" ", spec.spaces_become) for c in Xt.columns] if is_frame(Xt) else None
        if given is not None and spec.feature_names and given != spec.feature_names:
            raise ValueError(
                f"The feature names should match those that were passed during fit: X has the columns "
                f"{list(Xt.columns)}, the model was trained on {spec.feature_names}, in this order"
            )

    def _name_features(self, Xt: Any) -> list[str]:
        """Names of the model's features: those of X, else those it was trained on, else x0, x1, ..."""
        if self._preprocess is not None:
            try:
                names = self._preprocess.get_feature_names_out()
            except (AttributeError, ValueError):
                names = None  # a step that cannot name its output
            if names is not None:
                return [str(name) for name in names]
        if is_frame(Xt):
            return [str(name) for name in Xt.columns]
        if self._model.input.feature_names:
            return list(self._model.input.feature_names)
        return [f"x{i}" for i in range(Xt.shape[1])]

    # -- the background -----------------------------------------------------------------------

    def _take_partitions(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Rows of a Dask collection that stand for it (one, or the sample asked for), their weights, and the rest."""
        estimator = self.estimator
        if not uses_prefit(estimator, self.prefit, y):
            raise ValueError(
                f"X is a Dask collection, which a {type(estimator).__name__} cannot be fitted on here. Fit the model "
                "first (xgboost.dask trains on Dask collections), pass it fitted, and fit without y"
            )
        partitions = partitions_of(X, sample_weight)
        if self.n_background is None:
            return partitions.first_row(), None, partitions
        return *partitions.sample(self.n_background, self.random_state), partitions

    def _partitioned(self, partitions: Any, *, prove: bool = False) -> Any:
        """Rows in Dask partitions as a background."""
        alone = copy(self)
        alone.n_jobs = 1
        read = partial(alone._read_partition, prove=False)
        return partitioned_background(partitions, read, partial(alone._read_partition, prove=prove))

    def _read_partition(self, X: Any, weight: Any, prove: bool) -> tuple[Background, int]:
        """One partition binned, its weights scaled by a power of two, and the exponent of that."""
        if not len(weight):
            return Background(np.empty((len(self._model.ensemble.grid.features), 0), np.uint16), weight), 0
        Xt = self._checked(X)
        background, exponent = self._bin_background(Xt, weight)
        if prove:
            part = copy(self)
            part._background, part._background_rows = background, np.arange(len(weight))
            part._prove(Xt)
        return background, exponent

    def _keep_background(self, Xt: Any, weight: NDArray[np.float64] | None) -> None:
        n = Xt.shape[0]
        rows = np.arange(n)
        if self.n_background is not None and self.n_background < n:
            rng = check_random_state(self.random_state)
            rows = np.sort(rng.choice(n, self.n_background, replace=False))
            Xt = take_rows(Xt, rows)
        kept = np.ones(len(rows)) if weight is None else weight[rows]
        if not kept.any():
            raise ValueError("the sampled background rows all have sample_weight 0: raise n_background")
        self.background_ = Bunch(rows=rows, weights=kept)
        self._background_rows = rows  # among those given here
        self._background, _ = self._bin_background(Xt, kept)

    def _bin_background(self, Xt: Any, weight: NDArray[np.float64]) -> tuple[Background, int]:
        bins = bin_all(Xt, self._model.input, self._model.ensemble.grid, self._execution)
        # shares do not depend on the scale, and a power of two is exact: sums of huge weights stay finite
        exponent = int(np.frexp(weight.max())[1])
        return Background(bins, np.ldexp(weight, -exponent)), exponent

    def _make_weighting(self) -> Weighting:
        return PathDependent() if self.weighting == "path_dependent" else self._background.weighting

    def _prove(self, Xt: Any) -> None:
        """Raise unless the leaves reproduce the model's own margin on background rows."""
        if not isinstance(self._background, Background):
            return  # partitions prove theirs where they are read
        leaves = replace(self._model.ensemble, trees=None)  # which the components come from
        affordable = budgets.checked_conditions // max(len(leaves.leaf_condition), 1)
        n = max(100, min(_PROOF_ROWS, affordable))
        positions = np.unique(np.linspace(0, len(self._background_rows) - 1, n).astype(int))
        given = self._background_rows[positions]
        own = self._own_margin(Xt, given)
        ours = LeafSum(leaves)(np.ascontiguousarray(self._background.bins[:, positions])).T
        require_equal(own, ours, rounding_of(self._model.ensemble), given, "leaves", "fit")

    def _own_margin(self, Xt: Any, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The model's own margin of some rows, of shape (n_rows, n_outputs)."""
        return np.asarray(self._model.margin(take_rows(Xt, rows)), dtype=np.float64).reshape(len(rows), -1)
