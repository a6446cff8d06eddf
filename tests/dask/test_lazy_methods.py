"""Explain Dask collections of rows."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier, XGBRegressor

from skglex import FeatureRemover, GlexDecomposer
from skglex.inspection import component_importance, feature_importance
from tests.dask.collections import NAMES, TOLERANCE, as_array, as_frame, compare, da, dask, dd, same


def test_rows_of_a_model_fitted_on_one_table(data, local):
    compare(local, local, as_frame(data[0]), data[0])


def test_frames_out(data, local):
    X, _ = data
    dec = pickle.loads(pickle.dumps(local)).set_output(transform="pandas")
    rows = dd.from_pandas(X, npartitions=3)
    lazy = dec.transform(rows)
    assert isinstance(lazy, dd.DataFrame)
    assert lazy.divisions == rows.divisions
    assert list(lazy.columns) == list(dec.get_feature_names_out())
    assert (lazy.dtypes == np.float64).all()
    pd.testing.assert_frame_equal(lazy.compute(), dec.transform(X))
    pd.testing.assert_frame_equal(dec.transform(as_frame(X)).compute(), dec.transform(X))
    with pytest.warns(UserWarning, match="valid feature names"):
        from_array = dec.transform(as_array(X)).compute()
    pd.testing.assert_frame_equal(from_array, dec.transform(X).reset_index(drop=True))
    with pytest.raises(ValueError, match="transform='polars'"):
        dec.set_output(transform="polars").transform(rows)


def test_fit_transform(data, model, local):
    X, _ = data
    lazy = GlexDecomposer(model).set_output(transform="pandas").fit_transform(as_frame(X))
    assert isinstance(lazy, dd.DataFrame)
    same(lazy, local.transform(X))
    assert isinstance(GlexDecomposer(model).fit_transform(as_frame(X)), da.Array)


def test_categories_and_labels(data):
    """Categories count by value, since partitions may have different ones."""
    X, y = data
    rng = np.random.default_rng(0)
    X = X.assign(city=pd.Categorical(rng.choice(["x", "y", "z"], len(X))))
    model = XGBClassifier(n_estimators=5, max_depth=3, enable_categorical=True)
    one = FeatureRemover(model, ["b"]).fit(X, np.where(y > 0, "up", "down"))
    parts = [
        X.iloc[:500],
        X.iloc[500:].assign(city=X["city"].iloc[500:].cat.reorder_categories(["z", "y", "x"])),
    ]
    rows = dd.from_map(lambda i: parts[i], range(2), meta=X.iloc[:0])
    lazy = one.predict(rows)
    assert lazy.dtype == one.predict(X).dtype
    np.testing.assert_array_equal(lazy.compute(), one.predict(X))
    plain = one.estimator_
    same(
        FeatureRemover(plain, ["city"]).fit(rows).margin(rows),
        FeatureRemover(plain, ["city"]).fit(X).margin(X),
    )
    truth = da.from_array(np.where(y > 0, "up", "down"), chunks=500)
    assert one.score(rows, truth) == one.score(X, truth.compute())


def test_global_output_config(data, local):
    import sklearn

    with sklearn.config_context(transform_output="pandas"):
        lazy = local.transform(as_frame(data[0]))
    pd.testing.assert_frame_equal(
        lazy.compute(), pd.DataFrame(local.transform(data[0]), data[0].index, local.get_feature_names_out())
    )


def test_nothing_is_computed_before_it_is_asked(data, local):
    X, _ = data
    read = []

    def load(part):
        read.append(len(part))
        return part

    rows = dd.from_delayed(
        [dask.delayed(load)(X.iloc[:500]), dask.delayed(load)(X.iloc[500:])], meta=X.iloc[:0]
    )
    dec = pickle.loads(pickle.dumps(local)).set_output(transform="pandas")
    lazy = [dec.transform(rows), dec.shap_values(rows), dec.partial_dependence("a", rows)]
    assert not read
    lazy[0].compute()
    assert read == [500, 500]


def test_known_chunks(data, local):
    rows = da.from_array(data[0].to_numpy(), chunks=(300, 3))
    with pytest.warns(UserWarning, match="valid feature names"):
        assert local.shap_values(rows).chunks == ((300, 300, 300, 100), (4,))
    with pytest.warns(UserWarning, match="valid feature names"):
        assert local.partial_dependence("a", rows).chunks == ((300, 300, 300, 100),)
    assert np.isnan(local.shap_values(as_frame(data[0])).shape[0])


def test_remover(data, model, classifier):
    X, _ = data
    rows = as_frame(X)
    one, dec = FeatureRemover(model, ["b"]).fit(X), FeatureRemover(model, ["b"]).fit(rows)
    same(dec.predict(rows.drop(columns="b")), one.predict(X))
    same(dec.margin(rows), one.margin(X))
    same(dec.predict(X), one.predict(X))
    with pytest.raises(ValueError, match="X lacks \\['b'\\]"):
        dec.set_params(strength=0.5).predict(rows.drop(columns="b"))
    same(dec.predict(rows), one.set_params(strength=0.5).predict(X))
    one, dec = FeatureRemover(classifier, ["b"]).fit(X), FeatureRemover(classifier, ["b"]).fit(rows)
    for method in ["predict", "predict_proba", "predict_log_proba", "decision_function"]:
        lazy = getattr(dec, method)(rows.drop(columns="b"))
        expected = getattr(one, method)(X)
        assert lazy.dtype == expected.dtype
        same(lazy, expected)


def test_removed_booster_after_pickling(data, model):
    X, _ = data
    dec = pickle.loads(pickle.dumps(FeatureRemover(model, ["b"]).fit(as_frame(X))))
    expected = FeatureRemover(model, ["b"]).fit(X).to_xgboost().inplace_predict(X)
    np.testing.assert_allclose(dec.to_xgboost().inplace_predict(X), expected, rtol=1e-6)


@pytest.mark.parametrize("by_country", [False, True])
def test_pipeline(data, by_country):
    """A raw column is found even if each partition has only one value of it."""
    X, y = data
    country = np.repeat(["x", "y"], 500) if by_country else np.random.default_rng(0).choice(["x", "y"], 1000)
    X = X.assign(country=country)[["country", *NAMES]]
    encode = make_column_transformer((OneHotEncoder(), ["country"]), remainder="passthrough")
    model = make_pipeline(encode, XGBRegressor(n_estimators=20, max_depth=3)).fit(X, y + 2 * (country == "x"))
    rows = dd.from_pandas(X, npartitions=4, sort=False)
    one, dec = FeatureRemover(model, ["country"]).fit(X), FeatureRemover(model, ["country"]).fit(rows)
    assert dec.removed_features_ == one.removed_features_
    same(dec.predict(rows.drop(columns="country")), one.predict(X))
    one, dec = GlexDecomposer(model).fit(X), GlexDecomposer(model).fit(rows)
    same(dec.transform(rows), one.transform(X))
    assert list(dec.get_feature_names_out()) == list(one.get_feature_names_out())


def test_bad_collections(data, model, local):
    X, _ = data
    with pytest.raises(ValueError, match="all partitions of X are empty"):
        GlexDecomposer(model).fit(as_frame(X.iloc[:0]))
    with pytest.raises(ValueError, match="two dimensions"):
        GlexDecomposer(model).fit(da.ones(10))
    with pytest.raises(ValueError, match="feature names should match"):
        local.transform(as_frame(X[NAMES[::-1]]))
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(ValueError, match="5 features"),
    ):
        local.transform(da.ones((10, 5)))


def test_importances_of_given_rows(data, local):
    X, _ = data
    rows = as_frame(X)
    pd.testing.assert_frame_equal(
        component_importance(local, rows), component_importance(local, X), rtol=TOLERANCE
    )
    pd.testing.assert_frame_equal(component_importance(local, rows, k=2), component_importance(local, X, k=2))
    pd.testing.assert_frame_equal(
        feature_importance(local, rows), feature_importance(local, X), rtol=TOLERANCE
    )


def test_dask_is_not_imported_without_a_collection():
    code = (
        "import sys, numpy as np, xgboost as xgb, skglex\n"
        "X = np.random.default_rng(0).normal(size=(50, 2))\n"
        "m = xgb.XGBRegressor(n_estimators=2).fit(X, X[:, 0])\n"
        "skglex.GlexDecomposer(m).fit(X).shap_values(X)\n"
        "assert 'skglex._dask._lazy_methods' not in sys.modules\n"
        "assert 'skglex._dask._background' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_cluster(data, model, local, tmp_path):
    """Two worker processes give the same numbers to the bit; a model trained by xgboost.dask can be read."""
    distributed = pytest.importorskip("distributed", reason="needs distributed: pip install 'skglex[dask]'")
    from xgboost import dask as xgboost_dask

    X, y = data
    rows = dd.from_pandas(X, npartitions=5)
    alone = GlexDecomposer(model).fit(rows)
    with (
        dask.config.set(scheduler=None),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert len(client.scheduler_info()["workers"]) == 2
        dec = GlexDecomposer(model).fit(rows)
        assert dec.intercept_ == alone.intercept_
        np.testing.assert_array_equal(dec.transform(rows).compute(), alone.transform(X))
        np.testing.assert_array_equal(dec.shap_values(rows).compute(), alone.shap_values(X))
        np.testing.assert_array_equal(dec.component_importances_, alone.component_importances_)
        compare(dec, local, rows, X)
        removed = FeatureRemover(model, ["b"]).fit(rows).predict(rows.drop(columns="b"))
        same(removed, FeatureRemover(model, ["b"]).fit(X).predict(X))
        rows.to_parquet(tmp_path / "rows")
        dec.set_output(transform="pandas").transform(dd.read_parquet(tmp_path / "rows")).to_parquet(
            tmp_path / "out"
        )
        written = pd.read_parquet(tmp_path / "out")
        np.testing.assert_array_equal(written.to_numpy(), alone.transform(X))

        target = da.from_array(y > 0, chunks=1000).astype(int)
        trained = xgboost_dask.DaskXGBClassifier(n_estimators=3).fit(
            da.from_array(X.to_numpy(), chunks=1000), target
        )
        dec = GlexDecomposer(trained).fit(as_array(X))
        sums = dec.intercept_ + dec.transform(X.to_numpy()).sum(axis=1)
        raw = trained.get_booster().inplace_predict(X.to_numpy(), predict_type="margin")
        # XGBoost sums in float32.
        np.testing.assert_allclose(sums, raw, atol=1e-5)


@pytest.mark.slow
def test_larger_than_memory():
    """Even at a small size, the memory of the example grows by less than the data."""
    path = Path(__file__).parents[2] / "examples" / "larger_than_memory.py"
    command = [
        sys.executable,
        "-W",
        "error",
        "-W",
        "ignore:The inplace keyword",
        str(path),
        "--rows",
        "1000000",
    ]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    size_in, size_out, grown = (int(number) for number in re.findall(r"(\d+) MB", run.stdout))
    assert grown < (size_in + size_out) / 2


def test_isolation_forest(data):
    X = data[0].fillna(0.0)
    model = IsolationForest(n_estimators=10, random_state=0).fit(X)
    rows = as_frame(X)
    one, dec = FeatureRemover(model, ["b"]).fit(X), FeatureRemover(model, ["b"]).fit(rows)
    for method in ["predict", "decision_function", "score_samples"]:
        same(getattr(dec, method)(rows), getattr(one, method)(X))
