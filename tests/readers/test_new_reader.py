"""Follow the recipe of CONTRIBUTING.md for a new reader, on the made-up library of `support/acorn.py`."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import VotingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skglex import GlexDecomposer
from skglex._readers import _registry
from tests.readers.contract import ReaderContract
from tests.support.acorn import Acorn, AcornClassifier, AcornRegressor, Leaf, Split, goes_left
from tests.support.oracles import (
    subsets,
    total,
)

D = 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, D)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
Y = np.nan_to_num(X[:, 0] * X[:, 1]) + np.isnan(X[:, 2])
# These are float64 sums of a dozen terms.
TOLERANCE = {"rtol": 0, "atol": 1e-12}
WEIGHTINGS = ["empirical", "path_dependent"]


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """Register the reader."""
    monkeypatch.setitem(_registry._READERS, "tests.support.acorn", "tests.support.acorn_reader")


def by_hand():
    """Build trees with a feature split twice, no split, infinite and signed-zero thresholds, NaN on both sides."""
    inner = Split(0, 0.5, True, Leaf(1.0, 2), Leaf(-2.0, 1), 3)
    deep = Split(1, -0.0, False, inner, Split(0, -0.25, False, Leaf(3.0, 4), Leaf(0.5, 2), 6), 9)
    return Acorn([deep, Leaf(0.125, 9), Split(2, np.inf, False, Leaf(-1.0, 8), Leaf(5.0, 1), 9)], 0.75, D)


MODELS = {
    "by hand": by_hand,
    "regressor": lambda: AcornRegressor().fit(X, Y),
    "classifier": lambda: AcornClassifier().fit(X, np.where(Y > 0.1, "yes", "no")),
}


def trees_of(model):
    return model if isinstance(model, Acorn) else model.acorn_


class TestContract(ReaderContract):
    X = X
    removed = (1,)
    saved = tuple(MODELS)

    def margin(self, model, rows):
        return trees_of(model).predict(rows).reshape(len(rows), 1)

    def thresholds(self, model):
        pending = list(trees_of(model).trees)
        while pending:
            if isinstance(node := pending.pop(), Split):
                yield node.feature, node.threshold
                pending += [node.left, node.right]

    def takes(self, model, value):
        return isinstance(model, Acorn) or not np.isinf(value)

    def path_dependent_game(self, model, rows):
        def expected(node, kept):
            if isinstance(node, Leaf):
                return np.full(len(rows), node.value)
            left, right = expected(node.left, kept), expected(node.right, kept)
            if node.feature in kept:
                return np.where(goes_left(node, rows), left, right)
            return (node.left.rows * left + node.right.rows * right) / node.rows

        return {s: sum(expected(tree, s) for tree in trees_of(model).trees)[:, None] for s in subsets(D)}


def test_fitted_here():
    """Fit in a pipeline, on a data frame, and as a member of a voting ensemble; refuse infinities as the model does."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    decomposer = GlexDecomposer(make_pipeline(StandardScaler(), AcornRegressor()), max_interaction=None).fit(
        frame, Y
    )
    margin = decomposer.estimator_.predict(frame)
    assert_allclose(total(decomposer, frame), np.c_[margin], **TOLERANCE)
    with pytest.raises(ValueError, match="feature names should match"):
        GlexDecomposer(AcornRegressor().fit(frame, Y), max_interaction=None).fit(frame).transform(
            frame[["b", "a", "c"]]
        )
    voting = VotingRegressor([("small", AcornRegressor(2)), ("deep", AcornRegressor(depth=4))]).fit(X, Y)
    assert_allclose(
        total(GlexDecomposer(voting, max_interaction=None).fit(X), X), np.c_[voting.predict(X)], **TOLERANCE
    )
    with pytest.raises(ValueError, match="infinity"):
        GlexDecomposer(AcornRegressor().fit(X, Y), max_interaction=None).fit(np.where(X > 1, np.inf, X))
