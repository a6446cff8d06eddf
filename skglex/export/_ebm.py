"""Export main effects and pairs as an InterpretML model, for its dashboard."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained
from skglex._input import InputSpec
from skglex._kept import Term, TermSum, term_sum
from skglex._leaves import Background
from skglex._utils import budgets, import_optional, warn_user
from skglex.components import Axis

_LINKS = {"identity": "identity", "exponential": "log", "sigmoid": "logit", "softmax": "mlogit"}


def to_ebm(model: Any, *, resampled: Any = None) -> Any:
    """Export main effects and pairs as an explainable boosting machine (EBM) of InterpretML.

    The terms of the EBM are the components of order 1 and 2. Its ``explain_global`` and its dashboard show them.
    If the model has no components of a higher order, the EBM predicts the same. A warning gives the number of
    components that are left out, except if ``max_interaction`` already left them out.

    This needs interpret-core: ``pip install "skglex[interpret]"``.

    Parameters
    ----------
    model : ComponentModel or GlexDecomposer
        A fitted model or decomposer without ``feature_groups``. A component model has neither a remainder nor terms of
        a higher order.
    resampled : ResampledComponents, default=None
        The result of `skglex.inspection.resample_components` for this decomposer, ``resampled.decomposer``. Its
        standard errors become the standard deviations of the terms, which InterpretML draws as error bars.

    Returns
    -------
    ExplainableBoostingRegressor or ExplainableBoostingClassifier
        The EBM has the model's columns. Its cuts are the smallest float64 values that the model sends right; the
        model may compare in float32. The bins of a term have the weights of the background. Scores are on the margin
        scale. Their standard deviations are those of ``resampled``, and 0 for other terms and for bins without a row of
        the background. If the model refuses categories that it has never seen, the categories that it does not split
        on share one bin, which is called ``DPOther`` in the plots.

    Raises
    ------
    ImportError
        interpret-core is not installed.
    ValueError
        There is no such EBM: there are feature groups, or a component model has a remainder or terms of a higher order,
        the model has a number that stands for missing values, or InterpretML does not have the model's link. Or
        ``resampled`` has another decomposer.

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
    whole = term_sum(model, max_order=2)
    view = whole.view
    link = _check_exportable(view)
    if resampled is not None and resampled.decomposer is not model:
        raise ValueError(
            "resampled has standard errors for the bins of another decomposer. Pass to_ebm(resampled.decomposer, "
            "resampled=resampled)"
        )
    glassbox = import_optional("interpret.glassbox", "interpret")
    if whole.kept is not None:
        _check_kept(whole)
    terms = [_squeezed(term) for term in whole.terms]
    members = [term.columns for term in terms]
    left_out = len(view.listed) - len(terms) if whole.kept is None else 0
    if left_out:
        warn_user(
            f"{left_out} components of order 3 and more are left out, so the exported model predicts without them. "
            "Fit the decomposer with max_interaction=2 to leave them out without this warning"
        )
    bins = _bin_levels(view, terms, members)
    _check_size(bins, members, view.n_outputs)
    background = view.background.in_memory()
    ebm = _new_model(whole, glassbox, link)
    names = list(view.feature_names)
    ebm.n_features_in_ = len(names)
    ebm.feature_names_in_ = names
    ebm.feature_types_in_ = ["nominal" if isinstance(levels[0], dict) else "continuous" for levels in bins]
    ebm.feature_bounds_ = np.array([_bounds(levels[0]) for levels in bins])
    ebm.bins_ = bins
    ebm.term_features_ = members
    ebm.term_names_ = [" & ".join(names[j] for j in term) for term in members]
    ebm.term_scores_ = [_on_bins(c.values, c, bins, term, whole.spec) for c, term in zip(terms, members)]
    ebm.bin_weights_ = [_bin_weights(view, background, bins, term) for term in members]
    ebm.standard_deviations_ = [
        _on_bins(_standard_errors(c, resampled), c, bins, term, whole.spec) for c, term in zip(terms, members)
    ]
    ebm.bagged_scores_ = [scores[None] for scores in ebm.term_scores_]
    ebm.bag_weights_ = np.array([background.total])
    ebm.best_iteration_ = np.zeros((1, 1), np.int64)
    ebm.link_, ebm.link_param_ = link, np.nan
    ebm.has_fitted_ = True
    return ebm


def _check_kept(whole: TermSum) -> None:
    """Raise if an EBM cannot predict what a component model predicts."""
    whole.require_complete("to_ebm")
    high = [term.name for term in whole.terms if term.order > 2]
    if high:
        raise ValueError(
            f"the model keeps {len(high)} components of order 3 and more, {high[0]!r} for example, but an EBM has main "
            "effects and pairs only. Keep components up to order 2 (max_interaction=2), or use to_xgboost or to_onnx"
        )


def _squeezed(term: Term) -> Term:
    """Return a term without the last axis of its values if there is one output."""
    return replace(term, values=term.values[..., 0]) if term.values.shape[-1] == 1 else term


def _check_exportable(view: Explained) -> str:
    """Return InterpretML's name of the link; raise if InterpretML has no equivalent of the model."""
    source = view.source
    if view.groups.grouped:
        raise ValueError(
            "feature_groups cannot be exported, since the terms of an EBM consist of single columns: fit a decomposer "
            "without feature_groups"
        )
    if not np.isnan(source.input.missing):
        raise ValueError(
            f"the model treats the value {source.input.missing} as missing, but an EBM only NaN: train the model with "
            "NaN for missing values"
        )
    if source.input.missing_zeros:
        raise ValueError(
            "the model treats zeros as missing (zero_as_missing=True), but an EBM only NaN: train the model with NaN "
            "for missing values"
        )
    if any(None in values.tolist() for values in source.input.categories.values()):
        raise ValueError(
            "the model has a category of its own for None (null), but an EBM counts None as missing: replace None by a "
            "string before training"
        )
    if view.fitted.zero_is_missing:
        raise ValueError(
            "the model gets sparse rows and treats zeros as missing, but an EBM only NaN: train the model on dense "
            "rows, for example with OneHotEncoder(sparse_output=False)"
        )
    several = view.n_outputs > 1
    if source.response.link not in _LINKS or several != (source.response.link == "softmax"):
        raise ValueError(
            f"a model with the inverse link {source.response.link!r} and {view.n_outputs} output(s) has no counterpart "
            "in InterpretML. InterpretML has regressors with one output and an identity or exponential link, binary "
            "classifiers, and softmax for several classes"
        )
    return _LINKS[source.response.link]


def _new_model(whole: TermSum, glassbox: Any, link: str) -> Any:
    """Create a model with intercept and classes, but without terms."""
    intercept = np.asarray(whole.intercept, dtype=np.float64)
    if link in ("identity", "log"):
        ebm = glassbox.ExplainableBoostingRegressor()
        ebm.intercept_ = float(intercept[0])
        ebm.min_target_ = ebm.max_target_ = np.nan
    else:
        ebm = glassbox.ExplainableBoostingClassifier()
        ebm.intercept_ = intercept.copy()
        classes = whole.response.classes
        ebm.classes_ = np.arange(max(len(intercept), 2)) if classes is None else np.asarray(classes)
    ebm.bagged_intercept_ = intercept[None]
    return ebm


def _bin_levels(view: Explained, terms: list[Term], members: list[tuple[int, ...]]) -> list[list[Any]]:
    """Return the bins of every feature, as one or two levels.

    The first level has the bins for the main effect. A numeric feature in pairs has a second level, with the bins for
    the pairs. A level is an array of cuts, or a dict from category to number of the bin.
    """
    n_features = len(view.feature_names)
    edges: list[list[list[NDArray[Any]]]] = [[[], []] for _ in range(n_features)]
    categories: dict[int, NDArray[Any]] = {}
    for component, term in zip(terms, members):
        for axis, j in zip(component.axes, term):
            if axis.categorical:
                categories[j] = axis.edges
            else:
                edges[j][len(term) - 1].append(axis.edges)
    for j, values in view.source.input.categories.items():
        if _unseen_is_missing(view.source.input):
            # Categories that the model knows but does not split on differ from those that it has never seen.
            categories[j] = values
        else:
            # Categorical features without a split are in no term, but must not become numeric.
            categories.setdefault(j, values)
    bins: list[list[Any]] = []
    for j in range(n_features):
        if j in categories:
            bins.append([{_as_text(value): i + 1 for i, value in enumerate(categories[j].tolist())}])
            continue
        main, pairs = (
            np.unique(np.concatenate([np.empty(0), *parts])).astype(np.float64) for parts in edges[j]
        )
        bins.append([main, pairs] if edges[j][1] else [main])
    return bins


def _unseen_is_missing(spec: InputSpec) -> bool:
    """Return whether categories that the model has never seen count as missing."""
    return spec.unknown_is_missing or spec.by_value


def _as_text(value: Any) -> str:
    """Write a category as InterpretML does: whole numbers without a decimal point, booleans as 0 and 1."""
    if isinstance(value, bool):
        return str(int(value))
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _level(bins: list[list[Any]], feature: int, order: int) -> Any:
    levels = bins[feature]
    return levels[min(order, len(levels)) - 1]


def _n_bins(level: Any) -> int:
    """Return the number of bins of a level; the first is for missing, the last for unseen values."""
    return len(level) + 2 if isinstance(level, dict) else len(level) + 3


def _check_size(bins: list[list[Any]], members: list[tuple[int, ...]], n_outputs: int) -> None:
    size = n_outputs * sum(
        float(np.prod([_n_bins(_level(bins, j, len(term))) for j in term], dtype=float)) for term in members
    )
    if size > budgets.ebm_cells:
        raise ValueError(
            f"the tables of the exported model would have {size:,.0f} numbers ({size / 2**27:,.1f} GiB), more than the "
            f"limit of {budgets.ebm_cells:,}. Use max_interaction=1, restrict features, or train on fewer bins "
            "(max_bin)"
        )


def _bounds(level: Any) -> tuple[float, float]:
    """Return the lowest and the highest cut; the background has no values that could serve as bounds."""
    if isinstance(level, dict) or not len(level):
        return np.nan, np.nan
    return float(level[0]), float(level[-1])


def _standard_errors(component: Term, resampled: Any) -> NDArray[np.float64]:
    """Return the standard errors of a component in its bins; zeros where they are not known."""
    if resampled is None or component.name not in resampled.components:
        return np.zeros_like(component.values)
    if not resampled.cells[component.name].on_table:
        raise ValueError(
            f"the component {component.name!r} was resampled on a grid of your own, not on its bins. Leave grid out"
        )
    errors = np.nan_to_num(resampled.std_error(component.name))
    return np.asarray(errors).reshape(component.values.shape)


def _on_bins(
    scores: NDArray[np.float64],
    component: Term,
    bins: list[list[Any]],
    term: tuple[int, ...],
    spec: InputSpec,
) -> NDArray[np.float64]:
    """Return numbers of the bins of a component's table for the bins of its term."""
    for i, (axis, j) in enumerate(zip(component.axes, term)):
        unseen = axis.missing if j in spec.categories and _unseen_is_missing(spec) else axis.missing - 1
        scores = np.take(scores, _table_bins(axis, _level(bins, j, len(term)), unseen), axis=i)
    return np.ascontiguousarray(scores)


def _table_bins(axis: Axis, level: Any, unseen: int) -> NDArray[np.int64]:
    """Return for every bin of a level the bin of the component's table; ``unseen`` is that of unseen categories."""
    if axis.categorical:
        position = {_as_text(value): i for i, value in enumerate(axis.edges.tolist())}
        return np.array([axis.missing, *(position.get(text, axis.missing - 1) for text in level), unseen])
    inner = np.searchsorted(axis.edges, level, side="right")
    # The last bin is for values that are not numbers; they count as missing.
    return np.array([axis.missing, 0, *inner, axis.missing])


def _bin_weights(
    view: Explained, background: Background, bins: list[list[Any]], term: tuple[int, ...]
) -> NDArray[Any]:
    """Return the weight of the background in every bin of a term."""
    grid, categories = view.grid, view.source.input.categories
    shape = tuple(_n_bins(_level(bins, j, len(term))) for j in term)
    flat = np.zeros(len(background.weight), np.int64)
    for j, size in zip(term, shape):
        used_feature = int(np.searchsorted(grid.features, j))
        level = _level(bins, j, len(term))
        if grid.categorical[used_feature]:
            codes = grid.cuts_of(used_feature).astype(np.int64)
            names = categories[j][codes] if j in categories else codes
            term_bin = np.array([*(level[_as_text(name)] for name in names.tolist()), size - 1, 0])
        else:
            term_bin = np.array([1, *(1 + np.searchsorted(level, grid.edges(used_feature), side="right")), 0])
        flat = flat * size + term_bin[background.bins[used_feature]]
    weights = np.bincount(flat, weights=background.weight, minlength=int(np.prod(shape)))
    return weights.reshape(shape)
