"""Categorical columns as numbers: categories ordered by the mean of the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "dtypes")


def category_codes(X: Any) -> tuple[Any, dict[int, Any]]:
    """Replace pandas categorical columns by their codes (NaN: missing); return the categories by position."""
    if not _is_pandas(X):
        return X, {}
    found = {j: X.iloc[:, j].cat for j, dtype in enumerate(X.dtypes) if hasattr(dtype, "categories")}
    if not found:
        return X, {}
    codes = {j: np.where(cat.codes < 0, np.nan, cat.codes) for j, cat in found.items()}
    return _with_columns(X, codes), {j: cat.categories for j, cat in found.items()}


def _with_columns(X: Any, columns: dict[int, NDArray[np.float64]]) -> Any:
    X = X.copy(deep=False)
    for j, values in columns.items():
        X.isetitem(j, values)
    return X


def order_by_target(
    codes: NDArray[np.float64], target: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Order the categories that occur by their mean target.

    With several outputs the means are projected on their first principal component [1]_.

    .. [1] D. Coppersmith, S. J. Hong, J. R. M. Hosking, "Partitioning nominal attributes in decision trees",
       Data Mining and Knowledge Discovery 3, 1999.
    """
    known = ~np.isnan(codes) & (weight > 0)
    present, inverse = np.unique(codes[known].astype(np.intp), return_inverse=True)
    total = np.bincount(inverse, weight[known], minlength=len(present))
    sums = [np.bincount(inverse, weight[known] * t, minlength=len(present)) for t in target[known].T]
    means: NDArray[np.float64] = np.column_stack(sums) / total[:, None]
    if means.shape[1] > 1 and len(present) > 1:
        centred = means - np.average(means, axis=0, weights=total)
        _, _, directions = np.linalg.svd(centred * np.sqrt(total)[:, None], full_matrices=False)
        means = centred @ directions[0] * np.sign(directions[0][np.argmax(np.abs(directions[0]))])
    return present[np.argsort(means.ravel(), kind="stable")]


def ranks(codes: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Replace each code by its place in ``order``, NaN if it has none."""
    out = np.full(codes.shape, np.nan)
    for rank, code in enumerate(order):
        out[codes == code] = rank
    return out


def encode_categories(X: Any, categories: dict[int, Any]) -> Any:
    """Replace the columns in ``categories`` by the places of their values there; NaN if they have none."""
    if not categories:
        return X
    if not _is_pandas(X):
        raise ValueError(
            f"This forest was fitted on a data frame whose columns {sorted(categories)} are categorical, "
            f"but got {type(X).__name__}. Pass a pandas data frame with the same columns, or encode the "
            "categories as numbers before fitting."
        )
    columns = {}
    for j, known in categories.items():
        if j < X.shape[1]:  # A wrong number of columns is reported by the validation that follows.
            place = known.get_indexer(X.iloc[:, j].astype(object))
            columns[j] = np.where(place < 0, np.nan, place)
    return _with_columns(X, columns)
