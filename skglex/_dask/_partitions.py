"""A Dask collection of rows, with weights, partition by partition."""

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

_EMPTY = "Found array with 0 sample(s) while a minimum of 1 is required: all partitions of X are empty"


def rows_of(X: Any) -> list[Delayed]:
    """The partitions of a data frame or series, or the blocks of rows of an array."""
    if isinstance(X, da.Array):
        if X.ndim == 2:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    return list(X.to_delayed())


def share(value: Any) -> Any:
    """One node that all tasks have in common; where there is a cluster, its workers are sent the value right away."""
    client = active_client()
    if client is not None:
        (value,) = client.scatter([value], broadcast=True, hash=False)
    return delayed(value, traverse=False)


def active_client() -> Any:
    """The client of the cluster that would compute now, or None."""
    owner = getattr(dask.base.get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "scatter") else None


class Partitions:
    """The rows given to ``fit`` and their weights (None: equal), lazily.

    Parameters
    ----------
    X : dask Array or DataFrame
    sample_weight : dask Array or Series, array-like, or None
    """

    def __init__(self, X: Any, sample_weight: Any) -> None:
        if not (is_frame(X) or (isinstance(X, da.Array) and X.ndim == 2)):
            raise ValueError(
                "expected a Dask DataFrame, or a Dask Array of two dimensions; got a "
                f"{type(X).__name__}, dimensions: {getattr(X, 'ndim', 'unknown')}"
            )
        self.rows = rows_of(X)
        self.weights: list[Any] = (
            [None] * len(self.rows) if sample_weight is None else _align(X, sample_weight)
        )

    def first_row(self) -> Any:
        """The first row there is, in the form that X has."""
        for part in self.rows:
            row = delayed(_first)(part).compute()
            if _length(row):
                return row
        raise ValueError(_EMPTY)

    def sample(self, n: int, random_state: Any) -> tuple[Any, NDArray[np.float64] | None]:
        """Rows drawn as from one table, and their weights; their positions are noted in ``chosen``."""
        lengths = np.array(dask.compute(*[delayed(_length)(part) for part in self.rows]), dtype=np.int64)
        total = int(lengths.sum())
        if not total:
            raise ValueError(_EMPTY)
        chosen = np.arange(total)
        if n < total:
            chosen = np.sort(check_random_state(random_state).choice(total, n, replace=False))
        ends = np.cumsum(lengths)
        of_row = np.searchsorted(ends, chosen, side="right")
        taken: list[Any] = []
        weights: list[Any] = []
        for p in np.unique(of_row):
            inside = chosen[of_row == p] - (ends[p] - lengths[p])
            taken.append(delayed(take_rows)(self.rows[p], inside))
            if self.weights[p] is not None:
                weights.append(delayed(_take_weight)(self.weights[p], inside, int(lengths[p])))
        taken, weights = dask.compute(taken, weights)
        weight = np.concatenate(weights) if weights else None
        self.chosen = chosen
        return _stack(taken), weight


def _align(X: Any, sample_weight: Any) -> list[Any]:
    """The weights of each partition of X."""
    n_parts = len(rows_of(X))
    if not is_dask(sample_weight):
        lengths = X.chunks[0] if isinstance(X, da.Array) else (np.nan,)
        if np.isnan(lengths).any():
            raise ValueError(
                f"sample_weight is a {type(sample_weight).__name__}, and the partitions of X have unknown lengths: "
                "pass a Dask collection with the partitions of X, say one of its columns"
            )
        sample_weight = da.from_array(np.asarray(sample_weight), chunks=-1)
    if isinstance(sample_weight, da.Array) and isinstance(X, da.Array):
        known = not (np.isnan(X.chunks[0]).any() or np.isnan(sample_weight.shape).any())
        if known and sample_weight.shape != X.shape[:1]:
            raise ValueError(f"sample_weight has the shape {sample_weight.shape}, expected {X.shape[:1]}")
        if known:
            sample_weight = sample_weight.rechunk((X.chunks[0],))
    weights = rows_of(sample_weight)
    ours, theirs = getattr(X, "divisions", (None,)), getattr(sample_weight, "divisions", (None,))
    differ = ours[0] is not None and theirs[0] is not None and ours != theirs
    if len(weights) != n_parts or differ:
        raise ValueError(
            f"sample_weight has {len(weights)} partitions, X has {n_parts}"
            + (", with other divisions" if differ else "")
            + ": pass weights with the partitions of X, say one of its columns"
        )
    return weights


def _first(part: Any) -> Any:
    return take_rows(part, np.arange(min(_length(part), 1)))


def _length(part: Any) -> int:
    return int(part.shape[0])


def _take_weight(weight: Any, rows: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    return check_weight(weight, n)[rows]


def check_weight(weight: Any, n: int) -> NDArray[np.float64]:
    """The weights of one partition, of n rows, as numbers."""
    if weight is None:
        return np.ones(n)
    out = np.asarray(weight, dtype=np.float64)
    if out.shape != (n,):
        raise ValueError(f"a partition of X has {n} rows, its sample_weight has the shape {out.shape}")
    if not (np.isfinite(out).all() and (out >= 0).all()):
        raise ValueError("sample_weight must be finite and not negative")
    return out


def _stack(parts: list[Any]) -> Any:
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    return np.concatenate(parts)
