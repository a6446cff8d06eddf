"""Hold the tables of components that are no longer computed from leaves: stored ones, and edited ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._listed_components import ListedComponents
from skglex._decomposition._tables import ComponentTables
from skglex._kernels.arguments import Axes, TableLayout
from skglex._kernels.component_tables import add_values
from skglex._leaves import Grid
from skglex._utils import DEFAULT_EXECUTION, Execution, row_chunks
from skglex.components import Axis, bins_along


class GivenTables(ListedComponents):
    """Hold given tables in the form in which a decomposer has its own.

    Parameters
    ----------
    sets : list of tuple of int
        The players of every component.
    axes : list of tuple of Axis
        The axes of every component.
    values : list of ndarray
        The table of every component; the outputs are the last axis.
    columns : list of list of int
        The feature of every axis.
    grid : Grid
        All bins of the features.
    n_outputs : int, optional
        Needed only if there are no components.
    """

    def __init__(
        self,
        sets: list[tuple[int, ...]],
        axes: list[tuple[Axis, ...]],
        values: list[NDArray[np.float64]],
        columns: list[list[int]],
        grid: Grid,
        n_outputs: int = 1,
    ) -> None:
        self._sets = sets
        self._axes = axes
        self._values = values
        n_outputs = values[0].shape[-1] if values else n_outputs
        self._n_outputs = n_outputs
        used = [np.searchsorted(grid.features, features) for features in columns]
        edges = {int(j): grid.edges(int(j)) for j in np.unique(_join(used, np.int64))}
        maps = [
            bins_along(axis, edges[int(j)])
            for axes_of, features in zip(axes, used)
            for axis, j in zip(axes_of, features)
        ]
        n_cells = np.array([table.size // n_outputs for table in values], dtype=np.int64)
        strides = [
            np.array(table.strides[:-1]) // table.strides[-2] for table in map(np.ascontiguousarray, values)
        ]
        layout = TableLayout(
            axes=Axes(_starts(used, end=True), _join(used, np.int64)),
            size=np.array([axis.n_bins for axes_of in axes for axis in axes_of], dtype=np.int64),
            stride=_join(strides, np.int64),
            map_ptr=_starts(maps),
            maps=_join(maps, np.int32),
            table_ptr=(np.cumsum(n_cells) - n_cells) * n_outputs,
            n_cells=n_cells,
        )
        outputs_first = _join([np.moveaxis(table, -1, 0).ravel() for table in values], np.float64)
        self._filled = ComponentTables(np.ones(len(sets), dtype=bool), layout, outputs_first)

    @property
    def sets(self) -> list[tuple[int, ...]]:
        """Return the players of every component."""
        return self._sets

    def __len__(self) -> int:
        return len(self._sets)

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs."""
        return self._n_outputs

    def layout(self, execution: Execution) -> ComponentTables:
        """Return the tables."""
        return self._filled

    def tables(self, execution: Execution) -> ComponentTables:
        """Return the tables."""
        return self._filled

    def table(
        self, position: int, names: list[str], categories: Any, execution: Execution
    ) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        """Return the axes and the values of one component's table."""
        return self._axes[position], self._values[position]

    def axes(
        self, position: int, names: list[str], categories: Any, execution: Execution
    ) -> tuple[Axis, ...]:
        """Return the axes of one component's table."""
        return self._axes[position]

    def add(
        self,
        bins: NDArray[np.unsignedinteger],
        chosen: NDArray[np.int64],
        row: NDArray[np.int64],
        factor: NDArray[np.float64],
        out: NDArray[np.float64],
        execution: Execution = DEFAULT_EXECUTION,
    ) -> None:
        """Add multiples of components to sums of components, at binned rows.

        Parameters
        ----------
        bins : ndarray of shape (n_used_features, n_rows)
        chosen : ndarray of shape (n_items,), int64
            The component of each item. A component may occur several times.
        row, factor : ndarray of shape (n_items,), int64 and float64
            The sum that each item is added to, and what it is multiplied by first.
        out : ndarray of shape (n_sums * n_outputs, n_rows), float64
            The sums. Sum ``s`` of output ``o`` is row ``o * n_sums + s``.
        execution : Execution
        """
        tables = self._filled
        args = bins, tables.layout, tables.values, self._n_outputs, chosen, row, factor
        execution.run(add_values, [(*args, r0, r1, out) for r0, r1 in row_chunks(bins.shape[1])])


def _starts(parts: list[NDArray[Any]], *, end: bool = False) -> NDArray[np.int64]:
    ends = np.cumsum([0, *map(len, parts)])
    return np.asarray(ends if end else ends[:-1], dtype=np.int64)


def _join(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype)
