"""The random planted forest, a sum of overlapping boxes of few features each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from skglex._links import inverse_link
from skglex._parallel import run
from skglex._planted_categories import category_codes, encode_categories, order_by_target, ranks
from skglex._planted_leaves import PlantedLeaves, encode_columns
from skglex.kernels.planted_forest import grow_family
from skglex.kernels.planted_loss import ABSOLUTE_ERROR, EXPONENTIAL, LOG_LOSS, SQUARED_ERROR
from skglex.kernels.planted_split import EVEN, RANDOM

_LOSSES = {
    "log_loss": LOG_LOSS,
    "exponential": EXPONENTIAL,
    "squared_error": SQUARED_ERROR,
    "absolute_error": ABSOLUTE_ERROR,
}


class _BasePlantedForest(BaseEstimator, ABC):
    """What regressor and classifier share: everything but the meaning of y."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_interaction": [Interval(Integral, 1, None, closed="left"), None],
        "n_splits": [Interval(Integral, 0, None, closed="left")],
        "split_try": [Interval(Integral, 1, 10_000, closed="both")],
        "t_try": [Interval(Real, 0, 1, closed="right")],
        "split_decay_rate": [Interval(Real, 0, None, closed="left")],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
        "delete_leaves": ["boolean"],
        "bootstrap": ["boolean"],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_bins": [Interval(Integral, 2, None, closed="left"), None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # How thresholds are chosen; tests set EVEN or FIRST, which grow one family as the R package does with
    # deterministic=TRUE, without a bootstrap sample.
    _rule = RANDOM

    @abstractmethod
    def _check_target(self, y: NDArray[Any]) -> tuple[NDArray[np.float64], int, float, float]:
        """Return the columns to fit, the kernel's loss, delta and epsilon."""

    def _place_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values with one column per output, from those with one per fitted column."""
        return values

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> _BasePlantedForest:
        """Grow the forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN is a missing value. pandas categorical columns are ordered by the mean target.
        y : array-like of shape (n_samples,) or, for a regressor, (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        more = self.warm_start and hasattr(self, "leaves_")
        n_old = self.leaves_.n_families if more else 0
        if self.n_estimators < n_old:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {n_old} families already grown when "
                "warm_start=True. Raise n_estimators, or set warm_start=False to start again."
            )
        if more:
            X, categories = encode_categories(X, self.categories_), {}
        else:
            X, categories = category_codes(X)
        X, y = validate_data(
            self,
            X,
            y,
            reset=not more,
            dtype=np.float64,
            order="C",
            ensure_all_finite="allow-nan",
            multi_output=True,
        )
        target, loss, delta, epsilon = self._check_target(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not more:
            self.categories_ = {}
        for j, names in categories.items():
            order = order_by_target(X[:, j], target, weight)
            self.categories_[j] = names.take(order)
            X[:, j] = ranks(X[:, j], order)
        used = weight > 0
        if not used.any():
            raise ValueError("sample_weight is zero for every sample, but at least one must be positive.")
        if not used.all():
            X, target, weight = X[used], np.ascontiguousarray(target[used]), weight[used]

        codes, n_codes, edges = encode_columns(X, self.max_bins)
        max_interaction = X.shape[1] if self.max_interaction is None else min(self.max_interaction, X.shape[1])

        def grow(seed: np.uint64) -> tuple[PlantedLeaves, NDArray[np.float64]]:
            grown = grow_family(
                codes,
                n_codes,
                target,
                weight,
                loss,
                seed,
                max_interaction,
                self.n_splits,
                self.split_try,
                float(self.t_try),
                float(self.split_decay_rate),
                min(self.max_candidates, X.shape[1] * (2 * self.n_splits + 1)),
                bool(self.delete_leaves),
                bool(self.bootstrap),
                self.min_samples_leaf,
                delta,
                epsilon,
                self._rule,
            )
            values = self._place_values(grown[-2])
            return PlantedLeaves.from_family((*grown[:-2], values, grown[-1]), edges), grown[-1]

        # All seeds are drawn, so that families added later are those of a larger forest grown at once.
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int64).max, size=self.n_estimators, dtype=np.int64
        )[n_old:]
        grown = run(
            grow, [(np.uint64(seed),) for seed in seeds], n_jobs=self.n_jobs, verbose=self.verbose, label="growing"
        )
        if grown:
            parts, gains = zip(*grown)
            self.leaves_ = PlantedLeaves.concatenate([self.leaves_, *parts] if more else list(parts))
            self._gains = sum(gains, self._gains if more else np.zeros(X.shape[1]))
        return self

    def _encode(self, X: Any) -> NDArray[np.float64]:
        """Rows as the boxes see them: categories replaced by their places, missing values NaN."""
        X = encode_categories(X, self.categories_)
        return validate_data(self, X, reset=False, dtype=np.float64, order="C", ensure_all_finite="allow-nan")

    def _margin(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.leaves_.predict(self._encode(X), self.n_jobs)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much the splits on each feature lowered the loss beyond their leaf's own update; they sum to 1."""
        check_is_fitted(self)
        total = self._gains.sum()
        return self._gains / total if total > 0 else np.zeros_like(self._gains)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "leaves_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class RandomPlantedForestRegressor(RegressorMixin, _BasePlantedForest):
    """DOC"""

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        max_interaction: int | None = 2,
        n_splits: int = 100,
        split_try: int = 10,
        t_try: float = 0.4,
        split_decay_rate: float = 0.1,
        max_candidates: int = 50,
        delete_leaves: bool = True,
        bootstrap: bool = True,
        min_samples_leaf: int = 1,
        max_bins: int | None = 255,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_interaction = max_interaction
        self.n_splits = n_splits
        self.split_try = split_try
        self.t_try = t_try
        self.split_decay_rate = split_decay_rate
        self.max_candidates = max_candidates
        self.delete_leaves = delete_leaves
        self.bootstrap = bootstrap
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_target(self, y: NDArray[Any]) -> tuple[NDArray[np.float64], int, float, float]:
        y = np.asarray(y, dtype=np.float64)
        n_outputs = 1 if y.ndim == 1 else y.shape[1]
        if self._rule is RANDOM and hasattr(self, "leaves_") and self.warm_start:
            expected = self.leaves_.values.shape[1]
            if n_outputs != expected:
                raise ValueError(
                    f"y has {n_outputs} outputs, but the families already grown have {expected}. Pass the same y, or "
                    "set warm_start=False to start again."
                )
        self._flat = y.ndim == 1
        return np.ascontiguousarray(y.reshape(len(y), -1)), SQUARED_ERROR, 0.0, 0.0

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the mean of the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        margin = self._margin(X)
        return margin[:, 0] if self._flat else margin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class RandomPlantedForestClassifier(ClassifierMixin, _BasePlantedForest):
    """DOC"""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_BasePlantedForest._parameter_constraints,
        "loss": [StrOptions(set(_LOSSES))],
        "delta": [Interval(Real, 0, 0.5, closed="neither")],
        "epsilon": [Interval(Real, 0, 0.5, closed="neither")],
    }

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        max_interaction: int | None = 2,
        n_splits: int = 30,
        split_try: int = 10,
        t_try: float = 0.4,
        split_decay_rate: float = 0.1,
        max_candidates: int = 50,
        delete_leaves: bool = True,
        bootstrap: bool = True,
        loss: str = "log_loss",
        delta: float = 0.001,
        epsilon: float = 0.01,
        min_samples_leaf: int = 1,
        max_bins: int | None = 255,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_interaction = max_interaction
        self.n_splits = n_splits
        self.split_try = split_try
        self.t_try = t_try
        self.split_decay_rate = split_decay_rate
        self.max_candidates = max_candidates
        self.delete_leaves = delete_leaves
        self.bootstrap = bootstrap
        self.loss = loss
        self.delta = delta
        self.epsilon = epsilon
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_target(self, y: NDArray[Any]) -> tuple[NDArray[np.float64], int, float, float]:
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if y.ndim > 1:
            raise ValueError(f"y has shape {y.shape}, but a planted forest classifies one target. Fit one per column.")
        classes, index = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class, {classes[0]!r}, but a classifier needs at least two. Pass rows of another class too."
            )
        if self.warm_start and hasattr(self, "leaves_") and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"y has the classes {classes.tolist()}, but the families already grown have {self.classes_.tolist()}. "
                "Pass the same classes, or set warm_start=False to start again."
            )
        self.classes_ = classes
        target = (index[:, None] == np.arange(len(classes))).astype(np.float64)
        if len(classes) == 2 or self.loss == "log_loss":
            target = np.ascontiguousarray(target[:, 1:])
        if self.loss == "exponential":
            target = 2.0 * target - 1.0
        return target, _LOSSES[self.loss], float(self.delta), float(self.epsilon)

    def _place_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(self.classes_) > 2 and self.loss == "log_loss":
            return np.pad(values, ((0, 0), (1, 0)))  # the first class is the reference
        return values

    @property
    def _link(self) -> str:
        """Name of the inverse link from margin to probabilities."""
        if self.loss.endswith("_error"):
            return "probability"
        return "softmax" if len(self.classes_) > 2 else "sigmoid"

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Score the classes: the margin, less 1/2 for two classes and one of the error losses.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the score of the second, positive where it is predicted. Log-odds against the first class
            (zero for itself) with the log loss, estimated probabilities with the error losses.
        """
        margin = self._margin(X)
        if len(self.classes_) > 2:
            return margin
        return margin[:, 0] - 0.5 if self._link == "probability" else margin[:, 0]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        margin = self._margin(X)
        p = inverse_link(self._link, margin)
        return np.hstack([1.0 - p, p]) if p.shape[1] == 1 else p

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class with the highest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        score = self.decision_function(X)
        return self.classes_[(score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)]
