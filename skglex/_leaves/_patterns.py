"""Group leaves whose conditions share one pattern."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import GroupBits, LeafBits
from skglex._kernels.patterns import group_leaves
from skglex._leaves._leaves import LeafEnsemble

# A leaf with more conditions has a long path: no table of its 2**conditions patterns or coalitions.
MAX_TABLE_BITS = 12
# Bits of a group of leaves. Its table then stays in the first cache, which matters more than fewer groups.
GROUP_BITS = 7


@dataclass(frozen=True)
class PatternGroups:
    """Describe groups of neighbouring leaves, and the bits of their patterns.

    Attributes
    ----------
    group_leaf : ndarray of shape (n_groups + 1,), int64
        Leaves of group ``g``: ``group_leaf[g]`` up to ``group_leaf[g + 1]``.
    bit_ptr : ndarray of shape (n_groups + 1,), int64
        Bits of group ``g``: ``bit_ptr[g]`` up to ``bit_ptr[g + 1]``.
    bit_condition : ndarray of shape (n_bits,), int32
        Condition that each bit stands for.
    bit_position : ndarray of shape (n_bits,), uint8
        Position of each bit in the pattern.
    table_ptr : ndarray of shape (n_groups + 1,), int64
        Running sum of the groups' numbers of patterns, where a group with a long path counts 0.
    condition_bit, condition_flip : ndarray of shape (n_leaf_conditions,), uint8
        Position of every leaf condition's bit, and 1 where that bit stands for the condition's complement.
    """

    group_leaf: NDArray[np.int64]
    bit_ptr: NDArray[np.int64]
    bit_condition: NDArray[np.int32]
    bit_position: NDArray[np.uint8]
    table_ptr: NDArray[np.int64]
    condition_bit: NDArray[np.uint8]
    condition_flip: NDArray[np.uint8]

    @property
    def n_groups(self) -> int:
        """Return the number of groups."""
        return len(self.group_leaf) - 1

    @property
    def n_patterns(self) -> NDArray[np.int64]:
        """Return the number of patterns of every group; 0 for a long path."""
        return np.diff(self.table_ptr)

    def group_bits(self, first: int = 0, last: int | None = None) -> GroupBits:
        """Return the bits of the groups ``first <= g < last`` for kernels."""
        part = slice(first, None if last is None else last + 1)
        return GroupBits(self.bit_ptr[part], self.bit_condition, self.bit_position, self.table_ptr[part])

    def leaf_bits(self, first: int = 0, last: int | None = None) -> LeafBits:
        """Return the bits of the leaves of the groups ``first <= g < last`` for kernels."""
        part = slice(first, None if last is None else last + 1)
        return LeafBits(self.group_leaf[part], self.table_ptr[part], self.condition_bit, self.condition_flip)


def group_patterns(ensemble: LeafEnsemble, *, any_violation: bool = False) -> PatternGroups:
    """Group an ensemble's leaves.

    Parameters
    ----------
    ensemble : LeafEnsemble
    any_violation : bool
        Give each long path a single bit, "any condition violated". That is enough where a leaf adds something only
        to rows that meet all of its conditions.
    """
    n_leaf_conditions = len(ensemble.leaf_condition)
    group_of = np.empty(ensemble.n_leaves, np.int64)
    bit = np.empty(n_leaf_conditions, np.uint8)
    flip, first = np.empty((2, n_leaf_conditions), np.bool_)
    n_bits = np.empty(ensemble.n_leaves, np.int64)
    n_groups = group_leaves(
        ensemble.paths, ensemble.complement, ensemble.output, GROUP_BITS, group_of, bit, flip, first, n_bits
    )
    n_bits = n_bits[:n_groups]
    long_path = n_bits > MAX_TABLE_BITS
    if any_violation:
        bit[np.repeat(long_path[group_of], np.diff(ensemble.leaf_ptr))] = 0
        n_patterns = np.where(long_path, 2, 1 << np.minimum(n_bits, MAX_TABLE_BITS))
    else:
        n_patterns = np.where(long_path, 0, 1 << np.minimum(n_bits, MAX_TABLE_BITS))
    # Of the leaf conditions that share a bit, the first defines the bit. A long path keeps all of its conditions.
    group_leaf = np.searchsorted(group_of, np.arange(n_groups + 1)).astype(np.int64)
    n_first = np.concatenate([[0], np.cumsum(first)])
    return PatternGroups(
        group_leaf=group_leaf,
        bit_ptr=n_first[ensemble.leaf_ptr[group_leaf]],
        bit_condition=np.ascontiguousarray(ensemble.leaf_condition[first]),
        bit_position=bit[first],
        table_ptr=np.concatenate([[0], np.cumsum(n_patterns)]).astype(np.int64),
        condition_bit=bit,
        condition_flip=flip.astype(np.uint8),
    )
