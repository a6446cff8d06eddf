"""Turn values into bins, with exactly the comparisons of the model."""

import numpy as np

from skglex._kernels.compilation import helper, kernel


@helper
def _bucket(x, low, scale, n):
    """Return which of n equal parts of the range of cuts a value lies in; it never decreases with x, NaN gives 0."""
    part = (x - low) * scale
    if not part > 0.0:
        part = 0.0
    if part > n - 1:
        part = np.float64(n - 1)
    return np.int64(part)


@kernel
def fill_buckets(cuts, cut_ptr, buckets):
    """Count the cuts below each bucket, and find the fullest bucket of each used_feature."""
    for j in range(buckets.scale.shape[0]):
        t = cuts[cut_ptr[j] : cut_ptr[j + 1]]
        below = buckets.below[buckets.ptr[j] : buckets.ptr[j + 1]]
        n = below.shape[0] - 1
        below[:] = 0
        for i in range(t.shape[0]):
            below[1 + _bucket(t[i], t[0], buckets.scale[j], n)] += 1
        fullest = 0  # A loop: below.max() would take a second to compile.
        for b in range(n):
            fullest = max(fullest, below[b + 1])
            below[b + 1] += below[b]
        buckets.fullest[j] = fullest


@kernel
def bin_columns(columns, cuts, buckets, start, out):
    """Write the bin of every value of ``columns`` (features x rows) to ``out``, from column ``start`` on.

    A number's bin is the number of cuts ``t`` that send it right (``x >= t``, or ``x > t`` where the model goes left
    on ``x <= t``). A category's bin is its position among the feature's cuts, or the bin after the last for a category
    that no split names. The last bin of all is missing.
    """
    less_equal = cuts.less_equal
    for j in range(columns.shape[0]):
        t = cuts.cuts[cuts.ptr[j] : cuts.ptr[j + 1]]
        below = buckets.below[buckets.ptr[j] : buckets.ptr[j + 1]]
        m = t.shape[0]
        low, n_buckets = t[0] if m > 0 else 0.0, below.shape[0] - 1
        scale, fullest, categorical = buckets.scale[j], buckets.fullest[j], cuts.categorical[j]
        for r in range(columns.shape[1]):
            x = columns[j, r]
            if cuts.as_float32:
                x = np.float64(np.float32(x))
            if categorical:
                # The model truncates a code to an integer. Negative and huge codes are in no list.
                x = np.floor(x) if not x < 0 else -1.0
            # Only the cuts in the value's bucket remain. A single cut is compared without a branch that depends on x.
            b = np.uint64(_bucket(x, low, scale, n_buckets))
            lo = np.int64(below[b])
            if fullest < 2:
                cut = t[np.uint64(lo if lo < m else 0)] if m > 0 else 0.0
                lo += (lo < m) & ((cut < x) | ((cut == x) & (not less_equal)))
            else:
                hi = np.int64(below[b + np.uint64(1)])
                while lo < hi:
                    mid = (lo + hi) >> 1
                    if t[mid] < x or (t[mid] == x and not less_equal):
                        lo = mid + 1
                    else:
                        hi = mid
            if categorical:
                if not less_equal:
                    lo -= 1
                if lo < 0 or lo >= m or t[lo] != x:
                    lo = m
            out[j, start + r] = m + 1 if np.isnan(x) else lo
