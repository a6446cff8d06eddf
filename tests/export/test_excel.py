"""Read workbooks back, cell by cell, and predict from them alone."""

import sys

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose

from skglex import ComponentModel
from skglex.components import OTHER
from skglex.export import save_excel
from skglex.export._excel import MISSING
from tests.export.shipped_models import F_SIGNAL, FRAME, N_ROWS, fit, shipped
from tests.export.test_tables import SUMS, as_named, cells_along

openpyxl = pytest.importorskip("openpyxl")


def labels_of(cells, categorical):
    """Return the labels of an axis, as `to_tables` has them, from its cells in the workbook."""
    if categorical:
        return [np.nan if a == MISSING else a for (a,) in cells]
    bounds = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in cells[:-1]]
    assert cells[-1][0] == MISSING
    return [*(pd.Interval(a, b, closed="left") for a, b in bounds), np.nan]


def is_category(title):
    return not title.endswith((" from", " to"))


def read_list(rows, n_outputs):
    """Return the features, the labels and the values of a sheet with a row per cell."""
    titles = [title for title in rows[0] if title is not None]
    values_at = next(i for i, title in enumerate(titles) if title.endswith(("points", "relativity")))
    (title, *_) = titles[:values_at]
    cells = [row[:values_at] for row in rows[1:]]
    values = np.array([row[values_at : values_at + n_outputs] for row in rows[1:]], dtype=float)
    name = title if is_category(title) else title.removesuffix(" from")
    return [name], [labels_of(cells, is_category(title))], values


def read_matrix(rows, n_outputs):
    """Return the same for a sheet with a matrix for each output."""
    ends = [i for i, row in enumerate(rows) if all(cell is None for cell in row)]
    blocks = [rows[a + 1 : b] for a, b in zip([-1, *ends], [*ends, len(rows)])][:n_outputs]
    values = []
    for block in blocks:
        title = next(cell for cell in block[1] if cell is not None)
        height = 1 if is_category(title) else 2
        first = block[1 + height][0]
        width = 1 if is_category(first) else 2
        beside = list(zip(*(row[width:] for row in block[1 : 1 + height])))
        below = [row[:width] for row in block[2 + height :]]
        values.append([row[width:] for row in block[2 + height :]])
    names = [name.removesuffix(" from") for name in (first, title)]
    labels = [labels_of(below, width == 1), labels_of(beside, height == 1)]
    return names, labels, np.moveaxis(np.array(values, dtype=float), 0, -1).reshape(-1, n_outputs)


def predict_from(path, model, rows, n_outputs):
    """Return the numbers of every cell that a row is in, one array per sheet, and those of the first sheet."""
    book = openpyxl.load_workbook(path)
    sheets = {sheet.title: [[cell.value for cell in row] for row in sheet.iter_rows()] for sheet in book}
    first, names = sheets.pop("Model"), model._fitted.feature_names
    (start,) = [row[1 : 1 + n_outputs] for row in first if row[0] in ("intercept", "base value")]
    found = [np.broadcast_to(np.array(start, dtype=float), (N_ROWS, n_outputs))]
    for sheet in sheets.values():
        is_matrix = sheet[0][1:] == [None] * (len(sheet[0]) - 1)
        features, labels, values = (read_matrix if is_matrix else read_list)(sheet, n_outputs)
        columns = [rows.iloc[:, names.index(name)] for name in features]
        cells = [cells_along(axis, column, model) for axis, column in zip(labels, columns)]
        found.append(values[np.ravel_multi_index(cells, [len(axis) for axis in labels])])
    return found


@pytest.mark.parametrize("name", ["xgboost", "outputs", "codes", "lightgbm", "forest"])
def test_workbook_has_the_predictions(name, tmp_path):
    model, rows, margin = shipped(name)
    save_excel(model, tmp_path / "points.xlsx")
    found = predict_from(tmp_path / "points.xlsx", model, as_named(model, rows), margin.shape[1])
    assert len(found) == 1 + len(model._kept.terms)
    assert_allclose(np.sum(found, axis=0), margin, **SUMS)


def test_price_list(tmp_path):
    model, rows, _ = shipped("counts")
    save_excel(model, tmp_path / "prices.xlsx", scale="relativities")
    found = predict_from(tmp_path / "prices.xlsx", model, pd.DataFrame(rows), 1)
    assert_allclose(np.prod(found, axis=0)[:, 0], model.predict(rows), rtol=1e-9)


def test_names_that_excel_forbids(tmp_path):
    """Sheets have short, distinct titles; a category that looks like a formula is a text."""
    names = {"age": "a" * 40, "hours per week": "a" * 40 + "b", "a'b": "[x]:*?/\\'", "job": "job"}
    rows = FRAME[list(names)].astype({"job": object})
    rows["job"] = ("=" + rows["job"]).astype("category")
    estimator = xgb.XGBRegressor(n_estimators=6, max_depth=2, enable_categorical=True)
    columns = rows.set_axis(["a" * 40, "a" * 40 + "b", "x:*?/\\'", "job"], axis=1)
    model = ComponentModel(estimator.fit(columns, F_SIGNAL)).fit(columns)
    save_excel(model, tmp_path / "points.xlsx")
    book = openpyxl.load_workbook(tmp_path / "points.xlsx")
    assert len(book.sheetnames) == 1 + len(model._kept.terms)
    assert max(map(len, book.sheetnames)) <= 31
    (sheet,) = [sheet for sheet in book if sheet["A1"].value == "job"]
    cells = [cell for (cell,) in sheet["A2:A9"] if cell.value is not None]
    assert {cell.data_type for cell in cells} == {"s"}
    assert cells[0].value.startswith("=")
    assert [cell.value for cell in cells[-2:]] == [OTHER, MISSING]


def test_what_is_no_workbook(tmp_path, monkeypatch):
    model = fit("counts")
    with pytest.raises(ValueError, match=r"Use the suffix '\.xlsx', as in 'points\.xlsx'"):
        save_excel(model, tmp_path / "points.csv")
    monkeypatch.setattr("skglex.export._excel._MOST_ROWS", 3)
    with pytest.raises(
        ValueError, match=r"the sheet '.*' would have .* rows and .* columns, but Excel has at most 3"
    ):
        save_excel(model, tmp_path / "points.xlsx")
    monkeypatch.setattr("skglex.export._excel.budgets.excel_cells", 3)
    with pytest.raises(ValueError, match="more than the 3 that save_excel writes"):
        save_excel(model, tmp_path / "points.xlsx")


@pytest.mark.parametrize(
    ("library", "extra", "write"),
    [
        ("openpyxl", "excel", lambda model: model.save_excel("points.xlsx")),
        ("sqlglot.expressions", "sql", lambda model: model.to_sql(dialect="duckdb")),
    ],
)
def test_optional_libraries(monkeypatch, library, extra, write):
    model = fit("counts")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"pip install 'skglex\[{extra}\]'"):
        write(model)
