"""Make the tables of a feature monotone with the least change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from skglex._kept._kept_components import Term
from skglex._kept._monotonicity import Steps
from skglex._kept._quadratic_program import solve_projection
from skglex._utils import budgets


def monotonize(
    terms: Sequence[Term],
    weights: Sequence[NDArray[np.float64]],
    column: int,
    *,
    increasing: bool,
    joint: bool,
) -> list[NDArray[np.float64]]:
    """Return the tables of main effect and pairs of a column, changed such that their sum is monotone.

    Parameters
    ----------
    terms : sequence of Term
        The terms with the column. No two have another column in common.
    weights : sequence of ndarray
        Weight of every cell of each table; the sum of weighted squared changes is minimal.
    column : int
    increasing : bool
    joint : bool
        Whether the sum of the tables is monotone, or each of them.

    Raises
    ------
    ValueError
        The tables have too many cells for the quadratic program of ``joint``.
    """
    sign = 1.0 if increasing else -1.0
    n_cells = sum(weight.size for weight in weights)
    if joint and n_cells > budgets.monotone_cells:
        feature = terms[0].axes[terms[0].columns.index(column)].feature
        raise ValueError(
            f"the tables of {feature!r} have {n_cells:,} cells, more than "
            f"the {budgets.monotone_cells:,} of a joint program. Use method='each', keep fewer terms (n_terms), or "
            "train on fewer bins (max_bin)"
        )
    values = [sign * term.values for term in terms]
    change = _joint if joint and len(terms) > 1 else _each  # A single table is monotone by itself.
    for output in range(values[0].shape[-1]):
        tables = [
            _Numbers(term, column, table[..., output], weight)
            for term, table, weight in zip(terms, values, weights)
        ]
        signed = [replace(term, values=table) for term, table in zip(terms, values)]
        steps = Steps.of(signed, column, output, 1)
        if (steps.bounds() < 0).any() if joint else any((part.change < 0).any() for part in steps.parts):
            change(tables, steps)
    return [sign * table for table in values]


class _Numbers:
    """Show a table as columns of numbers along a feature: shape (n_numbers, n_others). What is written changes it.

    Attributes
    ----------
    view : ndarray of shape (n_numbers, ...)
    weight : ndarray of shape (n_numbers, n_others)
    """

    def __init__(
        self, term: Term, column: int, values: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> None:
        i = term.columns.index(column)
        n = term.axes[i].missing
        self.view = np.moveaxis(values, i, 0)[:n]
        self.weight = np.moveaxis(weight, i, 0)[:n].reshape(n, -1)

    @property
    def flat(self) -> NDArray[np.float64]:
        """Return a copy of the numbers: shape (n_numbers, n_others)."""
        return self.view.reshape(self.weight.shape).copy()

    def write(self, flat: NDArray[np.float64]) -> None:
        """Change the table."""
        self.view[...] = flat.reshape(self.view.shape)


def _each(tables: list[_Numbers], steps: Steps) -> None:
    """Make every table monotone by itself, for every value of the other feature."""
    for table in tables:
        flat = table.flat
        for j in range(flat.shape[1]):
            flat[:, j] = isotonic_regression(flat[:, j], sample_weight=table.weight[:, j])
        table.write(flat)


def _joint(tables: list[_Numbers], steps: Steps) -> None:
    """Make the sum of the tables monotone.

    The program has a variable for the change of each cell, and one for the least change d of each table at each of
    its edges: every change of the table across the edge is at least d, and the sum of d over the tables is not
    negative. A table with a single column needs no d.
    """
    sizes = [table.weight.size for table in tables]
    starts = list(accumulate(sizes, initial=0))
    d_start = starts[-1]
    rows, columns, entries, lower = [], [], [], []
    n_rows = n_edges = len(steps.edges)
    total = np.zeros(n_edges)
    for table, start, part in zip(tables, starts, steps.parts):
        n, n_others = table.weight.shape
        cell = start + np.arange(n * n_others).reshape(n, n_others)
        change = part.change.reshape(n - 1, n_others)
        if n_others == 1:
            rows += [part.at, part.at]
            columns += [cell[1:, 0], cell[:-1, 0]]
            entries += [np.ones(n - 1), -np.ones(n - 1)]
            total[part.at] += change[:, 0]
            continue
        least = change.min(axis=1)
        total[part.at] += least
        d = d_start + np.arange(n - 1)
        bound = n_rows + np.arange((n - 1) * n_others)
        rows += [part.at, bound, bound, bound]
        columns += [d, cell[1:].ravel(), cell[:-1].ravel(), np.repeat(d, n_others)]
        entries += [np.ones(n - 1), np.ones(len(bound)), -np.ones(len(bound)), -np.ones(len(bound))]
        lower.append((least[:, None] - change).ravel())
        n_rows, d_start = n_rows + len(bound), d_start + n - 1
    weight = np.concatenate([table.weight.ravel() for table in tables] + [np.zeros(d_start - starts[-1])])
    matrix = sp.csr_matrix(
        (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), shape=(n_rows, d_start)
    )
    x = solve_projection(weight, matrix, np.concatenate([-total, *lower]))
    for table, start, size in zip(tables, starts, sizes):
        table.write(table.flat + x[start : start + size].reshape(table.weight.shape))
    _repair(tables, steps)


def _repair(tables: list[_Numbers], steps: Steps) -> None:
    """Raise tables by what rounding has left: a number for all bins above an edge."""
    missing = np.zeros(len(steps.edges))
    for table, part in zip(tables, steps.parts):
        missing[part.at] -= np.diff(table.flat, axis=0).min(axis=1)
    missing = np.maximum(missing, 0.0)
    for table, part in sorted(zip(tables, steps.parts), key=lambda pair: pair[0].weight.shape[1]):
        rise = np.concatenate([[0.0], np.cumsum(missing[part.at])])
        table.write(table.flat + rise[:, None])
        missing[part.at] = 0.0
