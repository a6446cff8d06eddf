"""Every kind of XGBoost model: columns add up to its own margin, components are those of brute force."""

import warnings

import numpy as np
import pytest
import treelite
import xgboost as xgb

from skglex import GlexDecomposer
from tests.support.oracles import (
    brute_force_game,
    check_components,
    game_components,
    is_inner,
    leaf_values,
    own_margin,
    path_dependent_game,
    read_json,
    rounding,
    thresholds,
    to_float32,
    total,
)

WEIGHTINGS = ["empirical", "path_dependent"]
VERSION = tuple(int(part) for part in xgb.__version__.split(".")[:2])
N_FEATURES = 4


def make_data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES))
    X[:, 3] = rng.integers(-2, 3, size=n)  # zeros of either sign, and ties
    X[X[:, 3] == 0, 3] *= rng.choice([-1, 1], size=(X[:, 3] == 0).sum())
    X[rng.random(X.shape) < 0.1] = np.nan
    Z = np.nan_to_num(X, nan=1.5)
    return X, Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + (Z[:, 3] > 0) + rng.normal(scale=0.1, size=n)


X, SIGNAL = make_data()
BINARY = (SIGNAL > 0.3).astype(int)
CLASSES = np.digitize(SIGNAL, [-0.2, 0.9])
POSITIVE = np.exp(SIGNAL / 2)
COUNTS = np.floor(POSITIVE)
TARGETS = np.column_stack([SIGNAL, np.nan_to_num(X[:, 0]) - 2 * SIGNAL, POSITIVE])
LABELS = np.column_stack([BINARY, CLASSES == 1, CLASSES == 2]).astype(int)
SMALL = {"n_estimators": 8, "max_depth": 3, "learning_rate": 0.4, "n_jobs": 1}


def regressor(y=SIGNAL, **params):
    return xgb.XGBRegressor(**{**SMALL, **params}).fit(X, y)


def classifier(y=BINARY, **params):
    return xgb.XGBClassifier(**{**SMALL, **params}).fit(X, y)


def booster(rounds=8, y=SIGNAL, **params):
    return xgb.train({"max_depth": 3, "eta": 0.4, "nthread": 1, **params}, xgb.DMatrix(X, y), rounds)


def aft():
    data = xgb.DMatrix(X)
    data.set_float_info("label_lower_bound", POSITIVE)
    data.set_float_info("label_upper_bound", np.where(BINARY, np.inf, POSITIVE))
    return xgb.train({"objective": "survival:aft", "max_depth": 3, "nthread": 1}, data, 8)


def ranker():
    return xgb.XGBRanker(**SMALL).fit(X, COUNTS.clip(0, 4), qid=np.repeat(np.arange(10), 30))


def early(kind=xgb.XGBRegressor, y=SIGNAL, **params):
    rng = np.random.default_rng(1)
    model = kind(**{**SMALL, "n_estimators": 60, "early_stopping_rounds": 5, "learning_rate": 0.7, **params})
    model.fit(X[:200], y[:200], eval_set=[(X[200:], rng.permutation(y[200:]))], verbose=False)
    assert model.best_iteration < model.get_booster().num_boosted_rounds() - 1
    return model


def custom_objective():
    return regressor(objective=lambda y, margin: (margin - y, np.ones_like(y)))


def refreshed():
    """Trees whose covers are of other data: some nodes have none."""
    old = booster()
    other = np.column_stack([np.abs(X[:, :1]) + 0.5, X[:, 1:]])
    params = {"process_type": "update", "updater": "refresh", "refresh_leaf": False, "nthread": 1}
    return xgb.train(params, xgb.DMatrix(other, SIGNAL), 8, xgb_model=old)


def vector_leaves(kind=xgb.XGBRegressor, y=TARGETS, **params):
    return kind(**{**SMALL, "multi_strategy": "multi_output_tree", **params}).fit(X, y)


MODELS = {
    "squared error": regressor,
    "squared error, base_score": lambda: regressor(base_score=7.25),
    "absolute error": lambda: regressor(objective="reg:absoluteerror"),
    "pseudo-huber": lambda: regressor(objective="reg:pseudohubererror"),
    "squared log error": lambda: regressor(POSITIVE, objective="reg:squaredlogerror"),
    "quantile": lambda: regressor(objective="reg:quantileerror", quantile_alpha=0.7),
    "quantiles": lambda: regressor(objective="reg:quantileerror", quantile_alpha=[0.1, 0.5, 0.9]),
    "poisson": lambda: regressor(COUNTS, objective="count:poisson"),
    "poisson, base_score": lambda: regressor(COUNTS, objective="count:poisson", base_score=3.0),
    "gamma": lambda: regressor(POSITIVE, objective="reg:gamma"),
    "gamma, base_score": lambda: regressor(POSITIVE, objective="reg:gamma", base_score=3.0),
    "tweedie": lambda: regressor(COUNTS, objective="reg:tweedie", tweedie_variance_power=1.4),
    "tweedie, base_score": lambda: regressor(COUNTS, objective="reg:tweedie", base_score=3.0),
    "cox": lambda: regressor(np.where(BINARY, POSITIVE, -POSITIVE), objective="survival:cox"),
    "aft": aft,
    "custom objective": custom_objective,
    "logistic regression": lambda: regressor(BINARY, objective="reg:logistic"),
    "binary": classifier,
    "binary, base_score": lambda: classifier(base_score=0.1),
    "logitraw": lambda: classifier(objective="binary:logitraw"),
    "logitraw, base_score": lambda: classifier(objective="binary:logitraw", base_score=0.1),
    "hinge": lambda: classifier(objective="binary:hinge"),
    "multi-class": lambda: classifier(CLASSES),
    "multi-class, base_score": lambda: classifier(CLASSES, base_score=0.8),
    "softmax booster": lambda: booster(y=CLASSES, objective="multi:softmax", num_class=3),
    "softprob booster": lambda: booster(y=CLASSES, objective="multi:softprob", num_class=3),
    "several labels": lambda: classifier(LABELS),
    "random forest": lambda: xgb.XGBRFRegressor(n_estimators=7, max_depth=4, n_jobs=1).fit(X, SIGNAL),
    "random forest, binary": lambda: xgb.XGBRFClassifier(n_estimators=7, max_depth=4, n_jobs=1).fit(
        X, BINARY
    ),
    "random forest, classes": lambda: xgb.XGBRFClassifier(n_estimators=7, max_depth=4, n_jobs=1).fit(
        X, CLASSES
    ),
    "parallel trees": lambda: regressor(num_parallel_tree=3, subsample=0.5),
    "parallel trees, classes": lambda: classifier(CLASSES, num_parallel_tree=3, subsample=0.5),
    "ranker": ranker,
    "booster": booster,
    "exact": lambda: regressor(tree_method="exact", max_depth=6, min_child_weight=0),
    "approx": lambda: regressor(tree_method="approx"),
    "dart": lambda: regressor(booster="dart", rate_drop=0.5, one_drop=1),
    "dart, forest": lambda: regressor(booster="dart", rate_drop=0.5, normalize_type="forest"),
    "dart, classes": lambda: classifier(CLASSES, booster="dart", rate_drop=0.5, one_drop=1),
    "dart booster": lambda: booster(booster="dart", rate_drop=0.5, one_drop=1),
    "dart, early": lambda: early(booster="dart", rate_drop=0.2, one_drop=1),
    "one tree per target": lambda: regressor(TARGETS),
    "one tree per target, base_score": lambda: regressor(TARGETS, base_score=2.0),
    "vector leaves": vector_leaves,
    "vector leaves, base_score": lambda: vector_leaves(base_score=2.0),
    "vector leaves, classes": lambda: vector_leaves(xgb.XGBClassifier, CLASSES),
    "vector leaves, parallel": lambda: vector_leaves(num_parallel_tree=2, subsample=0.5),
    "vector leaves, early": lambda: early(y=TARGETS, multi_strategy="multi_output_tree"),
    "early": early,
    "early, classes": lambda: early(xgb.XGBClassifier, CLASSES),
    "early, parallel": lambda: early(num_parallel_tree=2, subsample=0.5),
    "early, bare booster": lambda: early().get_booster(),
    "missing=-999": lambda: xgb.XGBRegressor(**SMALL, missing=-999).fit(np.nan_to_num(X, nan=-999), SIGNAL),
    "missing=0": lambda: xgb.XGBRegressor(**SMALL, missing=0).fit(X, SIGNAL),
    "constant": lambda: regressor(np.ones(len(X))),
    "constant trees": lambda: regressor(gamma=1e9, base_score=1.0),
    "constant trees, classes": lambda: classifier(CLASSES, gamma=1e9, base_score=0.5),
    "no trees": lambda: regressor(n_estimators=0),
    "no trees, binary": lambda: classifier(n_estimators=0),
    "no trees, classes": lambda: classifier(CLASSES, n_estimators=0),
    "no trees, booster": lambda: booster(0),
    "stumps": lambda: regressor(max_depth=1),
    "lossguide": lambda: regressor(grow_policy="lossguide", max_depth=0, max_leaves=25),
    "covers of other data": refreshed,
}
NEW_MODELS = {
    "multi-class, base_scores": lambda: classifier(CLASSES, base_score=[0.5, -1.0, 2.0]),
    "targets, base_scores": lambda: regressor(TARGETS, base_score=[0.5, -1.0, 2.0]),
    "vector leaves, base_scores": lambda: vector_leaves(base_score=[0.5, -1.0, 2.0]),
}
if VERSION >= (3, 1):
    MODELS |= NEW_MODELS
NO_COVER = "covers of other data"
VECTOR_LEAVES = [name for name in MODELS if "vector leaves" in name]


@pytest.fixture(scope="module")
def model_of():
    made = {}

    def get(name):
        if name not in made:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a booster or a wrapper is deprecated
                made[name] = MODELS[name]()
        return made[name]

    return get


def hard_rows(model, X, seed=0):
    """Training rows; rows on and beside thresholds; missing, infinite, huge values; zeros of both signs."""
    rng = np.random.default_rng(seed)
    rows = [X[rng.choice(len(X), 60, replace=False)]]
    for j, found in thresholds(model).items():
        t = rng.choice(found, min(25, len(found)), replace=False)
        below, above = (np.nextafter(t, np.float32(side)) for side in (-np.inf, np.inf))
        exact = t.astype(np.float64)
        near = [exact, np.nextafter(exact, -np.inf), np.nextafter(exact, np.inf), below, above]
        # halfway to the float32 neighbours, where the cast rounds to even, and a float64 step to each side
        for half in ((exact + below) / 2, (exact + above) / 2):
            near += [half, np.nextafter(half, -np.inf), np.nextafter(half, np.inf)]
        values = np.concatenate(near)
        part = X[rng.integers(len(X), size=len(values))].copy()
        part[:, j] = values
        rows.append(part)
    for value in (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e39, -1e300, 1e-46):
        part = X[rng.integers(len(X), size=2 * X.shape[1])].copy()
        part[np.arange(len(part)), np.arange(len(part)) % X.shape[1]] = value
        rows += [part, np.full((1, X.shape[1]), value)]
    return np.concatenate(rows)


def decompose(model, weighting, X, **params):
    return GlexDecomposer(model, weighting=weighting, **params).fit(X)


def allow_no_cover(name, weighting):
    if name == NO_COVER and weighting == "path_dependent":
        return pytest.warns(UserWarning, match="nodes of the model have cover 0")
    return pytest.MonkeyPatch.context()


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("name", MODELS)
def test_columns_add_up_to_the_margin(name, weighting, model_of):
    model = model_of(name)
    if name in VECTOR_LEAVES and VERSION < (3, 0) and weighting == "path_dependent":
        with pytest.raises(ValueError, match="needs node covers"):
            decompose(model, weighting, X)
        return
    with allow_no_cover(name, weighting):
        decomposer = decompose(model, weighting, X)
    rows = hard_rows(model, X)
    np.testing.assert_allclose(
        total(decomposer, rows),
        own_margin(model, rows),
        rtol=0,
        atol=rounding(model, decomposer.intercept_),
    )


@pytest.mark.parametrize("name", MODELS)
def test_empirical_components_are_those_of_brute_force(name, model_of):
    model = model_of(name)
    rows, background = hard_rows(model, X)[::60], hard_rows(model, X, 1)[::40]
    decomposer = decompose(model, "empirical", background)
    components = game_components(brute_force_game(lambda Z: own_margin(model, Z), rows, background))
    # a component is a signed sum of up to 2^|S| means of margins
    check_components(decomposer, rows, components, 16 * rounding(model, decomposer.intercept_))


@pytest.mark.parametrize("name", [name for name in MODELS if name not in VECTOR_LEAVES])
def test_path_dependent_components_are_those_of_walks_through_the_trees(name, model_of):
    model = model_of(name)
    missing = model.get_params()["missing"] if hasattr(model, "get_params") else np.nan
    rows = hard_rows(model, X)[::4]
    with allow_no_cover(name, "path_dependent"):
        decomposer = decompose(model, "path_dependent", X)
    # the intercept is checked apart: base scores and trees without splits are in it
    walked = np.where(to_float32(rows) == missing, np.nan, rows)
    components = game_components(path_dependent_game(model, walked, np.zeros(decomposer._n_outputs)))
    scale = max(1.0, max(np.abs(m).max() for m in components.values()))
    check_components(decomposer, rows, components, 1e-11 * scale, intercept=False)


@pytest.mark.parametrize(
    "name", ["squared error", "poisson", "multi-class", "dart", "early", "vector leaves", "exact"]
)
def test_shap_values_and_interactions_are_those_of_xgboost(name, model_of):
    model = model_of(name)
    if name in VECTOR_LEAVES and VERSION < (3, 4):
        pytest.skip("this XGBoost has no contributions of vector leaves")
    bare = model.get_booster()
    last = getattr(model, "best_iteration", None) if name == "early" else None
    counted = (0, 0 if last is None else last + 1)
    data, n = xgb.DMatrix(X[:40]), 40
    phi = bare.predict(data, pred_contribs=True, iteration_range=counted).reshape(n, -1, N_FEATURES + 1)
    decomposer = decompose(model, "path_dependent", X)
    atol = 10 * rounding(model, decomposer.intercept_)
    ours = decomposer.shap_values(X[:40]).reshape(n, N_FEATURES, -1)
    np.testing.assert_allclose(ours, phi[:, :, :-1].transpose(0, 2, 1), rtol=0, atol=atol)
    np.testing.assert_allclose(np.atleast_1d(decomposer.intercept_), phi[0, :, -1], rtol=0, atol=atol)
    if name in VECTOR_LEAVES:
        return
    pairs = bare.predict(data, pred_interactions=True, iteration_range=counted)
    pairs = pairs.reshape(n, -1, N_FEATURES + 1, N_FEATURES + 1)[:, :, :-1, :-1].transpose(0, 2, 3, 1)
    ours = decomposer.shap_interaction_values(X[:40]).reshape(pairs.shape)
    np.testing.assert_allclose(ours, pairs, rtol=0, atol=10 * atol)


@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize(
    "name", ["binary", "multi-class", "dart", "early", "vector leaves", "missing=-999", "no trees"]
)
def test_saved_and_loaded_models_read_the_same(name, form, model_of, tmp_path):
    model = model_of(name)
    model.save_model(tmp_path / f"model.{form}")
    loaded = type(model)(missing=model.missing)
    loaded.load_model(tmp_path / f"model.{form}")
    bare = xgb.Booster(model_file=tmp_path / f"model.{form}")
    ours = decompose(model, "empirical", X).transform(X)
    np.testing.assert_array_equal(decompose(loaded, "empirical", X).transform(X), ours)
    if name not in ("early", "missing=-999"):
        np.testing.assert_array_equal(decompose(bare, "empirical", X).transform(X), ours)


def test_a_wrapper_counts_trees_up_to_the_best_iteration_and_its_booster_all(model_of):
    model = model_of("early")
    rows = X[:50]
    wrapper, bare = (total(decompose(m, "empirical", X), rows)[:, 0] for m in (model, model.get_booster()))
    np.testing.assert_allclose(wrapper, model.predict(rows), atol=1e-5)
    np.testing.assert_allclose(bare, model.get_booster().predict(xgb.DMatrix(rows)), atol=1e-5)
    assert np.abs(wrapper - bare).max() > 0.01


def test_models_of_the_tests_have_what_they_are_named_for(model_of):
    assert len({weight for _, weight, _ in read_json(model_of("dart"))}) > 2
    trees = [tree for tree, _, _ in read_json(model_of(NO_COVER))]
    assert any((np.array(tree["sum_hessian"])[is_inner(tree)] == 0).any() for tree in trees)
    assert all(len(leaf_values(t)) == 1 for t, _, _ in read_json(model_of("constant trees")))
    assert len(read_json(model_of("parallel trees"))) == 24


def test_gblinear_is_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        model = xgb.XGBRegressor(booster="gblinear", n_estimators=2).fit(np.nan_to_num(X), SIGNAL)
    with pytest.raises(ValueError, match="gblinear"):
        GlexDecomposer(model).fit(X)


def test_what_treelite_does_not_know_is_refused(monkeypatch, model_of):
    def refuse(booster):
        raise treelite.TreeliteError("unknown objective")

    monkeypatch.setattr("skglex._readers._xgboost._without_categories", refuse)
    with pytest.raises(
        ValueError, match=r"cannot read this XGBoost .* with the objective 'reg:squarederror'"
    ):
        GlexDecomposer(model_of("early")).fit(X)
