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
from tests.support.oracles import to_float32, total

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
        return tree_walks.game_of_trees(votes(model), rows, self.margin(model, rows))


def votes(model):
    """Yield the trees with the votes in their leaves."""
    n = len(model.classes_)
    for member, weight in zip(model.estimators_, model.estimator_weights_):
        tree = member.tree_
        vote = np.eye(n)[tree.value[:, 0].argmax(axis=1)]
        vote = 2 * vote[:, 1:] - 1 if n == 2 else vote - (1 - vote) / (n - 1)
        vote *= weight * (1 + (n == 2)) / model.estimator_weights_.sum()
        yield tree_walks.from_arrays(
            tree.children_left,
            tree.children_right,
            tree.feature,
            lambda node, tree=tree: lambda x: to_float32(x) <= tree.threshold[node],
            tree.weighted_n_node_samples,
            vote,
        )


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
