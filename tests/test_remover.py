"""Compare FeatureRemover with components and brute force, and use it as a scikit-learn estimator."""

import json
import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestClassifier
from tests.support.data import WEIGHTINGS
from tests.support.people import FRAME, MODEL, PEOPLE, RNG, N, Y, people_pipeline
from tests.support.small_models import FLOAT32, small


@parametrize_with_checks(
    [
        FeatureRemover(small().fit(FRAME, Y), [0]),
        FeatureRemover(xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1), [0]),
        FeatureRemover(small(), 0, strength=0.5, weighting="path_dependent"),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("features", [["sex"], ["sex", "age"], ["hours", "noise", "age"]])
def test_sum_of_untouched_components(weighting, features):
    dec = GlexDecomposer(MODEL, weighting=weighting, max_interaction=None).fit(FRAME)
    columns = dec.transform(FRAME)
    untouched = [i for i, c in enumerate(dec.components_) if not set(c.features) & set(features)]
    expected = dec.intercept_ + columns[:, untouched].sum(axis=1)
    full = dec.intercept_ + columns.sum(axis=1)
    for strength in (1.0, 0.3):
        remover = FeatureRemover(MODEL, features, weighting=weighting, strength=strength).fit(FRAME)
        # These are float64 sums of the same leaves in another order.
        assert np.allclose(remover.margin(FRAME), (1 - strength) * full + strength * expected, atol=1e-12)
    assert remover.removed_features_ == [name for name in FRAME.columns if name in features]


@pytest.mark.parametrize("objective", ["reg:squarederror", "reg:logistic", "count:poisson", "survival:cox"])
def test_decisions_exist_where_there_is_a_link(objective):
    target = (Y > 6).astype(float) if objective == "reg:logistic" else np.abs(Y) + 0.1
    remover = FeatureRemover(small(objective=objective), ["noise"]).fit(FRAME, target)
    assert is_regressor(remover)
    assert hasattr(remover, "decision_function") == (objective != "reg:squarederror")
    if hasattr(remover, "decision_function"):
        assert np.array_equal(remover.decision_function(FRAME), remover.margin(FRAME))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers(n_classes):
    labels = np.array(["a", "b", "c"])[np.digitize(Y, [6.0] if n_classes == 2 else [5.0, 7.0])]
    remover = FeatureRemover(xgb.XGBClassifier(n_estimators=10, max_depth=3), ["sex"]).fit(FRAME, labels)
    assert is_classifier(remover)
    assert list(remover.classes_) == ["a", "b", "c"][:n_classes]
    probabilities = remover.predict_proba(FRAME)
    assert probabilities.shape == (N, n_classes)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    assert np.array_equal(remover.predict(FRAME), remover.classes_[probabilities.argmax(axis=1)])
    assert np.allclose(np.exp(remover.predict_log_proba(FRAME)), probabilities, atol=1e-12)
    margin = remover.decision_function(FRAME)
    assert margin.shape == ((N,) if n_classes == 2 else (N, 3))
    assert remover.score(FRAME, labels) == (remover.predict(FRAME) == labels).mean()
    weight = np.arange(N)
    expected = np.average(remover.predict(FRAME) == labels, weights=weight)
    assert remover.score(FRAME, labels, weight) == pytest.approx(expected, abs=1e-12)
    whole = clone(remover).set_params(strength=0).fit(FRAME, labels)
    own = whole.estimator_
    assert np.array_equal(whole.predict_proba(FRAME)[:, 1], own.predict_proba(FRAME)[:, 1].astype(float))
    assert np.array_equal(whole.predict(FRAME), np.array(["a", "b", "c"])[own.predict(FRAME)])


def test_ranker_and_multi_output():
    groups = np.repeat(np.arange(40), 10)
    ranker = FeatureRemover(xgb.XGBRanker(n_estimators=5), ["sex"])
    ranker.fit(FRAME, np.clip(Y, 0, 10).astype(int), qid=groups)
    assert not is_regressor(ranker)
    assert not is_classifier(ranker)
    assert not hasattr(ranker, "score")
    assert np.array_equal(ranker.predict(FRAME), ranker.decision_function(FRAME))
    several = FeatureRemover(small(), ["sex"]).fit(FRAME, np.column_stack([Y, -Y]))
    assert several.predict(FRAME).shape == (N, 2)
    assert several.score(FRAME, np.column_stack([Y, -Y])) > 0


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_several_labels_at_a_time(n_labels, strategy):
    labels = np.column_stack([Y > 6, FRAME["hours"] > 0, FRAME["noise"] > 1])[:, :n_labels].astype(int)
    model = xgb.XGBClassifier(n_estimators=5, multi_strategy=strategy, tree_method="hist").fit(FRAME, labels)
    for strength in (0, 1e-14):
        remover = FeatureRemover(model, ["sex"], strength=strength).fit(FRAME)
        assert np.array_equal(remover.predict(FRAME), model.predict(FRAME))
        assert np.allclose(remover.predict_proba(FRAME), model.predict_proba(FRAME), atol=FLOAT32)


def test_searches():
    search = GridSearchCV(
        FeatureRemover(people_pipeline(), ["sex"]),
        {
            "strength": [0, 0.5, 1.0],
            "features": [["sex"], ["sex", "age"]],
            "estimator__xgbregressor__max_depth": [1, 3],
        },
        cv=3,
        error_score="raise",
    ).fit(PEOPLE, Y)
    assert search.best_params_["strength"] == 0
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert cross_val_predict(FeatureRemover(small(), ["sex"]), FRAME, Y, cv=3).shape == (N,)
    frozen = FeatureRemover(FrozenEstimator(MODEL), ["sex"])
    assert np.array_equal(
        clone(frozen).fit(FRAME, Y).predict(FRAME), FeatureRemover(MODEL, ["sex"]).fit(FRAME).predict(FRAME)
    )


def test_pickle_and_n_jobs():
    one = FeatureRemover(MODEL, ["sex"], n_jobs=1).fit(FRAME)
    two = pickle.loads(pickle.dumps(FeatureRemover(MODEL, ["sex"], n_jobs=2).fit(FRAME)))
    many = pd.concat([FRAME] * 30)
    assert np.array_equal(one.predict(many), two.predict(many))


def test_metadata_routing():
    weight = RNG.random(N)
    expected = FeatureRemover(small(), ["sex"]).fit(FRAME, Y, sample_weight=weight).predict(FRAME)
    with config_context(enable_metadata_routing=True):
        remover = FeatureRemover(small().set_fit_request(sample_weight=True), ["sex"])
        remover.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(remover, {"strength": [1.0]}, cv=2, error_score="raise")
        search.fit(FRAME, Y, sample_weight=weight)
        assert np.array_equal(search.best_estimator_.predict(FRAME), expected)
        assert np.array_equal(search.best_estimator_.background_.weights, weight)


def test_weights_of_rows_are_not_those_of_queries():
    qid, labels = np.repeat(np.arange(40), 10), (Y > 6) * 1
    ranker = xgb.XGBRanker(n_estimators=5)
    with pytest.raises(ValueError, match="a XGBRanker expects one value per query"):
        FeatureRemover(ranker, ["sex"]).fit(FRAME, labels, qid=qid, sample_weight=np.ones(N))
    ranker.fit(FRAME, labels, qid=qid)
    weighted = FeatureRemover(ranker, ["sex"]).fit(FRAME, sample_weight=np.arange(N))
    assert weighted.predict(FRAME).shape == (N,)


def test_bad_input():
    with pytest.raises(ValueError, match=r"Pass X.collect\(\)"):
        FeatureRemover(MODEL, ["sex"]).fit(pl.DataFrame(FRAME.to_dict("list")).lazy())
    for features, message in [
        (["height"], "unknown feature 'height'. The features are 'sex'"),
        ([4], "position 4, but there are 4"),
        ([], "features is empty"),
        ([True, False], "mask of length 2"),
        (3.5, "features must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            FeatureRemover(MODEL, features).fit(FRAME)
    with pytest.raises(ValueError, match="needs a data frame"):
        FeatureRemover(MODEL, lambda frame: ["sex"]).fit(FRAME.to_numpy())
    for strength in (1.5, -0.1):
        with pytest.raises(ValueError, match="strength"):
            FeatureRemover(MODEL, ["sex"], strength=strength).fit(FRAME)
    with pytest.raises(ValueError, match="trained on 4"):
        FeatureRemover(MODEL, [0]).fit(FRAME.to_numpy()[:, :3])
    with pytest.raises(ValueError, match="feature names"):
        FeatureRemover(MODEL, ["sex"]).fit(FRAME.rename(columns={"age": "years"}))
    with pytest.warns(UserWarning, match="all features are removed"):
        remover = FeatureRemover(MODEL, [0, 1, 2, 3]).fit(FRAME)
    assert np.allclose(remover.predict(FRAME), GlexDecomposer(MODEL).fit(FRAME).intercept_, atol=1e-12)


@pytest.mark.plain
def test_to_xgboost(tmp_path):
    labels = np.array(["a", "b", "c"])[np.digitize(Y, [5.0, 7.0])]
    remover = FeatureRemover(xgb.XGBClassifier(n_estimators=10, max_depth=3), ["sex"]).fit(FRAME, labels)
    booster = remover.to_xgboost()
    margin = booster.predict(xgb.DMatrix(FRAME), output_margin=True)
    assert np.allclose(margin, remover.decision_function(FRAME), atol=FLOAT32)
    assert "sex" not in booster.get_score()
    assert booster.feature_names == list(FRAME.columns)
    booster.save_model(tmp_path / "fair.json")
    loaded = xgb.XGBClassifier()
    loaded.load_model(tmp_path / "fair.json")
    assert np.allclose(loaded.predict_proba(FRAME), remover.predict_proba(FRAME), atol=FLOAT32)
    in_pipeline = FeatureRemover(people_pipeline(), ["sex"]).fit(PEOPLE, Y)
    encoded = in_pipeline.estimator_[:-1].transform(PEOPLE)
    assert np.allclose(
        in_pipeline.to_xgboost().inplace_predict(encoded), in_pipeline.predict(PEOPLE), atol=FLOAT32
    )
    with pytest.raises(ValueError, match=r"supports strength=1 only; got strength=0\.5"):
        FeatureRemover(MODEL, ["sex"], strength=0.5).fit(FRAME).to_xgboost()


def test_to_xgboost_writes_no_other_models():
    filled = FRAME.fillna(0)
    other = FeatureRemover(DecisionTreeRegressor(max_depth=2), ["sex"]).fit(filled, Y)
    with pytest.raises(TypeError, match=r"got a DecisionTreeRegressor. Use to_onnx\(\)"):
        other.to_xgboost()
    booster = FeatureRemover(MODEL.get_booster(), ["sex"]).fit(FRAME).to_xgboost()
    expected = FeatureRemover(MODEL, ["sex"]).fit(FRAME).predict(FRAME)
    assert np.allclose(booster.predict(xgb.DMatrix(FRAME)), expected, atol=FLOAT32)


def test_to_onnx(run_onnx):
    for estimator, target in (
        (small(objective="count:poisson"), np.abs(Y)),
        (xgb.XGBClassifier(n_estimators=5), np.where(Y > 6, "high", "low")),
    ):
        remover = FeatureRemover(estimator, ["sex"], weighting="path_dependent", strength=0.7).fit(
            FRAME, target
        )
        result = run_onnx(remover.to_onnx(), FRAME.to_numpy())
        margin = remover.margin(FRAME)
        assert np.allclose(result["margin"].ravel(), margin, atol=FLOAT32)
        if is_classifier(remover):
            assert np.array_equal(result["label"], remover.predict(FRAME))
            assert np.allclose(result["probabilities"], remover.predict_proba(FRAME), atol=FLOAT32)
        else:
            assert np.allclose(result["variable"].ravel(), remover.predict(FRAME), rtol=FLOAT32)


def test_strength_after_fit():
    remover = FeatureRemover(MODEL, ["sex"]).fit(FRAME)
    half = FeatureRemover(MODEL, ["sex"], strength=0.5).fit(FRAME)
    assert np.array_equal(remover.set_params(strength=0.5).predict(FRAME), half.predict(FRAME))
    with pytest.raises(ValueError, match="strength"):
        remover.set_params(strength=7).predict(FRAME)


def test_removers_and_decomposers_are_no_models():
    remover = FeatureRemover(MODEL, ["sex"]).fit(FRAME)
    for outer in (GlexDecomposer, partial(FeatureRemover, features=[0])):
        with pytest.raises(TypeError, match=r"cannot decompose a FeatureRemover: .* `.to_xgboost\(\)`"):
            outer(remover).fit(FRAME)
        with pytest.raises(TypeError, match=r"decompose a GlexDecomposer: .* `.estimator_`"):
            outer(GlexDecomposer(small())).fit(FRAME, Y)
    left = GlexDecomposer(remover.to_xgboost()).fit(FRAME)
    assert not any("sex" in component.features for component in left.components_)


class LogXGB(xgb.XGBRegressor):
    """Predict on another scale than the margin."""

    def fit(self, X, y):
        return super().fit(X, np.log(y))

    def predict(self, X, output_margin=False, **params):
        margin = super().predict(X, output_margin=output_margin, **params)
        return margin if output_margin else np.exp(margin)


def test_a_model_that_predicts_something_else_than_its_margin_says_is_refused():
    model = LogXGB(n_estimators=5).fit(FRAME, np.abs(Y) + 1)
    with pytest.raises(ValueError, match=r"the LogXGB predicts .* but the inverse link"):
        FeatureRemover(model, ["noise"]).fit(FRAME)
    GlexDecomposer(model).fit(FRAME)  # It decomposes the margin.


def test_predictions_that_are_infinite_in_float32():
    model = small(objective="survival:cox").fit(FRAME, np.abs(Y) + 0.1)
    booster = model.get_booster()
    config = json.loads(booster.save_raw("json"))
    for tree in config["learner"]["gradient_booster"]["model"]["trees"]:
        leaf = np.array(tree["left_children"]) < 0
        tree["split_conditions"] = np.where(leaf, 80, 1) * np.array(tree["split_conditions"])
        tree["split_conditions"] = tree["split_conditions"].tolist()
    booster.load_model(bytearray(json.dumps(config).encode()))
    assert np.isinf(booster.inplace_predict(FRAME)).any()
    remover = FeatureRemover(booster, ["noise"], strength=1e-300).fit(FRAME)
    own = booster.inplace_predict(FRAME).astype(float)
    assert np.allclose(remover.predict(FRAME)[np.isfinite(own)], own[np.isfinite(own)], rtol=1e-3)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "log_loss"])
def test_the_sign_of_a_planted_forests_decision_says_the_class(loss):
    rows = FRAME[["hours", "noise"]].to_numpy()
    forest = RandomPlantedForestClassifier(5, loss=loss, random_state=0).fit(rows, rows[:, 0] > 0.3)
    remover = FeatureRemover(forest, [1], strength=0).fit(rows)
    decision = remover.decision_function(rows)
    assert np.allclose(decision, forest.decision_function(rows), rtol=0, atol=1e-12)
    assert np.array_equal(decision > 0, remover.predict(rows))
    assert np.array_equal(remover.set_params(strength=1).decision_function(rows) > 0, remover.predict(rows))


@pytest.mark.parametrize("objective", ["reg:squarederror", "count:poisson", "binary:logistic"])
def test_the_sign_of_a_decision_says_the_class(objective):
    model = xgb.XGBClassifier(n_estimators=30, max_depth=2, objective=objective).fit(FRAME, Y > 6)
    remover = FeatureRemover(model, ["sex"]).fit(FRAME)
    decision = remover.decision_function(FRAME)
    assert 0 < (decision > 0).mean() < 1
    assert np.array_equal(decision > 0, remover.predict(FRAME))
