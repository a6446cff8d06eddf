"""Divide the work of one call by leaves or trees, where each share has tables that serve all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._utils import Execution, budgets, scaled

# Shares of the leaves or trees, whatever the number of threads.
_SHARES = 16


def add_in_shares(
    kernel: Callable[..., Any],
    args: tuple[Any, ...],
    items: NDArray[np.int64],
    bins: NDArray[np.unsignedinteger],
    out: NDArray[np.float64],
    execution: Execution,
    label: str,
) -> None:
    """Add what ``kernel(bins, *args, some_items, part_of_out)`` writes, for all items and rows, to ``out``.

    The sums of the shares are added in a fixed order, so that the result does not depend on the number of threads.
    """
    shares = [share for share in np.array_split(items, _SHARES) if len(share)]
    size = max(1, scaled(budgets.buffer_size) // len(out))
    for start in range(0, bins.shape[1], size):
        some_bins = np.ascontiguousarray(bins[:, start : start + size])
        part_of_out = out[:, start : start + size]

        def solve(share: NDArray[np.int64], some_bins: NDArray[np.unsignedinteger] = some_bins) -> Any:
            part = np.zeros((len(out), some_bins.shape[1]))
            kernel(some_bins, *args, share, part)
            return part

        for part in execution.stream(solve, [(share,) for share in shares], label=label):
            part_of_out += part
