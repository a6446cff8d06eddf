"""Compute centred partial dependence functions over rows, for H-squared."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Decomposition, Explained, ListedComponents, ResponseScale, average_out
from skglex._leaves import Background
from skglex._mixed_rows import apply_link, cell_axis, mean_over_rows, warn_of_grids
from skglex._utils import budgets, scaled

Players = tuple[int, ...]


class Ratio(NamedTuple):
    """Hold a statistic of every output.

    Attributes
    ----------
    numerator, denominator : ndarray of shape (n_outputs,)
    uncertain : ndarray of shape (n_outputs,)
        How much the numerator's function changes on a grid without every second knot: a mean square. 0 without a grid.
    """

    numerator: NDArray[np.float64]
    denominator: NDArray[np.float64]
    uncertain: NDArray[np.float64]

    @classmethod
    def exact(cls, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> Ratio:
        """Return a statistic without a grid."""
        return cls(numerator, denominator, np.zeros_like(numerator))

    def value(self, least: NDArray[np.float64], *, normalize: bool) -> NDArray[np.float64]:
        """Return the ratio, or the numerator alone; 0 if the numerator is at most ``least``."""
        numerator = np.where(self.numerator > least, self.numerator, 0.0)
        if not normalize:
            return numerator
        return np.divide(numerator, self.denominator, out=np.zeros_like(numerator), where=numerator > 0)

    def error(self, least: NDArray[np.float64], *, normalize: bool) -> NDArray[np.float64]:
        """Estimate the error of `value` that the grid causes.

        Let the function at the knots be off by as much as every second knot changes it. The mean square of its sum with
        such an error changes by up to twice the root of both mean squares, of which a random error is seldom half. The
        same change is in the denominator.
        """
        h2 = self.value(least, normalize=True) if normalize else np.zeros_like(self.numerator)
        change = (1 - h2) * np.sqrt(self.numerator * self.uncertain) + self.uncertain
        if not normalize:
            return change
        return np.divide(change, self.denominator, out=np.zeros_like(change), where=self.denominator > least)


class Effects(Protocol):
    """Compute the statistics of one scale.

    Attributes
    ----------
    variance : ndarray of shape (n_outputs,)
        Variance of the model over the rows.
    """

    variance: NDArray[np.float64]

    def total(self) -> Ratio:
        """Return the statistic of all interactions together."""

    def overall(self, player: int) -> Ratio:
        """Return the statistic of the interactions of one player with all others."""

    def interactions(self, sets: list[Players]) -> list[Ratio]:
        """Return the statistics of sets of several players."""


@dataclass(frozen=True)
class Moments:
    """Compute moments over points, which are the last axis of values.

    Attributes
    ----------
    share : ndarray of shape (n_points,)
        The weight of each point; the weights sum to one.
    """

    share: NDArray[np.float64]

    def centre(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Subtract the mean."""
        return np.asarray(values - (values @ self.share)[..., None])

    def mean_square(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of the squares."""
        return np.asarray((values**2) @ self.share)

    def variance(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of the squares of centred values."""
        return self.mean_square(self.centre(values))


class MarginEffects:
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
        self._moments = Moments(background.weight / background.total)
        self._margin = self._moments.centre(decomposition.margins(background.bins, view.execution))
        self.variance = self._moments.mean_square(self._margin)
        self._lists: dict[int, tuple[ListedComponents | None, dict[Players, int]]] = {}

    def total(self) -> Ratio:
        """Return the statistic of all interactions together."""
        rest = self._margin.copy()
        used = np.unique(self._decomposition.players.player_of_feature)
        for batch in self._batches([(int(j),) for j in used]):
            rest -= self._components(batch).sum(axis=1)
        return Ratio.exact(self._moments.variance(rest), self.variance)

    def overall(self, player: int) -> Ratio:
        """Return the statistic of the interactions of one player with all others."""
        decomposition = self._decomposition
        keep = decomposition.players.player_of_feature != player
        without = average_out(decomposition.ensemble, decomposition.weighting, keep, self._view.execution)
        rest = self._margin - without(self._bins, self._view.execution) - self._components([(player,)])[:, 0]
        return Ratio.exact(self._moments.variance(rest), self.variance)

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
            out.append(Ratio.exact(*map(self._moments.variance, parts)))
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


class _Place(NamedTuple):
    """Say between which knots every row lies along one player.

    Attributes
    ----------
    low, high : ndarray of shape (n_rows,), int64
        Positions of the knots.
    part : ndarray of shape (n_rows,)
        How far the row is on the way from ``low`` to ``high``.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    part: NDArray[np.float64]


@dataclass(frozen=True)
class _Values:
    """Hold the values of a player, and the knots among them where its interactions are computed.

    Attributes
    ----------
    used_features : ndarray of shape (n_free,), int64
    bins : ndarray of shape (n_free, n_values)
        All values that the rows have.
    of_row : ndarray of shape (n_rows,), int64
    knots : ndarray of shape (n_knots,), int64
        Positions of the knots among the values.
    places : tuple of two _Place
        Where the rows lie, among all knots and among every second one.
    """

    used_features: NDArray[np.int64]
    bins: NDArray[np.unsignedinteger]
    of_row: NDArray[np.int64]
    knots: NDArray[np.int64]
    places: tuple[_Place, _Place]


class ResponseEffects:
    """Compute H-squared on the scale of the response: of sets of players on grids of values.

    Parameters
    ----------
    view : Explained
    decomposition : Decomposition
    background : Background
        The rows to average over, and the weights of the sums.
    grid_resolution : int, or None
        Number of values of each numeric feature. None: all that the rows have.
    """

    def __init__(
        self,
        view: Explained,
        decomposition: Decomposition,
        background: Background,
        grid_resolution: int | None,
    ) -> None:
        self._view = view
        self._ensemble = decomposition.ensemble
        self._player_of_feature = decomposition.players.player_of_feature
        self._background = background
        self._resolution = grid_resolution
        self._scale = scale = ResponseScale(decomposition, background, view.source.response)
        self._link = scale.link
        self._moments = Moments(background.weight / background.total)
        margins = decomposition.margins(background.bins, view.execution)
        self._response = self._moments.centre(apply_link(self._link, margins))
        self.variance = self._moments.mean_square(self._response)

    def total(self) -> Ratio:
        """Return the statistic of all interactions together."""
        sets = [(int(player),) for player in np.unique(self._player_of_feature)]
        mains = self._scale.means(sets, self._background.bins, self._view.execution)
        return Ratio.exact(self._moments.variance(self._response - mains.sum(axis=1)), self.variance)

    def overall(self, player: int) -> Ratio:
        """Return the statistic of the interactions of one player with all others."""
        others = np.setdiff1d(self._player_of_feature, [player])
        sets = [(player,), tuple(others.tolist())]
        means = self._scale.means(sets, self._background.bins, self._view.execution)
        return Ratio.exact(self._moments.variance(self._response - means.sum(axis=1)), self.variance)

    def interactions(self, sets: list[Players]) -> list[Ratio]:
        """Return the statistics of sets of several players."""
        execution, ensemble = self._view.execution, self._ensemble
        values = {player: self._values(player) for player in sorted({j for members in sets for j in members})}
        within = {members: _subsets(members) for members in sets}
        subsets = sorted({u for parts in within.values() for u in parts}, key=lambda u: (len(u), u))
        bins = {j: (v.bins, np.ascontiguousarray(v.bins[:, v.knots])) for j, v in values.items()}
        every, knots = (
            {j: cell_axis(ensemble, v.used_features, bins[j][i]) for j, v in values.items()} for i in (0, 1)
        )
        grids = [[every[u[0]]] if len(u) == 1 else [knots[j] for j in u] for u in subsets]
        n_cells = [float(np.prod([axis.n_cells for axis in axes])) for axes in grids]
        free = [np.concatenate([axis.used_features for axis in axes]) for axes in grids]
        what = "H-squared on the response scale"
        warn_of_grids(ensemble, self._background.n_rows, free, n_cells, what, joint=False)
        means = dict(
            zip(
                subsets,
                mean_over_rows(ensemble, self._background, grids, self._link, execution, label="H-squared"),
            )
        )
        return [self._ratio(within[members], values, means) for members in sets]

    def _ratio(
        self,
        subsets: list[Players],
        values: dict[int, _Values],
        means: dict[Players, NDArray[np.float64]],
    ) -> Ratio:
        """Return the statistic of the last of some subsets, which are all subsets of it."""
        members = subsets[-1]
        fine, coarse = (
            [
                _interpolate(_component_on_knots(u, values, means), [values[j].places[i] for j in u])
                for u in subsets
                if len(u) > 1
            ]
            for i in (0, 1)
        )
        # Main effects are known at all values.
        mains = [means[(j,)][:, values[j].of_row] for j in members]
        return Ratio(
            self._moments.variance(fine[-1]),
            self._moments.variance(np.sum([*mains, *fine], axis=0)),
            self._moments.variance(fine[-1] - coarse[-1]),
        )

    def _values(self, player: int) -> _Values:
        """Choose the knots of a player: all of its values, or quantiles of a numeric feature with many."""
        used = np.flatnonzero(self._player_of_feature == player)
        bins, of_row = np.unique(self._background.bins[used], axis=1, return_inverse=True)
        of_row, n = of_row.ravel(), bins.shape[1]
        numeric = len(used) == 1 and not self._ensemble.grid.categorical[used[0]]
        if self._resolution is None or n <= self._resolution or not numeric:
            place = _Place(of_row, of_row, np.zeros(len(of_row)))
            return _Values(used, bins, of_row, np.arange(n), (place, place))
        n_numbers = n - int(bins[0, -1] == self._ensemble.grid.n_bins[used[0]] - 1)
        share = np.bincount(of_row, self._moments.share, n)[:n_numbers]
        knots = np.append(_quantile_knots(share, self._resolution), np.arange(n_numbers, n))
        second = np.arange(0, np.searchsorted(knots, n_numbers), 2)
        second = np.unique(np.append(second, np.flatnonzero(knots >= n_numbers - 1)))
        low, high, part = _place(of_row, knots[second])
        coarse = _Place(second[low], second[high], part)
        return _Values(used, bins, of_row, knots, (_place(of_row, knots), coarse))


def _subsets(members: Players) -> list[Players]:
    """Return the subsets of a set that are not empty, itself last."""
    return [u for k in range(1, len(members) + 1) for u in combinations(members, k)]


def _component_on_knots(
    members: Players, values: dict[int, _Values], means: dict[Players, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return a component of the response, up to a constant, at all combinations of knots."""
    total: NDArray[np.float64] = np.zeros(())
    for u in _subsets(members):
        part = means[u][:, values[u[0]].knots] if len(u) == 1 else means[u]
        part = np.expand_dims(part, tuple(1 + i for i, j in enumerate(members) if j not in u))
        total = total + (-1) ** (len(members) - len(u)) * part
    return total


def _interpolate(grid: NDArray[np.float64], places: list[_Place]) -> NDArray[np.float64]:
    """Interpolate values at knots linearly along each axis but the first, which are the outputs."""
    total = np.zeros((len(grid), len(places[0].low)))
    for corner in product((False, True), repeat=len(places)):
        at: tuple[Any, ...] = tuple(place.high if up else place.low for place, up in zip(places, corner))
        weight = np.prod([p.part if up else 1 - p.part for p, up in zip(places, corner)], axis=0)
        total += weight * grid[:, *at]
    return total


def _quantile_knots(share: NDArray[Any], n_knots: int) -> NDArray[np.int64]:
    """Return positions of sorted values: the first, the last, and quantiles between them."""
    middle = np.cumsum(share) - share / 2
    wanted = np.linspace(0.0, share.sum(), max(n_knots, 2))
    at = np.rint(np.interp(wanted, middle, np.arange(len(share)))).astype(np.int64)
    return np.unique(np.concatenate([[0], at, [len(share) - 1]]))


def _place(position: NDArray[np.int64], knots: NDArray[np.int64]) -> _Place:
    """Return where positions lie between sorted knots."""
    high = np.clip(np.searchsorted(knots, position, side="left"), 0, len(knots) - 1)
    low = np.where(knots[high] == position, high, np.maximum(high - 1, 0))
    width = np.maximum(knots[high] - knots[low], 1)
    return _Place(low, high, np.where(high == low, 0.0, (position - knots[low]) / width))
