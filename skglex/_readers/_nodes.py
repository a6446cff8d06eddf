"""Turn the nodes of binary trees, as most libraries store them, into leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import Conditions, ExtractedLeaves
from skglex._kernels.leaf_extraction import extract_leaves, measure_trees
from skglex._leaves import Grid, LeafEnsemble, Trees, collect_conditions
from skglex._utils import warn_user
from skglex.exceptions import ZeroCoverWarning

# Leaf conditions that are numbered at one time.
_PART = 1 << 20


@dataclass(frozen=True)
class Nodes:
    """Hold all nodes of all trees, one tree after the other.

    Attributes
    ----------
    roots : ndarray of shape (n_trees + 1,), int64
        Root of every tree, then the number of nodes. The nodes of tree t are ``roots[t]`` up to ``roots[t + 1]``.
    left, right : ndarray of shape (n_nodes,), int64 or int32
        Children, as positions among all nodes; -1 for a leaf.
    feature : ndarray of shape (n_nodes,), int64 or int32
        Column that an inner node splits on.
    threshold : ndarray of shape (n_nodes,), float64
    missing_left : ndarray of shape (n_nodes,), bool
    value : ndarray of shape (n_nodes, width), float64
        Margin that a leaf of tree t adds to the outputs ``output[t]`` up to ``output[t] + width - 1``.
    output : ndarray of shape (n_trees,), int32
        First output that a tree adds to.
    base : ndarray of shape (n_outputs,), float64
        Base score on the margin scale.
    cover : ndarray of shape (n_nodes,), float64, or None
        Weight of the training rows that reached each node. None: the model has none.
    cover_ratio : ndarray of shape (n_nodes,), float64, or None
        Path-dependent weight of each node among its parent's children. None: its cover over its parent's cover.
    categories : mapping of int to ndarray of int
        The category codes listed by each categorical node.
    listed_right : ndarray of shape (n_nodes,), bool, or None
        Whether the listed categories go right; None: all go left.
    """

    roots: NDArray[np.int64]
    left: NDArray[np.signedinteger]
    right: NDArray[np.signedinteger]
    feature: NDArray[np.signedinteger]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    output: NDArray[np.int32]
    base: NDArray[np.float64]
    cover: NDArray[np.float64] | None = None
    cover_ratio: NDArray[np.float64] | None = None
    categories: Mapping[int, NDArray[Any]] = field(default_factory=dict)
    listed_right: NDArray[np.bool_] | None = None


def to_leaves(
    nodes: Nodes, *, less_equal: bool, as_float32: bool, ratio_without_cover: float = 0.5
) -> LeafEnsemble:
    """Turn trees into leaves.

    Parameters
    ----------
    nodes : Nodes
    less_equal : bool
        Whether the library goes left on ``x <= t`` rather than on ``x < t``.
    as_float32 : bool
        Whether the library casts values to float32 before it compares.
    ratio_without_cover : float
        The library's path-dependent weight of each child of a node with cover 0.

    Returns
    -------
    LeafEnsemble
        Its leaves are in depth-first order, left before right, tree after tree.

    Raises
    ------
    ValueError
        A feature is split both by threshold and by category.

    Warns
    -----
    ZeroCoverWarning
        Nodes have cover 0.
    """
    inner = nodes.left >= 0
    grid, trees = _build_trees(nodes, inner, less_equal, as_float32)
    cover_ratio = (
        nodes.cover_ratio
        if nodes.cover is None
        else _cover_ratios(nodes, inner, nodes.cover, ratio_without_cover)
    )
    n_leaves, bound, max_depth = measure_trees(trees.left, trees.right, trees.roots, len(grid.features))
    leaves = ExtractedLeaves(
        node=np.empty(n_leaves, np.int64),
        tree_ptr=np.empty(len(nodes.roots), np.int64),
        ptr=np.empty(n_leaves + 1, np.int64),
        condition_node=np.empty(bound, np.int32),
        feature=np.empty(len(inner), np.int32),
        lo=np.empty(len(inner), np.int32),
        hi=np.empty(len(inner), np.int32),
        missing=np.empty(len(inner), np.bool_),
        mask=np.empty(len(inner), np.int64),
    )
    pool = extract_leaves(trees, grid.n_bins, max_depth, leaves)
    condition_node = leaves.condition_node[: leaves.ptr[-1]]
    trees.leaf[leaves.node] = np.arange(n_leaves)
    node, leaf_ptr, tree_ptr = leaves.node, leaves.ptr, leaves.tree_ptr
    stated = [leaves.feature, leaves.lo, leaves.hi, leaves.missing, leaves.mask]
    del leaves
    conditions, complement, condition_of_node = _state_conditions(grid, stated, condition_node, pool)
    # A part at a time, in place: the conditions of all leaves are the largest array of a forest.
    leaf_condition = condition_node
    for start in range(0, len(leaf_condition), _PART):
        part = leaf_condition[start : start + _PART]
        part[:] = condition_of_node[part]
    return LeafEnsemble(
        grid=grid,
        conditions=conditions,
        complement=complement,
        leaf_ptr=leaf_ptr,
        leaf_condition=leaf_condition,
        value=np.ascontiguousarray(nodes.value[node]),
        output=np.repeat(nodes.output, np.diff(tree_ptr)).astype(np.int32, copy=False),
        tree_ptr=tree_ptr,
        base=nodes.base,
        trees=trees,
        cover_ratio=cover_ratio,
    )


def _state_conditions(
    grid: Grid, stated: list[NDArray[Any]], condition_node: NDArray[np.int32], pool: NDArray[np.uint8]
) -> tuple[Conditions, NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct conditions, their complements, and the condition that is stated at every node.

    ``stated`` holds what `ExtractedLeaves` says of the conditions: feature, lo, hi, missing and mask. The list is used
    up, since its arrays take as much memory as a third of a forest.
    """
    has_condition = np.zeros(len(stated[0]), dtype=bool)
    has_condition[condition_node] = True
    for i in range(len(stated)):
        stated[i] = stated[i][has_condition]
    feature, lo, hi, missing, mask = stated
    conditions, complement, condition = collect_conditions(grid, feature, lo, hi, missing, mask, pool)
    condition_of_node = np.empty(len(has_condition), np.int32)
    condition_of_node[has_condition] = condition
    return conditions, complement, condition_of_node


def _cover_ratios(
    nodes: Nodes, inner: NDArray[np.bool_], cover: NDArray[np.float64], ratio_without_cover: float
) -> NDArray[np.float64]:
    """Return the cover of each node over that of its parent."""
    cover_ratio = np.ones(len(inner))
    above = cover[inner]
    for children in (nodes.left[inner], nodes.right[inner]):
        cover_ratio[children] = np.divide(
            cover[children], above, out=np.full(len(above), ratio_without_cover), where=above > 0
        )
    if no_cover := int((above <= 0).sum()):
        warn_user(
            f"{no_cover} nodes of the model have cover 0 (no training row reached them): their "
            f"path-dependent weights are taken as {ratio_without_cover:g} for each child, as the library does",
            ZeroCoverWarning,
        )
    return cover_ratio


def _build_trees(
    nodes: Nodes, inner: NDArray[np.bool_], less_equal: bool, as_float32: bool
) -> tuple[Grid, Trees]:
    """Collect all thresholds and categories in a grid, and express all splits by its bins."""
    features = np.unique(nodes.feature[inner]).astype(np.int64)
    number = np.zeros(int(features.max(initial=0)) + 1, np.int32)
    number[features] = np.arange(len(features))
    used_feature = number[np.where(inner, nodes.feature, 0)]
    by_category = np.zeros(len(inner), dtype=bool)
    by_category[list(nodes.categories)] = True
    numeric = inner & ~by_category
    categorical = np.zeros(len(features), dtype=bool)
    categorical[used_feature[by_category]] = True
    if (mixed := np.intersect1d(used_feature[numeric], used_feature[by_category])).size:
        raise ValueError(
            f"cannot read a model that splits feature {features[mixed[0]]} both by threshold and by category: expected "
            "one kind of split per feature"
        )

    by_feature: list[list[NDArray[Any]]] = [[] for _ in features]
    for node, codes in nodes.categories.items():
        by_feature[used_feature[node]].append(codes)
    threshold = nodes.threshold[numeric]
    order = np.lexsort((threshold, used_feature[numeric]))
    threshold = threshold[order]
    bounds = np.searchsorted(used_feature[numeric][order], np.arange(len(features) + 1))
    cuts = [
        np.unique(np.concatenate(by_feature[s] or [np.empty(0)])).astype(np.float64)
        if categorical[s]
        else np.unique(threshold[bounds[s] : bounds[s + 1]])
        for s in range(len(features))
    ]
    grid = Grid.from_cuts(features, cuts, categorical, less_equal=less_equal, as_float32=as_float32)
    cut = np.zeros(len(inner), np.int32)
    at = np.flatnonzero(numeric)[order]
    for s in range(len(features)):
        part = slice(bounds[s], bounds[s + 1])
        cut[at[part]] = np.searchsorted(cuts[s], threshold[part])
    mask, masks = _inclusion_masks(nodes, grid, used_feature)
    return grid, Trees(
        roots=nodes.roots,
        left=nodes.left.astype(np.int32, copy=False),
        right=nodes.right.astype(np.int32, copy=False),
        used_feature=used_feature,
        cut=cut,
        missing_left=nodes.missing_left.astype(np.uint8),
        mask=mask,
        masks=masks,
        leaf=np.full(len(inner), -1, np.int32),
    )


def _inclusion_masks(
    nodes: Nodes, grid: Grid, used_feature: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the start of each node's inclusion mask (-1 for a threshold), and all masks in one array.

    A mask has one entry per bin: 1 if the bin goes left. Missing values have the last bin.
    """
    mask = np.full(len(used_feature), -1, np.int32)
    masks, n = [np.zeros(0, np.uint8)], 0
    known: dict[tuple[int, int, bool, bool], int] = {}
    for node, codes in nodes.categories.items():
        listed_right = nodes.listed_right is not None and bool(nodes.listed_right[node])
        # Nodes of one split share its codes, and so its mask.
        split = id(codes), int(used_feature[node]), listed_right, bool(nodes.missing_left[node])
        if split in known:
            mask[node] = known[split]
            continue
        goes_left = np.zeros(grid.n_bins[used_feature[node]], np.uint8)
        goes_left[np.searchsorted(grid.cuts_of(used_feature[node]), codes)] = 1
        if listed_right:
            goes_left = 1 - goes_left
        goes_left[-1] = nodes.missing_left[node]
        mask[node] = known[split] = n
        masks.append(goes_left)
        n += len(goes_left)
    return mask, np.concatenate(masks)
