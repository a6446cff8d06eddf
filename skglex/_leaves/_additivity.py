"""What keeps results honest: sums compared with the model's own margin, and warnings where numbers mean little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skglex._leaves._leaves import LeafEnsemble
from skglex._utils import warn_user
from skglex.exceptions import AdditivityError, SmallBackgroundWarning

# The order whose 2 ** order background rows are enough for any.
_LARGEST_SMALL_ORDER = 4


def require_equal(
    own: NDArray[np.float64],
    ours: NDArray[np.float64],
    rounding: NDArray[np.float64],
    rows: NDArray[np.int64],
    what: str,
    where: str,
) -> None:
    """Raise unless our sums of leaves or components are the model's own margin, up to rounding."""
    if own.shape != ours.shape:
        raise _misread(f"{ours.shape[1]} outputs were read, its margin has {own.shape[1]}", where)
    rounding = np.broadcast_to(rounding, own.shape)
    with np.errstate(invalid="ignore"):  # a target of one class gives infinite margins
        error = np.where(own == ours, 0.0, np.abs(own - ours))
    if not (close := error <= rounding).all():
        row, output = np.unravel_index(np.argmax(np.where(close, -np.inf, error - rounding)), error.shape)
        raise _misread(
            f"on row {rows[row]} its margin is {own[row, output]!r}, the {what} add up to {ours[row, output]!r}, "
            f"off by {error[row, output]:.3g} (rounding: {rounding[row, output]:.1g})",
            where,
        )


def rounding_of(ensemble: LeafEnsemble) -> NDArray[np.float64]:
    """By how much a sum in float32 may differ from ours, per output.

    The bound for the worst case: late trees add the same small value again and again, each time rounded the same way.
    """
    n_trees = np.zeros(ensemble.n_outputs)
    scale = np.abs(ensemble.base).astype(np.float64)
    width = ensemble.value.shape[1]
    occupied = np.diff(ensemble.tree_ptr) > 0
    if len(ensemble.value):
        largest = np.maximum.reduceat(np.abs(ensemble.value), ensemble.tree_ptr[:-1][occupied])
        first = ensemble.output[ensemble.tree_ptr[:-1][occupied]]
        for v in range(width):
            np.add.at(scale, first + v, largest[:, v])
            np.add.at(n_trees, first + v, 1)
    epsilon = float(np.finfo(np.float32).eps)
    return epsilon / 2 * (8 + n_trees) * scale + np.finfo(np.float32).tiny


def _misread(what: str, where: str) -> AdditivityError:
    return AdditivityError(
        f"the model was not read exactly: {what}. No component can be trusted, so {where} stops here. "
        + (
            "If the model was trained further since fit, fit again. Else please"
            if where != "fit"
            else "Please"
        )
        + " report this with the model, the versions of its library and of treelite, and the row; "
        "check_additivity=False skips this check"
    )


def warn_of_small_background(n_rows: float, order: int) -> None:
    """Warn where components of an order are averaged over few rows; ``n_rows`` is what they count as."""
    if order >= 1 and n_rows < (needed := 2 ** min(order, _LARGEST_SMALL_ORDER)):
        warn_user(
            f"the background counts as {n_rows:.3g} rows (by their weights), few for components of order {order}, "
            f"whose weights are shares of it: pass at least {needed} rows, lower max_interaction, or use "
            "weighting='path_dependent'",
            SmallBackgroundWarning,
        )
