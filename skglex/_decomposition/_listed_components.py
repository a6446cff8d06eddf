"""Compute the values of listed components: from tables over the bins where these fit, else from the leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex
from skglex._decomposition._streaming import add_streamed, by_path_set
from skglex._decomposition._sweeps import PairsOfRows, swept
from skglex._decomposition._table_or_stream import warn_of_streaming
from skglex._decomposition._tables import (
    ComponentTables,
    fill_tables,
    lay_out_points,
    lay_out_tables,
    table_axes,
)
from skglex._leaves import CoalitionWeights
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets
from skglex.components import Axis


class ListedComponents:
    """Compute the components of a list at binned rows.

    Parameters
    ----------
    index : ComponentIndex
    weights : CoalitionWeights
        Weights of all coalitions that the components need.
    warns : bool
        Whether to warn of components that have no table.
    """

    def __init__(self, index: ComponentIndex, weights: CoalitionWeights, *, warns: bool = True) -> None:
        self.index = index
        self._warns = warns
        self._weights = weights
        self._layout: ComponentTables | None = None
        self._tables: ComponentTables | None = None
        self.copies_need_tables = False
        self._filling = Lock()

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_filling"}
        if not self.copies_need_tables:
            # A copy computes the tables again. So what is saved does not depend on what was looked at before.
            state |= {"_layout": None, "_tables": None}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._filling = Lock()

    def __len__(self) -> int:
        return len(self.index.sets)

    @property
    def sets(self) -> list[tuple[int, ...]]:
        """Return the players of every component."""
        return self.index.sets

    @property
    def weights(self) -> CoalitionWeights:
        """Return the weights of all coalitions that the components need."""
        return self._weights

    @property
    def orders(self) -> NDArray[np.int64]:
        """Return the order of every component."""
        return np.array([len(members) for members in self.sets], dtype=np.int64)

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs."""
        return self._weights.games.ensemble.n_outputs

    def layout(self, execution: Execution) -> ComponentTables:
        """Return the components' tables without their values; warn the first time if some components have none."""
        if self._layout is None:
            self._layout = lay_out_tables(self.index, self._weights, execution=execution)
            if self._warns:
                warn_of_streaming(self._layout.tabulated)
        return self._layout

    def tables(self, execution: Execution) -> ComponentTables:
        """Return the components' tables, which the first call computes; threads that share this object wait for it."""
        return self._fill_once(execution)[0]

    def _fill_once(
        self, execution: Execution, also: Callable[..., None] | None = None
    ) -> tuple[ComponentTables, bool]:
        """Return the tables, and whether this call filled them, and let ``also`` have the weights (`fill_tables`)."""
        if self._tables is None:
            with self._filling:
                if self._tables is None:
                    layout = self.layout(execution)
                    self._tables = fill_tables(layout, self.index, self._weights, execution, also)
                    return self._tables, True
        return self._tables, False

    def table(
        self,
        position: int,
        names: list[str],
        categories: Mapping[int, NDArray[Any]],
        execution: Execution,
    ) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        """Return the axes and the values of one component's table; a streamed component gets one if it fits.

        Raises
        ------
        ValueError
            The table would be too large.
        """
        tables, ensemble = self._tables_with(position, execution), self._weights.games.ensemble
        axes, cells = table_axes(tables, position, ensemble, names, categories)
        return axes, tables.table(position, ensemble.n_outputs)[np.ix_(*cells)]

    def axes(
        self,
        position: int,
        names: list[str],
        categories: Mapping[int, NDArray[Any]],
        execution: Execution,
    ) -> tuple[Axis, ...]:
        """Return the axes of one component's table, which may be too large to compute."""
        layout = self.layout(execution)
        if not layout.tabulated[position]:
            layout = self._lay_out_alone(position, execution)
        return table_axes(layout, position, self._weights.games.ensemble, names, categories)[0]

    def table_at(
        self, position: int, points: list[NDArray[np.int64]], execution: Execution
    ) -> NDArray[np.float64]:
        """Return one component at combinations of bins: shape (n_points, ..., n_outputs).

        ``points`` are bins of the grid, some along each axis. The table of all bins may be too large to compute.
        """
        layout = self.layout(execution)
        if layout.tabulated[position]:
            tables, cells = self.tables(execution), []
            for a, bins in enumerate(points, start=layout.axes(position).start):
                cells.append(tables.layout.maps[tables.layout.map_ptr[a] :][bins])
            return tables.table(position, self.n_outputs)[np.ix_(*cells)]
        distinct, back = zip(*(np.unique(bins, return_inverse=True) for bins in points))
        at = dict(zip(layout.axis_features(position).tolist(), distinct))
        alone = lay_out_points(self.index, self._weights, layout.layout.axes, np.array([position]), at)
        filled = fill_tables(alone, self.index, self._weights, execution=execution)
        return filled.table(position, self.n_outputs)[np.ix_(*back)]

    def _tables_with(self, position: int, execution: Execution) -> ComponentTables:
        """Return tables that hold one component at least."""
        tables = self.tables(execution)
        if tables.tabulated[position]:
            return tables
        size = prod(map(float, tables.axis_sizes(position))) * self.n_outputs
        if size > budgets.largest_table_cells:
            raise ValueError(
                f"the table of this component would have {size:,.0f} cells ({size / 2**27:,.1f} GiB). Use "
                "evaluate(X), or train on fewer bins (max_bin)"
            )
        alone = self._lay_out_alone(position, execution)
        return fill_tables(alone, self.index, self._weights, execution=execution)

    def _lay_out_alone(self, position: int, execution: Execution) -> ComponentTables:
        """Lay out the table of one component, whatever its size, without values."""
        wanted = np.array([position])
        # The axes of a table are right even if its number of cells is too large for an integer.
        with np.errstate(over="ignore", invalid="ignore"):
            return lay_out_tables(
                self.index, self._weights, wanted=wanted, max_cells=2**62, execution=execution
            )

    def evaluate(
        self,
        bins: NDArray[np.unsignedinteger],
        chosen: NDArray[np.int64],
        out: NDArray[Any],
        execution: Execution = DEFAULT_EXECUTION,
    ) -> None:
        """Write the chosen components: the i-th of output o to row ``o * (len(out) / n_outputs) + i`` of ``out``."""
        layout = self.layout(execution)
        column, by_table = np.arange(len(chosen)), layout.tabulated[chosen]
        if by_table.all():
            self.tables(execution).look_up(bins, chosen, column, self.n_outputs, out, execution)
            return
        for o in range(self.n_outputs):
            out[o * (len(out) // self.n_outputs) + column[~by_table]] = 0
        by_pair = ~by_table & swept(self.index, layout.layout.axes, bins.shape[1])[chosen]
        pairs, has_pairs = None, False
        if by_pair.any():
            some = chosen[by_pair], column[by_pair]
            pairs = PairsOfRows(self.index, layout.layout.axes, self._weights, *some, bins, out, execution)
        if by_table.any():
            tables, has_pairs = self._fill_once(execution, pairs.add if pairs else None)
            tables.look_up(bins, chosen[by_table], column[by_table], self.n_outputs, out, execution)
        if pairs is not None:
            for leaves, coalitions in () if has_pairs else self._weights.chunks(execution=execution):
                pairs.add(leaves, coalitions)
            pairs.finish()
        by_leaf = ~by_table & ~by_pair
        if by_leaf.any():
            components = by_path_set(self.index, chosen[by_leaf], column[by_leaf])
            add_streamed(components, self._weights, bins, out, execution=execution)
