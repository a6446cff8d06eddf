"""Rows as bins of a model's grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skglex._input._categories import categories_of, column_values, is_categorical
from skglex._input._rows import is_frame
from skglex._input._spec import LARGEST_ZERO, InputSpec
from skglex._leaves import Grid
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, row_chunks, rows_at_a_time, scaled


def iter_bins(
    X: Any, spec: InputSpec, grid: Grid, execution: Execution, width: int = 0, dtype: Any = np.float64
) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """Yield the bins of X chunk by chunk: first row, last row + 1, bins.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    spec : InputSpec
    grid : Grid
    execution : Execution
    width : int
        Numbers of output per row. Where the output is copied chunk by chunk, chunks are short enough for a buffer.
    dtype : dtype
        Type of the output. A chunk of float64 that holds all rows needs no buffer.
    """
    size = max(scaled(budgets.bin_bytes) // (8 * max(len(grid.features), 1)), 1024)
    ranges = _ranges(0, X.shape[0], size)
    if len(ranges) > 1 or np.dtype(dtype) != np.float64:
        buffer_rows = rows_at_a_time(width)
        ranges = [part for start, stop in ranges for part in _ranges(start, stop, buffer_rows)]
    for start, stop in ranges:
        yield start, stop, bin_rows(X, spec, grid, start, stop, execution)


def iter_binned(bins: NDArray[Any], width: int) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """Yield chunks of rows that are binned already, as `iter_bins` does."""
    for start, stop in _ranges(0, bins.shape[1], rows_at_a_time(width)):
        yield start, stop, np.ascontiguousarray(bins[:, start:stop])


def map_chunks(
    chunks: Iterable[tuple[int, int, NDArray[Any]]],
    shape: tuple[int, ...],
    compute: Callable[[NDArray[Any]], NDArray[Any]],
    dtype: Any = np.float64,
) -> NDArray[Any]:
    """Compute an array of a shape, rows last, chunk of rows by chunk.

    ``compute`` takes the bins of a chunk and returns float64. What it returns for all rows at once is not copied.
    """
    out = None
    for start, stop, bins in chunks:
        part = compute(bins)
        if stop - start == shape[-1] and part.dtype == dtype:
            return part
        out = np.empty(shape, dtype=dtype) if out is None else out
        out[..., start:stop] = part
    return np.empty(shape, dtype=dtype) if out is None else out


def _ranges(start: int, stop: int, size: int) -> list[tuple[int, int]]:
    return [(a, min(a + size, stop)) for a in range(start, stop, size)]


def bin_rows(
    X: Any,
    spec: InputSpec,
    grid: Grid,
    start: int = 0,
    stop: int | None = None,
    execution: Execution = DEFAULT_EXECUTION,
) -> NDArray[Any]:
    """Bins of the rows ``start <= r < stop`` of X, of shape (n_used_features, n_rows)."""
    stop = X.shape[0] if stop is None else stop
    out = np.empty((len(grid.features), stop - start), dtype=grid.dtype)
    # an array is shared out among threads; what is not an array spends its time in Python
    chunks = row_chunks(stop - start) if isinstance(X, np.ndarray) else [(0, stop - start)]
    execution.run(_bin_part, [(X, spec, grid, start + a, start + b, a, out) for a, b in chunks])
    return out


def bin_all(X: Any, spec: InputSpec, grid: Grid, execution: Execution = DEFAULT_EXECUTION) -> NDArray[Any]:
    """Bin all rows, chunk by chunk within the memory set aside for columns."""
    shape = (len(grid.features), X.shape[0])
    return map_chunks(iter_bins(X, spec, grid, execution, shape[0]), shape, lambda bins: bins, grid.dtype)


def _bin_part(
    X: Any, spec: InputSpec, grid: Grid, start: int, stop: int, at: int, out: NDArray[np.unsignedinteger]
) -> None:
    columns = np.empty((len(grid.features), stop - start))
    if is_frame(X) or spec.encoders or (spec.by_value and spec.categories):
        if is_frame(X):
            spec = replace(spec, categories=categories_of(X, spec))
        rows = X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]
        for column, feature in zip(columns, grid.features):
            column[:] = column_values(rows, int(feature), spec)
    elif sp.issparse(X):
        if spec.sparse_is_missing is None:
            raise ValueError(
                "X is sparse, and the model's members disagree on what a sparse matrix does not store: missing or 0. "
                "Pass a dense X"
            )
        part = (
            X[start:stop].tocsc()[:, grid.features] if X.format == "csr" else X[:, grid.features][start:stop]
        )
        columns[:] = _dense(part.tocsc(), np.nan if spec.sparse_is_missing else 0.0)
    else:
        values = X[start:stop].T[grid.features]
        single = spec.integers_as_float32 and values.dtype != np.float64
        columns[:] = values.astype(np.float32) if single else values
    if not np.isnan(spec.missing):
        # compared as the model compares; what is too large for float32 becomes infinite
        kind = np.float32 if grid.as_float32 else np.float64
        with np.errstate(over="ignore"):
            absent = columns.astype(kind, copy=False) == kind(spec.missing)
        if is_frame(X):  # the codes of categories were compared before they became the model's
            dtypes = list(X.dtypes)
            absent[[is_categorical(dtypes[feature]) for feature in grid.features]] = False
        columns[absent] = np.nan
    if spec.finite:
        _check_finite(columns, spec, grid)
    if spec.truncates_codes:
        columns[grid.categorical] = np.trunc(columns[grid.categorical])
    if spec.missing_zeros:
        for used_feature in np.flatnonzero(np.isin(grid.features, list(spec.missing_zeros))):
            columns[used_feature, np.abs(columns[used_feature]) <= LARGEST_ZERO] = np.nan
    grid.bin(columns, out, at)


def _check_finite(columns: NDArray[np.float64], spec: InputSpec, grid: Grid) -> None:
    """Refuse the values that the model refuses, in the columns that it looks at."""
    with np.errstate(over="ignore"):
        values = columns.astype(np.float32) if grid.as_float32 else columns
    bad = ~np.isfinite(values)
    if spec.finite == "allow-nan":
        bad &= ~np.isnan(values)
    if not bad.any():
        return
    used_feature, row = np.argwhere(bad)[0]
    feature = int(grid.features[used_feature])
    name = spec.feature_names[feature] if spec.feature_names else feature
    if np.isnan(columns[used_feature, row]):
        raise ValueError(
            f"Input X contains NaN in column {name!r}: this model takes no missing values. Impute them, in a "
            "pipeline that ends in the model, say"
        )
    raise ValueError(
        f"Input X contains infinity or a value too large for {values.dtype} in column {name!r}: got "
        f"{float(columns[used_feature, row])!r}, and this model takes finite values only"
    )


def _dense(part: Any, fill: float) -> NDArray[np.float64]:
    """A CSC matrix, transposed and dense, with ``fill`` for what it does not store."""
    out = np.full((part.shape[1], part.shape[0]), fill)
    part.sum_duplicates()
    column = np.repeat(np.arange(part.shape[1]), np.diff(part.indptr))
    out[column, part.indices] = part.data
    return out
