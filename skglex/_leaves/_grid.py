"""Define the grid: per feature, the bins that a model distinguishes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import Buckets, Cuts
from skglex._kernels.binning import FEW_ROWS, bin_columns, fill_buckets

# Cuts of a used_feature up to which its range is divided finely.
_MANY_CUTS = 1 << 14


@dataclass(frozen=True)
class Grid:
    """Hold the thresholds and categories of the features that a model splits on.

    Feature ``j`` has ``m`` cuts (sorted thresholds, or category codes) and ``m + 2`` bins: numeric bins
    ``0 .. m``; or bin ``i`` for category ``i`` and bin ``m`` for any other; and, last, missing.

    Attributes
    ----------
    features : ndarray of shape (n_used_features,), int64
        Positions of the features among the model's columns, increasing. A *used_feature* is an index into this.
    cuts, cut_ptr : ndarray, float64 and int64
        Cuts of used_feature ``j``: ``cuts[cut_ptr[j]:cut_ptr[j + 1]]``.
    categorical : ndarray of shape (n_used_features,), bool
    less_equal : bool
        Whether the model goes left on ``x <= t`` rather than on ``x < t``.
    as_float32 : bool
        Whether the model casts values to float32 before it compares.
    """

    features: NDArray[np.int64]
    cuts: NDArray[np.float64]
    cut_ptr: NDArray[np.int64]
    categorical: NDArray[np.bool_]
    less_equal: bool
    as_float32: bool

    @classmethod
    def from_cuts(
        cls,
        features: NDArray[np.int64],
        cuts: list[NDArray[Any]],
        categorical: NDArray[np.bool_],
        **how: bool,
    ) -> Grid:
        """Make a grid from the cuts of every used_feature."""
        joined = np.concatenate([*cuts, np.empty(0)]).astype(np.float64)
        ptr = np.cumsum([0, *map(len, cuts)]).astype(np.int64)
        return cls(features, joined, ptr, categorical, **how)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: self.__dict__[field.name] for field in fields(self)}

    @cached_property
    def n_bins(self) -> NDArray[np.int64]:
        """Return the number of bins per used_feature, the missing one included."""
        return np.diff(self.cut_ptr) + 2

    @cached_property
    def dtype(self) -> type[np.uint16] | type[np.uint32]:
        """Return the smallest dtype that holds every bin, and one more value that is no bin."""
        largest = int(self.n_bins.max(initial=2))
        return np.uint16 if largest < np.iinfo(np.uint16).max else np.uint32

    def cuts_of(self, used_feature: int) -> NDArray[np.float64]:
        """Return the thresholds or category codes of one used_feature."""
        return self.cuts[self.cut_ptr[used_feature] : self.cut_ptr[used_feature + 1]]

    @cached_property
    def _search(self) -> tuple[Cuts, Buckets]:
        """Return where bins begin, in the form of the kernels, and what shortens the search for a bin.

        Each used_feature's range is divided into equal parts: eight per cut, or two where these would take much memory.
        """
        n = np.diff(self.cut_ptr)
        feature = np.repeat(np.arange(len(n)), n)
        edges = np.full(len(self.cuts) + len(n), np.nan)
        edges[np.arange(len(self.cuts)) + feature] = np.where(
            self.categorical[feature], self.cuts, self._edges_of(self.cuts)
        )
        cuts = Cuts(edges, self.cut_ptr + np.arange(len(n) + 1), self.categorical, self.as_float32)
        parts = np.where(n > _MANY_CUTS, 2, 8) * n
        ptr = np.concatenate([[0], np.cumsum(parts + 2)])
        scale = np.zeros(len(n))
        several = np.flatnonzero(n > 1)
        with np.errstate(over="ignore", invalid="ignore"):
            scale[several] = parts[several] / (edges[cuts.ptr[1:] - 2] - edges[cuts.ptr[:-1]])[several]
        scale[~np.isfinite(scale)] = 0
        buckets = Buckets(ptr, scale, np.empty(ptr[-1], np.int32), np.empty(len(n), np.int64))
        fill_buckets(cuts, buckets)
        if self.less_equal:
            # The model sends no number right of infinity.
            edges[np.isposinf(edges)] = np.nan
        return cuts, buckets

    def bin(
        self, columns: NDArray[np.float64], out: NDArray[np.unsignedinteger] | None = None, start: int = 0
    ) -> NDArray[np.unsignedinteger]:
        """Return the bins of values of shape (n_used_features, n_samples), or write them to ``out`` from ``start``."""
        out = np.empty(columns.shape, dtype=self.dtype) if out is None else out
        bin_columns(columns, np.arange(len(columns)), *self._search, start, max(columns.shape[1], 1), out)
        return out

    def bin_rows(self, rows: NDArray[Any], out: NDArray[np.unsignedinteger], start: int) -> None:
        """Write the bins of contiguous rows with all of the model's columns, float32 or float64, to ``out``."""
        bin_columns(rows.T, self.features, *self._search, start, FEW_ROWS, out)

    def n_reached(self, used_feature: int) -> int:
        """Return how many bins of a numeric used_feature contain numbers; none is right of ``x <= inf``."""
        cuts = self.cuts_of(used_feature)
        return len(cuts) + 1 - int(self.less_equal and len(cuts) > 0 and cuts[-1] == np.inf)

    def edges(self, used_feature: int) -> NDArray[np.float64]:
        """Return where bins begin: bin ``i`` of a numeric used_feature is ``[edges[i-1], edges[i])``.

        An edge is the smallest float64 that the model sends right of the threshold, infinity if there is none.
        """
        return self._edges_of(self.cuts_of(used_feature))

    def _edges_of(self, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):  # Steps and casts may go beyond the largest number.
            if not self.as_float32:
                return np.nextafter(cuts, np.inf) if self.less_equal else cuts.copy()
            # Find the smallest float32 that goes right, then the smallest float64 that is cast to it.
            single = cuts.astype(np.float32)
            too_small = single <= cuts if self.less_equal else single < cuts
            single = np.where(too_small, np.nextafter(single, np.float32(np.inf)), single)
        return np.where((cuts == np.inf) & self.less_equal, np.inf, _first_float64_cast_to(single))


def _first_float64_cast_to(single: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the smallest float64 whose float32 cast is at least each of ``single``."""
    with np.errstate(over="ignore"):
        below = np.nextafter(single, np.float32(-np.inf))
        # Casts give infinity from halfway between the largest float32 and 2**128 on.
        above, under = (np.clip(part.astype(np.float64), -(2.0**128), 2.0**128) for part in (single, below))
        middle = under + (above - under) / 2
        # A tie is cast to the even neighbour. Where that is the lower one, the edge is one float64 step higher.
        ties_down = middle.astype(np.float32) < single
    first = np.where(ties_down, np.nextafter(middle, np.inf), middle)
    return np.where(single == -np.inf, -np.inf, first)
