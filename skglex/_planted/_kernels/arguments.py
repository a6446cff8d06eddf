"""Define and allocate the tuples of arrays and numbers that the kernels receive.

NumPy allocates the arrays before a family is grown, so that no kernel spends compile time on allocations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._planted._kernels.loss import count_stats, is_additive

# Up to this many codes of a feature, statistics are summed per code.
FEW_CODES = 1024

# Positions in `Family.sizes`.
TREES, LEAVES, CANDIDATES, ROWS = 0, 1, 2, 3


class Parameters(NamedTuple):
    """Hold the parameters of a forest that its kernels read.

    The docstrings of the estimators describe the parameters. ``loss`` is a constant of the module ``loss``,
    ``rule`` one of the module ``split``.
    """

    loss: int
    max_interaction: int
    n_splits: int
    split_try: int
    t_try: float
    split_decay_rate: float
    max_candidates: int
    delete_leaves: bool
    bootstrap: bool
    min_samples_leaf: int
    delta: float
    epsilon: float
    rule: int


class RowArrays(NamedTuple):
    """Hold the state of the training rows while a family grows.

    The docstring of the module ``loss`` describes the columns.

    Attributes
    ----------
    weight : ndarray of shape (n_samples,)
        Sample weight times the number of draws. Rows of weight 0 are never read.
    target, score : ndarray of shape (n_samples, n_outputs)
    stats : ndarray of shape (n_samples, n_stats)
    """

    weight: NDArray[np.float64]
    target: NDArray[np.float64]
    score: NDArray[np.float64]
    stats: NDArray[np.float64]


class Family(NamedTuple):
    """Hold a growing family: its trees, its leaves, and the candidates for the next split.

    Attributes
    ----------
    sizes : ndarray of shape (4,), int64
        Numbers of trees, of leaves, of candidates, and of rows in the arena.
    tree_features : ndarray of shape (max_trees, max_order), int64
        Features of each tree in increasing order; only the first ``tree_size`` entries of a line are used.
    tree_size : ndarray of shape (max_trees,), int64
    leaf_tree : ndarray of shape (max_leaves,), int64
    leaf_start, leaf_rows : ndarray of shape (max_leaves,), int64
        Start of the leaf's rows in the arena, and their number.
    lo, hi : ndarray of shape (max_leaves, max_order), int64
        A leaf's box in codes, with one column per feature of its tree: ``lo <= code < hi``.
    missing : ndarray of shape (max_leaves, max_order), bool
        Whether a missing value is in the box.
    values : ndarray of shape (max_leaves, n_outputs), float64
    gains : ndarray of shape (n_features,), float64
        How much the splits on each feature lowered the loss beyond updating their leaves as a whole.
    pool : ndarray of shape (max_candidates, 2), int64
        Leaf and feature of each candidate.
    ages : ndarray of shape (max_candidates,), int64
        How often a candidate was tried since it last won.
    """

    sizes: NDArray[np.int64]
    tree_features: NDArray[np.int64]
    tree_size: NDArray[np.int64]
    leaf_tree: NDArray[np.int64]
    leaf_start: NDArray[np.int64]
    leaf_rows: NDArray[np.int64]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    missing: NDArray[np.bool_]
    values: NDArray[np.float64]
    gains: NDArray[np.float64]
    pool: NDArray[np.int64]
    ages: NDArray[np.int64]


class Scratch(NamedTuple):
    """Hold working space for the search for a split. No result outlives one search.

    A bucket is a set of rows between neighbouring thresholds; the last bucket holds the missing values.

    Attributes
    ----------
    keys, order : ndarray of shape (max_candidates,), float64
        Random keys of the candidates, and a copy that `draw_weighted` reorders.
    drawn : ndarray of shape (max_drawn,), int64
        Candidates to try.
    local : ndarray of shape (n_samples,), int32
        Codes, then buckets, of the rows of a leaf. A split stores its right rows here for a moment.
    bits : ndarray of shape (n_words,), uint64
        One bit per code, set if the code occurs in the leaf.
    table : ndarray of shape (max_codes,), int16
        Bucket of every code.
    thresholds : ndarray of shape (max_buckets,), int64
    sums, right_sums : ndarray of shape (max_buckets, n_stats), float64
        Statistics per bucket, then over all rows left of each threshold; statistics over all rows right of it.
    counts : ndarray of shape (max_buckets,), int64
        Number of rows per bucket, then left of each threshold.
    starts : ndarray of shape (max_buckets + 1,), int64
        Start of each bucket in ``parts``.
    code_sums, code_counts : ndarray of shape (few_codes, n_stats), float64; (few_codes,), int64
        Statistics and number of rows per code.
    sides : ndarray of shape (2, n_stats), float64
        Statistics of the left and the right child.
    updates, growths : ndarray of shape (2, n_outputs), float64
        Updates of both children, and their exponentials.
    parts, part_weights : ndarray of shape (n_samples, n_outputs); (n_samples,), float64
        Numbers of each row from which `span_loss` computes a child's loss, sorted by bucket. They are empty
        for a loss that follows from sums.
    """

    keys: NDArray[np.float64]
    order: NDArray[np.float64]
    drawn: NDArray[np.int64]
    local: NDArray[np.int32]
    bits: NDArray[np.uint64]
    table: NDArray[np.int16]
    thresholds: NDArray[np.int64]
    sums: NDArray[np.float64]
    right_sums: NDArray[np.float64]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    code_sums: NDArray[np.float64]
    code_counts: NDArray[np.int64]
    sides: NDArray[np.float64]
    updates: NDArray[np.float64]
    growths: NDArray[np.float64]
    parts: NDArray[np.float64]
    part_weights: NDArray[np.float64]


def allocate_rows(target: NDArray[np.float64], loss: int) -> RowArrays:
    """Return the state of the training rows. `grow_family` fills all arrays except the target."""
    n_rows, n_outputs = target.shape
    return RowArrays(
        weight=np.empty(n_rows),
        target=target.copy(),
        score=np.empty(target.shape),
        stats=np.empty((n_rows, count_stats(loss, n_outputs))),
    )


def allocate_family(n_features: int, n_outputs: int, parameters: Parameters) -> Family:
    """Return a family with one tree without features and one leaf; `grow_family` adds rows and candidates."""
    n_splits = parameters.n_splits
    order = max(1, min(parameters.max_interaction, n_features, n_splits))
    max_leaves = 1 + 2 * n_splits
    # One row is spare, because `_find_tree` writes into the row behind the last tree.
    max_trees = n_splits + 2
    family = Family(
        sizes=np.array([1, 1, 0, 0], dtype=np.int64),
        tree_features=np.empty((max_trees, order), dtype=np.int64),
        tree_size=np.empty(max_trees, dtype=np.int64),
        leaf_tree=np.empty(max_leaves, dtype=np.int64),
        leaf_start=np.empty(max_leaves, dtype=np.int64),
        leaf_rows=np.empty(max_leaves, dtype=np.int64),
        lo=np.empty((max_leaves, order), dtype=np.int64),
        hi=np.empty((max_leaves, order), dtype=np.int64),
        missing=np.empty((max_leaves, order), dtype=np.bool_),
        values=np.empty((max_leaves, n_outputs)),
        gains=np.zeros(n_features),
        pool=np.empty((n_features * max_leaves, 2), dtype=np.int64),
        ages=np.empty(n_features * max_leaves, dtype=np.int64),
    )
    family.tree_size[0] = family.leaf_tree[0] = family.leaf_start[0] = 0
    family.values[0] = 0.0
    return family


def allocate_scratch(data: RowArrays, max_codes: int, n_candidates: int, parameters: Parameters) -> Scratch:
    """Return working space for features with at most ``max_codes`` codes, including the one of missing values."""
    n_rows, n_stats = data.stats.shape
    n_outputs = data.target.shape[1]
    max_buckets = min(parameters.split_try, max_codes) + 2
    few_codes = min(max_codes, FEW_CODES)
    n_parts = 0 if is_additive(parameters.loss) else n_rows
    return Scratch(
        keys=np.empty(n_candidates),
        order=np.empty(n_candidates),
        drawn=np.empty(min(parameters.max_candidates, n_candidates), dtype=np.int64),
        local=np.empty(n_rows, dtype=np.int32),
        bits=np.empty((max_codes >> 6) + 1, dtype=np.uint64),
        table=np.empty(max_codes, dtype=np.int16),
        thresholds=np.empty(max_buckets, dtype=np.int64),
        sums=np.empty((max_buckets, n_stats)),
        right_sums=np.empty((max_buckets, n_stats)),
        counts=np.empty(max_buckets, dtype=np.int64),
        starts=np.empty(max_buckets + 1, dtype=np.int64),
        code_sums=np.empty((few_codes, n_stats)),
        code_counts=np.empty(few_codes, dtype=np.int64),
        sides=np.empty((2, n_stats)),
        updates=np.empty((2, n_outputs)),
        growths=np.empty((2, n_outputs)),
        parts=np.empty((n_parts, n_outputs)),
        part_weights=np.empty(n_parts),
    )
