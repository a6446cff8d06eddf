"""A model split into its components: what every estimator asks, on binned rows."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex.components._component import Axis
from skglex.components._index import ComponentIndex, index_components
from skglex.components._shapley import ShapleySums
from skglex.components._streaming import add_streamed
from skglex.components._tables import (
    LARGEST_TABLE,
    MAX_CELLS,
    ComponentTables,
    fill_tables,
    lay_out_tables,
    table_axes,
    warn_of_streaming,
)
from skglex.ensemble import FixedWeights, LeafEnsemble, LeafSum, Players, Weighting, group_patterns

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
        self.weights = FixedWeights(ensemble, players, groups, weighting, self.max_order)
        self._shapley_values = ShapleySums(self.weights, n_players, pairs=False)
        self._shapley_pairs = ShapleySums(self.weights, n_players, pairs=True)
        self.margins = LeafSum(ensemble)
        self._layout: ComponentTables | None = None
        self._tables: ComponentTables | None = None

    def intercept(self, n_jobs: int | None = None) -> NDArray[np.float64]:
        """m of the empty set, one per output."""
        ensemble = self.ensemble
        averaged = np.ones(len(ensemble.leaf_condition), dtype=bool)
        value = ensemble.value * self.weighting.joint_weights(ensemble, averaged, n_jobs)[:, None]
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
            allowed is None or bool(allowed[players.of_slot].all())
        )

    def layout(self, n_jobs: int | None) -> ComponentTables:
        """The components' tables without their values; where some components have none, a warning says so."""
        if self._layout is None:
            self._layout = lay_out_tables(self.index, self.weights, n_jobs=n_jobs)
            warn_of_streaming(self._layout)
        return self._layout

    def tables(self, n_jobs: int | None, verbose: int) -> ComponentTables:
        """The components' tables, made when first asked for: SHAP values and partial dependence need none."""
        if self._tables is None:
            with _FILLING:
                if self._tables is None:
                    layout = self.layout(n_jobs)
                    self._tables = fill_tables(
                        layout, self.index, self.weights, n_jobs=n_jobs, verbose=verbose
                    )
        return self._tables

    def component_table(
        self,
        position: int,
        names: list[str],
        categories: Mapping[int, NDArray[Any]],
        *,
        n_jobs: int | None,
        verbose: int,
    ) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        """Axes and values of one component's table; where it has none, one is made, if it fits."""
        tables = self._tables_with(position, n_jobs, verbose)
        return table_axes(tables, position, self.ensemble, names, categories)

    def _tables_with(self, position: int, n_jobs: int | None, verbose: int) -> ComponentTables:
        tables = self.tables(n_jobs, verbose)
        if tables.tabulated[position]:
            return tables
        size = prod(float(tables.axis_size[a]) for a in tables.axes(position)) * self.n_outputs
        if size > LARGEST_TABLE:
            raise ValueError(
                f"the table of this component would have {size:,.0f} cells ({size / 2**27:,.1f} GiB). Use "
                "evaluate(X), or train on fewer bins (max_bin)"
            )
        alone = lay_out_tables(
            self.index,
            self.weights,
            wanted=np.array([position]),
            max_cells=max(MAX_CELLS, int(size)),
            n_jobs=n_jobs,
        )
        return fill_tables(alone, self.index, self.weights, n_jobs=n_jobs, verbose=verbose)

    def components(
        self,
        bins: NDArray[np.unsignedinteger],
        chosen: NDArray[np.int64],
        out: NDArray[Any],
        *,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        """Write the chosen components: output o's i-th to ``out[o * (rows / outputs) + i]``."""
        by_table = self.layout(n_jobs).tabulated[chosen]
        column = np.arange(len(chosen))
        if by_table.any():
            tables = self.tables(n_jobs, verbose)
            tables.look_up(bins, chosen[by_table], column[by_table], self.n_outputs, out, n_jobs)
        if not by_table.all():
            streamed = column[~by_table]
            step = len(out) // self.n_outputs
            for o in range(self.n_outputs):
                out[o * step + streamed] = 0
            which = chosen[~by_table], streamed
            add_streamed(self.index, self.weights, bins, *which, out, n_jobs=n_jobs, verbose=verbose)

    def shapley(
        self, bins: NDArray[np.unsignedinteger], *, n_jobs: int | None = None, verbose: int = 0
    ) -> NDArray[np.float64]:
        """Shapley values: shape (n_outputs, n_players, n_samples)."""
        return self._shapley_values(bins, n_jobs=n_jobs, verbose=verbose)

    def shapley_interactions(
        self, bins: NDArray[np.unsignedinteger], *, n_jobs: int | None = None, verbose: int = 0
    ) -> NDArray[np.float64]:
        """Shapley interaction values: shape (n_outputs, n_players, n_players, n_samples)."""
        n = self.n_players
        out = self._shapley_pairs(bins, n_jobs=n_jobs, verbose=verbose)
        for i in range(n):
            for j in range(i):
                out[:, i, j] = out[:, j, i]
        diagonal = self.shapley(bins, n_jobs=n_jobs)
        for i in range(n):
            out[:, i, i] = diagonal[:, i] - out[:, i].sum(axis=1)
        return out


def average_out(
    ensemble: LeafEnsemble, weighting: Weighting, keep: NDArray[np.bool_], n_jobs: int | None = None
) -> LeafSum:
    """The margin as a function of the slots ``keep`` alone, the other features averaged out.

    It is the sum of all components whose features lie in ``keep``.
    """
    return LeafSum(ensemble, keep, weighting.joint_weights(ensemble, ~keep[ensemble.entry_slot], n_jobs))
