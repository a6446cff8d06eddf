"""Solve a convex quadratic program with a diagonal Hessian by an interior-point method."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

# Relative gap at which the iteration stops, and its most steps.
_TOLERANCE, _MOST_STEPS = 1e-14, 100
# A larger gap at the best point is an error.
_ACCEPTED = 1e-8
# Relative size of the gradient of a point that is close to a solution for its gap.
_STEADY = 1e-7
# A diagonal term that keeps the systems regular where no constraint holds a variable without cost.
_REGULAR = 1e-14


def solve_projection(
    weight: NDArray[np.float64], constraints: Any, lower: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Minimize ``1/2 sum(weight * x**2)`` subject to ``constraints @ x >= lower``.

    Mehrotra's predictor-corrector method. A step solves two systems with one sparse factor.

    Parameters
    ----------
    weight : ndarray of shape (n,)
        Positive or zero. A variable of weight zero has to be in a constraint.
    constraints : sparse matrix of shape (m, n)
    lower : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    RuntimeError
        The method does not converge.
    """
    size = float(np.abs(lower).max(initial=0.0))
    if size == 0.0:
        return np.zeros(len(weight))
    # Residuals are measured in units of one: the weights' mean is one, and so is the largest bound.
    scale = float(weight.sum()) / max(int(np.count_nonzero(weight)), 1)
    return size * _solve(weight / scale, sp.csc_matrix(constraints), lower / size)


def _solve(weight: NDArray[np.float64], matrix: Any, lower: NDArray[np.float64]) -> NDArray[np.float64]:
    n_bounds, n = matrix.shape
    slack = np.maximum(-lower, 1.0)
    point = _Point(weight, matrix, lower, np.zeros(n), slack, np.ones(n_bounds))
    best, least = point.x, np.inf
    for _ in range(_MOST_STEPS):
        gap, unsteady = point.gap()
        if gap < least and unsteady < _STEADY:
            best, least = point.x, gap
        # Close to the solution, rounding begins to move the gradient.
        if gap < _TOLERANCE or (gap < _ACCEPTED and unsteady > _STEADY):
            break
        following = point.next()
        # At the solution, the systems become singular to rounding.
        if following is None or not (np.isfinite(following.x).all() and np.isfinite(following.dual).all()):
            break
        point = following
    if least > _ACCEPTED:
        raise RuntimeError(f"the quadratic program did not converge: its gap is {least:.1g}")
    return best


class _Point(NamedTuple):
    """Hold a program, its variables, the slack of its constraints, and their dual variables."""

    weight: NDArray[np.float64]
    matrix: Any
    lower: NDArray[np.float64]
    x: NDArray[np.float64]
    slack: NDArray[np.float64]
    dual: NDArray[np.float64]

    def _residuals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the gradient of the Lagrangian, and what the constraints miss."""
        gradient = self.weight * self.x - self.matrix.T @ self.dual
        return gradient, self.matrix @ self.x - self.slack - self.lower

    def gap(self) -> tuple[float, float]:
        """Return the gap to the minimum or the largest miss of a constraint, and the largest part of the gradient.

        Both are relative: to the minimum, and to the largest part of the cost's own gradient.
        """
        gradient, missed = self._residuals()
        own = self.weight * self.x
        gap = self.slack @ self.dual / (1.0 + own @ self.x / 2)
        unsteady = np.abs(gradient).max() / max(1.0, np.abs(own).max())
        return float(max(gap, np.abs(missed).max())), float(unsteady)

    @np.errstate(divide="ignore", over="ignore", invalid="ignore")
    def next(self) -> _Point | None:
        """Return the next point: a step to the boundary tells how far the constraints' products may shrink.

        Return None if the system of a step is singular.
        """
        matrix, slack, dual = self.matrix, self.slack, self.dual
        gradient, missed = self._residuals()
        ratio = dual / slack
        hessian = sp.diags(self.weight + _REGULAR) + matrix.T @ sp.diags(ratio) @ matrix
        try:
            factor = splu(
                hessian.tocsc(),
                permc_spec="MMD_AT_PLUS_A",
                options={"SymmetricMode": True},
                diag_pivot_thresh=0.0,
            )
        except RuntimeError:
            return None

        def step(target: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
            """Return the changes of all variables towards ``slack * dual = target``."""
            change = factor.solve(matrix.T @ (target / slack - dual - ratio * missed) - gradient)
            of_slack = matrix @ change + missed
            return change, of_slack, (target - dual * of_slack) / slack - dual

        mean = float(slack @ dual) / len(dual)
        _, of_slack, of_dual = step(np.zeros(len(dual)))
        length = min(_longest(slack, of_slack), _longest(dual, of_dual))
        after = float((slack + length * of_slack) @ (dual + length * of_dual)) / len(dual)
        change, of_slack, of_dual = step((after / mean) ** 3 * mean - of_slack * of_dual)
        length = min(1.0, 0.995 * min(_longest(slack, of_slack), _longest(dual, of_dual)))
        return self._replace(
            x=self.x + length * change, slack=slack + length * of_slack, dual=dual + length * of_dual
        )


def _longest(value: NDArray[np.float64], change: NDArray[np.float64]) -> float:
    """Return the longest step, at most one, at which all values stay positive."""
    falling = change < 0
    return float(min(1.0, (-value[falling] / change[falling]).min(initial=1.0)))
