"""Return the tables of a sum of components as data frames: points, or relativities behind a logarithm."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._kept import Term, TermSum, merge_equal_bins, name_outputs, term_sum
from skglex._leaves import Background
from skglex._response import split_link
from skglex._utils import import_optional
from skglex.components import bins_along, table_to_frame

INTERCEPT = "(intercept)"


def to_tables(model: Any, *, scale: str = "points") -> dict[str, Any]:
    """Return the tables of a sum of components as data frames, the factor tables of a tariff or of a scorecard.

    A row of data has one cell of each table. The sum of the points of its cells is the margin. With relativities, the
    product is the prediction.

    Parameters
    ----------
    model : ComponentModel, GlexDecomposer or StoredComponents
        A fitted model or decomposer without a remainder.
    scale : {"points", "relativities"}, default="points"
        ``"points"``: values on the margin scale, which are added. ``"relativities"``: their exponentials, which are
        multiplied, for a model that predicts the exponential of its margin (Poisson, gamma, Tweedie).

    Returns
    -------
    dict of str to pandas.DataFrame
        ``"(intercept)"``, a table of one row, and a table for each component by its name. A table has one row per
        combination of bins, with a column per feature (see `skglex.components.Component.to_frame`), then ``points`` or
        ``relativity``, for several outputs ``label__points``, and ``share``, the share of the background in the cell.
        There is no ``share`` if the background is not known. Neighbouring bins with equal values are one bin.

    Raises
    ------
    ImportError
        pandas is not installed.
    ValueError
        There is a remainder, or relativities are asked for a model with another link.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skglex import ComponentModel
    >>> from skglex.export import to_tables
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> tables = to_tables(ComponentModel(DecisionTreeRegressor().fit(X, [1, 2, 6])).fit(X))
    >>> tables["(intercept)"]["points"].item()
    3.0
    >>> tables["x0"]["points"].tolist()[:3]
    [-2.0, -1.0, 3.0]
    """
    pd = import_optional("pandas", "examples")
    terms = term_sum(model)
    terms.require_complete("to_tables")
    shown = on_scale(terms, scale)
    names = name_outputs(value_name(scale), terms.labels)
    tables = {INTERCEPT: pd.DataFrame([shown.intercept], columns=names)}
    for term in shown.terms:
        table = table_to_frame(term.axes, term.values, names)
        shares = cell_shares(terms, term)
        if shares is not None:
            table["share"] = shares.ravel()
        tables[term.name] = table
    return tables


def value_name(scale: str) -> str:
    """Return what a number of a table is called."""
    return "relativity" if scale == "relativities" else "points"


def on_scale(terms: TermSum, scale: str) -> TermSum:
    """Return a sum with merged bins and with numbers on a scale; see `to_tables`."""
    if scale not in ("points", "relativities"):
        raise ValueError(f"scale must be 'points' or 'relativities'; got {scale!r}")
    merged = tuple(map(merge_equal_bins, terms.terms))
    if scale == "points":
        return replace(terms, terms=merged)
    if split_link(terms.response.link) != ("exponential", 1.0):
        raise ValueError(
            "relativities are for models that predict the exponential of their margin, but the inverse link of this "
            f"model is {terms.response.link!r}. Use scale='points'"
        )
    with np.errstate(over="ignore"):
        factors = tuple(replace(term, values=np.exp(term.values)) for term in merged)
        return replace(terms, intercept=np.exp(terms.intercept), terms=factors)


def cell_shares(terms: TermSum, term: Term) -> NDArray[np.float64] | None:
    """Return the share of the background in every cell of a table; None if the rows of the background are not known."""
    used = [int(np.searchsorted(terms.grid.features, column)) for column in term.columns]
    shape = tuple(axis.n_bins for axis in term.axes)
    maps = [bins_along(axis, terms.grid.edges(j)) for axis, j in zip(term.axes, used)]
    count = partial(_count_cells, used=used, maps=maps, shape=shape)
    try:
        return terms.view.background.average(count)
    except ValueError:
        pass
    try:
        # A file of components has the distribution of each feature.
        return np.asarray(terms.view.estimator.background_weights(term.axes[0])) if len(shape) == 1 else None
    except ValueError:
        return None


def _count_cells(
    background: Background, *, used: list[int], maps: list[NDArray[np.int64]], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    cells = np.ravel_multi_index([m[background.bins[j]] for j, m in zip(used, maps)], shape)
    weight = background.weight / background.total
    return np.asarray(np.bincount(cells, weight, int(np.prod(shape))).reshape(shape), dtype=np.float64)
