"""Components without a table: leaf by leaf, for the rows at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._parallel import row_chunks, run
from skglex.components._index import ComponentIndex
from skglex.ensemble._fixed import FixedWeights
from skglex.kernels.components import stream_components


def add_streamed(
    index: ComponentIndex,
    weights: FixedWeights,
    bins: NDArray[np.unsignedinteger],
    chosen: NDArray[np.int64],
    column: NDArray[np.int64],
    out: NDArray[Any],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> None:
    """Add the chosen components' values to the rows ``column`` of each output's block of ``out``."""
    ensemble, players = weights.ensemble, weights.players
    n_sources = np.diff(index.source_ptr)[chosen]
    source = np.concatenate([np.arange(*index.source_ptr[c : c + 2]) for c in chosen])
    pset = index.source_pset[source]
    order = np.argsort(pset, kind="stable")
    item_ptr = np.searchsorted(pset[order], np.arange(len(index.pset_players) + 1)).astype(np.int64)
    items = item_ptr, index.source_mask[source][order], np.repeat(column, n_sources)[order]
    needed = np.diff(item_ptr)[index.pset_of_leaf] > 0
    ranks = weights.ranks
    for leaves, start, fixed in weights.chunks(n_jobs=n_jobs, verbose=verbose):
        run(
            stream_components,
            [
                (bins, ensemble.conditions, leaves[needed[leaves]], ensemble.leaf_ptr)
                + (ensemble.leaf_condition, players.entry_player, players.n_players)
                + (index.pset_of_leaf, weights.ranked, ensemble.value, ensemble.output)
                + (start, fixed, *ranks, *items, ensemble.n_outputs, r0, r1, out)
                for r0, r1 in row_chunks(bins.shape[1])
            ],
            n_jobs=n_jobs,
            verbose=verbose,
            label="components",
        )
