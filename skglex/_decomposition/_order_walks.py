"""Sum all components of each order at background rows, where few rows are enough and leaves are many."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.order_walks import sum_orders_by_walks
from skglex._leaves import Background, LeafSum, Players
from skglex._utils import Execution

# Rows of one task. The order in which background rows are summed follows from the rows before, so tasks are fixed.
_ROWS = 8


class OrderWalks:
    """Sum the components of each order at background rows, beside the same rows.

    Parameters
    ----------
    margins : LeafSum
    players : Players
    allowed : ndarray of shape (n_players,), bool, or None
        Players whose components count.
    n_orders : int
        Highest order.
    """

    def __init__(
        self, margins: LeafSum, players: Players, allowed: NDArray[np.bool_] | None, n_orders: int
    ) -> None:
        self._margins, self._n_orders = margins, n_orders
        of_feature = players.player_of_feature
        self._player = of_feature if allowed is None else np.where(allowed[of_feature], of_feature, -1)
        self._signed = np.array(
            [[(-1.0) ** j * comb(b, j) for b in range(players.largest + 1)] for j in range(n_orders + 1)]
        )

    @property
    def possible(self) -> bool:
        """Return whether the leaves are those of trees."""
        return self._margins.packed is not None

    def steps(self, background: Background) -> float:
        """Measure the steps of one row beside one background row, on a few rows."""
        rows = background.spread_rows(8)
        kernel_args, out = self._arguments(rows), np.zeros(self._shape(rows))
        return float(sum_orders_by_walks(rows.bins, *kernel_args, out)) / rows.n_rows**2

    def __call__(self, rows: Background, execution: Execution) -> NDArray[np.float64]:
        """Return the sum of all components of each order: shape (n_orders, n_outputs, n_rows)."""
        kernel_args, out = self._arguments(rows), np.zeros(self._shape(rows))
        parts = [slice(r0, r0 + _ROWS) for r0 in range(0, rows.n_rows, _ROWS)]
        execution.run(
            sum_orders_by_walks,
            [(np.ascontiguousarray(rows.bins[:, part]), *kernel_args, out[part]) for part in parts],
        )
        return out.reshape(rows.n_rows, -1, self._n_orders).transpose(2, 1, 0)

    def _shape(self, rows: Background) -> tuple[int, int]:
        return rows.n_rows, self._margins.n_outputs * self._n_orders

    def _arguments(self, rows: Background) -> tuple[Any, ...]:
        packed = self._margins.packed
        assert packed is not None, "possible says so"
        share = rows.weight / rows.total
        return rows.bins, share, packed.trees, self._player, self._signed, int(packed.depth.max(initial=0))
