"""Main effects and pairs as an InterpretML model, for its dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, explained
from skglex._leaves import Background, Grid
from skglex._utils import budgets, import_optional, warn_user
from skglex.components import Axis, Component

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer

_LINKS = {"identity": "identity", "exponential": "log", "sigmoid": "logit", "softmax": "mlogit"}


def to_ebm(decomposer: GlexDecomposer) -> Any:
    """Main effects and pairs as an explainable boosting machine of InterpretML.

    The terms of the machine are the components of order 1 and 2; its ``explain_global`` and dashboard show them.
    Where the model has no higher order, predictions agree. A warning says how many components are left out,
    unless ``max_interaction`` already does.

    Needs interpret-core: ``pip install "skglex[interpret]"``.

    Parameters
    ----------
    decomposer : GlexDecomposer
        Fitted, without ``feature_groups``.

    Returns
    -------
    ExplainableBoostingRegressor or ExplainableBoostingClassifier
        Of the model's columns. Its cuts are the smallest float64 values that the model, which may compare in
        float32, sends right. A term's bins are weighted by the background. Scores are on the margin scale, with
        standard deviations of 0: there is one model, not a bag of them. Categories that the model does not split
        on share one bin, ``DPOther`` in the plots.

    Raises
    ------
    ImportError
        interpret-core is not installed.
    ValueError
        The model cannot be written as such a machine: feature groups, a number that stands for missing, or a link
        that InterpretML does not have.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.export import to_ebm
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, X[:, 0] + 2 * X[:, 0] * X[:, 1])
    >>> ebm = to_ebm(GlexDecomposer(model).fit(X))  # doctest: +SKIP
    >>> interpret.show(ebm.explain_global())  # doctest: +SKIP
    """
    view = explained(decomposer)
    view.require_components()
    link = _check_exportable(view)
    glassbox = import_optional("interpret.glassbox", "interpret")
    terms = [c for c in decomposer.components_ if c.order <= 2]
    left_out = len(decomposer.components_) - len(terms)
    if left_out:
        warn_user(
            f"{left_out} components of order 3 and more are left out: the exported model predicts without them. "
            "max_interaction=2 says that this is meant"
        )
    members = [members for members in view.decomposition.index.sets if len(members) <= 2]
    bins = _bin_levels(view, terms, members)
    _check_size(bins, members, view.n_outputs)
    background = view.background.in_memory()
    ebm = _new_model(decomposer, glassbox, link)
    names = list(view.feature_names)
    ebm.n_features_in_ = len(names)
    ebm.feature_names_in_ = names
    ebm.feature_types_in_ = ["nominal" if isinstance(levels[0], dict) else "continuous" for levels in bins]
    ebm.feature_bounds_ = np.array([_bounds(levels[0]) for levels in bins])
    ebm.bins_ = bins
    ebm.term_features_ = members
    ebm.term_names_ = [" & ".join(names[j] for j in term) for term in members]
    ebm.term_scores_ = [_scores(c, bins, term) for c, term in zip(terms, members)]
    ebm.bin_weights_ = [_bin_weights(view.grid, background, bins, term) for term in members]
    ebm.standard_deviations_ = [np.zeros_like(scores) for scores in ebm.term_scores_]
    ebm.bagged_scores_ = [scores[None] for scores in ebm.term_scores_]
    ebm.bag_weights_ = np.array([background.total])
    ebm.best_iteration_ = np.zeros((1, 1), np.int64)
    ebm.link_, ebm.link_param_ = link, np.nan
    ebm.has_fitted_ = True
    return ebm


def _check_exportable(view: Explained) -> str:
    """InterpretML's name of the link; raise where the model has no equivalent there."""
    source = view.source
    if view.groups.grouped:
        raise ValueError("feature_groups cannot be exported: a term of an EBM is of single columns")
    if not np.isnan(source.input.missing):
        raise ValueError(f"the model takes {source.input.missing} for missing, an EBM only NaN")
    if source.input.missing_zeros:
        raise ValueError("the model takes zeros for missing (zero_as_missing=True), an EBM only NaN")
    several = view.n_outputs > 1
    if source.response.link not in _LINKS or several != (source.response.link == "softmax"):
        raise ValueError(
            f"a model with the inverse link {source.response.link!r} and {view.n_outputs} output(s) has no counterpart "
            "in InterpretML: it has regressors with one output and an identity or exponential link, binary "
            "classifiers, and softmax for several classes"
        )
    return _LINKS[source.response.link]


def _new_model(decomposer: GlexDecomposer, glassbox: Any, link: str) -> Any:
    """An empty model with intercept and classes."""
    intercept = np.atleast_1d(np.asarray(decomposer.intercept_, dtype=np.float64))
    if link in ("identity", "log"):
        ebm = glassbox.ExplainableBoostingRegressor()
        ebm.intercept_ = float(intercept[0])
        ebm.min_target_ = ebm.max_target_ = np.nan
    else:
        ebm = glassbox.ExplainableBoostingClassifier()
        ebm.intercept_ = intercept.copy()
        n_classes = max(len(intercept), 2)
        ebm.classes_ = np.asarray(getattr(decomposer, "classes_", np.arange(n_classes)))
    ebm.bagged_intercept_ = intercept[None]
    return ebm


def _bin_levels(view: Explained, terms: list[Component], members: list[tuple[int, ...]]) -> list[list[Any]]:
    """Bins of every feature: [those of its main effect, those of its pairs]; cuts, or category to number."""
    n_features = len(view.feature_names)
    edges: list[list[list[NDArray[Any]]]] = [[[], []] for _ in range(n_features)]
    categories: dict[int, NDArray[Any]] = {}
    for component, term in zip(terms, members):
        for axis, j in zip(component.axes, term):
            if axis.categorical:
                categories[j] = axis.edges
            else:
                edges[j][len(term) - 1].append(axis.edges)
    out: list[list[Any]] = []
    for j, values in view.source.input.categories.items():
        categories.setdefault(j, values)  # in no split
    for j in range(n_features):
        if j in categories:
            out.append([{_as_text(value): i + 1 for i, value in enumerate(categories[j].tolist())}])
            continue
        main, pairs = (
            np.unique(np.concatenate([np.empty(0), *parts])).astype(np.float64) for parts in edges[j]
        )
        out.append([main, pairs] if edges[j][1] else [main])
    return out


def _as_text(value: Any) -> str:
    """A category as InterpretML writes it: whole numbers without a point, booleans as 0 and 1."""
    if isinstance(value, bool):
        return str(int(value))
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _level(bins: list[list[Any]], feature: int, order: int) -> Any:
    levels = bins[feature]
    return levels[min(order, len(levels)) - 1]


def _n_bins(level: Any) -> int:
    """Bins of a level: missing first, unseen last."""
    return len(level) + 2 if isinstance(level, dict) else len(level) + 3


def _check_size(bins: list[list[Any]], members: list[tuple[int, ...]], n_outputs: int) -> None:
    size = n_outputs * sum(
        float(np.prod([_n_bins(_level(bins, j, len(term))) for j in term], dtype=float)) for term in members
    )
    if size > budgets.ebm_cells:
        raise ValueError(
            f"the tables of the exported model would have {size:,.0f} numbers ({size / 2**27:,.1f} GiB). Use "
            "max_interaction=1, restrict features, or train on fewer bins (max_bin)"
        )


def _bounds(level: Any) -> tuple[float, float]:
    """Lowest and highest cut: of the values themselves the background keeps only the bins."""
    if isinstance(level, dict) or not len(level):
        return np.nan, np.nan
    return float(level[0]), float(level[-1])


def _scores(component: Component, bins: list[list[Any]], term: tuple[int, ...]) -> NDArray[np.float64]:
    """A component's table over the bins of its term: missing first, unseen last."""
    scores = component.values
    for i, (axis, j) in enumerate(zip(component.axes, term)):
        scores = np.take(scores, _table_bins(axis, _level(bins, j, len(term))), axis=i)
    return np.ascontiguousarray(scores)


def _table_bins(axis: Axis, level: Any) -> NDArray[np.int64]:
    """The table's bin of every bin of a level."""
    if axis.categorical:
        other = axis.missing - 1
        return np.array([axis.missing, *range(len(level)), other])
    inner = np.searchsorted(axis.edges, level, side="right")
    return np.array([axis.missing, 0, *inner, axis.missing])  # what is not a number counts as missing


def _bin_weights(
    grid: Grid, background: Background, bins: list[list[Any]], term: tuple[int, ...]
) -> NDArray[Any]:
    """Weight of the background in every bin of a term."""
    shape = tuple(_n_bins(_level(bins, j, len(term))) for j in term)
    flat = np.zeros(len(background.weight), np.int64)
    for j, size in zip(term, shape):
        used_feature = int(np.searchsorted(grid.features, j))
        level = _level(bins, j, len(term))
        if grid.categorical[used_feature]:
            of_bin = np.array([*range(1, len(level) + 1), size - 1, 0])
        else:
            of_bin = np.array([1, *(1 + np.searchsorted(level, grid.edges(used_feature), side="right")), 0])
        flat = flat * size + of_bin[background.bins[used_feature]]
    weights = np.bincount(flat, weights=background.weight, minlength=int(np.prod(shape)))
    return weights.reshape(shape)
