"""Inverse links: from the margin to what a model's own ``predict`` or ``predict_proba`` returns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Margin = NDArray[np.float64]


def _softmax(margin: Margin) -> Margin:
    probabilities: Margin = softmax(margin, axis=1)
    return probabilities


def _hinge(margin: Margin) -> Margin:
    return (margin > 0).astype(np.float64)


def _largest(margin: Margin) -> Margin:
    return margin.argmax(axis=1, keepdims=True).astype(np.float64)


def _identity(margin: Margin) -> Margin:
    return margin


# treelite's names, plus "max_index" for models that return the winning class itself
_INVERSE: dict[str, Callable[[Margin], Margin]] = {
    "identity": _identity,
    "identity_multiclass": _identity,
    "sigmoid": expit,
    "exponential": np.exp,
    "softmax": _softmax,
    "hinge": _hinge,
    "max_index": _largest,
}


def inverse_link(link: str, margin: Margin) -> Margin:
    """Apply a model's inverse link to its margin of shape (n_samples, n_outputs)."""
    if link not in _INVERSE:
        raise ValueError(f"the inverse link {link!r} is not known; known are {sorted(_INVERSE)}")
    return _INVERSE[link](margin)
