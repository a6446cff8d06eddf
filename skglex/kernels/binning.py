"""From values to bins, comparing exactly as the model compares."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def bin_columns(columns, cuts, cut_ptr, categorical, less_equal, as_float32, out):
    """Write the bin of every value of ``columns`` (features x rows) to ``out``.

    Numeric: the number of cuts ``t`` that send the value right (``x >= t``, or ``x > t`` where the
    model goes left on ``x <= t``). Categorical: the position of the category among the feature's cuts
    or, for a category that no split names, the bin after the last. The last bin of all is missing.
    """
    for j in range(columns.shape[0]):
        t = cuts[cut_ptr[j] : cut_ptr[j + 1]]
        m = t.shape[0]
        missing = m + 1
        for r in range(columns.shape[1]):
            x = columns[j, r]
            if as_float32:
                x = np.float64(np.float32(x))
            if np.isnan(x):
                out[j, r] = missing
                continue
            if categorical[j]:
                # a code is cut off to an integer; negative or huge ones are in no list
                x = np.floor(x) if x >= 0 else -1.0
            lo, hi = 0, m
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
            out[j, r] = lo
