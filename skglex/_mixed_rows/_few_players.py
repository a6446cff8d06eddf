"""Average the responses of background rows in which few players take the values of a row, for many sets of players."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import PackedTrees, SetFamily
from skglex._kernels.tree_walks import mix_few_players
from skglex._leaves import Background, LeafEnsemble, LeafSum
from skglex._mixed_rows._costs import seconds_of_walks
from skglex._mixed_rows._margins import Link, apply_link
from skglex._utils import Execution, budgets, scaled

# Tasks divide the rows and, for few rows, the background, whose rows walk down a tree together.
_TASKS, _TOGETHER = 16, 1024
# Sets with more players have too many subsets.
_FEW = 4


@dataclass(frozen=True)
class FewPlayers:
    """Walk down the trees with a row and all background rows at one time, for all sets of few players.

    `few_players` makes it.

    Attributes
    ----------
    trees : PackedTrees
    depth : int
        Number of splits on the longest path.
    base : ndarray of shape (n_outputs,)
    family : SetFamily
    n_sets : int
        Number of sets in the family.
    position : ndarray of shape (n_asked,), int64
        Where the sets that were asked for are in the family.
    seconds : float
        Estimate for one pair of a row and a background row.
    """

    trees: PackedTrees
    depth: int
    base: NDArray[np.float64]
    family: SetFamily
    n_sets: int
    position: NDArray[np.int64]
    seconds: float

    def responses(
        self,
        bins: NDArray[np.unsignedinteger],
        link: Link,
        execution: Execution,
        label: str,
        background: Background,
    ) -> NDArray[np.float64]:
        """Average the response over the background, for every set of players that take the values of a row.

        Parameters
        ----------
        bins : ndarray of shape (n_used_features, n_rows)
        link : callable
            Function from margins of shape (n_samples, n_outputs) to responses of shape (n_samples, n_responses).
        execution : Execution
        label : str
        background : Background

        Returns
        -------
        ndarray of shape (n_responses, n_asked, n_rows)
        """
        share, width = background.weight / background.total, len(self.base) * self.n_sets
        size = max(1, scaled(budgets.mixed_margins) // width)

        def task(r0: int, r1: int, first: int, last: int) -> NDArray[np.float64]:
            total: list[NDArray[np.float64]] = []
            for b0 in range(first, last, size):
                b1 = min(b0 + size, last)
                back = np.ascontiguousarray(background.bins[:, b0:b1])
                for r in range(r0, r1):
                    margins = np.zeros((len(self.base), self.n_sets, b1 - b0))
                    margins[:, 0] = self.base[:, None]
                    row = np.ascontiguousarray(bins[:, r : r + 1])
                    mix_few_players(row, back, self.trees, self.family, self.depth, margins)
                    mean = (apply_link(link, margins) @ share[b0:b1])[:, self.position]
                    if b0 == first:
                        total.append(mean)
                    else:
                        total[r - r0] += mean
            return np.stack(total, axis=-1)

        rows = _cut(bins.shape[1], _TASKS, 1)
        parts = _cut(background.n_rows, -(-_TASKS // len(rows)), _TOGETHER)
        tasks = [(*some, *part) for some in rows for part in parts]
        results = iter(execution.run(task, tasks, label))
        return np.concatenate([sum(next(results) for _ in parts) for _ in rows], axis=-1)


def few_players(
    ensemble: LeafEnsemble,
    margins: LeafSum,
    player_of_feature: NDArray[np.int64],
    sets: Sequence[tuple[int, ...]],
) -> FewPlayers | None:
    """Prepare the walks for some sets of players; return None if a set is too large, or the model has no trees."""
    if max(map(len, sets), default=0) > _FEW or (packed := margins.packed) is None:
        return None
    sets = [tuple(sorted(members)) for members in sets]
    family = {part for members in sets for k in range(len(members) + 1) for part in combinations(members, k)}
    smaller = {members[:k] + members[k + 1 :] for members in family for k in range(len(members))}
    ordered = sorted(family, key=lambda members: (members not in smaller, len(members), members))
    position = {members: i for i, members in enumerate(ordered)}
    asked = {player: i for i, player in enumerate(sorted({j for members in sets for j in members}))}
    with_player = np.full((len(smaller), len(asked)), -1, np.int32)
    for members, i in position.items():
        for k, player in enumerate(members):
            with_player[position[members[:k] + members[k + 1 :]], asked[player]] = i
    follows = np.array([asked.get(player, -1) for player in player_of_feature.tolist()], np.int64)
    order = max(map(len, sets), default=0)
    return FewPlayers(
        trees=packed.trees,
        depth=int(packed.depth.max(initial=0)),
        base=ensemble.base,
        family=SetFamily(follows, with_player, order),
        n_sets=len(ordered),
        position=np.array([position[members] for members in sets], np.int64),
        seconds=seconds_of_walks(
            packed.visits, len(packed.depth), order, (follows >= 0).mean(), len(ensemble.base) * len(ordered)
        ),
    )


def _cut(n: int, most: int, shortest: int) -> list[tuple[int, int]]:
    """Cut ``range(n)`` into parts, at most so many; all but the last have at least the shortest length."""
    step = max(-(-n // most), shortest)
    return [(first, min(first + step, n)) for first in range(0, n, step)]
