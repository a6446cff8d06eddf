"""Margins of mixed rows beside the margins that a plain walk down the trees gives rows mixed one by one.

The kernels `add_free_leaves`, `find_rows`, `violated_players`, `rows_by_player`, `mix_pair` and `mix_few_players` have
no other plain statement: what they add up is the margin of a mixed row.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skglex._input import bin_all
from skglex._leaves import Background, LeafSum
from skglex._mixed_rows import (
    MixedRows,
    all_bins,
    cell_axis,
    coalition_responses,
    distinct_cells,
    few_players,
    mean_over_cells,
    mean_over_rows,
)
from skglex._utils import Execution, budgets
from tests.support.hand_built import hand_built, read

D, N = 5, 90
# One sum in another order: some hundred terms of size 1.
ATOL = 1e-12


def make(seed, n_outputs=1, boxes=False):
    """Return a model grown at random, its leaves, its rows and their bins; categories and missing values occur."""
    rng = np.random.default_rng(seed)
    model = hand_built(rng, d=D, n_trees=12, max_depth=4, n_outputs=n_outputs, extreme=False)
    value = model.nodes.value
    cover = np.ones(len(value))  # Covers do not matter here.
    model = replace(model, nodes=replace(model.nodes, value=value / np.abs(value).max(), cover=cover))
    X = np.round(rng.normal(size=(N, D)), 1)
    X[:, 1::2] = rng.integers(-1, 6, size=(N, 2))
    X[rng.random((N, D)) < 0.1] = np.nan
    source = read(model)
    ensemble = replace(source.ensemble, trees=None) if boxes else source.ensemble
    return model, ensemble, X, bin_all(X, source.input, ensemble.grid, Execution(1))


def mixed(model, X, columns, values):
    """Return the margin of every row with every combination of values: (n_outputs, n_values, n_rows)."""
    out = []
    for value in values:
        Z = X.copy()
        Z[:, columns] = value
        out.append(model.margin(Z).T)
    return np.stack(out, axis=1)


def cells_of(ensemble, bins, used, rows):
    """Return the used_features' columns, and the axis at the values that some rows have."""
    return ensemble.grid.features[used], cell_axis(ensemble, used, bins[np.ix_(used, rows)])


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_margins_at_cells(seed, n_outputs, monkeypatch):
    monkeypatch.setattr(budgets, "bit_set_bytes", 1 << 10)  # Several blocks of bit sets.
    monkeypatch.setattr(budgets, "pattern_table_size", 50)  # Several chunks of sets of conditions.
    model, ensemble, X, bins = make(seed, n_outputs, boxes=seed % 2 == 1)
    rows = MixedRows(ensemble, bins, Execution(2))
    used = np.arange(len(ensemble.grid.features))
    drawn = [np.random.default_rng(seed).integers(N, size=size) for size in (7, 5)]
    for one, other in [(used[:1], used[1:]), (used[-1:], used[:1]), (used[1:3], used[:1]), (used, used[:0])]:
        columns, axis = cells_of(ensemble, bins, one, drawn[0])
        expected = mixed(model, X, columns, X[np.ix_(drawn[0], columns)])
        assert_allclose(rows.margins([axis]), expected, rtol=0, atol=ATOL)
        if not len(other):
            continue
        more, second = cells_of(ensemble, bins, other, drawn[1])
        for i, r in enumerate(drawn[0]):
            Z = X.copy()
            Z[:, columns] = X[r, columns]
            expected = mixed(model, Z, more, X[np.ix_(drawn[1], more)])
            assert_allclose(rows.margins([axis, second])[:, i], expected, rtol=0, atol=ATOL)


def test_all_bins_are_the_bins_of_the_grid():
    _, ensemble, _, bins = make(0)
    grid = ensemble.grid
    (found,) = all_bins(grid, 0)
    assert found.tolist() == list(range(grid.n_bins[0]))
    margins = MixedRows(ensemble, bins).margins([cell_axis(ensemble, np.array([0]), found[None])])
    assert_allclose(margins[0, bins[0], np.arange(N)], MixedRows(ensemble, bins).margin[0], atol=ATOL)


@pytest.mark.parametrize("seed", range(3))
def test_weighted_means_of_responses(seed):
    """Over the rows (partial dependence), and over the distinct values of the background (removal)."""
    model, ensemble, X, bins = make(seed, n_outputs=2)
    weight = np.random.default_rng(seed).random(N) * (np.arange(N) % 3 > 0)
    background = Background(bins, weight)

    def link(margin):
        assert margin.shape[1] == 2
        return expit(margin.sum(axis=1, keepdims=True))

    for used in (np.array([0]), np.arange(1, len(ensemble.grid.features)), np.array([], int)):
        columns, axis = cells_of(ensemble, bins, used, np.arange(20))
        margins = mixed(model, X, columns, X[:20, columns])
        expected = np.average(link(margins.reshape(2, -1).T).reshape(20, N), axis=1, weights=weight)
        (found,) = mean_over_rows(ensemble, background, [[axis]], link)
        assert_allclose(found, expected[None], atol=ATOL)
        cells, share = distinct_cells(background, used)
        assert cells.shape[1] == len(np.unique(bins[np.ix_(used, weight > 0)], axis=1).T)
        margins = mixed(model, X, columns, X[:, columns])
        expected = np.average(link(margins.reshape(2, -1).T).reshape(N, N), axis=0, weights=weight)
        found = mean_over_cells(ensemble, bins, cell_axis(ensemble, used, cells), share, link)
        assert_allclose(found, expected[None], atol=ATOL)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_all_coalitions(seed, n_outputs, monkeypatch):
    monkeypatch.setattr(budgets, "coalition_margins", 2**3 * 30)  # Several blocks of background rows.
    model, ensemble, X, bins = make(seed, n_outputs, boxes=seed == 1)
    player = np.arange(len(ensemble.grid.features)) % 3  # Groups of features.
    weight = np.random.default_rng(seed).random(N)
    found = coalition_responses(ensemble, player, 3, bins[:, :20], Background(bins, weight), expit)
    assert found.shape == (n_outputs, 8, 20)
    for mask in range(8):
        columns = ensemble.grid.features[(mask >> player) & 1 == 1]
        for r in range(20):
            Z = X.copy()
            Z[:, columns] = X[r, columns]
            expected = np.average(expit(model.margin(Z)), axis=0, weights=weight)
            assert_allclose(found[:, mask, r], expected, rtol=0, atol=ATOL)


@pytest.mark.parametrize("sets", [[()], [(2,)], [(1, 0), (), (2,)], [(0, 1, 2), (3,)], [(9, 3), (0,)]])
@pytest.mark.parametrize("seed", range(3))
def test_few_players(seed, sets, monkeypatch):
    """Player 0 has two features, player 9 none; not all subsets of the sets are asked for."""
    monkeypatch.setattr(budgets, "mixed_margins", 200)  # Several blocks of background rows.
    monkeypatch.setattr("skglex._mixed_rows._few_players._TOGETHER", 40)  # Several tasks.
    n_outputs = 1 + seed % 2
    model, ensemble, X, bins = make(seed, n_outputs)
    player = np.maximum(np.arange(len(ensemble.grid.features)) - 1, 0)
    weight = np.random.default_rng(seed).random(N)
    few = few_players(ensemble, LeafSum(ensemble), player, sets)
    found = few.responses(bins[:, :20], expit, Execution(1), "", Background(bins, weight))
    assert found.shape == (n_outputs, len(sets), 20)
    for i, members in enumerate(sets):
        columns = ensemble.grid.features[np.isin(player, members)]
        for r in range(20):
            Z = X.copy()
            Z[:, columns] = X[r, columns]
            expected = np.average(expit(model.margin(Z)), axis=0, weights=weight)
            assert_allclose(found[:, i, r], expected, rtol=0, atol=ATOL)


def test_boxes_and_large_sets_have_no_walks():
    _, ensemble, _, _ = make(0)
    player = np.arange(len(ensemble.grid.features))
    assert few_players(ensemble, LeafSum(ensemble), player, [(0, 1, 2, 3, 4)]) is None
    boxes = replace(ensemble, trees=None)
    assert few_players(boxes, LeafSum(boxes), player, [(0,)]) is None
