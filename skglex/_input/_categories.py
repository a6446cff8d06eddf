"""One column as the model's numbers: its values, or the codes of its categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skglex._input._rows import is_frame
from skglex._input._spec import InputSpec
from skglex._leaves import Grid


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
        return _frame_values(column, X.columns[feature], known, spec)
    if known is not None and spec.by_value:
        return _category_codes(column.tolist(), known)
    return np.asarray(column, dtype=np.float64)


def _frame_values(
    column: Any, name: Any, categories: NDArray[Any] | None, spec: InputSpec
) -> NDArray[np.float64]:
    """One data-frame column as numbers; missing is NaN.

    A categorical column becomes the model's codes: by value where the model keeps the ``categories`` it was
    trained on, else the column's own codes or, by ``spec.by_value``, the numbers that its categories are. By that, a
    column that is not categorical is looked up among the ``categories``, too.
    """
    values, codes = _categorical(column)
    if codes is None:
        if categories is not None and spec.by_value:
            return _category_codes(column.to_list(), categories)
        if categories is not None:
            raise ValueError(
                f"column {name!r} is not categorical, but the model was trained on it as a categorical column "
                f"with the categories {list(categories[:5])}...: convert it to a categorical column"
            )
        return _numeric(column, name)
    # the column's own codes, before they become the model's; none is NaN
    codes = np.where(codes == spec.missing, -1, codes)
    if categories is None:
        return (
            np.append(_as_numbers(values, name), np.nan)[codes]
            if spec.by_value
            else np.where(codes < 0, np.nan, codes)
        )
    position = {value: code for code, value in enumerate(categories.tolist())}
    new = np.array([position.get(value, -1) for value in values], dtype=np.float64)
    out = np.full(len(codes), np.nan)
    known = codes >= 0
    out[known] = new[codes[known]]
    if spec.unknown_is_missing:
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


def _category_codes(values: list[Any], categories: NDArray[Any]) -> NDArray[np.float64]:
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


def is_categorical(dtype: Any) -> bool:
    """Whether a column of a pandas or polars frame is of categories, by its dtype."""
    return str(dtype).lower().startswith(("category", "categorical", "enum"))


def categories_of(X: Any, spec: InputSpec) -> Mapping[int, NDArray[Any]]:
    """Category values by code of the columns of a data frame, as far as the model keeps them."""
    if spec.frame_categories is None:
        return spec.categories
    found = [i for i, dtype in enumerate(X.dtypes) if is_categorical(dtype)]
    if len(found) != len(spec.frame_categories) or (spec.categories and found != sorted(spec.categories)):
        known = [X.columns[i] for i in sorted(spec.categories)] or len(spec.frame_categories)
        raise ValueError(
            f"X has the categorical columns {[X.columns[i] for i in found]}, but the model was trained on a data frame "
            f"whose categorical columns are {known}: convert the same columns to categorical ones"
        )
    return dict(zip(found, spec.frame_categories))


def name_categories(X: Any, spec: InputSpec, grid: Grid) -> InputSpec:
    """Name codes after the categories in X, where the model does not keep them; a code that X lacks stays as it is."""
    names = dict(spec.categories)
    for used_feature in np.flatnonzero(grid.categorical):
        feature = int(grid.features[used_feature])
        if feature in spec.encoders:
            codes, first = np.unique(column_values(X, feature, spec).astype(np.int64), return_index=True)
            names[feature] = grid.cuts_of(int(used_feature)).astype(np.int64).astype(object)
            found = np.asarray(raw_column(X, feature), dtype=object)[first]
            names[feature][codes[codes >= 0]] = found[codes >= 0]
    return replace(spec, categories=names)
