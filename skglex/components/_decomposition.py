"""A model split into its components: what every estimator asks, on binned rows."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex.components._index import ComponentIndex
from skglex.components._shapley import ShapleySums
from skglex.components._streaming import add_streamed
from skglex.components._tables import LARGEST_TABLE, MAX_CELLS, ComponentTables, build_tables
from skglex.ensemble import FixedWeights, LeafEnsemble, LeafSum, Players, Weighting, group_patterns


class Decomposition:
    """The exact decomposition of a leaf ensemble under one weighting.

    Parameters
    ----------
    ensemble : LeafEnsemble
    players : Players
    n_players : int
        Number of players in all (some may be in no leaf).
    weighting : Weighting
    max_order : int
        Largest order of a component that will be asked for.
    """

    def __init__(
        self, ensemble: LeafEnsemble, players: Players, n_players: int, weighting: Weighting, max_order: int
    ) -> None:
        self.ensemble = ensemble
        self.players = players
        self.n_players = n_players
        self.weighting = weighting
        self.max_order = min(max_order, int(players.n_players.max(initial=0)))
        groups = group_patterns(ensemble)
        self.weights = FixedWeights(ensemble, players, groups, weighting, self.max_order)
        self._shapley_values = ShapleySums(self.weights, n_players, pairs=False)
        self._shapley_pairs = ShapleySums(self.weights, n_players, pairs=True)
        self.margins = LeafSum(ensemble)

    def intercept(self, n_jobs: int | None = None) -> NDArray[np.float64]:
        """m of the empty set, one per output."""
        ensemble = self.ensemble
        averaged = np.ones(len(ensemble.leaf_condition), dtype=bool)
        value = ensemble.value * self.weighting.joint(ensemble, averaged, n_jobs)[:, None]
        out = ensemble.base.copy()
        np.add.at(out, ensemble.output[:, None] + np.arange(value.shape[1]), value)
        return out

    def tables(self, index: ComponentIndex, n_jobs: int | None, verbose: int) -> ComponentTables:
        return build_tables(self.ensemble, self.players, index, self.weights, n_jobs=n_jobs, verbose=verbose)

    def table_on_demand(
        self,
        index: ComponentIndex,
        tables: ComponentTables,
        position: int,
        *,
        n_jobs: int | None,
        verbose: int,
    ) -> ComponentTables:
        """The table of one component that has none among ``tables``, if it fits."""
        size = prod(float(tables.axis_size[a]) for a in tables.axes(position)) * self.ensemble.n_outputs
        if size > LARGEST_TABLE:
            raise ValueError(
                f"the table of this component would have {size:,.0f} cells ({size / 2**27:,.1f} GiB). Use "
                "evaluate(X), or train on fewer bins (max_bin)"
            )
        return build_tables(
            self.ensemble,
            self.players,
            index,
            self.weights,
            wanted=np.array([position]),
            max_cells=max(MAX_CELLS, int(size)),
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def components(
        self,
        index: ComponentIndex,
        tables: ComponentTables,
        bins: NDArray[np.unsignedinteger],
        chosen: NDArray[np.int64],
        out: NDArray[Any],
        *,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        """Write the chosen components: output o's i-th to ``out[o * (rows / outputs) + i]``."""
        by_table = tables.tabulated[chosen]
        column = np.arange(len(chosen))
        n_outputs = self.ensemble.n_outputs
        if by_table.any():
            tables.look_up(bins, chosen[by_table], column[by_table], n_outputs, out, n_jobs)
        if not by_table.all():
            streamed = column[~by_table]
            step = len(out) // n_outputs
            for o in range(n_outputs):
                out[o * step + streamed] = 0
            add_streamed(
                index, self.weights, bins, chosen[~by_table], streamed, out, n_jobs=n_jobs, verbose=verbose
            )

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
    return LeafSum(ensemble, keep, weighting.joint(ensemble, ~keep[ensemble.entry_slot], n_jobs))
