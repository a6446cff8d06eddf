"""Weighted sums of tree ensembles that may compare in different ways."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._leaves import Grid, LeafEnsemble
from skglex._readers._nodes import Nodes, to_leaves


class Term(NamedTuple):
    """A member of a sum: its leaves, its weight, and which of the sum's columns its columns are."""

    ensemble: LeafEnsemble
    weight: float
    columns: NDArray[np.int64]


def sum_of_ensembles(terms: list[Term]) -> LeafEnsemble:
    """One ensemble whose margin is the weighted sum of the members', which have equally many outputs.

    All thresholds become the largest float64 that goes left, as `last_left` says, so members that cast to float32
    and members that do not, ``<`` and ``<=``, meet in one grid.
    """
    parts = [_to_nodes(term) for term in terms]
    sizes = [len(part.left) for part in parts]
    shift = np.cumsum(sizes) - sizes
    known = all(part.share is not None for part in parts)
    nodes = Nodes(
        roots=np.concatenate([*(p.roots[:-1] + s for p, s in zip(parts, shift)), [sum(sizes)]]),
        left=np.concatenate([np.where(p.left < 0, -1, p.left + s) for p, s in zip(parts, shift)]),
        right=np.concatenate([np.where(p.right < 0, -1, p.right + s) for p, s in zip(parts, shift)]),
        feature=np.concatenate([p.feature for p in parts]),
        threshold=np.concatenate([p.threshold for p in parts]),
        missing_left=np.concatenate([p.missing_left for p in parts]),
        value=np.concatenate([p.value for p in parts]),
        output=np.concatenate([p.output for p in parts]),
        base=np.sum([p.base for p in parts], axis=0),
        share=np.concatenate([p.share for p in parts if p.share is not None]) if known else None,
        categories={node + int(s): c for p, s in zip(parts, shift) for node, c in p.categories.items()},
        listed_right=np.concatenate([p.listed_right for p in parts if p.listed_right is not None]),
    )
    return to_leaves(nodes, less_equal=True, as_float32=False)


def last_left(grid: Grid) -> NDArray[np.float64]:
    """The largest float64 that each cut of a grid sends left; categorical cuts stay as they are."""
    out = grid.cuts.copy()
    for used_feature in np.flatnonzero(~grid.categorical).tolist():
        cuts = grid.cuts_of(used_feature)
        # x <= inf sends all numbers left; nothing is below an edge at -inf
        everything = (cuts == np.inf) & grid.less_equal
        with np.errstate(over="ignore"):
            edges = np.where(everything, np.inf, np.nextafter(grid.edges(used_feature), -np.inf))
        if (edges == -np.inf).any() and not grid.less_equal:
            raise ValueError(
                f"cannot sum models of which one splits column {grid.features[used_feature]} at -inf: drop infinite values"
            )
        out[grid.cut_ptr[used_feature] : grid.cut_ptr[used_feature + 1]] = edges
    return out


def _to_nodes(term: Term) -> Nodes:
    """A member's nodes, with thresholds for ``<=`` in float64."""
    ensemble, trees, grid = term.ensemble, term.ensemble.trees, term.ensemble.grid
    assert trees is not None  # the reader refuses members without
    inner, numeric = trees.left >= 0, (trees.left >= 0) & (trees.mask < 0)
    used_feature = trees.used_feature.astype(np.int64)
    feature = np.zeros(len(inner), np.int64)
    feature[inner] = term.columns[grid.features[used_feature[inner]]]
    threshold = np.zeros(len(inner))
    threshold[numeric] = last_left(grid)[grid.cut_ptr[used_feature[numeric]] + trees.cut[numeric]]
    categories, listed_right = {}, np.zeros(len(inner), dtype=bool)
    for node in np.flatnonzero(trees.mask >= 0).tolist():
        cuts = grid.cuts_of(used_feature[node])
        goes_left = trees.masks[trees.mask[node] : trees.mask[node] + len(cuts) + 1] != 0
        # categories that no split names go one way, those on the other side are listed
        listed_right[node] = goes_left[-1]
        categories[node] = cuts[goes_left[:-1] != goes_left[-1]].astype(np.int64)
    value = np.zeros((len(inner), ensemble.value.shape[1]))
    value[trees.leaf >= 0] = term.weight * ensemble.value[trees.leaf[trees.leaf >= 0]]
    first_leaf = ensemble.tree_ptr[:-1]
    return Nodes(
        roots=trees.roots,
        left=trees.left.astype(np.int64),
        right=trees.right.astype(np.int64),
        feature=feature,
        threshold=threshold,
        missing_left=trees.missing_left != 0,
        value=value,
        output=ensemble.output[first_leaf],
        base=term.weight * ensemble.base,
        share=ensemble.cover_ratio,
        categories=categories,
        listed_right=listed_right,
    )
