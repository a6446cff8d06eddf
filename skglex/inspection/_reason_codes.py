"""Name the features that moved each row most against a reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from skglex._decomposition import Explained, GivenTables, explained, row_values
from skglex._input import iter_binned, list_features
from skglex._kept import KeptComponents, term_sum
from skglex._kernels.reasons import pick_largest
from skglex._leaves import Background
from skglex._utils import row_chunks, suggest, warn_user
from skglex.exceptions import RemainderWarning
from skglex.inspection._tables import as_table

_DIRECTIONS = ("lower", "higher", "both")
_GROUP = "(group)"


def reason_codes(
    model: Any,
    X: Any,
    *,
    k: int = 4,
    reference: Any = "mean",
    groups: Mapping[str, Sequence[Any]] | None = None,
    direction: str = "lower",
    output: Any = None,
) -> Any:
    """Name the features that moved the margin of each row most against a reference.

    The points of a feature are its main effect, half of each of its pairs, a third of each component of three
    features, and so on. The points of all features and the intercept add up to the margin. A feature moves a row by its
    points minus those of the reference.

    Parameters
    ----------
    model : ComponentModel, GlexDecomposer or StoredComponents
        A fitted model. The points of a decomposer are SHAP values. Those of a component model with a remainder have the
        share of the remainder, as SHAP values have, which takes longer.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows with the same columns as in ``fit``.
    k : int, default=4
        Largest number of reasons of a row.
    reference : {"mean", "best"} or array-like of one row, default="mean"
        ``"mean"``: the mean points of each feature over the background. ``"best"``: for each feature or group its
        highest total points over the background (with ``direction="higher"``, its lowest), so that points are points
        lost, as on a scorecard. A row: its points.
    groups : dict of str to list of str, default=None
        ``{"name": [features]}``: features whose points are added up, and which are one reason. Other features are
        reasons of their own.
    direction : {"lower", "higher", "both"}, default="lower"
        ``"lower"``: reasons that lower the margin, the adverse ones of a score. ``"higher"``: those that raise it, the
        adverse ones of a risk. ``"both"``: all, by size.
    output : label, default=None
        The output to explain, by its label or position. Needed only if there are several.

    Returns
    -------
    pandas.DataFrame, or dict of ndarray if pandas is not installed
        A row per reason, the strongest first: ``row`` (the label of the row if X is a pandas data frame, otherwise its
        position), ``rank`` (1, 2, ...), ``feature``, ``value`` (the value of the feature; ``"(group)"`` for a group),
        and ``points``, on the margin scale. A row has fewer than k reasons if fewer features moved it in the
        direction.

    Raises
    ------
    ValueError
        An argument is invalid, or the reference needs background rows that are not known.

    Notes
    -----
    Points are compared after they are rounded to twelve decimals. Equal ones stand in the order of the features (the
    order of the columns, a group at the place of its first feature). A feature that moves a row by less is no reason.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from skglex import ComponentModel
    >>> from skglex.inspection import reason_codes
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> classifier = HistGradientBoostingClassifier(max_iter=20).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> model = ComponentModel(classifier).fit(X)
    >>> table = reason_codes(model, [[-2.0, -1.0, 0.0]], k=2, reference="best")
    >>> table["feature"].tolist()
    ['x0', 'x1']
    """
    check_scalar(k, "k", Integral, min_val=1)
    if direction not in _DIRECTIONS:
        raise ValueError(f"direction must be one of {', '.join(map(repr, _DIRECTIONS))}; got {direction!r}")
    view = _view_of(model)
    names, group_of = _group(view, groups or {})
    points = _points_of(model, view, group_of, len(names), view.output_position(output))
    start = _reference_points(view, points, reference, direction)
    X = view.as_rows(X)
    bins = view.fitted.bins(view.check(X), view.execution)
    n_rows = bins.shape[1]
    position = np.empty((k, n_rows), np.int16)
    value = np.empty((k, n_rows))
    for first, last, part in iter_binned(bins, len(names)):
        moved = points(part) - start[:, None]
        size = np.abs(moved) if direction == "both" else -moved if direction == "lower" else moved
        at, picked = position[:, first:last], value[:, first:last]
        view.execution.run(pick_largest, [(size, a, b, at, picked) for a, b in row_chunks(last - first)])
        if direction == "both":
            picked[:] = np.take_along_axis(moved, np.maximum(at, 0), axis=0)
    if direction == "lower":
        np.negative(value, out=value)
    return _as_reasons(view, X, names, group_of, position, value)


def _view_of(model: Any) -> Explained:
    """Return the view of a decomposer, or of the decomposer of a component model."""
    if not hasattr(type(model), "reason_codes"):
        return explained(model)
    check_is_fitted(model)
    return explained(model.decomposer_)


def _group(view: Explained, groups: Mapping[str, Sequence[Any]]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of the reasons, and the reason of each feature."""
    players = view.groups.names
    owner: dict[str, str] = {}
    for group, items in groups.items():
        for item in list_features(items, players, parameter="groups"):
            name = players[item] if isinstance(item, (int, np.integer)) else str(item)
            if name not in players:
                raise ValueError(f"groups contains the unknown feature {item!r}. {suggest(item, players)}")
            if name in owner:
                raise ValueError(f"groups has the feature {name!r} twice. Pass it in one group")
            owner[name] = group
    if taken := set(groups).intersection(name for name in players if name not in owner):
        raise ValueError(
            f"groups has the name of the feature {min(taken)!r}. Choose another name for the group"
        )
    reason_of_player = [owner.get(name, name) for name in players]
    names = list(dict.fromkeys(reason_of_player))
    return names, np.array([names.index(name) for name in reason_of_player], dtype=np.int64)


def _points_of(
    model: Any, view: Explained, group_of: NDArray[np.int64], n_groups: int, output: int
) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
    """Return the function that computes the points of each reason for binned rows: shape (n_groups, n_rows)."""
    tables, has_leaves = _sources(model, view)
    shares = None if tables is None else _shares(tables.sets, group_of)

    def compute(bins: NDArray[Any]) -> NDArray[np.float64]:
        out = np.zeros((n_groups * view.n_outputs, bins.shape[1]))
        points = out[output * n_groups : (output + 1) * n_groups]
        if tables is not None and shares is not None:
            tables.add(bins, *shares, out, view.execution)
        if has_leaves:
            np.add.at(points, group_of, view.decomposition.shapley(bins, view.execution)[output])
        return points

    return compute


def _sources(model: Any, view: Explained) -> tuple[GivenTables | None, bool]:
    """Return the tables that points are sums of, and whether the SHAP values of the model are added."""
    kept: KeptComponents | None = getattr(model, "_kept", None)
    if kept is not None:
        if term_sum(model).complete:
            return kept.tables, False
        return replace(kept, terms=kept.changes, rest=None).tables, True
    if not isinstance(view.listed, GivenTables):
        return None, True
    if not view.decomposition.complete:
        warn_user(
            "the file has not all components of the model, so the points lack those that were left out. Save a "
            "decomposer that was fitted with max_interaction=None",
            RemainderWarning,
        )
    return view.listed, False


def _shares(
    sets: list[tuple[int, ...]], group_of: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the components, the reasons that they belong to, and the share of each reason in each component."""
    items = []
    for component, members in enumerate(sets):
        groups, counts = np.unique(group_of[list(members)], return_counts=True)
        items += [(component, group, n / len(members)) for group, n in zip(groups.tolist(), counts.tolist())]
    components, reasons, shares = zip(*items) if items else ((), (), ())
    return np.array(components, np.int64), np.array(reasons, np.int64), np.array(shares, np.float64)


def _reference_points(
    view: Explained, points: Callable[[NDArray[Any]], NDArray[np.float64]], reference: Any, direction: str
) -> NDArray[np.float64]:
    """Return the points of each reason in the reference."""
    if isinstance(reference, str):
        if reference not in ("mean", "best"):
            raise ValueError(f"reference must be 'mean', 'best' or a row; got {reference!r}")
        if reference == "mean":
            mean: NDArray[np.float64] = view.background.average(partial(_mean_points, points=points))
            return mean
        sign = -1.0 if direction == "higher" else 1.0
        background = view.background.in_memory()
        rows = np.ascontiguousarray(background.bins[:, background.weight > 0])
        best = [
            (sign * points(part)).max(axis=1)
            for _, _, part in iter_binned(rows, view.decomposition.n_players)
        ]
        return np.asarray(sign * np.max(best, axis=0))
    rows = view.as_rows(reference)
    if rows.shape[0] != 1:
        raise ValueError(f"reference must be a single row; got {rows.shape[0]} rows")
    return np.asarray(points(view.fitted.bins(view.check(rows), view.execution))[:, 0])


def _mean_points(
    background: Background, *, points: Callable[[NDArray[Any]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    weight = background.weight / background.total
    chunks = iter_binned(background.bins, len(background.bins))
    return np.asarray(np.sum([points(part) @ weight[first:last] for first, last, part in chunks], axis=0))


def _as_reasons(
    view: Explained,
    X: Any,
    names: list[str],
    group_of: NDArray[np.int64],
    position: NDArray[np.int16],
    value: NDArray[np.float64],
) -> Any:
    """Return the table of reasons, row by row."""
    row, rank = np.nonzero((position >= 0).T)
    reason = position[rank, row]
    table = {
        "row": row if getattr(X, "index", None) is None else X.index.to_numpy()[row],
        "rank": rank + 1,
        "feature": _as_categories(reason, names),
        "value": _values_of(view, X, len(names), group_of, row, reason),
        "points": value[rank, row],
    }
    return as_table(table)


def _as_categories(codes: NDArray[np.int16], names: list[str]) -> Any:
    """Return names by codes, as a categorical column if pandas is installed."""
    try:
        import pandas as pd
    except ImportError:
        return np.array(names, dtype=object)[codes]
    return pd.Categorical.from_codes(codes, names)


def _values_of(
    view: Explained,
    X: Any,
    n_reasons: int,
    group_of: NDArray[np.int64],
    row: NDArray[np.int64],
    reason: NDArray[np.int16],
) -> NDArray[Any]:
    """Return the value of the feature of each reason."""
    data, texts = row_values(view, X)
    sizes = np.bincount(group_of, minlength=n_reasons)
    # A single feature is the only one of its reason.
    feature = np.array([int(np.flatnonzero(group_of == g)[0]) for g in range(n_reasons)])
    values = data[row, feature[reason]]
    if not texts and sizes.max() == 1:
        return np.asarray(values)
    out: NDArray[Any] = values.astype(object)
    out[(sizes > 1)[reason]] = _GROUP
    for player, text in texts.items():
        if sizes[group_of[player]] == 1:
            here = reason == group_of[player]
            out[here] = text[row[here]]
    return out
