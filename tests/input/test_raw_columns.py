"""Compare columns value by value."""

import numpy as np
import pandas as pd
import pytest

from skglex._input._raw_columns import _same


@pytest.mark.parametrize("kind", [object, float])
def test_columns_are_the_same_value_by_value(kind):
    column = np.array([1.0, np.nan, 2.0], dtype=kind)
    assert _same(column, column.copy())
    for row, value in enumerate([np.nan, 1.0, 3.0]):
        other = column.copy()
        other[row] = value
        assert not _same(column, other)
        assert not _same(other, column)
    assert not _same(column, np.array([1.0, np.nan, "2"], dtype=object))


def test_pandas_na_is_the_same_as_itself_only():
    column = np.array(["a", pd.NA, "b"], dtype=object)
    assert _same(column, column.copy())
    for value in ("a", None, np.nan):
        assert not _same(column, np.array(["a", value, "b"], dtype=object))
