"""FeatureRemover on the response scale beside brute force over the model's own predictions, and what it refuses."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import FeatureRemover
from skglex.exceptions import SlowComputationWarning

RNG = np.random.default_rng(3)
N = 200
FRAME = pd.DataFrame(
    {"group": RNG.choice(list("abc"), N), "x": RNG.normal(size=N).round(1), "z": RNG.normal(size=N)}
)
CODED = FRAME.assign(group=FRAME["group"].map({"a": 0.0, "b": 1.0, "c": np.nan}))
SCORE = (FRAME["group"] == "a") * (1 + FRAME["x"]) + FRAME["z"]
Y = (SCORE > 0.5).to_numpy()
COUNT = np.floor(np.exp(SCORE)).to_numpy()
THREE = np.digitize(SCORE, [0, 1])
WEIGHT = RNG.random(N)
SMALL = {"n_estimators": 20, "max_depth": 3, "n_jobs": 1}
# The models predict in float32.
FLOAT32 = {"rtol": 2e-6, "atol": 2e-7}


def brute_force(predict, X, columns, rows):
    """Return the weighted mean prediction of rows that take the values of every background row in some columns."""
    total = 0.0
    for i in range(len(X)):
        mixed = rows.assign(**{column: X[column].iloc[i] for column in columns})
        total = total + WEIGHT[i] * np.asarray(predict(mixed), dtype=float)
    return total / WEIGHT.sum()


@parametrize_with_checks(
    [FeatureRemover(xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1), [0], scale="response")]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("columns", [["group"], ["x", "group"]])
def test_probabilities_are_averaged(columns):
    model = HistGradientBoostingClassifier(max_iter=20).fit(CODED, Y)
    rows = CODED[:30]
    remover = FeatureRemover(model, columns, scale="response").fit(CODED, sample_weight=WEIGHT)
    expected = brute_force(model.predict_proba, CODED, columns, rows)
    probabilities = remover.predict_proba(rows)
    assert_allclose(probabilities, expected, rtol=0, atol=1e-12)
    assert_allclose(remover.decision_function(rows), np.log(expected[:, 1] / expected[:, 0]), atol=1e-11)
    assert_array_equal(remover.margin(rows), remover.decision_function(rows))
    assert_array_equal(remover.predict(rows), expected[:, 1] > 0.5)
    assert_array_equal(pickle.loads(pickle.dumps(remover)).predict_proba(rows), probabilities)
    # Columns that are removed have no effect, and may be absent.
    assert_array_equal(remover.predict_proba(rows.drop(columns=columns)), probabilities)
    remover.set_params(strength=0.3)
    mixed = 0.7 * model.predict_proba(rows) + 0.3 * expected
    assert_allclose(remover.predict_proba(rows), mixed, rtol=0, atol=1e-12)


def test_columns_of_one_raw_column_are_removed_together():
    """One-hot columns only take the combinations that occur."""
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["group"]), remainder="passthrough"),
        xgb.XGBClassifier(**SMALL),
    ).fit(FRAME, THREE)
    remover = FeatureRemover(pipeline, "group", scale="response").fit(FRAME, sample_weight=WEIGHT)
    expected = brute_force(pipeline.predict_proba, FRAME, ["group"], FRAME[:20])
    assert_allclose(remover.predict_proba(FRAME[:20].drop(columns="group")), expected, **FLOAT32)
    assert_allclose(remover.decision_function(FRAME[:20]), np.log(expected), rtol=0, atol=2e-5)


def test_offsets_stand_inside_the_link():
    model = xgb.XGBRegressor(objective="count:poisson", **SMALL).fit(CODED, COUNT)
    offset, rows = RNG.normal(size=30), CODED[:30]
    remover = FeatureRemover(model, "group", scale="response", strength=0.6).fit(CODED, sample_weight=WEIGHT)

    def predict(rows):
        return model.predict(rows, base_margin=offset)

    expected = 0.4 * predict(rows) + 0.6 * brute_force(predict, CODED, ["group"], rows)
    assert_allclose(remover.predict(rows, offset=offset), expected, rtol=2e-6)
    assert_allclose(remover.decision_function(rows, offset=offset), np.log(expected), rtol=0, atol=2e-6)


def test_scores_of_isolation_forests_are_averaged():
    rows = CODED.fillna(-1.0)
    forest = IsolationForest(n_estimators=10, random_state=0).fit(rows)
    remover = FeatureRemover(forest, "group", scale="response").fit(rows, sample_weight=WEIGHT)
    expected = brute_force(forest.score_samples, rows, ["group"], rows[:20])
    assert_allclose(remover.score_samples(rows[:20]), expected, rtol=0, atol=1e-12)
    assert_allclose(remover.decision_function(rows[:20]), expected - forest.offset_, rtol=0, atol=1e-12)
    assert_array_equal(remover.predict(rows[:20]), np.where(expected < forest.offset_, -1, 1))


def test_grid_search_over_scales():
    remover = FeatureRemover(xgb.XGBClassifier(**SMALL), "group")
    grid = {"scale": ["margin", "response"], "strength": [0.5, 1.0]}
    search = GridSearchCV(remover, grid, cv=2, scoring="neg_log_loss").fit(CODED, Y)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) == 4
    best = clone(remover).set_params(**search.best_params_).fit(CODED, Y)
    assert_array_equal(best.predict_proba(CODED), search.predict_proba(CODED))


@pytest.mark.parametrize("strength", [1.0, 0.4])
@pytest.mark.parametrize(
    ("make", "target"),
    [
        (lambda: xgb.XGBClassifier(**SMALL), Y),
        (lambda: xgb.XGBClassifier(**SMALL), THREE),
        (lambda: RandomForestClassifier(5, random_state=0), THREE),
        (lambda: xgb.XGBRegressor(objective="count:poisson", **SMALL), COUNT),
        (lambda: IsolationForest(n_estimators=10, random_state=0), Y),
    ],
)
def test_onnx_averages_the_responses_of_forests(make, target, strength, run_onnx):
    rows = CODED.fillna(-1.0).to_numpy()
    remover = FeatureRemover(make(), [0], scale="response", strength=strength).fit(rows, target)
    exported = remover.to_onnx()
    assert "scale='response'" in exported.doc_string
    found = run_onnx(exported, rows)
    assert "margin" not in found
    close = {"rtol": 2e-6, "atol": 2e-6}
    if "probabilities" in found:
        assert_allclose(found["probabilities"], remover.predict_proba(rows), **close)
    elif "scores" in found:
        assert_allclose(found["scores"].ravel(), remover.decision_function(rows), **close)
    else:
        assert_allclose(found["variable"].ravel(), remover.predict(rows), **close)


def test_refusals():
    model = xgb.XGBClassifier(**SMALL).fit(CODED, Y)
    remover = FeatureRemover(model, ["x", "z"], scale="response").fit(CODED)
    with pytest.raises(ValueError, match=r"to_xgboost supports scale='margin' only.*Use to_onnx"):
        remover.to_xgboost()
    with pytest.raises(ValueError, match=r"have \d+ different combinations of values .* At most 64"):
        remover.to_onnx()
    with pytest.raises(ValueError, match="which weighting='path_dependent' does not have"):
        FeatureRemover(model, "x", scale="response", weighting="path_dependent").fit(CODED)
    with pytest.raises(ValueError, match="'scale' parameter of FeatureRemover must be"):
        FeatureRemover(model, "x", scale="log-odds").fit(CODED)
    hinge = xgb.XGBRegressor(objective="binary:hinge", **SMALL).fit(CODED, Y)
    without_margin = FeatureRemover(hinge, "x", scale="response").fit(CODED)
    assert not hasattr(without_margin, "decision_function")
    with pytest.raises(ValueError, match="'hinge' of the model cannot be inverted"):
        without_margin.margin(CODED)
    labels = xgb.train({"objective": "multi:softmax", "num_class": 3}, xgb.DMatrix(CODED, THREE), 3)
    with pytest.raises(ValueError, match="a mean of labels has no meaning"):
        FeatureRemover(labels, "x", scale="response").fit(CODED)


def test_costs_are_said_before_work_begins(monkeypatch):
    monkeypatch.setattr("skglex._mixed_rows._costs._LONG", 1e-9)
    remover = FeatureRemover(xgb.XGBRegressor(**SMALL), "x", scale="response").fit(CODED, COUNT)
    with pytest.warns(SlowComputationWarning, match=r"mean response needs .* mixed rows"):
        remover.predict(CODED)
