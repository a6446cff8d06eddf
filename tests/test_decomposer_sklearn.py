"""Use GlexDecomposer as a scikit-learn transformer."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import GlexDecomposer
from skglex._utils import _execution
from tests.support.small_models import FILLED, FLOAT32, MODEL, RNG, X, Y, newer_xgboost, small


@parametrize_with_checks(
    [
        GlexDecomposer(small()),
        GlexDecomposer(xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(X, Y > 0)),
        GlexDecomposer(small(), max_interaction=1, weighting="path_dependent"),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_verbose(capsys, monkeypatch):
    monkeypatch.setattr(_execution, "_REDRAW", 0)
    GlexDecomposer(MODEL, verbose=1).fit(X).shap_values(np.tile(X, (10, 1)))
    assert "SHAP values" in capsys.readouterr().err


@pytest.mark.parametrize("container", ["pandas", pytest.param("polars", marks=newer_xgboost)])
def test_set_output(container):
    make = pd.DataFrame if container == "pandas" else pl.DataFrame
    frame = make({name: X[:, i] for i, name in enumerate("abcd")})
    model = small().fit(frame, Y)
    dec = GlexDecomposer(model, max_interaction=2).set_output(transform=container).fit(frame)
    out = dec.transform(frame)
    assert isinstance(out, make)
    assert list(out.columns) == list(dec.get_feature_names_out())
    assert list(dec.feature_names_in_) == list("abcd")
    plain = GlexDecomposer(model, max_interaction=2).fit(X)
    assert np.array_equal(out.to_numpy(), plain.transform(X))
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        dec.get_feature_names_out(list("abce"))
    with pytest.raises(ValueError, match="number of features"):
        plain.get_feature_names_out(list("abc"))


def test_pipelines():
    frame = pd.DataFrame(FILLED, columns=["a", "b", "c", "d"]).assign(
        s=pd.Categorical(np.where(FILLED[:, 0] > 0, "yes", "no"))
    )
    inner = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), ["s"]), remainder=StandardScaler(), verbose_feature_names_out=False
        ),
        small(),
    )
    dec = GlexDecomposer(inner, max_interaction=2).fit(frame, Y)
    assert dec.explained_features_ == ["s_no", "s_yes", "a", "b", "c", "d"]
    assert {"a", "b", "a:b"} <= set(dec.get_feature_names_out())
    assert np.allclose(
        dec.intercept_ + dec.transform(frame).sum(axis=1), dec.estimator_.predict(frame), atol=FLOAT32
    )

    outer = make_pipeline(GlexDecomposer(small(), max_interaction=2), StandardScaler(), Ridge())
    assert outer.fit(FILLED, Y).score(FILLED, Y) > 0.3
    search = GridSearchCV(
        outer,
        {"glexdecomposer__estimator__max_depth": [1, 2], "glexdecomposer__max_interaction": [1, 2]},
        cv=2,
        error_score="raise",
    ).fit(FILLED, Y)
    assert search.best_params_["glexdecomposer__max_interaction"] in (1, 2)
    columns = ColumnTransformer([("glex", GlexDecomposer(small()), [0, 1, 2])], remainder="passthrough")
    assert columns.fit_transform(FILLED, Y).shape[0] == 300


def test_pipelines_in_pipelines():
    frame = pd.DataFrame(FILLED, columns=list("abcd"))
    weight = RNG.integers(0, 3, size=300).astype(float)
    inner = make_pipeline(StandardScaler(), small())
    nested = GlexDecomposer(make_pipeline(FunctionTransformer(), FrozenEstimator(inner.fit(frame, Y)))).fit(
        frame
    )
    assert np.array_equal(nested.transform(frame), GlexDecomposer(inner).fit(frame).transform(frame))
    plain = GlexDecomposer(inner).set_params(prefit=False).fit(frame, Y, sample_weight=weight)
    outer = GlexDecomposer(make_pipeline("passthrough", inner), prefit=False).fit(
        frame, Y, sample_weight=weight
    )
    assert np.array_equal(outer.transform(frame), plain.transform(frame))
    steps = make_pipeline("passthrough", small()).fit(FILLED, Y)
    assert GlexDecomposer(steps, max_interaction=1, remainder=False).fit(FILLED)["x0"].order == 1


def test_pickle(tmp_path):
    dec = GlexDecomposer(MODEL, max_interaction=2).fit(X)
    dec.shap_values(X)
    expected = dec.transform(X)
    assert np.array_equal(pickle.loads(pickle.dumps(dec)).transform(X), expected)
    joblib.dump(dec, tmp_path / "dec.joblib")
    loaded = joblib.load(tmp_path / "dec.joblib", mmap_mode="r")
    assert np.array_equal(loaded.transform(X), expected)
    assert np.array_equal(loaded.shap_values(X), dec.shap_values(X))
    assert np.array_equal(
        clone(dec).fit(X, Y).transform(X),
        GlexDecomposer(clone(MODEL), max_interaction=2).fit(X, Y).transform(X),
    )


def test_metadata_routing():
    from sklearn import config_context

    weight = RNG.random(300)
    expected = GlexDecomposer(small()).fit(X, Y, sample_weight=weight).transform(X)
    with config_context(enable_metadata_routing=True):
        routed = GlexDecomposer(small().set_fit_request(sample_weight=True)).set_fit_request(
            sample_weight=True
        )
        assert np.array_equal(routed.fit(X, Y, sample_weight=weight).transform(X), expected)
        outer = make_pipeline(routed, Ridge().set_fit_request(sample_weight=False))
        outer.fit(X, Y, sample_weight=weight)
        only_background = GlexDecomposer(small().set_fit_request(sample_weight=False))
        only_background.set_fit_request(sample_weight=True).fit(X, Y, sample_weight=weight)
        assert np.array_equal(only_background.estimator_.predict(X), small().fit(X, Y).predict(X))


def test_bad_parameters():
    frame = pd.DataFrame(FILLED, columns=list("abcd"))
    fitted = small().fit(frame, Y)
    for params, message in [
        ({"max_interaction": 0}, "max_interaction"),
        ({"weighting": "joint"}, "weighting"),
        ({"features": ["nope"]}, "unknown feature 'nope'"),
        ({"features": [7]}, "position 7"),
        ({"feature_groups": {"g": ["a", "zz"]}}, "unknown feature 'zz'"),
        ({"feature_groups": {"g": ["a"], "h": ["a", "b"]}}, "both 'g' and 'h'"),
        ({"feature_groups": {"d": ["a", "b"]}}, "a feature outside of the group has the same name"),
        ({"dtype": "int32"}, "dtype"),
        ({"n_background": 0}, "n_background"),
    ]:
        with pytest.raises(ValueError, match=message):
            GlexDecomposer(fitted, **params).fit(frame)
    with pytest.raises(ValueError, match="belongs to the group"):
        GlexDecomposer(fitted, feature_groups={"g": ["a", "b"]}, features=["a"]).fit(frame)


def test_bad_rows():
    frame = pd.DataFrame(FILLED, columns=list("abcd"))
    dec = GlexDecomposer(small().fit(frame, Y)).fit(frame)
    with pytest.raises(ValueError, match="4 features"):
        GlexDecomposer(MODEL).fit(X).transform(X[:, :3])
    with pytest.raises(ValueError, match="trained on 4"):
        GlexDecomposer(MODEL).fit(X[:, :3])
    for columns in (["b", "a", "c", "d"], ["a", "b", "c", "e"]):
        with pytest.raises(ValueError, match="feature names"):
            dec.transform(frame.set_axis(columns, axis=1))
        with pytest.raises(ValueError, match="feature names"):
            GlexDecomposer(small().fit(frame, Y)).fit(frame.set_axis(columns, axis=1))
    with pytest.raises(ValueError, match="could not convert column 'a'"):
        dec.transform(frame.assign(a="text"))
    with pytest.raises(ValueError, match="0 sample"):
        dec.transform(frame.iloc[:0])
    with pytest.raises(ValueError, match="0 sample"):
        GlexDecomposer(MODEL).fit(X[:0])
    with pytest.raises(ValueError, match="0 feature"):
        GlexDecomposer(small()).fit(frame[[]], Y)
    with pytest.raises(NotFittedError):
        GlexDecomposer(MODEL).transform(X)
    with pytest.raises(ValueError, match="zero"):
        GlexDecomposer(MODEL).fit(X, sample_weight=np.zeros(300))


def test_arrays_of_objects():
    rows = GlexDecomposer(MODEL).fit(X).transform(X)
    assert np.array_equal(GlexDecomposer(MODEL).fit(X.astype(object)).transform(X.astype(object)), rows)
    with pytest.raises(ValueError, match="could not convert string to float"):
        GlexDecomposer(MODEL).fit(np.full((3, 4), "a", dtype=object))


def test_parameters_set_after_fit_wait_for_the_next():
    dec = GlexDecomposer(MODEL).fit(X)
    expected = dec.transform(X)
    dec.set_params(max_interaction=1, features=["x0"])
    assert np.array_equal(dec.transform(X), expected)
    assert dec.n_components_ == expected.shape[1]


def test_nullable_labels_and_slices():
    labels = pd.Series(np.digitize(Y, [-1, 1]), dtype="Int64")
    dec = GlexDecomposer(xgb.XGBClassifier(n_estimators=3), features=slice(0, 2)).fit(FILLED, labels)
    assert dec.classes_.dtype.kind == "i"
    assert list(dec.get_feature_names_out()[:4]) == ["0__x0", "0__x1", "0__x0:x1", "0__remainder"]
