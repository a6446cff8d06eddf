"""Draw exact partial dependence and ICE curves with scikit-learn's display."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats.mstats import mquantiles

from skglex._input import is_frame, raw_column
from skglex._utils import Execution, import_optional
from skglex.inspection._inspected_model import InspectedModel, inspect
from skglex.inspection._partial_dependence import compute_dependence
from skglex.inspection._value_grid import as_array, categorical_columns, column_names_of, column_positions


def plot_partial_dependence(
    estimator: Any,
    X: Any,
    features: Any,
    *,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    target: Any = None,
    response_method: str = "auto",
    n_cols: int = 3,
    grid_resolution: int = 100,
    percentiles: tuple[float, float] = (0.05, 0.95),
    custom_values: dict[Any, Any] | None = None,
    method: str = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
    line_kw: dict[str, Any] | None = None,
    ice_lines_kw: dict[str, Any] | None = None,
    pd_line_kw: dict[str, Any] | None = None,
    contour_kw: dict[str, Any] | None = None,
    ax: Any = None,
    kind: Any = "average",
    centered: bool = False,
    subsample: Any = 1000,
    random_state: Any = None,
) -> Any:
    """Draw partial dependence and ICE curves as scikit-learn draws them, computed exactly and much faster.

    The parameters are those of ``from_estimator`` of `sklearn.inspection.PartialDependenceDisplay`, and so is the
    display. Other displays of this package draw the model's own steps instead of a line between the values of a grid.

    Parameters
    ----------
    estimator : GlexDecomposer, estimator or booster
        A fitted decomposer, or any fitted model that can be read, which happens once for all features.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows whose values of the other features are kept, and over which the mean is. They also define the grid.
    features : list of {int, str, pair of int, pair of str}
        The features. A pair is drawn as a contour plot of both.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.
    categorical_features : array-like of bool, int or str, default=None
        The columns that are categorical: a mask, positions or names. They are drawn as bars. None: columns of text or
        categories, and those that the model splits as categories where bars can be drawn (``kind="average"``, and no
        pair with a number).
    feature_names : array-like of shape (n_features,), of str, default=None
        Names of the columns. None: those of the data frame, or x0, x1, ...
    target : object, default=None
        The class of a classifier of more than two classes, or the position of the target of several. Required there.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        As in `partial_dependence`.
    n_cols : int, default=3
        Maximum number of panels per row.
    grid_resolution : int, default=100
        Number of equally spaced values of each feature.
    percentiles : tuple of float, default=(0.05, 0.95)
        The shares between which the grid lies.
    custom_values : dict, default=None
        The values of a feature, by the element of ``features``, instead of the grid.
    method : {"auto", "brute"}, default="auto"
        Both give the same numbers.
    n_jobs : int, default=None
        Number of threads.
    verbose : int, default=0
        If 1, show the progress of long computations.
    line_kw, ice_lines_kw, pd_line_kw, contour_kw : dict, default=None
        Styles of all curves, of ICE curves, of partial dependence curves, and of contour plots.
    ax : matplotlib Axes, or array of Axes, default=None
        Axes to draw on. A single Axes is divided if there are several panels. None: a new figure.
    kind : {"average", "individual", "both"}, or list of these, default="average"
        The mean over the rows, the curve of each row (ICE), or both; for all features or for each one.
    centered : bool, default=False
        Whether all curves begin at 0.
    subsample : int, float or None, default=1000
        Number or share of the rows whose ICE curves are drawn. The mean is over all rows.
    random_state : int, RandomState instance or None, default=None
        Random state for drawing these rows.

    Returns
    -------
    sklearn.inspection.PartialDependenceDisplay
        The display, with the results in ``pd_results`` and the axes in ``axes_``.

    Raises
    ------
    TypeError
        The model is not a sum of trees.
    ValueError
        An argument is invalid, or ``target`` is missing.

    See Also
    --------
    partial_dependence : The numbers.
    skglex.plotting.ComponentDisplay : Main effects and interactions, at the thresholds of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from skglex.inspection import plot_partial_dependence
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> display = plot_partial_dependence(model, X, [0, (0, 1)], grid_resolution=20)
    >>> type(display).__name__, display.axes_.shape
    ('PartialDependenceDisplay', (1, 2))
    """
    import_optional("matplotlib.pyplot", "plots")
    from sklearn.inspection import PartialDependenceDisplay

    model = inspect(estimator, X, sample_weight, Execution(n_jobs, verbose))
    names = column_names_of(feature_names, model.names)
    labels = model.X.columns if is_frame(model.X) else []
    items = [item if isinstance(item, (tuple, list)) else (item,) for item in features]
    positions = [tuple(column_positions(item, names, labels)) for item in items]
    kinds = [kind] * len(items) if isinstance(kind, str) else list(kind)
    if not items or len(kinds) != len(items):
        raise ValueError(
            f"kind has {len(kinds)} elements for {len(items)} features; there must be at least one of each"
        )
    categorical = [
        tuple(
            categorical_columns(categorical_features, names, found, model.known_categories(found, of_panel))
        )
        for found, of_panel in zip(positions, kinds)
    ]
    _check_panels(items, positions, categorical, kinds)
    results = [
        compute_dependence(
            model,
            item,
            categorical_features=categorical_features,
            feature_names=names,
            response_method=response_method,
            percentiles=percentiles,
            grid_resolution=grid_resolution,
            custom_values=custom_values,
            method=method,
            kind=kind_of_panel,
        )
        for item, kind_of_panel in zip(items, kinds)
    ]
    n_outputs = len(results[0]["average" if kinds[0] == "average" else "individual"])
    display = PartialDependenceDisplay(
        pd_results=results,
        features=positions,
        feature_names=names,
        target_idx=_target_position(model, target, n_outputs),
        deciles=_deciles(model, positions, categorical),
        kind=kind if isinstance(kind, str) else kinds,
        subsample=subsample,
        random_state=random_state,
        is_categorical=categorical,
    )
    styles = {"line_kw": line_kw, "ice_lines_kw": ice_lines_kw, "pd_line_kw": pd_line_kw}
    return display.plot(ax=ax, n_cols=n_cols, contour_kw=contour_kw, centered=centered, **styles)


def _check_panels(
    items: list[Any],
    positions: list[tuple[int, ...]],
    categorical: list[tuple[bool, ...]],
    kinds: list[str],
) -> None:
    """Raise unless scikit-learn's display can draw every panel."""
    for item, found, is_categorical, kind in zip(items, positions, categorical, kinds):
        if len(found) > 2:
            raise ValueError(f"each entry in features must be one feature or a pair; got {item!r}")
        if kind != "average" and len(found) == 2:
            raise ValueError(f"ICE curves of the pair {item!r} cannot be drawn. Use kind='average' for it")
        if kind != "average" and any(is_categorical):
            raise ValueError(
                f"ICE curves of the categorical feature {item!r} cannot be drawn. Use kind='average'"
            )
        if len(set(is_categorical)) > 1:
            raise ValueError(
                f"a pair of a categorical and a numeric feature cannot be drawn; got {item!r}. "
                "skglex.plotting.ComponentDisplay draws it"
            )


def _target_position(model: InspectedModel, target: Any, n_outputs: int) -> int:
    """Return the position of the output to draw."""
    if n_outputs == 1:
        return 0
    classes = model.classes
    labels = list(range(n_outputs)) if classes is None else classes
    if target is None:
        what = "targets" if classes is None else "classes"
        raise ValueError(f"target must be specified, because there are {n_outputs} {what}: one of {labels}")
    if target not in labels:
        raise ValueError(f"target must be one of {labels}; got {target!r}")
    return int(labels.index(target))


def _deciles(
    model: InspectedModel, positions: list[tuple[int, ...]], categorical: list[tuple[bool, ...]]
) -> dict[int, Any]:
    """Return the deciles of the numeric columns, which the display draws along the axes."""
    numeric = {p for found, flags in zip(positions, categorical) for p, flag in zip(found, flags) if not flag}
    columns = {position: as_array(raw_column(model.X, position)).astype(np.float64) for position in numeric}
    shares = np.arange(0.1, 1.0, 0.1)
    return {position: mquantiles(column[column == column], shares) for position, column in columns.items()}
