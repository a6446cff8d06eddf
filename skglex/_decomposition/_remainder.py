"""Measure what the listed components leave out of the margin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._decomposition import Decomposition
from skglex._decomposition._order_walks import OrderWalks
from skglex._leaves import BackgroundLike
from skglex._utils import Execution, budgets, warn_user
from skglex.exceptions import RemainderWarning

# `fit` measures the remainder on at most, and at least, this many background rows.
_MEASURED_ROWS, _FEWEST_ROWS = 1000, 50
# Share of the variance of the margin above which `fit` warns.
_LARGE_SHARE = 0.1


def warn_of_remainder(
    decomposition: Decomposition, background: BackgroundLike, execution: Execution, *, empirical: bool
) -> None:
    """Warn if the components up to the highest listed order leave out much of the margin."""
    share = remainder_share(decomposition, background, execution, empirical=empirical)
    if share is not None and share > _LARGE_SHARE:
        plural = "s" if decomposition.max_order > 1 else ""
        n_rows = min(background.n_rows, _MEASURED_ROWS)
        warn_user(
            f"components of more than {decomposition.max_order} feature{plural} hold {share:.0%} of the variance of "
            f"the margin over at most {n_rows:,} background rows; they are in the remainder. "
            "skglex.inspection.interaction_strength tells which order holds how much. Raise max_interaction to list "
            "more components. SHAP values contain all orders",
            RemainderWarning,
        )


def remainder_share(
    decomposition: Decomposition, background: BackgroundLike, execution: Execution, *, empirical: bool
) -> float | None:
    """Return Var(remainder) / Var(margin) over some background rows; None if it cannot be measured.

    With empirical weights, the measured rows are the background as well. Shares of all rows could take longer than
    all else that the user asks for.
    """
    if decomposition.complete:
        return 0.0
    if decomposition.without_margin is not None:
        return None
    n_rows, walks = _cheapest(decomposition, background, empirical=empirical)
    rows = background.spread_rows(n_rows)
    if rows is None:
        return None
    if not rows.weight.any():
        return 0.0
    if walks is not None:
        by_order = walks(rows, execution)
    else:
        weighting = rows.weighting if empirical else None
        by_order = decomposition.sum_by_order(rows.bins, decomposition.max_order, execution, weighting)
    return _variance_share(decomposition.margins(rows.bins, execution), by_order.sum(axis=0), rows.weight)


def _cheapest(
    decomposition: Decomposition, background: BackgroundLike, *, empirical: bool
) -> tuple[int, OrderWalks | None]:
    """Return how many rows are measured, and the walks if they afford as many rows as the sum over the leaves."""
    largest = decomposition.max_order
    steps = decomposition.order_steps(_MEASURED_ROWS, largest) / _MEASURED_ROWS
    n_rows = _between(budgets.remainder_steps / max(steps, 1.0))
    few = background.spread_rows(_FEWEST_ROWS)
    if not empirical or n_rows == _MEASURED_ROWS or few is None:
        return n_rows, None
    walks = OrderWalks(decomposition.margins, decomposition.players, decomposition.allowed, largest)
    if not walks.possible:
        return n_rows, None
    n_walked = _between(np.sqrt(budgets.walk_steps / max(walks.steps(few), 1.0)))
    return (n_walked, walks) if n_walked >= n_rows else (n_rows, None)


def _between(n_rows: float) -> int:
    return int(np.clip(n_rows, _FEWEST_ROWS, _MEASURED_ROWS))


def _variance_share(
    margin: NDArray[np.float64], listed: NDArray[np.float64], weight: NDArray[np.float64]
) -> float:
    """Return Var(margin - listed) / Var(margin) over weighted rows, the largest over the outputs."""
    centred = [p - np.average(p, axis=1, weights=weight)[:, None] for p in (margin - listed, margin)]
    left_out, total = [(part**2) @ weight for part in centred]
    return float(np.divide(left_out, total, out=np.zeros(len(total)), where=total > 0).max())
