"""Compute accumulated local effects, whose jumps are at the model's own thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt
from sklearn.utils import Bunch

from skglex._decomposition import Explained, explained
from skglex._mixed_rows import Link, apply_link, identity
from skglex._response import on_response
from skglex._utils import rows_at_a_time, weight_chunks
from skglex.inspection._ale_axis import AleAxis, divide, locate_rows

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer


def ale(
    decomposer: GlexDecomposer,
    features: Any,
    X: Any = None,
    *,
    bins: Any = 40,
    scale: str = "margin",
    order: Any = None,
    sample_weight: Any = None,
) -> Bunch:
    r"""Compute the accumulated local effect of a feature, or of the interaction of two.

    Let z be the edges of bins of the feature j. Between them, the curve accumulates what happens to the rows nearby
    if only their :math:`x_j` changes [1]_. For x in :math:`(z_{k-1}, z_k]`, ::

        ale(x) = ale(z_{k-1}) + mean over the rows b in this bin of f(x, b_-j) - f(z_{k-1}, b_-j)

    minus a constant, so that the weighted mean over all rows is zero. At the edges this is the usual estimator. Between
    them, every jump is at the threshold where the model has it, and no straight line hides it. Unlike partial
    dependence, it moves no row further than to the end of its bin, so it hardly depends on what the model predicts for
    combinations of values that no row has.

    Parameters
    ----------
    decomposer : GlexDecomposer
        A fitted decomposer. Its weighting does not matter on the margin scale: the curve depends on the model and on
        the rows only.
    features : str, int, or tuple of two of these
        A feature; or two features, for their second-order effect.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
        The rows. None: the background, with its weights.
    bins : int, ndarray, or tuple of two of these, default=40
        The number of bins, whose edges are then quantiles of the rows; or the edges themselves, increasing. Of the
        background, a decomposer knows only between which thresholds of the model a value lies: its edges are such
        thresholds, and edges of your own need X. For two features: the same for both, or one for each.
    scale : {"margin", "response"}, default="margin"
        What f is: the margin, or the response (probability, price, count).
    order : list, or dict of str to list, default=None
        The categories of a categorical feature, in the order in which they are accumulated. For two features: a dict
        from a feature's name to its categories.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows X.

    Returns
    -------
    sklearn.utils.Bunch
        - ``effect``: ndarray of shape (n_steps,) or (n_steps_1, n_steps_2), with a last axis of outputs if there are
          several. The effect in units of f.
        - ``edges``: for each feature, the thresholds between its steps, as in `~skglex.components.Component.edges`:
          ``numpy.searchsorted(edges, x, side="right")`` is the step of x. For a category, its categories.
        - ``bins``: for each feature, the edges z, without those between empty bins.
        - ``features``: the names of the features.
        - ``n_missing``, ``n_outside``: the numbers of rows left out, because a value is missing, or because it is
          outside of the edges or a category that is not in ``order``.
        - ``n_empty``: the number of bins without a row. Such a bin is merged with the next one. For two features these
          are rectangles, and an empty one takes the rows of the nearest rectangle that has some.

    Raises
    ------
    ValueError
        An argument is invalid, a category has no ``order``, or no row is left. With ``scale="response"``: the weights
        are path-dependent.

    See Also
    --------
    skglex.plotting.AleDisplay : Draws the effects.
    skglex.GlexDecomposer.partial_dependence : The effect if a feature changes independently of all others.

    Notes
    -----
    For two features, the second differences ``f(x, y) - f(z_{k-1}, y) - f(x, z_{m-1}) + f(z_{k-1}, z_{m-1})`` are
    averaged over the rows in each rectangle and accumulated. Then the first-order effects of the result, evaluated at
    the rows themselves, and its mean are subtracted. The package ALEPlot evaluates them at the edges of the rectangles.
    For categories it moves the rows of both neighbours, where here only the rows of the upper category move down.

    References
    ----------
    .. [1] D. W. Apley, J. Zhu, "Visualizing the effects of predictor variables in black box supervised learning
       models", Journal of the Royal Statistical Society B 82(4), 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import ale
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).uniform(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, 4 * X[:, 0] + X[:, 1])
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> result = ale(decomposer, "x0", X)
    >>> result.effect.shape == (len(result.edges[0]) + 1,)
    True
    >>> at = np.searchsorted(result.edges[0], X[:, 0], side="right")
    >>> bool(abs(result.effect[at].mean()) < 1e-12), round(float(np.ptp(result.effect)))
    (True, 4)
    """
    view = explained(decomposer)
    if on_response(scale):
        link, labels = view.response_scale.link, view.response_labels
    elif (reason := view.source.response.without_margin) is not None:
        raise ValueError(reason)
    else:
        link, labels = identity, view.output_labels
    names = _names_of(view, features)
    if not (order is None or isinstance(order, dict) or len(names) == 1):
        raise ValueError(f"order must be a dict from names to categories for two features; got {order!r}")
    orders = order if isinstance(order, dict) else {names[0]: order}
    parts = list(bins) if isinstance(bins, tuple) and len(names) == 2 else [bins] * len(names)
    if len(parts) != len(names):
        raise ValueError(f"bins must have one entry for each of {names}; got {bins!r}")
    rows = view.weighted_rows(X, sample_weight).in_memory()
    Xt = None if X is None else view.check(view.as_rows(X))
    columns = [locate_rows(decomposer, view, name, Xt, rows.bins, orders.get(name)) for name in names]
    counted = rows.weight > 0
    missing = counted & np.any([column.missing for column in columns], axis=0)
    counted &= ~np.any([column.missing | column.outside for column in columns], axis=0)
    _require_rows(counted, names)
    weight = np.where(counted, rows.weight, 0.0)
    axes = [divide(column, view, part, weight) for column, part in zip(columns, parts)]
    counted &= ~np.any([axis.outside for axis in axes], axis=0)
    _require_rows(counted, names)
    curve = _Curve(view, link, axes, rows.bins[:, counted], rows.weight[counted], counted)
    effect = curve.first_order() if len(axes) == 1 else curve.second_order()
    return Bunch(
        features=names,
        effect=effect[0] if labels is None else np.moveaxis(effect, 0, -1),
        edges=[axis.edges for axis in axes],
        bins=[axis.bins for axis in axes],
        n_missing=int(missing.sum()),
        n_outside=int(((rows.weight > 0) & ~missing & ~counted).sum()),
        n_empty=axes[0].n_empty if len(axes) == 1 else curve.n_empty,
    )


def _names_of(view: Explained, features: Any) -> list[str]:
    """Return the names of one or two features, each of which is a single column of the model."""
    items = list(features) if isinstance(features, (tuple, list)) else [features]
    players = [player for item in items for player in view.members(item)]
    if not 1 <= len(players) <= 2 or len(set(players)) < len(players):
        raise ValueError(f"features must be one feature, or a tuple of two; got {features!r}")
    names = []
    for player in view.features_of(tuple(players)):
        columns = view.groups.columns_of(player)
        if len(columns) > 1:
            members = [view.feature_names[i] for i in columns[:10]]
            raise ValueError(
                f"{player!r} stands for the columns {members} of the model, which have no common order. Pass a single "
                "feature of a decomposer without groups"
            )
        names.append(view.feature_names[int(columns[0])])
    return names


def _require_rows(counted: NDArray[np.bool_], names: list[str]) -> None:
    if not counted.any():
        raise ValueError(
            f"no row is left for {names}: every value is missing, outside of the edges in bins, or not in order"
        )


class _Curve:
    """Accumulate mean differences of the model along one or two axes.

    Parameters
    ----------
    view : Explained
    link : callable
        Function from margins to f.
    axes : list of AleAxis
    bins : ndarray of shape (n_used_features, n_counted)
        Bins of the rows that count.
    weight : ndarray of shape (n_counted,)
    counted : ndarray of shape (n_rows,), bool
        Which rows of the axes these are.
    """

    def __init__(
        self,
        view: Explained,
        link: Link,
        axes: list[AleAxis],
        bins: NDArray[Any],
        weight: NDArray[np.float64],
        counted: NDArray[np.bool_],
    ) -> None:
        self._view = view
        self._link = link
        self._n_outputs = len(apply_link(link, np.zeros((view.n_outputs, 1))))
        self._axes = axes
        self._bins = bins
        self._weight = weight
        self._steps = [axis.step[counted] for axis in axes]
        self._cells = [axis.cell[counted] for axis in axes]
        self.n_empty = 0

    def first_order(self) -> NDArray[np.float64]:
        """Return the effect at every step: (n_outputs, n_steps)."""
        (axis,), (cell,), (step,) = self._axes, self._cells, self._steps
        rows = np.flatnonzero((cell >= 0) & (np.diff(axis.ends, append=0)[cell] > 0))
        low, high = axis.ends[cell[rows]], axis.ends[cell[rows] + 1]
        jumps = np.zeros((self._n_outputs, axis.n_steps - 1))
        for visit, (at,), f in self._visit(rows, [low], [high]):
            inner = np.flatnonzero(at > low[visit])
            weight = self._weight[rows[visit[inner]]]
            _add_at(jumps, at[inner] - 1, weight * (f[:, inner] - f[:, inner - 1]))
        inside = cell >= 0
        total = np.bincount(cell[inside], self._weight[inside], axis.n_bins)
        effect = _accumulate(jumps / total[axis.bin_of_jump], 1)
        return effect - self._mean(effect[:, step])[:, None]

    def second_order(self) -> NDArray[np.float64]:
        """Return the effect at every pair of steps: (n_outputs, n_steps_1, n_steps_2)."""
        first, second = self._axes
        effect = np.zeros((self._n_outputs, first.n_steps, second.n_steps))
        rectangle = self._cells[0] * second.n_bins + self._cells[1]
        rows = np.flatnonzero((self._cells[0] >= 0) & (self._cells[1] >= 0))
        rows = rows[np.argsort(rectangle[rows], kind="stable")]
        n_rectangles = first.n_bins * second.n_bins
        counts = np.bincount(rectangle[rows], minlength=n_rectangles)
        self.n_empty = int((counts == 0).sum())
        if not counts.any():
            return effect
        source = _nearest(counts.reshape(first.n_bins, second.n_bins) > 0)
        total = np.bincount(rectangle[rows], self._weight[rows], n_rectangles)[source]
        k, m = np.divmod(np.arange(n_rectangles), second.n_bins)
        has_jumps = np.flatnonzero((np.diff(first.ends)[k] > 0) & (np.diff(second.ends)[m] > 0))
        # The rows of each rectangle's source, one rectangle after the other.
        n_rows = counts[source[has_jumps]]
        begin = (np.cumsum(counts) - counts)[source[has_jumps]]
        of = np.repeat(has_jumps, n_rows)
        rows = rows[np.arange(len(of)) + np.repeat(begin - (np.cumsum(n_rows) - n_rows), n_rows)]
        low = [first.ends[k[of]], second.ends[m[of]]]
        high = [first.ends[k[of] + 1], second.ends[m[of] + 1]]
        flat = np.zeros((self._n_outputs, (first.n_steps - 1) * (second.n_steps - 1)))
        for visit, (p, q), f in self._visit(rows, low, high):
            inner = np.flatnonzero((p > low[0][visit]) & (q > low[1][visit]))
            back = inner - (high[1] - low[1] + 1)[visit[inner]]
            second_difference = f[:, inner] - f[:, back] - f[:, inner - 1] + f[:, back - 1]
            weight = self._weight[rows[visit[inner]]]
            at = (p[inner] - 1) * (second.n_steps - 1) + q[inner] - 1
            _add_at(flat, at, weight * second_difference)
        jumps = flat.reshape(-1, first.n_steps - 1, second.n_steps - 1)
        of_jump = first.bin_of_jump[:, None] * second.n_bins + second.bin_of_jump
        effect = _accumulate(_accumulate(jumps / total[of_jump], 1), 2)
        mains = self._main_effect(effect, 0)[:, :, None], self._main_effect(effect, 1)[:, None]
        effect = effect - mains[0] - mains[1]
        return effect - self._mean(effect[:, self._steps[0], self._steps[1]])[:, None, None]

    def _main_effect(self, effect: NDArray[np.float64], along: int) -> NDArray[np.float64]:
        """Return the first-order effect of a function of both axes along one of them: (n_outputs, n_steps)."""
        axis, other = self._axes[along], self._axes[1 - along]
        inside = np.flatnonzero(self._cells[along] >= 0)
        at = self._cells[along][inside] * other.n_steps + self._steps[1 - along][inside]
        weight = np.bincount(at, self._weight[inside], axis.n_bins * other.n_steps).reshape(
            axis.n_bins, other.n_steps
        )
        total = weight.sum(axis=1, keepdims=True)
        share = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
        difference = np.diff(np.moveaxis(effect, along + 1, 1), axis=1)
        return _accumulate((difference * share[axis.bin_of_jump]).sum(axis=2), 1)

    def _visit(
        self,
        rows: NDArray[np.int64],
        low: list[NDArray[np.int64]],
        high: list[NDArray[np.int64]],
    ) -> Iterator[tuple[NDArray[np.int64], list[NDArray[np.int64]], NDArray[np.float64]]]:
        """Evaluate the model at rows that are moved to all steps from ``low`` to ``high``, the last axis first.

        Yields
        ------
        visit : ndarray of shape (n,), int64
            Positions in ``rows``.
        steps : list of ndarray of shape (n,), int64
            The step along each axis.
        values : ndarray of shape (n_outputs, n)
        """
        sizes = [b - a + 1 for a, b in zip(low, high)]
        total = np.prod(sizes, axis=0)
        for start, stop in weight_chunks(total, rows_at_a_time(len(self._bins))):
            n = total[start:stop]
            visit = np.repeat(np.arange(start, stop), n)
            rest = np.arange(len(visit)) - np.repeat(np.cumsum(n) - n, n)
            bins, steps = self._bins[:, rows[visit]], []
            for axis, begin, size in reversed(list(zip(self._axes, low, sizes))):
                steps.append(begin[visit] + rest % size[visit])
                rest //= size[visit]
                bins[axis.used] = axis.step_bins[steps[-1]]
            margins = self._view.decomposition.margins(bins, self._view.execution)
            yield visit, steps[::-1], apply_link(self._link, margins)

    def _mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(values @ self._weight / self._weight.sum())


def _add_at(total: NDArray[np.float64], at: NDArray[np.int64], values: NDArray[np.float64]) -> None:
    """Add values of shape (n_outputs, n) to the columns ``at`` of a total."""
    for row, part in zip(total, values):
        row += np.bincount(at, part, len(row))


def _accumulate(jumps: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return the sums of jumps along an axis, which begin with 0."""
    width = [(0, 0)] * jumps.ndim
    width[axis] = (1, 0)
    return np.pad(np.cumsum(jumps, axis=axis), width)


def _nearest(filled: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each rectangle the nearest one that has rows, by the share of the bins between them."""
    shape = filled.shape
    found = distance_transform_edt(
        ~filled, sampling=[1 / n for n in shape], return_distances=False, return_indices=True
    )
    return np.asarray(np.ravel_multi_index(tuple(found), shape).ravel(), dtype=np.int64)
