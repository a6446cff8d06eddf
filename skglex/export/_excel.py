"""Write the tables of a sum of components to a workbook of Excel."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._kept import Term, TermSum, name_outputs, term_sum
from skglex._utils import budgets, import_optional
from skglex.components import OTHER, Axis
from skglex.export._tables import cell_shares, on_scale, value_name

MISSING = "(missing)"
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14
_LONGEST_TITLE = 31
# Excel shows up to six decimals of the numbers, and keeps all.
_SHOWN = "0.0#####"
_FORBIDDEN = re.compile(r"[\[\]:*?/\\']")
Row = list[Any]


def save_excel(model: Any, path: str | os.PathLike[str], *, scale: str = "points") -> None:
    """Save the tables of a sum of components as a workbook of Excel: a price list, or a scorecard.

    The first sheet, ``Model``, has the intercept (or base value), says how a prediction is computed, and lists the
    components. Each component has a sheet:

    * a main effect has a row per bin: from (at least), to (below) or the category, a column per output, and the share
      of the background;
    * a pair has a row per bin of its first feature and a column per bin of its second; several outputs stand below
      each other;
    * a component of more columns has a row per combination of bins.

    Numbers are stored in full precision. This needs openpyxl: ``pip install "skglex[excel]"``.

    Parameters
    ----------
    model : ComponentModel, GlexDecomposer or StoredComponents
        A fitted model or decomposer without a remainder.
    path : str or path
        The file to write, with the suffix ``.xlsx``. It replaces an existing file.
    scale : {"points", "relativities"}, default="points"
        Values to add, or factors to multiply; see `to_tables`.

    Raises
    ------
    ImportError
        openpyxl is not installed.
    ValueError
        There is a remainder. Or the tables are too large for Excel. Or the path has another suffix. Or the link of the
        model is no logarithm, and ``scale`` is ``"relativities"``.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skglex import ComponentModel
    >>> from skglex.export import save_excel
    >>> model = ComponentModel(DecisionTreeRegressor().fit([[0], [1]], [1, 3])).fit([[0], [1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_excel(model, f"{folder}/points.xlsx")  # doctest: +SKIP
    """
    openpyxl = import_optional("openpyxl", "excel")
    path = Path(path)
    if path.suffix.lower() != ".xlsx":
        raise ValueError(
            f"the path ends in {path.suffix!r}, but save_excel writes a workbook. Use the suffix '.xlsx', as in "
            f"{path.with_suffix('.xlsx').name!r}"
        )
    terms = term_sum(model)
    terms.require_complete("save_excel")
    shown = on_scale(terms, scale)
    shown.require_cells("save_excel", budgets.excel_cells)
    titles = _titles([term.name for term in shown.terms])
    book = openpyxl.Workbook()
    summary = book.active
    summary.title = "Model"
    _fill(summary, _summary_rows(shown, scale, titles))
    names = name_outputs(value_name(scale), terms.labels)
    for term, title in zip(shown.terms, titles):
        is_matrix = len(term.axes) == 2
        rows = _matrix_rows(term, names) if is_matrix else _list_rows(term, names, cell_shares(terms, term))
        _fill(book.create_sheet(title), rows)
    book.save(path)


def _titles(names: list[str]) -> list[str]:
    """Return a title for the sheet of each component: Excel forbids some characters, long and equal titles."""
    return [f"{i + 1} {_FORBIDDEN.sub(' ', name)}"[:_LONGEST_TITLE].rstrip() for i, name in enumerate(names)]


def _summary_rows(terms: TermSum, scale: str, titles: list[str]) -> list[Row]:
    """Return the rows of the first sheet."""
    multiplies = scale == "relativities"
    link = terms.response.link
    how = "The margin of a row is the intercept plus the points of its cell in each table."
    if multiplies:
        how = "The prediction of a row is the base value times the relativity of its cell in each table."
    elif link != "identity":
        how += f" Predictions are the inverse link {link!r} of margins."
    labels = ["value"] if terms.labels is None else [str(label) for label in terms.labels]
    listed = [
        [term.name, title, float(term.values.min()), float(term.values.max())]
        for term, title in zip(terms.terms, titles)
    ]
    return [
        [how],
        [f"Missing values are in {MISSING}, categories without a cell of their own in {OTHER}."],
        [],
        [None, *labels],
        ["base value" if multiplies else "intercept", *terms.intercept.tolist()],
        [],
        ["component", "sheet", "smallest", "largest"],
        *listed,
    ]


def _list_rows(term: Term, names: list[str], shares: NDArray[np.float64] | None) -> list[Row]:
    """Return a component's table with a row per cell, below a row with headers."""
    header = [title for axis in term.axes for title in _bound_titles(axis)]
    rows: list[Row] = [[*header, *names, *([] if shares is None else ["share"])]]
    bounds = [_bounds(axis) for axis in term.axes]
    values = term.values.reshape(-1, len(names)).tolist()
    added = [[]] * len(values) if shares is None else shares.reshape(-1, 1).tolist()
    for cell, numbers, share in zip(np.ndindex(term.values.shape[:-1]), values, added):
        rows.append([*(part for b, parts in zip(cell, bounds) for part in parts[b]), *numbers, *share])
    return rows


def _matrix_rows(term: Term, names: list[str]) -> list[Row]:
    """Return a pair's table as a matrix for each output: headers of columns, headers of rows, and the values."""
    first, second = term.axes
    below, beside = _bounds(first), list(zip(*_bounds(second)))
    rows: list[Row] = []
    for o, name in enumerate(names):
        rows.append([name])
        for title, bounds in zip(_bound_titles(second), beside):
            rows.append([*[None] * (len(below[0]) - 1), title, *bounds])
        rows.append(_bound_titles(first))
        rows += [[*bounds, *values] for bounds, values in zip(below, term.values[..., o].tolist())]
        rows.append([])
    return rows


def _bound_titles(axis: Axis) -> Row:
    return [axis.feature] if axis.categorical else [f"{axis.feature} from", f"{axis.feature} to"]


def _bounds(axis: Axis) -> list[Row]:
    """Return what describes each bin of an axis: the category, or from where (included) to where (excluded) it goes."""
    if axis.categorical:
        return [[value] for value in (*axis.edges.tolist(), OTHER, MISSING)]
    # Excel has no infinite numbers.
    edges = np.nan_to_num(axis.edges).tolist()
    return [*([a, b] for a, b in zip([None, *edges], [*edges, None])), [MISSING, None]]


def _fill(sheet: Any, rows: list[Row]) -> None:
    """Write rows to a sheet."""
    n_columns = max(map(len, rows))
    if len(rows) > _MOST_ROWS or n_columns > _MOST_COLUMNS:
        raise ValueError(
            f"the sheet {sheet.title!r} would have {len(rows):,} rows and {n_columns:,} columns, but Excel has at most "
            f"{_MOST_ROWS:,} and {_MOST_COLUMNS:,}. Train on fewer bins (max_bin), or drop this component"
        )
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if value is not None:
                number = type(value) in (int, float)
                # openpyxl would write 16 digits of a number, which may be another float64.
                cell = sheet.cell(i + 1, j + 1, repr(value) if number else value)
                # A category that begins with "=" is no formula.
                cell.data_type = "n" if number else "b" if isinstance(value, bool) else "s"
                if isinstance(value, float):
                    cell.number_format = _SHOWN
    for letter in "ABC":
        sheet.column_dimensions[letter].width = 18
