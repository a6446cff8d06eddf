"""Bands of components, of their importances and of their ranks."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import KFold, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

from skglex import GlexDecomposer
from skglex.inspection import resample_components
from skglex.plotting import ComponentDisplay, ImportanceDisplay

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, size=(120, 3)).astype(float)
Y = X[:, 0] + X[:, 0] * X[:, 1] + RNG.normal(size=120)
MODEL = DecisionTreeRegressor(max_depth=4, random_state=0)
# Sums of float64 terms of size 1, in another order.
EXACT = 1e-12


def refits(splits, features, background=X):
    """Return the components of refits at the levels 0, 1, 2, 3, over the background."""
    rows = np.repeat(X[:1], 4, axis=0)
    out = []
    for train in splits:
        dec = GlexDecomposer(MODEL.fit(X[train], Y[train])).fit(background)
        values = []
        for name in features:
            at = rows.copy()
            at[:, int(name[1])] = range(4)
            values.append(dec[name].evaluate(at) if name in dec else np.zeros(4))
        out.append(values)
    return np.array(out)


@pytest.mark.parametrize(
    "method", [5, KFold(4, shuffle=True, random_state=1), RepeatedKFold(n_splits=3, random_state=0)]
)
def test_folds_have_the_corrected_variance(method):
    splitter = KFold(5) if method == 5 else method
    splits = [train for train, _ in splitter.split(X)]
    tests = [len(X) - len(train) for train in splits]
    bands = resample_components(MODEL, X, Y, features=["x0", "x1"], method=method, level=0.9)
    parts = refits(splits, ["x0", "x1"])
    n = len(splits)
    ratio = np.mean([out / len(train) for out, train in zip(tests, splits)])
    se = np.sqrt((1 / n + ratio) * parts.var(axis=0, ddof=1))
    for i, name in enumerate(["x0", "x1"]):
        table = bands.to_frame(name)
        assert table[name].tolist() == [0, 1, 2, 3]
        assert_allclose(table["estimate"], parts[:, i].mean(axis=0), atol=EXACT)
        assert_allclose(table["std_error"], se[i], atol=EXACT)
        width = stats.t.ppf(0.95, n - 1) * se[i]
        assert_allclose(table["high"] - table["estimate"], width, atol=EXACT)
        assert (table["simultaneous_high"] >= table["high"]).all()
    assert bands.n_resamples == n
    assert "folds, with the corrected variance" in repr(bands)


def test_bootstrap_is_the_standard_deviation_of_the_refits():
    bands = resample_components(MODEL, X, Y, features="x0", n_resamples=6, random_state=3)
    rng = np.random.RandomState(3)
    parts = refits([rng.randint(0, 120, 120) for _ in range(6)], ["x0"])[:, 0]
    whole = GlexDecomposer(MODEL.fit(X, Y)).fit(X)
    assert_allclose(bands.estimate("x0")[:4], whole["x0"].values[:4], atol=EXACT)
    assert np.isnan(bands.estimate("x0")[4])  # no row has a missing value
    assert_allclose(bands.std_error("x0")[:4], parts.std(axis=0, ddof=1), atol=EXACT)
    low, high = bands.band("x0", level=0.5)
    assert_allclose((high - low)[:4], 2 * stats.norm.ppf(0.75) * parts.std(axis=0, ddof=1), atol=EXACT)
    with parallel_config("threading"):
        again = resample_components(MODEL, X, Y, features="x0", n_resamples=6, random_state=3, n_jobs=2)
    pd.testing.assert_frame_equal(again.to_frame("x0"), bands.to_frame("x0"))


def test_importances_and_ranks():
    bands = resample_components(
        MODEL, X, Y, features=["x1", "x0", ("x0", "x1")], n_resamples=8, random_state=0
    )
    rng = np.random.RandomState(0)
    importances = []
    for _ in range(8):
        rows = rng.randint(0, 120, 120)
        dec = GlexDecomposer(MODEL.fit(X[rows], Y[rows])).fit(X)
        importances.append([dec[name].importance for name in ("x1", "x0", "x0:x1")])
    importances = np.array(importances)
    table = bands.table.set_index("component").loc[["x1", "x0", "x0:x1"]]
    assert_allclose(table["std_error"], importances.std(axis=0, ddof=1), atol=EXACT)
    ranks = stats.rankdata(-importances, axis=1)
    assert_allclose(table["rank_low"], np.quantile(ranks, 0.025, axis=0))
    assert_allclose(table["rank_high"], np.quantile(ranks, 0.975, axis=0))
    assert bands.table["importance"].is_monotonic_decreasing
    assert bands.table["rank"].tolist() == [1, 2, 3]


def test_simultaneous_bands_cover_all_cells_together():
    """One normal draw for all cells makes both bands equal; independent cells need the quantile of their maximum."""
    from skglex.inspection._resampling import Spread

    rng = np.random.default_rng(0)
    together = np.repeat(rng.normal(size=(60, 1, 1)), 30, axis=1) / np.sqrt(59)
    alone = np.eye(200)[:, :30, None]
    for deviations, factor in ((together, 1.96), (alone, stats.norm.ppf((1 + 0.95 ** (1 / 30)) / 2))):
        spread = Spread(np.zeros((30, 1)), deviations)
        low, high = spread.band(0.95, simultaneous=True)
        # 2,000 draws give the quantile to about two digits.
        assert_allclose(high / spread.std_error, factor, rtol=0.05)
        assert_allclose(low, -high)


@pytest.mark.filterwarnings("ignore:the forest has 40 trees")
def test_infinitesimal_jackknife():
    """By the covariances themselves, row by row."""
    forest = RandomForestRegressor(40, max_depth=3, random_state=0).fit(X, Y)
    bands = resample_components(forest, X, features=["x0", ("x0", "x1")], method="infinitesimal_jackknife")
    trees = [GlexDecomposer(tree).fit(X) for tree in forest.estimators_]
    counts = np.array([np.bincount(rows, minlength=120) for rows in forest.estimators_samples_])
    for name in ("x0", "x0:x1"):
        cells = bands.cells[name]
        t = np.array(
            [d[name].evaluate(cells.rows) if name in d else np.zeros(len(cells.rows)) for d in trees]
        )
        covariance = (counts - counts.mean(axis=0)).T @ (t - t.mean(axis=0)) / 40
        variance = (covariance**2).sum(axis=0) - 120 / 40**2 * ((t - t.mean(axis=0)) ** 2).sum(axis=0)
        expected = np.sqrt(np.maximum(variance, 0))
        assert_allclose(bands.to_frame(name)["std_error"], expected, atol=1e-9)
        assert_allclose(bands.to_frame(name)["estimate"], t.mean(axis=0), atol=EXACT)
    assert bands.ranks is None
    assert "rank" not in bands.table
    assert "without refits" in repr(bands)


def test_the_jackknife_needs_many_trees():
    forest = RandomForestRegressor(10, max_depth=3, random_state=0).fit(X, Y)
    with pytest.warns(UserWarning, match="10 trees, too few for the infinitesimal jackknife"):
        resample_components(forest, X, features="x0", method="infinitesimal_jackknife")


@pytest.mark.parametrize(
    "model", [ExtraTreesRegressor(3), RandomForestRegressor(3, bootstrap=False), XGBRegressor()]
)
def test_the_jackknife_needs_bootstrap_samples(model):
    with pytest.raises(ValueError, match="grown with bootstrap=True"):
        resample_components(model.fit(X, Y), X, features="x0", method="infinitesimal_jackknife")


def test_background_alone():
    model = MODEL.fit(X, Y)
    bands = resample_components(model, X, features="x0", method="background", n_resamples=5, random_state=1)
    rng = np.random.RandomState(1)
    values = []
    for _ in range(5):
        count = np.bincount(rng.randint(0, 120, 120), minlength=120)
        dec = GlexDecomposer(model, prefit=True).fit(X, sample_weight=count)
        values.append(dec["x0"].evaluate(bands.cells["x0"].rows))
    assert_allclose(bands.to_frame("x0")["std_error"], np.std(values, axis=0, ddof=1), atol=EXACT)
    assert "only the sampling error of the averages" in repr(bands)


def test_classifiers_with_any_labels():
    labels = np.array(["no", "yes"])[(Y > 3).astype(int)]
    bands = resample_components(
        XGBClassifier(n_estimators=3, max_depth=2), X, labels, features="x0", n_resamples=3, random_state=0
    )
    assert bands.decomposer.classes_.tolist() == ["no", "yes"]
    three = np.array(["a", "b", "c"])[np.digitize(Y, [2, 5])]
    bands = resample_components(
        DecisionTreeClassifier(max_depth=3), X, three, features="x0", n_resamples=3, method=3
    )
    assert bands.band("x0")[0].shape == bands.decomposer["x0"].values.shape
    assert "b__low" in bands.to_frame("x0").columns
    with pytest.raises(ValueError, match=r"a sample has only the classes \['a', 'b'\]"):
        resample_components(
            DecisionTreeClassifier(),
            X,
            np.array(["a", "b"] * 59 + ["c", "c"]),
            features="x0",
            method=KFold(6),
        )


def test_pipelines_vary_raw_columns():
    frame = pd.DataFrame({"size": X[:, 0] * 10, "other": X[:, 1]})
    pipeline = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=4, random_state=0))
    bands = resample_components(
        pipeline, frame, Y, features=["size", ("size", "other")], n_resamples=3, random_state=0
    )
    rng = np.random.RandomState(0)
    values = []
    for _ in range(3):
        rows = rng.randint(0, 120, 120)
        dec = GlexDecomposer(pipeline.fit(frame.iloc[rows], Y[rows])).fit(frame)
        at = pd.DataFrame({"size": [0.0, 10.0, 20.0, 30.0], "other": 0.0})
        values.append(dec["size"].evaluate(at))
    assert_allclose(bands.to_frame("size")["std_error"], np.std(values, axis=0, ddof=1), atol=EXACT)
    tree = DecisionTreeRegressor(max_depth=4, random_state=0)
    encoded = make_pipeline(OneHotEncoder(sparse_output=False), tree)
    with pytest.raises(ValueError, match="feature group of several columns"):
        resample_components(encoded, frame, Y, features="size", n_resamples=2, feature_groups="auto")
    dec = GlexDecomposer(encoded.fit(frame[["size"]], X[:, 0])).fit(frame[["size"]])
    pair = next(component.features for component in dec.components_ if component.order == 2)
    with pytest.raises(ValueError, match="computed from common raw columns"):
        resample_components(encoded, frame[["size"]], X[:, 0], features=pair, n_resamples=2)


def test_own_grid_and_background():
    grid = {"x0": [0.5, 2.5], "x1": [1.0]}
    bands = resample_components(
        MODEL,
        X,
        Y,
        features=["x0", ("x0", "x1")],
        n_resamples=3,
        random_state=0,
        grid=grid,
        background=X[:40],
    )
    dec = GlexDecomposer(MODEL.fit(X, Y)).fit(X[:40])
    assert_allclose(bands.estimate("x0"), dec["x0"].evaluate([[0.5, 0, 0], [2.5, 0, 0]]), atol=EXACT)
    assert bands.band("x0:x1")[0].shape == (2, 1)
    for call in (
        bands.plot,
        lambda: resample_components(MODEL, X, Y, features="x0:x1", n_resamples=2, grid={"x0": [1]}),
    ):
        with pytest.raises(ValueError, match="grid"):
            call()


def test_weights():
    weight = RNG.integers(1, 4, size=120) * 1.0
    bands = resample_components(MODEL, X, Y, features="x0", n_resamples=3, sample_weight=weight, method=3)
    dec = GlexDecomposer(MODEL.fit(X, Y, sample_weight=weight)).fit(X, sample_weight=weight)
    assert bands.decomposer.intercept_ == dec.intercept_


def test_pictures(plt):
    bands = resample_components(
        XGBRegressor(n_estimators=5),
        RNG.normal(size=(100, 3)),
        Y[:100],
        features=["x0", ("x0", "x1")],
        n_resamples=3,
    )
    display = bands.plot()
    assert isinstance(display, ComponentDisplay)
    steps, heat_map = display.panels
    assert (steps.kind, heat_map.kind) == ("steps", "map")
    for panel in display.panels:
        assert (panel.band[0] <= panel.values + EXACT).all()
        assert (panel.values <= panel.band[1] + EXACT).all()
    wide = bands.plot("x0", simultaneous=True).panels[0]
    assert (wide.band[1] - wide.band[0] >= steps.band[1] - steps.band[0] - EXACT).all()
    assert [c.get_gid() for c in display.axes_[0].patches].count("band") == 1
    few = resample_components(MODEL, X, Y, features=["x0", ("x0", "x1")], n_resamples=3)
    assert [panel.kind for panel in few.plot().panels] == ["bars", "grouped bars"]
    importances = ImportanceDisplay.from_resamples(few)
    assert importances.band.shape == (2, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "jackknife"}, "method must be one of"),
        ({"n_resamples": 1}, "n_resamples == 1"),
        ({"level": 1.0}, "level == 1.0"),
        ({"features": []}, "features is empty"),
        ({"y": None}, "y is needed"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        resample_components(MODEL, X, **{"y": Y, "features": "x0", "n_resamples": 2, **options})


def test_components_that_were_not_resampled():
    bands = resample_components(MODEL, X, Y, features="x0", n_resamples=2)
    with pytest.raises(KeyError, match="was not resampled"):
        bands.band("x1")
    forest = RandomForestClassifier(3).fit(X, Y > 2)
    with pytest.raises(ValueError, match="grown on more"):
        resample_components(forest, X[:50], features="x0", method="infinitesimal_jackknife")
