"""Statements that run in DuckDB and SQLite return the predictions of the model."""

import re
import sqlite3
from contextlib import closing

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import GradientBoostingRegressor

from skglex import ComponentModel, GlexDecomposer
from skglex._response import _INVERSE, Response
from skglex.export import load_components, save_components, to_sql
from skglex.export._sql import DIALECTS
from skglex.export._sql_outputs import output_columns
from tests.export.shipped_models import ESTIMATORS, F_SIGNAL, FRAME, LGB, N_ROWS, SIGNAL, X, fit, shipped

sqlglot = pytest.importorskip("sqlglot")
duckdb = pytest.importorskip("duckdb")
# The points are summed in another order than in the package.
SUMS = {"rtol": 0, "atol": 1e-9}


def as_table(rows):
    """Return rows as a table of a database: with names, and with texts for categories."""
    if not isinstance(rows, pd.DataFrame):
        rows = pd.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])
    texts = [c for c in rows if not pd.api.types.is_numeric_dtype(rows[c])]
    return rows.astype(dict.fromkeys(texts, object)).assign(id=np.arange(len(rows)))


def run_duckdb(statement, rows):
    with duckdb.connect() as connection:
        connection.register("frame", as_table(rows))
        connection.execute("CREATE TABLE data AS SELECT * FROM frame")
        return connection.execute(statement).df().sort_values("id")


def run_sqlite(statement, rows):
    with closing(sqlite3.connect(":memory:")) as connection:
        as_table(rows).to_sql("data", connection, index=False)
        for name, function in (("EXP", np.exp), ("LN", np.log)):
            # Some builds of SQLite have no mathematical functions.
            connection.create_function(name, 1, lambda x, f=function: None if x is None else float(f(x)))
        return pd.read_sql_query(statement, connection).sort_values("id")


RUN = {"duckdb": run_duckdb, "sqlite": run_sqlite}


def columns(table, name):
    """Return the columns of an output, one per label."""
    return table[[c for c in table if c == name or c.endswith(f"__{name}")]].to_numpy()


@pytest.mark.parametrize("dialect", RUN)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_predictions(name, dialect):
    model, rows, margin = shipped(name)
    table = RUN[dialect](to_sql(model, dialect=dialect, keep=["id"]), rows)
    assert_array_equal(table["id"], np.arange(N_ROWS))
    assert_allclose(columns(table, "margin").astype(float), margin, **SUMS)
    expected = model.predict(rows)
    if not hasattr(model, "classes_"):
        assert_allclose(columns(table, "prediction").astype(float), expected.reshape(N_ROWS, -1), rtol=1e-9)
        return
    probabilities = columns(table, "probability").astype(float)
    assert_allclose(probabilities, model.predict_proba(rows)[:, -probabilities.shape[1] :], **SUMS)
    assert_array_equal(table["prediction"].to_numpy().astype(expected.dtype), expected)


@pytest.mark.parametrize("dialect", RUN)
def test_refused_rows_have_no_prediction(dialect):
    """XGBoost refuses categories of data frames that it has never seen, forests infinity, others missing values too."""
    rows = FRAME.iloc[:3].assign(job=["u", "unseen", None])
    table = RUN[dialect](to_sql(fit("xgboost"), dialect=dialect), rows)
    assert table["margin"].isna().tolist() == table["prediction"].isna().tolist() == [False, True, False]
    rows = np.array([[0.0, 0, 0, 0], [np.nan, 0, 0, 0], [np.inf, 0, 0, 0], [-1e39, 0, 0, 0]])
    table = RUN[dialect](to_sql(fit("forest"), dialect=dialect), rows)
    for name in ("low__margin", "mid__probability", "prediction"):
        assert table[name].isna().tolist() == [False, False, True, True]
    strict = GradientBoostingRegressor(n_estimators=3, max_depth=2).fit(X[:, 3:], SIGNAL)
    table = RUN[dialect](to_sql(ComponentModel(strict).fit(X[:, 3:]), dialect=dialect), rows[:, :1])
    assert table["margin"].isna().tolist() == [False, True, True, True]


def test_names_of_tables_and_columns():
    model = fit("xgboost")
    names = {"age": 'the "age"', "job": "JOB"}
    rows = FRAME.rename(columns=names).astype({"JOB": object})
    statement = to_sql(
        model, dialect="duckdb", table='mine."points_1"', columns=names, keep=["JOB", "margin"]
    )
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA mine")
        connection.register("frame", as_table(rows).assign(margin=np.arange(len(rows))))
        connection.execute('CREATE TABLE mine."points_1" AS SELECT * FROM frame')
        found = connection.execute(statement).fetchall()
    assert len(found) == len(rows)
    with pytest.raises(ValueError, match=r"columns has the unknown feature 'wage'\. Did you mean 'age'\?"):
        to_sql(model, dialect="duckdb", columns={"wage": "w"})
    with pytest.raises(ValueError, match=r"dialect must be one of 'bigquery', .* got 'oracle'"):
        to_sql(model, dialect="oracle")


def test_all_columns_are_kept():
    table = run_duckdb(to_sql(fit("counts"), dialect="duckdb"), X)
    assert list(table) == ["x0", "x1", "x2", "x3", "id", "margin", "prediction"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["classes", "codes", "isolation"])
def test_dialects(name, dialect):
    """Sqlglot reads every statement again; nothing in it is of another dialect."""
    statement = to_sql(shipped(name).model, dialect=dialect)
    parsed = sqlglot.parse(statement, dialect=dialect)
    assert len(parsed) == 1
    quote = {"bigquery": "`", "tsql": "["}.get(dialect, '"')
    assert f"{quote}margin" in statement or "__margin" in statement
    assert ("UNNEST" in statement) == (dialect == "bigquery")
    assert ("MATERIALIZED" in statement) == (dialect in ("postgres", "sqlite"))
    if dialect == "tsql":
        assert "Latin1_General_BIN2" in statement or name != "classes"
        assert not re.search(r"\b(LN|GREATEST_IGNORE_NULLS|LIMIT)\b", statement)


def test_decomposers_and_stored_components(tmp_path):
    model = xgb.XGBRegressor(n_estimators=5, max_depth=2).fit(X, SIGNAL)
    decomposer = GlexDecomposer(model).fit(X)
    save_components(decomposer, tmp_path / "components.zip")
    stored = load_components(tmp_path / "components.zip")
    expected = decomposer.intercept_ + decomposer.transform(X).sum(axis=1)
    for source in (decomposer, stored):
        assert_allclose(run_duckdb(to_sql(source, dialect="duckdb"), X)["margin"], expected, **SUMS)


def test_more_terms_than_sqlite_joins(monkeypatch):
    model, rows, margin = shipped("classes")
    monkeypatch.setattr("skglex.export._sql._SQLITE_JOINS", 3)
    statement = to_sql(model, dialect="sqlite", keep=["id"])
    assert "JOIN" not in statement
    assert_allclose(columns(run_sqlite(statement, rows[:500]), "margin"), margin[:500], **SUMS)


@pytest.mark.parametrize("link", _INVERSE)
def test_links(link):
    """Every inverse link, as DuckDB computes it."""
    n_outputs = (
        2
        if link == "mean_variance"
        else 3
        if link in ("softmax", "max_index", "scaled_sigmoid", "sorted")
        else 1
    )
    margin = np.random.default_rng(0).normal(size=(200, n_outputs)) * 2
    response = Response(f"{link} 2.0" if link == "sigmoid" else link, n_outputs)
    labels = None if n_outputs == 1 else list(range(n_outputs))
    (step,) = output_columns(response, labels)
    names = ["margin"] if labels is None else [f"{label}__margin" for label in labels]
    frame = pd.DataFrame(margin, columns=names)  # noqa: F841
    texts = ", ".join(text for _, text in step)
    found = duckdb.query(f"SELECT {texts} FROM frame").df().to_numpy()
    assert_allclose(found, response.output(margin), rtol=1e-12, atol=1e-15)


def test_what_has_no_statement(monkeypatch):
    deep = xgb.XGBRegressor(n_estimators=5, max_depth=4).fit(X, SIGNAL)
    with pytest.raises(
        ValueError, match=r"to_sql writes tables of components, but \d+\.\d\d% of the variance"
    ):
        to_sql(ComponentModel(deep, remainder=True).fit(X), dialect="duckdb")
    model = fit("xgboost")
    with monkeypatch.context() as patch:
        patch.setattr("skglex.export._sql.budgets.sql_cells", 10)
        with pytest.raises(ValueError, match=r"more than the 10 that to_sql writes. The largest is that of"):
            to_sql(model, dialect="duckdb")
    mixed = FRAME.assign(job=pd.Categorical(FRAME["job"].map({"u": 1, "v": "v", "x": 2}.get)))
    model = ComponentModel(lgb.LGBMRegressor(**LGB).fit(mixed, F_SIGNAL)).fit(mixed)
    with pytest.raises(ValueError, match="the categories of 'job' have the types int, str"):
        to_sql(model, dialect="duckdb")
