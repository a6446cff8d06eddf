"""Pick the features that moved a row most."""

import numpy as np

from skglex._kernels.compilation import kernel


@kernel
def pick_largest(values, r0, r1, position, value):
    """Write the largest positive values of every column ``r0 <= r < r1`` of ``values``, and their rows.

    The shape of ``position`` and ``value`` is (k, n_columns). The largest value comes first, of equal ones the first.
    Values are equal if they are when rounded to twelve decimals. What remains gets the position -1.
    """
    k = position.shape[0]
    for r in range(r0, r1):
        n = 0
        for g in range(values.shape[0]):
            key = np.rint(values[g, r] * 1e12)
            if not key > 0:
                continue
            i = n if n < k else k - 1
            if n == k and not key > np.rint(value[i, r] * 1e12):
                continue
            while i > 0 and key > np.rint(value[i - 1, r] * 1e12):
                position[i, r], value[i, r] = position[i - 1, r], value[i - 1, r]
                i -= 1
            position[i, r], value[i, r] = g, values[g, r]
            n = min(n + 1, k)
        for i in range(n, k):
            position[i, r], value[i, r] = -1, 0.0
