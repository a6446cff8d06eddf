"""Rows as users pass them: arrays, sparse matrices, data frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array


def is_frame(X: Any) -> bool:
    """Whether X is a data frame (pandas, polars and their like)."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def as_numpy(X: Any) -> Any:
    """Arrays of other libraries (the array API) as NumPy's; one on a GPU raises its library's TypeError."""
    other = hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray)
    return np.asarray(X) if other else X


def check_rows(X: Any, takes_objects: Callable[[], bool]) -> Any:
    """Check arrays and sparse matrices as scikit-learn does; data frames keep their columns' types.

    So do arrays of objects, where the model takes them, which is asked only then: models can be slow to say it.
    """
    X = as_numpy(X)
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise ValueError(f"X is a {type(X).__name__}, whose rows are not there yet: pass X.collect()")
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype.kind in "fiub":
        return X  # as check_array would, in the time of many look-ups
    if not is_frame(X):
        is_object = getattr(getattr(X, "dtype", None), "kind", "") == "O"
        dtype = None if is_object and takes_objects() else "numeric"
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


def with_columns_of(X: Any, positions: list[int], donors: Any) -> Any:
    """A copy of X with some columns taken from the rows of ``donors``, as many as X has."""
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
            row = row[:, positions] if sp.issparse(row) else sp.csr_matrix(as_dense(row)[:, positions])
            return _replace_columns(X, positions, sp.csr_matrix(np.ones((X.shape[0], 1))) @ row)
        row = as_dense(row)
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


def _replace_columns(X: Any, positions: list[int], columns: Any) -> Any:
    """A copy of a sparse matrix with other values in some columns."""
    others = np.setdiff1d(np.arange(X.shape[1]), positions)
    order = np.argsort(np.concatenate([others, positions]), kind="stable")
    return sp.hstack([X.tocsc()[:, others], columns], format="csc")[:, order].asformat(X.format)


def as_dense(X: Any) -> NDArray[Any]:
    """Rows of a data frame, an array or a sparse matrix as an array."""
    return np.asarray(X.toarray() if sp.issparse(X) else X)
