"""Define what a weighting has to offer: the weights E_l(U), and a way to solve long paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import RankedSubsets, ShapleyRows, SubsetRanks
from skglex._kernels.subsets import binomials
from skglex._leaves._games import LeafGames
from skglex._leaves._leaves import LeafEnsemble
from skglex._utils import Execution, budgets, weight_chunks

if TYPE_CHECKING:
    from skglex._leaves._leaf_sum import LeafSum


class Weighting(Protocol):
    r"""Compute E_l(U): the weight of a leaf's conditions on U when those features are averaged out.

    `PathDependent` and `Empirical` are the two weightings. P is the set of the players on a leaf's path.
    """

    def joint_weights(
        self, ensemble: LeafEnsemble, averaged: NDArray[np.bool_], execution: Execution
    ) -> NDArray[np.float64]:
        """Return E_l of the leaf conditions marked in ``averaged``: shape (n_leaves,)."""

    def table_weights(self, games: LeafGames, first: int, last: int) -> NDArray[np.float64]:
        r"""Return E_l(P \ V) for every V, for the leaves of groups ``first <= g < last`` that have tables.

        The weights of a leaf are ordered by bit mask; `Players.coalition_ptr` locates the leaves.
        """

    def ranked_weights(
        self, games: LeafGames, wanted: RankedSubsets, execution: Execution
    ) -> NDArray[np.float64]:
        r"""Return E_l(P \ V) for the subsets V that are wanted, by rank."""

    @property
    def solves_leaves(self) -> bool:
        """Return whether `shapley_kernel` solves leaves one by one."""

    @property
    def solves_any_path(self) -> bool:
        """Return whether `shapley_kernel` computes Shapley values of leaves with any number of players."""

    def shapley_kernel(
        self, games: LeafGames, leaves: NDArray[np.int64], n_rows: int
    ) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """Return the kernel that solves leaves without kept tables, and its arguments between ``bins`` and ``layout``.

        It is called as ``kernel(bins, *arguments, layout, leaves, out)`` and adds Shapley values to ``out``,
        as `skglex._kernels.long_paths.add_shapley_by_quadrature` does.

        Raises
        ------
        ValueError
            This would take too long for ``n_rows`` rows.
        """

    def shapley_walks(
        self, games: LeafGames, margins: LeafSum, bins: NDArray[np.unsignedinteger], layout: ShapleyRows
    ) -> tuple[Callable[..., Any], tuple[Any, ...], NDArray[np.int64]] | None:
        """Return a kernel that solves trees, its arguments, and the trees that take less time so; None for no trees.

        It is called as `shapley_kernel`, with trees for leaves.
        """

    def prepare_copies(self, games: LeafGames, fill_tables: Callable[[], object]) -> None:
        """Precompute what a pickled copy cannot compute.

        Weightings that copies can use do nothing. The others call ``fill_tables``, which computes the tables of the
        components, and keep the weights that SHAP values need.
        """


def most_states(n_rows: int, n_background: int = 0) -> int:
    """Return the number of states of a cluster of leaves up to which one more leaf saves time.

    The leaves are solved for each state, and rows are looked up, and background rows counted, once per cluster.
    """
    return int(np.clip((n_rows + n_background // 4) // 4, 128, 4096))


def subset_ranks(k: int) -> SubsetRanks:
    """Return what `subset_rank` needs for games of up to k players."""
    offset = np.zeros((k + 1, k + 2), np.int64)
    for n in range(k + 1):
        offset[n, : n + 2] = binomials(n)[1]
    return SubsetRanks(binomials(k)[0], offset)


def inverse_binomials(k: int) -> NDArray[np.float64]:
    """Return 1 / ((n + 1) C(n, i)) = i! (n - i)! / (n + 1)! for i <= n <= k."""
    out = np.zeros((k + 1, k + 1))
    for n in range(k + 1):
        out[n, 0] = 1.0 / (n + 1)
        for i in range(1, n + 1):
            out[n, i] = out[n, i - 1] * i / (n - i + 1)
    return out


def split_leaves(ensemble: LeafEnsemble, wanted: RankedSubsets) -> list[RankedSubsets]:
    """Split a request into tasks of about equally many leaf conditions."""
    cost = np.diff(ensemble.leaf_ptr)[wanted.leaves] + 1
    return [wanted._replace(leaves=wanted.leaves[a:b]) for a, b in weight_chunks(cost, budgets.leaf_task)]
