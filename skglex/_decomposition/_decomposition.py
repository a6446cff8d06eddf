"""A model split into its components: what every estimator asks, on binned rows."""

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
from skglex._decomposition._tables import (
    ComponentTables,
    fill_tables,
    lay_out_tables,
    table_axes,
    warn_of_streaming,
)
from skglex._leaves import CoalitionWeights, LeafEnsemble, LeafSum, Players, Weighting, group_patterns
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets
from skglex.components import Axis

# Threads that share a decomposition fill its tables once.
_FILLING = Lock()


class Decomposition:
    """The exact decomposition of a leaf ensemble under one weighting.

    Parameters
    ----------
    ensemble : LeafEnsemble
    players : Players
    n_players : int
        Number of players in all (some may be in no leaf).
    weighting : Weighting
    max_order : int, or None
        Largest order of a component that will be asked for. None: any.

    Attributes
    ----------
    index : ComponentIndex
        The components, once `list_components` was asked for them.
    complete : bool
        Whether the components that are listed are all that the model has.
    """

    index: ComponentIndex
    complete: bool

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
        largest = int(players.n_players.max(initial=0))
        self.max_order = largest if max_order is None else min(max_order, largest)
        groups = group_patterns(ensemble)
        self.weights = CoalitionWeights(ensemble, players, groups, weighting, self.max_order)
        self._shapley_values = ShapleySums(self.weights, n_players, pairs=False)
        self._shapley_pairs = ShapleySums(self.weights, n_players, pairs=True)
        self.margins = LeafSum(ensemble)
        self._layout: ComponentTables | None = None
        self._tables: ComponentTables | None = None

    def intercept(self, execution: Execution = DEFAULT_EXECUTION) -> NDArray[np.float64]:
        """m of the empty set, one per output."""
        ensemble = self.ensemble
        averaged = np.ones(len(ensemble.leaf_condition), dtype=bool)
        value = ensemble.value * self.weighting.joint_weights(ensemble, averaged, execution)[:, None]
        out = ensemble.base.copy()
        np.add.at(out, ensemble.output[:, None] + np.arange(value.shape[1]), value)
        return out

    @property
    def n_outputs(self) -> int:
        return self.ensemble.n_outputs

    @property
    def orders(self) -> NDArray[np.int64]:
        """Order of every component."""
        return np.array([len(members) for members in self.index.sets], dtype=np.int64)

    def list_components(self, allowed: NDArray[np.bool_] | None, limit: int) -> None:
        """Find out which components there are: all, or those of the players ``allowed``.

        More than ``limit`` raise `TooManyComponents`.
        """
        players = self.players
        self.index = index_components(
            players, self.ensemble.leaf_ptr, max_order=self.max_order, allowed=allowed, limit=limit
        )
        self.complete = self.max_order == players.n_players.max(initial=0) and (
            allowed is None or bool(allowed[players.player_of_feature].all())
        )

    def layout(self, execution: Execution) -> ComponentTables:
        """The components' tables without their values; where some components have none, a warning says so."""
        if self._layout is None:
            self._layout = lay_out_tables(self.index, self.weights, execution=execution)
            warn_of_streaming(self._layout)
        return self._layout

    def tables(self, execution: Execution) -> ComponentTables:
        """The components' tables, made when first asked for: SHAP values and partial dependence need none."""
        if self._tables is None:
            with _FILLING:
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
        """Axes and values of one component's table; where it has none, one is made, if it fits."""
        tables = self._tables_with(position, execution)
        return table_axes(tables, position, self.ensemble, names, categories)

    def _tables_with(self, position: int, execution: Execution) -> ComponentTables:
        tables = self.tables(execution)
        if tables.tabulated[position]:
            return tables
        size = prod(float(tables.axis_size[a]) for a in tables.axes(position)) * self.n_outputs
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
        """Write the chosen components: output o's i-th to ``out[o * (rows / outputs) + i]``."""
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
        """Shapley values: shape (n_outputs, n_players, n_samples)."""
        return self._shapley_values(bins, execution=execution)

    def shapley_interactions(
        self, bins: NDArray[np.unsignedinteger], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Shapley interaction values: shape (n_outputs, n_players, n_players, n_samples)."""
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
    """The margin as a function of the used_features ``keep`` alone, the other features averaged out.

    It is the sum of all components whose features lie in ``keep``.
    """
    return LeafSum(
        ensemble, keep, weighting.joint_weights(ensemble, ~keep[ensemble.condition_feature], execution)
    )
