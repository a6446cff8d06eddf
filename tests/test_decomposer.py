"""GlexDecomposer against independent oracles, and as a scikit-learn transformer."""

import pickle
from functools import partial
from itertools import combinations
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import shap
import xgboost as xgb
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import FeatureRemover, GlexDecomposer
from skglex._decomposition._index import _unique_rows
from skglex._utils import DEFAULT_EXECUTION, budgets
from tests.support.oracles import (
    brute_force_game,
    game_components,
    model_margin,
    path_dependent_game,
    shapley_interactions,
    shapley_values,
)

ORACLE = Path(__file__).parent / "data" / "oracle"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32).astype(float)
X[RNG.random(X.shape) < 0.08] = np.nan
FILLED = np.nan_to_num(X)
Y = FILLED[:, 0] * FILLED[:, 1] + FILLED[:, 2] * (FILLED[:, 3] > 0) + RNG.normal(size=300)
MODEL = xgb.XGBRegressor(n_estimators=30, max_depth=4, learning_rate=0.3).fit(X, Y)
# The model's own margins are float32 sums of 30 trees of size about 1: they are off by up to some 1e-6.
FLOAT32 = 5e-6


newer_xgboost = pytest.mark.skipif(
    tuple(int(part) for part in xgb.__version__.split(".")[:2]) < (3, 1),
    reason="before 3.1 XGBoost misreads newer base scores, keeps no categories and takes no polars frames",
)


def small(**params):
    return xgb.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1, **params)


@parametrize_with_checks(
    [
        GlexDecomposer(small()),
        GlexDecomposer(small().fit(X, Y)),
        GlexDecomposer(xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1)),
        GlexDecomposer(xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(X, Y > 0)),
        GlexDecomposer(small(), max_interaction=1, weighting="path_dependent"),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# -- oracles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
@pytest.mark.parametrize("max_interaction", [1, 2, 3, None])
def test_components_brute_force(weighting, max_interaction):
    rows, background = X[:40], X[100:160]
    dec = GlexDecomposer(MODEL, weighting=weighting, max_interaction=max_interaction).fit(background)
    if weighting == "empirical":
        game = brute_force_game(lambda Z: model_margin(MODEL, Z), rows, background)
    else:
        game = path_dependent_game(MODEL, rows, MODEL.intercept_)
    expected = game_components(game)
    out = dec.transform(rows)
    assert np.allclose(dec.intercept_, expected[()], atol=FLOAT32)
    order = max_interaction or 4
    for s, m in expected.items():
        name = ":".join(f"x{j}" for j in s)
        if 0 < len(s) <= order:
            at = list(dec.get_feature_names_out()).index(name)
            assert np.allclose(out[:, at], m[:, 0], atol=FLOAT32), name
    rest = sum(m[:, 0] for s, m in expected.items() if len(s) > order)
    if max_interaction is not None:
        assert dec.get_feature_names_out()[-1] == "remainder"
        assert np.allclose(out[:, -1], rest, atol=4 * FLOAT32)
    # sums of float64 leaf values: only the model's own float32 sum differs
    assert np.allclose(
        dec.intercept_ + out.sum(axis=1), MODEL.predict(rows, output_margin=True), atol=FLOAT32
    )


@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
def test_shap_from_components(weighting):
    dec = GlexDecomposer(MODEL, weighting=weighting).fit(X)
    out = dec.transform(X[:50])
    components = {c.features: out[:, i, None] for i, c in enumerate(dec.components_)}
    by_position = {tuple(int(f[1:]) for f in s): m for s, m in components.items()}
    by_position[()] = np.full((50, 1), dec.intercept_)
    # all in float64: no rounding beyond that of some hundred additions
    assert np.allclose(dec.shap_values(X[:50]), shapley_values(by_position, 4)[..., 0], atol=1e-12)
    assert np.allclose(
        dec.shap_interaction_values(X[:50]), shapley_interactions(by_position, 4)[..., 0], atol=1e-12
    )
    for features in ([0], ["x1", "x3"], [0, 1, 2]):
        inside = {f"x{f}" if isinstance(f, int) else f for f in features}
        expected = dec.intercept_ + sum(m[:, 0] for s, m in components.items() if set(s) <= inside)
        assert np.allclose(dec.partial_dependence(features, X[:50]), expected, atol=1e-12)


def test_xgboost_contributions():
    dec = GlexDecomposer(MODEL, weighting="path_dependent").fit(X)
    matrix = xgb.DMatrix(X)
    own = MODEL.get_booster().predict(matrix, pred_contribs=True)
    assert np.allclose(dec.shap_values(X), own[:, :-1], atol=FLOAT32)
    assert np.allclose(dec.intercept_, own[:, -1], atol=FLOAT32)
    own = MODEL.get_booster().predict(matrix, pred_interactions=True)
    assert np.allclose(dec.shap_interaction_values(X), own[:, :-1, :-1], atol=2 * FLOAT32)


@pytest.mark.parametrize("classes", [2, 3])
def test_shap_interventional(classes):
    target = np.digitize(Y, [0.0] if classes == 2 else [-1.0, 1.0])
    model = xgb.XGBClassifier(n_estimators=10, max_depth=4, learning_rate=0.5).fit(FILLED, target)
    background = FILLED[:100]  # shap takes no more
    dec = GlexDecomposer(model).fit(background)
    try:
        explainer = shap.TreeExplainer(model, background, feature_perturbation="interventional")
    except ValueError as error:
        pytest.skip(f"this shap does not read this XGBoost: {error}")
    expected = explainer.shap_values(FILLED[:50], check_additivity=False)
    # shap sums in float64 but stores leaf values and thresholds in float32 as we do
    assert dec.shap_values(FILLED[:50]).shape == expected.shape
    assert np.allclose(dec.shap_values(FILLED[:50]), expected, atol=FLOAT32)
    if classes == 2:  # with several classes shap leaves out each class's own base score
        assert np.allclose(dec.intercept_, explainer.expected_value, atol=FLOAT32)


@pytest.mark.parametrize("features", [(0,), (2, 3)])
def test_partial_dependence_sklearn(features):
    model = small(max_leaves=20).fit(FILLED, Y)
    own = partial_dependence(model, FILLED, features, method="brute", kind="average", grid_resolution=8)
    dec = GlexDecomposer(model).fit(FILLED)
    grid = np.array(np.meshgrid(*own["grid_values"], indexing="ij")).reshape(len(features), -1)
    rows = np.zeros((grid.shape[1], 4))
    rows[:, list(features)] = grid.T
    # the mean of 300 float32 predictions
    assert np.allclose(dec.partial_dependence(list(features), rows), own["average"].ravel(), atol=FLOAT32)


@newer_xgboost
@pytest.mark.parametrize("kind", ["reg", "bin"])
@pytest.mark.parametrize(
    ("tag", "params"),
    [
        ("", {}),
        ("_background300", {}),
        ("_maxint2", {"max_interaction": 2}),
        ("_features_x2_zeta", {"features": ["x2", "zeta"]}),
    ],
)
def test_r_glex(kind, tag, params):
    booster = xgb.Booster(model_file=ORACLE / f"xgb_{kind}.json")
    rows = pd.read_csv(ORACLE / "xgb_X_explain50.csv")
    train = pd.read_csv(ORACLE / "xgb_X_train.csv")
    expected = pd.read_csv(ORACLE / f"xgb_{kind}_fastpd{tag}_components.csv")
    dec = GlexDecomposer(booster, remainder=False, **params).set_output(transform="pandas")
    out = dec.fit(train if "300" in tag else rows).transform(rows)
    # R sums float32 leaf values in double precision, as we do
    assert np.allclose(dec.intercept_, expected["intercept"], atol=1e-7)
    names = [c for c in expected.columns if not c.startswith("intercept")]
    by_set = {frozenset(name.split(":")): out[name] for name in out.columns}
    assert set(by_set) <= {frozenset(name.split(":")) for name in names}
    for name in names:
        ours = by_set.get(frozenset(name.split(":")), 0.0)
        assert np.allclose(ours, expected[name], atol=1e-12), name


def test_r_glex_shap():
    booster = xgb.Booster(model_file=ORACLE / "xgb_reg.json")
    rows = pd.read_csv(ORACLE / "xgb_X_explain50.csv")
    expected = pd.read_csv(ORACLE / "xgb_reg_fastpd_shap.csv")
    dec = GlexDecomposer(booster).fit(rows)
    assert np.allclose(dec.shap_values(rows), expected[list(rows.columns)], atol=1e-12)


# -- engines --------------------------------------------------------------------------------------


@pytest.mark.parametrize("many_rows", [0, 10**9])
def test_tables_and_streaming_agree(monkeypatch, many_rows):
    """Tables over the bins, and without them leaves in groups or one by one."""
    monkeypatch.setattr(budgets, "pattern_table_rows", many_rows)
    dec = GlexDecomposer(MODEL).fit(X)
    assert dec._decomposition.layout(DEFAULT_EXECUTION).tabulated.all()
    monkeypatch.setattr(budgets, "table_cells", 60)
    streamed = GlexDecomposer(MODEL).fit(X)
    assert 0 < streamed._decomposition.layout(DEFAULT_EXECUTION).tabulated.sum() < len(streamed.components_)
    assert np.allclose(dec.transform(X), streamed.transform(X), atol=1e-12)
    pair, same = dec["x0", "x1"], streamed["x0", "x1"]
    assert not streamed._decomposition.layout(DEFAULT_EXECUTION).tabulated[
        list(streamed.get_feature_names_out()).index("x0:x1")
    ]
    assert np.allclose(pair.evaluate(X), same.evaluate(X), atol=1e-12)
    assert np.allclose(pair.values, same.values, atol=1e-12)


def test_table_budget(monkeypatch):
    """Small chunks of leaves and of rows give the same numbers."""
    many = np.tile(X, (12, 1))
    dec = GlexDecomposer(MODEL, max_interaction=3).fit(X)
    expected = dec.transform(many), dec.shap_values(many), dec.shap_interaction_values(many)
    importances = dec.component_importances_, dec.feature_importances_
    monkeypatch.setattr(budgets, "pattern_table_size", 1 << 9)
    monkeypatch.setattr(budgets, "bin_bytes", 8 * 1500)
    monkeypatch.setattr(budgets, "buffer_size", 1 << 10)
    dec = GlexDecomposer(MODEL, max_interaction=3).fit(X)
    for ours, whole in zip(
        (dec.transform(many), dec.shap_values(many), dec.shap_interaction_values(many)), expected
    ):
        assert np.allclose(ours, whole, atol=1e-12)
    assert np.allclose(dec.transform(pd.DataFrame(many)), expected[0], atol=1e-12)
    assert np.allclose(dec.component_importances_, importances[0], atol=1e-12)
    assert np.allclose(dec.feature_importances_, importances[1], atol=1e-12)


@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
def test_n_jobs_to_the_bit(weighting):
    one = GlexDecomposer(MODEL, weighting=weighting, max_interaction=2, n_jobs=1).fit(X)
    two = GlexDecomposer(MODEL, weighting=weighting, max_interaction=2, n_jobs=2).fit(X)
    many = np.tile(X, (40, 1))
    assert np.array_equal(one.transform(many), two.transform(many))
    assert np.array_equal(one.shap_values(many), two.shap_values(many))
    assert np.array_equal(one.shap_interaction_values(X), two.shap_interaction_values(X))
    assert np.array_equal(one.transform(X), one.transform(many)[:300])
    with joblib.parallel_config(n_jobs=2):
        assert np.array_equal(one.shap_values(many), two.set_params(n_jobs=None).shap_values(many))


def test_sample_weight_is_repetition():
    weight = RNG.integers(0, 4, size=300)
    weighted = GlexDecomposer(MODEL).fit(X, sample_weight=weight)
    repeated = GlexDecomposer(MODEL).fit(np.repeat(X, weight, axis=0))
    assert np.isclose(weighted.intercept_, repeated.intercept_, atol=1e-12)
    assert np.allclose(weighted.transform(X), repeated.transform(X), atol=1e-12)
    assert np.allclose(weighted.shap_values(X), repeated.shap_values(X), atol=1e-12)
    assert np.allclose(weighted.component_importances_, repeated.component_importances_, atol=1e-12)
    fractional = RNG.random(300)
    dec = GlexDecomposer(MODEL).fit(X, sample_weight=fractional)
    game = brute_force_game(lambda Z: model_margin(MODEL, Z), X[:10], X, weight=fractional)
    assert np.allclose(dec.partial_dependence([1, 2], X[:10]), game[1, 2][:, 0], atol=FLOAT32)
    assert np.array_equal(dec.background_.weights, fractional)


@pytest.mark.parametrize("kind", [GlexDecomposer, partial(FeatureRemover, features=[0])])
def test_weights_that_weigh_nothing_or_less_are_refused(kind):
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        kind(MODEL).fit(X, sample_weight=np.where(np.arange(300) == 7, -1.0, 1.0))
    with pytest.raises(ValueError, match=r"at least one non-zero number|is zero for every row"):
        kind(MODEL).fit(X, sample_weight=np.zeros(300))


def test_n_background():
    dec = GlexDecomposer(MODEL, n_background=50, random_state=3).fit(X)
    assert len(dec.background_.rows) == 50
    same = GlexDecomposer(MODEL).fit(X[dec.background_.rows])
    assert np.array_equal(dec.transform(X), same.transform(X))


# -- components -----------------------------------------------------------------------------------


def test_component():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = small().fit(frame, Y)
    dec = GlexDecomposer(model).fit(frame)
    out = dec.transform(frame)
    names = list(dec.get_feature_names_out())
    assert len(dec.components_) == dec.n_components_ == len(names)
    assert [c.order for c in dec.components_] == sorted(c.order for c in dec.components_)
    for i, c in enumerate(dec.components_):
        assert c.name == names[i] == ":".join(c.features)
        assert np.isclose(c.importance, np.abs(out[:, i]).mean(), atol=1e-12)
        assert np.array_equal(c.evaluate(frame), out[:, i])
        index = tuple(
            np.where(
                frame[axis.feature].isna(),
                axis.missing,
                np.searchsorted(axis.edges, frame[axis.feature], side="right"),
            )
            for axis in c.axes
        )
        assert c.values.shape == tuple(axis.n_bins for axis in c.axes)
        assert np.array_equal(c.values[index], out[:, i])
    assert dec["b", "a"].name == dec.components_["a:b"].name == "a:b"
    assert np.allclose(dec.component_importances_, np.abs(out).mean(axis=0), atol=1e-12)
    assert np.allclose(dec.feature_importances_, np.abs(dec.shap_values(frame)).mean(axis=0), atol=1e-12)
    strongest = dec.strongest_components(3)
    assert [c.importance for c in strongest] == sorted(dec.component_importances_, reverse=True)[:3]
    with pytest.raises(KeyError, match="no component"):
        dec["a", "nothing"]


def test_component_edges_reach_the_threshold():
    """An edge is the smallest float64 that the model, which casts to float32, sends right."""
    model = small().fit(FILLED, Y)
    dec = GlexDecomposer(model).fit(FILLED)
    edges = dec["x0"].edges[0]
    for edge, before in ((edges, np.nextafter(edges, -np.inf)),):
        rows = np.zeros((2 * len(edges), 4))
        rows[:, 0] = np.concatenate([edge, before])
        binned = np.searchsorted(edges, rows[:, 0], side="right")
        assert np.array_equal(dec["x0"].values[binned], dec["x0"].evaluate(rows))
        assert (edge.astype(np.float32) > before.astype(np.float32)).all()


@newer_xgboost
def test_categorical_component():
    codes = RNG.integers(0, 5, size=400)
    frame = pd.DataFrame({"c": pd.Categorical(np.array(list("vwxyz"))[codes]), "n": RNG.normal(size=400)})
    target = np.array([3.0, -1, 2, 0, 1])[codes] * (1 + (frame["n"] > 0))
    model = xgb.XGBRegressor(n_estimators=10, max_depth=3, enable_categorical=True).fit(frame, target)
    dec = GlexDecomposer(model).fit(frame)
    axis = dec["c"].axes[0]
    assert axis.categorical
    assert axis.missing == len(axis.edges) + 1
    at = {value: i for i, value in enumerate(axis.edges)}
    index = [at.get(value, len(at)) for value in frame["c"]]
    assert np.allclose(dec["c"].values[index], dec["c"].evaluate(frame), atol=1e-12)


@newer_xgboost
def test_polars_categories():
    """An Enum in another order, or a Categorical, whose codes mean nothing, count by value."""
    codes = RNG.integers(0, 3, size=300)
    frame = pl.DataFrame({"c": np.array(list("xyz"))[codes], "n": RNG.normal(size=300)})
    trained = frame.cast({"c": pl.Enum(["z", "x", "y"])})
    model = xgb.XGBRegressor(n_estimators=5, max_depth=3, enable_categorical=True)
    model.fit(trained, np.array([3.0, -1, 2])[codes] * (1 + (frame["n"] > 0).to_numpy()))
    dec = GlexDecomposer(model).fit(trained)
    out = dec.transform(trained)
    assert np.allclose(dec.intercept_ + out.sum(axis=1), model.predict(trained), atol=1e-5)
    assert np.array_equal(
        dec.transform(trained.with_columns(n=pl.col("n") > 0)),
        dec.transform(trained.with_columns(n=(pl.col("n") > 0).cast(float))),
    )
    gaps = trained.with_columns(c=pl.when(pl.col("n") < 0).then(None).otherwise(pl.col("c")))
    assert np.allclose(dec.intercept_ + dec.transform(gaps).sum(axis=1), model.predict(gaps), atol=1e-5)
    for kind in (pl.Enum(["x", "y", "z"]), pl.Categorical):
        assert np.array_equal(dec.transform(frame.cast({"c": kind})), out)
    with pytest.raises(ValueError, match=r"not trained on: \['v', 'w'\]"):
        dec.transform(frame.with_columns(c=pl.Series(["v", "w", "x"] * 100).cast(pl.Categorical)))
    with pytest.raises(ValueError, match="could not convert column 'n' of dtype String"):
        dec.transform(trained.with_columns(n=pl.lit("1")))


@newer_xgboost
def test_enum_of_a_model_trained_on_codes():
    """Its codes are its own, whatever its order (XGBoost refuses a Categorical)."""
    codes = RNG.integers(0, 4, size=300).astype(float)
    model = xgb.XGBRegressor(n_estimators=3, max_depth=2, enable_categorical=True, feature_types=["c"])
    model.fit(codes[:, None], np.array([3.0, -1, 2, 5])[codes.astype(int)])
    expected = GlexDecomposer(model).fit(codes[:, None]).transform(codes[:, None])
    names = ["z", "x", "w", "y"]
    frame = pl.DataFrame({"c": np.array(names)[codes.astype(int)]}, schema={"c": pl.Enum(names)})
    assert np.array_equal(GlexDecomposer(model).fit(frame).transform(frame), expected)


def test_features_and_groups():
    full = GlexDecomposer(MODEL).fit(X)
    names = list(full.get_feature_names_out())
    out = full.transform(X)
    some = GlexDecomposer(MODEL, features=["x0", 2]).fit(X)
    assert list(some.get_feature_names_out()) == ["x0", "x2", "x0:x2", "remainder"]
    assert np.allclose(
        some.transform(X)[:, :3], out[:, [names.index(n) for n in ("x0", "x2", "x0:x2")]], atol=1e-12
    )
    assert np.allclose(
        some.intercept_ + some.transform(X).sum(axis=1), full.intercept_ + out.sum(axis=1), atol=1e-12
    )

    grouped = GlexDecomposer(MODEL, feature_groups={"g": ["x0", "x3"]}).fit(X)
    assert list(grouped.get_feature_names_out()) == ["g", "x1", "x2", "g:x1", "g:x2", "x1:x2", "g:x1:x2"]
    player = {"x0": "g", "x3": "g", "x1": "x1", "x2": "x2"}
    expected = {}
    for name, column in zip(names, out.T):
        key = frozenset(player[f] for f in name.split(":"))
        expected[key] = expected.get(key, 0) + column
    for c, column in zip(grouped.components_, grouped.transform(X).T):
        assert np.allclose(column, expected[frozenset(c.features)], atol=1e-12)
        index = tuple(
            np.where(np.isnan(x), axis.missing, np.searchsorted(axis.edges, x, side="right"))
            for axis in c.axes
            for x in [X[:, int(axis.feature[1:])]]
        )
        assert np.allclose(c.values[index], column, atol=1e-12)
    phi = {}
    for key, column in expected.items():
        for p in key:
            phi[p] = phi.get(p, 0) + column / len(key)
    assert grouped.explained_features_ == ["g", "x1", "x2"]
    assert np.allclose(grouped.shap_values(X), np.column_stack([phi["g"], phi["x1"], phi["x2"]]), atol=1e-12)
    pairs = grouped.shap_interaction_values(X)
    assert np.allclose(pairs.sum(axis=2), grouped.shap_values(X), atol=1e-12)
    assert np.allclose(grouped.partial_dependence("g", X), full.partial_dependence([0, 3], X), atol=1e-12)
    only = GlexDecomposer(MODEL, feature_groups={"g": [0, 3]}, features=["g"], max_interaction=1).fit(X)
    with pytest.raises(ValueError, match=r"feature_groups\['g'\] is empty"):
        GlexDecomposer(MODEL, feature_groups={"g": []}).fit(X)
    assert np.allclose(only.transform(X)[:, 0], grouped.transform(X)[:, 0], atol=1e-12)


def test_multi_class():
    target = np.array(["low", "mid", "top"])[np.digitize(Y, [-1, 1])]
    dec = GlexDecomposer(xgb.XGBClassifier(n_estimators=5, max_depth=2), max_interaction=1).fit(
        FILLED, target
    )
    assert list(dec.classes_) == ["low", "mid", "top"]
    names = list(dec.get_feature_names_out())
    assert names[:5] == ["low__x0", "low__x1", "low__x2", "low__x3", "low__remainder"]
    assert dec.n_components_ == 15 == dec.transform(FILLED).shape[1]
    assert len(dec.components_) == 4
    assert dec["x0"].values.shape[-1] == 3
    assert dec.component_importances_.shape == (4, 3)
    assert dec.shap_interaction_values(FILLED[:2]).shape == (2, 4, 4, 3)
    assert dec.partial_dependence([0], FILLED[:7]).shape == (7, 3)
    margin = dec.estimator_.predict(FILLED, output_margin=True)
    out = dec.transform(FILLED).reshape(300, 3, 5)
    assert np.allclose(dec.intercept_ + out.sum(axis=2), margin, atol=FLOAT32)


def test_dtype_float32():
    single = GlexDecomposer(MODEL, dtype=np.float32, max_interaction=2).fit(X)
    double = GlexDecomposer(MODEL, max_interaction=2).fit(X)
    out = single.transform(X)
    assert out.dtype == np.float32
    assert np.array_equal(out, double.transform(X).astype(np.float32))


def test_verbose(capsys):
    GlexDecomposer(MODEL, verbose=1).fit(X).shap_values(np.tile(X, (10, 1)))
    assert "SHAP values" in capsys.readouterr().err


# -- scikit-learn ---------------------------------------------------------------------------------


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
    for estimator in (small(), clone(fitted)):
        with pytest.raises(
            ValueError, match=r"requires y to be passed, but the target y is None.*FrozenEstimator"
        ):
            GlexDecomposer(estimator).fit(X)


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


def test_names_for_the_next_xgboost():
    """XGBoost refuses [, ] and < in names, which a pipeline may well produce."""
    names = ["a[0]", "b<1", "c]", "d"]
    inner = make_pipeline(FunctionTransformer(feature_names_out=lambda t, _: names), small())
    dec = GlexDecomposer(inner).set_output(transform="pandas")
    out = dec.fit_transform(FILLED, Y)
    assert {"a_0_", "b_1", "c_", "a_0_:b_1"} <= set(out.columns)
    assert dec["a[0]"].name == "a_0_"
    small().fit(out, Y)
    names[:2] = ["x[", "x]"]
    with pytest.raises(ValueError, match="would both be called 'x_'"):
        dec.fit(FILLED, Y)


def test_names_of_columns_are_told_apart():
    frame = pd.DataFrame(FILLED, columns=["remainder", "b__x", "x", "d"])
    model = small().fit(frame, Y)
    with pytest.raises(ValueError, match="component 'remainder' and the remainder would both be"):
        GlexDecomposer(model, max_interaction=1).fit(frame)
    assert "remainder" in GlexDecomposer(model, max_interaction=1, remainder=False).fit(frame).components_
    classifier = xgb.XGBClassifier(n_estimators=5, max_depth=2)
    bins = np.digitize(Y, [-0.5, 0.5])
    clash = np.array(["a", "a__b", "c"])[bins]
    with pytest.raises(
        ValueError, match="component 'b__x' of 'a' and the component 'x' of 'a__b' would both"
    ):
        GlexDecomposer(classifier, max_interaction=1, remainder=False).fit(frame, clash)
    intervals = np.array(["<-1", "[-1, 1]", ">1"])[bins]
    out = GlexDecomposer(classifier).set_output(transform="pandas").fit_transform(FILLED, intervals)
    assert "_-1, 1___x0" in out.columns
    small().fit(out, Y)


def test_masks_beside_groups():
    groups = {"g": ["x0", "x3"]}
    dec = GlexDecomposer(MODEL, feature_groups=groups, features=[False, True, True, False]).fit(X)
    assert list(dec.get_feature_names_out()) == ["x1", "x2", "x1:x2", "remainder"]
    with pytest.raises(ValueError, match="names 'x0', which belongs to the group 'g'"):
        GlexDecomposer(MODEL, feature_groups=groups, features=[True, True, False, False]).fit(X)


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


# -- bad input ------------------------------------------------------------------------------------


def test_tags_of_a_booster():
    tags = get_tags(GlexDecomposer(MODEL.get_booster())).input_tags
    assert tags.allow_nan
    assert tags.sparse
    assert not get_tags(GlexDecomposer(HistGradientBoostingRegressor())).input_tags.sparse
    assert not get_tags(GlexDecomposer(GradientBoostingRegressor())).input_tags.allow_nan


def test_components_by_position():
    dec = GlexDecomposer(MODEL).fit(X)
    for key in ((0, 1), (1, "x0"), {"x0", "x1"}, ["x1", 0]):
        assert dec[key] is dec["x0:x1"]
    assert (0, 1) in dec.components_
    with pytest.raises(KeyError, match="no component"):
        dec[0, 9]


def test_nothing_of_another_fit_stays():
    dec = GlexDecomposer(small()).fit(X, Y)
    dec.set_params(estimator=xgb.XGBClassifier(n_estimators=2)).fit(X, Y > 0)
    assert dec.classes_.tolist() == [False, True]
    dec.set_params(estimator=small()).fit(X, Y)
    assert not hasattr(dec, "classes_")
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        column = GlexDecomposer(small()).fit(X, Y[:, None])
    assert np.array_equal(column.transform(X), dec.transform(X))


@pytest.mark.parametrize("k", [0, -1])
def test_strongest_components_are_one_at_least(k):
    with pytest.raises(ValueError, match=f"k == {k}, must be >= 1"):
        GlexDecomposer(MODEL).fit(X).strongest_components(k)


def test_too_many_components():
    dec = GlexDecomposer(MODEL, max_components=5).fit(X)
    for call in (dec.transform, lambda X: dec.components_, lambda X: dec.get_feature_names_out()):
        with pytest.raises(ValueError, match=r"15 components, more than max_components=5.*max_interaction"):
            call(X)
    for name in ("components_", "component_importances_", "n_components_"):
        assert not hasattr(dec, name)
    with pytest.raises(ValueError, match="15 components, more than max_components=5"):
        dec.strongest_components()
    assert "GlexDecomposer" in dec._repr_html_()  # scikit-learn 1.9 lists the attributes there
    whole = GlexDecomposer(MODEL).fit(X)
    assert np.array_equal(dec.shap_values(X), whole.shap_values(X))
    assert np.array_equal(dec.partial_dependence([0], X), whole.partial_dependence([0], X))


def test_bad_parameters():
    frame = pd.DataFrame(FILLED, columns=list("abcd"))
    fitted = small().fit(frame, Y)
    for params, message in [
        ({"max_interaction": 0}, "max_interaction"),
        ({"weighting": "joint"}, "weighting"),
        ({"features": ["nope"]}, "unknown feature 'nope'"),
        ({"features": [7]}, "feature 7"),
        ({"feature_groups": {"g": ["a", "zz"]}}, "unknown feature 'zz'"),
        ({"feature_groups": {"g": ["a"], "h": ["a", "b"]}}, "both 'g' and 'h'"),
        ({"feature_groups": {"d": ["a", "b"]}}, "another feature has"),
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


def test_bad_models():
    with pytest.raises(TypeError, match="cannot read a Ridge"):
        GlexDecomposer(Ridge()).fit(FILLED, Y)
    with pytest.warns(UserWarning, match="base_margin"):
        dec = GlexDecomposer(small()).fit(FILLED, Y, base_margin=np.ones(300))
    assert np.allclose(
        dec.intercept_ + dec.transform(FILLED).sum(axis=1), dec.estimator_.predict(FILLED), atol=FLOAT32
    )


def test_misread_model_raises(monkeypatch):
    from skglex._readers import _xgboost

    read = _xgboost.from_treelite

    def wrong(model, **params):
        ensemble = read(model, **params)
        ensemble.value[3] += 0.01
        return ensemble

    monkeypatch.setattr(_xgboost, "from_treelite", wrong)
    with pytest.raises(RuntimeError, match=r"not read exactly: on row \d+ .* off by 0.01"):
        GlexDecomposer(MODEL).fit(X)
    GlexDecomposer(MODEL, check_additivity=False).fit(X)


def test_memory_is_refused(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 1 << 6)
    with pytest.raises(MemoryError, match="GiB"):
        GlexDecomposer(MODEL).fit(X).shap_interaction_values(X)


def test_too_many_subsets_of_a_leaf_are_refused(monkeypatch):
    monkeypatch.setattr(budgets, "subsets_per_leaf", 10)
    with pytest.raises(ValueError, match="has 16 subsets of at most 4 features, more than the 10"):
        GlexDecomposer(MODEL).fit(X).transform(X)
    GlexDecomposer(MODEL, max_interaction=1).fit(X).transform(X)


def test_shap_values_after_components_of_a_low_order(monkeypatch):
    """The weights kept for the components lack subsets of the deep leaves."""
    rows = np.random.default_rng(0).normal(size=(300, 10))
    params = {"n_estimators": 4, "max_leaves": 24, "max_depth": 0, "grow_policy": "lossguide"}
    model = xgb.XGBRegressor(**params).fit(rows, rows[:, 0] * rows[:, 1] + rows.sum(axis=1))
    decomposer = GlexDecomposer(model, max_interaction=1).fit(rows[:50])
    assert 0 < decomposer._decomposition.weights.ranked.mean() < 1
    components = decomposer.transform(rows)
    expected = GlexDecomposer(model).fit(rows[:50]).shap_values(rows)
    assert np.array_equal(decomposer.shap_values(rows), expected)
    # a background in several blocks
    background = rows[np.arange(600) % 50]
    monkeypatch.setattr(budgets, "bit_set_bytes", 1)
    blocks = GlexDecomposer(model, max_interaction=1).fit(background)
    assert np.allclose(blocks.transform(rows), components, rtol=0, atol=1e-12)


def test_the_strongest_of_many_components():
    """Those that cannot be among them are never evaluated: the bound must not be too low."""
    rows = np.random.default_rng(0).normal(size=(400, 15))
    model = xgb.XGBRegressor(n_estimators=200, max_depth=2, colsample_bytree=0.3)
    model.fit(rows, rows.sum(axis=1) / 10 + 9 * ((rows[:, 13] > 0) & (rows[:, 14] > 0)))
    dec = GlexDecomposer(model).fit(rows)
    strongest = dec.strongest_components(3)
    assert len(dec.components_) > 64
    assert dec["x13:x14"] in strongest
    expected = np.argsort(-dec.component_importances_, kind="stable")[:3]
    assert strongest == [dec.components_[int(i)] for i in expected]


def test_arrays_of_objects():
    rows = GlexDecomposer(MODEL).fit(X).transform(X)
    assert np.array_equal(GlexDecomposer(MODEL).fit(X.astype(object)).transform(X.astype(object)), rows)
    with pytest.raises(ValueError, match="could not convert string to float"):
        GlexDecomposer(MODEL).fit(np.full((3, 4), "a", dtype=object))


@pytest.mark.parametrize("largest", [3, 2**40])
def test_distinct_rows(largest):
    rows = np.random.default_rng(0).integers(0, 2, size=(50, 3)) * largest
    unique, inverse = _unique_rows(rows)
    assert np.array_equal(unique, np.unique(rows, axis=0))
    assert np.array_equal(unique[inverse], rows)


def test_every_order_pairs():
    """Components exist where the model splits on their features along one path, and nowhere else."""
    model = xgb.XGBRegressor(n_estimators=20, max_depth=1).fit(X, Y)
    assert all(c.order == 1 for c in GlexDecomposer(model).fit(X).components_)
    dec = GlexDecomposer(MODEL).fit(X)
    assert {c.features for c in dec.components_} <= {
        s for k in range(1, 5) for s in combinations([f"x{i}" for i in range(4)], k)
    }


def test_importances_are_means_over_tables_and_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(700, 4)), rng.integers(0, 3, size=700)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = xgb.XGBClassifier(n_estimators=8, max_depth=4).fit(X, rng.integers(0, 3, size=700))
    expected, found = None, []
    for max_cells in [1 << 21, 300, 0]:  # all, some, and none of the components have a table
        monkeypatch.setattr(budgets, "table_cells", max_cells)
        monkeypatch.setattr(budgets, "total_table_cells", max_cells)
        for n_jobs in [1, 2]:
            dec = GlexDecomposer(model, n_jobs=n_jobs).fit(X, sample_weight=weight)
            found.append([c.name for c in dec.strongest_components(3)])
            if expected is None:
                rows = np.abs(dec.transform(X)).reshape(len(X), 3, -1)
                expected = np.average(rows, axis=0, weights=weight).T
            assert np.allclose(dec.component_importances_, expected, atol=1e-12)
            if n_jobs == 1:
                alone = dec.component_importances_
        np.testing.assert_array_equal(dec.component_importances_, alone)
    assert all(names == found[0] for names in found)
    by_total = np.argsort(-expected.sum(axis=1), kind="stable")[:3]
    assert found[0] == [dec.components_[int(i)].name for i in by_total]


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
