"""Average the responses of rows mixed with background rows, for every coalition of players."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.mixed_rows import mix_pair, rows_by_player, violated_players
from skglex._kernels.subsets import count_members
from skglex._leaves import Background, LeafEnsemble
from skglex._mixed_rows._margins import Link, apply_link
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, scaled

# Rows that are mixed with the background at one time. Words have 64 bits. Tasks divide the background.
_ROWS, _WORD, _TASKS = 512, 64, 16


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
        Linear function that is applied to the result for some rows. It keeps the rows as the last axis.

    Returns
    -------
    ndarray of shape (n_responses, 2**n_players, n_rows)
        Coalition V is at the position of its bit mask. The last one is the response of the row itself.
    """
    player = player_of_feature[ensemble.condition_feature].astype(np.uint8)
    size = max(1, min(_WORD, scaled(budgets.coalition_margins) // (ensemble.n_outputs << n_players)))
    counts, share = count_members(n_players), background.weight / background.total

    def masks(some_bins: NDArray[np.unsignedinteger], r0: int, r1: int) -> NDArray[np.uint16]:
        out = np.empty((ensemble.n_leaves, r1 - r0), np.uint16)
        violated_players(some_bins, ensemble.conditions, ensemble.paths, player, r0, r1, out)
        return out

    def task(violated: NDArray[np.uint16], first: int, last: int) -> NDArray[np.float64]:
        total: NDArray[np.float64] = np.zeros(0)
        for b0 in range(first, last, size):
            b1 = min(b0 + size, last)
            back = masks(background.bins, b0, b1)
            words = np.empty(len(player), np.uint64)
            rows_by_player(back, ensemble.paths, player, words)
            work, margins = np.empty((2, ensemble.n_outputs, b1 - b0, 1 << n_players))
            args = back, words, ensemble.paths, player, ensemble.leaf_values, ensemble.base, counts
            for r, row in enumerate(violated):
                mix_pair(row, *args, work, margins)
                responses = np.tensordot(share[b0:b1], apply_link(link, margins), (0, 1))
                if not total.size:
                    total = np.zeros((*responses.shape, len(violated)))
                total[..., r] += responses
        return total if reduce is None else reduce(total)

    n_rows, n_background = bins.shape[1], background.n_rows
    rows_at_a_time = max(1, min(_ROWS, scaled(budgets.pattern_table_size) >> n_players))
    step = -(-n_background // _TASKS)
    parts = []
    for r0 in range(0, n_rows, rows_at_a_time):
        violated = np.ascontiguousarray(masks(bins, r0, min(r0 + rows_at_a_time, n_rows)).T)
        tasks = [(violated, b0, min(b0 + step, n_background)) for b0 in range(0, n_background, step)]
        parts.append(np.sum(execution.run(task, tasks, label), axis=0))
    return np.concatenate(parts, axis=-1)
