"""Read wrappers of scikit-learn: one model per class or target, thresholds of classifiers, selections of features."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skglex import FeatureRemover, GlexDecomposer
from tests.readers.contract import ReaderContract
from tests.readers.sklearn_models import BINARY, BOOST, CLASSES, EXACT, FLOAT32, FOREST, TARGETS, TREE, X, Y
from tests.readers.sklearn_models import margin_of as margin_of_member
from tests.readers.sklearn_models import takes as takes_value
from tests.readers.sklearn_models import thresholds as thresholds_of_member
from tests.support import tree_walks
from tests.support.oracles import total

# scikit-learn's own cast to float32 warns of values that become infinite.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")

LABELS = np.column_stack([BINARY, X[:, 0] > 0, X[:, 1] > 1]).astype(int)
MODELS = {
    "rest, boosting": lambda: OneVsRestClassifier(GradientBoostingClassifier(**BOOST)).fit(X, CLASSES),
    "rest, forest": lambda: OneVsRestClassifier(RandomForestClassifier(**FOREST)).fit(X, CLASSES),
    "rest, two classes": lambda: OneVsRestClassifier(GradientBoostingClassifier(**BOOST)).fit(X, BINARY),
    "rest, labels": lambda: OneVsRestClassifier(DecisionTreeClassifier(**TREE)).fit(X, LABELS),
    "targets": lambda: MultiOutputRegressor(DecisionTreeRegressor(**TREE)).fit(X, TARGETS),
    "targets, classes": lambda: MultiOutputClassifier(RandomForestClassifier(**FOREST)).fit(
        X, np.column_stack([BINARY.astype(str), CLASSES])
    ),
    "threshold": lambda: FixedThresholdClassifier(RandomForestClassifier(**FOREST), threshold=0.3).fit(
        X, BINARY
    ),
    "threshold, decision": lambda: FixedThresholdClassifier(
        GradientBoostingClassifier(**BOOST, loss="exponential"),
        threshold=-0.4,
        pos_label=False,
        response_method="decision_function",
    ).fit(X, BINARY),
}


def members(model):
    return model.estimators_ if hasattr(model, "estimators_") else [model.estimator_]


class TestContract(ReaderContract):
    X = X
    special = (0.0, 1e30, 5.0, np.nan, -np.inf)
    # ONNX has no classifier of several targets.
    without_onnx = ("rest, labels", "targets, classes")
    # `test_predictions_of_several_targets` compares probabilities, which are a list.
    without_output = ("targets, classes",)
    saved = ("rest, forest", "threshold")
    dependence = ("targets",)

    def margin(self, model, rows):
        return np.hstack([margin_of_member(member, rows) for member in members(model)])

    def thresholds(self, model):
        return [pair for member in members(model) for pair in thresholds_of_member(member)]

    def takes(self, model, value):
        return takes_value(members(model)[0], value)

    def path_dependent_game(self, model, rows):
        games = [tree_walks.game(member, rows, margin_of_member(member, rows)) for member in members(model)]
        return {s: np.hstack([game[s] for game in games]) for s in games[0]}


def test_predictions_of_several_targets(model_of):
    model = model_of("targets, classes")
    remover = FeatureRemover(model, [0], strength=1e-300).fit(X)
    assert is_classifier(remover)
    for ours, theirs in zip(remover.predict_proba(X), model.predict_proba(X), strict=True):
        assert_allclose(ours, theirs, rtol=0, atol=EXACT)
    assert_array_equal(remover.predict(X), model.predict(X))
    assert remover.score(X, model.predict(X)) == 1.0
    assert not hasattr(remover, "decision_function")
    names = GlexDecomposer(model).fit(X).get_feature_names_out()
    assert {name.partition("__")[0] for name in names} == {"0", "1_low", "1_mid", "1_top"}


def test_members_of_other_libraries():
    model = MultiOutputRegressor(lgb.LGBMRegressor(n_estimators=4, verbose=-1)).fit(X, TARGETS)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(X)
    assert_allclose(total(decomposer, X), model.predict(X), rtol=0, atol=EXACT)
    counts = MultiOutputRegressor(xgb.XGBRegressor(n_estimators=3, objective="count:poisson"))
    remover = FeatureRemover(counts, [0], strength=1e-300).fit(X, np.abs(TARGETS))
    assert_allclose(remover.predict(X), remover.estimator_.predict(X), rtol=FLOAT32)
    classes = np.column_stack([BINARY, np.digitize(Y, [0, 1])])
    model = MultiOutputClassifier(xgb.XGBClassifier(n_estimators=3)).fit(X, classes)
    assert_array_equal(FeatureRemover(model, [0], strength=1e-300).fit(X).predict(X), model.predict(X))
    fitted_here = FeatureRemover(MultiOutputClassifier(DecisionTreeClassifier(**TREE)), [0]).fit(X, classes)
    assert fitted_here.predict(X).shape == classes.shape


def test_members_with_preprocessing_are_refused():
    model = OneVsRestClassifier(make_pipeline(StandardScaler(), GradientBoostingClassifier(**BOOST)))
    with pytest.raises(TypeError, match="member Pipeline: its members must be tree models, without prep"):
        GlexDecomposer(model.fit(X, CLASSES)).fit(X)
    constant = OneVsRestClassifier(DecisionTreeClassifier(**TREE))
    with pytest.warns(UserWarning, match="Label 0 is present in all"):
        constant.fit(X, np.column_stack([np.ones(len(X)), BINARY]))
    with pytest.raises(TypeError, match="decompose a _ConstantPredictor: all of its training rows"):
        GlexDecomposer(constant).fit(X)


# -- thresholds and feature selection ----------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda model: model, FrozenEstimator])
def test_thresholds_decide_the_labels(wrap, run_onnx):
    """A label follows the threshold with every strength, around pipelines and frozen models, and in ONNX."""
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(**FOREST))
    for model in (
        FixedThresholdClassifier(wrap(pipeline.fit(X, CLASSES == "top")), threshold=0.25),
        TunedThresholdClassifierCV(wrap(pipeline), cv=2),
        FixedThresholdClassifier(wrap(pipeline), threshold=0.25, pos_label=False),
    ):
        model.fit(X, CLASSES == "top")
        remover = FeatureRemover(model, [0], strength=1e-300).fit(X)
        assert_array_equal(remover.predict(X), model.predict(X))
        assert (model.predict(X) != model.predict_proba(X).argmax(axis=1).astype(bool)).any()
        assert not hasattr(remover, "decision_function")
        remover = FeatureRemover(model, [0]).fit(X)
        found = run_onnx(remover.to_onnx(), StandardScaler().fit_transform(X))
        assert_array_equal(found["label"], remover.predict(X))
        decomposer = GlexDecomposer(model, max_interaction=None).fit(X)
        assert_allclose(total(decomposer, X)[:, 0], model.predict_proba(X)[:, 1], rtol=0, atol=EXACT)


def test_feature_selection_keeps_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    forest = RandomForestRegressor(**FOREST)
    selection = RFECV(forest, min_features_to_select=3, cv=2)
    for model in (
        selection,
        make_pipeline(selection, forest),
        make_pipeline(SelectFromModel(forest, threshold="0.1*mean"), forest),
    ):
        decomposer = GlexDecomposer(model, max_interaction=None).fit(frame, Y)
        fitted = decomposer.estimator_
        kept = getattr(fitted, "named_steps", {}).get("rfecv", getattr(fitted, "support_", None))
        names = decomposer.explained_features_
        assert set(names) <= set(frame.columns)
        assert kept is None or names == frame.columns[getattr(kept, "support_", kept)].tolist()
        assert_allclose(total(decomposer, frame)[:, 0], fitted.predict(frame), rtol=0, atol=EXACT)
