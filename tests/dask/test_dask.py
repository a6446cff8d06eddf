"""Dask collections as backgrounds and as rows to explain.

Sums over partitions are added in another order than those over one table, so results agree to rounding: 1e-12 on
margins of about one. Among Dask runs, whatever the scheduler, they are equal to the bit.
"""

import pickle
import re
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier, XGBRegressor

from skglex import FeatureRemover, GlexDecomposer
from skglex._utils import budgets
from skglex.exceptions import SmallBackgroundWarning
from skglex.inspection import component_importance, feature_importance, interaction_strength

dask = pytest.importorskip("dask", reason="needs dask: pip install 'skglex[dask]'")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'skglex[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="needs dask: pip install 'skglex[dask]'")

TOLERANCE = 1e-12
NAMES = ["a", "b", "c", "d"]


@pytest.fixture(autouse=True)
def scheduler():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2]) + 0.1 * rng.normal(size=1000)
    return pd.DataFrame(X, columns=NAMES, index=2 * np.arange(1000)), y


@pytest.fixture(scope="module")
def model(data):
    X, y = data
    return XGBRegressor(n_estimators=20, max_depth=4, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def classifier(data):
    X, y = data
    return XGBClassifier(n_estimators=5, max_depth=3).fit(X, np.digitize(y, [-0.5, 0.5]))


@pytest.fixture(scope="module")
def local(data, model):
    return GlexDecomposer(model).fit(data[0])


def as_frame(X):
    """Five partitions of different lengths, one of them empty; unknown divisions."""
    cuts = [0, 1, 400, 400, 900, 1000]
    parts = [X.iloc[a:b] for a, b in pairwise(cuts)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=X.iloc[:0])


def as_array(X):
    return da.from_array(X.to_numpy(), chunks=(300, 3))


def same(actual, expected):
    actual = actual.compute() if hasattr(actual, "compute") else actual
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=0, atol=TOLERANCE)


def compare(dec, local, rows, X):
    same(dec.intercept_, local.intercept_)
    for method in ["transform", "shap_values", "shap_interaction_values"]:
        lazy = getattr(dec, method)(rows)
        assert isinstance(lazy, da.Array)
        expected = getattr(local, method)(X)
        assert lazy.shape[1:] == expected.shape[1:]
        assert lazy.dtype == expected.dtype
        same(lazy, expected)
    same(dec.partial_dependence(["a", "c"], rows), local.partial_dependence(["a", "c"], X))
    same(dec["a"].evaluate(rows), local["a"].evaluate(X))


@pytest.mark.parametrize("collection", [as_frame, as_array])
def test_same_as_on_one_table(data, model, local, collection):
    X, _ = data
    rows = collection(X)
    with warnings.catch_warnings():
        if collection is as_array:
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        dec = GlexDecomposer(model).fit(rows)
        compare(dec, local, rows, X)
    assert len(dec.background_.rows) == len(X)
    same(dec.component_importances_, local.component_importances_)
    same(dec.feature_importances_, local.feature_importances_)
    same(dec.background_weights(dec.feature_axis("a")), local.background_weights(local.feature_axis("a")))
    assert [c.name for c in dec.strongest_components(3)] == [c.name for c in local.strongest_components(3)]
    same(dec.transform(X) if collection is as_frame else dec.transform(X.to_numpy()), local.transform(X))


def test_several_outputs(data, classifier):
    X, _ = data
    rows = as_frame(X)
    compare(GlexDecomposer(classifier).fit(rows), GlexDecomposer(classifier).fit(X), rows, X)


def test_path_dependent(data, model):
    X, _ = data
    params = {"weighting": "path_dependent", "max_interaction": 2}
    compare(
        GlexDecomposer(model, **params).fit(as_frame(X)),
        GlexDecomposer(model, **params).fit(X),
        as_frame(X),
        X,
    )


def test_rows_of_a_model_fitted_on_one_table(data, local):
    compare(local, local, as_frame(data[0]), data[0])


@pytest.mark.parametrize("kind", ["column", "array", "numpy"])
def test_weights(data, model, kind):
    X, _ = data
    weight = np.random.default_rng(1).random(len(X)) * (np.arange(len(X)) >= 300)
    expected = GlexDecomposer(model).fit(X, sample_weight=weight)
    if kind == "column":
        rows = as_frame(X.assign(weight=1e300 * weight))
        dec = GlexDecomposer(model).fit(rows[NAMES], sample_weight=rows["weight"])
        same(dec.transform(rows[NAMES]), expected.transform(X))
        return
    rows = as_array(X)
    given = weight if kind == "numpy" else da.from_array(weight, chunks=450)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        dec = GlexDecomposer(model).fit(rows, sample_weight=given)
        same(dec.transform(rows), expected.transform(X))
    same(dec.component_importances_, expected.component_importances_)


@pytest.mark.parametrize(
    ("n", "weight", "few"),
    [(15, 1.0, True), (16, 1.0, False), (1000, [1e300, *999 * [0.0]], True), (1000, [1e-300] * 1000, False)]
    # far less than a power of two of the other partition, where there are many
    + [(1000, [1.0] * 7 + [2.0**-40] * 993, True)],
)
def test_small_backgrounds(data, model, n, weight, few):
    X = data[0].iloc[:n]
    rows = dd.from_pandas(X.assign(weight=weight), npartitions=3)
    decomposer = GlexDecomposer(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SmallBackgroundWarning)
        GlexDecomposer(model, weighting="path_dependent").fit(rows[NAMES])
        if not few:
            decomposer.fit(rows[NAMES], sample_weight=rows["weight"])
    if few:
        with pytest.warns(SmallBackgroundWarning, match=r"counts as \S+ rows .* of order") as lazy:
            decomposer.fit(rows[NAMES], sample_weight=rows["weight"])
        with pytest.warns(SmallBackgroundWarning) as local:
            decomposer.fit(X, sample_weight=np.broadcast_to(weight, n))
        assert str(lazy[0].message) == str(local[0].message)


def test_bad_weights(data, model):
    X, _ = data
    rows = as_frame(X)
    with pytest.raises(ValueError, match="zero for every row"):
        GlexDecomposer(model).fit(rows, sample_weight=0 * rows["a"].fillna(0))
    with pytest.raises(ValueError, match="finite and not negative"):
        GlexDecomposer(model).fit(rows, sample_weight=rows["a"])
    with pytest.raises(ValueError, match="sample_weight has 2 partitions, X has 5"):
        GlexDecomposer(model).fit(rows, sample_weight=da.ones(1000, chunks=500))
    with pytest.raises(ValueError, match="say one of its columns"):
        GlexDecomposer(model).fit(rows, sample_weight=np.ones(1000))
    with pytest.raises(ValueError, match=r"shape \(10,\), expected \(1000,\)"):
        GlexDecomposer(model).fit(as_array(X), sample_weight=da.ones(10))
    with pytest.raises(ValueError, match="with other divisions"):
        GlexDecomposer(model).fit(
            dd.from_pandas(X, npartitions=2), sample_weight=dd.from_pandas(X["a"].iloc[:900], npartitions=2)
        )


def test_sampled_background(data, model):
    X, _ = data
    params = {"n_background": 50, "random_state": 3}
    expected = GlexDecomposer(model, **params).fit(X, sample_weight=np.arange(1000.0))
    rows = as_frame(X.assign(weight=np.arange(1000.0)))
    dec = GlexDecomposer(model, **params).fit(rows[NAMES], sample_weight=rows["weight"])
    np.testing.assert_array_equal(dec.background_.rows, expected.background_.rows)
    np.testing.assert_array_equal(dec.transform(X), expected.transform(X))  # one table: to the bit
    whole = GlexDecomposer(model, n_background=5000).fit(rows[NAMES])
    np.testing.assert_array_equal(whole.transform(X), GlexDecomposer(model).fit(X).transform(X))


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
    with pytest.raises(ValueError, match="not 'polars'"):
        dec.set_output(transform="polars").transform(rows)


def test_fit_transform(data, model, local):
    X, _ = data
    lazy = GlexDecomposer(model).set_output(transform="pandas").fit_transform(as_frame(X))
    assert isinstance(lazy, dd.DataFrame)
    same(lazy, local.transform(X))
    assert isinstance(GlexDecomposer(model).fit_transform(as_frame(X)), da.Array)


def test_categories_and_labels(data):
    """Categories are known by value: those of each partition may be others."""
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
    """A raw column goes with all that is made of it, even if each partition has but one value of it."""
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


def test_training_is_refused(data, model):
    X, y = data
    rows = as_frame(X)
    with pytest.raises(ValueError, match="Fit the model first"):
        GlexDecomposer(XGBRegressor()).fit(rows, da.from_array(y, chunks=500))
    with pytest.raises(ValueError, match="Fit the model first"):
        GlexDecomposer(XGBRegressor()).fit(rows)
    with pytest.raises(ValueError, match="fit without y"):
        GlexDecomposer(model).fit(rows, da.from_array(y, chunks=500))
    frozen = GlexDecomposer(FrozenEstimator(model)).fit(rows, da.from_array(y, chunks=500))
    same(frozen.intercept_, GlexDecomposer(model).fit(X).intercept_)
    with pytest.raises(NotFittedError):
        GlexDecomposer(model).transform(rows)


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


def test_misread_model_is_found_in_the_partitions(data, model):
    X, _ = data
    dec = GlexDecomposer(model)
    bad = pickle.loads(pickle.dumps(model))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skglex._readers._xgboost._wrapper_margin", lambda model, X: np.full(len(X), 1000.0))
        with pytest.raises(RuntimeError, match="not read exactly"):
            dec.fit(as_frame(X))
        GlexDecomposer(bad, check_additivity=False).fit(as_frame(X))


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


def test_what_needs_all_rows_in_one_place(data, model):
    dec = GlexDecomposer(model).fit(as_frame(data[0]))
    with pytest.raises(ValueError, match="Pass rows X, or fit with n_background"):
        interaction_strength(dec)
    interaction_strength(dec, data[0])


def test_copies_have_no_background(data, model, local):
    X, _ = data
    dec = GlexDecomposer(model).fit(as_frame(X))
    copied = pickle.loads(pickle.dumps(dec))
    same(copied.transform(X), local.transform(X))
    same(copied.shap_values(X), local.shap_values(X))
    same(copied.shap_values(as_frame(X)), local.shap_values(X))
    with pytest.raises(ValueError, match="Ask the fitted decomposer itself"):
        copied.component_importances_  # noqa: B018
    dec.component_importances_  # noqa: B018
    same(pickle.loads(pickle.dumps(dec)).component_importances_, local.component_importances_)


def test_dask_is_not_imported_without_a_collection():
    code = (
        "import sys, numpy as np, xgboost as xgb, skglex\n"
        "X = np.random.default_rng(0).normal(size=(50, 2))\n"
        "m = xgb.XGBRegressor(n_estimators=2).fit(X, X[:, 0])\n"
        "skglex.GlexDecomposer(m).fit(X).shap_values(X)\n"
        "assert 'skglex._dask._rows' not in sys.modules\n"
        "assert 'skglex._dask._background' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_cluster(data, model, local, tmp_path):
    """Two worker processes: the same numbers to the bit as without a cluster, and a model trained by xgboost.dask."""
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
        # float32 sums of the library's own
        np.testing.assert_allclose(sums, raw, atol=1e-5)


@pytest.mark.slow
def test_larger_than_memory():
    """The example at a small size; its memory grows by less than the data even so."""
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


def test_deep_trees(data):
    """Weights by rank, of orders up to two; SHAP values of such leaves need the rows themselves."""
    X, y = data
    wide = pd.concat(
        [X, X.add_suffix("2") ** 2, X.add_suffix("3") ** 3, X.add_suffix("4") * X.iloc[::-1].to_numpy()],
        axis=1,
    )
    model = XGBRegressor(n_estimators=3, max_depth=20, min_child_weight=0, colsample_bynode=0.3).fit(wide, y)
    local = GlexDecomposer(model, max_interaction=2).fit(wide)
    rows = as_frame(wide)
    dec = GlexDecomposer(model, max_interaction=2).fit(rows)
    assert local._decomposition.players.wide.any()
    same(dec.transform(rows), local.transform(wide))
    same(dec.partial_dependence("a", rows), local.partial_dependence("a", wide))
    with pytest.raises(ValueError, match="fit with n_background"):
        dec.shap_values(rows)
    same(local.shap_values(rows), local.shap_values(wide))


def test_more_weights_than_are_kept(data, model, monkeypatch):
    monkeypatch.setattr(budgets, "kept_dask_weights", 1000)
    with pytest.raises(ValueError, match="a background in Dask partitions keeps 1,000 at most"):
        GlexDecomposer(model).fit(as_frame(data[0]))


def test_threads(data, model, local):
    """Fitting in several threads asks for parts of the same weights at the same time."""
    dec = GlexDecomposer(model, n_jobs=2).fit(as_frame(data[0]))
    same(dec.shap_values(data[0]), local.shap_values(data[0]))


def test_too_many_components(data, model, local):
    dec = pickle.loads(pickle.dumps(GlexDecomposer(model, max_components=2).fit(as_frame(data[0]))))
    same(dec.shap_values(as_frame(data[0])), local.shap_values(data[0]))
    with pytest.raises(ValueError, match="more than max_components=2"):
        dec.transform(as_frame(data[0]))


def test_isolation_forest(data):
    X = data[0].fillna(0.0)
    model = IsolationForest(n_estimators=10, random_state=0).fit(X)
    rows = as_frame(X)
    one, dec = FeatureRemover(model, ["b"]).fit(X), FeatureRemover(model, ["b"]).fit(rows)
    for method in ["predict", "decision_function", "score_samples"]:
        same(getattr(dec, method)(rows), getattr(one, method)(X))
