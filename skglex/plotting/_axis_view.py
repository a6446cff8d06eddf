"""Lay out one axis of a picture: which cells are drawn, where, and with which labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import MAX_LEVELS, AxisCells, Rows
from skglex.plotting._style import number

# Fewer rows do not show reliably which range a feature has, and whether all its values are integers.
MANY_ROWS = 50
# More categories than this (and one more) are drawn as the strongest, and one cell for all others.
MAX_CATEGORIES = 12
# Larger numbers count as infinite: an axis cannot reach them.
_LARGEST = 1e100


@dataclass(frozen=True)
class AxisView:
    """Describe which cells of an axis are drawn, and where.

    Attributes
    ----------
    axis : AxisCells
    levels : bool
        True: the cells are drawn as levels at 0, 1, ... with ``labels``. False: they are drawn to scale.
    drawn : list of ndarray of int
        The cells of the axis that each drawn cell consists of, without those of missing values.
    borders : ndarray of shape (len(drawn) + 1,)
        The ends of the drawn cells. They lie half-way between integers if the rows have only integer values.
    labels : list of str
        One label per drawn cell.
    missing : bool
        Whether missing values are drawn, after all other cells.
    shares, share_borders : ndarray
        Histogram of the background. If the axis is to scale, it is over all bins of the feature in the model, not only
        those of the component, and narrow bins are merged.
    missing_share : float
        Share of missing values in the background.
    """

    axis: AxisCells
    levels: bool
    drawn: list[NDArray[np.int64]]
    borders: NDArray[Any]
    labels: list[str]
    missing: bool
    shares: NDArray[np.float64]
    share_borders: NDArray[Any]
    missing_share: float

    @property
    def feature(self) -> str:
        """Return the name of what is drawn along the axis."""
        return self.axis.feature

    @property
    def cells(self) -> list[NDArray[np.int64]]:
        """Return the cells of the axis in each drawn cell; missing values come last."""
        return [*self.drawn, np.array([self.axis.missing])] if self.missing else self.drawn

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
        return [*self.labels, self.axis.missing_label] if self.missing else self.labels

    def cell_of(self, rows: Rows) -> NDArray[np.int64]:
        """Return the position of every row among ``cells``, -1 if the row is in none."""
        position = np.full(self.axis.n_cells + 1, -1)
        for i, members in enumerate(self.cells):
            position[members] = i
        found: NDArray[np.int64] = position[self.axis.find(rows)]
        return found

    def place(self, rows: Rows) -> NDArray[np.float64]:
        """Return the position of every row along this axis, NaN if it is outside."""
        cell = self.cell_of(rows)
        if self.levels or self.axis.numbers is None:
            position = np.where(cell < 0, np.nan, cell)
        else:
            position = np.where(self.axis.find(rows) == self.axis.missing, np.nan, self.axis.numbers(rows))
            position[(position < self.borders[0]) | (position > self.borders[-1])] = np.nan
        if self.missing:
            position[cell == len(self.drawn)] = np.mean(self.missing_span)
        return position

    def summarize(self, values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """Return the values in the drawn cells along one axis of an array; several cells give their weighted mean."""
        parts = []
        for members in self.cells:
            if len(members) == 1:
                parts.append(values.take(members[0], axis))
                continue
            shares = self.axis.shares[members]
            weights = shares if shares.sum() > 0 else None
            parts.append(np.average(values.take(members, axis), axis, weights))
        return np.stack(parts, axis)


def view_axis(
    axis: AxisCells, rows: Rows | None, missing: Any, strength: NDArray[np.float64] | None = None
) -> AxisView:
    """Lay out one axis.

    Parameters
    ----------
    axis : AxisCells
    rows : Rows, or None
        The rows that set the range and the labels.
    missing : {True, False, "auto"}
        ``"auto"`` draws missing values if the background or the rows have some.
    strength : ndarray of shape (n_cells,), or None
        What ranks categories if there are too many; None: their share of the background.
    """
    row_cells = None if rows is None else axis.find(rows)
    occupied = axis.shares > 0
    if row_cells is not None:
        occupied[row_cells[row_cells >= 0]] = True
    has_missing = axis.missing < axis.n_cells
    missing = has_missing and bool(occupied[axis.missing] if missing == "auto" else missing)
    share = float(axis.shares[axis.missing]) if has_missing else 0.0
    inner = np.arange(axis.missing)
    optional = np.zeros(axis.n_cells, dtype=bool) if axis.optional is None else axis.optional
    present = inner[(occupied | ~optional)[: axis.missing]]
    if axis.labels is not None:
        strength = axis.shares if strength is None else strength
        drawn, labels = _strongest(present, axis.labels, strength)
        return view_levels(axis, drawn, labels, missing, share)
    assert axis.edges is not None
    assert axis.fine_edges is not None
    assert axis.fine_shares is not None
    values = None
    if rows is not None and axis.numbers is not None:
        values = np.where(row_cells == axis.missing, np.nan, axis.numbers(rows))
    if _few_values(axis.fine_edges, values):
        # The first and the last range are unbounded, but no value may lie in them.
        drawn = [np.array([cell]) for cell in (present if len(present) else inner)]
        labels = [_level_label(axis.edges, int(cell), values, row_cells) for (cell,) in drawn]
        return view_levels(axis, drawn, labels, missing, share)
    whole = values is not None and len(values) >= MANY_ROWS and _is_whole(values)
    edges, fine_edges = axis.edges, axis.fine_edges
    if whole:
        # Integers fall into the same cells if every edge is moved to the middle between two integers.
        edges, fine_edges = np.ceil(edges) - 0.5, np.ceil(fine_edges) - 0.5
    low, high = _range(axis, values, whole)
    clipped, borders = _clip(edges, low, high)
    fine, fine_borders = _clip(fine_edges, low, high)
    if whole:
        labels = [_level_label(axis.edges, int(cell), values, row_cells) for cell in clipped]
    else:
        labels = [_interval_label(axis.edges, int(cell)) for cell in clipped]
    shares, fine_borders = _merge(axis.fine_shares[fine], fine_borders)
    drawn = [np.array([cell]) for cell in clipped]
    return AxisView(axis, False, drawn, borders, labels, missing, shares, fine_borders, share)


def view_levels(
    axis: AxisCells, drawn: list[NDArray[np.int64]], labels: list[str], missing: bool, share: float
) -> AxisView:
    """Lay out cells as levels, one beside the other."""
    borders = np.arange(len(drawn) + 1) - 0.5
    shares = np.array([axis.shares[members].sum() for members in drawn])
    return AxisView(axis, True, drawn, borders, labels, missing, shares, borders, share)


def _strongest(
    present: NDArray[np.int64], labels: list[str], strength: NDArray[np.float64]
) -> tuple[list[NDArray[np.int64]], list[str]]:
    """Return the cells to draw, each alone, and their labels; if there are too many, the weak ones are together."""
    if len(present) <= MAX_CATEGORIES + 1:
        return [np.array([cell]) for cell in present], [labels[cell] for cell in present]
    ranking = present[np.argsort(-strength[present], kind="stable")]
    shown, others = np.sort(ranking[:MAX_CATEGORIES]), np.sort(ranking[MAX_CATEGORIES:])
    drawn = [*(np.array([cell]) for cell in shown), others]
    return drawn, [*(labels[cell] for cell in shown), f"{len(others)} others"]


def _merge(shares: NDArray[np.float64], borders: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Merge narrow bins of a histogram until every bin has at least a sixtieth of the total width."""
    step = (borders[-1] - borders[0]) / 60
    first = [0]
    for i, border in enumerate(borders[1:-1], start=1):
        if border - borders[first[-1]] >= step and borders[-1] - border >= step:
            first.append(i)
    return np.add.reduceat(shares, first), borders[[*first, -1]]


def _few_values(fine_edges: NDArray[np.float64], values: NDArray[np.float64] | None) -> bool:
    if len(fine_edges) + 1 > MAX_LEVELS:
        return False
    return values is None or len(np.unique(values[np.isfinite(values)])) <= 2 * MAX_LEVELS


def _is_whole(values: NDArray[np.float64]) -> bool:
    """Return whether all values that are not missing are integers."""
    finite = values[np.isfinite(values)]
    return len(finite) > 0 and bool((finite == np.round(finite)).all())


def _range(axis: AxisCells, values: NDArray[np.float64] | None, whole: bool) -> tuple[float, float]:
    """Return the range of a numeric axis.

    It is the range of the values if they are many, else that of the background and the values. If the range of the
    background is not known, it is that of the edges between background rows, with a margin. Values far from all edges
    and from most values do not set it: they would squeeze everything else.
    """
    edges = _edges_amid_rows(axis)
    values = np.empty(0) if values is None else values[np.abs(values) < _LARGEST]
    points = np.concatenate([edges, np.quantile(values, [0.05, 0.95])]) if len(values) else edges
    if len(points):
        far = 10 * max(points.max() - points.min(), float(np.abs(points).max()) / 10)
        values = values[(values >= points.min() - far) & (values <= points.max() + far)]
    if len(values) >= MANY_ROWS:
        low, high = float(values.min()) - 0.5 * whole, float(values.max()) + 0.5 * whole
        if low < high:
            return low, high
    if not len(edges):
        return axis.limits if axis.limits is not None and axis.limits[0] < axis.limits[1] else (-1.0, 1.0)
    span = edges[-1] - edges[0]
    pad = max(float(np.median(np.diff(edges))), 0.02 * span) if span > 0 else max(abs(edges[0]) / 10, 1.0)
    low, high = edges[0] - pad, edges[-1] + pad
    if axis.limits is not None and axis.limits[0] < axis.limits[1]:
        # Of the background, no more is drawn on either side than all edges take.
        most = max(span, 10 * pad)
        low, high = max(axis.limits[0], edges[0] - most), min(axis.limits[1], edges[-1] + most)
    return float(min([low, *values])), float(max([high, *values]))


def _edges_amid_rows(axis: AxisCells) -> NDArray[np.float64]:
    """Return the edges of all bins that have background rows on both sides; if there are none, all edges."""
    edges = np.asarray(axis.fine_edges, dtype=np.float64)
    finite = np.abs(edges) < _LARGEST
    if axis.limits is not None:
        amid = (edges > axis.limits[0]) & (edges <= axis.limits[1])
    else:
        occupied = np.flatnonzero(np.asarray(axis.fine_shares))
        amid = np.zeros(len(edges), dtype=bool)
        if len(occupied):
            amid[occupied[0] : occupied[-1]] = True
    kept: NDArray[np.float64] = edges[finite & amid] if (finite & amid).any() else edges[finite]
    return kept


def _clip(edges: NDArray[np.float64], low: float, high: float) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the cells that overlap a range, and their borders within the range."""
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
    edges: NDArray[np.float64], b: int, values: NDArray[np.float64] | None, cells: NDArray[np.int64] | None
) -> str:
    """Label a cell with its values if the rows have one to three different ones in it, else with its interval."""
    if values is not None:
        distinct = np.unique(values[cells == b])
        if 0 < len(distinct) <= 3:
            return ", ".join(map(number, distinct))
    return _interval_label(edges, b)
