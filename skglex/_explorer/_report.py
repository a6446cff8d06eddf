"""Write the report of a model: one HTML file, and the object that shows it in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from skglex._decomposer import GlexDecomposer
from skglex._explorer._comparison import compare_with
from skglex._explorer._features import can_edit_all
from skglex._explorer._page import render
from skglex._explorer._payload import Page, PageRows, sample
from skglex._input import as_numpy, is_frame, named_column


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """Hold the report of a model: a page in one HTML text.

    `skglex.report` returns it. It shows itself in notebooks, in a frame.

    Parameters
    ----------
    html : str
        The page.
    path : pathlib.Path, or None
        The file that holds the page. None: it was not saved.
    title : str
        The title of the page.
    decomposer : GlexDecomposer
        The decomposer that was explained.
    rows : ndarray of int
        Positions of the rows of X that the page holds.
    background_rows : ndarray of int
        Positions of the background rows that the page holds, in bins, among those of the decomposer.

    Examples
    --------
    >>> import skglex
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> report = skglex.report(DecisionTreeRegressor().fit(X, [1, 2, 6, 7]), X, path=None)
    >>> report.html.startswith("<!DOCTYPE html>")
    True
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     report.save(f"{folder}/model.html").name
    'model.html'
    """

    html: str
    path: Path | None
    title: str
    decomposer: GlexDecomposer
    rows: NDArray[np.int64]
    background_rows: NDArray[np.int64]

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path-like
            The file, which is replaced if it exists.

        Returns
        -------
        pathlib.Path
            The file.
        """
        path = Path(path)
        path.write_text(self.html, encoding="utf-8")
        return path

    def __repr__(self) -> str:
        where = "not saved" if self.path is None else str(self.path)
        return f"<Report {self.title!r}: {where}, {len(self.html) / 1e6:.1f} MB>"

    def _repr_html_(self) -> str:
        """Return the page in a frame, for notebooks."""
        return (
            f'<iframe title="{escape(self.title)}" srcdoc="{escape(self.html)}" width="100%" height="800" '
            'sandbox="allow-scripts allow-downloads" style="border: 1px solid #8886"></iframe>'
        )


def report(
    model_or_decomposer: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    compare: Any = None,
    remove: Any = None,
    class_names: Any = None,
    keep: Any = None,
    title: str | None = None,
    units: str | None = None,
    max_rows: int = 1_000,
    background_rows: int = 200,
    path: str | PathLike[str] | None = "report.html",
) -> Report:
    """Write a report of a model: one HTML file that anybody can open, without Python and without a network.

    The page shows the importance of components, their curves and maps, single rows with what explains them, and what
    happens if a feature is changed or removed. It computes all numbers in the browser, exactly, from the leaves of the
    model.

    Parameters
    ----------
    model_or_decomposer : estimator, booster or GlexDecomposer
        A fitted model of any kind that `GlexDecomposer` reads, or a fitted decomposer. A model is decomposed over X,
        with the columns that preprocessing made from one raw column as one feature.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows, from which the page takes its histograms and the rows to browse. Data frames have names of features.
    y : array-like of shape (n_samples,), default=None
        Target. The page then shows scores of the model on X, and the target of each row.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in scores and, for a model, in the background.
    groups : array-like of shape (n_samples,) or str, default=None
        The group of each row, or the name of a column of X. The page compares the groups' predictions.
    compare : estimator, booster, GlexDecomposer or rows, default=None
        A second model with the same features, or rows of another period. The page shows what differs.
    remove : str or list of str, default=None
        Features that the page removes from the predictions at first, such as protected attributes. Others can be
        chosen in the page.
    class_names : list of str, default=None
        Names for the classes, in the order of ``model.classes_``, or of the numbers that a booster gives them. None:
        the labels of the model. ``y`` may hold these names or the labels.
    keep : data frame, Series or dict of str to array-like, default=None
        Columns that the page shows beside the rows that it holds, such as an id. The model does not use them.
    title : str, default=None
        Title of the page. None: the name of the model.
    units : str, default=None
        Unit of the target, for labels.
    max_rows : int, default=1000
        Number of rows of X to browse in the page, drawn at random if X has more. 0: the page holds no rows.
    background_rows : int, default=200
        Number of background rows that the page holds, in bins, without names or targets. They are needed for SHAP
        values and removal with empirical weights, and for explanations on the response scale. 0: the page shows what
        needs no rows (margins, responses, main effects, pairs and the remainder).
    path : str, path-like or None, default="report.html"
        The file to write. None: no file is written.

    Returns
    -------
    Report
        The page. It shows itself in notebooks.

    Raises
    ------
    ValueError
        The model cannot be decomposed, or X, y, groups, compare, remove, class_names or keep do not fit it.

    See Also
    --------
    skglex.plotting.ComponentDisplay : Draw components in figures.
    skglex.inspection.compare_models : Compare models in Python.

    Notes
    -----
    The page contains the leaves of the model, the names of all categories in the background, and counts of background
    rows. Leaves and cells with fewer than five rows can tell something about single persons, even with ``max_rows=0``
    and ``background_rows=0``. Read :ref:`what a report reveals <report_privacy>` before you publish one.

    Examples
    --------
    >>> import skglex
    >>> from skglex.datasets import load_bike_sharing
    >>> from xgboost import XGBRegressor
    >>> X, y = load_bike_sharing(return_X_y=True)
    >>> model = XGBRegressor(n_estimators=20, max_depth=3).fit(X, y)
    >>> report = skglex.report(model, X, y, units="rides per hour", path=None)
    >>> len(report.rows), len(report.background_rows)
    (1000, 200)
    """
    _check_size(max_rows, "max_rows")
    _check_size(background_rows, "background_rows")
    X = as_numpy(X)
    X = X if hasattr(X, "shape") else np.asarray(X)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, np.empty((X.shape[0], 0)), dtype=np.float64)
    decomposer = _decomposer_of(model_or_decomposer, X, weight)
    group_name, group_of_row = _groups_of(groups, X)
    names = None if class_names is None else [str(name) for name in class_names]
    y = _target_of(y, X)
    if y is not None and names is not None:
        y = y[0], _numbered(y[1], names, decomposer)
    shown = sample(X.shape[0], max_rows)
    rows = PageRows(
        X,
        None if y is None else y[1],
        weight,
        group_of_row,
        shown,
        background_rows,
        names,
        _kept_columns(keep, X),
    )
    page = Page(decomposer, rows)
    if not page.features:
        raise ValueError(
            "the model splits on no feature: it predicts the same for all rows, and a report has nothing to show"
        )
    removed = _removed(page, remove)
    target = None if y is None else y[0]
    payload = page.payload(title, target, units, group_name, removed)
    if compare is not None:
        compare_with(payload, page, compare, target, units)
    title = payload["facts"]["title"]
    made = Report(render(payload, title), None, title, decomposer, shown, page.background_positions)
    return made if path is None else replace(made, path=made.save(path))


def _check_size(value: Any, name: str) -> None:
    """Raise unless a number of rows is an integer of at least 0."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} must be an integer of at least 0; got {value!r}")


def _decomposer_of(model: Any, X: Any, weight: Any) -> GlexDecomposer:
    """Return a fitted decomposer, or that of a fitted model over X."""
    if isinstance(model, GlexDecomposer):
        check_is_fitted(model)
        return model
    if hasattr(type(model), "strongest_components"):
        raise TypeError(
            f"cannot write the report of a {type(model).__name__}, which has no leaves of a model. Pass the model, or "
            "a GlexDecomposer of it"
        )
    made: GlexDecomposer = GlexDecomposer(model, feature_groups="auto", prefit=True)
    made.fit(X, sample_weight=weight)
    if made.feature_groups_ and not can_edit_all(made):
        # Preprocessing such as PCA makes all columns from all others, which would be one group without an axis.
        columns: GlexDecomposer = GlexDecomposer(model, prefit=True)
        try:
            columns.fit(X, sample_weight=weight)
            return columns
        except ValueError:  # The model itself combines columns.
            return made
    return made


def _groups_of(groups: Any, X: Any) -> tuple[str, NDArray[Any] | None]:
    """Return the name of the groups, and the group of every row as a text."""
    if groups is None:
        return "group", None
    name = getattr(groups, "name", None)
    if isinstance(groups, str):
        name, groups = groups, named_column(X, groups, "groups")
    values = np.asarray(groups)
    if values.ndim != 1:
        raise ValueError(f"groups must have one label per row; got the shape {values.shape}")
    check_consistent_length(values, X)
    return str(name) if name is not None else "group", values.astype(str)


def _target_of(y: Any, X: Any) -> tuple[str | None, NDArray[Any]] | None:
    """Return the name and the values of the target."""
    if y is None:
        return None
    name, values = getattr(y, "name", None), np.asarray(y)
    if isinstance(y, str):
        raise ValueError(f"y must have one value per row; got {y!r}. Pass the column itself, not its name")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    check_consistent_length(values, X)
    # A comparison with pandas.NA has no truth value.
    n_missing = sum(v is None or type(v).__name__ == "NAType" or v != v for v in values.ravel().tolist())
    if n_missing:
        raise ValueError(
            f"y is missing in {n_missing:,} of {len(values):,} rows. Pass the rows that have a target, or leave y out"
        )
    return (None if name is None else str(name)), values


def _numbered(y: NDArray[Any], names: list[str], decomposer: GlexDecomposer) -> NDArray[Any]:
    """Return a target that holds the given names of classes as the labels of the model; any other unchanged."""
    classes = np.asarray(getattr(decomposer, "classes_", range(len(names))))
    if y.dtype.kind in "biuf" or np.isin(y, classes).all() or not np.isin(y.astype(str), names).all():
        return y
    return np.asarray(classes[[names.index(str(label)) for label in y]])


def _kept_columns(keep: Any, X: Any) -> dict[str, NDArray[Any]]:
    """Return the columns to show beside the rows, by name."""
    if keep is None:
        return {}
    name = getattr(keep, "name", None)
    if hasattr(keep, "to_frame") and not hasattr(keep, "columns"):
        keep = {"row" if name is None else name: keep}
    if not is_frame(keep) and not isinstance(keep, Mapping):
        raise ValueError(
            f"keep must be a data frame, a Series or a dict of columns; got a {type(keep).__name__}. Pass "
            "keep={'id': ids}"
        )
    columns = {str(column): np.asarray(keep[column]) for column in getattr(keep, "columns", keep)}
    for column, values in columns.items():
        if values.ndim != 1:
            raise ValueError(f"keep must have one value per row; {column!r} has the shape {values.shape}")
        check_consistent_length(values, X)
    return columns


def _removed(page: Page, remove: Any) -> list[int]:
    """Return the positions of the features to remove; a feature that the model does not use has none."""
    if remove is None:
        return []
    found = []
    for name in [remove] if isinstance(remove, str) else list(remove):
        position = page.position_of(name)
        if position is None:
            page.notes.append(f"The model does not use {name}, so removing it changes nothing.")
        else:
            found.append(position)
    return sorted(set(found))
