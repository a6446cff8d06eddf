"""Compute the margins of rows whose free features are set to cells, and average their responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import FreeAxes
from skglex._kernels.mixed_rows import add_free_leaves
from skglex._leaves import Background, LeafEnsemble, LeafSum
from skglex._mixed_rows._cells import CellAxis, join_axes
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, scaled

# Rows of a block that is worth a thread.
_SHORT = 2500

# A function from margins of shape (n_samples, n_outputs) to responses of shape (n_samples, n_responses).
Link = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def identity(margin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the margin itself: the link of the margin scale."""
    return margin


def apply_link(link: Link, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Apply a link to margins of shape (n_outputs, \*shape); return responses of shape (n_responses, \*shape)."""
    flat = margins.reshape(len(margins), -1)
    with np.errstate(over="ignore"):
        responses = np.asarray(link(flat.T)).T
    return responses.reshape(len(responses), *margins.shape[1:])


class MixedRows:
    """Compute the margins of rows in which free features are set to cells, without a call of the model.

    Parameters
    ----------
    ensemble : LeafEnsemble
    bins : ndarray of shape (n_used_features, n_rows)
        The rows, in bins of the ensemble's grid.
    execution : Execution
    shift : ndarray of shape (n_outputs, n_rows), optional
        Added to all margins of a row.
    margin : ndarray of shape (n_outputs, n_rows), optional
        The margin of the rows as they are, if it is known.

    Attributes
    ----------
    margin : ndarray of shape (n_outputs, n_rows)
        Margin of the rows as they are.
    """

    def __init__(
        self,
        ensemble: LeafEnsemble,
        bins: NDArray[np.unsignedinteger],
        execution: Execution = DEFAULT_EXECUTION,
        shift: NDArray[np.float64] | None = None,
        margin: NDArray[np.float64] | None = None,
    ) -> None:
        self._ensemble = ensemble
        self._bins = bins
        self._execution = execution
        self.margin = LeafSum(ensemble)(bins, execution) if margin is None else margin
        if shift is not None:
            self.margin = self.margin + shift

    def margins(self, axes: Sequence[CellAxis]) -> NDArray[np.float64]:
        r"""Return the margins of all rows at all cells: shape (n_outputs, \*n_cells, n_rows).

        One axis with all bins of a feature gives ICE curves, two axes a grid.
        """
        (blocks,) = self.map([axes], lambda block, r0, r1: block)
        return np.concatenate(blocks, axis=-1) if len(blocks) > 1 else np.asarray(blocks[0])

    def map(
        self,
        grids: Sequence[Sequence[CellAxis]],
        compute: Callable[[NDArray[np.float64], int, int], Any],
        label: str = "",
    ) -> list[list[Any]]:
        r"""Call ``compute(margins, r0, r1)`` for blocks of rows ``r0 <= r < r1``, for several grids of cells.

        Parameters
        ----------
        grids : sequence of sequences of CellAxis
            The axes of each grid. The cells of a grid are all combinations of the cells of its axes.
        compute : callable
            ``margins`` has the shape (n_outputs, \*n_cells, r1 - r0), and may be overwritten.
        label : str
            Name of the work on a progress bar.

        Returns
        -------
        list of list
            For each grid the results, in the order of the rows.
        """
        n_rows, tasks = self._bins.shape[1], []
        for axes in grids:
            shape = tuple(axis.n_cells for axis in axes)
            joined = join_axes(self._ensemble, axes)
            # There are eight tasks in all, for several threads, unless blocks were short: each goes over all leaves.
            most = max(-(-n_rows // max(1, 8 // len(grids))), _SHORT)
            size = min(_block_size(self._ensemble.n_outputs * int(np.prod(shape))), most)
            starts = range(0, n_rows, size)
            tasks.append([(compute, joined, shape, r0, min(r0 + size, n_rows)) for r0 in starts])
        results = iter(self._execution.run(self._compute_block, [t for part in tasks for t in part], label))
        return [[next(results) for _ in part] for part in tasks]

    def _compute_block(
        self, compute: Callable[..., Any], axes: FreeAxes, shape: tuple[int, ...], r0: int, r1: int
    ) -> Any:
        ensemble, n = self._ensemble, r1 - r0
        out = np.zeros((ensemble.n_outputs, int(np.prod(shape)), n))
        margin = self.margin[:, r0:r1].copy()
        block = Background(np.ascontiguousarray(self._bins[:, r0:r1]), np.ones(n))
        at = 0
        for sets in block.bit_sets(ensemble.grid.n_bins):
            add_free_leaves(
                sets, ensemble.conditions, ensemble.paths, ensemble.leaf_values, axes, at, margin, out
            )
            at += sets.n_rows
        margins = out.reshape(ensemble.n_outputs, *shape, n)
        for axis in range(1, len(shape) + 1):
            # Row by row; ``numpy.cumsum`` takes ten times as long along any axis but the last.
            along = np.moveaxis(margins, axis, 0)
            for cell in range(1, len(along)):
                along[cell] += along[cell - 1]
        margins += margin.reshape(len(margin), *(1 for _ in shape), n)
        return compute(margins, r0, r1)


def _block_size(width: int) -> int:
    """Return how many rows with so many numbers each are computed at one time."""
    return min(max(scaled(budgets.mixed_margins) // max(width, 1), 1), budgets.row_chunk)


def mean_over_rows(
    ensemble: LeafEnsemble,
    background: Background,
    grids: Sequence[Sequence[CellAxis]],
    link: Link,
    execution: Execution = DEFAULT_EXECUTION,
    label: str = "",
) -> list[NDArray[np.float64]]:
    r"""Average the responses of background rows at cells: partial dependence on the scale of the response.

    Parameters
    ----------
    ensemble : LeafEnsemble
    background : Background
        The rows to be mixed, and their weights.
    grids : sequence of sequences of CellAxis
        The axes of every partial dependence function: one for each free player.
    link : callable
        Function from margins of shape (n_samples, n_outputs) to responses of shape (n_samples, n_responses).

    Returns
    -------
    list of ndarray of shape (n_responses, \*n_cells)
    """
    mixed = MixedRows(ensemble, background.bins, execution)
    share = background.weight / background.total

    def compute(margins: NDArray[np.float64], r0: int, r1: int) -> NDArray[np.float64]:
        return apply_link(link, margins) @ share[r0:r1]

    return [np.sum(blocks, axis=0) for blocks in mixed.map(grids, compute, label)]


def mean_over_cells(
    ensemble: LeafEnsemble,
    bins: NDArray[np.unsignedinteger],
    axis: CellAxis,
    share: NDArray[np.float64],
    link: Link,
    execution: Execution = DEFAULT_EXECUTION,
    *,
    shift: NDArray[np.float64] | None = None,
    label: str = "",
) -> NDArray[np.float64]:
    """Average the responses of rows over cells, with weights: the free features are removed.

    Parameters
    ----------
    ensemble : LeafEnsemble
    bins : ndarray of shape (n_used_features, n_rows)
        The explained rows; the bins of free features do not matter.
    axis : CellAxis
        The cells of all free features together, see `distinct_cells`.
    share : ndarray of shape (n_cells,)
        The weight of each cell.
    link : callable
        As in `mean_over_rows`.
    shift : ndarray of shape (n_outputs, n_rows), optional
        Added to the margins of every row, such as its offset.

    Returns
    -------
    ndarray of shape (n_responses, n_rows)
    """

    def compute(margins: NDArray[np.float64], r0: int, r1: int) -> NDArray[np.float64]:
        return np.tensordot(share, apply_link(link, margins), (0, 1))

    (blocks,) = MixedRows(ensemble, bins, execution, shift).map([[axis]], compute, label)
    return np.concatenate(blocks, axis=1)
