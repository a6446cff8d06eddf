"""Define Acorn, a made-up library of boosted trees without any knowledge of skglex, to try the recipe for a reader.

Trees are nested tuples. Rows go left on ``x < threshold`` in float64; ``nan_left`` directs missing values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class Leaf(NamedTuple):
    value: float
    rows: int


class Split(NamedTuple):
    feature: int
    threshold: float
    nan_left: bool
    left: Split | Leaf
    right: Split | Leaf
    rows: int


class Acorn:
    """Hold trees, grown or built by hand: they predict, and cannot be fitted."""

    def __init__(self, trees, base, n_features):
        self.trees, self.base, self.n_features = trees, base, n_features

    def predict(self, X):
        X = np.asarray(X, dtype=np.float64)
        return self.base + sum(_walk(tree, X) for tree in self.trees)


def goes_left(split, X):
    x = X[:, split.feature]
    return np.where(np.isnan(x), split.nan_left, x < split.threshold)


def _walk(node, X):
    if isinstance(node, Leaf):
        return np.full(len(X), node.value)
    return np.where(goes_left(node, X), _walk(node.left, X), _walk(node.right, X))


def _grow(X, residual, depth):
    """Grow a tree of squared error; it splits at some of the values in X."""
    leaf = Leaf(float(0.5 * residual.mean()), len(X))
    best = (residual**2).sum() - 1e-9, None
    for feature in range(X.shape[1] if depth else 0):
        seen = np.sort(X[~np.isnan(X[:, feature]), feature])
        for threshold in seen[len(seen) // 4 :: len(seen) // 4 + 1]:
            for nan_left in (False, True):
                split = Split(feature, float(threshold), nan_left, leaf, leaf, len(X))
                left = goes_left(split, X)
                if left.any() and not left.all():
                    loss = sum(
                        ((part - part.mean()) ** 2).sum() for part in (residual[left], residual[~left])
                    )
                    best = min(best, (loss, split), key=lambda found: found[0])
    split = best[1]
    if split is None:
        return leaf
    left = goes_left(split, X)
    return split._replace(
        left=_grow(X[left], residual[left], depth - 1), right=_grow(X[~left], residual[~left], depth - 1)
    )


class _AcornEstimator(BaseEstimator):
    def __init__(self, n_trees=4, depth=3):
        self.n_trees, self.depth = n_trees, depth

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _boost(self, X, y, base, mean):
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.acorn_ = Acorn([], base, X.shape[1])
        for _ in range(self.n_trees):
            self.acorn_.trees.append(_grow(X, y - mean(self.acorn_.predict(X)), self.depth))
        return self

    def decision_function(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return self.acorn_.predict(X)


class AcornRegressor(RegressorMixin, _AcornEstimator):
    def fit(self, X, y):
        return self._boost(X, y, float(np.mean(y)), lambda margin: margin)

    predict = _AcornEstimator.decision_function


class AcornClassifier(ClassifierMixin, _AcornEstimator):
    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        return self._boost(X, codes, 0.0, expit)

    def predict_proba(self, X):
        p = expit(self.decision_function(X))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]
