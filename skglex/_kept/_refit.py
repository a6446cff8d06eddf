"""Weigh components by rows and targets: a generalized linear model with the components as its columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, lars_path

from skglex._response import split_link

# The loss of each inverse link.
_LOSSES = {
    "identity": "squared",
    "identity_multiclass": "squared",
    "probability": "squared",
    "sigmoid": "logistic",
    "multiclass_ova": "logistic",
    "exponential": "poisson",
    "softmax": "softmax",
}
# Strength of each penalty, relative to one that leaves hardly any freedom. Both are so weak that they only stop weights
# of components that do nearly the same from growing against each other, or end those that do nothing.
_STRENGTHS = {"ridge": 1e-3, "lasso": 1e-2}
_MOST_STEPS, _TOLERANCE = 50, 1e-12


@dataclass(frozen=True, eq=False)
class Problem:
    """Hold the columns and targets of a generalized linear model, one weight per component for all outputs.

    Attributes
    ----------
    loss : {"squared", "logistic", "poisson", "softmax"}
    columns : ndarray of shape (n_outputs, n_terms, n_rows)
        The components of every row.
    fixed : ndarray of shape (n_outputs, n_rows)
        What is added to the margin of each row, with the weight one.
    target : ndarray of shape (n_outputs, n_rows)
    weight : ndarray of shape (n_rows,)
    """

    loss: str
    columns: NDArray[np.float64]
    fixed: NDArray[np.float64]
    target: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def of(
        cls, link: str, columns: Any, fixed: Any, weight: Any, *, target: Any = None, margin: Any = None
    ) -> tuple[Problem, float]:
        """Make a problem of the margins of a model with an inverse link; also return the factor of the link.

        Without a target, it is what the loss expects at ``margin``, the margin of the model.

        Raises
        ------
        ValueError
            There is no loss for the link, or a target is out of range.
        """
        check_link(link)
        name, factor = split_link(link)
        loss = _LOSSES[name]
        if target is None:
            target = _expected(loss, factor * margin)
        if loss == "poisson" and (target < 0).any():
            raise ValueError(f"y must not be negative for the inverse link {link!r}; got {target.min()}")
        if loss == "logistic" and not ((target >= 0) & (target <= 1)).all():
            raise ValueError(f"y must be from 0 to 1 for the inverse link {link!r}")
        return cls(loss, factor * columns, factor * fixed, target, weight / weight.sum()), factor

    def margin(self, intercept: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the margin of every row and output."""
        return np.asarray(intercept[:, None] + self.fixed + np.einsum("ocr,c->or", self.columns, weights))

    def mean_loss(self, intercept: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
        """Return the weighted mean of the loss."""
        margin = self.margin(intercept, weights)
        if self.loss == "squared":
            values = (margin - self.target) ** 2 / 2
        elif self.loss == "softmax":
            values = logsumexp(margin, axis=0, keepdims=True) - (self.target * margin).sum(
                axis=0, keepdims=True
            )
        else:
            with np.errstate(over="ignore"):
                convex = np.logaddexp(0, margin) if self.loss == "logistic" else np.exp(margin)
            values = convex - self.target * margin
        return float((values @ self.weight).sum())

    def derivatives(
        self, intercept: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return gradient and Hessian of the mean loss; the intercepts come first, then the weights."""
        n_outputs, n_terms = self.columns.shape[:2]
        mean = _expected(self.loss, self.margin(intercept, weights))
        slope = {"squared": np.ones_like(mean), "logistic": mean * (1 - mean)}
        curvature = slope.get(self.loss, mean)
        gradient = np.zeros(n_outputs + n_terms)
        hessian = np.zeros((n_outputs + n_terms,) * 2)
        mixed = np.zeros((n_outputs + n_terms, len(self.weight)))
        for o in range(n_outputs):
            design = np.zeros((n_outputs + n_terms, len(self.weight)))
            design[o], design[n_outputs:] = 1.0, self.columns[o]
            gradient += design @ (self.weight * (mean[o] - self.target[o]))
            hessian += (design * (self.weight * curvature[o])) @ design.T
            if self.loss == "softmax":
                mixed += mean[o] * design
        if self.loss == "softmax":
            hessian -= (mixed * self.weight) @ mixed.T
        return gradient, hessian

    def scales(self) -> NDArray[np.float64]:
        """Return the root of each component's mean square, which its penalty is in units of."""
        square = np.einsum("ocr,ocr,r->c", self.columns, self.columns, self.weight)
        return np.asarray(np.sqrt(np.where(square > 0, square, 1.0)))


def check_link(link: str) -> None:
    """Raise a ValueError if there is no loss for an inverse link."""
    if split_link(link)[0] not in _LOSSES:
        raise ValueError(
            f"components cannot be weighed for a model with the inverse link {link!r}; expected one of "
            f"{sorted(_LOSSES)}. Set refit=None and selection='importance'"
        )


def _expected(loss: str, margin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the target that a loss expects at a margin of shape (n_outputs, n_rows)."""
    if loss == "logistic":
        return np.asarray(expit(margin))
    if loss == "poisson":
        return np.exp(np.minimum(margin, 500.0))
    return np.asarray(softmax(margin, axis=0)) if loss == "softmax" else margin


def refit_weights(
    problem: Problem, kind: str, intercept: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return new intercepts, and a weight for each component.

    ``"ridge"`` shrinks the weights towards one, their value in the model. ``"lasso"`` shrinks them towards zero.
    """
    start = intercept, np.ones(problem.columns.shape[1])
    if not len(start[1]) or not np.isfinite(problem.margin(*start)).all():
        return start
    found, weights = _minimise(problem, kind, _STRENGTHS[kind] * _largest_strength(problem, kind), start)
    if problem.loss == "softmax":  # A number that is added to all intercepts changes nothing.
        found = found - (found - intercept).mean()
    return found, weights


def _largest_strength(problem: Problem, kind: str) -> float:
    """Return a strength of the penalty that leaves hardly any freedom."""
    scale = problem.scales()
    if kind == "ridge":
        intercept = np.zeros(len(problem.columns))
        _, hessian = problem.derivatives(intercept, np.ones(len(scale)))
        return float(np.max(np.diag(hessian)[len(intercept) :] / scale**2))
    intercept, weights = _minimise(problem, "lasso", np.inf, (np.zeros(len(problem.columns)), 0 * scale))
    gradient, _ = problem.derivatives(intercept, weights)
    return float(np.max(np.abs(gradient[len(intercept) :]) / scale))


def _minimise(
    problem: Problem, kind: str, strength: float, start: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minimize the penalized loss by Newton steps, which are halved until the loss falls."""
    intercept, weights = start
    n_outputs, scale = len(intercept), problem.scales()
    if np.isinf(strength):
        weights = np.zeros_like(weights)

    def value(intercept: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
        size = scale**2 * (weights - 1) ** 2 / 2 if kind == "ridge" else scale * np.abs(weights)
        return problem.mean_loss(intercept, weights) + (
            0.0 if np.isinf(strength) else strength * float(size.sum())
        )

    now = value(intercept, weights)
    for _ in range(_MOST_STEPS):
        gradient, hessian = problem.derivatives(intercept, weights)
        step = _newton_step(gradient, hessian, weights, scale, kind, strength, n_outputs)
        length = 1.0
        while length > 1e-6:
            moved = intercept + length * step[:n_outputs], weights + length * step[n_outputs:]
            after = value(*moved)
            if after <= now:
                break
            length /= 2
        if length <= 1e-6:
            break
        (intercept, weights), gain, now = moved, now - after, after
        if gain <= _TOLERANCE * max(abs(now), 1e-3):
            break
    return intercept, weights


def _newton_step(
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    weights: NDArray[np.float64],
    scale: NDArray[np.float64],
    kind: str,
    strength: float,
    n_outputs: int,
) -> NDArray[np.float64]:
    """Return the step to the minimum of the quadratic approximation and the penalty."""
    free = slice(0, n_outputs)
    if np.isinf(strength):
        step = np.zeros(len(gradient))
        step[free] = _solve(hessian[free, free], -gradient[free])
        return step
    if kind == "ridge":
        penalty = np.concatenate([np.zeros(n_outputs), strength * scale**2])
        pull = penalty * np.concatenate([np.zeros(n_outputs), weights - 1])
        return np.asarray(_solve(hessian + np.diag(penalty), -gradient - pull))
    root, target = _as_least_squares(gradient, hessian, weights, scale, n_outputs)
    alpha = strength / len(root)
    lasso = Lasso(alpha=max(alpha, 1e-15), fit_intercept=False, tol=1e-10, max_iter=100_000)
    change = lasso.fit(root, target).coef_ / scale - weights
    return np.concatenate(
        [
            _solve(hessian[free, free], -gradient[free] - hessian[free, n_outputs:] @ change),
            change,
        ]
    )


def _solve(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve a symmetric system, which may be singular: the shortest of the least-squares solutions."""
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-13)[0])


def _as_least_squares(
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    weights: NDArray[np.float64],
    scale: NDArray[np.float64],
    n_outputs: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a matrix and a target whose least squares is the quadratic approximation, at the best intercepts.

    Its variables are the weights times the scales.
    """
    free, rest = slice(0, n_outputs), slice(n_outputs, None)
    solved = _solve(hessian[free, free], np.column_stack([hessian[free, rest], gradient[free]]))
    reduced = hessian[rest, rest] - hessian[rest, free] @ solved[:, :-1]
    slope = gradient[rest] - hessian[rest, free] @ solved[:, -1]
    reduced = reduced / np.outer(scale, scale)
    values, vectors = np.linalg.eigh((reduced + reduced.T) / 2)
    root = np.sqrt(np.maximum(values, values.max(initial=0.0) * 1e-13))[:, None] * vectors.T
    right = reduced @ (scale * weights) - slope / scale
    return root, np.linalg.lstsq(root.T, right, rcond=None)[0]


def lasso_terms(problem: Problem, intercept: NDArray[np.float64], n_terms: int) -> NDArray[np.int64]:
    """Return the first components on the lasso's path, in a quadratic approximation of the loss at the model itself."""
    scale, ones = problem.scales(), np.ones(problem.columns.shape[1])
    gradient, hessian = problem.derivatives(intercept, ones)
    root, target = _as_least_squares(gradient, hessian, ones, scale, len(intercept))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # Some components may be multiples of others.
        _, _, path = lars_path(root, target, method="lasso", max_iter=10 * n_terms)
    active = (path != 0).sum(axis=0)
    at = int(np.argmax(active >= n_terms)) if (active >= n_terms).any() else path.shape[1] - 1
    # Components that never enter come last, the largest first.
    order = np.lexsort((-scale, -np.abs(path[:, at])))
    return np.sort(order[:n_terms])
