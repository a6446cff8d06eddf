"""Draw random numbers from a state in one array, so that no result depends on the thread.

The generator is SplitMix64 [1]_: a counter and a mixing function. ``state`` is a ``uint64`` array with one
element.

.. [1] G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)


@kernel
def next_double(state):
    """Draw a number from [0, 1)."""
    state[0] += _STEP
    z = state[0]
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    z = z ^ (z >> _S31)
    return np.float64(z >> _S11) * 1.1102230246251565e-16  # 2**-53


@kernel
def next_below(state, n):
    """Draw an integer from 0, ..., n - 1."""
    return np.int64(next_double(state) * n)


@kernel
def draw_distinct(state, n, size, out):
    """Fill ``out[:size]`` with distinct numbers below ``n``, in increasing order (Floyd's algorithm)."""
    for j in range(size):
        top = n - size + j
        value = next_below(state, top + 1)
        i = j
        while i > 0 and out[i - 1] > value:
            i -= 1
        if i > 0 and out[i - 1] == value:
            # The value was drawn before. Take the largest possible value, which no earlier draw can have.
            out[j] = top
            continue
        for m in range(j, i, -1):
            out[m] = out[m - 1]
        out[i] = value


@helper
def _smallest(values, n, rank):
    """Return the value at position ``rank`` of the sorted ``values[:n]``, and reorder the values."""
    low, high = 0, n - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return values[rank]


@kernel
def draw_weighted(state, ages, decay, n, size, keys, order, out):
    """Fill ``out[:size]`` with increasing numbers below ``n``, drawn with weight ``exp(-decay * age)``.

    Weighted draws without replacement have the same distribution as the ``size`` smallest of independent
    exponential variables divided by the weights (Efraimidis and Spirakis 2006). ``keys`` and ``order`` are
    scratch space.
    """
    for i in range(n):
        keys[i] = -np.log(1.0 - next_double(state)) * np.exp(min(decay * ages[i], 700.0))
        order[i] = keys[i]
    cut = _smallest(order, n, size - 1)
    n_drawn = 0
    for i in range(n):
        if keys[i] <= cut and n_drawn < size:
            out[n_drawn] = i
            n_drawn += 1
