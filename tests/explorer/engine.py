"""Ask the engine of an open report for numbers."""

import numpy as np


def raw_values(X):
    """Return the values of rows of a data frame as the page takes them."""
    rows = []
    for row in X.itertuples(index=False):
        rows.append([None if value is None or value != value else as_json(value) for value in row])
    return rows


def as_json(value):
    """Return a number or a text."""
    return value.item() if hasattr(value, "item") else value


def names_of(page):
    """Return the names of the page's features, in their order."""
    return page.evaluate("engine.facts.features.map((feature) => feature.name)")


def ask(page, rows, expression, **arguments):
    """Evaluate an expression of ``bins`` (and of the arguments) for rows of raw values.

    The result is an array: numbers lose nothing on the way.
    """
    code = f"""([rows, given]) => rows.map((values) => {{
        const {{{", ".join(arguments) or "nothing"}}} = given;
        const bins = engine.bin(values);
        return {expression};
    }})"""
    found = page.evaluate(code, [rows, arguments])
    return np.array(found, dtype=np.float64)
