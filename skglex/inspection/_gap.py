"""Explain the difference of the mean predictions of groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from skglex._decomposition import Explained, average_out, explained, shapley_parts
from skglex._input import iter_binned, named_column
from skglex.inspection._group_difference import check_groups
from skglex.inspection._results import Result
from skglex.inspection._tables import as_table, label_columns

if TYPE_CHECKING:
    from skglex.plotting import PartsDisplay


@dataclass(frozen=True, repr=False, eq=False)
class Gap(Result):
    """Hold the difference of mean margins between groups as a sum over features.

    `explain_gap` returns it. ``print`` shows the first lines, ``plot`` draws the lines of one group.

    Parameters
    ----------
    decomposer : GlexDecomposer or FeatureRemover
        What was explained.
    groups : list
        The groups that are compared with the reference.
    reference : label, or None
        The group whose mean is subtracted. None: all rows that are not in the group.
    lines : list of str
        ``"direct"`` and ``"interactions"`` if the group has columns of its own, then the other features.
    values : ndarray of shape (n_groups, n_lines, n_outputs)
        What each line adds to the gap, on the margin scale.
    before : ndarray of shape (n_groups, n_lines, n_outputs), or None
        The same before features were removed or the model was edited. None for a decomposer.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import explain_gap
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> decomposer = GlexDecomposer(DecisionTreeRegressor().fit(X, X[:, 0])).fit(X)
    >>> gap = explain_gap(decomposer, X, X[:, 0] > 0)
    >>> gap.groups, gap.reference, gap.proxies(1)
    ([True], False, ['x0'])
    >>> gap.plot().names[0]
    'x0'
    """

    decomposer: Any
    groups: list[Any]
    reference: Any
    lines: list[str]
    values: NDArray[np.float64]
    before: NDArray[np.float64] | None

    @property
    def gap(self) -> NDArray[np.float64]:
        """Return the gap of each group: shape (n_groups, n_outputs)."""
        return np.asarray(self.values.sum(axis=1))

    @property
    def table(self) -> Any:
        """Return one line per group and part, the largest feature of a group first.

        Returns
        -------
        pandas.DataFrame, or dict of ndarray if pandas is not installed
            Columns ``group``, ``part``, ``before`` if there is a model before, and ``gap``. Several outputs have
            columns ``label__gap``. All numbers are on the margin scale.
        """
        view = explained(self.decomposer, removers=True)
        n_lines = self.values.shape[1]
        own = sum(line in _OWN for line in self.lines)
        size = np.abs(self.values if self.before is None else self.before).sum(axis=2)
        size[:, :own] = np.inf
        ranking = np.argsort(-size, axis=1, kind="stable")

        def flat(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.take_along_axis(values, ranking[:, :, None], axis=1).reshape(-1, view.n_outputs)

        columns: dict[str, Any] = {
            "group": [group for group in self.groups for _ in range(n_lines)],
            "part": np.array(self.lines, dtype=object)[ranking].ravel(),
        }
        if self.before is not None:
            columns |= label_columns(view, "before", flat(self.before))
        return as_table({**columns, **label_columns(view, "gap", flat(self.values))})

    @property
    def headline(self) -> str:
        """Return the gaps in one sentence."""
        than = "all others" if self.reference is None else f"the group {self.reference!r}"
        gaps = "; ".join(
            f"{group!r} by {self._numbers(gap)}" for group, gap in zip(self.groups[:3], self.gap)
        )
        more = ", ..." if len(self.groups) > 3 else ""
        return f"The mean margin of a group differs from that of {than}: {gaps}{more}."

    def proxies(self, k: int = 5, *, group: Any = None, output: Any = None) -> list[str]:
        """Return the features that carry most of the gap, besides the group's own columns.

        Parameters
        ----------
        k : int, default=5
            Number of features.
        group : label, default=None
            The group. Required if several groups are compared.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.

        Returns
        -------
        list of str
            Features whose part has the sign of the gap that the features carry together, the largest first.
        """
        position = explained(self.decomposer, removers=True).output_position(output, "output")
        values = self.values[self._position(group), :, position]
        carries = np.array([line not in _OWN for line in self.lines])
        sign = np.sign(values[carries].sum())
        ranking = np.argsort(-sign * values, kind="stable")
        return [self.lines[i] for i in ranking if carries[i] and sign * values[i] > 0][:k]

    def plot(
        self,
        *,
        group: Any = None,
        output: Any = None,
        k: int = 15,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> PartsDisplay:
        """Draw the largest lines of one group as bars.

        Parameters
        ----------
        group : label, default=None
            The group. Required if several groups are compared.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        k : int, default=15
            Number of lines. The other lines share one bar.
        target, units : str, default=None
            Name and unit of the target, for labels. None: the kind of the margin ("prediction", "log-odds", ...).
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        PartsDisplay
            The display, with the figure and axes as attributes.
        """
        i = self._position(group)
        than = "all others" if self.reference is None else self.reference
        title = f"{self.groups[i]} against {than}: {self._shown(self.gap[i], output)}"
        options = {"output": output, "k": k, "target": target, "units": units, "ax": ax}
        return self._draw(self.lines, {"gap": self.values[i]}, title, **options)

    def _position(self, group: Any) -> int:
        """Return the position of a group; None stands for the only one."""
        if group is None and len(self.groups) == 1:
            return 0
        if group not in self.groups:
            raise ValueError(f"group must be one of {self.groups}; got {group!r}")
        return self.groups.index(group)


_DIRECT, _INTERACTIONS, _REMAINDER = "direct", "interactions", "remainder"
_OWN = (_DIRECT, _INTERACTIONS)


def explain_gap(
    decomposer: Any,
    X: Any,
    groups: Any,
    *,
    features: Any = None,
    reference: Any = None,
    sample_weight: Any = None,
) -> Gap:
    """Explain the difference of the mean predictions of groups, feature by feature.

    The gap is the mean margin of a group minus that of the reference. With G, the group's own columns, it is the sum of

    - ``direct``: what the group's own columns add by themselves, the difference of the means of m_G;
    - ``interactions``: the components that hold G and other features;
    - one line per other feature k: the sum of m_S / ``|S|`` over all S that hold k and no column of G. This is the
      difference of the mean SHAP values of the model without G: what a model that does not look at the group still
      does by other features that differ between the groups.

    All orders are in it, whatever ``max_interaction`` says, and the lines add up to the gap.

    Parameters
    ----------
    decomposer : GlexDecomposer, FeatureRemover or ComponentModel
        A fitted decomposer. For a fitted `~skglex.FeatureRemover` or `~skglex.ComponentModel` the lines are those of
        its margin, with those of the model before the removal or the edits beside them. What a component model keeps
        without listing it (``remainder=True``) is one line.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The rows whose predictions are compared.
    groups : array-like of shape (n_samples,) or str
        The group of each row, or the name of a column of X.
    features : str, int or list of these, default=None
        The columns G that say which group a row belongs to, as names or positions. None: the model has none.
    reference : label, default=None
        The group that all others are compared with. None: each group is compared with all other rows; of two groups,
        the second in sorted order is compared with the first.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    Gap
        One set of lines per group.

    Raises
    ------
    ValueError
        All rows are in one group, a group has no weight, or the reference is no group.

    See Also
    --------
    group_difference : The difference itself, of any prediction and statistic.
    skglex.FeatureRemover : Predict without the group's own columns.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.datasets import make_salary
    >>> from skglex.inspection import explain_gap
    >>> from xgboost import XGBRegressor
    >>> X, y = make_salary(2000, hours_sd=5, random_state=0)  # columns: sex, hours
    >>> model = XGBRegressor(n_estimators=100, max_depth=3).fit(X, y)
    >>> sex = np.where(X[:, 0] == 1, "male", "female")
    >>> gap = explain_gap(GlexDecomposer(model).fit(X), X, sex, features=[0])
    >>> gap.table["part"].tolist()
    ['direct', 'interactions', 'x1']
    >>> predicted = model.predict(X)
    >>> difference = predicted[sex == "male"].mean() - predicted[sex == "female"].mean()
    >>> bool(abs(gap.table["gap"].sum() - difference) < 1e-3)
    True
    """
    model = decomposer if hasattr(type(decomposer), "monotonicity") else None
    decomposer = decomposer if model is None else model.decomposer_
    view = explained(decomposer, removers=True)
    X = view.as_rows(X)
    rows = view.weighted_rows(X, sample_weight).in_memory()
    labels = check_groups(named_column(X, groups, "groups") if isinstance(groups, str) else groups)
    check_consistent_length(rows.weight, labels)
    compared, reference, contrast = _contrasts(labels, rows.weight, reference)
    own = [] if features is None else view.groups.resolve(features, view.feature_names, X=X)
    effects = _Effects(view, rows.bins, contrast)
    before = None
    values = effects.compute(own)
    if view.removed:
        before = values
        values = (1 - view.strength) * before + view.strength * effects.compute(own, view.removed)
    others = [name for i, name in enumerate(view.groups.names) if i not in own]
    if model is not None:
        before = values
        values = _lines_of_components(view, model, X, contrast, own)
        if model.remainder:
            before = np.concatenate([before, np.zeros_like(before[:, :1])], axis=1)
            others.append(_REMAINDER)
    return Gap(
        decomposer=decomposer,
        groups=compared,
        reference=reference,
        lines=[*(_OWN if own else ()), *others],
        values=values,
        before=before,
    )


def _lines_of_components(
    view: Explained, model: Any, X: Any, contrast: NDArray[np.float64], own: Sequence[int]
) -> NDArray[np.float64]:
    """Return the lines of a ComponentModel, from its components; the last is the remainder if it has one."""
    names, n_outputs = view.groups.names, view.n_outputs
    lines = np.zeros((contrast.shape[1], len(names) + 3, n_outputs))
    features, (direct, interactions, remainder) = lines[:, :-3], range(-3, 0)
    for component in model.components_:
        gap = contrast.T @ component.evaluate(X).reshape(len(contrast), n_outputs)
        players = [names.index(name) for name in component.features]
        if not set(players) & set(own):
            features[:, players] += gap[:, None] / len(players)
        else:
            lines[:, direct if set(players) <= set(own) else interactions] += gap
    lines[:, remainder] = contrast.T @ model.margin(X).reshape(len(contrast), n_outputs) - lines.sum(axis=1)
    others = [i for i in range(len(names)) if i not in own]
    chosen = [*((direct, interactions) if own else ()), *others, *((remainder,) if model.remainder else ())]
    return np.asarray(lines[:, chosen])


def _contrasts(
    labels: NDArray[Any], weight: NDArray[np.float64], reference: Any
) -> tuple[list[Any], Any, NDArray[np.float64]]:
    """Return the groups that are compared, the reference, and the weights whose sums are the gaps.

    The weights have the shape (n_samples, n_compared).
    """
    distinct = np.unique(labels)
    # Dates stay NumPy scalars, since `tolist` may turn them into integers.
    known = list(distinct) if distinct.dtype.kind in "mM" else distinct.tolist()
    if len(known) < 2:
        raise ValueError(
            f"all rows are in the group {known[0]!r}, so there is no gap. Pass rows of at least two groups"
        )
    if reference is not None and reference not in known:
        raise ValueError(f"reference must be one of the groups {known[:10]}; got {reference!r}")
    if reference is None and len(known) == 2:
        reference = known[0]
    totals = {label: float(weight[labels == label].sum()) for label in known}
    if (empty := [label for label, total in totals.items() if not total > 0]) != []:
        raise ValueError(
            f"sample_weight is zero on all rows of the group {empty[0]!r}: give at least one of them a positive "
            "weight, or leave the group out"
        )
    compared = [label for label in known if reference is None or label != reference]
    columns = []
    for label in compared:
        inside = labels == label
        outside = ~inside if reference is None else labels == reference
        columns.append(
            np.where(inside, weight, 0.0) / totals[label]
            - np.where(outside, weight, 0.0) / weight[outside].sum()
        )
    return compared, reference, np.column_stack(columns)


class _Effects:
    """Compute the lines of gaps: sums over rows with given weights.

    Parameters
    ----------
    view : Explained
    bins : ndarray of shape (n_used_features, n_samples)
    contrast : ndarray of shape (n_samples, n_compared)
        Weights of the rows, whose sums over a quantity are its gaps.
    """

    def __init__(self, view: Explained, bins: NDArray[Any], contrast: NDArray[np.float64]) -> None:
        self._view = view
        self._bins = bins
        self._contrast = contrast

    def compute(self, own: Sequence[int], removed: Sequence[int] = ()) -> NDArray[np.float64]:
        """Return the lines of shape (n_compared, n_lines, n_outputs) of the model without the players ``removed``."""
        decomposition, execution = self._view.decomposition, self._view.execution
        players = np.arange(decomposition.n_players)
        width, n_compared = decomposition.n_outputs * len(players), self._contrast.shape[1]
        phi = np.zeros((decomposition.n_outputs, len(players), n_compared))
        for part in shapley_parts(decomposition, [*own, *removed], execution):
            for start, stop, bins in iter_binned(self._bins, width):
                phi += part.shapley(bins, execution) @ self._contrast[start:stop]
        features = phi.transpose(2, 1, 0)[:, ~np.isin(players, own)]
        if not len(own):
            return np.asarray(features)
        kept = ~np.isin(players, removed)
        direct = self._gap_of(kept & np.isin(players, own))
        rest = self._gap_of(kept) - self._gap_of(kept & ~np.isin(players, own)) - direct
        return np.concatenate([direct[:, None], rest[:, None], features], axis=1)

    def _gap_of(self, players: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the gaps of the sum of all components of some players: shape (n_compared, n_outputs)."""
        decomposition, execution = self._view.decomposition, self._view.execution
        keep = players[decomposition.players.player_of_feature]
        averaged = average_out(decomposition.ensemble, decomposition.weighting, keep, execution)
        return np.asarray((averaged(self._bins, execution) @ self._contrast).T)
