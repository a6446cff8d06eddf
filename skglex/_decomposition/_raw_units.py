"""Convert thresholds of the model to the units of the raw column that the preprocessing scales."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._explained import Explained
from skglex._input import Origin, column_values, take_rows, with_numbers

# Each round divides every interval into equal parts, and finely around the place where a linear function crosses, until
# the interval lies between two neighbouring numbers. Few rounds are needed, since most preprocessing is linear.
_PARTS, _ROUNDS = 16, 20
_NEAR = 2.0 ** -np.arange(4, 52, 4)
# The numbers of columns that were searched before, by position, for each decomposition.
_FOUND: WeakKeyDictionary[Any, dict[int, tuple[NDArray[np.float64], bool] | None]] = WeakKeyDictionary()


def to_raw_units(
    view: Explained, origin: Origin, edges: NDArray[np.float64]
) -> tuple[NDArray[np.float64], bool] | None:
    """Return what `_search` finds for all edges of a column, which is searched once."""
    found = _FOUND.setdefault(view.decomposition, {})
    if origin.position not in found:
        found[origin.position] = _search(view, origin, edges)
    return found[origin.position]


def _search(
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
        steps = np.diff(preprocess(np.linspace(low, high, 4 * _PARTS + 1)))
    except (TypeError, ValueError):
        # For example, an encoder knows only the numbers that it was fitted on.
        return None
    rising = bool((steps >= 0).all())
    if not steps.any() or not (rising or (steps <= 0).all()):
        return None
    begins, ends = np.full(len(edges), low), np.full(len(edges), high)
    at_ends = np.zeros(len(edges)), np.zeros(len(edges))
    every, outside = np.arange(len(edges)), np.zeros(len(edges))
    for i in range(_ROUNDS if len(edges) else 0):
        parts = np.linspace(begins, ends, _PARTS + 1, axis=1)
        if i > 0:
            parts = np.sort(np.column_stack([parts, _around_crossing(begins, ends, at_ends, edges)]))
        values = preprocess(parts)
        crossed = values >= edges[:, None] if rising else values < edges[:, None]
        if i == 0:
            outside[crossed[:, 0]] = -np.inf
            outside[~crossed.any(axis=1)] = np.inf
        first = np.argmax(crossed, axis=1)
        before = np.maximum(first - 1, 0)
        begins, ends = parts[every, before], parts[every, first]
        at_ends = values[every, before], values[every, first]
        if (ends <= np.nextafter(begins, np.inf)).all():
            break
    return np.where(np.isinf(outside), outside, ends), rising


def _around_crossing(
    begins: NDArray[np.float64],
    ends: NDArray[np.float64],
    at_ends: tuple[NDArray[np.float64], NDArray[np.float64]],
    edges: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return numbers in each interval, dense around the place where a line between its ends crosses the edge."""
    width = ends - begins
    with np.errstate(all="ignore"):
        crossing = begins + width * (edges - at_ends[0]) / (at_ends[1] - at_ends[0])
    crossing = np.where(np.isfinite(crossing), crossing, begins + width / 2)
    near = width[:, None] * _NEAR
    numbers = np.column_stack([crossing, crossing[:, None] - near, crossing[:, None] + near])
    return np.clip(numbers, begins[:, None], ends[:, None])
