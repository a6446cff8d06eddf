"""Lay out one axis of a component in a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import explained
from skglex._input import column_values, take_rows
from skglex.components import Axis, bins_along
from skglex.plotting._style import number

# A numeric feature is drawn level by level if the model splits it into at most this many bins.
MAX_LEVELS = 5
# Fewer rows do not show reliably which range a feature has, and whether all its values are integers.
MANY_ROWS = 50
# Larger numbers count as infinite: an axis cannot reach them.
_LARGEST = 1e100


class Rows:
    """Hold the rows to draw, and look up their values and their bins along any axis."""

    def __init__(self, decomposer: Any, X: Any) -> None:
        self.decomposer = decomposer
        self.view = explained(decomposer)
        self.X = X
        self.checked = self.view.check(X)

    @cached_property
    def _bins(self) -> NDArray[Any]:
        return self.view.fitted.bins(self.checked, self.view.execution)

    def bins(self, axis: Axis) -> NDArray[np.int64]:
        """Return the bin of every row along an axis."""
        used_feature = self.view.used_feature(axis.feature)
        # The edges of an axis leave out the bins that no number can reach; the bins of rows count them.
        return np.asarray(bins_along(axis, self.view.grid.edges(used_feature))[self._bins[used_feature]])

    def values(self, feature: str) -> NDArray[np.float64]:
        """Return the values of a numeric feature, or the codes of a categorical one; missing values are NaN."""
        position = self.view.feature_names.index(feature)
        return column_values(self.checked, position, self.view.source.input)

    def subsample(self, n: int) -> Rows:
        """Return at most n of the rows; the choice is always the same."""
        total = self.checked.shape[0]
        if n >= total:
            return self
        rows = np.sort(np.random.default_rng(0).choice(total, n, replace=False))
        return Rows(self.decomposer, take_rows(self.X, rows))


@dataclass(frozen=True)
class AxisView:
    """Describe which bins of one axis are drawn, and where.

    Attributes
    ----------
    axis : Axis
    levels : bool
        True: the bins are drawn as levels at 0, 1, ... with ``labels``. False: they are drawn to scale.
    bins : ndarray of int
        The bins that are drawn, without the bin of missing values.
    borders : ndarray of shape (len(bins) + 1,)
        The ends of the bins. They lie half-way between integers if the rows to draw have only integer values.
    labels : list of str
        One label per bin.
    missing : bool
        Whether the bin of missing values is drawn, after all other bins.
    shares, share_borders : ndarray
        Histogram of the background. If the axis is to scale, it is over all bins of the feature in the model, not only
        those of the component, and narrow bins are merged.
    missing_share : float
        Share of missing values in the background.
    """

    axis: Axis
    levels: bool
    bins: NDArray[np.int64]
    borders: NDArray[Any]
    labels: list[str]
    missing: bool
    shares: NDArray[np.float64]
    share_borders: NDArray[Any]
    missing_share: float

    @property
    def cells(self) -> NDArray[np.int64]:
        """Return the bins that are drawn; the bin of missing values comes last."""
        return np.append(self.bins, self.axis.missing) if self.missing else self.bins

    @property
    def missing_span(self) -> tuple[float, float]:
        """Return the ends of the place where missing values are drawn."""
        high, width = self.borders[-1], self.borders[-1] - self.borders[0]
        return (high, high + 1.0) if self.levels else (high + 0.04 * width, high + 0.12 * width)

    @property
    def end(self) -> float:
        """Return where the axis ends."""
        return self.missing_span[1] if self.missing else float(self.borders[-1])

    @property
    def cell_labels(self) -> list[str]:
        """Return the labels of ``cells``."""
        return [*self.labels, "missing"] if self.missing else self.labels

    def place(self, rows: Rows) -> NDArray[np.float64]:
        """Return the position of every row along this axis, NaN if it is outside."""
        bins = rows.bins(self.axis)
        position = np.full(len(bins), np.nan)
        if self.levels:
            for i, b in enumerate(self.bins):
                position[bins == b] = i
        else:
            position = np.where(bins == self.axis.missing, np.nan, rows.values(self.axis.feature))
            position[(position < self.borders[0]) | (position > self.borders[-1])] = np.nan
        if self.missing:
            position[bins == self.axis.missing] = np.mean(self.missing_span)
        return position


def view_axis(decomposer: Any, axis: Axis, rows: Rows | None, missing: Any) -> AxisView:
    """Lay out one axis.

    ``missing`` is True, False or "auto". The last draws the bin of missing values if the background or the rows have
    missing values.
    """
    full = decomposer.feature_axis(axis.feature)
    weights = decomposer.background_weights(full)
    row_bins = None if rows is None else rows.bins(axis)
    if missing == "auto":
        missing = weights[-1] > 0 or (row_bins is not None and bool((row_bins == axis.missing).any()))
    missing = bool(missing)
    share = float(weights[-1])
    if axis.categorical:
        bins = np.arange(axis.missing)
        labels = [str(edge) for edge in axis.edges]
        other = len(labels)
        if weights[other] > 0 or (row_bins is not None and (row_bins == other).any()):
            labels.append("other")
        bins = bins[: len(labels)]
        borders = np.arange(len(bins) + 1) - 0.5
        return AxisView(axis, True, bins, borders, labels, missing, weights[bins], borders, share)
    values = None if rows is None else rows.values(axis.feature)
    if values is not None:
        values = np.where(row_bins == axis.missing, np.nan, values)
    if _few_values(full, values):
        bins = np.arange(axis.missing)
        labels = [_level_label(axis.edges, int(b), values, row_bins) for b in bins]
        borders = np.arange(len(bins) + 1) - 0.5
        shares = decomposer.background_weights(axis)[:-1]
        return AxisView(axis, True, bins, borders, labels, missing, shares, borders, share)
    whole = values is not None and len(values) >= MANY_ROWS and _is_whole(values)
    edges, fine_edges = axis.edges, full.edges
    if whole:
        # Integers fall into the same bins if every edge is moved to the middle between two integers.
        edges, fine_edges = np.ceil(edges) - 0.5, np.ceil(fine_edges) - 0.5
    low, high = _range(full.edges, values, whole)
    bins, borders = _clip(edges, low, high)
    fine, fine_borders = _clip(fine_edges, low, high)
    if whole:
        labels = [_level_label(axis.edges, int(b), values, row_bins) for b in bins]
    else:
        labels = [_interval_label(axis.edges, int(b)) for b in bins]
    shares, fine_borders = _merge(weights[fine], fine_borders)
    return AxisView(axis, False, bins, borders, labels, missing, shares, fine_borders, share)


def _merge(shares: NDArray[np.float64], borders: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Merge narrow bins of a histogram until every bin has at least a sixtieth of the total width."""
    step = (borders[-1] - borders[0]) / 60
    first = [0]
    for i, border in enumerate(borders[1:-1], start=1):
        if border - borders[first[-1]] >= step and borders[-1] - border >= step:
            first.append(i)
    return np.add.reduceat(shares, first), borders[[*first, -1]]


def _few_values(full: Axis, values: NDArray[np.float64] | None) -> bool:
    if full.missing > MAX_LEVELS:
        return False
    return values is None or len(np.unique(values[np.isfinite(values)])) <= 2 * MAX_LEVELS


def _is_whole(values: NDArray[np.float64]) -> bool:
    """Return whether all values that are not missing are integers."""
    finite = values[np.isfinite(values)]
    return len(finite) > 0 and bool((finite == np.round(finite)).all())


def _range(
    edges: NDArray[np.float64], values: NDArray[np.float64] | None, whole: bool
) -> tuple[float, float]:
    """Return the range of a numeric axis.

    It is the range of the values if they are many. Else it contains the edges, with a margin, and the values. Values
    far from all edges and from most values do not set it: they would squeeze everything else.
    """
    finite = edges[np.abs(edges) < _LARGEST]
    values = np.empty(0) if values is None else values[np.abs(values) < _LARGEST]
    points = np.concatenate([finite, np.quantile(values, [0.05, 0.95])]) if len(values) else finite
    if len(points):
        far = 10 * max(points.max() - points.min(), float(np.abs(points).max()) / 10)
        values = values[(values >= points.min() - far) & (values <= points.max() + far)]
    if len(values) >= MANY_ROWS:
        low, high = float(values.min()) - 0.5 * whole, float(values.max()) + 0.5 * whole
        if low < high:
            return low, high
    if not len(finite):
        return -1.0, 1.0
    span = finite[-1] - finite[0]
    pad = max(float(np.median(np.diff(finite))), 0.02 * span) if span > 0 else max(abs(finite[0]) / 10, 1.0)
    reach = [finite[0] - pad, finite[-1] + pad, *values]
    return float(min(reach)), float(max(reach))


def _clip(edges: NDArray[np.float64], low: float, high: float) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the bins that overlap a range, and their borders within the range."""
    first = int(np.searchsorted(edges, low, side="right"))
    last = int(np.searchsorted(edges, high, side="left"))
    return np.arange(first, last + 1), np.concatenate([[low], edges[first:last], [high]])


def _interval_label(edges: NDArray[np.float64], b: int) -> str:
    if not len(edges):
        return "all"
    if b == 0:
        return f"< {number(edges[0])}"
    if b == len(edges):
        return f"≥ {number(edges[-1])}"
    return f"{number(edges[b - 1])} to {number(edges[b])}"


def _level_label(
    edges: NDArray[np.float64], b: int, values: NDArray[np.float64] | None, bins: NDArray[np.int64] | None
) -> str:
    """Label a bin with its values if the rows have one to three different ones in it, else with its interval."""
    if values is not None:
        distinct = np.unique(values[bins == b])
        if 0 < len(distinct) <= 3:
            return ", ".join(map(number, distinct))
    return _interval_label(edges, b)
