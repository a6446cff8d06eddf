"""Read every kind of XGBoost model."""

import warnings

import numpy as np
import pytest
import treelite
import xgboost as xgb

from skglex import GlexDecomposer
from tests.readers.contract import ReaderContract
from tests.support.data import make_data, make_targets
from tests.support.oracles import (
    is_inner,
    leaf_values,
    model_margin,
    path_dependent_game,
    read_json,
    rounding,
    thresholds,
    to_float32,
)

# One model has nodes without cover on purpose; test_xgboost_edge_cases.py tests the warning.
pytestmark = pytest.mark.filterwarnings("ignore:.* nodes of the model have cover 0:UserWarning")

VERSION = tuple(int(part) for part in xgb.__version__.split(".")[:2])
X, SIGNAL = make_data()
_, BINARY, CLASSES, POSITIVE, COUNTS, TARGETS, LABELS = make_targets(SIGNAL)
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
    """Return trees with the covers of other data, so that some nodes have none."""
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
VECTOR_LEAVES = [name for name in MODELS if "vector leaves" in name]


class TestContract(ReaderContract):
    X = X
    without_cover = VECTOR_LEAVES if VERSION < (3, 0) else ()
    without_walk = VECTOR_LEAVES
    explained = ("squared error", "poisson", "multi-class", "dart", "early", "exact")
    explained += ("vector leaves",) if VERSION >= (3, 4) else ()
    without_response = ("softmax booster",)
    without_onnx = ("several labels", *(name for name in MODELS if "no trees" in name))
    saved = ("binary", "multi-class", "dart", "early", "vector leaves", "missing=-999", "no trees")
    dependence = ("squared error", "quantile", "early")
    float32 = True

    def margin(self, model, rows):
        return model_margin(model, rows)

    def thresholds(self, model):
        return [(j, t) for j, found in thresholds(model).items() for t in found]

    def tolerance(self, name, model, decomposer):
        return rounding(model, decomposer.intercept_)

    def explainable_rows(self, model):
        rows = super().explainable_rows(model)
        return rows[~(np.abs(rows) > 1e38).any(axis=1)]

    def path_dependent_game(self, model, rows):
        missing = model.get_params()["missing"] if hasattr(model, "get_params") else np.nan
        rows = np.where(to_float32(rows) == missing, np.nan, rows)
        return path_dependent_game(model, rows, np.zeros(model_margin(model, rows[:1]).shape[1]))

    def shap_values(self, name, model, rows):
        counted = (0, model.best_iteration + 1 if name == "early" else 0)
        data, bare, d = xgb.DMatrix(rows), model.get_booster(), X.shape[1]
        phi = bare.predict(data, pred_contribs=True, iteration_range=counted).reshape(len(rows), -1, d + 1)
        pairs = None
        if name not in VECTOR_LEAVES:
            pairs = bare.predict(data, pred_interactions=True, iteration_range=counted)
            pairs = pairs.reshape(len(rows), -1, d + 1, d + 1)[:, :, :-1, :-1].transpose(0, 2, 3, 1)
        return phi[:, :, :-1].transpose(0, 2, 1), phi[0, :, -1], pairs

    def reloaded(self, model, folder):
        for form in ("json", "ubj"):
            model.save_model(folder / f"model.{form}")
            loaded = type(model)(missing=model.missing)
            loaded.load_model(folder / f"model.{form}")
            yield loaded
            # A booster forgets the best iteration and the value that is missing.
            if not hasattr(model, "best_iteration") and np.isnan(model.missing):
                yield xgb.Booster(model_file=folder / f"model.{form}")

    def output(self, estimator, rows):
        if isinstance(estimator, xgb.Booster):
            return estimator.inplace_predict(rows).astype(float).reshape(len(rows), -1)
        return super().output(estimator, rows)


def test_models_are_what_their_names_say(model_of):
    assert len({weight for _, weight, _ in read_json(model_of("dart"))}) > 2
    trees = [tree for tree, _, _ in read_json(model_of("covers of other data"))]
    assert any((np.array(tree["sum_hessian"])[is_inner(tree)] == 0).any() for tree in trees)
    assert all(len(leaf_values(t)) == 1 for t, _, _ in read_json(model_of("constant trees")))
    assert len(read_json(model_of("parallel trees"))) == 24
    early = model_of("early")
    assert np.abs(model_margin(early, X) - model_margin(early.get_booster(), X)).max() > 0.01


def test_gblinear_is_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gblinear is deprecated.
        model = xgb.XGBRegressor(booster="gblinear", n_estimators=2).fit(np.nan_to_num(X), SIGNAL)
    with pytest.raises(ValueError, match="gblinear"):
        GlexDecomposer(model, max_interaction=None).fit(X)


def test_what_treelite_does_not_know_is_refused(monkeypatch, model_of):
    def refuse(booster):
        raise treelite.TreeliteError("unknown objective")

    monkeypatch.setattr("skglex._readers._xgboost._without_categories", refuse)
    with pytest.raises(
        ValueError, match=r"cannot read this XGBoost .* with the objective 'reg:squarederror'"
    ):
        GlexDecomposer(model_of("early"), max_interaction=None).fit(X)
