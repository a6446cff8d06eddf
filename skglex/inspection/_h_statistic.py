"""Measure interactions by Friedman and Popescu's H-squared statistics."""

from __future__ import annotations

from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from skglex._decomposition import Decomposition, Explained, explained
from skglex._input import column_names
from skglex._leaves import Background
from skglex._response import on_response
from skglex._utils import budgets
from skglex.inspection._h_effects import Effects, MarginEffects, Players, Ratio, ResponseEffects
from skglex.inspection._tables import as_table, label_columns

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer

# A numerator below this part of the variance of f is rounding.
_ROUNDING = 1e-20


def h_statistic(
    decomposer: GlexDecomposer,
    features: Any = None,
    order: int = 2,
    *,
    scale: str = "margin",
    grid_resolution: int | None = 20,
    normalize: bool = True,
    sample_weight: Any = None,
) -> Any:
    r"""Compute Friedman and Popescu's :math:`H^2`, the strength of interactions between 0 and 1.

    ``PD_S`` is the partial dependence function of the features S, minus its mean over the background, and f the
    margin or the response, minus its mean. Sums are over the background rows, with their weights [1]_ ::

        order 1:    H2_j   = sum (f - PD_j - PD_-j)^2 / sum f^2
        order 2:    H2_jk  = sum (PD_jk - PD_j - PD_k)^2 / sum PD_jk^2
        order 3:    H2_jkl = sum (PD_jkl - PD_jk - PD_jl - PD_kl + PD_j + PD_k + PD_l)^2 / sum PD_jkl^2
        "total":    H2     = sum (f - sum over j of PD_j)^2 / sum f^2

    where ``PD_-j`` depends on all features but j. The numerator of order 2 or 3 is the variance of the component of
    these features. The definitions are those of the R package hstats, which computes them by brute force.

    Parameters
    ----------
    decomposer : GlexDecomposer
        A fitted decomposer. If its weights are path-dependent, so are the partial dependence functions, and ``fit``
        must have got rows.
    features : list of str, int or tuple, or "total", default=None
        A list of features: all pairs (or triples) of them. A list of tuples of features, or of names such as "a:b":
        these pairs (or triples). None: all that are not zero by structure, since some path of the model has all of the
        features; on the response scale all pairs (or triples). ``"total"``: the share of all interactions together.
    order : {1, 2, 3}, default=2
        1: every feature with all others. 2: pairs. 3: triples, beyond their pairs.
    scale : {"margin", "response"}, default="margin"
        What f is: the margin, from the components; or the response (probability, price, count), averaged over the
        background. Features that do not interact on one scale may do so on the other.
    grid_resolution : int, default=20
        For pairs and triples on the response scale: the number of values of each numeric feature for which the
        interaction is computed, quantiles of the background. Between them it is interpolated. A feature with fewer
        values has all of them. None: no grid.
    normalize : bool, default=True
        Divide by the denominator. False: return the numerator divided by the sum of the weights. It is in squared units
        of the margin and can be compared between pairs. The ratio of two weak features may be large.
    sample_weight : array-like of shape (n_background,), default=None
        Weights of the background rows instead of those that ``fit`` got. Empirical partial dependence is averaged with
        them too.

    Returns
    -------
    pandas.DataFrame, or dict of ndarray if pandas is not installed
        The columns ``feature`` (order 1) or ``component``, and ``h2``, or one ``label__h2`` per output. The largest
        statistic (by the sum over outputs) comes first. A statistic is 0 if its numerator is 0. Pairs and triples on
        the response scale also have ``error``, an estimate of the grid's error: 0 without a grid, otherwise derived
        from how much the interaction changes without every second value. It is usually too large.

    Raises
    ------
    ValueError
        An argument is invalid, there are too many pairs to list, or ``fit`` got no rows. On the response scale: the
        weights are path-dependent.

    Warns
    -----
    SlowComputationWarning
        The response scale will take longer than a minute.

    See Also
    --------
    component_importance : Mean absolute values of components.
    interaction_strength : The share of each order in the variance of the margin.

    References
    ----------
    .. [1] J. H. Friedman, B. E. Popescu, "Predictive learning via rule ensembles", The Annals of Applied Statistics
       2(3), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import h_statistic
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, X[:, 0] + 2 * X[:, 0] * X[:, 1])
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> h_statistic(decomposer).round(1)[:1]
      component   h2
    0     x0:x1  0.5
    >>> h_statistic(decomposer, "total").round(1)
      component   h2
    0     total  0.5
    """
    if order not in (1, 2, 3):
        raise ValueError(f"order must be 1, 2 or 3; got {order!r}")
    if grid_resolution is not None and not (isinstance(grid_resolution, Integral) and grid_resolution >= 3):
        raise ValueError(
            f"grid_resolution must be an integer of at least 3, or None; got {grid_resolution!r}"
        )
    view = explained(decomposer)
    background, decomposition = view.background.in_memory(), view.decomposition
    if sample_weight is not None:
        background = _reweight(background, sample_weight)
        if view.estimator.weighting == "empirical":
            decomposition = _with_background(decomposition, background, order)
    effects: Effects = MarginEffects(view, decomposition, background)
    if on_response(scale):
        effects = ResponseEffects(view, decomposition, background, grid_resolution)
    if isinstance(features, str) and features == "total":
        what, names, ratios = "component", ["total"], [effects.total()]
    else:
        sets = _sets_of(view, decomposition, features, order, scale)
        names = column_names(view.groups.names, sets, view.estimator.separator)
        what = "feature" if order == 1 else "component"
        ratios = [effects.overall(j) for (j,) in sets] if order == 1 else effects.interactions(sets)
    least = _ROUNDING * effects.variance
    h2, error = (
        np.array([compute(ratio, least, normalize=normalize) for ratio in ratios]).reshape(-1, len(least))
        for compute in (Ratio.value, Ratio.error)
    )
    ranking = np.argsort(-h2.sum(axis=1), kind="stable")
    table = {what: [names[i] for i in ranking], **label_columns(view, "h2", h2[ranking], scale=scale)}
    if on_response(scale) and what == "component" and names != ["total"]:
        table |= label_columns(view, "error", error[ranking], scale=scale)
    return as_table(table)


def _reweight(background: Background, sample_weight: Any) -> Background:
    """Return the background rows with other weights."""
    weight = _check_sample_weight(
        sample_weight, np.empty((background.n_rows, 0)), dtype=np.float64, ensure_non_negative=True
    )
    if not weight.any():
        raise ValueError("sample_weight is zero for every row. Pass at least one positive weight")
    return Background(background.bins, weight)


def _with_background(decomposition: Decomposition, background: Background, order: int) -> Decomposition:
    """Return the decomposition of the same model over another background."""
    other = Decomposition(
        decomposition.ensemble,
        decomposition.players,
        decomposition.n_players,
        background.weighting,
        order,
        decomposition.allowed,
    )
    other.list_components(budgets.held_components)
    return other


def _sets_of(
    view: Explained, decomposition: Decomposition, features: Any, order: int, scale: str
) -> list[Players]:
    """Return the sets of players that a user asks for."""
    if features is None and on_response(scale):
        allowed = decomposition.allowed
        players = np.unique(decomposition.players.player_of_feature)
        return list(combinations([int(j) for j in players if allowed is None or allowed[j]], order))
    if features is None:
        return [members for members in decomposition.up_to(order).sets if len(members) == order]
    items = [features] if isinstance(features, (str, int, np.integer)) else list(features)
    sets = [view.members(item) for item in items]
    if all(len(members) == 1 for members in sets) and len(sets) >= order:
        return list(combinations(sorted({j for (j,) in sets}), order))
    if wrong := [item for item, members in zip(items, sets) if len(members) != order]:
        raise ValueError(
            f"features must be a list of at least {order} features, or a list of sets of {order} features each "
            f"(order={order}); got {wrong[0]!r}"
        )
    return list(dict.fromkeys(sets))
