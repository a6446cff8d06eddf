"""Pack one row of a data frame into plain values, and unpack it."""

import decimal

import numpy as np
import pandas as pd
import pytest

from skglex._input import pack_row, unpack_row

COLUMNS = {
    "number": [1.5],
    "missing": [np.nan],
    "integer": pd.array([3], dtype="Int64"),
    "no integer": pd.array([pd.NA], dtype="Int64"),
    "boolean": pd.array([True], dtype="boolean"),
    "text": ["a"],
    "string": pd.array([None], dtype="string"),
    "object": pd.Series(["a"], dtype=object),
    "none": pd.Series([None], dtype=object),
    "date": pd.to_datetime(["2020-02-03 04:05:06.000007"]),
    "zone": pd.date_range("2020", periods=1, tz="Europe/Berlin"),
    "no date": pd.to_datetime([None]),
    "period": pd.period_range("2020", periods=1, freq="M"),
    "duration": pd.to_timedelta(["1s"]),
    "categories": pd.Categorical(["b"], categories=["c", "b"], ordered=True),
    "no category": pd.Categorical([None], categories=["c", "b"]),
    "numbers as categories": pd.Categorical([2], categories=[3, 2]),
    "dates as categories": pd.Categorical(pd.to_datetime(["2020"])),
    # These stay columns of pandas, which pickle can save.
    "interval": pd.arrays.IntervalArray.from_breaks([0, 1]),
    "decimal": pd.Series([decimal.Decimal("1.1")]),
}


def test_pandas_row():
    row = pd.DataFrame(COLUMNS)
    kept = {name for name, column in zip(row, pack_row(row)[2]) if not isinstance(column, tuple)}
    assert kept == {"interval", "decimal"}
    pd.testing.assert_frame_equal(unpack_row(pack_row(row)), row)


@pytest.mark.parametrize("names", [[3, 1], ["a", 1], pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])])
def test_names_of_columns(names):
    row = pd.DataFrame([[1.0, 2.0]], columns=names)
    pd.testing.assert_frame_equal(unpack_row(pack_row(row)), row)


def test_polars_row():
    pl = pytest.importorskip("polars")
    row = pl.DataFrame(
        {"number": [1.5], "null": [None], "day": [pd.Timestamp("2020")], "list": [[1, 2]]}
    ).with_columns(
        level=pl.Series(["b"], dtype=pl.Enum(["c", "b"])), kind=pl.Series(["x"], dtype=pl.Categorical)
    )
    again = unpack_row(pack_row(row))
    assert again.schema == row.schema
    assert again.equals(row)


def test_arrays_stay_as_they_are():
    row = np.zeros((1, 3))
    assert pack_row(row) is row
    assert unpack_row(row) is row
