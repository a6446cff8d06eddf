"""Every kind of LightGBM model: columns add up to its own raw score, SHAP values are its own, links too."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse as sp
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import FeatureRemover, GlexDecomposer
from skglex._readers._registry import find_reader
from skglex.plotting import ComponentDisplay
from tests.support.oracles import (
    brute_force_game,
    check_components,
    game_components,
    shapley_interactions,
    total,
)

lgb = pytest.importorskip("lightgbm")
# LightGBM < 4.7 says so of models trained on arrays, too
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names, but LGBM:UserWarning")

WEIGHTINGS = ["empirical", "path_dependent"]
N, D = 400, 5
ZERO = float(np.float32(1e-35))
# LightGBM sums in float64 as we do, in another order: some tens of trees of size about 1 (the components of
# brute force are signed sums of up to 2^5 means of such sums).
SUMS = 1e-11
SMALL = {"num_leaves": 7, "min_data_in_leaf": 3, "num_threads": 1, "verbose": -1, "learning_rate": 0.3}
SMALL |= {"min_data_per_group": 3, "cat_smooth": 1.0, "cat_l2": 1.0}


def make_data(seed=0):
    """Numbers with missing values, ties and zeros of both signs, and categories (column 4)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    X[:, 2] = rng.integers(-2, 3, size=N) * rng.choice([-1.0, 1.0], size=N)
    X[rng.random((N, D)) < 0.1] = np.nan
    X[:, 1][rng.random(N) < 0.3] = 0.0
    X[:, 3] = np.nan_to_num(X[:, 3])  # no missing values: LightGBM's missing type None
    X[:, 4] = rng.integers(0, 9, size=N)
    Z = np.nan_to_num(X, nan=1.5)
    signal = Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 3]) + (Z[:, 2] > 0) + np.isin(Z[:, 4], [1, 3, 8])
    return X, signal + rng.normal(scale=0.1, size=N)


X, SIGNAL = make_data()
BINARY = (SIGNAL > 0.5).astype(int)
CLASSES = np.digitize(SIGNAL, [0.2, 1.3])
POSITIVE = np.exp(SIGNAL / 2)
COUNTS = np.floor(POSITIVE)
SHARES = 1 / (1 + np.exp(-SIGNAL))
CATEGORICAL = {"categorical_feature": [4]}


def booster(y=SIGNAL, rounds=8, data=X, **params):
    params = {**SMALL, **params}
    categorical = params.pop("categorical_feature", "auto")
    return lgb.train(params, lgb.Dataset(data, y, categorical_feature=categorical), rounds)


def regressor(y=SIGNAL, kind=None, **params):
    params = {**SMALL, "n_estimators": 8, **params}
    return (kind or lgb.LGBMRegressor)(**params).fit(X, y)


def classifier(y=BINARY, **params):
    return regressor(y, lgb.LGBMClassifier, **params)


def early(kind=lgb.LGBMRegressor, y=SIGNAL, **params):
    noise = np.random.default_rng(1).permutation(len(y))
    model = kind(**{**SMALL, "n_estimators": 60, "learning_rate": 0.9, **params})
    half = np.arange(N) < N // 2
    return fit_watched(model, X[half], y[half], X[~half], np.where(noise < N // 3, y, y[noise])[~half])


def fit_watched(model, X, y, X_val, y_val, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 4.7 wants eval_X and eval_y
        callbacks = [lgb.early_stopping(3, verbose=False)]
        return model.fit(X, y, eval_set=[(X_val, y_val)], callbacks=callbacks, **params)


def early_booster():
    """Otherwise `lightgbm.train` drops the trees after the best iteration."""
    watched = lgb.Dataset(X[::2], SIGNAL[::2][::-1].copy())
    stop = lgb.early_stopping(5, verbose=False)
    data = lgb.Dataset(X, SIGNAL)
    return lgb.train(SMALL, data, 60, valid_sets=[watched], callbacks=[stop], keep_training_booster=True)


def ranker():
    return lgb.LGBMRanker(**SMALL, n_estimators=8).fit(X, COUNTS.clip(0, 4), group=[40] * 10)


def custom(y, margin):
    return margin - y, np.ones_like(margin)


def custom_classes(y, margin):
    return margin - np.eye(3)[y.astype(int)], np.ones_like(margin)


def continued():
    """Trees that know no missing values of a feature, then trees that do; other learning rates."""
    first = booster(data=np.nan_to_num(X), **CATEGORICAL)
    return lgb.train({**SMALL, "learning_rate": 0.1}, lgb.Dataset(X, SIGNAL), 5, init_model=first)


def with_leaf_output():
    model = booster()
    model.set_leaf_output(2, 1, 5.25)
    return model


SKEWED = np.where(np.random.default_rng(5).random((N, D)) < 0.6, 0.0, np.nan_to_num(X))

MODELS = {
    "regression": regressor,
    "l1": lambda: regressor(objective="regression_l1"),
    "huber": lambda: regressor(objective="huber"),
    "fair": lambda: regressor(objective="fair"),
    "quantile": lambda: regressor(objective="quantile", alpha=0.7),
    "mape": lambda: regressor(1 + POSITIVE, objective="mape"),
    "poisson": lambda: regressor(COUNTS, objective="poisson"),
    "gamma": lambda: regressor(POSITIVE, objective="gamma"),
    "tweedie": lambda: regressor(COUNTS, objective="tweedie", tweedie_variance_power=1.4),
    "sqrt": lambda: regressor(9 * SIGNAL, reg_sqrt=True),
    "sqrt, l1": lambda: regressor(9 * SIGNAL, objective="regression_l1", reg_sqrt=True),
    "sqrt, quantile": lambda: regressor(9 * SIGNAL, objective="quantile", reg_sqrt=True),
    "sqrt, huber": lambda: regressor(9 * SIGNAL, objective="huber", reg_sqrt=True),
    "cross entropy": lambda: regressor(SHARES, objective="cross_entropy"),
    "cross entropy lambda": lambda: regressor(SHARES, objective="cross_entropy_lambda"),
    "custom": lambda: regressor(objective=custom),
    "custom booster": lambda: booster(objective=lambda margin, data: custom(data.get_label(), margin)),
    "binary": classifier,
    "binary, sigmoid": lambda: classifier(sigmoid=2.5),
    "binary, sigmoid of many digits": lambda: classifier(sigmoid=0.7234567891234),
    "binary, unbalanced": lambda: classifier(is_unbalance=True),
    "classes": lambda: classifier(CLASSES),
    "one against all": lambda: classifier(CLASSES, objective="multiclassova", sigmoid=1.5),
    "classes booster": lambda: booster(CLASSES, objective="multiclass", num_class=3),
    "custom classes": lambda: regressor(CLASSES, lgb.LGBMClassifier, objective=custom_classes, num_class=3),
    "lambdarank": ranker,
    "xendcg": lambda: lgb.LGBMRanker(**SMALL, objective="rank_xendcg").fit(
        X, COUNTS.clip(0, 4), group=[40] * 10
    ),
    "booster": booster,
    "categorical": lambda: booster(**CATEGORICAL),
    "categorical, one against the rest": lambda: booster(max_cat_to_onehot=20, **CATEGORICAL),
    "categorical, large codes": lambda: booster(
        data=np.column_stack([X[:, :4], 1000 * X[:, 4] + 7]), max_cat_to_onehot=2, **CATEGORICAL
    ),
    "categorical, missing": lambda: booster(
        data=np.column_stack([X[:, :4], np.where(X[:, 4] == 3, np.nan, X[:, 4])]), **CATEGORICAL
    ),
    "categorical, negative": lambda: booster(data=np.column_stack([X[:, :4], X[:, 4] - 2]), **CATEGORICAL),
    "categorical, classes": lambda: booster(CLASSES, objective="multiclass", num_class=3, **CATEGORICAL),
    "no missing": lambda: booster(use_missing=False),
    "missing never seen": lambda: booster(data=np.nan_to_num(X)),
    "zero missing": lambda: booster(zero_as_missing=True),
    "zero missing, no NaN": lambda: booster(data=SKEWED, zero_as_missing=True),
    "zero missing, categorical": lambda: booster(data=SKEWED, zero_as_missing=True, **CATEGORICAL),
    "zero missing, two values": lambda: booster(data=np.sign(SKEWED), zero_as_missing=True),
    "tiny": lambda: booster(data=SKEWED * 1e-34, min_data_in_bin=1),
    "tiny, zero missing": lambda: booster(data=SKEWED * 1e-34, min_data_in_bin=1, zero_as_missing=True),
    "huge": lambda: booster(data=X * 1e300),
    "infinite": lambda: booster(data=np.where(np.abs(X) > 2, np.copysign(np.inf, X), X)),
    "split by NaN only": lambda: booster(data=np.where(np.isnan(X), np.nan, 0.0)),
    "forest": lambda: regressor(boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
    "forest, binary": lambda: classifier(boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
    "forest, classes": lambda: classifier(CLASSES, boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
    "dart": lambda: regressor(boosting_type="dart", drop_rate=0.5, skip_drop=0.0),
    "dart, classes": lambda: classifier(CLASSES, boosting_type="dart", drop_rate=0.5, skip_drop=0.0),
    "goss": lambda: regressor(data_sample_strategy="goss", n_estimators=20),
    "bagging": lambda: regressor(bagging_freq=1, bagging_fraction=0.3, feature_fraction=0.5),
    "extra trees": lambda: regressor(extra_trees=True),
    "early": early,
    "early, classes": lambda: early(lgb.LGBMClassifier, CLASSES),
    "early booster": lambda: early().booster_,
    "early, later trees kept": early_booster,
    "early forest": lambda: early(boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
    "one leaf": lambda: regressor(min_data_in_leaf=N),
    "one leaf, classes": lambda: classifier(CLASSES, min_data_in_leaf=N),
    "constant": lambda: regressor(np.ones(N)),
    "some trees of one leaf": lambda: classifier(
        np.where(np.arange(N) < 6, 2, BINARY), min_gain_to_split=15.0
    ),
    "no trees": lambda: lgb.Booster(SMALL, lgb.Dataset(X, SIGNAL)),
    "continued": continued,
    "refitted": lambda: booster().refit(np.nan_to_num(X) + 0.2, -SIGNAL, decay_rate=0.1),
    "leaf set": with_leaf_output,
    "shuffled": lambda: booster().shuffle_models(0, 4),
    "no average": lambda: regressor(boost_from_average=False),
    "linear terms off": lambda: regressor(linear_tree=False),
}


@pytest.fixture(scope="module")
def model_of():
    made = {}

    def get(name):
        if name not in made:
            made[name] = MODELS[name]()
        return made[name]

    return get


def bare(model):
    return model.booster_ if isinstance(model, lgb.LGBMModel) else model


def n_averaged(model):
    """LightGBM's raw scores and contributions of a forest are sums, its predictions come of the mean."""
    model = bare(model)
    averaged = "\naverage_output\n" in model.model_to_string(num_iteration=1)
    return (
        (model.best_iteration if model.best_iteration > 0 else model.current_iteration()) if averaged else 1
    )


def raw(model, rows):
    return bare(model).predict(rows, raw_score=True).reshape(rows.shape[0], -1) / n_averaged(model)


def splits(model):
    """(feature, threshold) of all numeric splits, from the model's own dump."""
    found, stack = [], [tree["tree_structure"] for tree in bare(model).dump_model()["tree_info"]]
    while stack:
        node = stack.pop()
        if "split_feature" in node:
            stack += [node["left_child"], node["right_child"]]
            if node["decision_type"] == "<=":
                found.append((node["split_feature"], node["threshold"]))
    return found


def hard_rows(model, seed=0):
    """Training rows; rows on and beside thresholds; missing, infinite, huge, tiny values; codes of all kinds."""
    rng = np.random.default_rng(seed)
    rows = [X[rng.choice(N, 60, replace=False)]]
    found = splits(model)
    for i in rng.permutation(len(found))[:40]:
        j, t = found[i]
        with np.errstate(over="ignore"):
            near = [t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf), float(np.float32(t)), -t]
        part = X[rng.integers(N, size=len(near))].copy()
        part[:, j] = near
        rows.append(part)
    tiny = [ZERO, np.nextafter(ZERO, 1), np.nextafter(ZERO, 0), 1e-36, 5e-324, 1e-34]
    codes = [
        -1,
        -0.5,
        -1e-9,
        0.5,
        1.999,
        3.5,
        9,
        40,
        1e9,
        2.0**31,
        2.0**32 + 1,
        -(2.0**32) + 1,
        7,
        1007,
        1007.9,
    ]
    for value in (np.nan, np.inf, 0.0, 1e300, 1.7e308, *tiny, *codes):
        for signed in (value, -value):
            part = X[rng.integers(N, size=2 * D)].copy()
            part[np.arange(2 * D), np.arange(2 * D) % D] = signed
            rows += [part, np.full((1, D), signed)]
    return np.concatenate(rows)


def decompose(model, weighting="empirical", background=X, **params):
    return GlexDecomposer(model, weighting=weighting, **params).fit(background)


def tolerance(model):
    return SUMS * max(1.0, np.abs(raw(model, np.nan_to_num(X))).max())


@pytest.mark.parametrize("name", MODELS)
def test_columns_add_up_to_the_raw_score(name, model_of):
    model = model_of(name)
    rows = hard_rows(model)
    decomposer = decompose(model, background=rows[::2])
    np.testing.assert_allclose(total(decomposer, rows), raw(model, rows), rtol=0, atol=tolerance(model))


@pytest.mark.parametrize("name", MODELS)
def test_empirical_components_are_those_of_brute_force(name, model_of):
    model = model_of(name)
    rows, background = hard_rows(model)[::40], hard_rows(model, 1)[::25]
    decomposer = decompose(model, background=background)
    components = game_components(brute_force_game(lambda Z: raw(model, Z), rows, background))
    check_components(decomposer, rows, components, tolerance(model))
    pairs = shapley_interactions(components, D)
    ours = decomposer.shap_interaction_values(rows).reshape(pairs.shape)
    np.testing.assert_allclose(ours, pairs, rtol=0, atol=tolerance(model))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "no trees"])
def test_path_dependent_shap_values_are_those_of_lightgbm(name, model_of):
    model = model_of(name)
    rows = hard_rows(model)
    decomposer = decompose(model, "path_dependent")
    phi = bare(model).predict(rows, pred_contrib=True).reshape(len(rows), -1, D + 1)
    phi /= n_averaged(model)
    atol = 10 * tolerance(model)
    ours = decomposer.shap_values(rows).reshape(len(rows), D, -1)
    np.testing.assert_allclose(ours, phi[:, :, :-1].transpose(0, 2, 1), rtol=0, atol=atol)
    np.testing.assert_allclose(np.atleast_1d(decomposer.intercept_), phi[0, :, -1], rtol=0, atol=atol)


def test_models_of_the_tests_have_what_they_are_named_for(model_of):
    def types(name):
        lines = re.findall(r"^decision_type=(.*)$", bare(model_of(name)).model_to_string(), re.M)
        return {int(code) for line in lines for code in line.split()}

    assert types("zero missing") >= {4, 6}
    assert types("zero missing, categorical") & {1, 5, 9}
    assert types("no missing") <= {0, 2}
    assert all(types("continued") & kind for kind in ({0, 2}, {8, 10}, {1, 9}))
    assert {abs(t) for _, t in splits(model_of("tiny"))} & {ZERO}
    assert re.search(r"^threshold=.*\binf\b", model_of("split by NaN only").model_to_string(), re.M)
    assert 0 < model_of("early").best_iteration_ < 60
    kept = model_of("early, later trees kept")
    assert 0 < kept.best_iteration < kept.current_iteration()
    assert "num_leaves=1\n" in bare(model_of("some trees of one leaf")).model_to_string()
    assert re.search(r"num_leaves=[2-7]\n", bare(model_of("some trees of one leaf")).model_to_string())


# -- early stopping, saving, refusals ----------------------------------------------------------------


def test_wrapper_and_booster_count_trees_up_to_the_best_iteration_as_each_predicts(model_of):
    kept = model_of("early, later trees kept")
    ours = total(decompose(kept), X)[:, 0]
    np.testing.assert_allclose(ours, kept.predict(X), atol=SUMS)
    assert np.abs(ours - kept.predict(X, num_iteration=-1)).max() > 0.01
    wrapper = regressor(n_estimators=20)
    wrapper.booster_.best_iteration = 5
    np.testing.assert_allclose(total(decompose(wrapper), X)[:, 0], wrapper.predict(X), atol=SUMS)
    # a copy that LightGBM makes by way of text has forgotten the best iteration, but not the later trees
    copied = clone(GlexDecomposer(kept)).fit(X)
    np.testing.assert_allclose(total(copied, X)[:, 0], copied.estimator_.predict(X), atol=SUMS)


@pytest.mark.parametrize(
    "name",
    ["regression", "binary, sigmoid", "categorical"] + ["zero missing", "forest, classes", "early", "huge"],
)
def test_saved_and_loaded_models_read_the_same(name, model_of, tmp_path):
    model = model_of(name)
    bare(model).save_model(tmp_path / "model.txt")
    expected = decompose(model).transform(X)
    for same in (
        lgb.Booster(model_file=tmp_path / "model.txt"),
        pickle.loads(pickle.dumps(model)),
        FrozenEstimator(model) if isinstance(model, lgb.LGBMModel) else model,
    ):
        np.testing.assert_array_equal(decompose(same).transform(X), expected)
    decomposer = pickle.loads(pickle.dumps(decompose(model)))
    np.testing.assert_array_equal(decomposer.transform(X), expected)


def test_zeros_stay_missing_in_a_pickle():
    decomposer = decompose(booster(data=np.nan_to_num(X), zero_as_missing=True))
    assert decomposer._model.input.missing_zeros
    rows = np.nan_to_num(X[:20])
    rows[::2] = 0
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(decomposer)).transform(rows), decomposer.transform(rows)
    )


def test_predictions_that_stop_early_are_refused():
    model = lgb.LGBMClassifier(n_estimators=5, pred_early_stop=True, verbose=-1).fit(X, SIGNAL > 0)
    with pytest.raises(ValueError, match=r"pred_early_stop=True.*Pass the booster"):
        decompose(model)
    decompose(model.booster_)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_leaves_that_are_not_finite_are_refused(value):
    model = booster(data=np.nan_to_num(X))
    model.set_leaf_output(0, 1, value)
    with pytest.raises(ValueError, match=f"the Booster has leaves of the value {value}"):
        decompose(model)


def test_linear_trees_are_refused():
    with pytest.raises(ValueError, match=r"linear_tree=True.*linear_tree=False"):
        decompose(booster(data=np.nan_to_num(X), linear_tree=True))


@pytest.mark.parametrize("change", ["v3", "v5", "missing type", "leaf", "objective", "link"])
def test_a_text_that_is_not_known_is_refused(change, monkeypatch):
    class Changed(lgb.Booster):
        def model_to_string(self, *args, **kwargs):
            text = super().model_to_string(*args, **kwargs)
            old, new = {
                "v3": ("version=v4", "version=v3"),
                "v5": ("version=v4", "version=v5"),
                "missing type": ("decision_type=", "decision_type=12 "),
                "leaf": ("leaf_value=", "leaf_value=1.5 "),
                "objective": ("objective=regression", "objective=anything"),
                "link": ("objective=regression", "objective=poisson"),
            }[change]
            assert old in text
            return text.replace(old, new)

    model = Changed(model_str=booster().model_to_string())
    with pytest.raises(ValueError, match=r"cannot read (a|the) LightGBM model"):
        find_reader(model)(model)


def test_zeros_missing_in_some_iterations_only():
    first = booster(data=SKEWED, zero_as_missing=True)
    with_nan = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, SKEWED)
    params = {**SMALL, "boost_from_average": False}
    mixed = lgb.train(params, lgb.Dataset(with_nan, SIGNAL), 8, init_model=first)
    with pytest.raises(ValueError, match="zero_as_missing"):
        decompose(mixed)
    # without missing values there is nothing that contradicts
    mixed = lgb.train({**params, "use_missing": False}, lgb.Dataset(SKEWED, SIGNAL), 8, init_model=first)
    rows = hard_rows(mixed)
    np.testing.assert_allclose(total(decompose(mixed), rows), raw(mixed, rows), atol=tolerance(mixed))


# -- links -------------------------------------------------------------------------------------------


LINKED = [name for name in MODELS if name not in ("custom classes", "no trees")]


def own_output(model, rows):
    own = model.predict_proba(rows) if isinstance(model, lgb.LGBMClassifier) else model.predict(rows)
    return own[:, 1] if own.ndim == 2 and own.shape[1] == 2 else own


def output(remover, rows):
    return own_output_of(remover, rows) if hasattr(remover, "predict_proba") else remover.predict(rows)


def own_output_of(remover, rows):
    found = remover.predict_proba(rows)
    return found[:, 1] if found.shape[1] == 2 else found


@pytest.mark.parametrize("name", LINKED)
def test_inverse_links_and_onnx(name, model_of, run_onnx):
    """The predictions are LightGBM's own where nothing is removed that the model uses, and ONNX's are those."""
    model = model_of(name)
    rows = hard_rows(model)
    # features with a name that no tree splits on change nothing: the link is all there is
    remover = FeatureRemover(model, [0]).fit(X)
    remover.strength = 1e-300  # the path through the link; 0 asks the model itself
    np.testing.assert_allclose(output(remover, rows), own_output(model, rows), rtol=1e-9, atol=1e-12)
    remover.strength = 0.0
    np.testing.assert_array_equal(output(remover, rows), own_output(model, rows))
    remover.strength = 1.0
    found = run_onnx(remover.to_onnx(), rows)
    # the operator for trees returns float32
    scale = max(1.0, np.abs(remover.margin(rows)).max())
    ours = np.reshape(remover.margin(rows), found["margin"].shape)
    np.testing.assert_allclose(found["margin"], ours, rtol=0, atol=1e-6 * scale)
    response = found.get("probabilities", found.get("variable"))
    theirs = response[:, 1] if response.shape[1] == 2 else response
    np.testing.assert_allclose(
        theirs, output(remover, rows).reshape(theirs.shape), rtol=2e-5 * scale, atol=1e-6
    )


def test_a_classifier_with_a_custom_objective_has_a_margin_but_no_probabilities(model_of):
    model = model_of("custom classes")
    remover = FeatureRemover(model, [0]).fit(X)
    assert remover.margin(X).shape == (N, 3)
    with pytest.raises(ValueError, match="custom objective"):
        remover.predict_proba(X)
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="custom"):
        remover.to_onnx()


def test_forest_is_the_mean_of_its_trees(model_of):
    model = model_of("forest")
    np.testing.assert_allclose(total(decompose(model), X)[:, 0], model.predict(X), atol=SUMS)


def test_removed_feature_is_averaged_over_the_background(model_of):
    model = model_of("categorical")
    background, rows = X[:50], X[100:130]
    mixed = np.repeat(rows[:, None], 50, axis=1)
    mixed[:, :, [0, 4]] = background[None][:, :, [0, 4]]
    expected = raw(model, mixed.reshape(-1, D)).reshape(30, 50).mean(axis=1)
    ours = FeatureRemover(model, [0, 4]).fit(background).predict(rows)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=SUMS)


# -- containers --------------------------------------------------------------------------------------


def test_arrays_of_other_types_are_cast_as_lightgbm_casts_them():
    integers = np.arange(2**24 - 60, 2**24 + 340)[:, None] + np.zeros((1, 2), np.int64)
    model = booster(data=integers.astype(float), min_data_in_bin=1, num_leaves=60, min_data_in_leaf=1)
    for kind in (np.int64, np.int32, np.uint32, np.float32, np.float64):
        rows = integers.astype(kind)
        np.testing.assert_allclose(
            total(decompose(model, background=rows), rows), raw(model, rows), atol=SUMS
        )
    frame = pd.DataFrame(integers)  # LightGBM makes float64 of these
    np.testing.assert_allclose(total(decompose(model, background=frame), frame), raw(model, frame), atol=SUMS)
    small = booster(data=(X > 0).astype(float))
    rows = X > 0
    np.testing.assert_allclose(total(decompose(small, background=rows), rows), raw(small, rows), atol=SUMS)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("name", ["regression", "categorical", "zero missing, no NaN", "classes"])
def test_sparse_zeros_are_zeros(name, kind, model_of):
    model = model_of(name)
    rows = np.where(np.isnan(SKEWED), 0, SKEWED)
    rows[3, 2] = np.nan
    dense = decompose(model, background=rows)
    sparse = decompose(model, background=kind(rows))
    np.testing.assert_array_equal(sparse.transform(kind(rows)), dense.transform(rows))
    np.testing.assert_allclose(total(dense, rows), raw(model, rows), atol=tolerance(model))


def make_frame():
    frame = pd.DataFrame(X[:, :3], columns=["a b", "üx", "c"])
    names = np.array(["low", "mid", "high"])
    frame["level"] = pd.Categorical(names[(X[:, 4] % 3).astype(int)], names, ordered=True)
    frame["town"] = pd.Categorical(np.array(list("qwertyuio"))[X[:, 4].astype(int)])
    frame["year"] = pd.Categorical(2000 + (X[:, 4] // 2).astype(int))
    frame.loc[::17, "town"] = None
    return frame


FRAME = make_frame()


@pytest.mark.parametrize("loaded", [False, True])
def test_categories_of_data_frames_count_by_value(loaded):
    model = booster(data=FRAME, rounds=20)
    assert len(model.pandas_categorical) == 3
    if loaded:
        model = lgb.Booster(model_str=model.model_to_string())
    decomposer = decompose(model, background=FRAME)
    assert list(decomposer._model_names) == list(FRAME.columns)
    other = FRAME.copy()
    other["town"] = pd.Categorical(FRAME["town"].astype(object), list("zoiuytrewq"))  # other codes, one more
    other["level"] = FRAME["level"].cat.reorder_categories(["high", "low", "mid"])
    other.loc[:5, "town"] = "z"  # never seen: goes where missing goes
    other["year"] = FRAME["year"].cat.rename_categories({2000: 1999})
    for frame in (FRAME, other, FRAME[:1]):
        np.testing.assert_allclose(total(decomposer, frame), raw(model, frame), atol=SUMS)
    weighted = decompose(model, "path_dependent", background=other)
    phi = model.predict(other, pred_contrib=True)
    np.testing.assert_allclose(weighted.shap_values(other), phi[:, :-1], rtol=0, atol=SUMS)
    assert set(decomposer.feature_axis("town").edges) <= set("qwertyuio")
    # fitted on codes: data frames later are read by value all the same
    codes = FRAME.apply(lambda c: c.cat.codes.replace(-1, np.nan) if c.dtype == "category" else c).to_numpy(
        float
    )
    by_codes = decompose(model, background=codes)
    np.testing.assert_array_equal(by_codes._model.ensemble.grid.cuts, decomposer._model.ensemble.grid.cuts)


def test_other_columns_are_refused():
    model = booster(data=FRAME)
    decomposer = decompose(model, background=FRAME)
    shuffled = FRAME[["c", "a b", "üx", "level", "town", "year"]]
    with pytest.raises(ValueError, match="feature names should match"):
        decomposer.transform(shuffled)
    with pytest.raises(ValueError, match="feature names should match"):
        decompose(model, background=shuffled)
    renamed = FRAME.rename(columns={"a b": "a_b"})
    np.testing.assert_allclose(
        total(decompose(model, background=renamed), renamed), raw(model, renamed), atol=SUMS
    )
    swapped = FRAME.assign(level=1.0, c=FRAME["level"])
    for frame in (FRAME.assign(level=1.0), swapped):
        with pytest.raises(ValueError, match=r"categorical columns .* trained on"):
            decomposer.transform(frame)


def test_removed_columns_of_categories_may_be_absent():
    model = booster(data=FRAME)
    remover = FeatureRemover(model, ["town", "a b"]).fit(FRAME)
    expected = remover.predict(FRAME)
    np.testing.assert_array_equal(remover.predict(FRAME.drop(columns=["town", "a b"])), expected)
    np.testing.assert_array_equal(remover.predict(FRAME.assign(town=1.5)), expected)


def test_nullable_and_polars_frames(model_of):
    pl = pytest.importorskip("polars")
    model = model_of("regression")
    nullable = pd.DataFrame(X).convert_dtypes()
    assert isinstance(nullable.dtypes.iloc[4], pd.Int64Dtype)
    expected = total(decompose(model), X)
    np.testing.assert_array_equal(total(decompose(model, background=nullable), nullable), expected)
    polars = pl.DataFrame(X, schema=list("abcde"))
    np.testing.assert_array_equal(total(decompose(model, background=polars), polars), expected)
    for kind in (pl.Categorical, pl.String):
        with pytest.raises(ValueError, match="LightGBM takes numbers only from a polars"):
            decompose(
                booster(data=np.nan_to_num(X) * [0, 1, 1, 1, 1]),
                background=polars.with_columns(a=pl.lit("x", kind)),
            )


# -- as an estimator ---------------------------------------------------------------------------------


def small(kind=lgb.LGBMRegressor, **params):
    return kind(n_estimators=5, num_leaves=4, min_child_samples=3, n_jobs=1, verbose=-1, **params)


@parametrize_with_checks(
    [
        GlexDecomposer(small()),
        GlexDecomposer(small(lgb.LGBMClassifier), weighting="path_dependent"),
        FeatureRemover(small(), [0]),
        FeatureRemover(small(lgb.LGBMClassifier), [0]),
    ],
    expected_failed_checks=lambda _: dict.fromkeys(
        [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
        "LightGBM counts rows, whatever their weights",
    ),
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [str, int, bool])
def test_classifiers_encode_labels_themselves(kind):
    labels = {str: np.array(["no", "yes"]), int: np.array([-7, 12]), bool: np.array([False, True])}[kind][
        BINARY
    ]
    weights = dict(zip(np.unique(labels), [1.0, 3.0]))
    model = small(lgb.LGBMClassifier, class_weight=weights)
    decomposer = GlexDecomposer(model).fit(X, labels)
    own = clone(model).fit(X, labels)
    np.testing.assert_array_equal(decomposer.classes_, own.classes_)
    np.testing.assert_allclose(total(decomposer, X)[:, 0], own.predict(X, raw_score=True), atol=SUMS)
    remover = FeatureRemover(model, [1], strength=0).fit(X, labels)
    np.testing.assert_array_equal(remover.predict(X), own.predict(X))
    np.testing.assert_array_equal(remover.predict_proba(X), own.predict_proba(X))


def test_watched_fits_in_pipelines_and_searches():
    names = np.array(["a", "b", "c"])[CLASSES]
    model = lgb.LGBMClassifier(**{**SMALL, "n_estimators": 50, "learning_rate": 0.9})
    half = np.arange(N) < N // 2
    decomposer = fit_watched(GlexDecomposer(model), X[half], names[half], X[~half], names[~half])
    assert 0 < decomposer.estimator_.best_iteration_ < 50
    np.testing.assert_allclose(total(decomposer, X), raw(decomposer.estimator_, X), atol=SUMS)
    assert list(decomposer.classes_) == ["a", "b", "c"]
    prepare = make_pipeline(FunctionTransformer(np.arctan, feature_names_out="one-to-one"), small())
    piped = GlexDecomposer(prepare).fit(pd.DataFrame(X, columns=list("abcde")), SIGNAL)
    ours = total(piped, pd.DataFrame(X, columns=list("abcde")))[:, 0]
    np.testing.assert_allclose(
        ours, piped.estimator_.predict(pd.DataFrame(X, columns=list("abcde"))), atol=SUMS
    )
    search = GridSearchCV(FeatureRemover(small(), [0]), {"estimator__num_leaves": [2, 4]}, cv=2).fit(
        X, SIGNAL
    )
    assert np.isfinite(search.best_score_)
    encoded = make_pipeline(OrdinalEncoder(), small(lgb.LGBMClassifier))
    towns = FRAME[["town", "year"]].astype(str)
    remover = FeatureRemover(encoded, ["town"]).fit(towns, names)
    assert remover.predict_proba(towns[["year"]]).shape == (N, 3)


def test_rankers_take_groups():
    relevance = COUNTS.clip(0, 4).astype(int)
    decomposer = GlexDecomposer(small(lgb.LGBMRanker)).fit(X, relevance, group=[40] * 10)
    np.testing.assert_allclose(total(decomposer, X)[:, 0], decomposer.estimator_.predict(X), atol=SUMS)
    remover = FeatureRemover(decomposer.estimator_, [0]).fit(X)
    assert remover.predict(X).shape == (N,)


def test_init_score_is_not_part_of_the_model():
    with pytest.warns(UserWarning, match="fitted with init_score"):
        decomposer = GlexDecomposer(small()).fit(X, SIGNAL, init_score=np.full(N, 5.0))
    np.testing.assert_allclose(total(decomposer, X)[:, 0], decomposer.estimator_.predict(X), atol=SUMS)


def test_dask_wrappers_are_read_as_their_local_models(model_of):
    pytest.importorskip("dask.distributed")
    local = model_of("regression")
    try:
        model = lgb.DaskLGBMRegressor(**local.get_params())
    except lgb.basic.LightGBMError:
        pytest.skip("this LightGBM does not know this Dask")
    model.__dict__.update({k: v for k, v in local.__dict__.items() if k != "client"})
    np.testing.assert_array_equal(decompose(model, prefit=True).transform(X), decompose(local).transform(X))


# -- what holds for every model ----------------------------------------------------------------------


@st.composite
def models(draw):
    """A random booster, its training rows, and rows on and beside its thresholds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, 5))
    data = np.round(rng.normal(size=(90, d)), draw(st.sampled_from([0, 1, 8])))
    data *= draw(st.sampled_from([1.0, 1e-35, 1e300]))
    data[rng.random(data.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    data[rng.random(data.shape) < draw(st.sampled_from([0.0, 0.4]))] = 0.0
    if draw(st.booleans()):
        data[:, 0] = rng.integers(-1, 12, size=90)
    params = {
        **SMALL,
        "num_leaves": draw(st.integers(2, 12)),
        "min_data_in_leaf": draw(st.integers(1, 5)),
        "boosting": draw(st.sampled_from(["gbdt", "dart", "rf"])),
        "bagging_freq": 1,
        "bagging_fraction": 0.7,
        "use_missing": draw(st.booleans()),
        "zero_as_missing": draw(st.booleans()),
        "extra_trees": draw(st.booleans()),
        "max_cat_to_onehot": draw(st.sampled_from([2, 20])),
        **draw(
            st.sampled_from(
                [{}, {"objective": "binary", "sigmoid": 1.7}, {"objective": "multiclass", "num_class": 3}]
            )
        ),
    }
    y = np.nan_to_num(np.sign(data)).sum(axis=1) + rng.normal(size=90)
    y = {"binary": (y > 0).astype(float), "multiclass": np.digitize(y, [-1, 1])}.get(
        params.get("objective"), y
    )
    categorical = [0] if draw(st.booleans()) else "auto"
    train = lgb.Dataset(data, y, categorical_feature=categorical)
    model = lgb.train(params, train, draw(st.integers(1, 8)))
    rows = data[rng.integers(0, 90, size=40)]
    for j, t in splits(model)[:24]:
        rows[rng.integers(40), j] = rng.choice([t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf), -t])
    odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, ZERO, -ZERO, 1e-36, -0.5, -1.0, 2.7, 99.0]
    hit = rng.random(rows.shape) < 0.1
    rows[hit] = rng.choice(odd, size=hit.sum())
    return model, data, rows, draw(st.sampled_from(WEIGHTINGS))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(models())
def test_identities(case):
    model, data, rows, weighting = case
    decomposer = decompose(model, weighting, data)
    margin = raw(model, rows)
    exact = {"rtol": 0, "atol": SUMS * max(1.0, np.abs(margin).max())}
    np.testing.assert_allclose(total(decomposer, rows), margin, **exact)
    phi = decomposer.shap_values(rows).reshape(*rows.shape, -1)
    if weighting == "path_dependent":
        own = model.predict(rows, pred_contrib=True).reshape(len(rows), -1, rows.shape[1] + 1) / n_averaged(
            model
        )
        np.testing.assert_allclose(phi, own[:, :, :-1].transpose(0, 2, 1), **exact)
    else:
        mixed = np.repeat(rows[:, None], len(data), axis=1)
        mixed[:, :, 0] = data[None, :, 0]
        mean = raw(model, mixed.reshape(-1, rows.shape[1])).reshape(len(rows), len(data), -1).mean(axis=1)
        remover = FeatureRemover(model, [0]).fit(data) if rows.shape[1] > 1 else None
        if remover is not None:
            np.testing.assert_allclose(remover.margin(rows).reshape(mean.shape), mean, **exact)


@pytest.mark.parametrize("features", [[0], [3], [2], [0, 3]])
@pytest.mark.parametrize("name", ["regression", "forest", "dart", "early"])
def test_partial_dependence_is_that_of_scikit_learn(name, features, model_of):
    model = model_of(name)
    background = np.nan_to_num(X)
    found = partial_dependence(model, background, features, method="brute", grid_resolution=12)
    grid = np.stack(np.meshgrid(*found["grid_values"], indexing="ij"), axis=-1).reshape(-1, len(features))
    rows = np.zeros((len(grid), D))
    rows[:, features] = grid
    ours = decompose(model, background=background).partial_dependence(features, rows)
    np.testing.assert_allclose(ours, found["average"].ravel(), rtol=0, atol=SUMS)


def test_splits_on_missing_values_alone_have_tables_and_plots(model_of, plt):
    background = np.where(np.isnan(X), np.nan, 0.0)
    decomposer = decompose(model_of("split by NaN only"), background=background)
    component = decomposer.components_[0]
    assert component.edges[0].tolist() == []  # every number goes left of x <= inf
    np.testing.assert_allclose(
        component.values[[0, -1]], component.evaluate(np.array([[0.0] * D, [np.nan] * D])), rtol=0, atol=0
    )
    ComponentDisplay.from_decomposer(decomposer, [0, (0, 1)])
