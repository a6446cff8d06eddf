"""Read calibrated, voting, stacked and transformed models, beside brute force over their own predictions."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.calibration
import xgboost as xgb
from numpy.testing import assert_allclose
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PowerTransformer, QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestClassifier
from skglex.inspection import component_importance, response_components
from skglex.plotting import ComponentDisplay, WaterfallDisplay
from tests.support.oracles import brute_force_game, game_components, shapley_values

RNG = np.random.default_rng(8)
N, D = 150, 3
X = RNG.normal(size=(N, D)).round(2)
SCORE = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RNG.normal(size=N)
BINARY = np.where(SCORE > 0, "yes", "no")
CODES = (SCORE > 0).astype(int)
THREE = np.digitize(SCORE, [-0.5, 0.5])
BACKGROUND, ROWS = X[:15], X[100:104]
HIST = HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=5)
FOREST = RandomForestClassifier(5, max_depth=4, random_state=0)
BOOSTING = GradientBoostingClassifier(n_estimators=5)
XGB = xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1)
REGRESSOR = HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=5)
TREE = DecisionTreeRegressor(max_depth=4, random_state=0)
POISSON = HistGradientBoostingRegressor(loss="poisson", max_iter=6, min_samples_leaf=5)


def calibrated(estimator, target, **params):
    return lambda: CalibratedClassifierCV(estimator, cv=2, **params).fit(X, target)


def soft_vote(*members, **params):
    return VotingClassifier([(f"m{i}", member) for i, member in enumerate(members)], voting="soft", **params)


def stack(*members, **params):
    return StackingClassifier([(f"m{i}", member) for i, member in enumerate(members)], cv=2, **params)


def fitted(model, target):
    return lambda: model.fit(X, target)


MODELS = {
    "sigmoid, decision": calibrated(BOOSTING, BINARY),
    "sigmoid, probability, classes": calibrated(FOREST, THREE),
    "sigmoid, one model": calibrated(HIST, THREE, ensemble=False),
    "isotonic, decision, classes": calibrated(HIST, THREE, method="isotonic"),
    "isotonic, probability": calibrated(XGB, CODES, method="isotonic"),
    "isotonic, one model": calibrated(FOREST, BINARY, method="isotonic", ensemble=False),
    "frozen": lambda: CalibratedClassifierCV(FrozenEstimator(BOOSTING.fit(X, BINARY))).fit(X, BINARY),
    "planted": calibrated(
        RandomPlantedForestClassifier(n_estimators=2, random_state=0), BINARY, ensemble=False
    ),
    "voting": fitted(soft_vote(HIST, FOREST, XGB, weights=[1, 2, 3]), THREE),
    "voting, counts": fitted(VotingRegressor([("a", POISSON), ("b", TREE)]), np.exp(SCORE)),
    "stack, decisions": fitted(stack(HIST, BOOSTING), THREE),
    "stack, probabilities": fitted(stack(FOREST, HIST, stack_method="predict_proba"), BINARY),
    "stack, labels": fitted(stack(HIST, FOREST, stack_method="predict"), THREE),
    "stack, regressors": fitted(StackingRegressor([("a", REGRESSOR), ("b", TREE)], cv=2), SCORE),
    "transformed": fitted(
        TransformedTargetRegressor(REGRESSOR, func=np.log1p, inverse_func=np.expm1), np.exp(SCORE)
    ),
    "transformed by quantiles": fitted(
        TransformedTargetRegressor(TREE, transformer=QuantileTransformer(n_quantiles=20)), SCORE
    ),
    "calibrated pipelines": calibrated(make_pipeline(StandardScaler(), HIST), THREE),
    "voting of pipelines": fitted(soft_vote(make_pipeline(StandardScaler(), HIST), FOREST), THREE),
    "stack of pipelines": fitted(
        StackingRegressor([("a", make_pipeline(PowerTransformer(), REGRESSOR)), ("b", TREE)], cv=2), SCORE
    ),
    "calibrated vote": calibrated(soft_vote(BOOSTING, HIST), BINARY, ensemble=False),
}
if hasattr(sklearn.calibration, "_TemperatureScaling"):
    MODELS |= {
        "temperature, decision": calibrated(BOOSTING, BINARY, method="temperature"),
        "temperature, probability": calibrated(FOREST, THREE, method="temperature", ensemble=False),
    }


def response(model, rows):
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(rows)
        return p[:, 1:] if p.shape[1] == 2 else p
    return model.predict(rows)[:, None]


@pytest.mark.parametrize("name", MODELS)
def test_responses_are_averaged(name):
    model = MODELS[name]()
    # XGBoost predicts in float32; isotonic regression makes differences larger.
    atol = 1e-5 if name in ("isotonic, probability", "voting") else 1e-10
    decomposer = GlexDecomposer(model).fit(BACKGROUND)
    assert decomposer.explained_features_ == ["x0", "x1", "x2"]
    game = brute_force_game(lambda Z: response(model, Z), ROWS, BACKGROUND)
    shap_values = decomposer.shap_values(ROWS, scale="response").reshape(len(ROWS), D, -1)
    assert_allclose(shap_values, shapley_values(game_components(game), D), rtol=0, atol=atol)
    assert_allclose(np.reshape(decomposer.intercept_, -1), game[()][0], rtol=0, atol=atol)
    remover = FeatureRemover(model, [0], scale="response").fit(BACKGROUND)
    assert_allclose(response(remover, ROWS), game[(1, 2)], rtol=0, atol=atol)
    whole = FeatureRemover(model, [0], scale="response", strength=1e-300).fit(BACKGROUND)
    assert (whole.predict(X) == model.predict(X)).all() or not hasattr(model, "classes_")
    assert not hasattr(remover, "decision_function")
    copied = pickle.loads(pickle.dumps(decomposer))
    assert_allclose(
        copied.partial_dependence("x1", ROWS, scale="response").reshape(len(ROWS), -1), game[(1,)], atol=atol
    )


def test_the_margin_scale_is_refused(plt):
    model = MODELS["sigmoid, decision"]()
    message = r"a CalibratedClassifierCV has no single margin.* Pass scale='response'"
    with pytest.raises(ValueError, match=message):
        FeatureRemover(model, [0]).fit(X)
    decomposer = GlexDecomposer(model).fit(X)
    for call in (
        lambda: decomposer.transform(X),
        lambda: decomposer.get_feature_names_out(),
        lambda: decomposer.components_,
        lambda: decomposer.strongest_components(),
        lambda: decomposer["x0"].evaluate(X),
        lambda: decomposer.shap_values(X),
        lambda: decomposer.shap_interaction_values(X),
        lambda: decomposer.partial_dependence("x0", X),
        lambda: decomposer.feature_importances_,
        lambda: component_importance(decomposer),
        lambda: ComponentDisplay.from_decomposer(decomposer, "x0"),
        lambda: WaterfallDisplay.from_decomposer(decomposer, X[:1]),
    ):
        with pytest.raises((ValueError, AttributeError), match=message):
            call()
    with pytest.raises(ValueError, match="weighting='path_dependent' does not have"):
        GlexDecomposer(model, weighting="path_dependent").fit(X)
    with pytest.raises(ValueError, match="inverse link 'function' cannot be exported"):
        FeatureRemover(model, [0], scale="response").fit(BACKGROUND).to_onnx()
    assert "CalibratedClassifierCV" in decomposer._html_repr()


def test_raw_columns_are_the_features_of_members_with_a_preprocessing(plt):
    frame = pd.DataFrame({"group": RNG.choice(list("abc"), N), "x": X[:, 0], "z": X[:, 1]})
    target = (frame["group"] == "a") + frame["x"] + frame["z"] > 0.5
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["group"]), (StandardScaler(), ["x"]), remainder="passthrough"
    )
    model = CalibratedClassifierCV(make_pipeline(encode, HIST), cv=2).fit(frame, target)
    decomposer = GlexDecomposer(model).fit(frame)
    assert decomposer.explained_features_ == ["group", "x", "z"]
    table = response_components(decomposer, frame[:6], None)
    assert_allclose(table.sum(axis=1), model.predict_proba(frame[:6])[:, 1], rtol=0, atol=1e-12)
    expected = np.mean([model.predict_proba(frame[:6].assign(group=g))[:, 1] for g in frame["group"]], axis=0)
    remover = FeatureRemover(model, "group", scale="response").fit(frame)
    assert_allclose(remover.predict_proba(frame[:6])[:, 1], expected, rtol=0, atol=1e-12)
    grouped = GlexDecomposer(model, feature_groups={"numbers": ["x", "z"]}).fit(frame)
    assert grouped.explained_features_ == ["group", "numbers"]
    whole = table["x"] + table["z"] + table["x:z"]
    assert_allclose(response_components(grouped, frame[:6], 1)["numbers"], whole, rtol=0, atol=1e-12)
    display = ComponentDisplay.from_decomposer(decomposer, ["group", "x"], scale="response")
    assert [label.get_text() for label in display.axes_[0].get_xticklabels()] == ["a", "b", "c"]


def test_models_are_fitted_here():
    decomposer = GlexDecomposer(CalibratedClassifierCV(XGB, cv=2)).fit(X, BINARY)
    assert decomposer.classes_.tolist() == ["no", "yes"]
    p = decomposer.estimator_.predict_proba(ROWS)[:, 1]
    table = response_components(decomposer, ROWS, None)
    assert_allclose(table.sum(axis=1), p, rtol=0, atol=1e-6)


def test_what_is_refused():
    linear = LogisticRegression()
    with pytest.raises(TypeError, match="StackingClassifier with the member LogisticRegression"):
        GlexDecomposer(stack(HIST, linear)).fit(X, THREE)
    with pytest.raises(ValueError, match="StackingClassifier with passthrough=True"):
        GlexDecomposer(stack(HIST, passthrough=True)).fit(X, THREE)
    last = DecisionTreeClassifier(max_depth=1)
    with pytest.raises(ValueError, match="whose last model is a DecisionTreeClassifier"):
        GlexDecomposer(stack(HIST, final_estimator=last)).fit(X, THREE)
    model = MODELS["sigmoid, decision"]()
    model.calibrated_classifiers_[0].calibrators[0] = TREE
    with pytest.raises(ValueError, match="with the calibrator DecisionTreeRegressor"):
        GlexDecomposer(model).fit(X)
    with pytest.raises(TypeError, match="CalibratedClassifierCV with the member LogisticRegression"):
        GlexDecomposer(CalibratedClassifierCV(linear, cv=2)).fit(X, BINARY)
