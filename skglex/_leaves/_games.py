"""See each leaf as a game between the players on its path."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skglex._leaves._leaves import LeafEnsemble
from skglex._leaves._patterns import PatternGroups
from skglex._leaves._players import Players


@dataclass(frozen=True)
class LeafGames:
    r"""Join what describes the leaves' games: their conditions, their players, and the patterns they share.

    Leaf l pays E_l(P \ V) to the coalition V of players whose conditions a row meets. A `Weighting` computes E_l.

    Attributes
    ----------
    ensemble : LeafEnsemble
    players : Players
    groups : PatternGroups
    """

    ensemble: LeafEnsemble
    players: Players
    groups: PatternGroups

    def leaves_of(self, first: int, last: int) -> tuple[int, int]:
        """Return the first leaf of group ``first`` and the first leaf of group ``last``."""
        return int(self.groups.group_leaf[first]), int(self.groups.group_leaf[last])

    def n_coalitions(self, first: int, last: int) -> int:
        """Return the number of coalitions in the tables of the groups ``first <= g < last``."""
        l0, l1 = self.leaves_of(first, last)
        return int(self.players.coalition_ptr[l1] - self.players.coalition_ptr[l0])

    def with_tables_of(self, n_coalitions: NDArray[np.int64]) -> LeafGames:
        """Return the games with tables of so many coalitions of each leaf; 0 leaves out a leaf's table."""
        players = replace(self.players, coalition_ptr=np.concatenate([[0], np.cumsum(n_coalitions)]))
        n_patterns = np.where(self.sum_by_group(n_coalitions) > 0, self.groups.n_patterns, 0)
        groups = replace(self.groups, table_ptr=np.concatenate([[0], np.cumsum(n_patterns)]))
        return replace(self, players=players, groups=groups)

    def sum_by_group(self, per_leaf: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of a number per leaf over each group."""
        return np.asarray(np.add.reduceat(np.append(per_leaf, 0), self.groups.group_leaf[:-1]))
