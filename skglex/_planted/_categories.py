"""Replace pandas categorical columns by numbers, with categories ordered by the mean of the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def _is_pandas(X: Any) -> bool:
    """Return whether X is a pandas data frame. Data frames of other libraries have no `iloc`."""
    return hasattr(X, "iloc") and hasattr(X, "dtypes")


def category_codes(X: Any) -> tuple[Any, dict[int, Any]]:
    """Replace categorical columns by their codes, or NaN; return the categories per position of a column."""
    if not _is_pandas(X):
        return X, {}
    columns = {j: X.iloc[:, j].cat for j, dtype in enumerate(X.dtypes) if hasattr(dtype, "categories")}
    if not columns:
        return X, {}
    codes = {j: np.where(cat.codes < 0, np.nan, cat.codes) for j, cat in columns.items()}
    return _with_columns(X, codes), {j: cat.categories for j, cat in columns.items()}


def _with_columns(X: Any, columns: dict[int, NDArray[np.float64]]) -> Any:
    """Return X with some columns replaced; all other columns are shared, not copied."""
    X = X.copy(deep=False)
    for j, values in columns.items():
        X.isetitem(j, values)
    return X


def order_by_target(
    codes: NDArray[np.float64], target: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return the codes that occur, ordered by their mean target.

    With several target columns, the means are projected on their first principal component [1]_.

    .. [1] D. Coppersmith, S. J. Hong, J. R. M. Hosking, "Partitioning nominal attributes in decision trees",
       Data Mining and Knowledge Discovery 3, 1999.
    """
    counted = ~np.isnan(codes) & (weight > 0)
    present, inverse = np.unique(codes[counted].astype(np.intp), return_inverse=True)
    total = np.bincount(inverse, weight[counted], minlength=len(present))
    sums = [np.bincount(inverse, weight[counted] * t, minlength=len(present)) for t in target[counted].T]
    means: NDArray[np.float64] = np.column_stack(sums) / total[:, None]
    if means.shape[1] > 1 and len(present) > 1:
        centred = means - np.average(means, axis=0, weights=total)
        _, _, directions = np.linalg.svd(centred * np.sqrt(total)[:, None], full_matrices=False)
        means = centred @ directions[0] * np.sign(directions[0][np.argmax(np.abs(directions[0]))])
    return present[np.argsort(means.ravel(), kind="stable")]


def ranks(codes: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Replace each code by its position in ``order``, or by NaN if it is not there."""
    out = np.full(codes.shape, np.nan)
    for rank, code in enumerate(order):
        out[codes == code] = rank
    return out


def encode_categories(X: Any, categories: dict[int, Any]) -> Any:
    """Replace categorical columns by the positions of their values in ``categories``.

    A value that is missing or not in ``categories`` becomes NaN.
    """
    if not categories:
        return X
    if not _is_pandas(X):
        raise ValueError(
            f"The forest was fitted on a data frame whose columns {sorted(categories)} are categorical, but X is "
            f"of type {type(X).__name__}. Pass a pandas data frame with the same columns, or encode the categories "
            "as numbers before fitting."
        )
    columns = {}
    for j, names in categories.items():
        # The validation that follows reports a wrong number of columns.
        if j < X.shape[1]:
            position = names.get_indexer(X.iloc[:, j].astype(object))
            columns[j] = np.where(position < 0, np.nan, position)
    return _with_columns(X, columns)
