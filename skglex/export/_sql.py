"""Write a sum of components as one SQL statement with look-up tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skglex._kept import Term, TermSum, merge_equal_bins, name_outputs, term_sum
from skglex._utils import budgets, import_optional, suggest
from skglex.export._sql_bins import BinWriter, number, write_number
from skglex.export._sql_outputs import output_columns

DIALECTS = ("bigquery", "duckdb", "postgres", "snowflake", "sqlite", "tsql")
# SQLite joins at most 64 tables. More look-ups become subqueries.
_SQLITE_JOINS = 60


def to_sql(
    model: Any,
    *,
    dialect: str,
    table: str = "data",
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] | None = None,
) -> str:
    """Write a sum of components as one SQL statement.

    The statement has a look-up table for each component, with a row per combination of bins, and a ``CASE`` for each
    axis that finds the bin of a row. It reads a table of rows, and returns it with the prediction of each row. This
    needs sqlglot, which writes the dialects: ``pip install "skglex[sql]"``.

    Parameters
    ----------
    model : ComponentModel, GlexDecomposer or StoredComponents
        A fitted model or decomposer without a remainder.
    dialect : {"bigquery", "duckdb", "postgres", "snowflake", "sqlite", "tsql"}
        The dialect.
    table : str, default="data"
        Name of the table with the rows, on request with its schema: ``"prices.policies"``.
    columns : dict of str to str, default=None
        Names of columns of the table by the names of the model's features. Features that are not in the dict have the
        same name in the table. All names are quoted, so some databases distinguish upper and lower case.
    keep : list of str, default=None
        Columns of the table that the result contains. None: all.

    Returns
    -------
    str
        A ``SELECT`` statement. Beside the columns of the table it returns ``margin`` and

        * for a regressor, ``prediction``;
        * for a classifier, ``probability`` (of the second class) and ``prediction`` (the label);
        * for an isolation forest, ``score`` and ``prediction`` (1, or -1 for outliers);
        * only the margin if the link is unknown (a custom objective).

        With several outputs, there is one column per output: ``label__margin``, ``label__probability``.

    Raises
    ------
    ImportError
        sqlglot is not installed.
    ValueError
        There is a remainder, the tables are too large, or the model has categories that SQL cannot compare.

    Notes
    -----
    A column of numbers is compared as double precision. A column of categories holds the categories if the model stores
    them, otherwise their codes. NULL and NaN are missing. A row that the model would refuse, for example one with an
    unknown category of a data frame, has the prediction NULL. If the model is a pipeline, the table has the columns
    after the preprocessing.

    SQLite computes probabilities and exponentials only if it is compiled with its mathematical functions.

    Examples
    --------
    >>> from skglex import ComponentModel
    >>> from skglex.export import to_sql
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> model = ComponentModel(DecisionTreeRegressor().fit([[0], [1]], [1, 3])).fit([[0], [1]])
    >>> statement = to_sql(model, dialect="sqlite", table="points")  # doctest: +SKIP
    """
    exp = import_optional("sqlglot.expressions", "sql")
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}; got {dialect!r}")
    terms = term_sum(model)
    terms.require_complete("to_sql")
    terms.require_cells("to_sql", budgets.sql_cells)
    names = _names_in_table(terms.feature_names, columns or {})
    return _Statement(exp, terms, dialect, names).write(table, keep)


def _names_in_table(feature_names: list[str], columns: Mapping[str, str]) -> list[str]:
    """Return the name in the table of every feature."""
    if unknown := set(columns).difference(feature_names):
        raise ValueError(
            f"columns has the unknown feature {min(unknown)!r}. {suggest(min(unknown), feature_names)}"
        )
    return [columns.get(name, name) for name in feature_names]


class _Statement:
    """Write the statement of one sum of components in one dialect."""

    def __init__(self, exp: Any, terms: TermSum, dialect: str, names: list[str]) -> None:
        self.exp = exp
        self.terms = terms
        self.dialect = dialect
        self.bins = BinWriter(exp, terms, dialect, names)
        self.prefix = "points_"

    def write(self, table: str, keep: Sequence[str] | None) -> str:
        """Return the statement: look-up tables, then margins, then what is computed from them."""
        exp, labels = self.exp, self.terms.labels
        rows = exp.to_table(table, dialect=self.dialect)
        while rows.name.lower().startswith(self.prefix):
            self.prefix += "_"
        tables = [merge_equal_bins(term) for term in self.terms.terms]
        query = self._margins(tables, keep, name_outputs("margin", labels))
        query = query.from_(exp.alias_(rows, "r", table=True), copy=False)
        steps = []
        for step, columns in enumerate(output_columns(self.terms.response, labels)):
            added = [
                exp.alias_(exp.maybe_parse(text, dialect="duckdb"), name, quoted=True)
                for name, text in columns
            ]
            steps.append((f"{self.prefix}step_{step + 1}", query))
            query = exp.select(exp.Star(), *added).from_(steps[-1][0])
        for i, term in enumerate(tables):
            query = self._with_table(query, f"{self.prefix}{i + 1}", term)
        for name, before in steps:
            # These two would compute the margin anew wherever its name occurs.
            materialized = True if self.dialect in ("postgres", "sqlite") else None
            query = query.with_(name, as_=before, materialized=materialized, copy=False)
        return str(query.sql(dialect=self.dialect, pretty=True)) + "\n"

    def _margins(self, tables: list[Term], keep: Sequence[str] | None, names: list[str]) -> Any:
        """Return the selection of the kept columns and of the margins; only the table of rows is missing."""
        exp = self.exp
        sums = [number(exp, value) for value in self.terms.intercept]
        joins = []
        for i, term in enumerate(tables):
            name = f"{self.prefix}{i + 1}"
            bins = [self.bins.bin_of(axis, column) for axis, column in zip(term.axes, term.columns)]
            on = exp.and_(*(exp.column(f"c{k + 1}", name).eq(b) for k, b in enumerate(bins)))
            points = [exp.column(f"p{o + 1}", name) for o in range(len(sums))]
            if self.dialect == "sqlite" and len(tables) > _SQLITE_JOINS:
                points = [exp.select(p).from_(name).where(on).subquery() for p in points]
            else:
                joins.append((name, on))
            sums = [exp.Add(this=total, expression=p) for total, p in zip(sums, points)]
        star = exp.Column(this=exp.Star(), table=exp.to_identifier("r"))
        kept = [star] if keep is None else [exp.column(c, "r", quoted=True) for c in keep]
        query = exp.select(*kept, *(exp.alias_(m, name, quoted=True) for m, name in zip(sums, names)))
        for name, on in joins:
            query = query.join(name, on=on, join_type="left", copy=False)
        return query

    def _with_table(self, query: Any, name: str, term: Term) -> Any:
        """Return a query with the look-up table of a term in front.

        The rows are written as text: a node for each number would take seconds.
        """
        exp, shape, n_outputs = self.exp, term.values.shape[:-1], self.terms.n_outputs
        cells = np.indices(shape).reshape(len(shape), -1).T.tolist()
        rows = ",\n".join(
            f"({', '.join([*map(str, cell), *map(write_number, points)])})"
            for cell, points in zip(cells, term.values.reshape(-1, n_outputs).tolist())
        )
        keys = [f"c{i + 1}" for i in range(len(shape))]
        points = [f"p{o + 1}" for o in range(n_outputs)]
        columns = [*keys, *points]
        source = f"(VALUES\n{rows}) AS v({', '.join(columns)})"
        if self.dialect == "sqlite":
            # SQLite names the columns of values itself.
            columns = [f"column{i + 1}" for i in range(len(columns))]
            source = f"(VALUES\n{rows})"
        elif self.dialect == "bigquery":
            types = ", ".join([*(f"{key} INT64" for key in keys), *(f"{p} FLOAT64" for p in points)])
            source = f"UNNEST(ARRAY<STRUCT<{types}>>[\n{rows}]) AS v"
        # Some databases read numbers with a point as decimals.
        selected = [
            exp.alias_(exp.cast(exp.column(column), "double" if alias in points else "int"), alias)
            for column, alias in zip(columns, [*keys, *points])
        ]
        table = exp.select(*selected).from_(exp.Var(this=source))
        table.add_comments([f"{name}: {term.name}"])
        # SQLite makes an index of a table only if it stores it.
        materialized = True if self.dialect == "sqlite" else None
        return query.with_(name, as_=table, materialized=materialized, copy=False)
