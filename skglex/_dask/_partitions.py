"""Hold the partitions of a Dask collection of rows, with their weights."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skglex._dask import is_dask
from skglex._input import is_frame, take_rows

_EMPTY = (
    "Found array with 0 sample(s) while a minimum of 1 is required: all partitions of X are empty. Pass a collection "
    "with rows"
)


def rows_of(X: Any) -> list[Delayed]:
    """Return the partitions of a data frame or a series, or the blocks of rows of an array."""
    if isinstance(X, da.Array):
        if X.ndim == 2:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    return list(X.to_delayed())


def share(value: Any) -> Any:
    """Return one graph node with a value for all tasks; if there is a cluster, send the value to its workers now."""
    client = active_client()
    if client is not None:
        (value,) = client.scatter([value], broadcast=True, hash=False)
    return delayed(value, traverse=False)


def active_client() -> Any:
    """Return the client of the cluster that Dask would compute on now, or None."""
    owner = getattr(dask.base.get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "scatter") else None


class Partitions:
    """Hold the rows passed to ``fit`` and their weights as lazy partitions.

    Parameters
    ----------
    X : dask Array or DataFrame
        The rows.
    sample_weight : dask Array or Series, array-like, or None
        Their weights. None: equal weights.

    Attributes
    ----------
    rows : list of Delayed
        The rows of each partition.
    weights : list of Delayed, or of None
        Their weights.
    chosen : ndarray, int64
        Positions of the rows drawn by `sample`.
    """

    def __init__(self, X: Any, sample_weight: Any) -> None:
        if not (is_frame(X) or (isinstance(X, da.Array) and X.ndim == 2)):
            raise ValueError(
                "X must be a Dask DataFrame, or a Dask Array of two dimensions; got a "
                f"{type(X).__name__}, dimensions: {getattr(X, 'ndim', 'unknown')}"
            )
        self.rows = rows_of(X)
        self.weights: list[Any] = (
            [None] * len(self.rows) if sample_weight is None else align(X, sample_weight, "sample_weight")
        )

    def first_row(self) -> Any:
        """Compute the first row of the first partition that is not empty."""
        for part in self.rows:
            row = delayed(_first)(part).compute()
            if _length(row):
                return row
        raise ValueError(_EMPTY)

    def sample(self, n: int, random_state: Any) -> tuple[Any, NDArray[np.float64] | None]:
        """Draw rows from all partitions; return them with their weights, and store their positions in ``chosen``."""
        lengths = np.array(dask.compute(*[delayed(_length)(part) for part in self.rows]), dtype=np.int64)
        total = int(lengths.sum())
        if not total:
            raise ValueError(_EMPTY)
        chosen = np.arange(total)
        if n < total:
            chosen = np.sort(check_random_state(random_state).choice(total, n, replace=False))
        ends = np.cumsum(lengths)
        partition_of_row = np.searchsorted(ends, chosen, side="right")
        parts: list[Any] = []
        weights: list[Any] = []
        for p in np.unique(partition_of_row):
            positions = chosen[partition_of_row == p] - (ends[p] - lengths[p])
            parts.append(delayed(take_rows)(self.rows[p], positions))
            if self.weights[p] is not None:
                weights.append(delayed(_take_weight)(self.weights[p], positions, int(lengths[p])))
        parts, weights = dask.compute(parts, weights)
        weight = np.concatenate(weights) if weights else None
        self.chosen = chosen
        return _stack(parts), weight


def align(X: Any, values: Any, name: str) -> list[Any]:
    """Return numbers of rows by partition of X; raise if they are not partitioned in the same way.

    ``name`` names them in errors.
    """
    n_parts = len(rows_of(X))
    if not is_dask(values):
        lengths = X.chunks[0] if isinstance(X, da.Array) else (np.nan,)
        if np.isnan(lengths).any():
            raise ValueError(
                f"{name} is a {type(values).__name__}, but the partitions of X have unknown lengths. "
                "Pass a Dask collection with the same partitions as X, for example a column of X"
            )
        values = da.from_array(np.asarray(values), chunks=-1)
    if isinstance(values, da.Array) and isinstance(X, da.Array):
        has_lengths = not (np.isnan(X.chunks[0]).any() or np.isnan(values.shape).any())
        if has_lengths and values.shape[:1] != X.shape[:1]:
            raise ValueError(f"{name} must have the length {X.shape[0]}; got the shape {values.shape}")
        if has_lengths:
            values = values.rechunk({0: X.chunks[0]})
    parts = rows_of(values)
    divisions, divisions_of_values = (getattr(part, "divisions", (None,)) for part in (X, values))
    differ = (
        divisions[0] is not None and divisions_of_values[0] is not None and divisions != divisions_of_values
    )
    if len(parts) != n_parts or differ:
        raise ValueError(
            f"{name} has {len(parts)} partitions, X has {n_parts}"
            + (", with other divisions" if differ else "")
            + ". Pass the same partitions as those of X, for example a column of X"
        )
    return parts


def _first(part: Any) -> Any:
    return take_rows(part, np.arange(min(_length(part), 1)))


def _length(part: Any) -> int:
    return int(part.shape[0])


def _take_weight(weight: Any, rows: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    return check_weight(weight, n)[rows]


def check_weight(weight: Any, n: int) -> NDArray[np.float64]:
    """Return the weights of a partition of n rows as float64; raise unless there is a valid weight for every row."""
    if weight is None:
        return np.ones(n)
    out = np.asarray(weight, dtype=np.float64)
    if out.shape != (n,):
        raise ValueError(
            f"a partition of X has {n} rows, but its sample_weight has the shape {out.shape}. Pass one weight per row"
        )
    valid = np.isfinite(out) & (out >= 0)
    if not valid.all():
        raise ValueError(f"sample_weight must be finite and not negative; got {out[~valid][0]}")
    return out


def _stack(parts: list[Any]) -> Any:
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    return np.concatenate(parts)
