"""Predict with the leaves of a planted forest."""

import numpy as np

from skglex._kernels.compilation import kernel

# Number of rows compared with all leaves at once: their columns stay in the processor's cache.
_BLOCK = 512


@kernel
def add_leaves(X, leaf_ptr, feature, lo, hi, missing, values, out):
    """Add to each row of ``out`` the values of all leaves whose box contains the row."""
    n_rows, n_features = X.shape
    n_outputs = values.shape[1]
    columns = np.empty((n_features, _BLOCK))
    inside = np.empty(_BLOCK, dtype=np.bool_)
    for start in range(0, n_rows, _BLOCK):
        size = min(_BLOCK, n_rows - start)
        for i in range(size):
            for k in range(n_features):
                columns[k, i] = X[start + i, k]
        for leaf in range(values.shape[0]):
            inside[:size] = True
            for c in range(leaf_ptr[leaf], leaf_ptr[leaf + 1]):
                column = columns[feature[c]]
                low, high = lo[c], hi[c]
                # Comparisons with NaN are false, so the two forms differ only for missing values.
                if missing[c]:
                    for i in range(size):
                        inside[i] &= not ((column[i] < low) | (column[i] >= high))
                else:
                    for i in range(size):
                        inside[i] &= (column[i] >= low) & (column[i] < high)
            for k in range(n_outputs):
                value = values[leaf, k]
                for i in range(size):
                    out[start + i, k] += value if inside[i] else 0.0
