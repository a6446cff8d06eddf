"""The kernels over trees and leaves beside plain statements: a leaf is a set of bins per feature, all else follows."""

import warnings
from itertools import chain, combinations, pairwise
from math import factorial
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestRegressor

from skglex import GlexDecomposer
from skglex._decomposition import (
    Decomposition,
    average_out,
    margin_means,
    pair_shapley,
    row_means,
    shapley_parts,
)
from skglex._decomposition._order_walks import OrderWalks
from skglex._decomposition._pair_matrix import PairMatrix
from skglex._decomposition._shapley import ShapleySums
from skglex._kernels.arguments import RankedSubsets
from skglex._kernels.bitsets import count_ones, fill_bits, rank_bins
from skglex._kernels.component_tables import add_values
from skglex._kernels.item_sets import are_equal, hash_sets
from skglex._kernels.leaf_extraction import measure_trees
from skglex._leaves import (
    Background,
    LeafGames,
    LeafSum,
    PathDependent,
    _empirical,
    _path_dependent,
    assign_players,
    group_patterns,
    sum_leaves,
)
from skglex._leaves._patterns import GROUP_BITS
from skglex._utils import DEFAULT_EXECUTION, budgets
from skglex.exceptions import ZeroCoverWarning
from tests.support.hand_built import hand_built, read, scale_of

# Rounding of sums of a few hundred terms, relative to the largest margin there may be.
PRECISION = 1e-13
# Grown at random, by seeds that give leaves of size 1 or more: others drown in the base score.
MODELS = {
    "numbers": {"d": 4, "n_trees": 6, "max_depth": 3, "n_outputs": 3, "seed": 22},
    "categories": {"d": 4, "n_trees": 6, "max_depth": 3, "n_outputs": 3, "seed": 8},
    "vectors": {"d": 4, "n_trees": 6, "max_depth": 3, "n_outputs": 3, "seed": 25},
    "huge values": {"d": 6, "n_trees": 3, "max_depth": 7, "seed": 19},
    "no split": {"d": 2, "n_trees": 2, "max_depth": 0, "seed": 0},
}


class Leaf(NamedTuple):
    node: int
    inside: dict  # by used_feature, which of its bins reach the leaf
    ratio: dict  # by used_feature, the product of the nodes' shares
    value: np.ndarray  # of all outputs


class Plain:
    """A model, the leaves of its trees, and rows and a background in bins, some of them missing."""

    def __init__(self, seed, **params):
        rng = np.random.default_rng(seed)
        model = hand_built(rng, **params)
        with warnings.catch_warnings(action="ignore", category=ZeroCoverWarning):
            self.ensemble = read(model).ensemble
        self.atol = PRECISION * scale_of(model)
        self.n_bins = self.ensemble.grid.n_bins
        self.leaves = [
            leaf
            for tree, root in enumerate(self.ensemble.trees.roots[:-1])
            for leaf in self._walk(root, {}, {}, model.nodes.value, model.nodes.output[tree])
        ]
        self.bins = self.draw(rng, 40)
        self.back = Background(self.draw(rng, 90), rng.random(90))

    def draw(self, rng, n):
        return (
            np.array([rng.integers(0, k, n) for k in self.n_bins])
            .astype(self.ensemble.grid.dtype)
            .reshape(-1, n)
        )

    def goes_left(self, node):
        """The bins that a node sends left; the last is missing."""
        trees = self.ensemble.trees
        n = self.n_bins[trees.used_feature[node]]
        if trees.mask[node] >= 0:
            return trees.masks[trees.mask[node] :][:n].astype(bool)
        return np.append(np.arange(n - 1) <= trees.cut[node], trees.missing_left[node] == 1)

    def _walk(self, node, inside, ratio, value, output):
        trees = self.ensemble.trees
        if trees.left[node] < 0:
            whole = np.zeros(self.ensemble.n_outputs)
            whole[output : output + value.shape[1]] = value[node]
            yield Leaf(node, inside, ratio, whole)
            return
        used_feature = int(trees.used_feature[node])
        for child, passes in zip(
            (trees.left[node], trees.right[node]), (self.goes_left(node), ~self.goes_left(node))
        ):
            meets = {**inside, used_feature: inside.get(used_feature, True) & passes}
            yield from self._walk(
                child,
                meets,
                {**ratio, used_feature: ratio.get(used_feature, 1.0) * self.ensemble.cover_ratio[child]},
                value,
                output,
            )

    def met(self, leaf, used_features, bins):
        """Which rows meet the leaf's conditions on some used_features."""
        return np.all(
            [leaf.inside[s][bins[s]] for s in used_features] or [np.ones(bins.shape[1], bool)], axis=0
        )

    def weight(self, leaf, used_features, weighting):
        """E_l: the weight of the leaf's conditions on some used_features."""
        if weighting == "path_dependent":
            return np.prod([leaf.ratio[s] for s in used_features])
        return np.average(self.met(leaf, used_features, self.back.bins), weights=self.back.weight)

    def weighting(self, name):
        return PathDependent() if name == "path_dependent" else self.back.weighting

    def components(self, player_of_feature, weighting, bins):
        """m_S of every set S of players: {S: (n_outputs, n_rows)}."""
        out = {}
        for leaf in self.leaves:
            used_features = {
                p: [s for s in leaf.inside if player_of_feature[s] == p]
                for p in sorted({player_of_feature[s] for s in leaf.inside})
            }
            weights = {
                v: self.weight(leaf, slots_of(used_features, set(used_features) - set(v)), weighting)
                for v in subsets(used_features)
            }
            for members in subsets(used_features):
                term = sum(
                    (-1) ** (len(members) - len(v))
                    * self.met(leaf, slots_of(used_features, v), bins)
                    * weights[v]
                    for v in subsets(members)
                )
                out[members] = out.get(members, 0) + leaf.value[:, None] * term
        return out


def subsets(members):
    return [tuple(v) for v in chain.from_iterable(combinations(members, k) for k in range(len(members) + 1))]


def slots_by_player(leaf, of_feature):
    return {p: [s for s in leaf.inside if of_feature[s] == p] for p in {of_feature[s] for s in leaf.inside}}


def slots_of(used_features, players):
    return [s for p in players for s in used_features[p]]


@pytest.fixture(scope="module", params=MODELS)
def plain(request):
    return Plain(**MODELS[request.param])


@pytest.fixture(params=["a player each", "two share a player"])
def players(request, plain):
    n = len(plain.n_bins)
    player_of_feature = np.arange(n) if request.param == "a player each" else np.maximum(np.arange(n) - 1, 0)
    return assign_players(plain.ensemble, player_of_feature)


weightings = pytest.mark.parametrize("weighting", ["path_dependent", "empirical"])


def test_models_have_it_all():
    numbers, categories, vectors, huge, none = (Plain(**params) for params in MODELS.values())
    assert not len(numbers.ensemble.trees.masks)
    assert len(categories.ensemble.trees.masks)
    assert categories.ensemble.n_outputs == vectors.ensemble.value.shape[1] == 3
    assert np.abs(huge.ensemble.value).max() > 1e29
    assert np.diff(huge.ensemble.leaf_ptr).max() == 5
    assert none.leaves
    assert none.bins.shape == (0, 40)


def test_extract_leaves(plain):
    """`measure_trees`, `extract_leaves` and `path_ratios`."""
    ensemble, trees = plain.ensemble, plain.ensemble.trees
    longest = max(len(leaf.inside) for leaf in plain.leaves)
    n_leaves, bound, depth = measure_trees(trees.left, trees.right, trees.roots, len(plain.n_bins))
    assert (n_leaves, ensemble.n_leaves) == (len(plain.leaves),) * 2
    assert bound >= sum(len(leaf.inside) for leaf in plain.leaves)
    assert depth >= longest
    assert_array_equal(ensemble.tree_ptr, np.searchsorted([leaf.node for leaf in plain.leaves], trees.roots))
    for i, leaf in enumerate(plain.leaves):
        own = slice(*ensemble.leaf_ptr[i : i + 2])
        assert ensemble.condition_feature[own].tolist() == sorted(leaf.inside)
        for c, s in zip(ensemble.leaf_condition[own], sorted(leaf.inside)):
            assert_array_equal(bins_of(ensemble.conditions, c, plain.n_bins[s]), leaf.inside[s])
        assert_allclose(ensemble.path_ratio[own], [leaf.ratio[s] for s in sorted(leaf.inside)], rtol=1e-15)


def bins_of(conditions, c, n_bins):
    """The bins that meet a condition."""
    b = np.arange(n_bins)
    if conditions.mask[c] >= 0:
        return conditions.masks[conditions.mask[c] + b] == 1
    return (conditions.lo[c] <= b) & (b < conditions.hi[c]) | (b == conditions.missing[c])


def test_sets_are_told_apart(plain):
    """`hash_sets` and `are_equal`: sets of the same items have the same hash, and others do not."""
    ensemble = plain.ensemble
    own = [tuple(ensemble.leaf_condition[a:b].tolist()) for a, b in pairwise(ensemble.leaf_ptr)]
    code, out = (
        np.arange(1, len(ensemble.complement) + 1, dtype=np.uint64) ** 5,
        np.empty(len(own), np.uint64),
    )
    hash_sets(ensemble.leaf_ptr, ensemble.leaf_condition, code, out)
    assert out.tolist() == [sum(int(code[c]) for c in conditions) for conditions in own]
    first = np.array([own.index(conditions) for conditions in own], np.int64)
    assert are_equal(ensemble.leaf_ptr, ensemble.leaf_condition, first)
    if len(set(own)) > 1:
        other = np.array([next((j for j, c in enumerate(own) if c != own[i]), i) for i in range(len(own))])
        assert not are_equal(ensemble.leaf_ptr, ensemble.leaf_condition, other)


def test_group_leaves(plain):
    """`group_leaves`: neighbours share a group while their conditions, up to complements, and outputs fit."""
    ensemble, groups = plain.ensemble, group_patterns(plain.ensemble)
    expected, used, output = [], set(), None
    for leaf in range(ensemble.n_leaves):
        own = ensemble.leaf_condition[slice(*ensemble.leaf_ptr[leaf : leaf + 2])]
        own = {frozenset((c, ensemble.complement[c])) - {-1} for c in own.tolist()}
        if not expected or len(used | own) > GROUP_BITS or ensemble.output[leaf] != output:
            expected.append(leaf)
            used = set()
        used, output = used | own, ensemble.output[leaf]
    assert groups.group_leaf.tolist() == [*expected, ensemble.n_leaves]
    # a leaf's conditions follow from its group's pattern
    group_of, bits = np.repeat(np.arange(groups.n_groups), np.diff(groups.group_leaf)), groups.bits
    for e, leaf in enumerate(ensemble.condition_leaf):
        for at in range(*bits.ptr[group_of[leaf] : group_of[leaf] + 2]):
            if bits.position[at] == bits.of_condition[e]:
                n = plain.n_bins[ensemble.condition_feature[e]]
                bit = bins_of(ensemble.conditions, bits.condition[at], n)
                condition = bins_of(ensemble.conditions, ensemble.leaf_condition[e], n)
                assert_array_equal(bit != bits.flip[e], condition)
                break
        else:
            raise AssertionError("the leaf's condition has no bit")


@pytest.mark.parametrize("by_state", [False, True])
@weightings
def test_coalition_weights(plain, players, weighting, by_state, monkeypatch):
    """Test `coalitions_from_ratios` (`multiply_ratios`), and `pattern_histogram` with `coalitions_from_histogram`.

    For a large background, `coalitions_by_state` takes the place of the last two.
    """
    monkeypatch.setattr(_empirical, "_ROWS_TO_COUNT", 0 if by_state else np.inf)
    groups = group_patterns(plain.ensemble)
    games = LeafGames(plain.ensemble, players, groups)
    for first in {0, groups.n_groups // 2}:
        weight = plain.weighting(weighting).table_weights(games, first, groups.n_groups)
        origin = players.coalition_ptr[groups.group_leaf[first]]
        for i in range(groups.group_leaf[first], plain.ensemble.n_leaves):
            leaf = plain.leaves[i]
            position = dict(zip(sorted(leaf.inside), players.condition_player[plain.ensemble.leaf_ptr[i] :]))
            expected = [
                plain.weight(leaf, [s for s, p in position.items() if not v >> p & 1], weighting)
                for v in range(1 << players.n_players[i])
            ]
            got = weight[players.coalition_ptr[i] - origin : players.coalition_ptr[i + 1] - origin]
            assert_allclose(got, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("by", "max_order"), [("bits", 2), ("state", 2), ("walks", 1), ("walks", 3)])
@weightings
def test_weights_by_rank(plain, players, weighting, by, max_order, monkeypatch):
    """`ranked_from_ratios`, or `sum_ranked_subsets` of near misses: `add_near_misses` and the same by states or walks.

    That is `add_near_misses_by_state` and `add_near_misses_by_walks`.
    """
    # With "state", leaves of one player are counted by bit sets.
    costs = 1.5 if by == "state" else np.inf
    monkeypatch.setattr(
        _empirical.Empirical,
        "_costs_of_counting",
        lambda self, n, max_order, n_blocks: (1.0 * n, np.full(len(n), costs)),
    )
    monkeypatch.setattr(_empirical.Empirical, "_walk_is_cheaper", lambda *args: by == "walks")
    games = LeafGames(plain.ensemble, players, group_patterns(plain.ensemble))
    subsets_of = [
        sorted((v for v in range(1 << k) if v.bit_count() <= max_order), key=lambda v: (v.bit_count(), v))
        for k in players.n_players.tolist()
    ]
    start = np.concatenate([[0], np.cumsum([len(own) for own in subsets_of])]).astype(np.int64)
    leaves = np.arange(plain.ensemble.n_leaves)
    wanted = RankedSubsets(leaves, start[:-1], int(start[-1]), max_order)
    weight = plain.weighting(weighting).ranked_weights(games, wanted, DEFAULT_EXECUTION)
    for i, leaf in enumerate(plain.leaves):
        position = dict(zip(sorted(leaf.inside), players.condition_player[plain.ensemble.leaf_ptr[i] :]))
        expected = [
            plain.weight(leaf, [s for s, p in position.items() if not v >> p & 1], weighting)
            for v in subsets_of[i]
        ]
        assert_allclose(weight[start[i] : start[i + 1]], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("n_rows", [5, 40])
@pytest.mark.parametrize("engine", ["patterns", "traverse", "levels"])
@weightings
def test_sums_of_leaves(plain, weighting, engine, n_rows, monkeypatch):
    """`value_tables` with `accumulate`; `pack_trees` with `traverse` or `traverse_levels`: all features, some, none."""
    monkeypatch.setattr(LeafSum, "_engine", lambda self, n: engine)
    # Where no feature is kept, the background walks down the trees.
    monkeypatch.setattr(_empirical, "_is_deep", lambda ensemble: n_rows == 5)
    n, bins = len(plain.n_bins), plain.bins[:, :n_rows]
    for keep in (np.ones(n, bool), np.arange(n) % 2 == 0, np.zeros(n, bool)):
        if engine == "levels" and not (keep.all() and n and not len(plain.ensemble.trees.masks)):
            continue
        expected = np.repeat(plain.ensemble.base[:, None], n_rows, axis=1)
        for leaf in plain.leaves:
            kept = [s for s in leaf.inside if keep[s]]
            others = plain.weight(leaf, [s for s in leaf.inside if not keep[s]], weighting)
            expected += leaf.value[:, None] * plain.met(leaf, kept, bins) * others
        got = average_out(plain.ensemble, plain.weighting(weighting), keep)(bins)
        assert_allclose(got, expected, rtol=0, atol=plain.atol)


@pytest.mark.parametrize("n_rows", [1, 40, 130])
def test_sums_of_leaves_by_bit_sets(plain, n_rows):
    """Test `add_leaves`: leaves add up to the margin without the trees, also in several words of bits."""
    bins = np.tile(plain.bins, 4)[:, :n_rows].copy()
    expected = np.repeat(plain.ensemble.base[:, None], n_rows, axis=1)
    for leaf in plain.leaves:
        expected += leaf.value[:, None] * plain.met(leaf, list(leaf.inside), bins)
    assert_allclose(sum_leaves(plain.ensemble, bins), expected, rtol=0, atol=plain.atol)


def decompose(plain, players, weighting, max_order):
    n_players = int(players.player_of_feature.max(initial=-1)) + 1
    decomposition = Decomposition(plain.ensemble, players, n_players, plain.weighting(weighting), max_order)
    decomposition.list_components(1000)
    return decomposition


@pytest.mark.parametrize("max_order", [1, 6])
@weightings
def test_tables(plain, players, weighting, max_order):
    """Test `map_bins`, `add_corners`, `add_main_corners`, `name_pairs`, `add_pair_corners`, `sum_corners`, `look_up`.

    And `add_values`.
    """
    listed = decompose(plain, players, weighting, max_order).listed
    index, tables = listed.index, listed.tables(DEFAULT_EXECUTION)
    expected = plain.components(players.player_of_feature.tolist(), weighting, plain.bins)
    assert sorted(index.sets) == sorted(s for s in expected if 0 < len(s) <= max_order)
    out = np.empty((len(index.sets) * plain.ensemble.n_outputs, plain.bins.shape[1]))
    every = np.arange(len(index.sets))
    tables.look_up(plain.bins, every, every, plain.ensemble.n_outputs, out, DEFAULT_EXECUTION)
    sums, factor = (
        np.zeros((2 * plain.ensemble.n_outputs, plain.bins.shape[1])),
        np.linspace(-1, 2, len(every)),
    )
    args = plain.bins, tables.layout, tables.values, plain.ensemble.n_outputs
    for half in (slice(None), slice(0, None, 2)):  # Some components are added twice.
        add_values(*args, every[half], every[half] % 2, factor[half], 0, plain.bins.shape[1], sums)
    for s in range(2):
        items = [c for c in every if c % 2 == s] + [c for c in every[::2] if c % 2 == s]
        plain_sum = sum((factor[c] * out[c :: len(every)] for c in items), np.zeros(sums[s::2].shape))
        assert_allclose(sums[s::2], plain_sum, rtol=0, atol=plain.atol * 10)
    for c, members in enumerate(index.sets):
        layout, axes = tables.layout, range(*tables.layout.axes.ptr[c : c + 2])
        assert_allclose(out[c :: len(index.sets)], expected[members], rtol=0, atol=plain.atol)
        cells = tuple(layout.maps[layout.map_ptr[a] + plain.bins[layout.axes.feature[a]]] for a in axes)
        assert_array_equal(tables.table(c, plain.ensemble.n_outputs)[cells].T, out[c :: len(index.sets)])
        for a in axes:  # a cell ends where any leaf's condition begins or ends
            s = layout.axes.feature[a]
            of = [
                leaf
                for leaf in plain.leaves
                if set(members) <= {players.player_of_feature[t] for t in leaf.inside}
            ]
            changes = np.zeros(plain.n_bins[s] - 1, bool)
            for leaf in of:
                if s in leaf.inside:
                    changes |= np.diff(leaf.inside[s])
            cell = np.concatenate([[0], np.cumsum(changes)])
            assert_array_equal(layout.maps[layout.map_ptr[a] :][: plain.n_bins[s]], cell)
            assert layout.size[a] == cell[-1] + 1


@pytest.mark.parametrize("max_order", [1, 6])
@pytest.mark.parametrize("n_rows", [10, 40, 600])
@weightings
def test_streamed_components(plain, players, weighting, max_order, n_rows, monkeypatch):
    """Test `stream_components` for few rows, `add_components_by_state` and `sweep_pairs` (`with_room`) for many."""
    listed = decompose(plain, players, weighting, max_order).listed
    index = listed.index
    monkeypatch.setattr(budgets, "table_cells", 0)
    assert not listed.layout(DEFAULT_EXECUTION).tabulated.any()
    bins = (
        np.resize(plain.bins, (n_rows, len(plain.bins))).T.copy()
        if n_rows > 40
        else plain.bins[:, :n_rows].copy()
    )
    bins = np.minimum(bins, (plain.n_bins - 1)[:, None]).astype(bins.dtype)
    out = np.full((len(index.sets) * plain.ensemble.n_outputs, n_rows), np.nan)
    listed.evaluate(bins, np.arange(len(index.sets)), out)
    expected = plain.components(players.player_of_feature.tolist(), weighting, bins)
    for c, members in enumerate(index.sets):
        assert_allclose(out[c :: len(index.sets)], expected[members], rtol=0, atol=plain.atol)


@pytest.mark.parametrize("cells", [100, 1 << 20], ids=["some in tables", "all in tables"])
@weightings
def test_pairs_of_rows_in_few_bins(plain, players, weighting, cells, monkeypatch):
    """Components of two features without a table have one over the bins of the rows, if it is small enough."""
    listed = decompose(plain, players, weighting, 2).listed
    index, bins = listed.index, plain.bins[:, :30].copy()
    monkeypatch.setattr(budgets, "table_cells", 0)
    assert not listed.layout(DEFAULT_EXECUTION).tabulated.any()
    monkeypatch.setattr(budgets, "table_cells", 8 * cells)
    out = np.full((len(index.sets) * plain.ensemble.n_outputs, 30), np.nan)
    listed.evaluate(bins, np.arange(len(index.sets)), out)
    expected = plain.components(players.player_of_feature.tolist(), weighting, bins)
    for c, members in enumerate(index.sets):
        assert_allclose(out[c :: len(index.sets)], expected[members], rtol=0, atol=plain.atol)


@pytest.mark.parametrize("n_orders", [1, 6])
@weightings
def test_sums_by_order(plain, players, weighting, n_orders):
    """Test `sum_orders` (`list_weights`)."""
    found = decompose(plain, players, weighting, 1).sum_by_order(plain.bins, n_orders)
    components = plain.components(players.player_of_feature.tolist(), weighting, plain.bins)
    for order in range(1, n_orders + 1):
        expected = sum((value for members, value in components.items() if len(members) == order), 0.0)
        assert_allclose(found[order - 1], np.broadcast_to(expected, found[0].shape), rtol=0, atol=plain.atol)


@pytest.mark.parametrize("pairs", [False, True], ids=["values", "interactions"])
@pytest.mark.parametrize(
    "rows_at_a_time", [None, 1, 40, 4000], ids=["tables", "row", "states of rows", "all states"]
)
@weightings
def test_shapley_sums(plain, players, weighting, pairs, rows_at_a_time, monkeypatch):
    """Test Shapley values, the mean gain over all orders of the players.

    By `shapley_tables` with `accumulate`; for one row by `add_shapley_by_quadrature` (`solve_by_quadrature`) or
    `add_shapley_by_comparison` (`solve_by_comparison`); for many rows by the same kernels from sums over subsets
    (`sums_are_cheaper`, `comparison_cost`, `weights_of_rows`, `weights_of_ratios`, `fill_sums`, `rows_of_leaf`,
    `add_from_sums`) in clusters of leaves (`cluster_space`, `grow_cluster`, `clear_cluster`, `find_codes`,
    `count_background`, `find_met_players`, `weights_of_states`, `columns_of_leaf`, `add_table_to_rows`).
    Walks along the trees (`add_shapley_by_walks`, `rows_of_bins`) and products along the trees
    (`add_shapley_by_products`) give the same.
    """
    decomposition = decompose(plain, players, weighting, 6)
    n = decomposition.n_players
    sums = ShapleySums(decomposition.weights, decomposition.margins, n, pairs=pairs)
    if rows_at_a_time is not None:
        leaves = np.flatnonzero(players.n_players > pairs)
        got = np.zeros((plain.ensemble.n_outputs * n ** (1 + pairs), plain.bins.shape[1]))
        # Rows are repeated until there are enough of them.
        repeated = np.tile(plain.bins, -(-rows_at_a_time // plain.bins.shape[1]))
        for start in range(0, plain.bins.shape[1] if len(leaves) else 0, rows_at_a_time):
            bins = np.ascontiguousarray(repeated[:, start : start + rows_at_a_time])
            part = np.zeros((len(got), bins.shape[1]))
            solve = sums._weights.weighting.shapley_kernel(sums._games, leaves, bins.shape[1])
            sums._add_anew(*solve, leaves, bins, part, DEFAULT_EXECUTION)
            if rows_at_a_time == 1 or (rows_at_a_time == 4000 and weighting == "path_dependent"):
                monkeypatch.setattr(_empirical, "_step_cost", lambda n: 0.0)
                monkeypatch.setattr(_path_dependent, "_cost_of_edge", lambda half, *_: np.zeros(len(half)))
                walk = sums._weights.weighting.shapley_walks(
                    sums._games, decomposition.margins, bins, sums._layout
                )
                again, trees = np.zeros_like(part), []
                if walk is not None:
                    sums._add_anew(*walk, bins, again, DEFAULT_EXECUTION)
                    trees = walk[2]
                # Trees with a cover of zero are left to the leaves.
                tree_of = np.searchsorted(plain.ensemble.tree_ptr, leaves, side="right") - 1
                rest = leaves[~np.isin(tree_of, trees)]
                assert len(rest) == 0 or (plain.ensemble.cover_ratio == 0).any()
                sums._add_anew(*solve, rest, bins, again, DEFAULT_EXECUTION)
                assert_allclose(again, part, rtol=0, atol=plain.atol)
            got[:, start : start + rows_at_a_time] = part[:, : plain.bins.shape[1]]
        got = got.reshape(plain.ensemble.n_outputs, *(n,) * (1 + pairs), plain.bins.shape[1])
    else:
        got = sums(plain.bins)
    components = plain.components(players.player_of_feature.tolist(), weighting, plain.bins)
    game = {t: sum(components.get(s, 0) for s in subsets(t)) for t in subsets(range(n))}
    expected = np.zeros_like(got)
    for chosen in combinations(range(n), 1 + pairs):
        others = [p for p in range(n) if p not in chosen]
        for t in subsets(others):
            m = n - pairs
            share = factorial(len(t)) * factorial(m - 1 - len(t)) / factorial(m) / (1 + pairs)
            for v in subsets(chosen):
                sign = (-1) ** (len(chosen) - len(v))
                expected[:, *chosen] += sign * share * game[tuple(sorted({*t, *v}))]
    assert_allclose(got, expected, rtol=0, atol=plain.atol)


@weightings
def test_shapley_of_many_rows(plain, players, weighting):
    """Test `accumulate` in blocks of rows that are part of a larger result, and `complete_interactions`."""
    decomposition = decompose(plain, players, weighting, 6)
    n, n_outputs = decomposition.n_players, plain.ensemble.n_outputs
    values = decomposition.shapley(plain.bins)
    pairs = ShapleySums(decomposition.weights, decomposition.margins, n, pairs=True)(plain.bins)
    pairs += pairs.swapaxes(1, 2)
    for i in range(n):
        pairs[:, i, i] = values[:, i] - pairs[:, i].sum(axis=1)
    bins, found = np.tile(plain.bins, 230), [np.zeros((n_outputs, *shape, 9210)) for shape in [(n,), (n, n)]]
    decomposition.fill_shapley(found[0], 7, bins, DEFAULT_EXECUTION)
    decomposition.fill_interactions(found[1], 7, bins, DEFAULT_EXECUTION)
    for got, part in zip(found, (values, pairs)):
        repeated = np.tile(part, 230)
        assert_allclose(got[..., 7:-3], repeated, rtol=0, atol=plain.atol)
        assert not got[..., :7].any()
        assert not got[..., -3:].any()


@pytest.mark.parametrize("n_orders", [1, 3])
def test_order_walks(plain, players, n_orders):
    """Test `sum_orders_by_walks`: the sums of the components of each order, at the background rows."""
    decomposition = decompose(plain, players, "empirical", n_orders)
    walks = OrderWalks(decomposition.margins, players, None, n_orders)
    found = walks(plain.back, DEFAULT_EXECUTION)
    components = plain.components(players.player_of_feature.tolist(), "empirical", plain.back.bins)
    expected = np.zeros_like(found)
    for members, values in components.items():
        if 0 < len(members) <= n_orders:
            expected[len(members) - 1] += values
    assert_allclose(found, expected, rtol=0, atol=plain.atol)


@pytest.mark.parametrize("cells", [None, 0], ids=["tables", "streamed"])
@weightings
def test_means_over_rows(plain, players, weighting, cells, monkeypatch):
    """Test `cell_weights` and `mean_products`: means over weighted rows, and over all mixes of their features."""
    if cells is not None:
        monkeypatch.setattr(budgets, "table_cells", cells)
    decomposition = decompose(plain, players, weighting, 6)
    rows = Background(plain.bins, np.random.default_rng(0).random(40))
    of_feature = players.player_of_feature
    found = row_means(decomposition, decomposition.listed, of_feature, rows, DEFAULT_EXECUTION)
    components = plain.components(of_feature.tolist(), weighting, plain.bins)
    # The share of the rows that meet the conditions of some players, if these were independent.
    independent = {
        members: sum(
            (-1) ** (len(members) - len(v))
            * leaf.value
            * np.prod(
                [np.average(plain.met(leaf, slots_of(of, [p]), plain.bins), weights=rows.weight) for p in v]
            )
            * plain.weight(leaf, slots_of(of, set(of) - set(v)), weighting)
            for leaf in plain.leaves
            for of in [slots_by_player(leaf, of_feature)]
            if set(members) <= set(of)
            for v in subsets(members)
        )
        for members in components
        if 1 <= len(members) <= 2
    }
    for c, members in enumerate(decomposition.listed.sets):
        expected = np.average(components[members], axis=1, weights=rows.weight)
        assert_allclose(found.joint[c], expected, rtol=0, atol=plain.atol)
        if members in independent:
            assert_allclose(found.independent[c], independent[members], rtol=0, atol=plain.atol)
    margins = margin_means(plain.ensemble, players, rows, DEFAULT_EXECUTION)
    intercept = decomposition.intercept()
    for sums, total in zip(found, margins):
        assert_allclose(intercept + sums.sum(axis=0), total[0], rtol=0, atol=plain.atol)


@weightings
def test_pair_matrix(plain, weighting):
    """Test `add_pair_corners` and `sum_pair_corners`: the means of main effects and pairs, from one table of all."""
    if not len(plain.n_bins):
        return
    players = assign_players(plain.ensemble, np.arange(len(plain.n_bins)))
    decomposition = decompose(plain, players, weighting, 2)
    rows = Background(plain.bins, np.random.default_rng(0).random(40))
    assert PairMatrix.fits(decomposition.weights.games)
    sets, means = PairMatrix(decomposition.weights, None, DEFAULT_EXECUTION).top(rows, None)
    found = dict(zip(sets, means))
    components = plain.components(players.player_of_feature.tolist(), weighting, plain.bins)
    for members in decomposition.listed.sets:
        expected = np.average(np.abs(components[members]), axis=1, weights=rows.weight)
        assert_allclose(found.pop(members, 0.0), expected, rtol=0, atol=plain.atol)
    assert not found


@pytest.mark.parametrize("n_rows", [3, 40], ids=["pair by pair", "in blocks"])
@pytest.mark.parametrize("pairs", [False, True], ids=["values", "interactions"])
def test_pairs_of_rows(plain, players, pairs, n_rows):
    """Test `compare_rows`: the game takes the features of a coalition from one row, all others from the other."""
    decomposition = decompose(plain, players, "empirical", 1)
    n, of_feature = decomposition.n_players, players.player_of_feature
    bins, other = plain.bins[:, :n_rows].copy(), plain.bins[:, ::-1][:, :n_rows].copy()
    found = pair_shapley(decomposition, bins, other, DEFAULT_EXECUTION, pairs=pairs)
    game = {}
    for t in subsets(range(n)):
        mixed = np.where(np.isin(of_feature, t)[:, None], bins, other)
        game[t] = sum(leaf.value[:, None] * plain.met(leaf, leaf.inside, mixed) for leaf in plain.leaves)
    m = {s: sum((-1) ** (len(s) - len(v)) * game[v] for v in subsets(s)) for s in game}
    for i in range(n):
        phi = sum(m[s] / len(s) for s in m if i in s)
        row = found[:, i] if not pairs else found[:, i].sum(axis=1)
        assert_allclose(row, phi, rtol=0, atol=plain.atol)
        for j in range(n) if pairs else ():
            half = sum(m[s] / 2 / (len(s) - 1) for s in m if {i, j} <= set(s) and i != j)
            if i != j:
                assert_allclose(found[:, i, j], np.broadcast_to(half, row.shape), rtol=0, atol=plain.atol)


@weightings
def test_game_without_some_players(plain, players, weighting):
    """Shapley values of the components that hold none of some players."""
    decomposition = decompose(plain, players, weighting, 1)
    components = plain.components(players.player_of_feature.tolist(), weighting, plain.bins)
    for averaged in subsets(range(decomposition.n_players)):
        parts = shapley_parts(decomposition, averaged, DEFAULT_EXECUTION)
        found = sum(part.shapley(plain.bins) for part in parts)
        for i in set(range(decomposition.n_players)) - set(averaged):
            of = [m / len(s) for s, m in components.items() if i in s and not set(s) & set(averaged)]
            assert_allclose(found[:, i], np.broadcast_to(sum(of), found[:, i].shape), rtol=0, atol=plain.atol)


def test_bit_sets(plain):
    """`rank_bins` and `fill_bits`: a row of bits per bin that occurs, and one before."""
    bins, (r0, r1) = plain.back.bins, (10, 85)
    n_bins = plain.n_bins
    bin_ptr = np.concatenate([[0], np.cumsum(n_bins + 1)]).astype(np.int64)
    rank, row_ptr = np.empty(bin_ptr[-1], np.int32), np.empty(len(bin_ptr), np.int64)
    rank_bins(bins, r0, r1, n_bins, bin_ptr, rank, row_ptr)
    bits = np.empty((row_ptr[-1], 2), np.uint64)
    fill_bits(bins, r0, r1, bin_ptr, rank, row_ptr, bits)
    rows = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, : r1 - r0]
    for s, own in enumerate(bins[:, r0:r1]):
        occur = np.unique(own)
        assert row_ptr[s + 1] - row_ptr[s] == len(occur) + 1
        for b in range(n_bins[s] + 1):
            assert rank[bin_ptr[s] + b] == (occur < b).sum()
            assert_array_equal(rows[row_ptr[s] + rank[bin_ptr[s] + b]], own < b)


def test_count_ones():
    words = np.random.default_rng(0).integers(0, 2**64, 100, dtype=np.uint64).tolist()
    for word in (0, 1, 2**63, 2**64 - 1, *words):
        assert count_ones(np.uint64(word)) == word.bit_count()


def test_walks_of_leaves_with_many_values(monkeypatch):
    """Add up vectors of a row in one place; the values are those of each output alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)).round(1)
    targets = np.column_stack([X[:, 0] * X[:, 1], X, rng.normal(size=(80, 2))])
    forest = RandomForestRegressor(3, random_state=0).fit(X, targets)
    monkeypatch.setattr(budgets, "kept_table_size", 0)
    found = []
    for step in (0.0, np.inf):
        monkeypatch.setattr(_empirical, "_step_cost", lambda n, step=step: step)
        found.append(GlexDecomposer(forest, max_interaction=None).fit(X[:15]).shap_values(X))
    assert_allclose(*found, rtol=0, atol=1e-12)


def test_costs_of_counting():
    """Bit sets count pairs of any leaf; of high orders only leaves with too many states to share, or of few rows."""
    n_players, bins = np.array([0, 2, 8, 12, 13, 200]), np.zeros((1, 50_000), np.uint8)
    weight = np.ones(50_000)

    def shared(n_rows, max_order):
        weighting = Background(bins[:, :n_rows], weight[:n_rows]).weighting
        by_bit_set, by_state = weighting._costs_of_counting(n_players, max_order, 1)
        return (by_state < by_bit_set).tolist()

    assert not any(shared(50_000, 2) + shared(100, 4))
    assert shared(50_000, 4) == [False, False, False, True, False, False]
    weight[0] = 2.0
    assert shared(50_000, 2) == [True, True, True, True, False, False]
