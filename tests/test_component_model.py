"""Compare ComponentModel with sums of components, and use it as a scikit-learn estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import ComponentModel, GlexDecomposer
from skglex._utils import budgets
from skglex.components import Edit
from skglex.exceptions import RemainderWarning
from tests.support.data import WEIGHTINGS
from tests.support.people import FRAME, MODEL, PEOPLE, Y, people_pipeline
from tests.support.small_models import small

# Sums of the same float64 numbers in another order.
SUMS = 1e-12
DECOMPOSER = GlexDecomposer(MODEL, max_interaction=None).fit(FRAME)
TRIPLES = "ignore:components of more than"


@parametrize_with_checks(
    [
        ComponentModel(small().fit(FRAME, Y), n_terms=3),
        ComponentModel(xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1), refit="ridge"),
        ComponentModel(small(), drop=0, remainder=True, edits=(Edit("round_to", step=0.1),)),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


def values(*names):
    """Return the sum of some components of the full model at the rows."""
    return sum(DECOMPOSER[name].evaluate(FRAME) for name in names)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_sum_of_the_kept_components(weighting):
    dec = GlexDecomposer(MODEL, weighting=weighting, remainder=False).fit(FRAME)
    model = ComponentModel(MODEL, weighting=weighting).fit(FRAME)
    assert np.allclose(model.predict(FRAME), dec.intercept_ + dec.transform(FRAME).sum(axis=1), atol=SUMS)
    assert [c.name for c in model.components_] == [c.name for c in dec.components_]


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ({"terms": "sex"}, ["sex"]),
        ({"terms": ["age", ("hours", "sex"), "sex:age:hours"]}, ["age", "sex:hours", "sex:age:hours"]),
        ({"terms": lambda c: "age" in c.features}, ["age", "sex:age", "age:hours", "age:noise"]),
        ({"drop": [0, DECOMPOSER["hours"], "noise"], "max_interaction": 1}, ["age"]),
        ({"terms": ["sex", "age", "sex:hours"], "drop": lambda c: c.order == 2}, ["sex", "age"]),
        ({"n_terms": 3}, ["sex", "age", "hours"]),
        ({"terms": []}, []),
    ],
)
def test_choice(choice, names):
    model = ComponentModel(MODEL, **choice).fit(FRAME)
    assert [c.name for c in model.components_] == names
    assert np.allclose(model.predict(FRAME), DECOMPOSER.intercept_ + values(*names), atol=SUMS)


@pytest.mark.parametrize("kind", [HistGradientBoostingRegressor, GradientBoostingRegressor])
@pytest.mark.parametrize("how", [{"max_interaction": None}, {"remainder": True}])
def test_all_that_is_kept_is_the_model(kind, how):
    model = kind(max_depth=4, random_state=0).fit(FRAME.fillna(0), Y)
    kept = ComponentModel(model, **how).fit(FRAME.fillna(0))
    # These libraries sum in float64.
    assert np.allclose(kept.predict(FRAME.fillna(0)), model.predict(FRAME.fillna(0)), rtol=0, atol=1e-10)


@pytest.mark.parametrize("how", [{"max_interaction": None}, {"remainder": True}])
@pytest.mark.parametrize("streamed", [False, True])
def test_dropping_changes_nothing_else(how, streamed, monkeypatch):
    if streamed:
        monkeypatch.setattr(budgets, "table_cells", 2000)
    model = ComponentModel(MODEL, drop=["sex:hours", "sex:age:hours"], **how).fit(FRAME)
    margin = DECOMPOSER._decomposition.margins(DECOMPOSER._fitted.bins(FRAME, DECOMPOSER._execution))[0]
    expected = margin - values("sex:hours", "sex:age:hours")
    assert np.allclose(model.predict(FRAME), expected, atol=SUMS)
    assert (model._kept.rest is not None) == (streamed or "remainder" in how)


def test_too_large_a_table_is_an_error(monkeypatch):
    monkeypatch.setattr(budgets, "table_cells", 10)
    monkeypatch.setattr(budgets, "largest_table_cells", 10)
    with pytest.raises(ValueError, match=r"the table of this component would have .* cells"):
        ComponentModel(MODEL).fit(FRAME)


def test_dropped_terms_have_no_effect():
    model = ComponentModel(MODEL, drop=lambda c: "age" in c.features, refit="ridge", prefit=True).fit(
        FRAME, Y
    )
    other = FRAME.assign(age=FRAME["age"].sample(frac=1, random_state=0).to_numpy())
    assert np.array_equal(model.predict(FRAME), model.predict(other))


def test_classes_and_outputs():
    y = np.digitize(Y, [4.0, 6.0])
    labels = np.array(["low", "mid", "top"])[y]
    for target in (labels, labels == "top"):
        classifier = xgb.XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1)
        model = ComponentModel(classifier, max_interaction=None).fit(FRAME, target)
        assert is_classifier(model)
        assert list(model.classes_) == list(np.unique(target))
        assert np.allclose(model.predict_proba(FRAME), model.estimator_.predict_proba(FRAME), atol=1e-6)
        assert model.score(FRAME, target) > 0.5
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(FRAME.fillna(0), labels)
    model = ComponentModel(forest, max_interaction=None).fit(FRAME.fillna(0))
    assert np.allclose(model.predict_proba(FRAME.fillna(0)), forest.predict_proba(FRAME.fillna(0)))
    assert not hasattr(model, "decision_function")
    several = np.column_stack([Y, -Y])
    model = ComponentModel(xgb.XGBRegressor(n_estimators=5, max_depth=2)).fit(FRAME, several)
    assert is_regressor(model)
    assert np.allclose(model.predict(FRAME), model.estimator_.predict(FRAME), atol=1e-5)
    assert model.intercept_.shape == (2,)
    isolation = IsolationForest(n_estimators=10, random_state=0).fit(FRAME.fillna(0))
    model = ComponentModel(isolation, max_interaction=None).fit(FRAME.fillna(0))
    assert np.array_equal(model.predict(FRAME.fillna(0)), isolation.predict(FRAME.fillna(0)))


@pytest.mark.filterwarnings(TRIPLES)
def test_pipelines_and_groups():
    pipeline = people_pipeline().fit(PEOPLE, Y)
    model = ComponentModel(pipeline, feature_groups="auto", drop="sex").fit(PEOPLE)
    dec = GlexDecomposer(pipeline, feature_groups="auto").fit(PEOPLE)
    columns = pd.DataFrame(dec.transform(PEOPLE), columns=dec.get_feature_names_out())
    expected = dec.intercept_ + columns.drop(columns=["sex", "remainder"]).sum(axis=1)
    assert np.allclose(model.predict(PEOPLE), expected, atol=SUMS)
    assert model.feature_groups_ == dec.feature_groups_


def test_offset_and_scores():
    counts, exposure = np.floor(np.abs(Y)), np.linspace(0.5, 2, len(Y))
    booster = xgb.XGBRegressor(objective="count:poisson", n_estimators=20, max_depth=2)
    model = ComponentModel(booster, refit="ridge", n_terms=3, edits=[Edit("scale", "sex", factor=0.5)])
    with pytest.warns(UserWarning, match="base_margin"):
        model.fit(FRAME, counts, base_margin=np.log(exposure))
    margin = model.margin(FRAME, offset=np.log(exposure))
    replaced = model._fitted.source.offset_replaces
    assert np.allclose(margin, model.margin(FRAME) + np.log(exposure) - replaced, atol=SUMS)
    (entry,) = model.history_
    assert entry["edit"] == Edit("scale", "sex", factor=0.5)
    assert np.isclose(entry["after"], model.score(FRAME, counts, offset=np.log(exposure)))
    before = model.scale("sex", 2.0)
    assert np.isclose(entry["before"], before.score(FRAME, counts, offset=np.log(exposure)))
    # The refit is unbiased: the gradient of the intercept is zero, with the offset.
    assert np.isclose(before.predict(FRAME, offset=np.log(exposure)).mean(), counts.mean())


def test_edits_are_a_parameter_and_methods():
    edits = [Edit("scale", "age", factor=0.5), Edit("cap", ("sex", "hours"), upper=0.1)]
    by_parameter = ComponentModel(MODEL, edits=edits).fit(FRAME)
    plain = ComponentModel(MODEL).fit(FRAME)
    before = plain.predict(FRAME)
    by_method = plain.scale("age", 0.5).cap(["hours", "sex"], upper=0.1, X=FRAME, y=Y)
    assert np.array_equal(by_method.predict(FRAME), by_parameter.predict(FRAME))
    assert np.array_equal(plain.predict(FRAME), before)
    assert plain.history_ == []
    assert [entry["before"] is None for entry in by_method.history_] == [True, False]
    assert by_method.history_[1]["after"] == by_method.score(FRAME, Y)
    again = clone(by_method).set_params(estimator=MODEL).fit(FRAME)
    assert np.array_equal(again.predict(FRAME), by_method.predict(FRAME))
    copy = pickle.loads(pickle.dumps(by_method))
    assert np.array_equal(copy.predict(FRAME), by_method.predict(FRAME))
    with pytest.raises(ValueError, match="both X and y"):
        plain.scale("age", 0.5, X=FRAME)


@pytest.mark.filterwarnings(TRIPLES)
def test_search():
    grid = [
        {"n_terms": [2, None]},
        {"max_interaction": [1, 2]},
        {"drop": [["sex"], [("sex", "hours")], None]},
        {"estimator__max_depth": [1, 3]},
        {"edits": [(Edit("round_to", step=5.0),), ()]},
    ]
    search = GridSearchCV(ComponentModel(small()), grid, cv=2, error_score="raise").fit(FRAME, Y)
    score = search.cv_results_["mean_test_score"]
    # What takes something away scores lower than what comes after it.
    assert score[1] > score[0]
    assert score[3] > score[2]
    assert score[6] > score[4]
    assert score[8] > score[7]
    assert score[10] > score[9]


def test_components_and_refit():
    model = ComponentModel(MODEL, n_terms=4, refit="lasso", prefit=True).fit(FRAME, Y)
    kept = [name for name, weight in model.term_weights_.items() if weight]
    assert [c.name for c in model.components_] == kept
    for component in model.components_:
        expected = model.term_weights_[component.name] * values(component.name)
        assert np.allclose(component.evaluate(FRAME), expected, atol=SUMS)
        assert np.isclose(component.importance, np.abs(expected).mean())
    assert component.evaluate(FRAME[list(component.features)]).shape == (len(FRAME),)
    total = model.intercept_ + sum(c.evaluate(FRAME) for c in model.components_)
    assert np.allclose(model.predict(FRAME), total, atol=SUMS)
    with pytest.raises(KeyError, match="the model has no component of"):
        model.components_["age", "noise"]


@pytest.mark.parametrize("remainder", [False, True])
def test_refit_fits_better(remainder):
    frozen = FrozenEstimator(small().fit(FRAME, Y))
    how = {"n_terms": 3, "remainder": remainder}
    plain, refitted = (ComponentModel(frozen, refit=refit, **how).fit(FRAME, Y) for refit in (None, "ridge"))
    assert refitted.score(FRAME, Y) > plain.score(FRAME, Y)
    lasso = ComponentModel(frozen, selection="lasso", refit="ridge", **how).fit(FRAME, Y)
    assert len(lasso.components_) == 3
    if not remainder:
        assert lasso.score(FRAME, Y) >= refitted.score(FRAME, Y) - 0.02


def test_refit_without_targets_is_like_the_model():
    """With all components, the model needs no other weights; with few, they come closer to its predictions."""
    target = (Y > 6).astype(int)
    classifier = xgb.XGBClassifier(n_estimators=20, max_depth=2).fit(FRAME, target)
    full = ComponentModel(classifier, refit="ridge").fit(FRAME)
    assert np.allclose(list(full.term_weights_.values()), 1, atol=1e-6)
    expected = classifier.predict_proba(FRAME)[:, 1]
    loss = {}
    for refit in (None, "ridge"):
        few = ComponentModel(classifier, n_terms=2, selection="lasso", refit=refit).fit(FRAME)
        p = few.predict_proba(FRAME)[:, 1]
        loss[refit] = -np.mean(expected * np.log(p) + (1 - expected) * np.log(1 - p))
    assert loss["ridge"] < loss[None]


def test_metadata_routing():
    weight = np.linspace(0.1, 2, len(Y))
    with config_context(enable_metadata_routing=True):
        model = ComponentModel(small().set_fit_request(sample_weight=True), refit="ridge")
        routed = model.fit(FRAME, Y, sample_weight=weight)
    direct = ComponentModel(small(), refit="ridge").fit(FRAME, Y, sample_weight=weight)
    assert np.array_equal(routed.predict(FRAME), direct.predict(FRAME))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"terms": ["sex", "height"]}, r"terms contains 'height', but there is no feature 'height'"),
        (
            {"drop": [("sex", "height")]},
            r"drop contains \('sex', 'height'\), but there is no feature 'height'",
        ),
        ({"edits": ["scale"]}, r"edits must be a sequence of skglex\.components\.Edit"),
        (
            {"edits": [Edit("scale", ("sex", "hours"), factor=2)], "n_terms": 1},
            r"Edit\('scale', \('sex', 'hours'\), factor=2\): there is no such term in the model\. "
            r"The terms of the model are 'sex'",
        ),
    ],
)
def test_errors(how, message):
    with pytest.raises(ValueError, match=message):
        ComponentModel(MODEL, **how).fit(FRAME)


def test_remainder_warning_only_where_it_is_left_out():
    target = (FRAME["hours"] > 0) & (FRAME["noise"] > 0) & (FRAME["sex"] > 0)
    model = small().fit(FRAME, target.astype(float))
    with pytest.warns(RemainderWarning):
        ComponentModel(model).fit(FRAME)
    ComponentModel(model, remainder=True).fit(FRAME)


def test_dask():
    da = pytest.importorskip("dask.array")
    rows = da.from_array(FRAME.to_numpy(), chunks=(100, 4))
    model = ComponentModel(small().fit(FRAME.to_numpy(), Y), n_terms=3, edits=[Edit("smooth", 1)])
    lazy = model.fit(rows)
    direct = clone(model).set_params(estimator=model.estimator).fit(FRAME.to_numpy())
    assert np.allclose(lazy.predict(rows).compute(), direct.predict(FRAME.to_numpy()), atol=SUMS)
    with pytest.raises(ValueError, match="refit='ridge' needs rows in memory, but X is a Dask collection"):
        ComponentModel(model.estimator, refit="ridge").fit(rows)
