"""The leaves of a random planted forest as flat arrays, and the codes its kernels grow them on."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from skglex._planted._kernels.arguments import LEAVES, Family
from skglex._planted._kernels.prediction import add_leaves
from skglex._utils import DEFAULT_EXECUTION, Execution, row_chunks


@dataclass(frozen=True)
class PlantedLeaves:
    """Boxes with values; a row's prediction is the sum of the values of all boxes that hold it.

    Leaf ``l`` has the conditions ``leaf_ptr[l]`` to ``leaf_ptr[l + 1] - 1``, one per feature of its tree, by
    increasing feature. A condition holds for x if ``lo <= x < hi`` in float64, or if x is missing and
    ``missing`` is true. Bounds at the edge of the training range are infinite. A leaf of missing values only
    has ``lo = hi = inf``.

    Attributes
    ----------
    leaf_ptr : ndarray of shape (n_leaves + 1,), int64
    feature : ndarray of shape (n_conditions,), int32
    lo, hi : ndarray of shape (n_conditions,), float64
    missing : ndarray of shape (n_conditions,), bool
    values : ndarray of shape (n_leaves, n_outputs), float64
        On the margin scale, *not* divided by the number of families.
    family : ndarray of shape (n_leaves,), int32
        Which family the leaf belongs to, from 0; increasing.
    """

    leaf_ptr: NDArray[np.int64]
    feature: NDArray[np.int32]
    lo: NDArray[np.float64]
    hi: NDArray[np.float64]
    missing: NDArray[np.bool_]
    values: NDArray[np.float64]
    family: NDArray[np.int32]

    @property
    def n_families(self) -> int:
        return int(self.family[-1]) + 1

    @classmethod
    def from_family(
        cls, family: Family, values: NDArray[np.float64], edges: list[NDArray[np.float64]]
    ) -> PlantedLeaves:
        """Translate the boxes of a grown family from codes to values of the features."""
        n_leaves = family.sizes[LEAVES]
        leaf_tree, lo, hi = family.leaf_tree[:n_leaves], family.lo[:n_leaves], family.hi[:n_leaves]
        sizes = family.tree_size[leaf_tree]
        used = np.arange(lo.shape[1]) < sizes[:, None]
        feature = family.tree_features[leaf_tree][used].astype(np.int32)
        start = np.cumsum([0] + [len(e) for e in edges])
        flat = np.concatenate(edges)
        return cls(
            leaf_ptr=np.concatenate([[0], np.cumsum(sizes)]),
            feature=feature,
            lo=flat[start[feature] + lo[used]],
            hi=flat[start[feature] + hi[used]],
            missing=family.missing[:n_leaves][used],
            values=values[:n_leaves].copy(),
            family=np.zeros(n_leaves, dtype=np.int32),
        )

    @classmethod
    def concatenate(cls, parts: list[PlantedLeaves]) -> PlantedLeaves:
        """Join families, numbering them on."""
        families = np.cumsum([0] + [p.n_families for p in parts])
        conditions = np.cumsum([0] + [len(p.feature) for p in parts])
        joined = {f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)}
        joined["leaf_ptr"] = np.concatenate([[0]] + [p.leaf_ptr[1:] + c for p, c in zip(parts, conditions)])
        joined["family"] = np.concatenate([p.family + np.int32(f) for p, f in zip(parts, families)])
        return cls(**joined)

    def predict(
        self, X: NDArray[np.float64], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Mean over the families of the sum of the values of the boxes that hold each row of ``X``."""
        out = np.zeros((X.shape[0], self.values.shape[1]))
        boxes = (self.leaf_ptr, self.feature, self.lo, self.hi, self.missing, self.values)
        execution.run(add_leaves, [(X[a:b], *boxes, out[a:b]) for a, b in row_chunks(X.shape[0])])
        return out / self.n_families


def encode_columns(
    X: NDArray[np.float64], max_bins: int | None
) -> tuple[NDArray[np.int32], NDArray[np.int64], list[NDArray[np.float64]]]:
    """Number the distinct values, or quantile bins, of each column.

    Returns
    -------
    codes : ndarray of shape (n_features, n_samples)
        A missing value has the number of codes as its code.
    n_codes : ndarray of shape (n_features,)
    edges : list of ndarray of shape (n_codes + 1,)
        Code c stands for ``edges[c] <= x < edges[c + 1]``. All but the outer edges are values of the column.
    """
    codes = np.empty(X.shape[::-1], dtype=np.int32)
    edges = []
    for k, column in enumerate(X.T):
        is_missing = np.isnan(column)
        known = np.sort(column[~is_missing])
        cuts = known[np.flatnonzero(np.diff(known)) + 1]
        if max_bins is not None and len(cuts) >= max_bins:
            quantiles = known[np.arange(1, max_bins) * len(known) // max_bins]
            cuts = np.unique(quantiles[quantiles > known[0]])
        n_codes = len(cuts) + 1 if len(known) else 0
        codes[k] = np.where(is_missing, n_codes, np.searchsorted(cuts, column, side="right"))
        edges.append(np.concatenate([[-np.inf], cuts, [np.inf]]) if n_codes else np.array([np.inf]))
    return codes, np.array([len(e) - 1 for e in edges], dtype=np.int64), edges
