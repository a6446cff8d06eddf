"""Inverse links: from the margin to what a model's own ``predict`` or ``predict_proba`` returns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Margin = NDArray[np.float64]


def _softmax(margin: Margin) -> Margin:
    return np.asarray(softmax(margin, axis=1))


def _hinge(margin: Margin) -> Margin:
    return (margin > 0).astype(np.float64)


def _signed_square(margin: Margin) -> Margin:
    return margin * np.abs(margin)


def _softplus(margin: Margin) -> Margin:
    return np.logaddexp(0.0, margin)


def _largest(margin: Margin) -> Margin:
    return np.asarray(margin.argmax(axis=1, keepdims=True), dtype=np.float64)


def _probability(margin: Margin) -> Margin:
    """Clip estimated probabilities to [0, 1]; several classes are scaled to sum to 1."""
    p = np.clip(margin, 0.0, 1.0)
    if p.shape[1] == 1:
        return p
    total = p.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(p, total, out=np.full_like(p, 1 / p.shape[1]), where=total > 0))


def _mean_variance(margin: Margin) -> Margin:
    """From mean and logarithm of the standard deviation to mean and variance."""
    return np.column_stack([margin[:, 0], np.exp(2 * margin[:, 1])])


def _identity(margin: Margin) -> Margin:
    return margin


# treelite's names, plus "max_index" for models that return the winning class itself, "probability" for
# those whose margin is a probability that may leave [0, 1], and "mean_variance" for CatBoost's RMSEWithUncertainty
_INVERSE: dict[str, Callable[[Margin], Margin]] = {
    "identity": _identity,
    "identity_multiclass": _identity,
    "sigmoid": expit,
    "exponential": np.exp,
    "signed_square": _signed_square,
    "logarithm_one_plus_exp": _softplus,
    "multiclass_ova": expit,
    "softmax": _softmax,
    "hinge": _hinge,
    "max_index": _largest,
    "probability": _probability,
    "mean_variance": _mean_variance,
}


def inverse_link(link: str, margin: Margin) -> Margin:
    """Apply a model's inverse link to its margin of shape (n_samples, n_outputs).

    A number after the name, ``"sigmoid 2.0"``, is a factor that the margin is multiplied with first.
    """
    name, factor = split_link(link)
    if name == "custom":
        raise ValueError(
            "the model was trained with a custom objective, so nothing tells what takes its margin to probabilities: "
            "use the margin"
        )
    if name not in _INVERSE:
        raise ValueError(f"the inverse link {link!r} is not known; known are {sorted(_INVERSE)}")
    return _INVERSE[name](margin if factor == 1 else factor * margin)


def even_margin(link: str) -> float:
    """The margin at which a binary classifier's classes are equally probable."""
    name, factor = split_link(link)
    return {"identity": 0.5, "probability": 0.5, "exponential": float(np.log(0.5))}.get(name, 0.0) / factor


def join_link(name: str, factor: float) -> str:
    """An inverse link that multiplies the margin by a factor first."""
    return name if factor == 1 else f"{name} {factor!r}"


def is_link(link: str) -> bool:
    """Whether a link is the name of an inverse link, or of one that nobody knows ("custom")."""
    try:
        return split_link(link)[0] in {*_INVERSE, "custom"}
    except ValueError:  # the factor is no number
        return False


def split_link(link: str) -> tuple[str, float]:
    """Name and factor of an inverse link."""
    name, _, factor = link.partition(" ")
    return name, float(factor or 1)
