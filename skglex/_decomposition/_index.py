"""List the components of a model, and the leaves that each of them comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import Sources
from skglex._kernels.item_sets import are_equal, hash_sets
from skglex._leaves import Players, one_feature_each
from skglex._utils import budgets

# Keys of rows are marked in an array if there are at most so many possible ones.
_FEW_KEYS = 1 << 20


def fewer_components(max_order: int) -> str:
    """Say how a decomposer lists fewer components than those up to an order."""
    if max_order > 2:
        return "Set max_interaction (2 gives main effects and pairs, 1 main effects), restrict features"
    return (
        "Set max_interaction=1 (main effects), restrict features" if max_order == 2 else "Restrict features"
    )


class TooManyComponents(ValueError):
    """Report that there are more components than the limit.

    Attributes
    ----------
    count : int
        Number of components.
    exact : bool
        Whether ``count`` is exact or a lower bound.
    max_order : int
        Highest order of the components.
    """

    def __init__(self, count: int, exact: bool, max_order: int) -> None:
        super().__init__(
            f"the model has {'' if exact else 'at least '}{count:,} components, too many to list. "
            f"{fewer_components(max_order)}, or join columns with feature_groups. "
            "Single components, SHAP values, SHAP interaction values and partial dependence are available regardless"
        )
        self.count = count
        self.exact = exact


@dataclass(frozen=True)
class PathSets:
    """List the distinct path sets: the sets of the players on the leaves' paths.

    Attributes
    ----------
    of_leaf : ndarray of shape (n_leaves,), int64
        Path set of every leaf.
    ptr : ndarray of shape (n_path_sets + 1,), int64
        Path set p has the players ``member[ptr[p]:ptr[p + 1]]``, increasing.
    member : ndarray, int64
    """

    of_leaf: NDArray[np.int64]
    ptr: NDArray[np.int64]
    member: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of path sets."""
        return len(self.ptr) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Return the number of players of each path set."""
        return np.diff(self.ptr)

    def positions(self, path_set: NDArray[np.int64], player: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of players among those of their path sets."""
        n = int(self.member.max(initial=0)) + 1
        keys = np.repeat(np.arange(len(self)), self.sizes) * n + self.member
        return np.asarray(np.searchsorted(keys, path_set * n + player) - self.ptr[path_set])

    def restricted(self, allowed: NDArray[np.bool_] | None) -> PathSets:
        """Return the path sets without the players that are not allowed; some may then be equal."""
        if allowed is None:
            return self
        keep = allowed[self.member]
        ptr = np.concatenate([[0], np.cumsum(keep)])[self.ptr]
        return replace(self, ptr=ptr, member=self.member[keep])

    def subsets(
        self, order: int, some: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the subsets of ``order`` players of all or some path sets, and the path set of each."""
        rows, path_set = [np.empty((0, order), np.int64)], [np.empty(0, np.int64)]
        wanted = self.sizes if some is None else np.where(some, self.sizes, 0)
        for k in np.unique(wanted[wanted >= order]).tolist():
            same = np.flatnonzero(wanted == k)
            picks = np.array(list(combinations(range(k), order)))
            rows.append(self.member[self.ptr[same][:, None, None] + picks].reshape(-1, order))
            path_set.append(np.repeat(same, len(picks)))
        return np.concatenate(rows), np.concatenate(path_set)


@dataclass(frozen=True)
class ComponentIndex:
    """List the components of a model, by order, then by feature position.

    Attributes
    ----------
    sets : list of tuple of int
        Players of each component.
    sources : Sources
        Path sets that each component comes from.
    path_sets : PathSets
    """

    sets: list[tuple[int, ...]]
    sources: Sources
    path_sets: PathSets

    def only(self, members: tuple[int, ...]) -> ComponentIndex:
        """Return the index of one of the components."""
        position = self.sets.index(members)
        part = slice(*self.sources.ptr[position : position + 2])
        path_set = self.sources.path_set[part]
        return replace(
            self, sets=[members], sources=Sources(np.array([0, len(path_set)], np.int64), path_set)
        )


def index_components(
    path_sets: PathSets, *, max_order: int, allowed: NDArray[np.bool_] | None, limit: int
) -> ComponentIndex:
    """List all components up to an order: the subsets of the path sets.

    Parameters
    ----------
    path_sets : PathSets
    max_order : int
    allowed : ndarray of shape (n_players_total,), bool, optional
        Only components of these players.
    limit : int
        Largest number of components.

    Raises
    ------
    TooManyComponents
        There are more than ``limit``.
    """
    usable = path_sets.restricted(allowed)
    sizes, n_same = np.unique(usable.sizes, return_counts=True)
    sets: list[tuple[int, ...]] = []
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    largest = int(sizes.max(initial=0))
    count = 0
    for order in range(1, min(max_order, largest) + 1):
        n_listed = sum(n * comb(k, order) for k, n in zip(sizes.tolist(), n_same.tolist()))
        least = count + comb(largest, order)
        if n_listed > (
            budgets.counted_components if max(count, least) > limit else budgets.listed_components
        ):
            raise TooManyComponents(
                max(least, count + _count_some(usable, order)), exact=False, max_order=max_order
            )
        rows, of_path_set = usable.subsets(order)
        unique, inverse = _unique_rows(rows)
        count += len(unique)
        if count <= limit:
            parts.append((len(sets) + inverse, of_path_set))
            sets += zip(*unique.T.tolist())
    if count > limit:
        raise TooManyComponents(count, exact=True, max_order=max_order)
    return ComponentIndex(sets, _join_sources(parts, len(sets)), path_sets)


def _count_some(path_sets: PathSets, order: int) -> int:
    """Count the components of one order that come from some of the path sets."""
    sizes = path_sets.sizes
    n_subsets = np.array([comb(k, order) for k in range(sizes.max() + 1)], dtype=np.float64)[sizes]
    spread = np.zeros(len(sizes), dtype=bool)
    spread[:: int(np.ceil(n_subsets.sum() / budgets.counted_components))] = True
    some = spread & (np.cumsum(n_subsets * spread) <= budgets.counted_components)
    return len(_unique_rows(path_sets.subsets(order, some)[0])[0])


def _join_sources(parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]], n_components: int) -> Sources:
    """Sort (component, path set) by component."""
    component = np.concatenate([p[0] for p in parts]) if parts else np.empty(0, np.int64)
    path_set = np.concatenate([p[1] for p in parts]) if parts else np.empty(0, np.int64)
    # Numbers of 16 bits are sorted in linear time.
    order = np.argsort(component.astype(np.min_scalar_type(n_components)), kind="stable")
    ptr = np.searchsorted(component[order], np.arange(n_components + 1)).astype(np.int64)
    return Sources(ptr, path_set[order])


def path_sets_of(players: Players, leaf_ptr: NDArray[np.int64]) -> PathSets:
    """Find the distinct path sets of all leaves."""
    sizes = players.n_players
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    member = players.condition_player_id
    if not one_feature_each(players.player_of_feature):
        # A player has several conditions, or the conditions of a leaf are in another order.
        by_player = np.empty(ptr[-1], np.int32)
        by_player[np.repeat(ptr[:-1], np.diff(leaf_ptr)) + players.condition_player] = member
        member = by_player
    # Hash each set of players as a 64-bit sum of random numbers. Collisions are detected below.
    code = np.random.default_rng(0).integers(2**63, size=int(member.max(initial=0)) + 1, dtype=np.uint64)
    key = np.empty(len(sizes), np.uint64)
    hash_sets(ptr, member, code, key)
    _, first, of_leaf = np.unique(key, return_index=True, return_inverse=True)
    if not are_equal(ptr, member, first[of_leaf]):  # pragma: no cover
        raise RuntimeError("two different sets of features have the same hash. Please report this model")
    of_first = np.zeros(len(sizes), dtype=bool)
    of_first[first] = True
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return PathSets(
        rank[of_leaf],
        np.concatenate([[0], np.cumsum(sizes[of_first])]).astype(np.int64),
        member[np.repeat(of_first, sizes)].astype(np.int64),
    )


def _unique_rows(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows in lexicographic order, and the position of every row among them."""
    base = int(rows.max(initial=0)) + 1
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), np.int64)
    if base ** rows.shape[1] < 2**62:
        key = np.zeros(len(rows), np.int64)
        for column in rows.T:
            key = key * base + column
        if (n := base ** rows.shape[1]) <= max(len(rows), _FEW_KEYS):
            found = np.zeros(n, dtype=bool)
            found[key] = True
            unique = np.flatnonzero(found)[:, None] // base ** np.arange(rows.shape[1] - 1, -1, -1) % base
            return unique, (np.cumsum(found) - 1)[key]
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        return rows[first], inverse
    unique, inverse = np.unique(rows, axis=0, return_inverse=True)
    return unique, inverse.ravel()
