"""Decompose a model: its components, margins and Shapley values at binned rows."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import ComponentIndex, index_components
from skglex._decomposition._shapley import ShapleySums
from skglex._decomposition._streaming import add_streamed
from skglex._decomposition._table_or_stream import warn_of_streaming
from skglex._decomposition._tables import ComponentTables, fill_tables, lay_out_tables, table_axes
from skglex._leaves import (
    CoalitionWeights,
    LeafEnsemble,
    LeafGames,
    LeafSum,
    Players,
    Weighting,
    group_patterns,
)
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets
from skglex.components import Axis


class Decomposition:
    """Decompose a leaf ensemble exactly under one weighting.

    Shapley values, margins and the intercept are available at once, components after `list_components`.

    Parameters
    ----------
    ensemble : LeafEnsemble
    players : Players
    n_players : int
        Number of players in all (some may be in no leaf).
    weighting : Weighting
    max_order : int, or None
        Largest order of a component. None: any.
    """

    def __init__(
        self,
        ensemble: LeafEnsemble,
        players: Players,
        n_players: int,
        weighting: Weighting,
        max_order: int | None,
    ) -> None:
        self.ensemble = ensemble
        self.players = players
        self.n_players = n_players
        self.weighting = weighting
        self.max_order = players.largest if max_order is None else min(max_order, players.largest)
        games = LeafGames(ensemble, players, group_patterns(ensemble))
        self.weights = CoalitionWeights(games, weighting, self.max_order)
        self.margins = LeafSum(ensemble)
        self._shapley_values = ShapleySums(self.weights, n_players, pairs=False)
        self._shapley_pairs = ShapleySums(self.weights, n_players, pairs=True)
        self._index: ComponentIndex | None = None
        self._complete = False
        self._layout: ComponentTables | None = None
        self._tables: ComponentTables | None = None
        self._copies_need_tables = False
        self._filling = Lock()

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_filling"}
        if not self._copies_need_tables:
            # A copy computes the tables again. So what is saved does not depend on what was looked at before.
            state |= {"_layout": None, "_tables": None}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._filling = Lock()

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs."""
        return self.ensemble.n_outputs

    @property
    def index(self) -> ComponentIndex:
        """Return the components; `list_components` comes first."""
        assert self._index is not None, "list_components comes first"
        return self._index

    @property
    def complete(self) -> bool:
        """Return whether the listed components are all that the model has."""
        return self._complete

    @property
    def orders(self) -> NDArray[np.int64]:
        """Return the order of every component."""
        return np.array([len(members) for members in self.index.sets], dtype=np.int64)

    def list_components(self, allowed: NDArray[np.bool_] | None, limit: int) -> None:
        """List the components: all, or those of the players ``allowed``.

        Raises
        ------
        TooManyComponents
            There are more than ``limit``.
        """
        players = self.players
        self._index = index_components(
            players, self.ensemble.leaf_ptr, max_order=self.max_order, allowed=allowed, limit=limit
        )
        self._complete = self.max_order == players.largest and (
            allowed is None or bool(allowed[players.player_of_feature].all())
        )

    def prepare_copies(self, execution: Execution) -> None:
        """Compute what pickled copies cannot, if the weighting depends on data outside of this process."""

        def fill_tables() -> None:
            self._copies_need_tables = True
            if self._index is not None:
                self.tables(execution)

        self.weighting.prepare_copies(self.weights.games, fill_tables)

    def intercept(self, execution: Execution = DEFAULT_EXECUTION) -> NDArray[np.float64]:
        """Return the component of the empty set, one number per output."""
        ensemble = self.ensemble
        averaged = np.ones(len(ensemble.leaf_condition), dtype=bool)
        value = ensemble.value * self.weighting.joint_weights(ensemble, averaged, execution)[:, None]
        out = ensemble.base.copy()
        np.add.at(out, ensemble.output[:, None] + np.arange(value.shape[1]), value)
        return out

    def layout(self, execution: Execution) -> ComponentTables:
        """Return the components' tables without their values; warn the first time if some components have none."""
        if self._layout is None:
            self._layout = lay_out_tables(self.index, self.weights, execution=execution)
            warn_of_streaming(self._layout.tabulated)
        return self._layout

    def tables(self, execution: Execution) -> ComponentTables:
        """Return the components' tables, which the first call computes; threads that share this object wait for it."""
        if self._tables is None:
            with self._filling:
                if self._tables is None:
                    layout = self.layout(execution)
                    self._tables = fill_tables(layout, self.index, self.weights, execution=execution)
        return self._tables

    def component_table(
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
        tables = self._tables_with(position, execution)
        return table_axes(tables, position, self.ensemble, names, categories)

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
        alone = lay_out_tables(
            self.index,
            self.weights,
            wanted=np.array([position]),
            max_cells=max(budgets.table_cells, int(size)),
            execution=execution,
        )
        return fill_tables(alone, self.index, self.weights, execution=execution)

    def components(
        self,
        bins: NDArray[np.unsignedinteger],
        chosen: NDArray[np.int64],
        out: NDArray[Any],
        execution: Execution = DEFAULT_EXECUTION,
    ) -> None:
        """Write the chosen components: the i-th of output o to row ``o * (len(out) / n_outputs) + i`` of ``out``."""
        by_table = self.layout(execution).tabulated[chosen]
        column = np.arange(len(chosen))
        if by_table.any():
            tables = self.tables(execution)
            tables.look_up(bins, chosen[by_table], column[by_table], self.n_outputs, out, execution)
        if not by_table.all():
            streamed = column[~by_table]
            step = len(out) // self.n_outputs
            for o in range(self.n_outputs):
                out[o * step + streamed] = 0
            which = chosen[~by_table], streamed
            add_streamed(self.index, self.weights, bins, *which, out, execution=execution)

    def shapley(
        self, bins: NDArray[np.unsignedinteger], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Return Shapley values of shape (n_outputs, n_players, n_samples)."""
        return self._shapley_values(bins, execution=execution)

    def shapley_interactions(
        self, bins: NDArray[np.unsignedinteger], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Return Shapley interaction values of shape (n_outputs, n_players, n_players, n_samples)."""
        n = self.n_players
        out = self._shapley_pairs(bins, execution=execution)
        for i in range(n):
            for j in range(i):
                out[:, i, j] = out[:, j, i]
        diagonal = self.shapley(bins, execution=execution)
        for i in range(n):
            out[:, i, i] = diagonal[:, i] - out[:, i].sum(axis=1)
        return out


def average_out(
    ensemble: LeafEnsemble,
    weighting: Weighting,
    keep: NDArray[np.bool_],
    execution: Execution = DEFAULT_EXECUTION,
) -> LeafSum:
    """Return the margin as a function of the used_features ``keep`` alone, the other features averaged out.

    It is the sum of all components whose features lie in ``keep``.
    """
    return LeafSum(
        ensemble, keep, weighting.joint_weights(ensemble, ~keep[ensemble.condition_feature], execution)
    )
