"""Group leaves whose conditions share one pattern."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import GroupBits, LeafBits
from skglex._kernels.patterns import group_leaves
from skglex._leaves._leaves import LeafEnsemble
from skglex._utils import without_cached

# A leaf with more conditions has a long path: no table of its 2**conditions patterns or coalitions.
MAX_TABLE_BITS = 12
# Bits of a group of leaves. Its table then stays in the first cache, which matters more than fewer groups.
GROUP_BITS = 7


class _Bits(NamedTuple):
    """Describe the bits of groups.

    Attributes
    ----------
    ptr : ndarray of shape (n_groups + 1,), int64
        Bits of group ``g``: ``ptr[g]`` up to ``ptr[g + 1]``.
    condition : ndarray of shape (n_bits,), int32
        Condition that each bit stands for.
    position : ndarray of shape (n_bits,), uint8
        Position of each bit in the pattern.
    of_condition, flip : ndarray of shape (n_leaf_conditions,), uint8
        Position of every leaf condition's bit, and 1 where that bit stands for the condition's complement.
    """

    ptr: NDArray[np.int64]
    condition: NDArray[np.int32]
    position: NDArray[np.uint8]
    of_condition: NDArray[np.uint8]
    flip: NDArray[np.uint8]


@dataclass(frozen=True)
class PatternGroups:
    """Describe groups of neighbouring leaves, and the bits of their patterns.

    Attributes
    ----------
    ensemble : LeafEnsemble
    any_violation : bool
        See `group_patterns`.
    group_leaf : ndarray of shape (n_groups + 1,), int64
        Leaves of group ``g``: ``group_leaf[g]`` up to ``group_leaf[g + 1]``.
    table_ptr : ndarray of shape (n_groups + 1,), int64
        Running sum of the groups' numbers of patterns, where a group with a long path counts 0.
    """

    ensemble: LeafEnsemble
    any_violation: bool
    group_leaf: NDArray[np.int64]
    table_ptr: NDArray[np.int64]

    def __getstate__(self) -> dict[str, Any]:
        return without_cached(self)

    @property
    def n_groups(self) -> int:
        """Return the number of groups."""
        return len(self.group_leaf) - 1

    @property
    def n_patterns(self) -> NDArray[np.int64]:
        """Return the number of patterns of every group; 0 for a long path."""
        return np.diff(self.table_ptr)

    @property
    def n_bits(self) -> NDArray[np.int64]:
        """Return the number of bits of every group that has patterns; 0 for a long path."""
        return np.asarray(np.log2(np.maximum(self.n_patterns, 1)).astype(np.int64))

    @cached_property
    def bits(self) -> _Bits:
        """Return the bits of all groups. They take half of the memory of a forest, and are found when needed."""
        ensemble = self.ensemble
        n_bits, bit, flip, first = _group_leaves(ensemble)[1:]
        if self.any_violation:
            bit[np.repeat(n_bits > MAX_TABLE_BITS, np.diff(ensemble.leaf_ptr[self.group_leaf]))] = 0
        # Of the leaf conditions that share a bit, the first defines the bit. A long path keeps all of its conditions.
        n_first = np.concatenate([[0], np.cumsum(first)])
        return _Bits(
            ptr=n_first[ensemble.leaf_ptr[self.group_leaf]],
            condition=np.ascontiguousarray(ensemble.leaf_condition[first]),
            position=bit[first],
            of_condition=bit,
            flip=flip.astype(np.uint8),
        )

    def group_bits(self, first: int = 0, last: int | None = None) -> GroupBits:
        """Return the bits of the groups ``first <= g < last`` for kernels."""
        part = slice(first, None if last is None else last + 1)
        return GroupBits(self.bits.ptr[part], self.bits.condition, self.bits.position, self.table_ptr[part])

    def leaf_bits(self, first: int = 0, last: int | None = None) -> LeafBits:
        """Return the bits of the leaves of the groups ``first <= g < last`` for kernels."""
        part = slice(first, None if last is None else last + 1)
        return LeafBits(self.group_leaf[part], self.table_ptr[part], self.bits.of_condition, self.bits.flip)


def group_patterns(ensemble: LeafEnsemble, *, any_violation: bool = False) -> PatternGroups:
    """Group an ensemble's leaves.

    Parameters
    ----------
    ensemble : LeafEnsemble
    any_violation : bool
        Give each long path a single bit, "any condition violated". That is enough where a leaf adds something only
        to rows that meet all of its conditions.
    """
    group_leaf, n_bits = _group_leaves(ensemble)[:2]
    n_patterns = np.where(n_bits > MAX_TABLE_BITS, 2 * any_violation, 1 << np.minimum(n_bits, MAX_TABLE_BITS))
    table_ptr = np.concatenate([[0], np.cumsum(n_patterns)]).astype(np.int64)
    return PatternGroups(ensemble, any_violation, group_leaf, table_ptr)


def _group_leaves(ensemble: LeafEnsemble) -> tuple[NDArray[Any], ...]:
    """Return the first leaf and the number of bits of every group, and what `group_leaves` says of conditions."""
    n_leaf_conditions = len(ensemble.leaf_condition)
    group_of, n_bits = np.empty((2, ensemble.n_leaves), np.int64)
    bit = np.empty(n_leaf_conditions, np.uint8)
    flip, first = np.empty((2, n_leaf_conditions), np.bool_)
    n_groups = group_leaves(
        ensemble.paths, ensemble.complement, ensemble.output, GROUP_BITS, group_of, bit, flip, first, n_bits
    )
    group_leaf = np.searchsorted(group_of, np.arange(n_groups + 1)).astype(np.int64)
    return group_leaf, n_bits[:n_groups], bit, flip, first
