"""Turn values into bins, with exactly the comparisons of the model."""

import numpy as np

from skglex._kernels.compilation import helper, kernel

FEW_ROWS = 48  # Rows of a row-wise array that stay in cache while their columns are read.


@helper
def _bucket(x, low, scale, last):
    """Return in which of ``last + 1`` equal parts of the range of edges x lies; it never falls with x, NaN gives 0."""
    part = (x - low) * scale
    part = part if part > 0.0 else 0.0
    return np.uint64(np.int64(part if part < last else last))


@helper
def _count_edges(x, edges, lo, most):
    """Return how many edges x reaches, if it is at least ``lo`` and at most ``lo + most``.

    The edges are halved without a branch that depends on x.
    """
    m = edges.shape[0] - 1
    while most > 1:
        half = most >> 1
        lo += half * np.int64(x >= edges[np.uint64(min(lo + half - 1, m))])
        most -= half
    return lo + most * np.int64(x >= edges[np.uint64(lo)])


@kernel
def fill_buckets(cuts, buckets):
    """Count the edges below each bucket, and find the fullest bucket of each used_feature."""
    for j in range(buckets.scale.shape[0]):
        edges = cuts.edges[cuts.ptr[j] : cuts.ptr[j + 1] - 1]
        below = buckets.below[buckets.ptr[j] : buckets.ptr[j + 1]]
        last = np.float64(below.shape[0] - 2)
        below[:] = 0
        for i in range(edges.shape[0]):
            below[np.uint64(1) + _bucket(edges[i], edges[0], buckets.scale[j], last)] += 1
        fullest = 0  # A loop: below.max() would take a second to compile.
        for b in range(below.shape[0] - 1):
            fullest = max(fullest, below[b + 1])
            below[b + 1] += below[b]
        buckets.fullest[j] = fullest


@kernel
def bin_columns(columns, chosen, cuts, buckets, start, tile, out):
    """Write the bin of every value of ``columns[chosen]`` (features x rows) to ``out``, from column ``start`` on.

    A number's bin is the number of edges that it reaches. A category's bin is its position among the feature's codes,
    or the bin after the last for a category that no split names. The last bin of all is missing. The columns are read
    ``tile`` rows at a time.
    """
    n = columns.shape[1]
    for first in range(0, n, tile):
        end = min(first + tile, n)
        for j in range(chosen.shape[0]):
            column, target = columns[chosen[j], first:end], out[j, start + first : start + end]
            edges = cuts.edges[cuts.ptr[j] : cuts.ptr[j + 1]]
            below = buckets.below[buckets.ptr[j] : buckets.ptr[j + 1]]
            m, low, last = edges.shape[0] - 1, edges[0], np.float64(below.shape[0] - 2)
            scale, fullest = buckets.scale[j], buckets.fullest[j]
            # From 0 on, an index needs no test for negative numbers.
            if cuts.categorical[j]:
                for r in range(end - first):
                    # The model truncates a code to an integer. Negative and huge codes are in no list.
                    x = np.float64(np.float32(column[r])) if cuts.as_float32 else np.float64(column[r])
                    code = np.floor(x) if not x < 0 else -1.0
                    # Only the edges in the value's bucket remain.
                    lo = (
                        _count_edges(code, edges, np.int64(below[_bucket(code, low, scale, last)]), fullest)
                        - 1
                    )
                    lo = lo if lo >= 0 and edges[lo] == code else m
                    target[r] = m + 1 if np.isnan(x) else lo
            elif fullest < 2:
                for r in range(end - first):
                    x = np.float64(column[r])
                    lo = np.uint64(below[_bucket(x, low, scale, last)])
                    lo += np.uint64(x >= edges[lo])
                    target[r] = m + 1 if np.isnan(x) else lo
            else:
                for r in range(end - first):
                    x = np.float64(column[r])
                    lo = _count_edges(x, edges, np.int64(below[_bucket(x, low, scale, last)]), fullest)
                    target[r] = m + 1 if np.isnan(x) else lo
