"""Say what the rows have along every explained feature, in the values that users know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skglex._input import InputSpec, Origin, column_values, is_categorical, is_frame, raw_column

if TYPE_CHECKING:
    from skglex._decomposition._explained import Explained
    from skglex._leaves import Background


@dataclass(frozen=True)
class OneHot:
    """Describe one-hot encoded columns, of which at most one is 1 in a row.

    Attributes
    ----------
    used_features : ndarray of shape (n_columns,), int64
        Positions of the columns on the grid.
    on, off : ndarray of shape (n_columns,), int64
        The bins of 1 and of 0 in each column.
    shares : ndarray of shape (n_columns + 1,), float64
        Share of the background in each column, and in none.
    labels : list of str
        Names of the columns without their common prefix, and of rows in none.
    """

    used_features: NDArray[np.int64]
    on: NDArray[np.int64]
    off: NDArray[np.int64]
    shares: NDArray[np.float64]
    labels: list[str]

    def find(self, bins: NDArray[Any]) -> NDArray[np.int64]:
        """Return the column that is 1 in every binned row; n_columns if none is."""
        return _find_on(bins[self.used_features], self.on)


def one_hot_columns(view: Explained, group: str, used: NDArray[np.int64]) -> OneHot | None:
    """Return columns of a group as a one-hot encoding; None if they are no such, or equal to the model."""
    grid = view.grid
    if group not in view.groups.one_hot:
        return None
    ends = grid.bin(np.tile([0.0, 1.0], (len(grid.features), 1)))[used].astype(np.int64)
    off, on = ends[:, 0], ends[:, 1]
    spec = view.source.input
    zeros_are_missing = np.isin(grid.features[used], list(spec.missing_zeros))
    if spec.missing == 0 or view.fitted.zero_is_missing:
        zeros_are_missing[:] = True
    off = np.where(zeros_are_missing, grid.n_bins[used] - 1, off)
    count = partial(_count_one_hot, used=used, on=on, off=off)
    shares = view.background.average(count)
    if shares[-1] > 0 or (on == off).any():
        return None
    columns = view.groups.columns_of(group)
    labels = dict(zip(columns.tolist(), _without_prefix([view.feature_names[i] for i in columns])))
    unused = [labels[i] for i in columns.tolist() if i not in grid.features]
    named = [labels[i] for i in grid.features[used].tolist()]
    return OneHot(used, on, off, shares[:-1], [*named, name_values(unused, []) if unused else "none"])


def _find_on(bins: NDArray[Any], on: NDArray[np.int64]) -> NDArray[np.int64]:
    is_on = bins == on[:, None]
    found: NDArray[np.int64] = np.where(is_on.any(axis=0), is_on.argmax(axis=0), len(on)).astype(np.int64)
    return found


def _count_one_hot(
    background: Background, *, used: NDArray[np.int64], on: NDArray[np.int64], off: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the share of rows in each column, in none, and of rows that are not one-hot encoded."""
    bins = background.bins[used]
    is_on = bins == on[:, None]
    valid = (is_on | (bins == off[:, None])).all(axis=0) & (is_on.sum(axis=0) <= 1)
    cell = np.where(valid, _find_on(bins, on), len(on) + 1)
    weight = background.weight / background.total
    return np.asarray(np.bincount(cell, weight, len(on) + 2), dtype=np.float64)


def _without_prefix(names: list[str]) -> list[str]:
    """Remove the prefix that all names of one-hot encoded columns have, up to its last separator."""
    # A prefix of the first and of the last name in order is one of all names.
    first, last = min(names), max(names)
    equal = next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), len(first))
    cut = max(first[:equal].rfind(mark) for mark in "_=: .-/") + 1
    short = [name[cut:] for name in names]
    return short if all(short) else names


def as_text(value: Any) -> str:
    """Write a raw value; whole numbers have no decimal point."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def name_values(inside: list[Any], outside: list[Any]) -> str:
    """Name a set of raw values by up to three of them, or by the single value that is not among them."""
    if not inside:
        return "missing"
    if len(inside) <= 3:
        return ", ".join(map(as_text, inside))
    return f"not {as_text(outside[0])}" if len(outside) == 1 else f"{len(inside)} values"


def row_values(view: Explained, X: Any) -> tuple[NDArray[np.float64], dict[int, NDArray[np.object_]]]:
    """Return what rows have along every explained feature.

    Parameters
    ----------
    view : Explained
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows before the preprocessing.

    Returns
    -------
    data : ndarray of shape (n_samples, n_players)
        Numbers: the values of numeric raw columns or of the model's columns, and codes of categories. NaN if a value is
        missing, or for a group that is neither a raw column nor one-hot encoded.
    texts : dict of int to ndarray of shape (n_samples,), object
        For every player with categories: the categories themselves. For a group without a single value: "(group)".
    """
    X = view.as_rows(X)
    rows = view.check(X)
    Xt = rows.toarray() if sp.issparse(rows) else rows
    data = np.full((Xt.shape[0], len(view.groups.names)), np.nan)
    texts: dict[int, NDArray[np.object_]] = {}
    for player, name in enumerate(view.groups.names):
        columns = view.groups.columns_of(name).tolist()
        origin = view.origin_of(columns)
        if origin is not None and (view.fitted.preprocess is not None or name in view.groups.members):
            data[:, player], text = _raw_values(origin, X)
        elif len(columns) == 1:
            data[:, player], text = _column_values(view, Xt, columns[0])
        else:
            data[:, player], text = _one_hot_values(view, name, Xt)
        if text is not None:
            texts[player] = text
    return data, texts


def _raw_values(origin: Origin, X: Any) -> tuple[Any, NDArray[np.object_] | None]:
    if origin.numeric:
        return column_values(X, origin.position, InputSpec(X.shape[1])), None
    column = raw_column(X, origin.position)
    codes = origin.number_values(column).astype(np.float64)
    codes[(codes < 0) | (codes == len(origin.values))] = np.nan
    return codes, np.array([*(column.to_list() if is_frame(X) else column.tolist()), None], object)[:-1]


def _column_values(view: Explained, Xt: Any, position: int) -> tuple[Any, NDArray[np.object_] | None]:
    spec = view.source.input
    column = raw_column(Xt, position)
    values = column_values(Xt, position, spec)
    if position in spec.encoders or position in spec.categories or is_categorical(column.dtype):
        return values, np.asarray(column.to_list() if is_frame(Xt) else column, dtype=object)
    return values, None


def _one_hot_values(view: Explained, group: str, Xt: Any) -> tuple[Any, NDArray[np.object_]]:
    """Return the position and the name of the column that is 1 in every row."""
    if group not in view.groups.one_hot:
        return np.nan, np.full(Xt.shape[0], "(group)", dtype=object)
    columns = view.groups.columns_of(group).tolist()
    is_on = np.array([column_values(Xt, position, view.source.input) == 1 for position in columns])
    labels = [*_without_prefix([view.feature_names[i] for i in columns]), "none"]
    cells = _find_on(is_on, np.ones(len(columns), np.int64))
    return cells, np.array(labels, dtype=object)[cells]
