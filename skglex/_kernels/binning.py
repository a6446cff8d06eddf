"""From values to bins, comparing exactly as the model compares."""

import numpy as np

from skglex._kernels._compile import njit


@njit(cache=True, nogil=True)
def _bucket(x, low, scale, n):
    """Which of n equal parts of the range of cuts a value lies in; never decreases with x, and 0 for NaN."""
    part = (x - low) * scale
    if not part > 0.0:
        part = 0.0
    if part > n - 1:
        part = np.float64(n - 1)
    return np.int64(part)


@njit(cache=True, nogil=True)
def fill_buckets(cuts, cut_ptr, bucket_ptr, scale, bucket, fullest):
    """Count the cuts below each bucket: used_feature j has the buckets ``bucket_ptr[j]`` up to ``bucket_ptr[j + 1] - 1``.

    ``fullest[j]`` is the largest number of cuts in one of them.
    """
    for j in range(scale.shape[0]):
        t = cuts[cut_ptr[j] : cut_ptr[j + 1]]
        own = bucket[bucket_ptr[j] : bucket_ptr[j + 1]]
        n = own.shape[0] - 1
        own[:] = 0
        for i in range(t.shape[0]):
            own[1 + _bucket(t[i], t[0], scale[j], n)] += 1
        fullest[j] = own.max()
        for b in range(n):
            own[b + 1] += own[b]


@njit(cache=True, nogil=True)
def bin_columns(
    columns,
    cuts,
    cut_ptr,
    bucket_ptr,
    scale,
    bucket,
    fullest,
    categorical,
    less_equal,
    as_float32,
    start,
    out,
):
    """Write the bin of every value of ``columns`` (features x rows) to ``out``, from column ``start`` on.

    Numeric: the number of cuts ``t`` that send the value right (``x >= t``, or ``x > t`` where the
    model goes left on ``x <= t``). Categorical: the position of the category among the feature's cuts
    or, for a category that no split names, the bin after the last. The last bin of all is missing.
    """
    for j in range(columns.shape[0]):
        t = cuts[cut_ptr[j] : cut_ptr[j + 1]]
        below = bucket[bucket_ptr[j] : bucket_ptr[j + 1]]
        m = t.shape[0]
        low, n_buckets = t[0] if m > 0 else 0.0, below.shape[0] - 1
        for r in range(columns.shape[1]):
            x = columns[j, r]
            if as_float32:
                x = np.float64(np.float32(x))
            if categorical[j]:
                # a code is cut off to an integer; negative or huge ones are in no list
                x = np.floor(x) if not x < 0 else -1.0
            # only the cuts in the value's own bucket are left; a single one without a branch that depends on x
            b = np.uint64(_bucket(x, low, scale[j], n_buckets))
            lo = np.int64(below[b])
            if fullest[j] < 2:
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
            if categorical[j]:
                if not less_equal:
                    lo -= 1
                if lo < 0 or lo >= m or t[lo] != x:
                    lo = m
            out[j, start + r] = m + 1 if np.isnan(x) else lo
