"""Certify that a sum of tables is monotone in a feature, or show where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained
from skglex._input import resolve_features
from skglex._kept._kept_components import KeptComponents, Term
from skglex._kept._monotone_trees import trees_are_monotone
from skglex._leaves import Background
from skglex._utils import budgets
from skglex.components import Axis, Monotonicity, Violation, bins_along


@dataclass(frozen=True, eq=False)
class _Steps:
    """Hold how a table changes at the edges of a feature.

    Attributes
    ----------
    at : ndarray of shape (n_edges_of_table,), int64
        Position of each of the table's edges among the edges of all tables.
    change : ndarray of shape (n_edges_of_table, n_bins, ...), float64
        Change across the edge in every combination of bins of the other columns.
    columns : tuple of int
    axes : tuple of Axis
        The other columns, and their bins.
    """

    at: NDArray[np.int64]
    change: NDArray[np.float64]
    columns: tuple[int, ...]
    axes: tuple[Axis, ...]


@dataclass(frozen=True, eq=False)
class Steps:
    """Hold the changes of all tables of a feature at the edges of the feature.

    Attributes
    ----------
    edges : ndarray of shape (n_edges,), float64
        The edges of all tables.
    parts : list of _Steps
        The changes of each table.
    """

    edges: NDArray[np.float64]
    parts: list[_Steps]

    @classmethod
    def of(cls, terms: Sequence[Term], column: int, output: int, sign: int) -> Steps:
        """Take the changes of all tables that have a column, times a sign."""
        having = [(term, term.columns.index(column)) for term in terms if column in term.columns]
        found = [term.axes[a].edges for term, a in having]
        edges = np.unique(np.concatenate([np.empty(0), *found]))
        parts = []
        for term, a in having:
            axis = term.axes[a]
            values = np.moveaxis(term.values[..., output], a, 0)[: axis.missing]
            others = tuple(c for i, c in enumerate(term.columns) if i != a)
            axes = tuple(other for i, other in enumerate(term.axes) if i != a)
            parts.append(
                _Steps(np.searchsorted(edges, axis.edges), sign * np.diff(values, axis=0), others, axes)
            )
        return cls(edges, parts)

    def bounds(self) -> NDArray[np.float64]:
        """Return the sum over the tables of their least change at each edge: a lower bound on the change.

        It is the least change itself if no two tables have a column in common, as up to order 2.
        """
        out = np.zeros(len(self.edges))
        for part in self.parts:
            out[part.at] += part.change.reshape(len(part.at), -1).min(axis=1, initial=np.inf)
        return out

    def all_least(self, tolerance: float) -> tuple[NDArray[np.float64], dict[int, dict[int, int]]]:
        """Return the least change at each edge, NaN where it is beyond the budget, and the bins of negative ones."""
        out, where = self.bounds(), {}
        for t in np.flatnonzero(out < -tolerance).tolist():
            found = self.least(t)
            out[t] = np.nan if found is None else found[0]
            if found is not None and found[0] < -tolerance:
                where[t] = found[1]
        return out, where

    def least(self, t: int) -> tuple[float, dict[int, int]] | None:
        """Return the least change at an edge and a combination of bins that has it; None beyond the budget.

        The columns are eliminated one after the other: the tables that have a column are added up, and the least
        value over the column's bins remains. Bins are those of `axis_of`.
        """
        tables = [self._expand(part, t) for part in self.parts if t in part.at]
        choices: list[tuple[int, tuple[int, ...], NDArray[np.int64]]] = []
        while left := {column for columns, _ in tables for column in columns}:
            column = min(left, key=lambda c: (self._size_without(tables, c), c))
            if self._size_without(tables, column) > budgets.certificate_cells:
                return None
            using = [table for table in tables if column in table[0]]
            columns, joined = _add_tables(using)
            position = columns.index(column)
            remaining = columns[:position] + columns[position + 1 :]
            choices.append((column, remaining, joined.argmin(axis=position)))
            tables = [table for table in tables if column not in table[0]]
            tables.append((remaining, joined.min(axis=position)))
        best: dict[int, int] = {}
        for column, remaining, choice in reversed(choices):
            best[column] = int(choice[tuple(best[c] for c in remaining)])
        return float(sum(float(values) for _, values in tables)), best

    def axis_of(self, column: int) -> Axis:
        """Return the bins of another column, with the edges of all tables that have it."""
        axes = [axis for part in self.parts for c, axis in zip(part.columns, part.axes) if c == column]
        if axes[0].categorical or len(axes) == 1:
            return axes[0]
        edges = np.unique(np.concatenate([axis.edges for axis in axes]))
        return Axis(axes[0].feature, edges, False, len(edges) + 1)

    def _expand(self, part: _Steps, t: int) -> tuple[tuple[int, ...], NDArray[np.float64]]:
        """Return the change of a table at one edge on the bins of `axis_of`, the columns in order."""
        values = part.change[int(np.searchsorted(part.at, t))]
        for i, (column, axis) in enumerate(zip(part.columns, part.axes)):
            full = self.axis_of(column)
            if full is not axis:
                values = np.take(values, bins_along(axis, full.edges), axis=i)
        order = np.argsort(part.columns)
        return tuple(part.columns[i] for i in order), np.transpose(values, order)

    def _size_without(self, tables: list[tuple[tuple[int, ...], NDArray[np.float64]]], column: int) -> int:
        """Return the size of the sum of the tables that have a column."""
        sizes = {
            c: n for columns, values in tables if column in columns for c, n in zip(columns, values.shape)
        }
        return prod(sizes.values())


def _add_tables(
    tables: list[tuple[tuple[int, ...], NDArray[np.float64]]],
) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """Add tables with different columns, which are in increasing order in each."""
    columns = tuple(sorted({c for of_table, _ in tables for c in of_table}))
    total: Any = 0.0
    for of_table, values in tables:
        shape = iter(values.shape)
        total = total + values.reshape([next(shape) if c in of_table else 1 for c in columns])
    return columns, np.asarray(total)


def monotonicity_of(
    kept: KeptComponents, view: Explained, feature: Any, increasing: bool | None, output: Any
) -> Monotonicity:
    """Say whether the prediction of kept components is monotone in a feature.

    Parameters
    ----------
    kept : KeptComponents
    view : Explained
        The fitted decomposer that the components come from.
    feature : str or int
        A column of the model.
    increasing : bool, or None
        The direction; None: the one that holds, or else that of the smaller violations.
    output : object
        Label of an output; None: all outputs.
    """
    (column,) = resolve_features([feature], view.feature_names, parameter="feature")
    name = view.feature_names[column]
    labels = view.output_labels or [None]
    chosen = range(len(labels)) if output is None else [view.output_position(output)]
    prediction = "the whole model" if kept.whole else f"the sum of {len(kept.terms)} components"
    if kept.rest is not None and not kept.whole:
        prediction = "the model with changed components"
    tolerance = float(kept.rounding[list(chosen)].max())
    used = np.flatnonzero(view.grid.features == column)
    if len(used) and view.grid.categorical[used[0]]:
        raise ValueError(
            f"{name!r} is categorical, so its values have no order in which a prediction could be monotone. Pass a "
            "numeric feature"
        )
    found = []
    for up in (True, False) if increasing is None else (bool(increasing),):
        # A feature without splits has no effect.
        checks = [_Check(kept, view, column, int(used[0]), o, 1 if up else -1) for o in chosen if len(used)]
        results = [check.run(tolerance, labels[check.output]) for check in checks]
        states = [state for state, _ in results]
        violations = tuple(violation for _, of_output in results for violation in of_output)
        status = next((state for state in ("not monotone", "undecided") if state in states), "monotone")
        not_covered = _NOT_COVERED if status == "undecided" else ""
        found.append(Monotonicity(name, status, up, prediction, violations, not_covered, tolerance))
        if status == "monotone":
            break
    order = ("monotone", "undecided", "not monotone")
    return min(found, key=lambda m: (order.index(m.status), sum(v.size for v in m.violations)))


_NOT_COVERED = (
    "the components of order 3 and more have too many combinations of bins for an exact check, or are in a remainder. "
    "The trees are not all monotone by themselves, and no background row shows a change the wrong way"
)


@dataclass(frozen=True, eq=False)
class _Check:
    """Check one output in one direction."""

    kept: KeptComponents
    view: Explained
    column: int
    used_feature: int
    output: int
    sign: int

    def run(self, tolerance: float, label: Any) -> tuple[str, list[Violation]]:
        """Return the status and the violations."""
        kept, rest = self.kept, self.kept.rest
        trees = False
        if kept.whole or rest is not None:
            ensemble = self.view.source.ensemble
            trees = bool(trees_are_monotone(ensemble, self.used_feature, self.output, self.sign))
        if kept.whole and trees:
            return "monotone", []
        steps = Steps.of(kept.terms if rest is None else kept.changes, self.column, self.output, self.sign)
        least, where = steps.all_least(tolerance)
        if (least >= -tolerance).all() and (rest is None or trees):
            return "monotone", []
        if rest is not None:
            # What the tables do says nothing about their sum with the remainder; rows do.
            grid_edges = np.unique(self.view.grid.edges(self.used_feature))
            steps, where = replace(steps, edges=grid_edges[np.isfinite(grid_edges)], parts=[]), {}
            least = np.full(len(steps.edges), np.nan)
        share, seen = self._rows(steps.edges, tolerance)
        size = -np.fmin(least, seen)
        violations = [
            Violation(
                self.view.feature_names[self.column],
                float(steps.edges[t]),
                float(size[t]),
                float(share[t]),
                _describe(steps, where.get(t, {})),
                label,
            )
            for t in np.flatnonzero(size > tolerance).tolist()
        ]
        if violations:
            return "not monotone", violations
        return ("undecided" if np.isnan(least).any() else "monotone"), []

    def _rows(
        self, edges: NDArray[np.float64], tolerance: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return by edge the share of the background beside it that goes the wrong way, and the least change seen.

        The least change is over the rows beside the edge, and over some rows moved to every bin of the feature.
        """
        grid, background = self.view.grid, self.view.background
        axis = Axis("", edges, False, len(edges) + 1)
        bins = bins_along(axis, grid.edges(self.used_feature))
        first = np.searchsorted(bins[:-1], np.arange(len(edges) + 1)).astype(grid.dtype)
        if not background.n_rows:
            return np.full(len(edges), np.nan), np.full(len(edges), np.nan)

        def changes(rows: Background, t: NDArray[np.int64]) -> NDArray[np.float64]:
            sides = []
            for bin_of_side in (first[t], first[t + 1]):
                moved = rows.bins.copy()
                moved[self.used_feature] = bin_of_side
                sides.append(self.kept.margins(moved, self.view.execution)[self.output])
            return np.asarray(self.sign * (sides[1] - sides[0]))

        def beside(rows: Background) -> NDArray[np.float64]:
            out = np.zeros((2, len(edges)))
            own, weight = bins[rows.bins[self.used_feature]], rows.weight / rows.total
            for below in (0, 1):
                at = np.flatnonzero((own >= below) & (own - below < len(edges)))
                part = Background(np.ascontiguousarray(rows.bins[:, at]), weight[at])
                change = changes(part, own[at] - below)
                falls = change < -tolerance
                out[0] += np.bincount(own[at][falls] - below, weight[at][falls], len(edges))
            return out

        share = background.average(lambda rows: beside(rows)[0])
        seen = np.full(len(edges), np.inf)
        some = background.spread_rows(budgets.certificate_rows)
        if some is not None:
            for t in range(len(edges)):
                seen[t] = changes(some, np.full(some.n_rows, t)).min()
        return share, seen


def _describe(steps: Steps, best: dict[int, int]) -> dict[str, Any]:
    """Return the box of a combination of bins, by the names of the features."""
    out = {}
    for column, chosen in sorted(best.items()):
        axis = steps.axis_of(column)
        out[axis.feature] = _describe_bin(axis, chosen)
    return out


def _describe_bin(axis: Axis, chosen: int) -> Any:
    """Return the interval or the category of a bin, None for missing."""
    if chosen == axis.missing:
        return None
    if axis.categorical:
        return axis.edges.tolist()[chosen] if chosen < len(axis.edges) else "other"
    borders = [-np.inf, *axis.edges.tolist(), np.inf]
    return borders[chosen], borders[chosen + 1]
