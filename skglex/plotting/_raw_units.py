"""Convert thresholds of the model to the units of the raw column that the preprocessing scales."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained
from skglex._input import Origin, column_values, take_rows, with_numbers

# Each round divides every interval into this many parts, until it lies between two neighbouring numbers.
_PARTS, _ROUNDS = 32, 15


def to_raw_units(
    view: Explained, origin: Origin, edges: NDArray[np.float64]
) -> tuple[NDArray[np.float64], bool] | None:
    """Return the least numbers of a raw column for which the preprocessed column has crossed each edge.

    Also return whether the preprocessed column rises. The edges are searched in the range of the background and as far
    again on both sides; an edge that no number there crosses is infinite. Returns None if the preprocessing does not
    take any number or is not monotone.
    """
    low, high = origin.limits
    pad = (high - low) or 1.0
    low, high = low - pad, high + pad
    (output,) = origin.outputs

    def preprocess(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = take_rows(view.fitted.row, np.zeros(numbers.size, np.int64))
        rows = view.fitted.to_model_space(with_numbers(rows, origin.position, numbers.ravel()))
        return column_values(rows, output, view.source.input).reshape(numbers.shape)

    try:
        steps = np.diff(preprocess(np.linspace(low, high, 2 * _PARTS + 1)))
    except (TypeError, ValueError):
        # For example, an encoder knows only the numbers that it was fitted on.
        return None
    rising = bool((steps >= 0).all())
    if not steps.any() or not (rising or (steps <= 0).all()):
        return None
    if not len(edges):
        return edges, rising
    begins, ends = np.full(len(edges), low), np.full(len(edges), high)
    every, outside = np.arange(len(edges)), np.zeros(len(edges))
    for i in range(_ROUNDS):
        parts = np.linspace(begins, ends, _PARTS + 1, axis=1)
        values = preprocess(parts)
        crossed = values >= edges[:, None] if rising else values < edges[:, None]
        if i == 0:
            outside[crossed[:, 0]] = -np.inf
            outside[~crossed.any(axis=1)] = np.inf
        first = np.argmax(crossed, axis=1)
        begins, ends = parts[every, np.maximum(first - 1, 0)], parts[every, first]
        if (ends <= np.nextafter(begins, np.inf)).all():
            break
    return np.where(np.isinf(outside), outside, ends), rising
