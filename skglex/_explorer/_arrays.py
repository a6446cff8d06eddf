"""Pack arrays into text: typed, compressed, and decoded by ``unpack.js`` in the page."""

from __future__ import annotations

import zlib
from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The types that the page knows, by their names in JavaScript.
_TYPES = {"u1": "Uint8", "u2": "Uint16", "u4": "Uint32", "f4": "Float32", "f8": "Float64"}


def smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the smallest type that holds all its values exactly."""
    values = np.asarray(values)
    if values.dtype.kind in "iub":
        largest = int(values.max(initial=0))
        if int(values.min(initial=0)) < 0:
            raise ValueError("arrays of a page hold no negative integers")
        return values.astype("u1" if largest < 2**8 else "u2" if largest < 2**16 else "u4")
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    exact = np.array_equal(single.astype(np.float64), values, equal_nan=True)
    return single if exact else values.astype(np.float64)


def pack(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return arrays as JSON: their types and lengths, and all their bytes as text.

    The first bytes of all numbers of an array come first, then all second bytes: so they compress better.
    """
    layout, parts = [], []
    for name, values in arrays.items():
        values = np.ascontiguousarray(smallest(values)).ravel()
        kind = f"{values.dtype.kind}{values.dtype.itemsize}"
        layout.append([name, _TYPES[kind], len(values)])
        little = values.astype(values.dtype.newbyteorder("<"))
        parts.append(np.frombuffer(little.tobytes(), np.uint8).reshape(-1, values.dtype.itemsize).T.tobytes())
    data = zlib.compress(b"".join(parts), 6)
    return {"layout": layout, "data": b64encode(data).decode("ascii")}
