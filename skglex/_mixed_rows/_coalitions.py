"""Average the responses of rows mixed with background rows, for every coalition of players."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.mixed_rows import mix_pair, rows_by_player, violated_players
from skglex._leaves import Background, LeafEnsemble
from skglex._mixed_rows._margins import Link, apply_link
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, scaled

# Rows of one task, for which the background's bit sets are made once. Words have 64 bits.
_ROWS, _WORD = 128, 64


def coalition_responses(
    ensemble: LeafEnsemble,
    player_of_feature: NDArray[np.int64],
    n_players: int,
    bins: NDArray[np.unsignedinteger],
    background: Background,
    link: Link,
    execution: Execution = DEFAULT_EXECUTION,
    *,
    reduce: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
    label: str = "",
) -> NDArray[np.float64]:
    """Average the response over the background, for every coalition of players that keep the row's values.

    Parameters
    ----------
    ensemble : LeafEnsemble
    player_of_feature : ndarray of shape (n_used_features,), int64
        Player of every used_feature, from 0 to ``n_players - 1``.
    n_players : int
        At most 16.
    bins : ndarray of shape (n_used_features, n_rows)
        The explained rows.
    background : Background
    link : callable
        Function from margins of shape (n_samples, n_outputs) to responses of shape (n_samples, n_responses).
    reduce : callable, optional
        Function that is applied to the result for some rows. It keeps the rows as the last axis.

    Returns
    -------
    ndarray of shape (n_responses, 2**n_players, n_rows)
        Coalition V is at the position of its bit mask. The last one is the response of the row itself.
    """
    player = player_of_feature[ensemble.condition_feature].astype(np.uint8)
    size = max(1, min(_WORD, scaled(budgets.coalition_margins) // (ensemble.n_outputs << n_players)))
    n_rows = bins.shape[1]
    rows_per_task = max(1, min(_ROWS, -(-n_rows // 16)))
    share = background.weight / background.total

    def masks(some_bins: NDArray[np.unsignedinteger], r0: int, r1: int) -> NDArray[np.uint16]:
        out = np.empty((ensemble.n_leaves, r1 - r0), np.uint16)
        violated_players(some_bins, ensemble.conditions, ensemble.paths, player, r0, r1, out)
        return out

    def task(r0: int, r1: int) -> NDArray[np.float64]:
        violated = np.ascontiguousarray(masks(bins, r0, r1).T)
        total: NDArray[np.float64] = np.zeros(0)
        for b0 in range(0, background.n_rows, size):
            b1 = min(b0 + size, background.n_rows)
            back = masks(background.bins, b0, b1)
            words = np.empty(len(player), np.uint64)
            rows_by_player(back, ensemble.paths, player, words)
            work, margins = np.empty((2, ensemble.n_outputs, b1 - b0, 1 << n_players))
            args = back, words, ensemble.paths, player, ensemble.leaf_values, ensemble.base, n_players
            for r in range(r1 - r0):
                mix_pair(violated[r], *args, work, margins)
                responses = np.tensordot(share[b0:b1], apply_link(link, margins), (0, 1))
                if not total.size:
                    total = np.zeros((*responses.shape, r1 - r0))
                total[..., r] += responses
        return total if reduce is None else reduce(total)

    tasks = [(r0, min(r0 + rows_per_task, n_rows)) for r0 in range(0, n_rows, rows_per_task)]
    return np.concatenate(execution.run(task, tasks, label), axis=-1)
