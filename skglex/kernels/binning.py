"""From values to bins, comparing exactly as the model compares."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _bucket(x, low, scale, n):
    """Which of n equal parts of the range of cuts a finite value lies in; never decreases with x."""
    return min(np.int64((x - low) * scale), n - 1)


@njit(cache=True, nogil=True)
def fill_buckets(cuts, cut_ptr, bucket_ptr, scale, bucket):
    """Count the cuts below each bucket: slot j has the buckets ``bucket_ptr[j]`` up to ``bucket_ptr[j + 1] - 1``."""
    for j in range(scale.shape[0]):
        t = cuts[cut_ptr[j] : cut_ptr[j + 1]]
        own = bucket[bucket_ptr[j] : bucket_ptr[j + 1]]
        n = own.shape[0] - 1
        own[:] = 0
        for i in range(t.shape[0]):
            own[1 + (_bucket(t[i], t[0], scale[j], n) if scale[j] > 0 else 0)] += 1
        for b in range(n):
            own[b + 1] += own[b]


@njit(cache=True, nogil=True)
def bin_columns(
    columns, cuts, cut_ptr, bucket_ptr, scale, bucket, categorical, less_equal, as_float32, start, out
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
        missing = m + 1
        for r in range(columns.shape[1]):
            x = columns[j, r]
            if as_float32:
                x = np.float64(np.float32(x))
            if np.isnan(x):
                out[j, start + r] = missing
                continue
            if categorical[j]:
                # a code is cut off to an integer; negative or huge ones are in no list
                x = np.floor(x) if x >= 0 else -1.0
            lo, hi = 0, m
            if m > 0 and x < t[0]:
                hi = 0
            elif m > 0 and x > t[m - 1]:
                lo = m
            elif scale[j] > 0:  # only the cuts in the value's own bucket are left
                b = _bucket(x, t[0], scale[j], below.shape[0] - 1)
                lo, hi = below[b], below[b + 1]
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
            out[j, start + r] = lo
