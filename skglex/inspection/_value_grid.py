"""Choose the values at which partial dependence is computed, as scikit-learn does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats.mstats import mquantiles

from skglex._input import categories_and_codes, raw_column
from skglex._utils import suggest


def column_names_of(given: Any, names: list[str]) -> list[str]:
    """Return the names that a user gives the columns; None: those that they have."""
    if given is None:
        return names
    found = [str(name) for name in given]
    if len(found) != len(names) or len(set(found)) < len(found):
        raise ValueError(
            f"feature_names must be one name for each of the {len(names)} columns, each once; got {found}"
        )
    return found


def column_positions(features: Any, names: list[str], labels: Any) -> list[int]:
    """Return the positions of columns that a user names by position, by name or by a mask.

    Parameters
    ----------
    features : int, str, or array-like of int, str or bool
    names : list of str
        The names of the columns that the user passed, or those of the data frame.
    labels : list
        The labels of the data frame, which are found too; empty for an array.
    """
    items: list[Any] = [features] if isinstance(features, (str, int, np.integer)) else list(features)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != len(names):
            raise ValueError(f"features is a mask of length {len(items)}, but X has {len(names)} columns")
        items = np.flatnonzero(items).tolist()
    out = []
    for item in items:
        if isinstance(item, str):
            known = names if item in names else [str(label) for label in labels]
            if item not in known:
                raise ValueError(
                    f"features contains {item!r}, which is no column of X. {suggest(item, known, 'columns')}"
                )
            out.append(known.index(item))
        elif isinstance(item, (int, np.integer)) and 0 <= item < len(names):
            out.append(int(item))
        else:
            raise ValueError(
                f"all features must be in [0, {len(names) - 1}], or names of columns; got {item!r}"
            )
    if not out or len(set(out)) < len(out):
        raise ValueError(f"features must name at least one column, and each once; got {features!r}")
    return out


def categorical_columns(
    categorical: Any, names: list[str], positions: Sequence[int], known: list[bool]
) -> list[bool]:
    """Return which of the columns a user marks as categorical, by position, by name or by a mask of all columns.

    Without marks it is those that are ``known`` to be.
    """
    if categorical is None:
        return known
    given = np.asarray(categorical)
    if not given.size:
        raise ValueError("categorical_features is empty. Pass None if there are no categorical features")
    if given.dtype.kind not in "biOU":
        raise ValueError(
            f"categorical_features must be a mask, positions or names; got an array of dtype {given.dtype}"
        )
    if given.dtype.kind == "b":
        if given.size != len(names):
            raise ValueError(
                f"categorical_features is a mask of {given.size} elements, but X has {len(names)} columns. Pass one "
                "boolean per column"
            )
        return [bool(given[position]) for position in positions]
    chosen = set()
    for item in given.tolist():
        if isinstance(item, str) and item not in names:
            raise ValueError(
                f"categorical_features contains {item!r}, which is no column of X. {suggest(item, names, 'columns')}"
            )
        chosen.add(names.index(item) if isinstance(item, str) else item)
    return [position in chosen for position in positions]


def check_percentiles(percentiles: Any, grid_resolution: Any) -> None:
    """Raise unless a grid can be made."""
    if not isinstance(percentiles, Iterable) or len(pair := list(percentiles)) != 2:
        raise ValueError(f"percentiles must be a sequence of 2 elements; got {percentiles!r}")
    if not all(0 <= share <= 1 for share in pair) or pair[0] >= pair[1]:
        raise ValueError(f"percentiles must be two increasing numbers in [0, 1]; got {percentiles!r}")
    if not isinstance(grid_resolution, (int, np.integer)) or grid_resolution <= 1:
        raise ValueError(f"grid_resolution must be an integer greater than 1; got {grid_resolution!r}")


def grid_values(
    X: Any,
    position: int,
    *,
    categorical: bool,
    custom: Any,
    percentiles: Any,
    grid_resolution: int,
) -> NDArray[Any]:
    """Return the values of one column at which partial dependence is computed.

    They are the user's, or all values of the column if they are categories or few, or equally spaced between two
    percentiles. Missing values do not count for percentiles.
    """
    if custom is not None:
        values = np.asarray(custom, dtype=object if any(isinstance(v, str) for v in custom) else None)
        if values.ndim != 1:
            raise ValueError(f"custom_values of a feature must have one dimension; got {values.ndim}")
        return values
    column = as_array(raw_column(X, position))
    distinct = _distinct(column, position)
    if categorical or len(distinct) < grid_resolution:
        return distinct
    if column.dtype.kind == "O":
        column = column.astype(np.float64)
    ends = mquantiles(column[column == column], prob=percentiles)
    if np.allclose(ends[0], ends[1]):
        raise ValueError(
            f"percentiles={percentiles!r} of column {position} are both {ends[0]:g}, so there is no grid between them. "
            "Choose percentiles that are further apart, or pass custom_values"
        )
    return np.linspace(ends[0], ends[1], num=grid_resolution)


def _distinct(column: NDArray[Any], position: int) -> NDArray[Any]:
    """Return the distinct values of a column, sorted. Among strings, missing values are left out."""
    try:
        return np.unique(column)
    except TypeError:
        known = np.array([value is not None and value == value for value in column.tolist()])
    try:
        return np.unique(column[known])
    except TypeError as error:
        raise ValueError(
            f"column {position} of X mixes types, so its values have no order. Pass them as custom_values"
        ) from error


def as_array(column: Any) -> NDArray[Any]:
    """Return a column as an array; numbers of pandas' own types become floating-point numbers, with NaN if missing."""
    _, codes = categories_and_codes(column)
    if codes is not None:
        values = np.asarray(column.to_list() if hasattr(column, "to_list") else column, dtype=object)
        return values
    dtype = column.dtype
    if hasattr(column, "iloc") and not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "O") in "iufb":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column)
