"""Decompose the response of a model (probability, price, count): means over the background of rows mixed with it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from math import factorial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skglex._leaves import Background, BackgroundLike, LeafEnsemble, PathDependent
from skglex._mixed_rows import (
    Link,
    cell_axis,
    coalition_responses,
    distinct_cells,
    few_players,
    mean_over_cells,
    mean_over_rows,
    seconds_of_grids,
    warn_of_grids,
    warn_of_margins,
    warn_of_seconds,
)
from skglex._response import Response
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets

if TYPE_CHECKING:
    from skglex._decomposition._decomposition import Decomposition

# Nanoseconds per leaf and pair of a row and a background row, and per coalition of the pair.
_LEAF, _COALITION = 2.0, 10.0

Bins = NDArray[np.unsignedinteger]
Sets = Sequence[tuple[int, ...]]


class ResponseScale:
    """Compute partial dependence, SHAP values and components of a model's response at binned rows.

    The value of a set of players is the mean response over the background, with these players' features set to the
    values of the row. All methods return arrays whose first axis are the responses, and whose last axis are the rows.

    Parameters
    ----------
    decomposition : Decomposition
    background : BackgroundLike
    response : Response

    Attributes
    ----------
    link : callable
        Function from margins of shape (n_samples, n_outputs) to responses of shape (n_samples, n_responses).
    n_responses : int

    Raises
    ------
    ValueError
        The weights are path-dependent, or the model has no response that can be averaged.
    """

    def __init__(
        self,
        decomposition: Decomposition,
        background: BackgroundLike,
        response: Response,
    ) -> None:
        if isinstance(decomposition.weighting, PathDependent):
            raise ValueError(
                "scale='response' averages the model's response over background rows, which "
                "weighting='path_dependent' does not have. Use weighting='empirical'"
            )
        self._ensemble = decomposition.ensemble
        self._margins = decomposition.margins
        self._player_of_feature = decomposition.players.player_of_feature
        self._n_players = decomposition.n_players
        self._background = background
        self.link: Link = response.response
        self.n_responses = response.n_responses

    @property
    def n_players(self) -> int:
        """Return the number of players that the model uses."""
        return len(np.unique(self._player_of_feature))

    # -- sets of players ----------------------------------------------------------------------

    def output(self, bins: Bins, execution: Execution = DEFAULT_EXECUTION) -> NDArray[np.float64]:
        """Return the response of the rows themselves: shape (n_responses, n_rows)."""
        every = np.unique(self._player_of_feature)
        return self.means([tuple(every.tolist())], bins, execution)[:, 0]

    def means(self, sets: Sets, bins: Bins, execution: Execution = DEFAULT_EXECUTION) -> NDArray[np.float64]:
        """Return the mean response for each set of players: shape (n_responses, n_sets, n_rows).

        Each is the partial dependence function of the set at the rows.
        """
        out = np.empty((self.n_responses, len(sets), bins.shape[1]))
        over_rows = []
        for i, members in enumerate(sets):
            used = np.flatnonzero(np.isin(self._player_of_feature, members))
            removed = np.setdiff1d(np.arange(len(self._player_of_feature)), used)
            shares = None
            if len(removed) <= len(used):  # There may be fewer values to average over than background rows.
                n_cells = _distinct_columns(bins[used])[0].shape[1]
                shares = self._shares(removed, self._background.n_rows * n_cells / max(bins.shape[1], 1))
            if shares is None:
                over_rows.append(i)
                continue
            cells, share = shares
            warn_of_grids(self._ensemble, bins.shape[1], [removed], [len(share)], "the mean response")
            axis = cell_axis(self._ensemble, removed, cells)
            out[:, i] = mean_over_cells(self._ensemble, bins, axis, share, self.link, execution)
        if over_rows:
            out[:, over_rows] = self._means_over_rows([sets[i] for i in over_rows], bins, execution)
        return out

    def _means_over_rows(self, sets: Sets, bins: Bins, execution: Execution) -> NDArray[np.float64]:
        """Average over the background rows: along the trees for all sets, or at the distinct values of each set."""
        n_background, n_rows = self._background.n_rows, bins.shape[1]
        free = [np.flatnonzero(np.isin(self._player_of_feature, members)) for members in sets]
        distinct = [_distinct_columns(bins[used]) for used in free]
        n_cells = [cells.shape[1] for cells, _ in distinct]
        by_grids = seconds_of_grids(self._ensemble, n_background, free, n_cells)
        few = few_players(self._ensemble, self._margins, self._player_of_feature, sets) if n_rows else None
        if few is not None and (by_walks := few.seconds * n_rows * n_background) < by_grids:
            n_margins = float(len(sets)) * n_rows * n_background * self._ensemble.n_outputs
            warn_of_margins(by_walks, "the mean response", n_margins)
            return self._background.average(
                partial(few.responses, bins, self.link, execution, "mean responses")
            )
        warn_of_grids(self._ensemble, n_background, free, n_cells, "the mean response")
        grids = [[(used, cells)] for used, (cells, _) in zip(free, distinct)]
        means = self.grids(grids, execution)
        return np.stack([mean[:, of_row] for mean, (_, of_row) in zip(means, distinct)], axis=1)

    def grids(
        self,
        grids: Sequence[Sequence[tuple[NDArray[np.int64], Bins]]],
        execution: Execution = DEFAULT_EXECUTION,
    ) -> list[NDArray[np.float64]]:
        r"""Return the mean response at all combinations of cells, for several grids.

        Parameters
        ----------
        grids : sequence of sequences of tuples
            The axes of each grid: used_features, and their bins of shape (n_free, n_cells).

        Returns
        -------
        list of ndarray of shape (n_responses, \*n_cells)
        """
        compute = partial(_means_on_grids, self._ensemble, grids, self.link, execution)
        flat = self._background.average(compute)
        shapes = [(self.n_responses, *(bins.shape[1] for _, bins in axes)) for axes in grids]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes)]

    def _shares(self, removed: NDArray[np.int64], most: float) -> tuple[Bins, NDArray[np.float64]] | None:
        """Return the cells of removed features and their shares, if there are fewer than ``most`` in the background."""
        if not isinstance(self._background, Background):
            return None
        cells, share = distinct_cells(self._background, removed)
        return (cells, share) if len(share) < most else None

    def component_at_cells(
        self,
        axes: Sequence[Sequence[tuple[NDArray[np.int64], Bins]]],
        execution: Execution = DEFAULT_EXECUTION,
    ) -> NDArray[np.float64]:
        r"""Return a component at all combinations of the cells of its players' axes.

        Parameters
        ----------
        axes : sequence of sequences of tuples
            For each player its axes, as in `grids`.

        Returns
        -------
        ndarray of shape (n_responses, \*n_cells)
        """
        player_of_axis = [player for player, own in enumerate(axes) for _ in own]
        every = [axis for own in axes for axis in own]
        parts = _subsets(tuple(range(len(axes))))
        nothing = [(np.empty(0, np.int64), np.empty((0, 1), every[0][1].dtype))]
        grids = [[a for a, player in zip(every, player_of_axis) if player in part] for part in parts]
        grids = [grid or nothing for grid in grids]
        n_cells = [float(np.prod([bins.shape[1] for _, bins in grid])) for grid in grids]
        free = [np.concatenate([used for used, _ in grid]) for grid in grids]
        n_rows = self._background.n_rows
        warn_of_grids(self._ensemble, n_rows, free, n_cells, "the component", joint=False)
        out = np.zeros((self.n_responses, *(bins.shape[1] for _, bins in every)))
        for part, mean in zip(parts, self.grids(grids, execution)):
            shape = [
                bins.shape[1] if player in part else 1 for (_, bins), player in zip(every, player_of_axis)
            ]
            out += (-1) ** (len(axes) - len(part)) * mean.reshape(self.n_responses, *shape)
        return out

    # -- games --------------------------------------------------------------------------------

    def shapley(self, bins: Bins, execution: Execution = DEFAULT_EXECUTION) -> NDArray[np.float64]:
        """Return Shapley values: shape (n_responses, n_players, n_rows)."""
        found = np.unique(self._player_of_feature)
        out = np.zeros((self.n_responses, self._n_players, bins.shape[1]))
        out[:, found] = self._solve(shapley_matrix(self._n_found("SHAP values")), bins, execution)
        return out

    def shapley_interactions(
        self, bins: Bins, execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Return Shapley interaction values: shape (n_responses, n_players, n_players, n_rows)."""
        found = np.unique(self._player_of_feature)
        d = self._n_found("SHAP interaction values")
        values = self._solve(np.vstack([shapley_matrix(d), interaction_matrix(d)]), bins, execution)
        out = np.zeros((self.n_responses, self._n_players, self._n_players, bins.shape[1]))
        for (i, j), pair in zip(zip(*np.triu_indices(d, 1)), np.moveaxis(values[:, d:], 1, 0)):
            out[:, found[i], found[j]] = out[:, found[j], found[i]] = pair
        for k, player in enumerate(found):
            out[:, player, player] = values[:, k] - out[:, player].sum(axis=1)
        return out

    def _n_found(self, what: str) -> int:
        """Return the number of players in the model; raise if there are too many coalitions of them."""
        d = self.n_players
        if d > budgets.coalition_players:
            raise ValueError(
                f"{what} on the response scale need the mean response of all 2**{d} coalitions of the {d} features "
                f"or groups that the model uses; at most {budgets.coalition_players} are supported. Join features "
                "with feature_groups, use scale='margin', or response_components(..., max_interaction=2)"
            )
        return d

    def _solve(self, matrix: NDArray[np.float64], bins: Bins, execution: Execution) -> NDArray[np.float64]:
        """Return linear combinations of the mean responses of all coalitions: (n_responses, n_combinations, n_rows)."""
        found, player = np.unique(self._player_of_feature, return_inverse=True)
        d, ensemble = len(found), self._ensemble
        pairs = float(bins.shape[1]) * self._background.n_rows
        seconds = pairs * (_LEAF * ensemble.n_leaves + _COALITION * ensemble.n_outputs * 2**d) * 1e-9
        warn_of_seconds(seconds, f"SHAP values on the response scale mix {pairs:.1e} pairs of rows")
        compute = partial(_solve_games, ensemble, player, d, bins, self.link, matrix, execution)
        return self._background.average(compute)

    # -- components ---------------------------------------------------------------------------

    def all_orders(self) -> int:
        """Return the highest order of a component; raise if there are too many players to compute all orders."""
        return self._n_found("components of all orders")

    def sets_up_to(self, order: int, allowed: NDArray[np.bool_] | None = None) -> list[tuple[int, ...]]:
        """Return the sets of up to ``order`` players that the model uses, by size: all may interact in the response."""
        found = np.unique(self._player_of_feature).tolist()
        found = [player for player in found if allowed is None or allowed[player]]
        return [members for k in range(1, order + 1) for members in combinations(found, k)]

    def components(
        self, sets: Sets, bins: Bins, execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Return components of the response: shape (n_responses, n_sets, n_rows).

        The component of S is the sum over V in S of (-1)^(|S| - |V|) times the mean response of V. Orders above 2 are
        computed from all coalitions, if there are few enough players.
        """
        found = np.unique(self._player_of_feature)
        if max(map(len, sets), default=0) > 2 and len(found) <= budgets.coalition_players:
            position = {int(player): k for k, player in enumerate(found)}
            mask = np.array([sum(1 << position[player] for player in members) for members in sets])
            return self._solve(moebius_matrix(len(found), mask), bins, execution)
        needed = sorted({part for members in sets for part in _subsets(members)}, key=lambda s: (len(s), s))
        at = {members: i for i, members in enumerate(needed)}
        means = self.means(needed, bins, execution)
        out = np.zeros((self.n_responses, len(sets), bins.shape[1]))
        for i, members in enumerate(sets):
            for part in _subsets(members):
                out[:, i] += (-1) ** (len(members) - len(part)) * means[:, at[part]]
        return out


def _distinct_columns(bins: Bins) -> tuple[Bins, NDArray[np.int64]]:
    """Return the distinct columns, and the position of every column among them."""
    if not len(bins) or bins.shape[1] == 1:
        return bins[:, :1], np.zeros(bins.shape[1], np.int64)
    cells, of_column = np.unique(bins, axis=1, return_inverse=True)
    return np.ascontiguousarray(cells), of_column.ravel()


def _subsets(members: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return all subsets of a set, in the order of its members."""
    out: list[tuple[int, ...]] = [()]
    for member in members:
        out += [(*part, member) for part in out]
    return out


def shapley_matrix(d: int) -> NDArray[np.float64]:
    """Return the matrix of shape (d, 2**d) that maps the values of all coalitions to Shapley values."""
    member, size = _membership(d)
    # A coalition with a player counts with the weight of the coalition without the player.
    weight = np.array([factorial(s) * factorial(d - 1 - s) / factorial(d) for s in range(d)] or [0.0])
    inside = weight[np.maximum(size - 1, 0)]
    outside = weight[np.minimum(size, d - 1)] if d else weight[:1]
    return np.where(member, inside, -outside)


def interaction_matrix(d: int) -> NDArray[np.float64]:
    """Return the matrix that maps the values of all coalitions to half the Shapley interaction index of i < j."""
    member, size = _membership(d)
    i, j = np.triu_indices(d, 1)
    n_inside = member[i].astype(np.int64) + member[j]
    weight = [factorial(s) * factorial(d - 2 - s) / factorial(d - 1) / 2 for s in range(d - 1)] or [0.0]
    return np.asarray(np.where(n_inside == 1, -1.0, 1.0) * np.array(weight)[size - n_inside])


def moebius_matrix(d: int, mask: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the matrix of shape (n_sets, 2**d) that maps the values of all coalitions to components of some sets."""
    coalition = np.arange(2**d)
    _, size = _membership(d)
    sign = np.where((size[mask][:, None] - size) % 2, -1.0, 1.0)
    return np.asarray(np.where(coalition & ~mask[:, None], 0.0, sign))


def _membership(d: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which players are in every coalition, of shape (d, 2**d), and the sizes of the coalitions."""
    member = (np.arange(2**d) >> np.arange(d)[:, None]) & 1 == 1
    return member, member.sum(axis=0)


# Functions of one part of the background, which may be in another process.


def _means_on_grids(
    ensemble: LeafEnsemble,
    grids: Sequence[Sequence[tuple[NDArray[np.int64], Bins]]],
    link: Link,
    execution: Execution,
    background: Background,
) -> NDArray[np.float64]:
    axes = [[cell_axis(ensemble, used, bins) for used, bins in axes] for axes in grids]
    means = mean_over_rows(ensemble, background, axes, link, execution, label="mean responses")
    return np.concatenate([mean.ravel() for mean in means])


def _solve_games(
    ensemble: LeafEnsemble,
    player: NDArray[np.int64],
    n_players: int,
    bins: Bins,
    link: Link,
    matrix: NDArray[np.float64],
    execution: Execution,
    background: Background,
) -> NDArray[np.float64]:
    args = ensemble, player, n_players, bins, background, link, execution
    return coalition_responses(*args, reduce=lambda values: matrix @ values, label="SHAP values")
