"""Convert rows to bins of a model's grid."""

from __future__ import annotations

import re
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

# What NumPy reduces without a copy, and without regard to NaN.
_LEAST, _LARGEST = np.fmin.reduce, np.fmax.reduce
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
# Values further away than this many times the range of all others are suspicious.
_FAR = 2
# Values in fewer rows are not.
_SHARE = 0.02
# All nines, a power of ten, or ten digits and more.
_LIKE_MISSING = re.compile("9{2,}|10+|[0-9]{10,}")


def iter_bins(
    X: Any, spec: InputSpec, grid: Grid, execution: Execution, width: int = 0, dtype: Any = np.float64
) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """Yield the bins of X chunk by chunk.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows after the preprocessing.
    spec : InputSpec
        How the model reads its input.
    grid : Grid
        The features that the model splits on, and their bins.
    execution : Execution
        Execution options.
    width : int
        Count of output numbers per row. If the output of each chunk is copied, a chunk's output fits into a buffer.
    dtype : dtype
        Type of the output. If it is float64 and one chunk holds all rows, the output is not copied.

    Yields
    ------
    start, stop : int
        First row of the chunk, and the row after its last.
    bins : ndarray of shape (n_used_features, stop - start)
        Bins of the rows.
    """
    ranges = _ranges(0, X.shape[0], _rows_to_bin(grid))
    if len(ranges) > 1 or np.dtype(dtype) != np.float64:
        buffer_rows = rows_at_a_time(width)
        ranges = [part for start, stop in ranges for part in _ranges(start, stop, buffer_rows)]
    for start, stop in ranges:
        yield start, stop, bin_rows(X, spec, grid, start, stop, execution)


def iter_binned(bins: NDArray[Any], width: int) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """Yield chunks of binned rows in the form of `iter_bins`."""
    for start, stop in _ranges(0, bins.shape[1], rows_at_a_time(width)):
        yield start, stop, np.ascontiguousarray(bins[:, start:stop])


def map_chunks(
    chunks: Iterable[tuple[int, int, NDArray[Any]]],
    shape: tuple[int, ...],
    compute: Callable[[NDArray[Any]], NDArray[Any]],
    dtype: Any = np.float64,
) -> NDArray[Any]:
    """Compute an array chunk by chunk of rows; the rows are its last axis.

    ``compute`` takes the bins of a chunk and returns float64. If one chunk holds all rows, its result is not copied.
    """
    out = None
    for start, stop, bins in chunks:
        part = compute(bins)
        if stop - start == shape[-1] and part.dtype == dtype:
            return part
        out = np.empty(shape, dtype=dtype) if out is None else out
        out[..., start:stop] = part
    return np.empty(shape, dtype=dtype) if out is None else out


def _rows_to_bin(grid: Grid) -> int:
    """Return how many rows of numeric columns are in memory at one time."""
    return max(scaled(budgets.bin_bytes) // (8 * max(len(grid.features), 1)), 1024)


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
    """Return the bins of the rows ``start <= r < stop`` of X: shape (n_used_features, n_rows)."""
    stop = X.shape[0] if stop is None else stop
    out = np.empty((len(grid.features), stop - start), dtype=grid.dtype)
    _bin_into(out, 0, X, spec, grid, start, stop, execution)
    return out


def _bin_into(
    out: NDArray[Any],
    at: int,
    X: Any,
    spec: InputSpec,
    grid: Grid,
    start: int,
    stop: int,
    execution: Execution,
) -> None:
    """Write the bins of the rows ``start <= r < stop`` of X to ``out``, from column ``at`` on."""
    # Only arrays are divided among threads: binning a data frame or a sparse matrix mostly runs Python code.
    chunks = row_chunks(stop - start) if isinstance(X, np.ndarray) else [(0, stop - start)]
    execution.run(_bin_part, [(X, spec, grid, start + a, start + b, at + a, out) for a, b in chunks])


def bin_all(X: Any, spec: InputSpec, grid: Grid, execution: Execution = DEFAULT_EXECUTION) -> NDArray[Any]:
    """Bin all rows. Chunks keep the numeric columns within the memory budget."""
    out = np.empty((len(grid.features), X.shape[0]), dtype=grid.dtype)
    for start, stop in _ranges(0, X.shape[0], _rows_to_bin(grid)):
        _bin_into(out, start, X, spec, grid, start, stop, execution)
    return out


def column_limits(X: Any, spec: InputSpec, grid: Grid) -> NDArray[np.float64]:
    """Return the least and the largest number of every used feature that is finite and not missing.

    The shape is (n_used_features, 2). Features without any such number have the limits infinity and minus infinity.
    """
    limits = np.tile([np.inf, -np.inf], (len(grid.features), 1))
    size, plain = _rows_to_bin(grid), _is_plain(X, spec)
    for start, stop in _ranges(0, X.shape[0], min(size, budgets.row_chunk) if plain else size):
        if plain:
            low, high = (least(X[start:stop], axis=0)[grid.features] for least in (_LEAST, _LARGEST))
            if not (np.isneginf(low) | np.isposinf(high)).any():
                limits[:, 0] = np.fmin(limits[:, 0], low)
                limits[:, 1] = np.fmax(limits[:, 1], high)
                continue
        columns = _read_columns(X, spec, grid, start, stop)
        if not np.isnan(spec.missing):
            _mark_missing(columns, X, spec, grid)
        known = np.isfinite(columns)
        limits[:, 0] = np.minimum(limits[:, 0], columns.min(axis=1, where=known, initial=np.inf))
        limits[:, 1] = np.maximum(limits[:, 1], columns.max(axis=1, where=known, initial=-np.inf))
    return limits


def placeholders(X: Any, spec: InputSpec, grid: Grid) -> dict[float, list[int]]:
    """Return values that look like missing ones, such as -999, with the used features that have them.

    Such a value occurs in more than 2 % of the rows, is all nines, a power of ten or huge, and lies far away from all
    other values. If a threshold lies amid the gap, of any feature with this value, the model has seen it as a number.
    """
    found: dict[float, list[int]] = {}
    numbers = set()
    for used_feature, column in enumerate(_read_columns(X, spec, grid, 0, X.shape[0])):
        values, counts = np.unique(column[np.isfinite(column)], return_counts=True)
        if len(values) < 3 or grid.categorical[used_feature]:
            continue
        for value, next_value, spread, count in (
            (values[0], values[1], values[-1] - values[1], counts[0]),
            (values[-1], values[-2], values[-2] - values[0], counts[-1]),
        ):
            gap = abs(value - next_value)
            if (
                count > max(1, _SHARE * len(column))
                and gap > _FAR * spread
                and _LIKE_MISSING.fullmatch(f"{abs(value):.0f}")
            ):
                found.setdefault(float(value), []).append(used_feature)
                position = (grid.cuts_of(used_feature) - value) / (next_value - value)
                if ((position > 0.1) & (position < 0.9)).any():
                    numbers.add(float(value))
    return {value: features for value, features in found.items() if value not in numbers}


def _bin_part(
    X: Any, spec: InputSpec, grid: Grid, start: int, stop: int, at: int, out: NDArray[np.unsignedinteger]
) -> None:
    """Bin the rows ``start <= r < stop`` of X into the columns ``at``, ``at + 1``, ... of ``out``."""
    if (rows := _plain_rows(X, spec, grid, start, stop)) is not None:
        grid.bin_rows(rows, out, at)
        return
    columns = _read_columns(X, spec, grid, start, stop)
    if not np.isnan(spec.missing):
        _mark_missing(columns, X, spec, grid)
    if spec.finite:
        _check_finite(columns, spec, grid)
    if spec.truncates_codes:
        columns[grid.categorical] = np.trunc(columns[grid.categorical])
    if spec.missing_zeros:
        for used_feature in np.flatnonzero(np.isin(grid.features, list(spec.missing_zeros))):
            columns[used_feature, np.abs(columns[used_feature]) <= LARGEST_ZERO] = np.nan
    grid.bin(columns, out, at)


def _is_plain(X: Any, spec: InputSpec) -> bool:
    """Return whether the model reads the columns of X as they are: floats, of which NaN alone counts as missing."""
    changed = spec.encoders or spec.derive or (spec.by_value and spec.categories) or spec.missing_zeros
    return isinstance(X, np.ndarray) and X.dtype in _FLOATS and not changed and bool(np.isnan(spec.missing))


def _plain_rows(X: Any, spec: InputSpec, grid: Grid, start: int, stop: int) -> NDArray[Any] | None:
    """Return rows whose values need no change and no error, contiguous and writeable; None if there may be others."""
    if not _is_plain(X, spec) or (spec.truncates_codes and grid.categorical.any()):
        return None
    rows = np.require(X[start:stop], requirements=["C", "W", "E"])
    if spec.finite:
        with np.errstate(over="ignore"):
            values = rows.astype(np.float32, copy=False) if grid.as_float32 else rows
        if not np.isfinite(values).all():
            return None
    return rows


def _read_columns(X: Any, spec: InputSpec, grid: Grid, start: int, stop: int) -> NDArray[np.float64]:
    """Return the used features of some rows as the model's numbers: shape (n_used_features, n_rows), C-contiguous."""
    columns = np.empty((len(grid.features), stop - start))
    if is_frame(X) or spec.encoders or spec.derive or (spec.by_value and spec.categories):
        if is_frame(X):
            spec = replace(spec, categories=categories_of(X, spec))
        rows = X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]
        n_own = int(np.searchsorted(grid.features, spec.n_features))
        for column, feature in zip(columns, grid.features[:n_own]):
            column[:] = column_values(rows, int(feature), spec)
        if spec.derive is not None and stop > start:
            columns[n_own:] = spec.derive(rows).T[grid.features[n_own:] - spec.n_features]
    elif sp.issparse(X):
        if spec.sparse_is_missing is None:
            raise ValueError(
                "X is a sparse matrix, but the estimators of the ensemble read its unstored entries differently: some "
                "as missing, some as 0. Pass a dense X"
            )
        part = (
            X[start:stop].tocsc()[:, grid.features] if X.format == "csr" else X[:, grid.features][start:stop]
        )
        columns[:] = _dense(part.tocsc(), np.nan if spec.sparse_is_missing else 0.0)
    else:
        values = X[start:stop].T[grid.features]
        single = spec.integers_as_float32 and values.dtype != np.float64
        columns[:] = values.astype(np.float32) if single else values
    return columns


def _mark_missing(columns: NDArray[np.float64], X: Any, spec: InputSpec, grid: Grid) -> None:
    """Set the values that the model counts as missing to NaN."""
    # The model compares in its own dtype, in which values beyond the range of float32 are infinite.
    dtype = np.float32 if grid.as_float32 else np.float64
    with np.errstate(over="ignore"):
        missing = columns.astype(dtype, copy=False) == dtype(spec.missing)
    if is_frame(X):
        # `column_values` has compared the codes of the data frame already; `columns` holds the model's codes.
        dtypes = list(X.dtypes)
        own = grid.features[grid.features < spec.n_features]
        missing[: len(own)][[is_categorical(dtypes[feature]) for feature in own]] = False
    columns[missing] = np.nan


def _check_finite(columns: NDArray[np.float64], spec: InputSpec, grid: Grid) -> None:
    """Raise if a used feature has an infinite or missing value that the model rejects."""
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
            f"Input X contains NaN in column {name!r}, but this model does not accept missing values. Impute them, "
            "for example in a pipeline that ends in the model"
        )
    raise ValueError(
        f"Input X contains infinity or a value too large for {values.dtype} in column {name!r}: got "
        f"{float(columns[used_feature, row])!r}, but this model accepts finite values only. Replace or clip such values"
    )


def _dense(part: Any, fill: float) -> NDArray[np.float64]:
    """Return a CSC matrix as a dense, transposed array with ``fill`` in place of unstored entries."""
    out = np.full((part.shape[1], part.shape[0]), fill)
    part.sum_duplicates()
    column = np.repeat(np.arange(part.shape[1]), np.diff(part.indptr))
    out[column, part.indices] = part.data
    return out
