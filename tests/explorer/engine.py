"""Ask the engine of an open report for numbers."""

import numpy as np


def send_rows(page, X):
    """Bin the rows of a data frame in the page, for `ask`; the columns are those of the page's features."""
    page.evaluate("(rows) => { window.rows = rows.map((values) => engine.bin(values)); }", raw_values(X))


def raw_values(X):
    """Return the values of rows as the page takes them: numbers, texts, and None for missing values."""
    return [[_as_json(value) for value in row] for row in X.itertuples(index=False)]


def _as_json(value):
    if value is None or value != value:
        return None
    return value.item() if hasattr(value, "item") else value


def ask(page, expression, n=None, **arguments):
    """Evaluate an expression of ``bins`` (and of the arguments) for the first n rows that were sent.

    The result is an array: numbers lose nothing on the way.
    """
    code = f"""([n, {{{", ".join(arguments)}}}]) => {{
        const tables = {{}};
        return rows.slice(0, n ?? rows.length).map((bins) => {expression});
    }}"""
    return np.array(page.evaluate(code, [n, arguments]), dtype=np.float64)


def look_up(table):
    """Return the expression of the value of a row in a table that another expression makes, once for all rows."""
    return f"""((t) => t.values[t.features.reduce((at, f, k) => at * t.shape[k] + t.axes[k].binOf[bins[f]], 0)])(
        (tables.one ||= {table}))"""
