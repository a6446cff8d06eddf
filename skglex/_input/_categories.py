"""Convert one column to the model's numbers: its values, or the codes of its categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from skglex._input._rows import frame_names, is_frame
from skglex._input._spec import InputSpec
from skglex._leaves import Grid
from skglex._utils import suggest


def raw_column(X: Any, feature: int) -> Any:
    """Return one column unchanged: a series from a data frame, else an array."""
    # Use the position: if the model was trained on an array, two columns of the data frame may have the same name.
    if hasattr(X, "iloc"):
        return X.iloc[:, feature]
    if is_frame(X):
        return X[X.columns[feature]]
    column = X[:, [feature]]
    return (column.toarray() if sp.issparse(column) else column).ravel()


def named_column(X: Any, name: str, parameter: str) -> Any:
    """Return the column of a data frame that a parameter names; raise if there is none."""
    names = frame_names(X) if is_frame(X) else []
    if name not in names:
        known = suggest(name, names, "columns") if names else f"X is a {type(X).__name__} without names"
        raise ValueError(f"{parameter}={name!r} is no column of X. {known}")
    return raw_column(X, names.index(name))


def is_text(column: Any) -> bool:
    """Return whether a column holds categories, or at least one text."""
    if categories_and_codes(column)[1] is not None:
        return True
    values = np.asarray(column)
    return values.dtype.kind in "UST" or (
        values.dtype.kind == "O" and any(isinstance(value, str) for value in values)
    )


def column_values(X: Any, feature: int, spec: InputSpec) -> NDArray[np.float64]:
    """Return one column as the model's numbers: values, or codes of categories; missing values are NaN."""
    column, categories = raw_column(X, feature), spec.categories.get(feature)
    if feature in spec.encoders:
        return spec.encoders[feature](column)
    if categories is not None and spec.by_value:
        return _category_codes(column, categories)
    if is_frame(X):
        return _frame_values(column, X.columns[feature], categories, spec)
    return np.asarray(column, dtype=np.float64)


def _frame_values(
    column: Any, name: Any, categories: NDArray[Any] | None, spec: InputSpec
) -> NDArray[np.float64]:
    """Return a data-frame column as numbers; missing values are NaN.

    A categorical column becomes codes of the model. If the model stores the ``categories`` of its training data, each
    value is looked up there. Otherwise the codes of the column are used or, with ``spec.by_value``, its categories
    converted to numbers.
    """
    values, codes = categories_and_codes(column)
    if codes is None:
        if categories is not None:
            raise ValueError(
                f"column {name!r} is not categorical, but the model was trained on a categorical column "
                f"with the categories {list(categories[:5])}... Convert it to a categorical column"
            )
        return _numeric(column, name)
    # The model compares `missing` with the codes of the data frame, before it maps them to its own codes.
    codes = np.where(codes == spec.missing, -1, codes)
    if categories is None:
        return (
            np.append(_as_numbers(values, name), np.nan)[codes]
            if spec.by_value
            else np.where(codes < 0, np.nan, codes)
        )
    position = {value: code for code, value in enumerate(categories.tolist())}
    model_codes = np.array([position.get(value, -1) for value in values], dtype=np.float64)
    out = np.full(len(codes), np.nan)
    present = codes >= 0
    out[present] = model_codes[codes[present]]
    if spec.unknown_is_missing:
        out[out == -1] = np.nan
    if (out == -1).any():
        unseen = sorted({str(values[c]) for c in codes[present][out[present] == -1]})
        raise ValueError(
            f"column {name!r} has categories that the model was not trained on: {unseen[:5]}. The model was trained "
            f"on {list(categories[:10])}. Replace the other categories, or set them to missing"
        )
    return out


def categories_and_codes(column: Any) -> tuple[list[Any], NDArray[np.int64] | None]:
    """Return the values and the codes (-1: missing) of a categorical pandas or polars column, else [] and None."""
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):
        return column.cat.categories.tolist(), np.asarray(column.cat.codes, dtype=np.int64)
    if str(column.dtype).startswith(("Categorical", "Enum")):  # polars
        strings = column.cast(str).to_list()
        # Only an Enum defines the order of its categories. The codes of a Categorical depend on the other columns
        # of the process, so its categories are sorted.
        enum = getattr(column.dtype, "categories", None) if str(column.dtype).startswith("Enum") else None
        values = sorted({s for s in strings if s is not None}) if enum is None else list(enum)
        position = {value: code for code, value in enumerate(values)}
        return values, np.array([position.get(s, -1) for s in strings], dtype=np.int64)
    return [], None


def _numeric(column: Any, name: Any) -> NDArray[np.float64]:
    """Return a column as numbers. Objects that are numbers are converted, but columns of strings or dates are not."""
    dtype = str(column.dtype)
    try:
        if hasattr(column, "isna"):  # pandas
            if column.dtype.kind in "USTMm" or dtype.startswith("str"):
                raise TypeError
            if column.dtype.kind == "O":
                return np.asarray(column.to_numpy(dtype=object, na_value=np.nan).astype(np.float64))
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        if dtype == "Object":
            return np.array(column.to_list(), dtype=np.float64)
        if not (column.dtype.is_numeric() or dtype == "Boolean"):
            raise TypeError
        from_polars: NDArray[np.float64] = column.cast(float).to_numpy()
        return from_polars
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"could not convert column {name!r} of dtype {dtype} to float. Convert it to numbers, or to a "
            "categorical column (pandas 'category') if the model was trained on one"
        ) from error


def _category_codes(column: Any, categories: NDArray[Any]) -> NDArray[np.float64]:
    """Return the positions of a column's values in the categories; NaN for a value that is not a category.

    scikit-learn converts the column. A missing value becomes None in some containers and NaN in others, and only None
    can be a category.
    """
    values = check_array(column, ensure_2d=False, dtype=None, ensure_all_finite=False)
    position = {value: float(code) for code, value in enumerate(_scalars(categories))}
    return np.array([position.get(value, np.nan) for value in _scalars(values)])


def _scalars(values: NDArray[Any]) -> list[Any]:
    # Dates stay NumPy's, since `tolist` returns integers for some of their units.
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def _as_numbers(values: list[Any], name: Any) -> NDArray[np.float64]:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name!r} has the categories {values[:5]}, but the model expects numbers. Encode the categories, "
            "for example in a pipeline that ends in the model"
        ) from error


def is_categorical(dtype: Any) -> bool:
    """Return whether the dtype of a pandas or polars column is categorical."""
    return str(dtype).lower().startswith(("category", "categorical", "enum"))


def categories_of(X: Any, spec: InputSpec) -> Mapping[int, NDArray[Any]]:
    """Return the categories of the columns of a data frame in the order of their codes, if the model stores them."""
    if spec.frame_categories is None:
        return spec.categories
    positions = [i for i, dtype in enumerate(X.dtypes) if is_categorical(dtype)]
    n_expected = len(spec.frame_categories)
    if len(positions) != n_expected or (spec.categories and positions != sorted(spec.categories)):
        expected = f"{n_expected} categorical columns"
        if spec.categories:
            expected = f"the categorical columns {[X.columns[i] for i in sorted(spec.categories)]}"
        raise ValueError(
            f"X has the categorical columns {[X.columns[i] for i in positions]}, but the model was trained on a data "
            f"frame with {expected}. Convert the same columns to categorical columns"
        )
    return dict(zip(positions, spec.frame_categories))


def name_categories(X: Any, spec: InputSpec, grid: Grid) -> InputSpec:
    """Add the names of categories that the model does not store, taken from X; codes that X lacks remain numbers."""
    names = dict(spec.categories)
    for used_feature in np.flatnonzero(grid.categorical):
        feature = int(grid.features[used_feature])
        if feature in spec.encoders:
            codes, first = np.unique(column_values(X, feature, spec).astype(np.int64), return_index=True)
            # A code that no split lists is the code of any other category, but it has a name too.
            largest = max(codes.max(initial=-1), grid.cuts_of(int(used_feature)).max(initial=-1))
            names[feature] = np.arange(int(largest) + 1).astype(object)
            values = np.asarray(raw_column(X, feature), dtype=object)[first]
            names[feature][codes[codes >= 0]] = values[codes >= 0]
    return replace(spec, categories=names)
