"""Explain the difference of the margins of two rows by Shapley values; one row is the only background of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._shapley import ShapleySums
from skglex._kernels.arguments import ShapleyRows
from skglex._kernels.pairs_of_rows import compare_rows
from skglex._leaves import MASK_BITS, Background, CoalitionWeights, inverse_binomials
from skglex._utils import Execution, row_chunks

if TYPE_CHECKING:
    from skglex._decomposition._decomposition import Decomposition


def pair_shapley(
    decomposition: Decomposition,
    bins: NDArray[np.unsignedinteger],
    other: NDArray[np.unsignedinteger],
    execution: Execution,
    *,
    pairs: bool = False,
) -> NDArray[np.float64]:
    """Return the Shapley values of each row against the row of ``other`` at the same position.

    The weighting does not matter: a coalition has the features of the row, all others those of the other row.

    Returns
    -------
    ndarray of shape (n_outputs, n_players, n_rows), or (n_outputs, n_players, n_players, n_rows) with ``pairs``
        With ``pairs``, half the Shapley interaction indices; each row of the matrix sums to the Shapley value.
    """
    ensemble, players, n = decomposition.ensemble, decomposition.players, decomposition.n_players
    shape = (decomposition.n_outputs, n, n) if pairs else (decomposition.n_outputs, n)
    n_rows = bins.shape[1]
    values = np.zeros((*shape, n_rows))
    if players.largest > MASK_BITS:
        for r in range(n_rows):
            row, background = bins[:, r : r + 1], Background(other[:, r : r + 1], np.ones(1))
            weights = CoalitionWeights(decomposition.weights.games, background.weighting, 1)
            sums = ShapleySums(weights, decomposition.margins, n, pairs=pairs)
            values[..., r : r + 1] = sums(row, execution=execution)
    else:
        leaf_arrays = ensemble.conditions, ensemble.paths, ensemble.leaf_values, players.arrays
        args = bins, other, *leaf_arrays, inverse_binomials(players.largest), ShapleyRows(n, pairs)
        out = values.reshape(-1, n_rows)
        execution.run(
            compare_rows, [(*args, r0, r1, out) for r0, r1 in row_chunks(n_rows)], label="pairs of rows"
        )
    if not pairs:
        return values
    values += values.swapaxes(1, 2)
    diagonal = pair_shapley(decomposition, bins, other, execution)
    for i in range(n):
        values[:, i, i] = diagonal[:, i] - values[:, i].sum(axis=1)
    return values
