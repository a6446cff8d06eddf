"""Read weighted votes of trees."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from skglex import GlexDecomposer
from tests.readers.contract import ReaderContract
from tests.readers.sklearn_models import BINARY, CLASSES, EXACT, FOREST, X, takes, thresholds
from tests.support import tree_walks
from tests.support.oracles import subsets, to_float32, total

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
MODELS = {
    "two classes": lambda: AdaBoostClassifier(TREE, n_estimators=6, random_state=0).fit(X, BINARY),
    "three classes": lambda: AdaBoostClassifier(TREE, n_estimators=5, learning_rate=0.5).fit(X, CLASSES),
}


class TestContract(ReaderContract):
    X = X
    special = (0.0, -0.0, 1e30, np.nan, np.inf)
    saved = ("three classes",)

    def margin(self, model, rows):
        return model.decision_function(rows).reshape(len(rows), -1)

    def thresholds(self, model):
        return thresholds(model)

    def takes(self, model, value):
        return takes(model, value)

    def path_dependent_game(self, model, rows):
        n = len(model.classes_)
        games = dict.fromkeys(subsets(4), 0.0)
        for member, weight in zip(model.estimators_, model.estimator_weights_):
            tree = member.tree_
            vote = np.eye(n)[tree.value[:, 0].argmax(axis=1)]
            vote = 2 * vote[:, 1:] - 1 if n == 2 else vote - (1 - vote) / (n - 1)
            vote *= weight * (1 + (n == 2)) / model.estimator_weights_.sum()
            root = tree_walks.from_arrays(
                tree.children_left,
                tree.children_right,
                tree.feature,
                lambda node, tree=tree: lambda x: to_float32(x) <= tree.threshold[node],
                tree.weighted_n_node_samples,
                vote,
            )
            for s in games:
                games[s] = games[s] + expected(root, s, rows)
        return games


def expected(node, kept, rows):
    """Return the value of a node if only the splits on some features follow the row."""
    if node.left is None:
        return np.tile(node.value, (len(rows), 1))
    left, right = (expected(child, kept, rows) for child in (node.left, node.right))
    if node.feature in kept:
        return np.where(node.goes_left(rows[:, node.feature])[:, None], left, right)
    return (node.left.cover * left + node.right.cover * right) / node.cover


def test_votes_of_other_models_are_refused():
    model = AdaBoostClassifier(RandomForestClassifier(**FOREST), n_estimators=2).fit(X, BINARY)
    with pytest.raises(
        ValueError, match="AdaBoostClassifier over a RandomForestClassifier, whose vote is no sum"
    ):
        GlexDecomposer(model).fit(X)


def test_forests_and_boosters_of_imbalanced_learn():
    ensemble = pytest.importorskip("imblearn.ensemble", reason="needs imbalanced-learn")
    for kind in ("RUSBoostClassifier", "BalancedRandomForestClassifier", "BalancedBaggingClassifier"):
        model = getattr(ensemble, kind)(n_estimators=4, random_state=0).fit(X, CLASSES == "top")
        decomposer = GlexDecomposer(model, max_interaction=None).fit(X)
        margin = model.decision_function(X) if kind.startswith("RUS") else model.predict_proba(X)[:, 1]
        assert_allclose(total(decomposer, X)[:, 0], margin, rtol=0, atol=EXACT)
