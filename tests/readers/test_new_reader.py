"""A new reader takes one file and one line: the recipe of CONTRIBUTING.md, on the made-up library of `acorn.py`."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.ensemble import VotingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skglex import FeatureRemover, GlexDecomposer
from skglex._readers import _registry
from tests.support.acorn import Acorn, AcornClassifier, AcornRegressor, Leaf, Split, goes_left
from tests.support.oracles import (
    brute_force_game,
    check_components,
    game_components,
    shapley_interactions,
    shapley_values,
    subsets,
    total,
)

D = 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, D)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
Y = np.nan_to_num(X[:, 0] * X[:, 1]) + np.isnan(X[:, 2])
# float64 sums of a dozen terms
TOLERANCE = {"rtol": 0, "atol": 1e-12}
WEIGHTINGS = ["empirical", "path_dependent"]


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """The line of registration."""
    monkeypatch.setitem(_registry._READERS, "tests.support.acorn", "tests.support.acorn_reader")


def by_hand():
    """A feature split twice, a tree without a split, infinite and signed-zero thresholds, NaN on either side."""
    inner = Split(0, 0.5, True, Leaf(1.0, 2), Leaf(-2.0, 1), 3)
    deep = Split(1, -0.0, False, inner, Split(0, -0.25, False, Leaf(3.0, 4), Leaf(0.5, 2), 6), 9)
    return Acorn([deep, Leaf(0.125, 9), Split(2, np.inf, False, Leaf(-1.0, 8), Leaf(5.0, 1), 9)], 0.75, D)


MODELS = {
    "by hand": by_hand,
    "regressor": lambda: AcornRegressor().fit(X, Y),
    "classifier": lambda: AcornClassifier().fit(X, np.where(Y > 0.1, "yes", "no")),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


def trees_of(model):
    return model if isinstance(model, Acorn) else model.acorn_


def rows_of(model):
    """Rows on every threshold and one step to either side, with NaN, signed zeros and, if it takes them, infinities."""
    infinite = [np.inf, -np.inf] if isinstance(model, Acorn) else []
    found = [[0.0, -0.0, np.nan, *infinite] for _ in range(D)]
    pending = list(trees_of(model).trees)
    while pending:
        if isinstance(node := pending.pop(), Split):
            t, single = node.threshold, np.float32(node.threshold)
            beside = [t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf), float(single)]
            found[node.feature] += [x for x in beside if np.isfinite(x) or infinite]
            pending += [node.left, node.right]
    return np.column_stack([RNG.permutation(np.resize(values, 80)) for values in found])


def path_dependent_game(acorn, rows):
    """v_S(x): splits on S go x's way, the others both ways, by their training rows."""

    def expected(node, kept):
        if isinstance(node, Leaf):
            return node.value
        left, right = expected(node.left, kept), expected(node.right, kept)
        if node.feature in kept:
            return np.where(goes_left(node, rows), left, right)
        return (node.left.rows * left + node.right.rows * right) / node.rows

    return {
        s: np.full((len(rows), 1), acorn.base) + sum(np.reshape(expected(t, s), (-1, 1)) for t in acorn.trees)
        for s in subsets(D)
    }


def game_of(model, rows, weighting):
    acorn = trees_of(model)
    if weighting == "empirical":
        return brute_force_game(acorn.predict, rows, X)
    return path_dependent_game(acorn, rows)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_decomposer(model, weighting):
    rows = rows_of(model)
    decomposer = GlexDecomposer(model, weighting=weighting).fit(X)
    components = game_components(game_of(model, rows, weighting))
    check_components(decomposer, rows, components, TOLERANCE["atol"])
    margin = trees_of(model).predict(rows)
    assert_allclose(total(decomposer, rows)[:, 0], margin, **TOLERANCE)
    assert_allclose(decomposer.shap_values(rows), shapley_values(components, D)[..., 0], **TOLERANCE)
    pairs = shapley_interactions(components, D)[..., 0]
    assert_allclose(decomposer.shap_interaction_values(rows), pairs, **TOLERANCE)
    again = pickle.loads(pickle.dumps(decomposer))
    assert_allclose(again.transform(rows), decomposer.transform(rows), rtol=0, atol=0)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_remover(model, weighting):
    rows = rows_of(model)
    remover = FeatureRemover(model, [1], weighting=weighting).fit(X)
    left = game_of(model, rows, weighting)[0, 2][:, 0]
    if isinstance(model, AcornClassifier):
        assert_allclose(remover.predict_proba(rows)[:, 1], expit(left), **TOLERANCE)
        assert set(remover.predict(rows)) <= {"yes", "no"}
    else:
        assert_allclose(remover.predict(rows), left, **TOLERANCE)


def test_fitted_here():
    """In a pipeline, on a data frame, and as a member of a voting ensemble; infinities are refused, as by the model."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    decomposer = GlexDecomposer(make_pipeline(StandardScaler(), AcornRegressor())).fit(frame, Y)
    margin = decomposer.estimator_.predict(frame)
    assert_allclose(total(decomposer, frame), np.c_[margin], **TOLERANCE)
    with pytest.raises(ValueError, match="feature names should match"):
        GlexDecomposer(AcornRegressor().fit(frame, Y)).fit(frame).transform(frame[["b", "a", "c"]])
    voting = VotingRegressor([("small", AcornRegressor(2)), ("deep", AcornRegressor(depth=4))]).fit(X, Y)
    assert_allclose(total(GlexDecomposer(voting).fit(X), X), np.c_[voting.predict(X)], **TOLERANCE)
    with pytest.raises(ValueError, match="infinity"):
        GlexDecomposer(AcornRegressor().fit(X, Y)).fit(np.where(X > 1, np.inf, X))
