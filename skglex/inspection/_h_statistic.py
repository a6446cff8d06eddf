"""Measure interactions by Friedman and Popescu's H-squared statistics."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from skglex._decomposition import Decomposition, Explained, ListedComponents, average_out, explained
from skglex._input import column_names
from skglex._leaves import Background
from skglex._utils import budgets, scaled
from skglex.inspection._tables import as_table, label_columns

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer

# A numerator below this part of the variance of f is rounding.
_ROUNDING = 1e-20

Players = tuple[int, ...]
# Numerator and denominator, each of shape (n_outputs,).
Ratio = tuple[NDArray[np.float64], NDArray[np.float64]]


def h_statistic(
    decomposer: GlexDecomposer,
    features: Any = None,
    order: int = 2,
    *,
    normalize: bool = True,
    sample_weight: Any = None,
) -> Any:
    r"""Compute Friedman and Popescu's :math:`H^2`, the strength of interactions between 0 and 1.

    ``PD_S`` is the partial dependence function of the features S, minus its mean over the background, and f the
    margin minus its mean. Sums are over the background rows, with their weights [1]_ ::

        order 1:    H2_j   = sum (f - PD_j - PD_-j)^2 / sum f^2
        order 2:    H2_jk  = sum (PD_jk - PD_j - PD_k)^2 / sum PD_jk^2
        order 3:    H2_jkl = sum (PD_jkl - PD_jk - PD_jl - PD_kl + PD_j + PD_k + PD_l)^2 / sum PD_jkl^2
        "total":    H2     = sum (f - sum over j of PD_j)^2 / sum f^2

    where ``PD_-j`` depends on all features but j. The numerator of order 2 or 3 is the variance of the component of
    these features. The definitions are those of the R package hstats, which computes them by brute force.

    Parameters
    ----------
    decomposer : GlexDecomposer
        A fitted decomposer. If its weights are path-dependent, so are the partial dependence functions, and `fit` must
        have got rows.
    features : list of str, int or tuple, or "total", default=None
        A list of features: all pairs (or triples) of them. A list of tuples of features, or of names such as "a:b":
        these pairs (or triples). None: everything whose statistic is not zero by structure, because some path of the
        model has all of the features. ``"total"``: the share of all interactions together.
    order : {1, 2, 3}, default=2
        1: every feature with all others. 2: pairs. 3: triples, beyond their pairs.
    normalize : bool, default=True
        Divide by the denominator. False: return the numerator divided by the sum of the weights. It is in squared units
        of the margin and can be compared between pairs, which the ratio of a pair with little effect cannot.
    sample_weight : array-like of shape (n_background,), default=None
        Weights of the background rows instead of those that `fit` got. Empirical partial dependence is averaged with
        them too.

    Returns
    -------
    pandas.DataFrame, or dict of ndarray if pandas is not installed
        The columns ``feature`` (order 1) or ``component``, and ``h2``, or one ``label__h2`` per output. The largest
        statistic (by the sum over outputs) comes first. A statistic is 0 if its numerator is 0.

    Raises
    ------
    ValueError
        An argument is invalid, there are too many pairs to list, or `fit` got no rows.

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
    view = explained(decomposer)
    background, decomposition = view.background.in_memory(), view.decomposition
    if sample_weight is not None:
        background = _reweight(background, sample_weight)
        if view.estimator.weighting == "empirical":
            decomposition = _with_background(decomposition, background, order)
    effects = _Effects(view, decomposition, background)
    if isinstance(features, str) and features == "total":
        what, names, ratios = "component", ["total"], [effects.total()]
    else:
        sets = _sets_of(view, decomposition, features, order)
        names = column_names(view.groups.names, sets, view.estimator.separator)
        what = "feature" if order == 1 else "component"
        ratios = [effects.overall(j) for (j,) in sets] if order == 1 else effects.interactions(sets)
    numerator, denominator = np.array(ratios).reshape(-1, 2, view.n_outputs).transpose(1, 0, 2)
    numerator[numerator <= _ROUNDING * effects.variance] = 0.0
    if normalize:
        numerator = np.divide(numerator, denominator, out=numerator, where=numerator > 0)
    ranking = np.argsort(-numerator.sum(axis=1), kind="stable")
    ranked = {what: [names[i] for i in ranking], **label_columns(view, "h2", numerator[ranking])}
    return as_table(ranked)


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


def _sets_of(view: Explained, decomposition: Decomposition, features: Any, order: int) -> list[Players]:
    """Return the sets of players that a user asks for."""
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


class _Effects:
    """Compute centred partial dependence functions at the background rows, on the margin scale.

    Parameters
    ----------
    view : Explained
    decomposition : Decomposition
    background : Background
        The rows, and the weights of the sums.
    """

    def __init__(self, view: Explained, decomposition: Decomposition, background: Background) -> None:
        self._view = view
        self._decomposition = decomposition
        self._bins = background.bins
        self._share = background.weight / background.total
        self._margin = self._centre(decomposition.margins(background.bins, view.execution))
        self.variance = self._mean_square(self._margin)
        self._lists: dict[int, tuple[ListedComponents | None, dict[Players, int]]] = {}

    def total(self) -> Ratio:
        """Return the statistic of all interactions together."""
        rest = self._margin.copy()
        used = np.unique(self._decomposition.players.player_of_feature)
        for batch in self._batches([(int(j),) for j in used]):
            rest -= self._components(batch).sum(axis=1)
        return self._mean_square(self._centre(rest)), self.variance

    def overall(self, player: int) -> Ratio:
        """Return the statistic of the interactions of one player with all others."""
        decomposition = self._decomposition
        keep = decomposition.players.player_of_feature != player
        without = average_out(decomposition.ensemble, decomposition.weighting, keep, self._view.execution)
        rest = self._margin - without(self._bins, self._view.execution) - self._components([(player,)])[:, 0]
        return self._mean_square(self._centre(rest)), self.variance

    def interactions(self, sets: list[Players]) -> list[Ratio]:
        """Return the statistics of sets of several players."""
        return [ratio for batch in self._batches(sets) for ratio in self._interactions(batch)]

    def _interactions(self, sets: list[Players]) -> list[Ratio]:
        within = [[u for k in range(1, len(s) + 1) for u in combinations(s, k)] for s in sets]
        position = {u: i for i, u in enumerate(dict.fromkeys(u for subsets in within for u in subsets))}
        components = self._components(list(position))
        out = []
        for subsets in within:
            rows = [position[u] for u in subsets]
            parts = components[:, rows[-1]], components[:, rows].sum(axis=1)
            numerator, denominator = (self._mean_square(self._centre(part)) for part in parts)
            out.append((numerator, denominator))
        return out

    def _batches(self, sets: list[Players]) -> list[list[Players]]:
        """Divide sets so that their components at all rows fit into a buffer."""
        width = self._bins.shape[1] * self._view.n_outputs * max(map(len, sets), default=1)
        size = max(scaled(budgets.buffer_size) // max(width, 1), 1)
        return [sets[i : i + size] for i in range(0, len(sets), size)]

    def _components(self, sets: list[Players]) -> NDArray[np.float64]:
        """Return the components of some sets at all rows: (n_outputs, n_sets, n_rows)."""
        out = np.zeros((self._view.n_outputs, len(sets), self._bins.shape[1]))
        listed, position = self._list(max(map(len, sets), default=1))
        known = [i for i, members in enumerate(sets) if members in position]
        if listed is not None and known:
            chosen = np.array([position[sets[i]] for i in known], dtype=np.int64)
            out[:, known] = self._view.component_values(listed, self._bins, chosen)
        for i, members in enumerate(sets):
            if members not in position and self._decomposition.together(members):
                alone = self._decomposition.single(members)
                out[:, i] = self._view.component_values(alone, self._bins)[:, 0]
        return out

    def _list(self, order: int) -> tuple[ListedComponents | None, dict[Players, int]]:
        """Return the components up to an order and the position of each; None and nothing if they are too many."""
        if order not in self._lists:
            try:
                listed = self._decomposition.up_to(order)
                self._lists[order] = listed, {members: i for i, members in enumerate(listed.sets)}
            except ValueError:
                self._lists[order] = None, {}
        return self._lists[order]

    def _centre(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Subtract the weighted mean over the rows, which are the last axis."""
        return np.asarray(values - (values @ self._share)[..., None])

    def _mean_square(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((values**2) @ self._share)
