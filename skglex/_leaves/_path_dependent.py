"""Path-dependent weights: E_l(U) is a product of the model's cover ratios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import QuadratureRules, RankedSubsets, ShapleyRows
from skglex._kernels.coalitions import coalitions_from_ratios, ranked_from_ratios
from skglex._kernels.long_paths import add_shapley_by_quadrature
from skglex._kernels.subset_sums import MOST_PLAYERS
from skglex._kernels.tree_products import add_shapley_by_products
from skglex._leaves._games import LeafGames
from skglex._leaves._leaves import LeafEnsemble
from skglex._leaves._weighting import most_states, split_leaves
from skglex._utils import Execution

if TYPE_CHECKING:
    from skglex._leaves._leaf_sum import LeafSum

# Most players of a leaf whose cluster of leaves is large, so that a row costs little.
_SHARING_PLAYERS = 10


@dataclass(frozen=True)
class PathDependent:
    """Multiply the cover ratios of the conditions that are averaged out (see `Weighting`).

    A leaf's game is then a product of one factor per player. Its Shapley values are integrals of polynomials, which
    Gauss-Legendre quadrature solves exactly for any length of the path.
    """

    def joint_weights(
        self, ensemble: LeafEnsemble, averaged: NDArray[np.bool_], execution: Execution
    ) -> NDArray[np.float64]:
        """Return E_l of the marked conditions (see `Weighting`)."""
        ratio = np.append(np.where(averaged, _path_ratio(ensemble), 1.0), 1.0)
        product = np.multiply.reduceat(ratio, ensemble.leaf_ptr[:-1])
        product[np.diff(ensemble.leaf_ptr) == 0] = 1.0
        return product

    def table_weights(self, games: LeafGames, first: int, last: int) -> NDArray[np.float64]:
        """Return the weights of all coalitions (see `Weighting`)."""
        ensemble, players = games.ensemble, games.players
        out = np.empty(games.n_coalitions(first, last))
        l0, l1 = games.leaves_of(first, last)
        ratio = _path_ratio(ensemble)
        coalitions_from_ratios(ensemble.paths, ratio, players.arrays, players.coalition_ptr, l0, l1, out)
        return out

    def ranked_weights(
        self, games: LeafGames, wanted: RankedSubsets, execution: Execution
    ) -> NDArray[np.float64]:
        """Return the weights of small coalitions (see `Weighting`)."""
        ensemble, out = games.ensemble, np.empty(wanted.size)
        args = ensemble.paths, _path_ratio(ensemble), games.players.arrays
        execution.run(ranked_from_ratios, [(*args, part, out) for part in split_leaves(ensemble, wanted)])
        return out

    solves_leaves = True
    solves_any_path = True

    def shapley_kernel(
        self, games: LeafGames, leaves: NDArray[np.int64], n_rows: int
    ) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """Return the kernel that solves leaves by quadrature (see `Weighting`)."""
        ensemble = games.ensemble
        rules = _quadrature_rules((int(games.players.n_players[leaves].max()) + 1) // 2)
        leaf_arrays = ensemble.conditions, ensemble.paths, ensemble.leaf_values, games.players.arrays
        return add_shapley_by_quadrature, (
            *leaf_arrays,
            _path_ratio(ensemble),
            rules,
            ensemble.grid.n_bins,
            most_states(n_rows),
        )

    def shapley_walks(
        self, games: LeafGames, margins: LeafSum, bins: NDArray[np.unsignedinteger], layout: ShapleyRows
    ) -> tuple[Callable[..., Any], tuple[Any, ...], NDArray[np.int64]] | None:
        """Return the kernel that solves trees by products, and the trees that have many players (see `Weighting`)."""
        ensemble, n_rows = games.ensemble, bins.shape[1]
        if ensemble.trees is None or ensemble.cover_ratio is None or not n_rows or not ensemble.n_leaves:
            return None
        n_players, roots, first = games.players.n_players, ensemble.trees.roots, ensemble.tree_ptr[:-1]
        most = np.maximum.reduceat(n_players, first)
        by_leaf = np.add.reduceat(_cost_of_leaves(int(most.max()), n_rows, layout.pairs)[n_players], first)
        mean = np.add.reduceat(n_players, first) / np.diff(ensemble.tree_ptr)
        by_tree = np.diff(roots) * _cost_of_edge((most + 1) // 2, mean, n_rows, layout.pairs)
        # A cover ratio of zero leaves no product to divide by.
        divisible = np.minimum.reduceat(ensemble.cover_ratio, roots[:-1]) > 0
        trees = np.flatnonzero((by_tree < by_leaf) & divisible & (most > layout.pairs))
        if not len(trees):
            return None
        rules = _quadrature_rules((int(most[trees].max()) + 1) // 2)
        of_feature, n_bins = games.players.player_of_feature, ensemble.grid.n_bins
        args = ensemble.trees, ensemble.cover_ratio, ensemble.leaf_values, of_feature, n_bins, rules
        return add_shapley_by_products, args, trees

    def prepare_copies(self, games: LeafGames, fill_tables: Callable[[], object]) -> None:
        """Do nothing: the cover ratios are part of every copy."""


def _cost_of_leaves(most: int, n_rows: int, pairs: bool) -> NDArray[np.float64]:
    """Estimate the nanoseconds of solving a leaf for all rows, by its number of players: up to ``most``."""
    k = np.arange(most + 1.0)
    half, size = np.ceil(k / 2), 2.0 ** np.minimum(k, MOST_PLAYERS)
    of_row = np.where(k <= _SHARING_PLAYERS, 0.5, 1.5) * (k * k / 4 if pairs else k)
    by_sums = (4.0 if pairs else 3.0) * size * (0.12 * k + 1.0) + n_rows * of_row
    by_sums[k > MOST_PLAYERS] = np.inf
    by_pattern = n_rows * (half * k * (k if pairs else 3.0) + 30.0)
    return np.asarray(2000.0 + np.minimum(by_sums, by_pattern))


def _cost_of_edge(
    half: NDArray[np.int64], n_players: NDArray[np.float64], n_rows: int, pairs: bool
) -> NDArray[np.float64]:
    """Estimate the nanoseconds that an edge of a tree takes for all rows, by the quadrature nodes of the tree.

    Interactions take more, by the players on the path.
    """
    n_blocks = np.ceil(n_rows / 128)
    cost = 40.0 * half + 200.0 * n_blocks + 0.55 * half * n_rows
    return np.asarray(cost + 0.75 * n_players * (60.0 * n_blocks + 0.3 * half * n_rows) * pairs)


def _path_ratio(ensemble: LeafEnsemble) -> NDArray[np.float64]:
    assert ensemble.path_ratio is not None  # `fit` raises for models without cover.
    return ensemble.path_ratio


def _quadrature_rules(most: int) -> QuadratureRules:
    """Return the rules of up to ``most`` nodes."""
    nodes, weights = np.zeros((2, most + 1, most))
    for n in range(1, most + 1):
        x, w = np.polynomial.legendre.leggauss(n)
        nodes[n, :n], weights[n, :n] = (x + 1) / 2, w / 2
    return QuadratureRules(nodes, weights)
