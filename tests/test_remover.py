"""FeatureRemover against components and brute force, and as a scikit-learn estimator."""

import json
import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestClassifier
from skglex._input._raw_columns import _same
from skglex._utils import budgets
from skglex.exceptions import MixedColumnsWarning

RNG = np.random.default_rng(1)
N = 400
FRAME = pd.DataFrame(
    {
        "sex": RNG.integers(0, 2, size=N).astype(float),
        "age": RNG.normal(40, 10, size=N),
        "hours": RNG.normal(size=N),
        "noise": RNG.normal(size=N),
    }
)
FRAME.loc[RNG.random(N) < 0.1, "age"] = np.nan
Y = 2 * FRAME["sex"] * (1 + FRAME["hours"]) + FRAME["age"].fillna(40) / 10 + RNG.normal(size=N)
MODEL = xgb.XGBRegressor(n_estimators=30, max_depth=4, n_jobs=1).fit(FRAME, Y)
# The model's own margins are float32 sums of some tens of trees of size about 1.
FLOAT32 = 5e-6

NEWER = pytest.mark.skipif(int(xgb.__version__.split(".")[0]) < 3, reason="XGBoost takes no polars frames")


def small(**params):
    return xgb.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1, **params)


@parametrize_with_checks(
    [
        FeatureRemover(small(), [0]),
        FeatureRemover(small().fit(FRAME, Y), [0]),
        FeatureRemover(xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1), [0]),
        FeatureRemover(xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(FRAME, Y > 6), [0]),
        FeatureRemover(small(), 0, strength=0.5, weighting="path_dependent"),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# -- what is computed -----------------------------------------------------------------------------


@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
@pytest.mark.parametrize("features", [["sex"], ["sex", "age"], ["hours", "noise", "age"]])
def test_sum_of_untouched_components(weighting, features):
    dec = GlexDecomposer(MODEL, weighting=weighting).fit(FRAME)
    columns = dec.transform(FRAME)
    untouched = [i for i, c in enumerate(dec.components_) if not set(c.features) & set(features)]
    expected = dec.intercept_ + columns[:, untouched].sum(axis=1)
    full = dec.intercept_ + columns.sum(axis=1)
    for strength in (1.0, 0.3):
        remover = FeatureRemover(MODEL, features, weighting=weighting, strength=strength).fit(FRAME)
        # float64 sums of the same leaves in another order
        assert np.allclose(remover.margin(FRAME), (1 - strength) * full + strength * expected, atol=1e-12)
    assert remover.removed_features_ == [name for name in FRAME.columns if name in features]


@pytest.mark.mutation
def test_brute_force_average():
    """Empirical removal of R is the mean margin with x_R taken from every background row."""
    background, rows = FRAME[:80], FRAME[100:140]
    remover = FeatureRemover(MODEL, ["sex", "hours"]).fit(background, sample_weight=np.arange(80))
    expected = []
    for i in range(len(rows)):
        mixed = background.copy()
        for name in ("age", "noise"):
            mixed[name] = rows[name].iloc[i]
        expected.append(np.average(MODEL.predict(mixed, output_margin=True), weights=np.arange(80)))
    assert np.allclose(remover.margin(rows), expected, atol=FLOAT32)


OBJECTIVES = [
    "reg:squarederror",
    "reg:logistic",
    "count:poisson",
    "reg:gamma",
    "reg:tweedie",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "binary:hinge",
    "binary:logitraw",
    "survival:cox",
]


@pytest.mark.mutation
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_inverse_links(objective):
    target = (Y > 6).astype(float) if objective.startswith(("binary", "reg:logistic")) else np.abs(Y) + 0.1
    model = small(objective=objective).fit(FRAME, target)
    own = model.predict(FRAME)
    whole = FeatureRemover(model, ["sex"], strength=0).fit(FRAME)
    assert np.array_equal(whole.predict(FRAME), own.astype(float))
    # a feature that the model cannot use changes nothing, so the link is all there is
    idle = FRAME.assign(idle=0.0)
    model = small(objective=objective).fit(idle, target)
    remover = FeatureRemover(model, ["idle"]).fit(idle)
    assert np.allclose(remover.predict(idle), model.predict(idle), rtol=1e-5, atol=1e-6)
    booster = FeatureRemover(model.get_booster(), ["idle"]).fit(idle)
    assert np.allclose(booster.predict(idle), model.predict(idle), rtol=1e-5, atol=1e-6)
    assert is_regressor(booster)
    linked = FeatureRemover(small(objective=objective), ["idle"]).fit(idle, target)
    assert hasattr(linked, "decision_function") == (linked._fitted.source.response.link != "identity")
    if hasattr(linked, "decision_function"):
        assert np.array_equal(linked.decision_function(idle), linked.margin(idle))


@pytest.mark.mutation
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


@pytest.mark.mutation
def test_booster_outputs():
    target = np.digitize(Y, [5.0, 7.0])
    matrix = xgb.DMatrix(FRAME, target)
    for objective, shape in (("multi:softmax", (N,)), ("multi:softprob", (N, 3))):
        booster = xgb.train({"objective": objective, "num_class": 3, "max_depth": 3}, matrix, 5)
        whole = FeatureRemover(booster, ["sex"], strength=0).fit(FRAME).predict(FRAME)
        assert whole.shape == shape
        assert np.allclose(whole, booster.predict(matrix), atol=1e-6)
        almost = FeatureRemover(booster, ["sex"], strength=1e-12).fit(FRAME).predict(FRAME)
        assert np.allclose(almost, booster.predict(matrix), atol=1e-6)


@pytest.mark.mutation
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


# -- removed columns ------------------------------------------------------------------------------


@pytest.mark.mutation
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_several_labels_at_a_time(n_labels, strategy):
    labels = np.column_stack([Y > 6, FRAME["hours"] > 0, FRAME["noise"] > 1])[:, :n_labels].astype(int)
    model = xgb.XGBClassifier(n_estimators=5, multi_strategy=strategy, tree_method="hist").fit(FRAME, labels)
    for strength in (0, 1e-14):
        remover = FeatureRemover(model, ["sex"], strength=strength).fit(FRAME)
        assert np.array_equal(remover.predict(FRAME), model.predict(FRAME))
        assert np.allclose(remover.predict_proba(FRAME), model.predict_proba(FRAME), atol=FLOAT32)


@pytest.mark.mutation
@pytest.mark.parametrize("objective", ["binary:hinge", "binary:logitraw"])
def test_classifiers_without_probabilities(objective):
    model = xgb.XGBClassifier(n_estimators=5, objective=objective).fit(FRAME, Y > 6)
    for strength in (0, 1e-14):
        remover = FeatureRemover(model, ["sex"], strength=strength).fit(FRAME)
        assert np.array_equal(remover.predict(FRAME), model.predict(FRAME))
        assert np.allclose(remover.predict_proba(FRAME), model.predict_proba(FRAME), atol=FLOAT32)


@pytest.mark.mutation
def test_removed_columns_never_matter():
    remover = FeatureRemover(MODEL, ["sex", "noise"]).fit(FRAME)
    expected = remover.predict(FRAME)
    for changed in (
        FRAME.assign(sex=np.nan),
        FRAME.assign(sex="garbage", noise=np.inf),
        FRAME.assign(sex=pd.Categorical(["never", "seen"] * (N // 2))),
        FRAME.assign(noise=pd.Timestamp("2020-01-01")),
        FRAME.drop(columns="sex"),
        FRAME.drop(columns=["sex", "noise"]),
        FRAME.set_axis(range(5, N + 5)),
    ):
        assert np.array_equal(remover.predict(changed), expected)
    with pytest.raises(ValueError, match="feature names"):
        remover.predict(FRAME.drop(columns="age"))
    with pytest.raises(ValueError, match="feature names"):
        remover.predict(FRAME.assign(more=1))
    with pytest.raises(ValueError, match="feature names"):
        remover.predict(FRAME[["hours", "age", "sex", "noise"]])
    partly = FeatureRemover(MODEL, ["sex"], strength=0.5).fit(FRAME)
    with pytest.raises(ValueError, match=r"feature names .* lacks \['sex'\], which strength=0\.5 needs"):
        partly.predict(FRAME.drop(columns="sex"))

    array = FRAME.to_numpy()
    remover = FeatureRemover(MODEL, [0, 3]).fit(array)
    assert np.array_equal(remover.predict(array), expected)
    garbage = array.astype(object)
    garbage[:, 0], garbage[:, 3] = "x", None
    assert np.array_equal(remover.predict(garbage), expected)


@pytest.mark.mutation
@NEWER
def test_removed_polars_columns_never_matter():
    expected = FeatureRemover(MODEL, ["sex", "noise"]).fit(FRAME).predict(FRAME)
    polars = pl.from_pandas(FRAME)
    remover = FeatureRemover(MODEL, ["sex", "noise"]).fit(polars)
    for changed in (polars, polars.drop("sex"), polars.with_columns(sex=pl.lit("garbage"))):
        assert np.array_equal(remover.predict(changed), expected)


@pytest.mark.mutation
def test_ways_to_name_features():
    expected = FeatureRemover(MODEL, ["age", "noise"]).fit(FRAME).predict(FRAME)
    for features in (
        [1, 3],
        [1, -1],
        np.array([False, True, False, True]),
        [False, True, False, True],
        slice(1, None, 2),
        make_column_selector(pattern="age|noise"),
        lambda frame: ["age", "noise"],
        pd.Index(["age", "noise"]),
    ):
        assert np.array_equal(FeatureRemover(MODEL, features).fit(FRAME).predict(FRAME), expected)
    grouped = FeatureRemover(MODEL, "both", feature_groups={"both": ["age", "noise"]}).fit(FRAME)
    assert np.array_equal(grouped.predict(FRAME), expected)
    one = FeatureRemover(MODEL, "age").fit(FRAME)
    assert one.removed_features_ == ["age"]


PEOPLE = FRAME.assign(sex=np.where(FRAME["sex"] == 1, "man", "woman"), age=FRAME["age"].fillna(40))


def people_pipeline(**names):
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), ["sex"]), remainder=StandardScaler(), **names),
        small(),
    )


@pytest.mark.mutation
def test_around_a_pipeline():
    remover = FeatureRemover(people_pipeline(), ["sex"]).fit(PEOPLE, Y)
    encoded = ["onehotencoder__sex_man", "onehotencoder__sex_woman"]
    assert remover.removed_features_ == encoded
    expected = remover.predict(PEOPLE)
    for changed in (PEOPLE.drop(columns="sex"), PEOPLE.assign(sex="neither"), PEOPLE.assign(sex=np.nan)):
        assert np.array_equal(remover.predict(changed), expected)

    fitted = FrozenEstimator(remover.estimator_)
    by_group = FeatureRemover(fitted, "s", feature_groups={"s": encoded}).fit(PEOPLE)
    assert np.array_equal(by_group.predict(PEOPLE), expected)
    by_callable = FeatureRemover(fitted, lambda frame: frame.select_dtypes(exclude="number").columns).fit(
        PEOPLE
    )
    assert np.array_equal(by_callable.predict(PEOPLE), expected)
    # only one of the encoded columns: the raw one is still needed
    half = FeatureRemover(fitted, encoded[:1]).fit(PEOPLE)
    assert half.removed_features_ == encoded[:1]
    with pytest.raises(ValueError, match="feature names"):
        half.predict(PEOPLE.drop(columns="sex"))
    with pytest.raises(ValueError, match=r"'Sex'\. The raw columns are \['sex', .*'onehotencoder__sex_man'"):
        FeatureRemover(fitted, ["Sex"]).fit(PEOPLE)
    array = FeatureRemover(make_pipeline(StandardScaler(), small()), [1]).fit(
        PEOPLE.iloc[:, 1:].to_numpy(), Y
    )
    assert array.removed_features_ == ["x1"]


@pytest.mark.mutation
def test_a_raw_column_is_found_wherever_it_varies():
    # sorted rows: the first ten thousand have one value
    n = 10_500
    frame = pd.DataFrame({"sex": np.repeat(["man", "woman"], [10_400, 100]), "age": np.arange(n) % 50})
    pipeline = people_pipeline().fit(PEOPLE[["sex", "age"]], Y)
    remover = FeatureRemover(pipeline, "sex").fit(frame)
    assert len(remover.removed_features_) == 2
    with pytest.warns(UserWarning, match="'sex' on the background changes nothing after the preprocessing"):
        FeatureRemover(pipeline, "sex").fit(frame[:100])


@pytest.mark.mutation
def test_encoded_columns_of_a_raw_one_make_it_superfluous():
    pipeline = people_pipeline().fit(PEOPLE, Y)
    encoded = ["onehotencoder__sex_man", "onehotencoder__sex_woman"]
    remover = FeatureRemover(pipeline, encoded).fit(PEOPLE)
    expected = FeatureRemover(pipeline, "sex").fit(PEOPLE).predict(PEOPLE)
    assert np.array_equal(remover.predict(PEOPLE.drop(columns="sex")), expected)
    assert np.array_equal(remover.predict(PEOPLE.assign(sex="neither")), expected)


@pytest.mark.mutation
@pytest.mark.parametrize("form", [np.asarray, csr_matrix, np.ndarray.tolist])
def test_garbage_in_arrays_before_a_preprocessing_that_refuses_it(form):
    array = np.nan_to_num(FRAME.to_numpy())
    scaled = make_pipeline(StandardScaler(with_mean=False), small()).fit(form(array), Y)
    remover = FeatureRemover(scaled, [0, 2]).fit(form(array))
    assert remover.removed_features_ == ["x0", "x2"]
    garbage = array.copy()
    garbage[:, 0], garbage[:, 2] = np.inf, np.nan
    assert np.array_equal(remover.predict(form(garbage)), remover.predict(form(array)))


@pytest.mark.mutation
def test_objects_for_a_model_trained_on_a_frame():
    remover = FeatureRemover(MODEL, ["sex"]).fit(FRAME)
    objects = FRAME.to_numpy().astype(object)
    objects[:, 0] = "x"
    with pytest.warns(UserWarning, match="valid feature names"):
        assert np.array_equal(remover.predict(objects), remover.predict(FRAME))


# -- scikit-learn ---------------------------------------------------------------------------------


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


@pytest.mark.mutation
def test_pickle_and_n_jobs():
    one = FeatureRemover(MODEL, ["sex"], n_jobs=1).fit(FRAME)
    two = pickle.loads(pickle.dumps(FeatureRemover(MODEL, ["sex"], n_jobs=2).fit(FRAME)))
    many = pd.concat([FRAME] * 30)
    assert np.array_equal(one.predict(many), two.predict(many))


@pytest.mark.mutation
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


@pytest.mark.mutation
def test_weights_of_rows_are_not_those_of_queries():
    qid, labels = np.repeat(np.arange(40), 10), (Y > 6) * 1
    ranker = xgb.XGBRanker(n_estimators=5)
    with pytest.raises(ValueError, match="a XGBRanker expects one value per query"):
        FeatureRemover(ranker, ["sex"]).fit(FRAME, labels, qid=qid, sample_weight=np.ones(N))
    ranker.fit(FRAME, labels, qid=qid)
    weighted = FeatureRemover(ranker, ["sex"]).fit(FRAME, sample_weight=np.arange(N))
    assert weighted.predict(FRAME).shape == (N,)


@pytest.mark.mutation
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


# -- exports --------------------------------------------------------------------------------------


@pytest.mark.mutation
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
    with pytest.raises(ValueError, match=r"strength=1; got strength=0\.5"):
        FeatureRemover(MODEL, ["sex"], strength=0.5).fit(FRAME).to_xgboost()


@pytest.mark.mutation
def test_to_xgboost_writes_no_other_models():
    filled = FRAME.fillna(0)
    other = FeatureRemover(DecisionTreeRegressor(max_depth=2), ["sex"]).fit(filled, Y)
    with pytest.raises(TypeError, match=r"this is a DecisionTreeRegressor. Use to_onnx\(\)"):
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


@pytest.mark.mutation
def test_strength_after_fit():
    remover = FeatureRemover(MODEL, ["sex"]).fit(FRAME)
    half = FeatureRemover(MODEL, ["sex"], strength=0.5).fit(FRAME)
    assert np.array_equal(remover.set_params(strength=0.5).predict(FRAME), half.predict(FRAME))
    with pytest.raises(ValueError, match="strength"):
        remover.set_params(strength=7).predict(FRAME)


# -- what features are traced with ----------------------------------------------------------------


@pytest.mark.mutation
@pytest.mark.parametrize("container", ["default", "pandas", pytest.param("polars", marks=NEWER)])
def test_preprocessing_may_return_frames(container):
    scaler = StandardScaler().set_output(transform=container)
    rows = pl.from_pandas(PEOPLE.iloc[:, 1:]) if container == "polars" else PEOPLE.iloc[:, 1:]
    remover = FeatureRemover(make_pipeline(scaler, small()), [1]).fit(rows, Y.to_numpy())
    assert remover.removed_features_ == [PEOPLE.columns[2]]
    without = rows.drop(PEOPLE.columns[2]) if container == "polars" else rows.drop(columns=PEOPLE.columns[2])
    assert np.array_equal(remover.predict(without), remover.predict(rows))


@pytest.mark.mutation
@pytest.mark.parametrize("kind", [object, float])
def test_columns_are_the_same_value_by_value(kind):
    column = np.array([1.0, np.nan, 2.0], dtype=kind)
    assert _same(column, column.copy())
    for row, value in enumerate([np.nan, 1.0, 3.0]):
        other = column.copy()
        other[row] = value
        assert not _same(column, other)
        assert not _same(other, column)
    assert not _same(column, np.array([1.0, np.nan, "2"], dtype=object))


@pytest.mark.mutation
@pytest.mark.parametrize("container", ["pandas", "array", "sparse", "polars"])
def test_columns_mixed_by_the_preprocessing_warn(container):
    rows = RNG.normal(size=(300, 3))
    target = 5 * rows[:, 1] + rows[:, 2] + rows[:, 0]
    products = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    given = {
        "pandas": lambda: pd.DataFrame(rows, columns=list("abc")),
        "array": lambda: rows,
        "sparse": lambda: csr_matrix(rows),
        "polars": lambda: pl.DataFrame(rows, schema=list("abc")),
    }[container]()
    mixing = make_pipeline(products, small()).fit(given, target)
    names = ["a", "a b", "a c"] if container in ("pandas", "polars") else ["x0", "x0 x1", "x0 x2"]
    with pytest.warns(
        MixedColumnsWarning,
        match=rf"the columns \['{names[1]}', '{names[2]}'\] after the preprocessing are computed",
    ):
        remover = FeatureRemover(mixing, [0]).fit(given)
    assert remover.removed_features_ == names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FeatureRemover(mixing, [0, 1, 2]).set_params(features=names[1:]).fit(given)  # asked for by name
        alone = make_pipeline(StandardScaler(with_mean=False), small()).fit(given, target)
        FeatureRemover(alone, [0]).fit(given)


@pytest.mark.mutation
def test_one_filled_gap_makes_a_column_mixed():
    gaps = pd.DataFrame(RNG.normal(size=(300, 3)), columns=["protected", "income", "age"])
    gaps.loc[7, "income"] = np.nan
    imputer = KNNImputer().set_output(transform="pandas")
    model = make_pipeline(imputer, small()).fit(gaps, gaps["age"])
    with pytest.warns(
        MixedColumnsWarning, match=r"\['income'\] after the preprocessing are computed from \['protected'\]"
    ):
        FeatureRemover(model, "protected").fit(gaps)
    assert FeatureRemover(model, "protected").fit(gaps.drop(index=7)).removed_features_ == ["protected"]


@pytest.mark.mutation
@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
def test_strength(strength):
    full, debiased = (FeatureRemover(MODEL, ["sex"], strength=s).fit(FRAME).margin(FRAME) for s in (0, 1))
    partly = FeatureRemover(MODEL, ["sex"], strength=strength).fit(FRAME)
    assert np.allclose(partly.margin(FRAME), full - strength * (full - debiased), rtol=0, atol=1e-12)
    assert np.allclose(full, MODEL.predict(FRAME), atol=FLOAT32)


@pytest.mark.mutation
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
    """Predicts on another scale than its margin's."""

    def fit(self, X, y):
        return super().fit(X, np.log(y))

    def predict(self, X, output_margin=False, **params):
        margin = super().predict(X, output_margin=output_margin, **params)
        return margin if output_margin else np.exp(margin)


@pytest.mark.mutation
def test_a_model_that_predicts_something_else_than_its_margin_says_is_refused():
    model = LogXGB(n_estimators=5).fit(FRAME, np.abs(Y) + 1)
    with pytest.raises(ValueError, match=r"the LogXGB predicts .* but the inverse link"):
        FeatureRemover(model, ["noise"]).fit(FRAME)
    GlexDecomposer(model).fit(FRAME)  # of the margin


@pytest.mark.mutation
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


@pytest.mark.mutation
@pytest.mark.parametrize("n_rows", [100, 101])
def test_columns_that_only_round_otherwise_stay(n_rows, monkeypatch):
    """A sum of products may be rounded otherwise in another number of rows."""
    monkeypatch.setattr(budgets, "permuted_rows", 100)
    rows = pd.DataFrame(RNG.normal(size=(n_rows, 11)), columns=["sex", *(f"c{i}" for i in range(10))])
    others = make_column_transformer(
        (TruncatedSVD(3, random_state=0), list(rows.columns[1:])), remainder="passthrough"
    )
    model = make_pipeline(others, small()).fit(rows, rows["sex"])
    assert FeatureRemover(model, "sex").fit(rows).removed_features_ == ["remainder__sex"]


@pytest.mark.mutation
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "log_loss"])
def test_the_sign_of_a_planted_forests_decision_says_the_class(loss):
    rows = FRAME[["hours", "noise"]].to_numpy()
    forest = RandomPlantedForestClassifier(5, loss=loss, random_state=0).fit(rows, rows[:, 0] > 0.3)
    remover = FeatureRemover(forest, [1], strength=0).fit(rows)
    decision = remover.decision_function(rows)
    assert np.allclose(decision, forest.decision_function(rows), rtol=0, atol=1e-12)
    assert np.array_equal(decision > 0, remover.predict(rows))
    assert np.array_equal(remover.set_params(strength=1).decision_function(rows) > 0, remover.predict(rows))


@pytest.mark.mutation
@pytest.mark.parametrize("objective", ["reg:squarederror", "count:poisson", "binary:logistic"])
def test_the_sign_of_a_decision_says_the_class(objective):
    model = xgb.XGBClassifier(n_estimators=30, max_depth=2, objective=objective).fit(FRAME, Y > 6)
    remover = FeatureRemover(model, ["sex"]).fit(FRAME)
    decision = remover.decision_function(FRAME)
    assert 0 < (decision > 0).mean() < 1
    assert np.array_equal(decision > 0, remover.predict(FRAME))
