"""Means of tabulated components over rows, from the weight of the rows in each cell."""

import numpy as np

from skglex._kernels._compile import njit
from skglex._kernels.patterns import BLOCK


@njit(cache=True, nogil=True)
def mean_absolute(
    bins, weight, axis_ptr, axis_feature, map_ptr, maps, stride, table_ptr, n_cells, tables, chosen, out
):
    """Write the weighted mean of ``|m|`` of each chosen component, per output, to ``out``."""
    cell = np.empty(BLOCK, np.int64)
    n_rows = bins.shape[1]
    total = weight.sum()
    for i in range(chosen.shape[0]):
        c = chosen[i]
        first = axis_ptr[c]
        mass = np.zeros(n_cells[c])
        for start in range(0, n_rows, BLOCK):
            stop = min(start + BLOCK, n_rows)
            n = stop - start
            cell[:n] = 0
            for a in range(first, axis_ptr[c + 1]):
                b = bins[axis_feature[a], start:stop]
                m = maps[map_ptr[a] :]
                s = stride[a]
                for r in range(n):
                    cell[r] += s * m[b[r]]
            w = weight[start:stop]
            for r in range(n):
                mass[np.uint64(cell[r])] += w[r]
        for o in range(out.shape[1]):
            table = tables[table_ptr[c] + o * n_cells[c] :]
            mean = 0.0
            for z in range(mass.shape[0]):
                mean += mass[z] * abs(table[z])
            out[i, o] = mean / total
