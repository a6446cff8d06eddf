"""Check, take and change rows in the containers that users pass: arrays, sparse matrices, data frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from skglex._utils import warn_user


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame (pandas, polars and similar libraries)."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def name_of(label: Any) -> str:
    """Return a column label as the name of a feature; XGBoost joins the levels of a MultiIndex in the same way."""
    return " ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def frame_names(X: Any) -> list[str]:
    """Return the names of the columns of a data frame."""
    return [name_of(label) for label in X.columns]


def as_numpy(X: Any) -> Any:
    """Convert an array of another library (the array API) to NumPy, and a table of Arrow to a pandas data frame.

    For a GPU array, its library raises TypeError. Numbers get the byte order of the machine, with a warning.
    """
    package = type(X).__module__.partition(".")[0]
    if package in ("xgboost", "lightgbm", "catboost"):
        raise TypeError(
            f"X is a {type(X).__name__} of {package}, whose rows cannot be read. Pass the array or the data frame that "
            "it was made of"
        )
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise ValueError(
            f"X is a {type(X).__name__}, which does not hold rows in memory yet. Pass X.collect()"
        )
    if hasattr(X, "to_pandas") and hasattr(X, "schema") and not is_frame(X):
        return X.to_pandas()
    is_foreign = hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray)
    return _in_native_order(np.asarray(X) if is_foreign else X)


def _in_native_order(X: Any) -> Any:
    """Return rows, or a target, with numbers in the byte order of the machine; warn if it was another."""
    dtypes: list[Any] = list(X.dtypes) if is_frame(X) else [getattr(X, "dtype", None)]
    swapped = [i for i, dtype in enumerate(dtypes) if isinstance(dtype, np.dtype) and not dtype.isnative]
    if not swapped:
        return X
    warn_user(
        f"numbers of the type {dtypes[swapped[0]].str!r} are converted to the byte order of this machine. XGBoost "
        "reads such numbers wrongly, in training too. Convert them before training: X.astype(X.dtype.newbyteorder('='))"
    )
    if not is_frame(X):
        return X.astype(X.dtype.newbyteorder("="))
    X = X.copy(deep=False)
    for i in swapped:
        X.isetitem(i, X.iloc[:, i].to_numpy().astype(dtypes[i].newbyteorder("=")))
    return X


def check_rows(X: Any, takes_objects: Callable[[], bool]) -> Any:
    """Check arrays and sparse matrices as scikit-learn does; a data frame keeps the types of its columns.

    An array of objects stays one if the model accepts it. ``takes_objects`` is called for such arrays only, since it
    can be slow.
    """
    X = as_numpy(X)
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype.kind in "fiub":
        # check_array would return the same array, but takes as long as many look-ups.
        return X
    if not is_frame(X):
        is_object = getattr(getattr(X, "dtype", None), "kind", "") == "O"
        dtype = None if is_object and takes_objects() else "numeric"
        try:
            return check_array(
                X, accept_sparse=["csr", "csc"], dtype=dtype, ensure_all_finite=False, input_name="X"
            )
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise ValueError(
                f"{error}. This model takes numbers in an array. Pass texts and categories in a data frame, with the "
                "columns of the training data"
            ) from error
    if 0 in X.shape:
        # These are the words of check_array, which scikit-learn's estimator checks expect.
        unit = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(f"Found array with 0 {unit} (shape={X.shape}) while a minimum of 1 is required.")
    return X


def row_of_series(X: Any, row: Any) -> Any:
    """Return a pandas Series that holds one row as a data frame with the types of ``row``; anything else unchanged."""
    if not (hasattr(X, "iloc") and getattr(X, "ndim", 0) == 1 and hasattr(row, "iloc")):
        return X
    if not set(row.columns) <= set(X.index):
        return X
    import pandas as pd

    columns = {name: pd.Series([X[name]], index=[X.name]) for name in row.columns}
    for name, dtype in row.dtypes.items():
        # A value that does not fit the type keeps its own, as in a data frame with one more row.
        known = not hasattr(dtype, "categories") or X[name] in dtype.categories or pd.isna(X[name])
        target = dtype if known else "category"
        columns[name] = columns[name].astype(target, errors="ignore" if target is dtype else "raise")
    return pd.DataFrame(columns)


def take_rows(X: Any, rows: NDArray[np.int64] | slice) -> Any:
    """Return some rows of an array, a sparse matrix or a data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.tocsr()[rows] if sp.issparse(X) else X[rows]


def with_columns_of(X: Any, positions: list[int], donors: Any) -> Any:
    """Return a copy of X with some columns taken from ``donors``, which has as many rows."""
    if hasattr(X, "iloc"):
        out = X.copy()
        for i in positions:
            out.isetitem(i, donors.iloc[:, i].set_axis(X.index))
        return out
    if is_frame(X):
        return X.with_columns(donors[X.columns[i]] for i in positions)
    if sp.issparse(X):
        return _replace_columns(X, positions, donors.tocsc()[:, positions])
    out = X.copy()
    out[:, positions] = donors[:, positions]
    return out


def with_numbers(X: Any, position: int, numbers: NDArray[np.float64]) -> Any:
    """Return a copy of X with other numbers in one column."""
    if hasattr(X, "iloc"):
        out = X.copy()
        out.isetitem(position, numbers)
        return out
    if is_frame(X):
        name = X.columns[position]
        return X.with_columns(type(X[name])(name, numbers))
    if sp.issparse(X):
        return _replace_columns(X, [position], sp.csr_matrix(numbers[:, None]))
    out = X.astype(np.result_type(X.dtype, np.float64))
    out[:, position] = numbers
    return out


def with_values(X: Any, position: int, values: NDArray[Any]) -> Any:
    """Return a copy of X with other values in one column, which keeps its type if that can hold them.

    Numbers between integers make a column of integers one of floating-point numbers. A category that the column does
    not have raises an error.
    """
    if hasattr(X, "iloc"):
        out = X.copy()
        out.isetitem(position, _as_pandas_column(X.iloc[:, position], values))
        return out
    if is_frame(X):
        old = X[X.columns[position]]
        new = type(old)(old.name, values.tolist())
        return X.with_columns(new if new.dtype.is_float() and old.dtype.is_integer() else new.cast(old.dtype))
    if sp.issparse(X):
        # Zeros are stored: to some models an entry that is not stored is missing.
        at = np.arange(len(values))
        column = sp.csr_matrix((values.astype(np.float64), (at, np.zeros_like(at))), shape=(len(values), 1))
        return _replace_columns(X, [position], column)
    dtype = X.dtype if X.dtype.kind in ("f", "O") else np.result_type(X.dtype, values.dtype)
    out = X.astype(dtype)
    out[:, position] = values
    return out


def _as_pandas_column(column: Any, values: NDArray[Any]) -> Any:
    """Return values as a pandas column of the type of another, which has as many rows."""
    import pandas as pd

    new, dtype = pd.Series(values, index=column.index), column.dtype
    if dtype.kind in "iu":
        whole = new.dtype.kind in "iub" or bool((new == new.round()).all())
        return new.astype(dtype if whole else "float64")
    if hasattr(dtype, "categories") and (unknown := new[~(new.isin(dtype.categories) | new.isna())]).any():
        raise ValueError(
            f"{unknown.iloc[0]!r} is none of the categories of {column.name!r}: {list(dtype.categories[:20])}"
        )
    return new.astype(dtype)


def fill_columns(X: Any, positions: list[int], row: Any, *, numbers: bool) -> Any:
    """Replace some columns of X by the values in ``row``.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows. A data frame may lack the columns.
    positions : list of int
        Positions of the columns.
    row : array, sparse matrix or data frame of one row
        The values; the container may be another than that of X.
    numbers : bool
        Whether the values matter to the model or to the preprocessing. Otherwise numeric arrays and sparse matrices
        are returned unchanged, since no code reads these columns.

    Returns
    -------
    array, sparse matrix or data frame
        A new object, or X itself if nothing is replaced.
    """
    if is_frame(X):
        complete = X.shape[1] == row.shape[1]
        if not complete and not is_frame(row):
            # `fit` got no column names, so there is no way to find out which columns are absent.
            return X
        fill = _fill_pandas if hasattr(X, "iloc") else _fill_polars
        return fill(X, positions, _in_container_of(X, row), by_name=not complete)
    X = X if hasattr(X, "shape") else np.asarray(X)
    is_object = isinstance(X, np.ndarray) and X.dtype == object
    if not (numbers or is_object) or getattr(X, "shape", (0,))[1:] != row.shape[1:] or not positions:
        return X
    if sp.issparse(X):
        row = row[:, positions] if sp.issparse(row) else sp.csr_matrix(as_dense(row)[:, positions])
        return _replace_columns(X, positions, sp.csr_matrix(np.ones((X.shape[0], 1))) @ row)
    row = as_dense(row)
    X = X.astype(np.result_type(X.dtype, row.dtype))
    X[:, positions] = row[:, positions]
    return X


def _in_container_of(X: Any, row: Any) -> Any:
    """Return a row as a data frame of the library of the data frame X."""
    in_pandas = hasattr(X, "iloc")
    if not is_frame(row):
        return type(X)(as_dense(row), **{"columns" if in_pandas else "schema": list(X.columns)})
    if in_pandas == hasattr(row, "iloc"):
        return row
    return row.to_pandas() if in_pandas else type(X)(row)


def _fill_pandas(X: Any, positions: list[int], row: Any, *, by_name: bool) -> Any:
    """Replace or insert columns of a pandas data frame, by name or by position."""
    out = X.copy(deep=False)
    for i in positions:
        column = row.iloc[np.zeros(len(X), np.int64), i].set_axis(X.index)
        names, name = frame_names(out), name_of(row.columns[i])
        if not by_name:
            out.isetitem(i, column)
        elif name in names:
            out.isetitem(names.index(name), column)
        else:
            out.insert(min(i, out.shape[1]), row.columns[i], column)
    return out


def _fill_polars(X: Any, positions: list[int], row: Any, *, by_name: bool) -> Any:
    """Replace or insert columns of a polars data frame, by name or by position."""
    order = frame_names(X)
    columns = {name: X[name] for name in order}
    for i in positions:
        name = row.columns[i] if by_name else order[i]
        columns[name] = row[:, i].new_from_index(0, X.shape[0]).alias(name)
        if name not in order:
            order.insert(min(i, len(order)), name)
    return type(X)([columns[name] for name in order])


def _replace_columns(X: Any, positions: list[int], columns: Any) -> Any:
    """Return a copy of a sparse matrix with other values in some columns."""
    others = np.setdiff1d(np.arange(X.shape[1]), positions)
    order = np.argsort(np.concatenate([others, positions]), kind="stable")
    return sp.hstack([X.tocsc()[:, others], columns], format="csc")[:, order].asformat(X.format)


def as_dense(X: Any) -> NDArray[Any]:
    """Return the rows of a data frame, an array or a sparse matrix as an array."""
    return np.asarray(X.toarray() if sp.issparse(X) else X)
