"""Decompose by path-dependent weights without a background."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from lightgbm import LGBMRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skglex import GlexDecomposer, RandomPlantedForestRegressor
from skglex.inspection import component_importance, feature_importance
from skglex.plotting import ComponentDisplay, WaterfallDisplay
from tests.support.small_models import newer_xgboost, small

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
FRAME = pd.DataFrame(X, columns=list("abc"))
CATEGORIES = FRAME.assign(d=pd.Categorical(np.where(X[:, 0] > 0, "u", "v")))
MODELS = {
    "wrapper": lambda: (small().fit(FRAME, Y), FRAME),
    "booster": lambda: (small().fit(X, Y).get_booster(), X),
    "classes": lambda: (
        xgb.XGBClassifier(n_estimators=3, n_jobs=1).fit(FRAME, np.digitize(Y, [-0.5, 0.5])),
        FRAME,
    ),
    "categories": lambda: (
        LGBMRegressor(n_estimators=5, min_child_samples=5, verbose=-1, n_jobs=1).fit(CATEGORIES, Y),
        CATEGORIES,
    ),
    "categories by value": lambda: (HistGradientBoostingRegressor(max_iter=5).fit(CATEGORIES, Y), CATEGORIES),
    "probabilities": lambda: (RandomForestClassifier(3, max_depth=4, random_state=0).fit(X, Y > 0), X),
    "isolation": lambda: (IsolationForest(n_estimators=3, random_state=0).fit(FRAME), FRAME),
    "pipeline": lambda: (make_pipeline(StandardScaler(), small()).fit(FRAME, Y), FRAME),
}


@newer_xgboost
@pytest.mark.parametrize("name", MODELS)
def test_the_same_as_with_rows(name):
    model, rows = MODELS[name]()
    decomposer = GlexDecomposer(model, weighting="path_dependent").fit()
    with_rows = GlexDecomposer(model, weighting="path_dependent").fit(rows)
    np.testing.assert_array_equal(decomposer.intercept_, with_rows.intercept_)
    np.testing.assert_array_equal(decomposer.transform(rows), with_rows.transform(rows))
    np.testing.assert_array_equal(decomposer.shap_values(rows), with_rows.shap_values(rows))
    first = with_rows.explained_features_[0]
    np.testing.assert_array_equal(
        decomposer.partial_dependence(first, rows), with_rows.partial_dependence(first, rows)
    )
    np.testing.assert_array_equal(decomposer[first].values, with_rows[first].values)
    for attribute in ("n_features_in_", "feature_names_in_", "classes_"):
        expected = getattr(with_rows, attribute, None)
        np.testing.assert_array_equal(getattr(decomposer, attribute, None), expected)
    assert decomposer.get_feature_names_out().tolist() == with_rows.get_feature_names_out().tolist()
    assert len(decomposer.background_.rows) == 0
    again = pickle.loads(pickle.dumps(decomposer))
    np.testing.assert_array_equal(again.transform(rows), with_rows.transform(rows))


def test_importances_need_rows():
    model, rows = MODELS["wrapper"]()
    decomposer = GlexDecomposer(model, weighting="path_dependent").fit(None)
    for call in (
        lambda: decomposer.component_importances_,
        lambda: decomposer.feature_importances_,
        lambda: decomposer.strongest_components(2),
        lambda: decomposer["a"].importance,
        lambda: decomposer.background_weights(decomposer.feature_axis("a")),
        lambda: component_importance(decomposer),
    ):
        with pytest.raises(
            ValueError, match=r"this needs rows, but fit got none. Pass rows to fit, or to a function"
        ):
            call()
    assert not hasattr(decomposer, "feature_importances_")
    with_rows = GlexDecomposer(model, weighting="path_dependent").fit(rows)
    for importance in (component_importance, feature_importance):
        pd.testing.assert_frame_equal(
            pd.DataFrame(importance(decomposer, rows)), pd.DataFrame(importance(with_rows, rows))
        )
    assert "GlexDecomposer" in decomposer._repr_mimebundle_()["text/html"]


def test_rows_are_needed_for_all_else():
    model, _ = MODELS["wrapper"]()
    for estimator in (
        GlexDecomposer(model),
        GlexDecomposer(small(), weighting="path_dependent"),
        GlexDecomposer(model, weighting="path_dependent", prefit=False),
    ):
        with pytest.raises(ValueError, match="fit got no rows X"):
            estimator.fit()
    with pytest.raises(ValueError, match="'auto' needs rows X"):
        GlexDecomposer(model, weighting="path_dependent", feature_groups="auto").fit()
    forest = RandomPlantedForestRegressor(n_estimators=2, n_splits=3).fit(X, Y)
    with pytest.raises(ValueError, match="needs node covers"):
        GlexDecomposer(forest, weighting="path_dependent").fit()


def test_pictures_need_no_rows(plt):
    model, rows = MODELS["wrapper"]()
    decomposer = GlexDecomposer(model, weighting="path_dependent").fit()
    assert ComponentDisplay.from_decomposer(decomposer, ["a", ("a", "b")]).figure_ is not None
    assert WaterfallDisplay.from_decomposer(decomposer, rows[:1]).figure_ is not None


@pytest.mark.parametrize("booster", [False, True])
def test_lightgbm_writes_spaces_as_underscores(booster):
    frame = FRAME.set_axis(["my age", "b", "the c"], axis=1)
    model = LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1).fit(frame, Y)
    dec = GlexDecomposer(model.booster_ if booster else model, weighting="path_dependent").fit()
    contributions = model.predict(frame, pred_contrib=True)
    np.testing.assert_allclose(dec.shap_values(frame), contributions[:, :-1], rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="feature names should match"):
        dec.shap_values(frame[["the c", "b", "my age"]])
