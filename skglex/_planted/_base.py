"""Fit a random planted forest to numeric target columns; the subclasses give the columns their meaning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from skglex._input import as_numpy, pack_index, unpack_index
from skglex._kernels import report_compilations
from skglex._planted._categories import category_codes, encode_categories, order_by_target, ranks
from skglex._planted._kernels.arguments import (
    Parameters,
    allocate_family,
    allocate_rows,
    allocate_scratch,
)
from skglex._planted._kernels.growth import grow_family
from skglex._planted._kernels.split import RANDOM
from skglex._planted._leaves import PlantedLeaves, encode_columns
from skglex._utils import Execution, VersionedState, restore_on_failure

_NUMBERS = {"dtype": np.float64, "order": "C", "ensure_all_finite": "allow-nan"}


class BasePlantedForest(VersionedState, BaseEstimator, ABC):
    """Grow families on coded features, and average the sums of their leaves."""

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

    leaves_: PlantedLeaves
    categories_: dict[int, Any]
    _gains: NDArray[np.float64]

    # Rule for choosing thresholds. Tests set EVEN or FIRST to grow a family without a bootstrap sample, as the R
    # package does with deterministic=TRUE.
    _rule = RANDOM

    @abstractmethod
    def _check_target(self, y: NDArray[Any]) -> tuple[NDArray[np.float64], int, float, float]:
        """Return the target columns, the constant of the loss, delta and epsilon."""

    def _place_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return leaf values with one column per output, given values with one column per target column."""
        return values

    @restore_on_failure
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows. NaN is a missing value. Categories of pandas categorical columns are ordered by the
            mean target.
        y : array-like of shape (n_samples,) or, for a regressor, (n_samples, n_outputs)
            Targets or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, at least 0. Rows with weight 0 are left out.

        Returns
        -------
        self
            The fitted forest.
        """
        X, y, sample_weight = as_numpy(X), as_numpy(y), as_numpy(sample_weight)
        old_leaves = self.leaves_ if self.warm_start and hasattr(self, "leaves_") else None
        n_old = 0 if old_leaves is None else old_leaves.n_families
        if self.n_estimators < n_old:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {n_old} families already grown when "
                "warm_start=True. Raise n_estimators, or set warm_start=False to start again."
            )
        data = self._check_data(X, y, sample_weight, reset=old_leaves is None)
        # Draw all seeds, so that a forest that grows in steps equals one that is grown at once.
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int64).max, size=self.n_estimators, dtype=np.int64
        )[n_old:]
        execution = Execution(self.n_jobs, self.verbose)
        report_compilations(self.verbose)
        grown = execution.run(self._grower(*data), [(np.uint64(seed),) for seed in seeds], label="growing")
        if grown:
            parts, gains = zip(*grown)
            old_parts = [] if old_leaves is None else [old_leaves]
            self.leaves_ = PlantedLeaves.concatenate([*old_parts, *parts])
            self._gains = sum(gains, np.zeros(data[0].shape[1]) if old_leaves is None else self._gains)
        return self

    def _check_data(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, ...]:
        """Return the rows with positive weight as numbers, the result of `_check_target`, and the weights."""
        categories: dict[int, Any] = {}
        if reset:
            X, categories = category_codes(X)
            self.categories_ = {}
        else:
            X = encode_categories(X, self.categories_)
        X, y = validate_data(self, X, y, reset=reset, multi_output=True, **_NUMBERS)
        target, loss, delta, epsilon = self._check_target(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if categories:
            X = X.copy()  # The array of a data frame can be read-only.
        for j, names in categories.items():
            order = order_by_target(X[:, j], target, weight)
            self.categories_[j] = names.take(order)
            X[:, j] = ranks(X[:, j], order)
        used = weight > 0
        if not used.any():
            raise ValueError(
                "sample_weight is zero for every row, but at least one row must have a positive weight. Pass "
                "other weights, or None to weight all rows equally."
            )
        if not used.all():
            X, target, weight = X[used], np.ascontiguousarray(target[used]), weight[used]
        return X, target, loss, delta, epsilon, weight

    def _grower(
        self,
        X: NDArray[np.float64],
        target: NDArray[np.float64],
        loss: int,
        delta: float,
        epsilon: float,
        weight: NDArray[np.float64],
    ) -> Callable[[np.uint64], tuple[PlantedLeaves, NDArray[np.float64]]]:
        """Return a function that grows a family from a seed and returns its leaves and its gain per feature."""
        codes, n_codes, edges = encode_columns(X, self.max_bins)
        n_features = X.shape[1]
        max_codes = int(n_codes.max()) + 1
        parameters = Parameters(
            loss=loss,
            max_interaction=int(min(self.max_interaction or n_features, n_features)),
            n_splits=int(self.n_splits),
            split_try=int(self.split_try),
            t_try=float(self.t_try),
            split_decay_rate=float(self.split_decay_rate),
            max_candidates=int(min(self.max_candidates, n_features * (2 * self.n_splits + 1))),
            delete_leaves=bool(self.delete_leaves),
            bootstrap=bool(self.bootstrap) and self._rule == RANDOM,
            min_samples_leaf=int(self.min_samples_leaf),
            delta=delta,
            epsilon=epsilon,
            rule=self._rule,
        )

        def grow(seed: np.uint64) -> tuple[PlantedLeaves, NDArray[np.float64]]:
            data = allocate_rows(target, loss)
            family = allocate_family(n_features, target.shape[1], parameters)
            scratch = allocate_scratch(data, max_codes, len(family.pool), parameters)
            state = np.array([seed], dtype=np.uint64)
            grow_family(codes, n_codes, weight, data, family, parameters, state, scratch)
            return PlantedLeaves.from_family(family, self._place_values(family.values), edges), family.gains

        return grow

    def _encode(self, X: Any) -> NDArray[np.float64]:
        """Return rows as numbers, with categories replaced by their positions in ``categories_``."""
        X = encode_categories(as_numpy(X), self.categories_)
        return np.asarray(validate_data(self, X, reset=False, **_NUMBERS))

    def _margin(self, X: Any) -> NDArray[np.float64]:
        """Return the mean over families of the sums of leaf values, of shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        return self.leaves_.predict(self._encode(X), Execution(self.n_jobs))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return the share of each feature in the reduction of the loss by all splits.

        The reduction by a split is measured against the update of the unsplit leaf. The shares sum to 1, or
        are all 0 if no split reduced the loss.
        """
        check_is_fitted(self)
        total = self._gains.sum()
        return self._gains / total if total > 0 else np.zeros_like(self._gains)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "categories_" in state:
            state["categories_"] = {j: pack_index(index) for j, index in self.categories_.items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "categories_"):
            self.categories_ = {j: unpack_index(index) for j, index in self.categories_.items()}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "leaves_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
