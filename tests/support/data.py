"""Provide the data sets and the lists that many test files use."""

from typing import Any, NamedTuple

import numpy as np

WEIGHTINGS = ["empirical", "path_dependent"]


def make_data(n=300, n_features=4, *, missing=0.1, decimals=None, seed=0):
    """Return X and a signal with an interaction; column 3 holds whole numbers and zeros of either sign, never NaN."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    X = X if decimals is None else X.round(decimals)
    X[rng.random(X.shape) < missing] = np.nan
    if n_features > 3:
        X[:, 3] = rng.integers(-2, 3, size=n) * rng.choice([-1.0, 1.0], size=n)
    Z = np.nan_to_num(X, nan=1.5)
    signal = Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + rng.normal(scale=0.1, size=n)
    return X, signal + (Z[:, 3] > 0 if n_features > 3 else 0)


class Targets(NamedTuple):
    """Hold a target of every kind, made of one signal."""

    signal: Any
    binary: Any
    classes: Any
    positive: Any
    counts: Any
    several: Any
    labels: Any


def make_targets(signal):
    """Return targets of every kind; ``several`` has three columns, ``labels`` three columns of zeros and ones."""
    binary, classes = (signal > 0.3).astype(int), np.digitize(signal, [-0.2, 0.9])
    positive = np.exp(signal / 2)
    labels = np.column_stack([binary, classes == 1, classes == 2]).astype(int)
    several = np.column_stack([signal, 1 - np.roll(signal, 1), positive])
    return Targets(signal, binary, classes, positive, np.floor(positive), several, labels)
