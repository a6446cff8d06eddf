"""Groups of leaves that share a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.patterns import group_leaves
from skglex._leaves._leaves import LeafEnsemble

# Leaves with more conditions have no pattern table of their own (2**conditions entries).
MAX_TABLE_BITS = 12
# Bits of a group of leaves: its table then stays in the first cache, which counts more than fewer groups.
GROUP_BITS = 7


@dataclass(frozen=True)
class PatternGroups:
    """Neighbouring leaves whose conditions share one pattern.

    Attributes
    ----------
    group_leaf : ndarray of shape (n_groups + 1,), int64
        Leaves of group ``g``: ``group_leaf[g]`` up to ``group_leaf[g + 1]``.
    entry_ptr, condition, bit_of_entry : ndarray
        Bits of group ``g``: condition ``condition[e]`` has bit ``bit_of_entry[e]``, for e from ``entry_ptr[g]``.
    table_ptr : ndarray of shape (n_groups + 1,), int64
        Running sum of the groups' numbers of patterns, 0 for a group that is too wide to have a table.
    bit, flip : ndarray of shape (n_leaf_conditions of the ensemble,), uint8
        Bit of every leaf condition, and whether the bit is about its complement.
    """

    group_leaf: NDArray[np.int64]
    entry_ptr: NDArray[np.int64]
    condition: NDArray[np.int32]
    bit_of_entry: NDArray[np.uint8]
    table_ptr: NDArray[np.int64]
    bit: NDArray[np.uint8]
    flip: NDArray[np.uint8]

    @property
    def n_groups(self) -> int:
        return len(self.group_leaf) - 1

    @property
    def n_patterns(self) -> NDArray[np.int64]:
        return np.diff(self.table_ptr)

    @property
    def wide(self) -> NDArray[np.bool_]:
        """Groups (of one leaf) that have too many conditions for a table."""
        return np.asarray(self.n_patterns == 0)

    def kernel_args(self) -> tuple[Any, ...]:
        return self.condition, self.bit_of_entry, self.entry_ptr, self.table_ptr


def group_patterns(ensemble: LeafEnsemble, *, any_violation: bool = False) -> PatternGroups:
    """Group an ensemble's leaves.

    Parameters
    ----------
    ensemble : LeafEnsemble
    any_violation : bool
        Give leaves that are too wide for a table a single bit, "any condition violated". That is enough where
        only rows that meet all of a leaf's conditions get something.
    """
    n_leaf_conditions = len(ensemble.leaf_condition)
    group_of = np.empty(ensemble.n_leaves, np.int64)
    bit = np.empty(n_leaf_conditions, np.uint8)
    flip, first = np.empty((2, n_leaf_conditions), np.bool_)
    n_bits = np.empty(ensemble.n_leaves, np.int64)
    leaves = ensemble.leaf_ptr, ensemble.leaf_condition, ensemble.complement, ensemble.output
    n_groups = group_leaves(*leaves, GROUP_BITS, group_of, bit, flip, first, n_bits)
    n_bits = n_bits[:n_groups]
    wide = n_bits > MAX_TABLE_BITS
    if any_violation:
        bit[np.repeat(wide[group_of], np.diff(ensemble.leaf_ptr))] = 0
        n_patterns = np.where(wide, 2, 1 << np.minimum(n_bits, MAX_TABLE_BITS))
    else:
        n_patterns = np.where(wide, 0, 1 << np.minimum(n_bits, MAX_TABLE_BITS))
    # of the leaf conditions that share a bit, the first defines it; a wide leaf keeps all of its own
    group_leaf = np.searchsorted(group_of, np.arange(n_groups + 1)).astype(np.int64)
    n_first = np.concatenate([[0], np.cumsum(first)])
    return PatternGroups(
        group_leaf=group_leaf,
        entry_ptr=n_first[ensemble.leaf_ptr[group_leaf]],
        condition=np.ascontiguousarray(ensemble.leaf_condition[first]),
        bit_of_entry=bit[first],
        table_ptr=np.concatenate([[0], np.cumsum(n_patterns)]).astype(np.int64),
        bit=bit,
        flip=flip.astype(np.uint8),
    )
