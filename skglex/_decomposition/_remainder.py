"""Measure what the listed components leave out of the margin."""

from __future__ import annotations

import numpy as np

from skglex._decomposition._decomposition import Decomposition
from skglex._leaves import Background, BackgroundLike, Weighting
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
            f"the margin over {n_rows:,} background rows; they are in the remainder. "
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
    steps = decomposition.order_steps(_MEASURED_ROWS, decomposition.max_order)
    affordable = int(_MEASURED_ROWS * budgets.remainder_steps / max(steps, 1.0))
    rows = background.spread_rows(min(_MEASURED_ROWS, max(_FEWEST_ROWS, affordable)))
    if rows is None:
        return None
    return _remainder_share(decomposition, rows, rows.weighting if empirical else None, execution)


def _remainder_share(
    decomposition: Decomposition, rows: Background, weighting: Weighting | None, execution: Execution
) -> float:
    """Return Var(remainder) / Var(margin) over some rows, the largest over the outputs."""
    if not rows.weight.any():
        return 0.0
    margin = decomposition.margins(rows.bins, execution)
    listed = decomposition.sum_by_order(rows.bins, decomposition.max_order, execution, weighting).sum(axis=0)
    centred = [p - np.average(p, axis=1, weights=rows.weight)[:, None] for p in (margin - listed, margin)]
    left_out, total = [(part**2) @ rows.weight for part in centred]
    return float(np.divide(left_out, total, out=np.zeros(len(total)), where=total > 0).max())
