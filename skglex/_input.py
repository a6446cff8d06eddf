"""From what users pass (arrays, sparse matrices, data frames) to columns of float64 numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from skglex._memory import scaled
from skglex._parallel import row_chunks, run
from skglex.ensemble._grid import Grid
from skglex.ensemble.readers import LARGEST_ZERO, InputSpec

# Bytes of the columns of numbers that are binned at one time.
BIN_BUDGET = 1 << 27


def is_frame(X: Any) -> bool:
    """Whether X is a data frame (pandas, polars and their like)."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def as_numpy(X: Any) -> Any:
    """Arrays of other libraries (the array API) as NumPy's; one on a GPU raises its library's TypeError."""
    other = hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray)
    return np.asarray(X) if other else X


def check_rows(X: Any, objects: bool = False) -> Any:
    """Check arrays and sparse matrices as scikit-learn does; data frames keep their columns' types.

    So do arrays of objects, on request.
    """
    X = as_numpy(X)
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise ValueError(f"X is a {type(X).__name__}, whose rows are not there yet: pass X.collect()")
    if not is_frame(X):
        dtype = None if objects and getattr(getattr(X, "dtype", None), "kind", "") == "O" else "numeric"
        return check_array(
            X, accept_sparse=["csr", "csc"], dtype=dtype, ensure_all_finite=False, input_name="X"
        )
    if 0 in X.shape:
        what = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required.")
    return X


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of an array, a sparse matrix or a data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.tocsr()[rows] if sp.issparse(X) else X[rows]


def bin_rows(
    X: Any, spec: InputSpec, grid: Grid, start: int = 0, stop: int | None = None, n_jobs: int | None = None
) -> NDArray[Any]:
    """Bins of the rows ``start <= r < stop`` of X, of shape (n_slots, n_rows)."""
    stop = X.shape[0] if stop is None else stop
    out = np.empty((len(grid.features), stop - start), dtype=grid.dtype)
    # an array is shared out among threads; what is not an array spends its time in Python
    chunks = row_chunks(stop - start) if isinstance(X, np.ndarray) else [(0, stop - start)]
    run(_bin_part, [(X, spec, grid, start + a, start + b, a, out) for a, b in chunks], n_jobs=n_jobs)
    return out


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
            columns[columns.astype(kind, copy=False) == kind(spec.missing)] = np.nan
    if spec.finite:
        _check_finite(columns, spec, grid)
    if spec.truncates_codes:
        columns[grid.categorical] = np.trunc(columns[grid.categorical])
    for slot in np.flatnonzero(np.isin(grid.features, list(spec.missing_zeros))):
        columns[slot, np.abs(columns[slot]) <= LARGEST_ZERO] = np.nan
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
    slot, row = np.argwhere(bad)[0]
    feature = int(grid.features[slot])
    name = spec.feature_names[feature] if spec.feature_names else feature
    if np.isnan(columns[slot, row]):
        raise ValueError(
            f"Input X contains NaN in column {name!r}: this model takes no missing values. Impute them, in a "
            "pipeline that ends in the model, say"
        )
    raise ValueError(
        f"Input X contains infinity or a value too large for {values.dtype} in column {name!r}: got "
        f"{float(columns[slot, row])!r}, and this model takes finite values only"
    )


def categories_of(X: Any, spec: InputSpec) -> Mapping[int, NDArray[Any]]:
    """Category values by code of the columns of a data frame, as far as the model keeps them."""
    if spec.frame_categories is None:
        return spec.categories
    kinds = [str(dtype).lower() for dtype in X.dtypes]
    found = [i for i, kind in enumerate(kinds) if kind.startswith(("category", "categorical", "enum"))]
    if len(found) != len(spec.frame_categories) or (spec.categories and found != sorted(spec.categories)):
        known = [X.columns[i] for i in sorted(spec.categories)] or len(spec.frame_categories)
        raise ValueError(
            f"X has the categorical columns {[X.columns[i] for i in found]}, but the model was trained on a data frame "
            f"whose categorical columns are {known}: convert the same columns to categorical ones"
        )
    return dict(zip(found, spec.frame_categories))


def bin_chunks(X: Any, grid: Grid) -> list[tuple[int, int]]:
    """Ranges of rows whose columns fit the memory set aside for them."""
    size = max(scaled(BIN_BUDGET) // (8 * max(len(grid.features), 1)), 1024)
    return [(start, min(start + size, X.shape[0])) for start in range(0, X.shape[0], size)]


def raw_column(X: Any, feature: int) -> Any:
    """One column as it is: of a data frame a series, else an array."""
    # by position: names may occur twice where a model is trained on an array
    if hasattr(X, "iloc"):
        return X.iloc[:, feature]
    if is_frame(X):
        return X[X.columns[feature]]
    column = X[:, [feature]]
    return (column.toarray() if sp.issparse(column) else column).ravel()


def column_values(X: Any, feature: int, spec: InputSpec) -> NDArray[np.float64]:
    """One column as the model's numbers: values, or codes of categories; missing is NaN."""
    column, known = raw_column(X, feature), spec.categories.get(feature)
    if feature in spec.encoders:
        return spec.encoders[feature](column)
    if is_frame(X):
        return frame_column(column, X.columns[feature], known, spec.unknown_is_missing, spec.by_value)
    if known is not None and spec.by_value:
        return _codes(column.tolist(), known)
    return np.asarray(column, dtype=np.float64)


def name_categories(X: Any, spec: InputSpec, grid: Grid) -> InputSpec:
    """Name codes after the categories in X, where the model does not keep them; a code that X lacks stays as it is."""
    names = dict(spec.categories)
    for slot in np.flatnonzero(grid.categorical):
        feature = int(grid.features[slot])
        if feature in spec.encoders:
            codes, first = np.unique(column_values(X, feature, spec).astype(np.int64), return_index=True)
            names[feature] = grid.slot_cuts(int(slot)).astype(np.int64).astype(object)
            found = np.asarray(raw_column(X, feature), dtype=object)[first]
            names[feature][codes[codes >= 0]] = found[codes >= 0]
    return replace(spec, categories=names)


def frame_column(
    column: Any,
    name: Any,
    categories: NDArray[Any] | None = None,
    unknown_is_missing: bool = False,
    by_value: bool = False,
) -> NDArray[np.float64]:
    """One data-frame column as numbers; missing is NaN.

    A categorical column becomes the model's codes: by value where the model keeps the ``categories`` it was
    trained on, else the column's own codes or, ``by_value``, the numbers that its categories are. ``by_value``,
    a column that is not categorical is looked up among the ``categories``, too.
    """
    values, codes = _categorical(column)
    if codes is None:
        if categories is not None and by_value:
            return _codes(column.to_list(), categories)
        if categories is not None:
            raise ValueError(
                f"column {name!r} is not categorical, but the model was trained on it as a categorical column "
                f"with the categories {list(categories[:5])}...: convert it to a categorical column"
            )
        return _numeric(column, name)
    if categories is None:
        return (
            np.append(_as_numbers(values, name), np.nan)[codes]
            if by_value
            else np.where(codes < 0, np.nan, codes)
        )
    position = {value: code for code, value in enumerate(categories.tolist())}
    new = np.array([position.get(value, -1) for value in values], dtype=np.float64)
    out = np.full(len(codes), np.nan)
    known = codes >= 0
    out[known] = new[codes[known]]
    if unknown_is_missing:
        out[out == -1] = np.nan
    if (out == -1).any():
        unseen = sorted({str(values[c]) for c in codes[known][out[known] == -1]})
        raise ValueError(
            f"column {name!r} has categories that the model was not trained on: {unseen[:5]}. Known are "
            f"{list(categories[:10])}. Replace them, or make them missing"
        )
    return out


def _categorical(column: Any) -> tuple[list[Any], NDArray[np.int64] | None]:
    """Values and codes (-1: missing) of a categorical pandas or polars column; codes None for any other."""
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):
        return column.cat.categories.tolist(), np.asarray(column.cat.codes, dtype=np.int64)
    if str(column.dtype).startswith(("Categorical", "Enum")):  # polars
        strings = column.cast(str).to_list()
        # only an Enum has an order of its own; the codes of a Categorical depend on what else was loaded
        enum = getattr(column.dtype, "categories", None) if str(column.dtype).startswith("Enum") else None
        values = sorted({s for s in strings if s is not None}) if enum is None else list(enum)
        position = {value: code for code, value in enumerate(values)}
        return values, np.array([position.get(s, -1) for s in strings], dtype=np.int64)
    return [], None


def _numeric(column: Any, name: Any) -> NDArray[np.float64]:
    try:
        if hasattr(column, "isna"):  # pandas
            if column.dtype.kind in "OUSTMm":
                raise TypeError
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
            raise TypeError
        from_polars: NDArray[np.float64] = column.cast(float).to_numpy()
        return from_polars
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"could not convert column {name!r} of dtype {column.dtype} to float: convert strings to numbers or "
            "to a categorical column (pandas 'category'), as the model was trained"
        ) from error


def _codes(values: list[Any], categories: NDArray[Any]) -> NDArray[np.float64]:
    """Positions among the categories; NaN for what is none of them."""
    position = {value: float(code) for code, value in enumerate(categories.tolist())}
    return np.array([position.get(value, np.nan) for value in values])


def _as_numbers(values: list[Any], name: Any) -> NDArray[np.float64]:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name!r} has the categories {values[:5]}, but the model takes numbers: encode them, in a "
            "pipeline that ends in the model, say"
        ) from error


def _plain(row: Any) -> NDArray[Any]:
    """A row of a data frame, an array or a sparse matrix as an array."""
    return np.asarray(row.toarray() if sp.issparse(row) else row)


def _dense(part: Any, fill: float) -> NDArray[np.float64]:
    """A CSC matrix, transposed and dense, with ``fill`` for what it does not store."""
    out = np.full((part.shape[1], part.shape[0]), fill)
    part.sum_duplicates()
    column = np.repeat(np.arange(part.shape[1]), np.diff(part.indptr))
    out[column, part.indices] = part.data
    return out


def with_column_of(X: Any, position: int, donors: Any) -> Any:
    """A copy of X with one column taken from the rows of ``donors``, as many as X has."""
    if hasattr(X, "iloc"):
        column = donors.iloc[:, position].set_axis(X.index)
        out = X.copy()
        out.isetitem(position, column)
        return out
    if is_frame(X):
        return X.with_columns(donors[X.columns[position]])
    if sp.issparse(X):
        return _replace_columns(X, [position], donors.tocsc()[:, [position]])
    out = X.copy()
    out[:, position] = donors[:, position]
    return out


def _replace_columns(X: Any, positions: list[int], columns: Any) -> Any:
    """A copy of a sparse matrix with other values in some columns."""
    others = np.setdiff1d(np.arange(X.shape[1]), positions)
    order = np.argsort(np.concatenate([others, positions]), kind="stable")
    return sp.hstack([X.tocsc()[:, others], columns], format="csc")[:, order].asformat(X.format)


def fill_columns(X: Any, positions: list[int], row: Any, names: Any, *, numbers: bool) -> Any:
    """X with some columns replaced by the values in ``row``; a data frame may lack them.

    Without ``numbers``, columns of numeric arrays and sparse matrices stay as they are: nothing looks at them.
    """
    if not is_frame(X):
        X = X if hasattr(X, "shape") else np.asarray(X)
        plain = isinstance(X, np.ndarray) and X.dtype == object
        if not (numbers or plain) or getattr(X, "shape", (0,))[1:] != row.shape[1:] or not positions:
            return X
        if sp.issparse(X):
            row = row[:, positions] if sp.issparse(row) else sp.csr_matrix(_plain(row)[:, positions])
            return _replace_columns(X, positions, sp.csr_matrix(np.ones((X.shape[0], 1))) @ row)
        row = _plain(row)
        X = X.astype(np.result_type(X.dtype, row.dtype))
        X[:, positions] = row[:, positions]
        return X
    complete = X.shape[1] == row.shape[1]
    if not complete and names is None:  # fitted without names: nothing tells which columns are absent
        return X
    given = [str(name) for name in X.columns]
    if hasattr(X, "iloc"):
        out = X.copy(deep=False)
        for i in positions:
            column = row.iloc[np.zeros(len(X), np.int64), i].set_axis(X.index)
            if complete or str(names[i]) in given:
                out.isetitem(i if complete else [str(c) for c in out.columns].index(str(names[i])), column)
            else:
                out.insert(min(i, out.shape[1]), names[i], column)
        return out
    columns = {str(name): X[name] for name in X.columns}
    for i in positions:
        name = given[i] if complete else str(names[i])
        columns[name] = row[:, i].new_from_index(0, X.shape[0]).alias(name)
        if name not in given:
            given.insert(min(i, len(given)), name)
    return type(X)([columns[name] for name in given])
