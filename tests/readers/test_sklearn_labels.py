"""Predict labels with scikit-learn's models where two classes have even odds, and score isolation forests."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
)

from skglex import FeatureRemover, GlexDecomposer
from tests.readers.sklearn_models import (  # noqa: F401
    EXACT,
    MODELS,
    X,
    margin_of,
)
from tests.support.oracles import total

# scikit-learn's own cast to float32 warns of values that become infinite.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")


def test_isolation_forests_are_fitted_without_a_target():
    assert hasattr(FeatureRemover(IsolationForest(), [0]), "score_samples")
    remover = FeatureRemover(IsolationForest(n_estimators=5, random_state=0), [0]).fit(X)
    assert remover.estimator_.n_features_in_ == 4
    assert set(remover.predict(X)) == {-1, 1}
    assert remover.__sklearn_tags__().estimator_type == "outlier_detector"
    assert not hasattr(FeatureRemover(RandomForestRegressor(), [0]), "score_samples")
    decomposer = GlexDecomposer(IsolationForest(n_estimators=5, random_state=0), max_interaction=None).fit(X)
    margin = margin_of(decomposer.estimator_, X)
    np.testing.assert_allclose(total(decomposer, X), margin, rtol=0, atol=EXACT)


# -- labels ---------------------------------------------------------------------------------------

TIED = np.repeat([[0, 0], [0, 0], [1, 0], [2, 0]], 50, axis=0).astype(
    float
)  # Half of the rows at [0, 0] are in class 1.
TIED_LABELS = np.repeat([0, 1, 1, 0], 50)


def check_labels(model, features, rows, background):
    """Require the model's own labels after the removal of an unused feature, and with ``strength=0``."""
    expected = model.predict(rows)
    np.testing.assert_array_equal(FeatureRemover(model, features).fit(background).predict(rows), expected)
    np.testing.assert_array_equal(
        FeatureRemover(model, [0], strength=0).fit(background).predict(rows), expected
    )


@pytest.mark.parametrize(
    "params", [{}, {"loss": "exponential"}, {"init": "zero"}], ids=["log loss", "exponential", "zero"]
)
def test_even_odds_go_where_gradient_boosting_sends_them(params):
    model = GradientBoostingClassifier(n_estimators=5, **params).fit(TIED, TIED_LABELS)
    assert (model.decision_function(TIED[:1]) == 0).all()
    check_labels(model, [1], TIED, TIED)


def test_even_odds_in_onnx(run_onnx):
    model = GradientBoostingClassifier(n_estimators=5).fit(TIED, TIED_LABELS)
    exported = FeatureRemover(model, [1]).fit(TIED).to_onnx()
    np.testing.assert_array_equal(run_onnx(exported, TIED)["label"], model.predict(TIED))


@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, DecisionTreeClassifier])
def test_even_odds_go_to_the_first_class_elsewhere(kind):
    model = kind().fit(TIED, TIED_LABELS)
    assert (model.predict_proba(TIED[:1]) == 0.5).all()
    check_labels(model, [1], TIED, TIED)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_tied_votes_of_a_forest(kind):
    """With 50 of 100 votes for each class, a sum of hundredths is not exactly one half."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(600, 3)), np.zeros(600)])
    model = kind(random_state=0).fit(rows[:300], rng.integers(0, 2, 300))
    assert (model.predict_proba(rows)[:, 1] == 0.5).sum() > 2
    check_labels(model, [3], rows, rows[:300])


@pytest.mark.parametrize("seed", range(3))
def test_scores_at_the_offset_of_an_isolation_forest(seed):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, 3, (500, 3)), np.zeros(500)]).astype(float)
    model = IsolationForest(n_estimators=20, contamination=0.1, max_samples=64, random_state=seed).fit(rows)
    assert np.isclose(model.decision_function(rows), 0, rtol=0, atol=1e-12).any()
    check_labels(model, [3], rows, rows)
