"""Decompose a model: its components, margins and Shapley values at binned rows."""

from __future__ import annotations

from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._index import (
    ComponentIndex,
    PathSets,
    TooManyComponents,
    index_components,
    path_sets_of,
)
from skglex._decomposition._listed_components import ListedComponents
from skglex._decomposition._shapley import ShapleySums
from skglex._decomposition._streaming import sum_orders_of
from skglex._kernels.shapley import complete_interactions
from skglex._leaves import (
    CoalitionWeights,
    LeafEnsemble,
    LeafGames,
    LeafSum,
    Players,
    Weighting,
    assign_players,
    group_patterns,
)
from skglex._utils import DEFAULT_EXECUTION, Execution, budgets, row_chunks, without_cached

# Components outside of the list whose tables are kept for the next call.
_KEPT_SINGLES = 32


class Decomposition:
    """Decompose a leaf ensemble exactly under one weighting.

    The components up to ``max_order`` are listed once. Any other component is computed by itself.

    Parameters
    ----------
    ensemble : LeafEnsemble
    players : Players
    n_players : int
        Number of players in all (some may be in no leaf).
    weighting : Weighting
    max_order : int, or None
        Largest order of a listed component. None: any.
    allowed : ndarray of shape (n_players,), bool, optional
        List only components of these players.
    without_margin : str, optional
        Why the sum of the leaves is not the margin of a model. Components and SHAP values of it are then refused.
    """

    def __init__(
        self,
        ensemble: LeafEnsemble,
        players: Players,
        n_players: int,
        weighting: Weighting,
        max_order: int | None,
        allowed: NDArray[np.bool_] | None = None,
        without_margin: str | None = None,
    ) -> None:
        self.ensemble = ensemble
        self.players = players
        self.n_players = n_players
        self.weighting = weighting
        self.max_order = players.largest if max_order is None else min(max_order, players.largest)
        self.allowed = allowed
        self.without_margin = without_margin
        games = LeafGames(ensemble, players, group_patterns(ensemble))
        self.weights = CoalitionWeights(games, weighting, self.max_order)
        self.margins = LeafSum(ensemble)
        self._shapley_values = ShapleySums(self.weights, self.margins, n_players, pairs=False)
        self._shapley_pairs = ShapleySums(self.weights, self.margins, n_players, pairs=True)
        self._listed: ListedComponents | None = None
        self._too_many: tuple[int, bool] | None = None
        self._singles: dict[tuple[int, ...], ListedComponents] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**without_cached(self), "_singles": {}}

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs."""
        return self.ensemble.n_outputs

    @property
    def knows_margins(self) -> bool:
        """Return whether `margins` are those of the model. Stored components may lack some of their terms."""
        return True

    @property
    def complete(self) -> bool:
        """Return whether the listed components are all that the model has."""
        return self.max_order == self.players.largest and self.all_allowed

    def require_margin(self) -> None:
        """Raise a ValueError if the sum of the leaves is not the margin of a model."""
        if self.without_margin is not None:
            raise ValueError(self.without_margin)

    @property
    def all_allowed(self) -> bool:
        """Return whether components of all features are listed."""
        return self.allowed is None or bool(self.allowed[self.players.player_of_feature].all())

    @cached_property
    def path_sets(self) -> PathSets:
        """Return the distinct sets of players on the leaves' paths."""
        return path_sets_of(self.players, self.ensemble.leaf_ptr)

    # -- components ---------------------------------------------------------------------------

    def list_components(self, limit: int) -> None:
        """List the components up to ``max_order``, or remember that there are more than ``limit``."""
        if self.without_margin is not None:
            return
        try:
            self._listed = ListedComponents(self._index(self.max_order, limit), self.weights)
        except TooManyComponents as error:
            self._too_many = error.count, error.exact

    def _index(self, max_order: int, limit: int) -> ComponentIndex:
        return index_components(self.path_sets, max_order=max_order, allowed=self.allowed, limit=limit)

    @property
    def is_listed(self) -> bool:
        """Return whether the components up to ``max_order`` are listed."""
        return self._listed is not None

    @property
    def n_listed(self) -> tuple[int, bool]:
        """Return the number of components up to ``max_order``, and whether it is exact or a lower bound."""
        return self._too_many or (len(self.listed), True)

    @property
    def listed(self) -> ListedComponents:
        """Return the components up to ``max_order``; raise a ValueError if there are too many to list."""
        self.require_margin()
        if self._too_many is not None:
            raise TooManyComponents(*self._too_many, self.max_order)
        assert self._listed is not None, "list_components comes first"
        return self._listed

    def up_to(self, order: int) -> ListedComponents:
        """Return the components up to an order, which may be higher than ``max_order``.

        Raises
        ------
        TooManyComponents
            There are too many to list.
        """
        order = min(order, self.players.largest)
        if order <= self.max_order:
            return self.listed
        weights = CoalitionWeights(self.weights.games, self.weighting, order)
        return ListedComponents(self._index(order, budgets.held_components), weights)

    def together(self, members: tuple[int, ...]) -> bool:
        """Return whether some leaf's path has all these players; otherwise their component is zero."""
        return len(self._leaves_with(members)) > 0

    def single(self, members: tuple[int, ...]) -> ListedComponents:
        """Return one component of any order, computed from the leaves whose paths have all its players.

        The other players are averaged out in each of its terms, so they act as a single player.
        """
        self.require_margin()
        if members not in self._singles:
            leaves = self.ensemble.take_leaves(self._leaves_with(members))
            of_feature = self.players.player_of_feature
            player_of_feature = np.where(np.isin(of_feature, members), of_feature, self.n_players)
            players = assign_players(leaves, player_of_feature)
            weights = CoalitionWeights(
                LeafGames(leaves, players, group_patterns(leaves)), self.weighting, len(members)
            )
            index = index_components(
                path_sets_of(players, leaves.leaf_ptr), max_order=len(members), allowed=None, limit=2**63
            )
            recent = list(self._singles.items())[1 - _KEPT_SINGLES :]
            self._singles = {
                **dict(recent),
                members: ListedComponents(index.only(members), weights, warns=False),
            }
        return self._singles[members]

    def _leaves_with(self, members: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the leaves whose paths have all these players."""
        leaf, player = self.ensemble.condition_leaf, self.players.condition_player_id
        n_found = np.zeros(self.ensemble.n_leaves, np.int64)
        for member in members:
            n_found[np.unique(leaf[player == member])] += 1
        return np.flatnonzero(n_found == len(members))

    def prepare_copies(self, execution: Execution) -> None:
        """Compute what pickled copies cannot, if the weighting depends on data outside of this process."""

        def fill_tables() -> None:
            if self._listed is not None:
                self._listed.copies_need_tables = True
                self._listed.tables(execution)

        self.weighting.prepare_copies(self.weights.games, fill_tables)

    # -- sums of components -------------------------------------------------------------------

    def intercept(self, execution: Execution = DEFAULT_EXECUTION) -> NDArray[np.float64]:
        """Return the component of the empty set, one number per output."""
        ensemble = self.ensemble
        # A model of a few shallow trees needs the weights of all coalitions soon.
        share = self.weights.of_no_player(execution) if self._shapley_values.only_tables else None
        if share is None:
            averaged = np.ones(len(ensemble.leaf_condition), dtype=bool)
            share = self.weighting.joint_weights(ensemble, averaged, execution)
        return ensemble.sum_leaves(share)

    def affordable_orders(self, n_rows: int, wanted: int | None) -> int:
        """Return ``wanted`` if the model has that order; None: the largest order that takes about a minute to sum."""
        largest = self.players.largest
        if wanted is not None:
            return min(wanted, largest)
        while largest > self.max_order and self.order_steps(n_rows, largest) > budgets.order_steps:
            largest -= 1
        return largest

    def order_steps(self, n_rows: int, n_orders: int) -> float:
        """Estimate the steps of `sum_by_order`."""
        k = self.players.n_players
        subsets = [
            sum(comb(n, size) for size in range(min(n_orders, n) + 1)) for n in range(k.max(initial=0) + 1)
        ]
        patterns = np.minimum(float(n_rows), 2.0**k)
        return float(
            (patterns * np.array(subsets, dtype=np.float64)[k]).sum() + n_rows * (n_orders + 4.0) * len(k)
        )

    def count_by_order(self, n_orders: int) -> list[int | None]:
        """Return the number of components of each order up to ``n_orders``; None if there are too many to count."""
        for most in range(n_orders, 0, -1):
            try:
                orders = self.up_to(most).orders
            except TooManyComponents:
                continue
            counts = np.bincount(orders, minlength=most + 1)[1 : most + 1].tolist()
            return [*counts, *[None] * (n_orders - most)]
        return [None] * n_orders

    def sum_by_order(
        self,
        bins: NDArray[np.unsignedinteger],
        n_orders: int,
        execution: Execution = DEFAULT_EXECUTION,
        weighting: Weighting | None = None,
    ) -> NDArray[np.float64]:
        """Return the sum of all components of each order up to ``n_orders``: (n_orders, n_outputs, n_samples).

        No component is listed, so it does not matter how many there are. Another weighting gives other components.
        """
        self.require_margin()
        weights = self.weights
        if n_orders > self.max_order or weighting is not None:
            weights = CoalitionWeights(weights.games, weighting or self.weighting, n_orders)
        usable = np.ones(len(self.ensemble.leaf_condition), dtype=bool)
        if self.allowed is not None:
            usable = self.allowed[self.players.condition_player_id]
        return sum_orders_of(weights, usable, bins, n_orders, execution).swapaxes(0, 1)

    def shapley(
        self, bins: NDArray[np.unsignedinteger], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Return Shapley values of shape (n_outputs, n_players, n_samples)."""
        self.require_margin()
        return self._shapley_values(bins, execution=execution)

    def shapley_width(self, *, pairs: bool) -> int:
        """Return how many numbers per row `fill_shapley`, or `fill_interactions`, holds beside its output."""
        sums = self._shapley_pairs if pairs else self._shapley_values
        if sums.only_tables:
            return self.n_outputs * self.n_players if pairs else 0
        return self.n_outputs * self.n_players ** (2 if pairs else 1)

    def fill_shapley(
        self, out: NDArray[np.float64], at: int, bins: NDArray[np.unsignedinteger], execution: Execution
    ) -> None:
        """Write the Shapley values of some rows to ``out``, which is zero and has room for those of all rows.

        Parameters
        ----------
        out : ndarray of shape (n_outputs, n_players, n_samples), float64
        at : int
            Which of the rows of ``out`` is the first one of ``bins``.
        bins : ndarray of shape (n_used_features, n_rows)
        execution : Execution
        """
        self.require_margin()
        self._shapley_values.add_to(out.reshape(-1, out.shape[-1]), at, bins, execution)

    def fill_interactions(
        self, out: NDArray[np.float64], at: int, bins: NDArray[np.unsignedinteger], execution: Execution
    ) -> None:
        """Write the Shapley interaction values of some rows to ``out``, as `fill_shapley` does.

        The shape of ``out`` is (n_outputs, n_players, n_players, n_samples).
        """
        flat = out.reshape(-1, out.shape[-1])
        diagonal = self.shapley(bins, execution=execution).reshape(-1, bins.shape[1])
        self._shapley_pairs.add_to(flat, at, bins, execution)
        pairs = self._shapley_pairs.columns
        execution.run(
            complete_interactions,
            [(pairs, self.n_players, diagonal, r0, r1, at, flat) for r0, r1 in row_chunks(bins.shape[1])],
        )


def average_out(
    ensemble: LeafEnsemble,
    weighting: Weighting,
    keep: NDArray[np.bool_],
    execution: Execution = DEFAULT_EXECUTION,
) -> LeafSum:
    """Return the margin as a function of the used_features ``keep`` alone, the other features averaged out.

    It is the sum of all components whose features lie in ``keep``.
    """
    return LeafSum(
        ensemble, keep, weighting.joint_weights(ensemble, ~keep[ensemble.condition_feature], execution)
    )
