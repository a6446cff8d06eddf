"""Tell the sets of many leaves apart, of players or of conditions: those of leaf l are ``item[ptr[l]:ptr[l + 1]]``."""

import numpy as np

from skglex._kernels.compilation import kernel


@kernel
def hash_sets(ptr, item, code, out):
    """Write the sum of the items' random 64-bit codes, for every leaf."""
    for leaf in range(ptr.shape[0] - 1):
        total = np.uint64(0)
        for i in range(ptr[leaf], ptr[leaf + 1]):
            total += code[item[i]]
        out[leaf] = total


@kernel
def are_equal(ptr, item, twin):
    """Return whether the items of every leaf are those of the leaf ``twin[leaf]``, in the same order."""
    for leaf in range(ptr.shape[0] - 1):
        first, n, other = ptr[leaf], ptr[leaf + 1] - ptr[leaf], ptr[twin[leaf]]
        if ptr[twin[leaf] + 1] - other != n:
            return False
        for i in range(n):
            if item[first + i] != item[other + i]:
                return False
    return True
