"""Use an estimator as it is, or clone and fit it."""

import numpy as np
import pytest
import xgboost as xgb
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from skglex import FeatureRemover, GlexDecomposer
from tests.support.small_models import FILLED, FLOAT32, MODEL, X, Y, small


def test_prefit():
    fitted = small().fit(X, Y)
    tags = get_tags(GlexDecomposer(fitted)), get_tags(GlexDecomposer(small()))
    assert [(t.input_tags.allow_nan, t.input_tags.sparse, t.target_tags.required) for t in tags] == [
        (True, True, False),
        (True, True, True),
    ]
    assert GlexDecomposer(fitted).fit(X).estimator_ is fitted
    assert GlexDecomposer(fitted, prefit=True).fit(X, Y).estimator_ is fitted
    assert GlexDecomposer(FrozenEstimator(fitted)).fit(X, Y).estimator_.estimator is fitted
    with pytest.warns(UserWarning, match="FrozenEstimator"):
        assert GlexDecomposer(fitted).fit(X, Y).estimator_ is not fitted
    assert GlexDecomposer(fitted, prefit=False).fit(X, Y).estimator_ is not fitted
    booster = fitted.get_booster()
    assert GlexDecomposer(booster).fit(X, Y).estimator_ is booster
    assert GlexDecomposer(booster, prefit=True).fit(X).estimator_ is booster
    with pytest.raises(ValueError, match="cannot be fitted again"):
        GlexDecomposer(booster, prefit=False).fit(X, Y)
    with pytest.raises(NotFittedError):
        GlexDecomposer(small(), prefit=True).fit(X)
    for estimator in (small(), clone(fitted), make_pipeline(StandardScaler(), small())):
        with pytest.raises(
            ValueError, match=r"requires y to be passed, but the target y is None.*FrozenEstimator"
        ):
            GlexDecomposer(estimator).fit(X)


class KeepPositive(BaseEstimator):
    """Stand in for a sampler of imbalanced-learn."""

    def fit_resample(self, X, y):
        self.n_features_in_ = X.shape[1]
        return X[y > 0], y[y > 0]


class SamplingPipeline(Pipeline):
    """Apply samplers in ``fit`` only, as the pipeline of imbalanced-learn does."""

    def fit(self, X, y):
        for _, step in self.steps[:-1]:
            X, y = step.fit_resample(X, y) if hasattr(step, "fit_resample") else (step.fit_transform(X, y), y)
        self.steps[-1][1].fit(X, y)
        return self

    def predict(self, X):
        return Pipeline([step for step in self.steps if not hasattr(step[1], "fit_resample")]).predict(X)


def test_steps_that_draw_rows_in_fit_do_not_predict():
    model = small()
    steps = [("scale", StandardScaler()), ("draw", KeepPositive()), ("model", model)]
    pipeline = SamplingPipeline(steps).fit(FILLED, Y)
    around = SamplingPipeline([("draw", KeepPositive()), ("inner", make_pipeline(StandardScaler(), small()))])
    for estimator in (
        pipeline,
        FrozenEstimator(pipeline),
        Pipeline([("outer", pipeline)]),
        around.fit(FILLED, Y),
    ):
        dec = GlexDecomposer(estimator).fit(FILLED)
        sums = dec.intercept_ + dec.transform(FILLED).sum(axis=1)
        assert sums == pytest.approx(estimator.predict(FILLED), abs=FLOAT32)
        remover = FeatureRemover(estimator, [0], strength=0).fit(FILLED)
        assert np.array_equal(remover.predict(FILLED), estimator.predict(FILLED))
    refitted = FeatureRemover(pipeline, [0], prefit=False).fit(FILLED, Y)
    expected = FeatureRemover(pipeline, [0]).fit(FILLED)
    assert np.array_equal(refitted.predict(FILLED), expected.predict(FILLED))
    weight = np.linspace(0, 1, len(FILLED))
    assert GlexDecomposer(pipeline).fit(FILLED, sample_weight=weight).background_.weights is not None
    with pytest.raises(ValueError, match="a sampler in the pipeline draws other rows"):
        GlexDecomposer(pipeline, prefit=False).fit(FILLED, Y, sample_weight=weight)
    with pytest.raises(TypeError, match="cannot read a KeepPositive"):
        GlexDecomposer(Pipeline([("scale", StandardScaler()), ("draw", KeepPositive())])).fit(FILLED, Y)


def test_parameters_of_fit():
    for wrap in (GlexDecomposer, lambda model: FeatureRemover(model, [0])):
        with pytest.warns(
            UserWarning, match="used as it is: sample_weights passed to fit has no effect"
        ) as caught:
            wrap(MODEL).fit(X, sample_weights=np.ones(300))
        assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="could not convert string to float"):
        GlexDecomposer(small()).fit(X, np.where(Y > 0, "a", "b"))


@pytest.mark.parametrize("labels", [[-1, 0, 1], [3, 10, 700], ["u", "v", "w"], [True, False, True]])
def test_labels_of_the_rows_to_stop_by(labels):
    codes = np.digitize(Y, [-0.5, 0.5]) if labels[0] is not True else (Y > 0) * 1
    y = np.unique(labels)[codes]
    early = {"n_estimators": 50, "early_stopping_rounds": 2, "n_jobs": 1}
    expected = xgb.XGBClassifier(**early).fit(
        X[:200], codes[:200], eval_set=[(X[200:], codes[200:])], verbose=False
    )
    inner = xgb.XGBClassifier(**early)
    watch = [(X[200:], y[200:])]
    dec = GlexDecomposer(inner).fit(X[:200], y[:200], eval_set=watch, verbose=False)
    assert dec.estimator_.best_iteration == expected.best_iteration
    steps = GlexDecomposer(make_pipeline("passthrough", inner))
    steps.fit(X[:200], y[:200], xgbclassifier__eval_set=watch, xgbclassifier__verbose=False)
    assert np.array_equal(steps.transform(X), dec.transform(X))
    with pytest.raises(ValueError, match="eval_set has the label"):
        GlexDecomposer(inner).fit(X[:200], y[:200], eval_set=[(X[200:], np.full(100, 5))], verbose=False)


def test_tags_of_a_booster():
    tags = get_tags(GlexDecomposer(MODEL.get_booster())).input_tags
    assert tags.allow_nan
    assert tags.sparse
    assert not get_tags(GlexDecomposer(HistGradientBoostingRegressor())).input_tags.sparse
    assert not get_tags(GlexDecomposer(GradientBoostingRegressor())).input_tags.allow_nan


def test_nothing_of_another_fit_stays():
    dec = GlexDecomposer(small()).fit(X, Y)
    dec.set_params(estimator=xgb.XGBClassifier(n_estimators=2)).fit(X, Y > 0)
    assert dec.classes_.tolist() == [False, True]
    dec.set_params(estimator=small()).fit(X, Y)
    assert not hasattr(dec, "classes_")
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        column = GlexDecomposer(small()).fit(X, Y[:, None])
    assert np.array_equal(column.transform(X), dec.transform(X))


def test_bad_models():
    with pytest.raises(TypeError, match="cannot read a Ridge"):
        GlexDecomposer(Ridge()).fit(FILLED, Y)
    with pytest.warns(UserWarning, match="base_margin"):
        dec = GlexDecomposer(small()).fit(FILLED, Y, base_margin=np.ones(300))
    assert np.allclose(
        dec.intercept_ + dec.transform(FILLED).sum(axis=1), dec.estimator_.predict(FILLED), atol=FLOAT32
    )
