"""Hold the background sample in bins, and average over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skglex._kernels.arguments import BitSets, NumberedRows
from skglex._kernels.bitsets import fill_bits, rank_bins
from skglex._leaves._empirical import Empirical
from skglex._leaves._weighting import Weighting
from skglex._utils import budgets, scaled, warn_user, without_cached
from skglex.exceptions import SmallBackgroundWarning

# Components of a higher order need no more rows than those of this order: 2 ** 4 = 16.
_LARGEST_SMALL_ORDER = 4


class BackgroundLike(Protocol):
    """Describe a background sample, in this process or in the partitions of a Dask collection.

    Attributes
    ----------
    n_rows : int
    effective_rows : float
        Number of rows of equal weight that average as precisely.
    weighting : Weighting
        The empirical weighting over these rows.
    copied : bool
        Whether a pickled copy has the rows.
    """

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""

    @property
    def effective_rows(self) -> float:
        """Return the number of rows of equal weight that average as precisely."""

    @property
    def weighting(self) -> Weighting:
        """Return the empirical weighting over these rows."""

    @property
    def copied(self) -> bool:
        """Return whether a pickled copy has the rows."""

    def spread_rows(self, n: int) -> Background | None:
        """Return up to n evenly spaced rows if they are in this process, else None."""

    def in_memory(self) -> Background:
        """Return the rows if they are in this process, else raise a ValueError that says what to pass."""

    def average(self, compute: Callable[[Background], NDArray[np.float64]]) -> NDArray[np.float64]:
        """Average over all rows, where ``compute`` averages over the rows of one `Background`.

        A partitioned background calls it once per partition, and combines the results.
        """

    def changed_columns(self, compare: Callable[[Any, Any], NDArray[np.bool_]], X: Any) -> NDArray[np.bool_]:
        """Return where ``compare(rows, more_rows)`` is true for the rows before the preprocessing.

        ``X`` holds these rows if they are in this process, and ``more_rows`` is None then. Else ``rows`` is each of the
        partitions, and ``more_rows`` the next one.
        """


@dataclass(frozen=True)
class Background:
    """Hold the binned background sample and its weights.

    Attributes
    ----------
    bins : ndarray of shape (n_used_features, n_rows)
    weight : ndarray of shape (n_rows,), float64
    """

    bins: NDArray[np.unsignedinteger]
    weight: NDArray[np.float64]

    def __getstate__(self) -> dict[str, Any]:
        return without_cached(self)

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.weight)

    @property
    def copied(self) -> bool:
        """Return whether a pickled copy has the rows."""
        return True

    @property
    def total(self) -> float:
        """Return the sum of the weights."""
        return float(self.weight.sum())

    @property
    def effective_rows(self) -> float:
        """Return the number of rows of equal weight that average as precisely."""
        return self.total**2 / float((self.weight**2).sum())

    @property
    def weighting(self) -> Empirical:
        """Return the empirical weighting over these rows."""
        return Empirical(self)

    def spread_rows(self, n: int) -> Background:
        """Return up to n evenly spaced rows."""
        rows = np.unique(np.linspace(0, self.n_rows - 1, n).astype(int))
        return Background(np.ascontiguousarray(self.bins[:, rows]), self.weight[rows])

    @cached_property
    def few_rows(self) -> Background:
        """Return some rows on which steps are counted."""
        return self.spread_rows(32)

    def in_memory(self) -> Background:
        """Return the background itself."""
        return self

    def average(self, compute: Callable[[Background], NDArray[np.float64]]) -> NDArray[np.float64]:
        """Average ``compute`` over the rows (see `BackgroundLike`)."""
        return compute(self)

    def changed_columns(self, compare: Callable[[Any, Any], NDArray[np.bool_]], X: Any) -> NDArray[np.bool_]:
        """Return where ``compare`` is true for the rows X (see `BackgroundLike`)."""
        return compare(X, None)

    @property
    def equal_weight(self) -> float:
        """Return the weight of every row if all weights are equal, else 0."""
        return float(self.weight[0]) if (self.weight == self.weight[0]).all() else 0.0

    @cached_property
    def numbered_rows(self) -> NumberedRows:
        """Return the rows with their bins numbered among those that occur."""
        numbers, occurring = number_bins(self.bins)
        return NumberedRows(
            bins=numbers,
            ptr=np.cumsum([0, *map(len, occurring)]).astype(np.int64),
            occurring=np.concatenate([*occurring, np.empty(0)]).astype(np.int64),
            weight=self.weight,
            equal=self.equal_weight,
        )

    def bit_sets(self, n_bins: NDArray[np.int64]) -> Iterator[BitSets]:
        """Yield blocks of rows as bit sets."""
        n_rows = self.bins.shape[1]
        bin_ptr = np.concatenate([[0], np.cumsum(n_bins + 1)]).astype(np.int64)
        size, budget = 1 << 16, scaled(budgets.bit_set_bytes)
        while size > 64 and (np.minimum(n_bins, size) + 1).sum() * min(size, n_rows) > 8 * budget:
            size >>= 1
        equal = self.equal_weight
        rank, row_ptr = np.empty(bin_ptr[-1], np.int32), np.empty(len(bin_ptr), np.int64)
        for r0 in range(0, n_rows, size):
            r1 = min(r0 + size, n_rows)
            rank_bins(self.bins, r0, r1, n_bins, bin_ptr, rank, row_ptr)
            bits = np.empty((row_ptr[-1], -(-(r1 - r0) // 64)), np.uint64)
            fill_bits(self.bins, r0, r1, bin_ptr, rank, row_ptr, bits)
            yield BitSets(r1 - r0, self.weight[r0:r1], equal, n_bins, bin_ptr, rank, row_ptr, bits)


class NoRowsError(ValueError, AttributeError):
    """Report that `fit` got no rows; ``hasattr`` returns False for attributes that need them."""


class NoBackground:
    """Stand for the background of path-dependent weights that were read without rows (see `BackgroundLike`)."""

    n_rows = 0
    effective_rows = 0.0
    copied = True

    @property
    def weighting(self) -> Weighting:
        """Raise, since there are no rows."""
        raise self._error()

    def spread_rows(self, n: int) -> None:
        """Return None."""

    def in_memory(self) -> Background:
        """Raise, since there are no rows."""
        raise self._error()

    def average(self, compute: Callable[[Background], NDArray[np.float64]]) -> NDArray[np.float64]:
        """Raise, since there are no rows."""
        raise self._error()

    def changed_columns(self, compare: Callable[[Any, Any], NDArray[np.bool_]], X: Any) -> NDArray[np.bool_]:
        """Raise, since there are no rows."""
        raise self._error()

    @staticmethod
    def _error() -> NoRowsError:
        return NoRowsError(
            "this needs rows, but fit got none. Pass rows to fit, or to a function that takes them, such as "
            "skglex.inspection.component_importance(decomposer, X)"
        )


def number_bins(
    bins: NDArray[np.unsignedinteger],
) -> tuple[NDArray[np.unsignedinteger], list[NDArray[np.int64]]]:
    """Return the number of each bin among those of its used_feature that occur, and the bins that occur."""
    numbers, occurring = np.empty(bins.shape, np.uint32), []
    for s, column in enumerate(bins):
        occurs = np.zeros(int(column.max(initial=0)) + 1, dtype=bool)
        occurs[column] = True
        numbers[s] = (np.cumsum(occurs) - 1)[column]
        occurring.append(np.flatnonzero(occurs))
    fits = numbers.max(initial=0) < np.iinfo(np.uint16).max
    return (numbers.astype(np.uint16) if fits else numbers), occurring


def warn_of_small_background(n_rows: float, order: int) -> None:
    """Warn if components of an order are averaged over few rows.

    Parameters
    ----------
    n_rows : float
        `BackgroundLike.effective_rows`.
    order : int
        Largest order of a component.
    """
    if order >= 1 and n_rows < (needed := 2 ** min(order, _LARGEST_SMALL_ORDER)):
        warn_user(
            f"the background counts as {n_rows:.3g} rows (by their weights), which is few for components of order "
            f"{order}: their weights are shares of these rows. Pass at least {needed} rows, lower max_interaction, or "
            "use weighting='path_dependent'",
            SmallBackgroundWarning,
        )
