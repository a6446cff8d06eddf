"""Hold the components that one keeps as tables, and predict from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import GivenTables
from skglex._leaves import Grid, LeafSum
from skglex._utils import DEFAULT_EXECUTION, Execution, without_cached
from skglex.components import Axis


@dataclass(frozen=True, eq=False)
class Term:
    """Hold the table of one component.

    Attributes
    ----------
    members : tuple of int
        Positions of the component's features (or groups), increasing.
    name : str
        Name of the component.
    columns : tuple of int
        Position among the model's columns of the feature of each axis. A group has one axis for each of its columns
        that the component depends on.
    axes : tuple of Axis
        The bins along each axis. The last bin is missing; that of a categorical feature before it holds the categories
        that have no bin of their own.
    values : ndarray of shape (n_bins, ..., n_outputs), float64
        Value of the component in every combination of bins, on the margin scale.
    """

    members: tuple[int, ...]
    name: str
    columns: tuple[int, ...]
    axes: tuple[Axis, ...]
    values: NDArray[np.float64]

    @property
    def order(self) -> int:
        """Return the number of features."""
        return len(self.members)


@dataclass(frozen=True, eq=False)
class Rest:
    """Hold the model itself, for components that are kept without a table.

    Attributes
    ----------
    margins : LeafSum
        The margin of the model.
    intercept : ndarray of shape (n_outputs,)
        The intercept of the model.
    tabulated : tuple of Term
        The components of the model that have a table, as they are in the model: those that are kept, and those that
        are dropped. All others are the remainder.
    """

    margins: LeafSum
    intercept: NDArray[np.float64]
    tabulated: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class KeptComponents:
    """Predict from an intercept and the tables of components.

    The object never changes. An edit makes a new one.

    Attributes
    ----------
    intercept : ndarray of shape (n_outputs,), float64
    terms : tuple of Term
        The kept components, by order, then by feature position.
    grid : Grid
        The bins of the model's features, which rows come in.
    rounding : ndarray of shape (n_outputs,), float64
        Bound on the rounding of any sum of the model's tables, from which the certificate of monotonicity starts.
    rest : Rest, or None
        The model itself, if what has no table stays in the prediction.
    whole : bool
        Whether the prediction is that of the model: nothing was left out or edited.
    """

    intercept: NDArray[np.float64]
    terms: tuple[Term, ...]
    grid: Grid
    rounding: NDArray[np.float64] = field(repr=False)
    rest: Rest | None = None
    whole: bool = False

    def __getstate__(self) -> dict[str, Any]:
        return without_cached(self)

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs."""
        return len(self.intercept)

    @cached_property
    def tables(self) -> GivenTables:
        """Return the tables of the terms in the form that looks up and adds them."""
        return _join_terms(self.terms, self.grid, self.n_outputs)

    @cached_property
    def changes(self) -> tuple[Term, ...]:
        """Return what has to be added to the model's margin, if there is a rest: a term for each table that differs."""
        if self.rest is None:
            return ()
        kept = {term.members: term.values for term in self.terms}
        changed = []
        for term in self.rest.tabulated:
            values = kept.get(term.members)
            if values is not term.values:
                difference = -term.values if values is None else values - term.values
                changed.append(replace(term, values=difference))
        return tuple(changed)

    @cached_property
    def _changed_tables(self) -> GivenTables:
        return _join_terms(self.changes, self.grid, self.n_outputs)

    def margins(
        self, bins: NDArray[np.unsignedinteger], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Return the margin at binned rows: shape (n_outputs, n_rows)."""
        if self.rest is None:
            tables, out = self.tables, np.repeat(self.intercept[:, None], bins.shape[1], axis=1)
        else:
            tables = self._changed_tables
            out = self.rest.margins(bins, execution)
            if not np.array_equal(self.intercept, self.rest.intercept):
                out += (self.intercept - self.rest.intercept)[:, None]
        n = len(tables)
        tables.add(bins, np.arange(n), np.zeros(n, np.int64), np.ones(n), out, execution)
        return out

    def find(self, members: tuple[int, ...]) -> int | None:
        """Return the position of the term of some features, None if there is none."""
        return next((i for i, term in enumerate(self.terms) if term.members == members), None)

    def take(self, positions: NDArray[np.int64]) -> KeptComponents:
        """Return a copy with some of the terms; what the others add is gone."""
        return replace(self, terms=tuple(self.terms[i] for i in positions), whole=False)

    def with_values(
        self,
        values: Mapping[int, NDArray[np.float64]],
        intercept: NDArray[np.float64] | None = None,
    ) -> KeptComponents:
        """Return a copy in which the terms at some positions have other tables, which become read-only."""
        for table in values.values():
            table.flags.writeable = False
        terms = tuple(
            replace(term, values=values[i]) if i in values else term for i, term in enumerate(self.terms)
        )
        return replace(
            self, terms=terms, intercept=self.intercept if intercept is None else intercept, whole=False
        )


def _join_terms(terms: tuple[Term, ...], grid: Grid, n_outputs: int) -> GivenTables:
    return GivenTables(
        [term.members for term in terms],
        [term.axes for term in terms],
        [term.values for term in terms],
        [list(term.columns) for term in terms],
        grid,
        n_outputs,
    )
