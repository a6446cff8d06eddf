"""What the meta-estimators have in common: take or fit a model, read it, keep a background."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Bunch, check_random_state, column_or_1d, get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from skglex._distributed import is_dask
from skglex._input import (
    as_numpy,
    bin_chunks,
    bin_rows,
    categories_of,
    check_rows,
    is_frame,
    name_categories,
    take_rows,
)
from skglex._proof import misread, require_equal, rounding_of
from skglex._state import VersionedState
from skglex.ensemble._sums import LeafSum
from skglex.ensemble._weights import Background, PathDependent, Weighting
from skglex.ensemble.readers import ReadModel, averages_probabilities, find_reader, takes_any_labels
from skglex.exceptions import AdditivityError

# Background rows on which the leaves must reproduce the model's own margin.
_PROOF_ROWS = 1000


class TreeModelWrapper(VersionedState, MetaEstimatorMixin, BaseEstimator):
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
            tags.input_tags.categorical = tags.input_tags.string = self._takes_objects
            tags.target_tags.required = inner.target_tags.required and not _is_fitted(self.estimator)
            # scikit-learn's trees and forests keep the classes of several targets apart, which is refused
            tags.target_tags.multi_output = (
                inner.target_tags.multi_output and not self._averages_probabilities()
            )
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes: ``sample_weight`` to the background, and with all else to the estimator."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.estimator, "get_metadata_routing"):
            router.add(
                estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
            )
        return router

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
        if not isinstance(_thaw(self.estimator), Pipeline):
            X = check_rows(X, self._takes_objects)
        elif not hasattr(X, "shape"):
            X = np.asarray(X)
        X = validate_data(self, X, skip_check_array=True)
        weight = None if sample_weight is None else self._check_weight(sample_weight, X)
        reader = _reader_of(_steps(self.estimator)[-1])
        self.classes_: Any = None
        if self._takes_as_is(y):
            self.estimator_ = self.estimator
            if y is not None:
                check_consistent_length(X, y)
            if fit_params:
                warnings.warn(
                    f"the {type(self.estimator).__name__} is used as it is: {', '.join(fit_params)} passed to fit "
                    "has no effect",
                    UserWarning,
                    stacklevel=5,
                )
        else:
            self.estimator_ = self._fit_clone(X, y, sample_weight, weight, fit_params)

        before = _steps(self.estimator_)[:-1]
        self._preprocess: Any = make_pipeline(*before) if before else None
        model = self._final_model()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self._model = reader(model)
        if self.classes_ is None:
            self.classes_ = self._model.classes
        if self.classes_ is None:
            del self.classes_
        Xt = self._to_model_space(X)
        if is_frame(Xt):
            spec = replace(self._model.input, categories=categories_of(Xt, self._model.input))
            self._model = replace(self._model, input=spec)
        self._model_names = self._name_features(Xt)
        self._check_columns(Xt)
        read = self._model
        self._model = replace(read, input=name_categories(Xt, read.input, read.ensemble.grid))
        if self.weighting == "path_dependent":
            if self._model.ensemble.ratio is None:
                raise ValueError(
                    f"weighting='path_dependent' needs node covers, which this {type(model).__name__} does not "
                    "have. Use weighting='empirical'"
                )
            for warning in caught:
                warnings.warn(str(warning.message), warning.category, stacklevel=5)
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

    def _final_model(self) -> Any:
        """The tree model itself: the estimator, or the last step of a pipeline."""
        return _steps(self.estimator_)[-1]

    def _averages_probabilities(self) -> bool:
        """Whether the estimator is a classifier of scikit-learn's whose margin is a probability."""
        return averages_probabilities(_steps(self.estimator)[-1])

    def _check_weight(self, sample_weight: Any, X: Any) -> NDArray[np.float64]:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight is zero for every row: the background would be empty")
        return weight

    def _takes_as_is(self, y: Any) -> bool:
        """Whether the estimator is used as it is; see the parameter ``prefit``."""
        estimator = self.estimator
        if not hasattr(estimator, "fit"):  # a booster
            if self.prefit is False:
                raise ValueError(
                    f"prefit=False, but a {type(estimator).__name__} cannot be fitted again. Use prefit='auto', or "
                    "pass a scikit-learn estimator"
                )
            return True
        if isinstance(estimator, FrozenEstimator):
            return True
        if self.prefit is True:
            if not _is_fitted(estimator):
                check_is_fitted(estimator)
            return True
        fitted = self.prefit == "auto" and _is_fitted(estimator)
        if y is None and not fitted and get_tags(estimator).target_tags.required:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: the estimator is not "
                "fitted (clones never are). Pass y, or keep a fitted model as it is with "
                "sklearn.frozen.FrozenEstimator(estimator)"
            )
        if fitted and y is not None:
            warnings.warn(
                f"the {type(estimator).__name__} is fitted already and will be cloned and fitted again, since y was "
                "passed. To keep it as it is, pass sklearn.frozen.FrozenEstimator(estimator) or prefit=True",
                UserWarning,
                stacklevel=6,
            )
        return fitted and y is None

    def _fit_clone(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        weight: NDArray[np.float64] | None,
        fit_params: dict[str, Any],
    ) -> Any:
        estimator = _unfitted(self.estimator)
        if y is not None:  # an outlier detector needs none
            encode = not takes_any_labels(_steps(estimator)[-1])
            y = self._check_target(X, y, is_classifier(estimator), encode=encode)
        if self.classes_ is not None:
            fit_params = {
                key: _encode_eval_set(value, self.classes_) if key.endswith("eval_set") else value
                for key, value in fit_params.items()
            }
        if offset := {"base_margin", "init_score"}.intersection(fit_params):
            warnings.warn(
                f"the model is fitted with {offset.pop()}, which is not part of it: it is decomposed without",
                UserWarning,
                stacklevel=6,
            )
        if get_config()["enable_metadata_routing"]:
            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            routed = process_routing(self, "fit", **given, **fit_params)
            fit_params = routed.estimator.fit
        elif weight is not None:
            fit_params = {**fit_params, **_weight_params(estimator, weight)}
        return estimator.fit(X, y, **fit_params)

    def _check_target(self, X: Any, y: Any, classifies: bool, encode: bool) -> NDArray[Any]:
        """Check y; labels become 0..K-1, kept in ``classes_``, unless the estimator does that itself."""
        numpy_dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
        if numpy_dtype is not None and not y.isna().any():
            y = y.to_numpy(dtype=numpy_dtype)  # pandas' nullable integers and booleans would become floats
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        if classifies and type_of_target(y, input_name="y") != "multilabel-indicator":
            y = column_or_1d(y, warn=True)
            check_classification_targets(y)
            check_consistent_length(X, y)
            if not encode:
                return np.asarray(y)
            encoder = LabelEncoder().fit(y)
            self.classes_ = encoder.classes_
            return _encode(y, encoder.classes_, "y")
        y = column_or_1d(y, warn=True) if y.ndim == 1 or y.shape[1] == 1 else y
        if y.dtype.kind in "OUS":
            y = y.astype(np.float64)
        check_consistent_length(X, y)
        return np.asarray(y)

    # -- the model's own space ----------------------------------------------------------------

    def _to_model_space(self, X: Any) -> Any:
        if self._preprocess is None:
            return X
        return check_rows(self._preprocess.transform(X), self._takes_objects)

    @property
    def _takes_objects(self) -> bool:
        """Whether the model takes arrays of strings, as CatBoost does."""
        model = _steps(self.estimator)[-1]
        return hasattr(model, "__sklearn_tags__") and bool(get_tags(model).input_tags.categorical)

    def _check_X(self, X: Any) -> Any:
        """Check rows given after fitting, and take them to the model's space."""
        check_is_fitted(self)
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
        kept = self.prefit is True or isinstance(estimator, FrozenEstimator) or not hasattr(estimator, "fit")
        if not kept and (self.prefit is False or y is not None or not _is_fitted(estimator)):
            raise ValueError(
                f"X is a Dask collection, which a {type(estimator).__name__} cannot be fitted on here. Fit the model "
                "first (xgboost.dask trains on Dask collections), pass it fitted, and fit without y"
            )
        from skglex._distributed._partitions import Partitions

        partitions = Partitions(X, sample_weight)
        if self.n_background is None:
            return partitions.first_row(), None, partitions
        return *partitions.sample(self.n_background, self.random_state), partitions

    def _partitioned(self, partitions: Any, *, prove: bool = False) -> Any:
        """Rows in Dask partitions as a background."""
        from skglex._distributed._background import PartitionedBackground

        alone = copy(self)
        alone.n_jobs = 1
        read = partial(alone._read_partition, prove=False)
        return PartitionedBackground(partitions, read, partial(alone._read_partition, prove=prove))

    def _read_partition(self, X: Any, weight: Any, prove: bool) -> tuple[Background, int]:
        """One partition binned, its weights scaled by a power of two, and the exponent of that."""
        from skglex._distributed._partitions import check_weight

        weight = check_weight(weight, X.shape[0])
        if not len(weight):
            return Background(np.empty((len(self._model.ensemble.grid.features), 0), np.uint16), weight), 0
        Xt = TreeModelWrapper._check_X(self, X)
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
        grid = self._model.ensemble.grid
        bins = np.empty((len(grid.features), len(weight)), grid.dtype)
        for start, stop in bin_chunks(Xt, grid):
            bins[:, start:stop] = bin_rows(Xt, self._model.input, grid, start, stop, self.n_jobs)
        # shares do not depend on the scale, and a power of two is exact: sums of huge weights stay finite
        exponent = int(np.frexp(weight.max())[1])
        return Background(bins, np.ldexp(weight, -exponent)), exponent

    def _make_weighting(self) -> Weighting:
        return PathDependent() if self.weighting == "path_dependent" else self._background.weighting

    def _prove(self, Xt: Any) -> None:
        """Raise unless the leaves reproduce the model's own margin on background rows."""
        if not isinstance(self._background, Background):
            return  # partitions prove theirs where they are read
        positions = np.unique(np.linspace(0, len(self._background_rows) - 1, _PROOF_ROWS).astype(int))
        given = self._background_rows[positions]
        own = self._own_margin(Xt, given)
        ours = LeafSum(self._model.ensemble)(np.ascontiguousarray(self._background.bins[:, positions])).T
        if own.shape != ours.shape:
            raise AdditivityError(
                misread(f"{ours.shape[1]} outputs were read, its margin has {own.shape[1]}", "fit")
            )
        require_equal(own, ours, rounding_of(self._model), given, "leaves", "fit")

    def _own_margin(self, Xt: Any, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The model's own margin of some rows, of shape (n_rows, n_outputs)."""
        return np.asarray(self._model.margin(take_rows(Xt, rows)), dtype=np.float64).reshape(len(rows), -1)


def _reader_of(model: Any) -> Callable[[Any], ReadModel]:
    reader = find_reader(model)
    if reader is None:
        raise TypeError(
            f"cannot read a {type(model).__name__} into leaves. Pass a tree ensemble: an XGBoost or LightGBM model or "
            "booster, a CatBoost model, a tree, forest or boosting model of scikit-learn (or a voting or bagging "
            "ensemble of these), a treelite model, or a random planted forest"
        )
    return reader


def _encode_eval_set(eval_set: Any, classes: NDArray[Any]) -> Any:
    """The pairs of rows and labels that XGBoost and LightGBM watch while they fit, their labels encoded as y is."""
    if eval_set is None:
        return None
    if not isinstance(eval_set, (list, tuple)):  # CatBoost's Pool: its labels are its own affair
        return eval_set
    if isinstance(eval_set, tuple):
        return (eval_set[0], _encode(eval_set[1], classes, "eval_set"), *eval_set[2:])
    return [_encode_eval_set(pair, classes) for pair in eval_set]


def _encode(labels: Any, classes: NDArray[Any], what: str) -> NDArray[np.int64]:
    labels = np.asarray(labels).ravel()
    if not (known := np.isin(labels, classes)).all():
        raise ValueError(
            f"{what} has the label {labels[~known][0]!r}, which y does not have; its labels are {list(classes[:20])}"
        )
    return np.searchsorted(classes, labels)


def _weight_params(estimator: Any, weight: NDArray[np.float64]) -> dict[str, Any]:
    """The estimator's own keyword for sample weights, if it takes any."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return {f"{name}__{key}": value for key, value in _weight_params(last, weight).items()}
    if has_fit_parameter(estimator, "qid"):
        raise ValueError(
            f"sample_weight has one value per row, for the background, but a {type(estimator).__name__} takes one per "
            "query. Fit it first, and pass it fitted (in searches in sklearn.frozen.FrozenEstimator)"
        )
    return {"sample_weight": weight} if has_fit_parameter(estimator, "sample_weight") else {}


def _thaw(estimator: Any) -> Any:
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def _steps(estimator: Any) -> list[Any]:
    """The steps of a pipeline, of pipelines at its end too; the tree model is the last."""
    model = _thaw(estimator)
    if not isinstance(model, Pipeline):
        return [model]
    return [*(step for _, step in model.steps[:-1]), *_steps(model.steps[-1][1])]


def _unfitted(estimator: Any) -> Any:
    """A copy to be fitted."""
    try:
        return clone(estimator)
    except RuntimeError:
        # CatBoost copies parameters (lists, say) where it is asked for them, which clone takes for a change
        return deepcopy(estimator)


def _is_fitted(estimator: Any) -> bool:
    if callable(own := getattr(estimator, "is_fitted", None)) and own():
        return True  # CatBoost's sums of models, which have no attribute that scikit-learn looks for
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        return False
    return True
