"""Store the leaves of a random planted forest as flat arrays, and encode columns for its kernels."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from skglex._planted._kernels.arguments import LEAVES, Family
from skglex._planted._kernels.prediction import add_leaves
from skglex._utils import DEFAULT_EXECUTION, Execution, row_chunks


@dataclass(frozen=True)
class PlantedLeaves:
    """Hold boxes with values.

    A box contains a row if all its conditions hold. A family predicts for a row the sum of the values of all
    its boxes that contain the row; the forest predicts the mean over families.

    Leaf ``l`` has the conditions ``leaf_ptr[l]`` to ``leaf_ptr[l + 1] - 1``, one per feature of its tree, in
    increasing order of the features. A condition holds for x if ``lo <= x < hi`` in float64, or if x is missing
    and ``missing`` is true. Bounds at the edge of the training range are infinite. A leaf that contains only
    missing values has ``lo = hi = inf``.

    Attributes
    ----------
    leaf_ptr : ndarray of shape (n_leaves + 1,), int64
    feature : ndarray of shape (n_conditions,), int32
    lo, hi : ndarray of shape (n_conditions,), float64
    missing : ndarray of shape (n_conditions,), bool
    values : ndarray of shape (n_leaves, n_outputs), float64
        Values on the margin scale, *not* divided by the number of families.
    family : ndarray of shape (n_leaves,), int32
        Number of the leaf's family, from 0, in increasing order.
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
        """Return the number of families."""
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
        """Join families, and number them consecutively."""
        families = np.cumsum([0] + [p.n_families for p in parts])
        conditions = np.cumsum([0] + [len(p.feature) for p in parts])
        joined = {f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)}
        joined["leaf_ptr"] = np.concatenate([[0]] + [p.leaf_ptr[1:] + c for p, c in zip(parts, conditions)])
        joined["family"] = np.concatenate([p.family + np.int32(f) for p, f in zip(parts, families)])
        return cls(**joined)

    def predict(
        self, X: NDArray[np.float64], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Return the mean over families of the sums of values, of shape (n_samples, n_outputs)."""
        out = np.zeros((X.shape[0], self.values.shape[1]))
        boxes = (self.leaf_ptr, self.feature, self.lo, self.hi, self.missing, self.values)
        execution.run(add_leaves, [(X[a:b], *boxes, out[a:b]) for a, b in row_chunks(X.shape[0])])
        return out / self.n_families


def encode_columns(
    X: NDArray[np.float64], max_bins: int | None
) -> tuple[NDArray[np.int32], NDArray[np.int64], list[NDArray[np.float64]]]:
    """Replace the values of each column by the numbers of its distinct values, or of its quantile bins.

    Returns
    -------
    codes : ndarray of shape (n_features, n_samples)
        A missing value in column k has the code ``n_codes[k]``.
    n_codes : ndarray of shape (n_features,)
    edges : list of ndarray of shape (n_codes + 1,)
        Code c means ``edges[c] <= x < edges[c + 1]``. The inner edges are values of the column.
    """
    codes = np.empty(X.shape[::-1], dtype=np.int32)
    edges = []
    for k, column in enumerate(X.T):
        is_missing = np.isnan(column)
        present = np.sort(column[~is_missing])
        cuts = present[np.flatnonzero(np.diff(present)) + 1]
        if max_bins is not None and len(cuts) >= max_bins:
            quantiles = present[np.arange(1, max_bins) * len(present) // max_bins]
            cuts = np.unique(quantiles[quantiles > present[0]])
        n_codes = len(cuts) + 1 if len(present) else 0
        codes[k] = np.where(is_missing, n_codes, np.searchsorted(cuts, column, side="right"))
        edges.append(np.concatenate([[-np.inf], cuts, [np.inf]]) if n_codes else np.array([np.inf]))
    return codes, np.array([len(e) - 1 for e in edges], dtype=np.int64), edges
