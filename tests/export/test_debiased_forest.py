"""Forests: the trees of an ensemble, without the splits on removed features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skglex.export._debiased_forest import Forest, drop_removed_splits, forest_of_trees
from skglex.export._rebuild_trees import rebuild_trees
from tests.export.debiased_models import MODELS, read


@st.composite
def forests(draw):
    """Draw random trees with five possible splits; some inner nodes have no split."""
    left, right, split, value, roots = [], [], [], [], []

    def grow(depth):
        node = len(left)
        for column in (left, right, split):
            column.append(-1)
        value.append([float(draw(st.integers(-3, 3)))])
        if depth and draw(st.booleans()):
            value[node] = [0.0]
            split[node] = draw(st.integers(-1, 4))
            left[node], right[node] = grow(depth - 1), grow(depth - 1)
        return node

    for _ in range(draw(st.integers(1, 3))):
        roots.append(grow(5))
    return Forest(*(np.array(a, np.int64) for a in (roots, left, right, split)), np.array(value))


def evaluate(forest, answers):
    """Sum all trees, where split s goes left if ``answers[s]``."""

    def below(node):
        if forest.left[node] < 0:
            return forest.value[node, 0]
        left, right = forest.left[node], forest.right[node]
        if forest.split[node] < 0:
            return below(left) + below(right)
        return below(left if answers[forest.split[node]] else right)

    return sum(below(root) for root in forest.roots)


@settings(max_examples=80, deadline=None)
@given(forest=forests())
def test_dropped_splits_keep_the_sum(forest):
    """`bound_nodes` and `side_by_side`."""
    new, origin = drop_removed_splits(forest)
    inner = new.left >= 0
    assert (new.split[inner] >= 0).all()
    assert (new.split[~inner] == -1).all()
    assert set(origin) == set(range(forest.n_trees))
    assert (np.diff(origin) >= 0).all()
    assert new.value[inner].sum() == 0
    for answers in np.ndindex(*[2] * 5):
        assert evaluate(new, answers) == pytest.approx(evaluate(forest, answers))


@pytest.mark.parametrize("name", ["squared error", "partition", "multi-class", "vector leaves"])
def test_trees_of_an_ensemble(name):
    """The nodes and leaf values are those of the trees that were read; equal splits have one number."""
    ensemble = read(MODELS[name]()).ensemble
    trees = ensemble.trees
    removed = np.arange(len(ensemble.grid.features)) == 1
    forest, splits = forest_of_trees(ensemble, trees, removed, 2 * ensemble.value)
    np.testing.assert_array_equal(forest.left, trees.left)
    np.testing.assert_array_equal(forest.right, trees.right)
    np.testing.assert_array_equal(forest.value[forest.leaves()], 2 * ensemble.value)
    inner = forest.left >= 0
    np.testing.assert_array_equal(forest.split[inner] < 0, removed[trees.used_feature[inner]])
    for node in np.flatnonzero(forest.split >= 0):
        number, n_bins = forest.split[node], ensemble.grid.n_bins[trees.used_feature[node]]
        assert splits.used_feature[number] == trees.used_feature[node]
        if trees.mask[node] >= 0:
            start = trees.mask[node]
            expected = trees.masks[start : start + n_bins]
            np.testing.assert_array_equal(np.frombuffer(splits.members[number], np.uint8), expected)
        else:
            assert splits.cut[number] == trees.cut[node] + 1
            assert splits.missing_left[number] == trees.missing_left[node]
    described = zip(splits.used_feature, splits.cut, splits.missing_left, splits.members)
    assert len(set(described)) == len(splits.cut)


@pytest.mark.parametrize("name", ["squared error", "partition", "multi-class"])
def test_trees_are_those_rebuilt_from_the_leaves(name):
    ensemble = read(MODELS[name]()).ensemble
    nothing = np.zeros(len(ensemble.grid.features), bool)
    direct, _ = forest_of_trees(ensemble, ensemble.trees, nothing, ensemble.value)
    rebuilt, _ = rebuild_trees(ensemble, nothing, ensemble.value)
    np.testing.assert_array_equal(direct.value[direct.leaves()], rebuilt.value[rebuilt.leaves()])
