"""Find the distinct values of some features in a background, as far as a model tells them apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._input._categories import raw_column
from skglex._input._origins import distinct_values
from skglex._input._rows import fill_columns, take_rows
from skglex._input._saved_row import pack_row, unpack_row
from skglex._input._spec import InputSpec
from skglex._leaves import Background, Grid
from skglex._utils import budgets


@dataclass(frozen=True)
class DistinctValues:
    """Hold the distinct values of some features, as rows of a background.

    Attributes
    ----------
    positions : list of int
        Positions of the features.
    rows : list of array, sparse matrix or data frame of one row
        A row with each combination of values.
    used_features : ndarray of shape (n_used,), int64
        The features on the grid.
    bins : ndarray of shape (n_used, n_rows)
        Their bins in every row.
    shares : ndarray of shape (n_rows,), float64
        Share of the background with each combination.
    """

    positions: list[int]
    rows: list[Any]
    used_features: NDArray[np.int64]
    bins: NDArray[np.unsignedinteger]
    shares: NDArray[np.float64]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "rows": [pack_row(row) for row in self.rows]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "rows": [unpack_row(row) for row in state["rows"]]})

    def mixed_with(
        self, X: Any, bins: NDArray[np.unsignedinteger], spec: InputSpec, grid: Grid
    ) -> Iterator[tuple[float, NDArray[np.unsignedinteger]]]:
        """Yield the share of every combination of values, and the bins of the rows X with these values.

        ``bins`` has the bins of X itself.
        """
        assert spec.derive is not None
        n_own = int(np.searchsorted(grid.features, spec.n_features))
        columns = np.zeros(bins.shape)
        for share, row, own in zip(self.shares.tolist(), self.rows, self.bins.T):
            mixed = bins.copy()
            mixed[self.used_features] = own[:, None]
            derived = spec.derive(fill_columns(X, self.positions, row, numbers=True))
            columns[n_own:] = derived.T[grid.features[n_own:] - spec.n_features]
            mixed[n_own:] = grid.bin(columns)[n_own:]
            yield share, mixed


def find_distinct_values(
    X: Any, positions: list[int], spec: InputSpec, grid: Grid, background: Background
) -> DistinctValues:
    """Find the distinct values of features in a background, as far as the model tells them apart.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        The background.
    positions : list of int
        Positions of the features.
    spec : InputSpec
        How the model reads its columns.
    grid : Grid
    background : Background
        The binned background.

    Raises
    ------
    ValueError
        There are too many.
    """
    members = {position for columns in spec.derived for position in columns}
    used_features = np.flatnonzero(np.isin(grid.features, positions))
    keys = list(background.bins[used_features])
    for position in sorted(members & set(positions)):
        column = raw_column(X, position)
        borders = spec.derived_borders.get(position)
        if borders is None:
            keys.append(distinct_values(column)[1])
        else:
            # A value counts by the borders that it is above; NaN is above none.
            numbers = np.asarray(column, dtype=np.float64).astype(np.float32)
            keys.append((numbers[None] > borders[:, None]).sum(axis=0))
    _, first, which = np.unique(np.column_stack(keys), axis=0, return_index=True, return_inverse=True)
    if len(first) > budgets.removed_values:
        raise ValueError(
            f"the removed features have {len(first):,} distinct combinations of values in the background, and the "
            "model splits on combinations of them with other features, so that it predicts with each of them; at most "
            f"{budgets.removed_values:,} are supported. Remove fewer features, set n_background, or train the model "
            "with max_ctr_complexity=1"
        )
    shares = np.bincount(which.ravel(), background.weight, len(first)) / background.total
    rows = [take_rows(X, np.array([row])) for row in first.tolist()]
    return DistinctValues(positions, rows, used_features, background.bins[used_features][:, first], shares)
