"""Tabulate the main effects and all pairs of features over their bins, where the pairs are too many to list."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skglex._decomposition._tables import events_of
from skglex._kernels.arguments import PairLayout
from skglex._kernels.pair_matrix import add_pair_corners, sum_pair_corners
from skglex._leaves import Background, BackgroundLike, CoalitionWeights, LeafGames
from skglex._utils import Execution, budgets, scaled, weight_chunks

# Tasks over first features, for several threads. Each sums all leaves again, so there are few. What a task writes does
# not depend on the others.
_TASKS = 2
# Bins of the first features whose joint shares are found together.
_BINS = 512


class PairMatrix:
    """Hold the main effects and all pairs of single features, over the bins of the features.

    Parameters
    ----------
    weights : CoalitionWeights
        Weights of coalitions of up to two players. Each player is a single feature.
    allowed : ndarray of shape (n_players,), bool, or None
        Players whose components count.
    execution : Execution
    """

    def __init__(
        self, weights: CoalitionWeights, allowed: NDArray[np.bool_] | None, execution: Execution
    ) -> None:
        games = weights.games
        ensemble, self._player = games.ensemble, games.players.player_of_feature
        self._allowed = np.ones(len(self._player), dtype=bool) if allowed is None else allowed[self._player]
        self._layout = _lay_out(ensemble.grid.n_bins)
        bin_ptr = self._layout.bin_ptr
        self._main = np.zeros((ensemble.n_outputs, bin_ptr[-1]))
        self._pairs = np.zeros((ensemble.n_outputs, int(_n_cells(ensemble.grid.n_bins))))
        # The pairs of an early first feature are many.
        n_after, n_tasks = bin_ptr[-1] - bin_ptr[1:], _TASKS if execution.n_threads > 1 else 1
        parts = weight_chunks(n_after, n_after.sum() / n_tasks)
        leaf_arrays = ensemble.paths, games.players.condition_player, ensemble.conditions.feature
        events = events_of(ensemble)
        for leaves, coalitions in weights.chunks(execution=execution):
            args = leaves, *leaf_arrays, ensemble.leaf_values, coalitions, events, self._layout
            tasks = [(*args, f0, f1, self._main, self._pairs) for f0, f1 in parts]
            execution.run(add_pair_corners, tasks, label="component tables")
        execution.run(sum_pair_corners, [(self._layout, f0, f1, self._main, self._pairs) for f0, f1 in parts])

    @staticmethod
    def fits(games: LeafGames) -> bool:
        """Return whether the players are single features, and all pairs fit in the memory for tables."""
        single = (np.diff(games.players.player_of_feature) > 0).all()
        cells = _n_cells(games.ensemble.grid.n_bins) * games.ensemble.n_outputs
        return bool(single and cells <= scaled(budgets.total_table_cells))

    def top(
        self, background: BackgroundLike, k: int | None
    ) -> tuple[list[tuple[int, ...]], NDArray[np.float64]]:
        """Return the k components with the largest mean of ``|m_S|``, summed over outputs, and their means, or all.

        Returns
        -------
        sets : list of tuple of int
            Players of each component.
        means : ndarray of shape (k, n_outputs)
            They are positive, so there may be fewer than k.
        """
        means = self._allowed_means(background)
        first, second = np.nonzero(means.any(axis=2))
        # Main effects are on the diagonal. They come first, as in lists of components.
        order = np.argsort(first != second, kind="stable")
        first, second = first[order], second[order]
        total = means[first, second].sum(axis=1)
        top = np.argsort(-total, kind="stable")[:k]
        first, second = first[top], second[top]
        pairs = zip(self._player[first].tolist(), self._player[second].tolist())
        return [(i,) if i == j else (i, j) for i, j in pairs], means[first, second]

    def means_by_feature_and_order(self, background: BackgroundLike, n_players: int) -> NDArray[np.float64]:
        """Return the sums of the means of ``|m_S|``, divided by ``|S|``: shape (n_players, 2, n_outputs)."""
        means = self._allowed_means(background)
        out = np.zeros((n_players, 2, means.shape[2]))
        main = np.einsum("iio->io", means)
        out[self._player, 0] = main
        out[self._player, 1] = (means.sum(axis=0) + means.sum(axis=1)) / 2 - main
        return out

    def _allowed_means(self, background: BackgroundLike) -> NDArray[np.float64]:
        means = background.average(self._means)
        means[~self._allowed], means[:, ~self._allowed] = 0.0, 0.0
        return means

    def _means(self, background: Background) -> NDArray[np.float64]:
        """Return the mean of ``|m|`` of every pair, and on the diagonal of every main effect.

        The array has the shape (n_used_features, n_used_features, n_outputs), of which the lower half is zero.
        """
        bin_ptr, start = self._layout
        shares = _JointShares(background, bin_ptr)
        n_features, n_outputs = len(start), len(self._main)
        out = np.zeros((n_features, n_features, n_outputs))
        for s0, s1 in weight_chunks(np.diff(bin_ptr), _BINS):
            some = shares.with_features(s0, s1)
            for s in range(s0, s1):
                b0, b1 = bin_ptr[s : s + 2]
                out[s, s] = np.abs(self._main[:, b0:b1]) @ shares.single[b0:b1]
                if b1 == bin_ptr[-1]:
                    continue
                joint = some[b0 - bin_ptr[s0] : b1 - bin_ptr[s0], b1:].T
                values = slice(start[s] + b1 * (b1 - b0), start[s] + bin_ptr[-1] * (b1 - b0))
                for o in range(n_outputs):
                    by_bin = (np.abs(self._pairs[o, values]).reshape(joint.shape) * joint).sum(axis=1)
                    out[s, s + 1 :, o] = np.add.reduceat(by_bin, bin_ptr[s + 1 : -1] - b1)
        return out


class _JointShares:
    """Find the shares of the rows that are in two bins, of all pairs of features.

    Most rows may be in the same bin of a feature. Only those in other bins are counted, in sparse matrices. The share
    in the bin of most rows is what is left of the total.
    """

    def __init__(self, background: Background, bin_ptr: NDArray[np.int64]) -> None:
        share, bins = background.weight / background.total, background.bins
        self._bin_ptr = bin_ptr
        self.single = np.concatenate(
            [np.bincount(b, share, n) for b, n in zip(bins, np.diff(bin_ptr).tolist())]
        )
        most = [p.argmax() for p in np.split(self.single, bin_ptr[1:-1])]
        self._most = bin_ptr[:-1] + np.array(most, np.int64)
        rows = [np.flatnonzero(b != m) for b, m in zip(bins, most)]
        row = np.concatenate(rows)
        column = np.concatenate([first + b[r] for first, b, r in zip(bin_ptr, bins, rows)])
        shape = bins.shape[1], int(bin_ptr[-1])
        self._others = sp.csc_matrix((np.ones(len(row)), (row, column)), shape)
        self._shares = sp.csr_matrix((share[row], (row, column)), shape)

    def with_features(self, s0: int, s1: int) -> NDArray[np.float64]:
        """Return the shares of the rows in each bin of features ``s0 <= s < s1``, and in each bin of every feature."""
        ptr, most = self._bin_ptr, self._most[s0:s1] - self._bin_ptr[s0]
        bins = slice(ptr[s0], ptr[s1])
        out: NDArray[np.float64] = (self._others[:, bins].T @ self._shares).toarray()
        out[:, self._most] = self.single[bins, None] - np.add.reduceat(out, ptr[:-1], axis=1)
        out[most] = 0.0
        out[most] = self.single - np.add.reduceat(out, ptr[s0:s1] - ptr[s0], axis=0)
        return out


def _n_cells(n_bins: NDArray[np.int64]) -> float:
    """Return the number of values of all pairs."""
    return float((n_bins * (n_bins.sum() - np.cumsum(n_bins)).astype(np.float64)).sum())


def _lay_out(n_bins: NDArray[np.int64]) -> PairLayout:
    """Place the values of all pairs, by the bins of the first feature, then of the second."""
    bin_ptr = np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64)
    size = n_bins * (bin_ptr[-1] - bin_ptr[1:])
    return PairLayout(bin_ptr, np.cumsum(size) - size - n_bins * bin_ptr[1:])
