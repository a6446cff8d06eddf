"""Compare the package with the paper's naive algorithms."""

import numpy as np
import pytest
from xgboost import XGBRegressor

from skglex import GlexDecomposer
from tests.support.oracles import model_margin, subsets
from tests.support.paper_algorithms import component, empirical, path_dependent, read_trees

# The algorithms add the leaves' float32 values in float64, as the package does, in another order.
TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def small():
    """Return a model, its rows, and 20 rows to explain; feature 2 is rounded, so that rows lie on thresholds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 1] += X[:, 0]
    X[:, 2] = X[:, 2].round()
    X = X.astype(np.float32)
    y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + np.abs(X[:, 1])
    model = XGBRegressor(n_estimators=6, max_depth=4, learning_rate=0.3, n_jobs=1).fit(X, y)
    return model, X, X[:20]


def test_nothing_averaged_is_the_model(small):
    model, X, rows = small
    trees = read_trees(model)
    tree_sums = [sum(path_dependent(tree, x, set()) for tree in trees) for x in rows]
    assert [sum(empirical(tree, x, set(), X[:1]) for tree in trees) for x in rows] == tree_sums
    base = model_margin(model, rows)[:, 0] - tree_sums
    assert np.ptp(base) < 1e-5  # The model sums in float32.


@pytest.mark.parametrize("weighting", ["path_dependent", "empirical"])
def test_components(small, weighting):
    model, X, rows = small
    decomposer = GlexDecomposer(model, weighting=weighting, max_interaction=None).fit(X)
    background = X if weighting == "empirical" else None
    trees = read_trees(model)
    ours = {tuple(c.features): c.evaluate(rows) for c in decomposer.components_}
    names = decomposer.explained_features_
    for features in subsets(4)[1:]:
        naive = np.array([sum(component(tree, x, features, background) for tree in trees) for x in rows])
        mine = ours.pop(tuple(names[j] for j in features), np.zeros(len(rows)))
        np.testing.assert_allclose(mine, naive, rtol=0, atol=TOLERANCE * np.abs(naive).max(initial=1))
    assert not ours
    naive = sum(component(tree, rows[0], (), background) for tree in trees)
    base = model_margin(model, rows)[0, 0] - sum(path_dependent(tree, rows[0], set()) for tree in trees)
    assert decomposer.intercept_ == pytest.approx(naive + base, abs=1e-5)  # The model sums in float32.
