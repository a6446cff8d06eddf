"""Save one row of a data frame, and an index of pandas, as plain values: skops can write neither."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np

from skglex._input._rows import is_frame


def pack_row(row: Any) -> Any:
    """Return a row in a form that any format can save: a data frame as a tuple, anything else unchanged."""
    if hasattr(row, "iloc"):
        names = [_plain(name) for name in row.columns]
        return "pandas", names, [_pack_column(row.iloc[:, i]) for i in range(row.shape[1])]
    if is_frame(row) and hasattr(row, "write_ipc"):
        file = BytesIO()
        row.write_ipc(file)
        return "polars", file.getvalue()
    return row


def unpack_row(packed: Any) -> Any:
    """Return the row that `pack_row` packed."""
    if not isinstance(packed, tuple):
        return packed
    container, *content = packed
    if container == "polars":
        import polars as pl

        return pl.read_ipc(BytesIO(content[0]))
    import pandas as pd

    names, columns = content
    row = pd.concat([_unpack_column(column) for column in columns], axis=1)
    row.columns = pd.Index(names, tupleize_cols=True)
    return row


def pack_index(index: Any) -> Any:
    """Return an index of pandas as its dtype and its values; unchanged if they do not define it."""
    packed = str(index.dtype), [_plain(value) for value in index]
    try:
        same = index.equals(unpack_index(packed))
    except (TypeError, ValueError):
        same = False
    return packed if same else index


def unpack_index(packed: Any) -> Any:
    """Return the index that `pack_index` packed."""
    import pandas as pd

    return pd.Index(packed[1], dtype=packed[0]) if isinstance(packed, tuple) else packed


def _pack_column(column: Any) -> Any:
    """Return a pandas column of one value as its dtype and its value; unchanged if they do not define it."""
    dtype: Any = str(column.dtype)
    if dtype == "category":
        dtype = pack_index(column.cat.categories), bool(column.cat.ordered)
    packed = dtype, _plain(column.iloc[0])
    try:
        same = column.reset_index(drop=True).equals(_unpack_column(packed))
    except (TypeError, ValueError):
        same = False
    return packed if same else column.reset_index(drop=True)


def _unpack_column(packed: Any) -> Any:
    import pandas as pd

    if not isinstance(packed, tuple):
        return packed
    dtype, value = packed
    if isinstance(dtype, tuple):
        categories, ordered = dtype
        values = unpack_index(categories)
        value = None if value is None else values[list(map(_plain, values)).index(value)]
        dtype = pd.CategoricalDtype(values, ordered=ordered)
    return pd.Series([value], dtype=dtype)


def _plain(value: Any) -> Any:
    """Return a value as Python's own type, a missing one as None, and others (dates, intervals) as a string."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return value
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, float):
        return None if np.isnan(value) else value
    return None if str(value) in ("<NA>", "NaT") else str(value)
