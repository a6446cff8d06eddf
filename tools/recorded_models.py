"""The models whose numbers `record_numbers.py` records: what they are trained on, and how they are taken apart."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import sklearn.ensemble as ske
import sklearn.tree as skt
import xgboost as xgb
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import skglex

# -- data: the first rows train, and are the background ------------------------------------------------

TRAIN, ROWS = 400, 3400
RNG = np.random.default_rng(0)
# Rounded, so that values lie on thresholds and are tied; the first two columns depend on each other.
FULL = RNG.normal(size=(ROWS, 6)).round(1)
FULL[:, 1] = (0.6 * FULL[:, 0] + 0.8 * FULL[:, 1]).round(1)
FULL[:, 3], FULL[:, 5] = RNG.integers(-2, 3, ROWS), RNG.integers(0, 9, ROWS)
SIGNAL = FULL[:, 0] * FULL[:, 1] + np.sin(2 * FULL[:, 2]) + (FULL[:, 3] > 0) * FULL[:, 4]
SIGNAL += np.isin(FULL[:, 5], [1, 3, 8]) + RNG.normal(scale=0.1, size=ROWS)
GAPS = np.where(RNG.random(FULL.shape) < 0.08, np.nan, FULL)
ZEROS = np.where(np.abs(GAPS) < 0.5, 0.0, GAPS)
FILLED = np.nan_to_num(GAPS, nan=-1)
WIDE = RNG.normal(size=(1100, 24)).round(2)
LETTERS = pd.Series(np.array(list("qwertzuio"))[FULL[:, 5].astype(int)])
RAW = pd.DataFrame(FULL[:, :5].round(), columns=["age", "hr per week", "c", "d", "e"]).assign(f=LETTERS)
# Categories as pandas has them: with missing values, and one that training does not see.
WORDS = LETTERS.mask(np.arange(ROWS) % 11 == 0).where(np.arange(ROWS) < ROWS - 9, "new").astype("category")
NAMED = pd.DataFrame(GAPS[:, :5], columns=RAW.columns[:5]).assign(f=WORDS)
KNOWN = NAMED.assign(f=LETTERS.astype("category"))
Y = SIGNAL[:TRAIN]
BINARY = (Y > 0.5).astype(int)
CODES = np.digitize(Y, [0, 1])
CLASSES = np.array(["low", "mid", "top"])[CODES]
POSITIVE = np.exp(Y / 2)
COUNTS = np.floor(POSITIVE)
TARGETS = np.column_stack([Y, FULL[:TRAIN, 0] - 2 * Y, POSITIVE])
WEIGHT = RNG.integers(0, 4, TRAIN).astype(float)
NOISE = WIDE[:TRAIN, :6].prod(axis=1) + WIDE[:TRAIN, 6:].sum(axis=1)

# -- models --------------------------------------------------------------------------------------------

XGB = {"n_estimators": 15, "max_depth": 4, "learning_rate": 0.3, "n_jobs": 1, "random_state": 0}
LGB = {"n_estimators": 15, "num_leaves": 10, "min_data_in_leaf": 5, "n_jobs": 1, "verbose": -1}
LGB |= {"random_state": 0, "deterministic": True, "min_data_per_group": 5, "cat_smooth": 1.0}
CAT = {"iterations": 12, "depth": 4, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
FOREST = {"n_estimators": 10, "max_depth": 5, "random_state": 0, "n_jobs": 1}
BOOST = {"n_estimators": 15, "max_depth": 3, "random_state": 0}
HIST = {"max_iter": 15, "max_leaf_nodes": 10, "min_samples_leaf": 5, "random_state": 0}
TREE = {"max_depth": 6, "random_state": 0}
PLANTED = {"n_estimators": 10, "n_splits": 30, "random_state": 0, "n_jobs": 2}


def fit(model: Any, y: Any = Y, X: Any = GAPS, **how: Any) -> Any:
    """Fit a model to the first rows."""
    return model.fit(X[:TRAIN], y, **how)


def xg(kind: str = "XGBRegressor", y: Any = Y, X: Any = GAPS, how: Any = None, **params: Any) -> Any:
    """Train a model of XGBoost."""
    return fit(getattr(xgb, kind)(**XGB | params), y, X, **how or {})


def lg(kind: str = "LGBMRegressor", y: Any = Y, X: Any = GAPS, how: Any = None, **params: Any) -> Any:
    """Train a model of LightGBM."""
    return fit(getattr(importlib.import_module("lightgbm"), kind)(**LGB | params), y, X, **how or {})


def cat(kind: str = "CatBoostRegressor", y: Any = Y, X: Any = GAPS, **params: Any) -> Any:
    """Train a model of CatBoost."""
    return fit(getattr(importlib.import_module("catboost"), kind)(**CAT | params), y, X)


def planted(kind: str = "Regressor", y: Any = Y, X: Any = GAPS, how: Any = None, **params: Any) -> Any:
    """Train a random planted forest."""
    return fit(getattr(skglex, f"RandomPlantedForest{kind}")(**PLANTED | params), y, X, **how or {})


def watched(y: Any = Y) -> dict[str, Any]:
    """Return what early stopping looks at: shuffled targets, which soon are fitted worse."""
    return {"eval_set": [(GAPS[300:TRAIN], np.random.default_rng(1).permutation(y[300:TRAIN]))]}


def light_early() -> Any:
    """Stop a model of LightGBM early."""
    stop = importlib.import_module("lightgbm").early_stopping(3, verbose=False)
    return lg(n_estimators=60, learning_rate=0.9, how={**watched(), "callbacks": [stop]})


def light_booster() -> Any:
    """Train a bare booster of LightGBM."""
    lgb = importlib.import_module("lightgbm")
    return lgb.train(LGB, lgb.Dataset(GAPS[:TRAIN], Y, categorical_feature=[5]), 15)


def voting(*members: Any, y: Any = Y, X: Any = FULL, kind: Any = ske.VotingRegressor, **params: Any) -> Any:
    """Fit a vote."""
    return fit(kind([(f"m{i}", member) for i, member in enumerate(members)], **params), y, X)


def one_hot(model: Any, y: Any) -> Any:
    """Fit a pipeline with encoded categories and scaled numbers."""
    encoder = OneHotEncoder(handle_unknown="ignore"), ["f", "c"]
    columns = make_column_transformer((StandardScaler(), ["age", "hr per week", "d"]), encoder)
    return fit(make_pipeline(columns, model), y, RAW)


def in_polars() -> Any:
    """Return the rows with names as a frame of polars."""
    return importlib.import_module("polars").from_pandas(KNOWN)


def from_xgboost() -> Any:
    """Import a model into treelite."""
    return importlib.import_module("treelite").frontend.from_xgboost(xg("XGBClassifier", CODES).get_booster())


def build_treelite(*, cover: bool) -> Any:
    """Build a treelite model of two outputs, categories and all kinds of comparisons."""
    parts, rng = importlib.import_module("treelite.model_builder"), np.random.default_rng(2)
    kind = {"num_feature": 6, "task_type": "kRegressor", "average_tree_output": False, "num_target": 2}
    builder = parts.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=parts.Metadata(**kind, num_class=[1, 1], leaf_vector_shape=(2, 1)),
        tree_annotation=parts.TreeAnnotation(num_tree=6, target_id=[-1] * 6, class_id=[0] * 6),
        postprocessor=parts.PostProcessorFunc("identity"),
        base_scores=[0.5, -1.0],
    )
    for _ in range(6):
        builder.start_tree()
        for node in range(31):
            builder.start_node(node)
            children = {"left_child_key": 2 * node + 1, "right_child_key": 2 * node + 2}
            children["default_left"] = bool(rng.random() < 0.5)
            column, listed = int(rng.integers(6)), np.flatnonzero(rng.random(9) < 0.4).tolist()
            operator, threshold = str(rng.choice(["<", "<=", ">", ">="])), round(rng.normal(), 1)
            if node >= 15:
                builder.leaf(rng.normal(size=2).tolist())
            elif column == 5:
                builder.categorical_test(5, category_list=listed, category_list_right_child=False, **children)
            else:
                builder.numerical_test(column, threshold, opname=operator, **children)
            if cover:
                builder.sum_hess(2.0 ** (5 - int(np.log2(node + 1))))
            builder.end_node()
        builder.end_tree()
    return builder.commit()


HIST_REG = partial(ske.HistGradientBoostingRegressor, **HIST)
HIST_CLF = partial(ske.HistGradientBoostingClassifier, **HIST)
RF, RFC = (partial(kind, **FOREST) for kind in (ske.RandomForestRegressor, ske.RandomForestClassifier))
GB, GBC = (partial(kind, **BOOST) for kind in (ske.GradientBoostingRegressor, ske.GradientBoostingClassifier))
DT, DTC = (partial(kind, **TREE) for kind in (skt.DecisionTreeRegressor, skt.DecisionTreeClassifier))
ISOLATION = partial(ske.IsolationForest, n_estimators=15, max_samples=40, random_state=0)
CLF, LGC, CTC = "XGBClassifier", "LGBMClassifier", "CatBoostClassifier"
SOFTMAX = {"nthread": 1, "max_depth": 4, "objective": "multi:softmax", "num_class": 3}
VECTORS = {"multi_strategy": "multi_output_tree", "n_estimators": 8}
LGB_RF = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6, "n_estimators": 8}

# By library; what is not said in `OPTIONS` takes the rows `GAPS`.
MODELS: dict[str, Callable[[], Any]] = {
    "xgboost regressor": xg,
    "xgboost weighted": lambda: xg(how={"sample_weight": WEIGHT}),
    "xgboost binary": lambda: xg(CLF, BINARY),
    "xgboost classes": lambda: xg(CLF, CODES, n_estimators=6),
    "xgboost targets": lambda: xg(y=TARGETS, n_estimators=6),
    "xgboost vector leaves": lambda: xg(y=TARGETS, **VECTORS),
    "xgboost vector leaves, classes": lambda: xg(CLF, CODES, **VECTORS),
    "xgboost dart": lambda: xg(booster="dart", rate_drop=0.5, one_drop=1),
    "xgboost poisson": lambda: xg(y=COUNTS, objective="count:poisson"),
    "xgboost gamma": lambda: xg(y=POSITIVE, objective="reg:gamma"),
    "xgboost tweedie": lambda: xg(y=COUNTS, objective="reg:tweedie"),
    "xgboost logistic": lambda: xg(y=BINARY, objective="reg:logistic"),
    "xgboost hinge": lambda: xg(CLF, BINARY, objective="binary:hinge"),
    "xgboost ranker": lambda: xg("XGBRanker", COUNTS.clip(0, 4), how={"qid": np.repeat(np.arange(10), 40)}),
    "xgboost forest": lambda: xg("XGBRFRegressor", learning_rate=1),
    "xgboost forest, classes": lambda: xg("XGBRFClassifier", CODES, learning_rate=1, n_estimators=6),
    "xgboost booster": lambda: xgb.train({"nthread": 1, "max_depth": 4}, xgb.DMatrix(GAPS[:TRAIN], Y), 12),
    "xgboost booster, softprob": lambda: xg(CLF, CODES, n_estimators=6).get_booster(),
    "xgboost booster, softmax": lambda: xgb.train(SOFTMAX, xgb.DMatrix(GAPS[:TRAIN], CODES), 6),
    "xgboost categories": lambda: xg(X=NAMED, enable_categorical=True),
    "xgboost categories, binary": lambda: xg(
        CLF, BINARY, NAMED, enable_categorical=True, max_cat_to_onehot=1
    ),
    "xgboost polars": lambda: xg(X=in_polars(), enable_categorical=True),
    "xgboost missing=-1": lambda: xg(X=FILLED, missing=-1),
    "xgboost early": lambda: xg(n_estimators=60, early_stopping_rounds=3, how={**watched(), "verbose": 0}),
    "xgboost early, classes": lambda: xg(
        CLF, CODES, n_estimators=60, early_stopping_rounds=3, how={**watched(CODES), "verbose": 0}
    ),
    "xgboost parallel trees": lambda: xg(num_parallel_tree=2, subsample=0.5, n_estimators=8),
    "xgboost lossguide": lambda: xg(grow_policy="lossguide", max_leaves=20),
    "xgboost stumps": lambda: xg(max_depth=1),
    "xgboost no trees": lambda: xg(CLF, CODES, n_estimators=0),
    "xgboost fitted here": lambda: xgb.XGBRegressor(**XGB),
    "xgboost fitted here, classes": lambda: xgb.XGBClassifier(**XGB | {"n_estimators": 6}),
    "xgboost frozen": lambda: FrozenEstimator(xg()),
    "xgboost deep": lambda: xg(y=NOISE, X=WIDE, max_depth=12, n_estimators=3),
    "xgboost deep, all orders": lambda: xg(y=NOISE, X=WIDE[:, :11], max_depth=12, n_estimators=3),
    "treelite of xgboost": from_xgboost,
    "treelite built": lambda: build_treelite(cover=True),
    "treelite without cover": lambda: build_treelite(cover=False),
    "treelite of a forest": lambda: importlib.import_module("treelite").sklearn.import_model(fit(RF())),
    "lightgbm regressor": lg,
    "lightgbm binary": lambda: lg(LGC, BINARY),
    "lightgbm classes": lambda: lg(LGC, CLASSES, n_estimators=6),
    "lightgbm one against all": lambda: lg(LGC, CLASSES, n_estimators=6, objective="multiclassova"),
    "lightgbm codes": lambda: lg(how={"categorical_feature": [5]}),
    "lightgbm categories": lambda: lg(LGC, BINARY, NAMED),
    "lightgbm zero_as_missing": lambda: lg(X=ZEROS, zero_as_missing=True),
    "lightgbm forest": lambda: lg(**LGB_RF),
    "lightgbm forest, classes": lambda: lg(LGC, CLASSES, **LGB_RF),
    "lightgbm dart": lambda: lg(boosting_type="dart", drop_rate=0.5, skip_drop=0.0),
    "lightgbm poisson": lambda: lg(y=COUNTS, objective="poisson"),
    "lightgbm cross entropy": lambda: lg(y=POSITIVE / (1 + POSITIVE), objective="cross_entropy_lambda"),
    "lightgbm sqrt": lambda: lg(reg_sqrt=True),
    "lightgbm ranker": lambda: lg("LGBMRanker", COUNTS.clip(0, 4), how={"group": [40] * 10}),
    "lightgbm booster": light_booster,
    "lightgbm early": light_early,
    "lightgbm wide": lambda: lg(y=NOISE, X=WIDE, num_leaves=255, min_data_in_leaf=1, n_estimators=2),
    "catboost regressor": cat,
    "catboost binary": lambda: cat(CTC, BINARY),
    "catboost classes": lambda: cat(CTC, CLASSES),
    "catboost one against all": lambda: cat(CTC, CLASSES, loss_function="MultiClassOneVsAll"),
    "catboost targets": lambda: cat(y=TARGETS, loss_function="MultiRMSE"),
    "catboost uncertainty": lambda: cat(loss_function="RMSEWithUncertainty"),
    "catboost poisson": lambda: cat(y=COUNTS, loss_function="Poisson"),
    "catboost depthwise": lambda: cat(grow_policy="Depthwise", nan_mode="Max"),
    "catboost lossguide": lambda: cat(CTC, BINARY, grow_policy="Lossguide"),
    "catboost categories": lambda: cat(X=KNOWN, cat_features=["f"], one_hot_max_size=20),
    "sklearn forest": lambda: fit(RF()),
    "sklearn forest, binary": lambda: fit(RFC(), BINARY),
    "sklearn forest, classes": lambda: fit(RFC(), CLASSES),
    "sklearn forest, targets": lambda: fit(RF(), TARGETS),
    "sklearn forest, pure": lambda: fit(RF(n_estimators=4, max_depth=None)),
    "sklearn forest, wide": lambda: fit(RF(n_estimators=2, max_depth=None, max_features=2), NOISE, WIDE),
    "sklearn extra trees": lambda: fit(ske.ExtraTreesRegressor(**FOREST)),
    "sklearn extra trees, classes": lambda: fit(ske.ExtraTreesClassifier(**FOREST), CLASSES),
    "sklearn boosting": lambda: fit(GB(), X=FULL),
    "sklearn boosting, exponential": lambda: fit(GBC(loss="exponential"), BINARY, FULL),
    "sklearn boosting, classes": lambda: fit(GBC(), CLASSES, FULL),
    "sklearn hist": lambda: fit(HIST_REG()),
    "sklearn hist, binary": lambda: fit(HIST_CLF(), BINARY),
    "sklearn hist, classes": lambda: fit(HIST_CLF(max_iter=6), CLASSES),
    "sklearn hist, codes": lambda: fit(HIST_REG(categorical_features=[5])),
    "sklearn hist, categories": lambda: fit(HIST_REG(categorical_features="from_dtype"), X=NAMED),
    "sklearn hist, poisson": lambda: fit(HIST_REG(loss="poisson"), POSITIVE),
    "sklearn tree": lambda: fit(DT()),
    "sklearn tree, classes": lambda: fit(DTC(), CLASSES),
    "sklearn extra tree, binary": lambda: fit(skt.ExtraTreeClassifier(**TREE), BINARY > 0),
    "sklearn adaboost, refused": lambda: fit(ske.AdaBoostRegressor(random_state=0), X=FULL),
    "sklearn bagging": lambda: fit(ske.BaggingRegressor(DT(), 4, max_features=4, random_state=0)),
    "sklearn bagging, classes": lambda: fit(ske.BaggingClassifier(DTC(), 3, random_state=0), CLASSES),
    "sklearn voting": lambda: voting(RF(n_estimators=4), GB(), HIST_REG(), weights=[1, 2, 0.5]),
    "sklearn voting, xgboost": lambda: voting(xgb.XGBRegressor(**XGB), HIST_REG(), DT(), X=GAPS),
    "sklearn voting, classes": lambda: voting(
        RFC(n_estimators=4), DTC(), y=CLASSES, kind=ske.VotingClassifier, voting="soft"
    ),
    "sklearn isolation": lambda: fit(ISOLATION(), None),
    "sklearn isolation, features": lambda: fit(ISOLATION(max_features=4, contamination=0.1), None, FULL),
    "sklearn pipeline, scaled": lambda: fit(make_pipeline(StandardScaler(), RF())),
    "sklearn pipeline, one-hot": lambda: one_hot(GBC(), BINARY),
    "sklearn pipeline, pairs": lambda: one_hot(RF(n_estimators=5), Y),
    "sklearn pipeline, mixed": lambda: fit(make_pipeline(PolynomialFeatures(2), DT()), X=FULL),
    "sklearn pipeline, fitted here": lambda: make_pipeline(StandardScaler(), RF(n_estimators=5)),
    "planted regressor": planted,
    "planted all orders": lambda: planted(max_interaction=None, max_bins=None, delete_leaves=False),
    "planted targets": lambda: planted(y=TARGETS, how={"sample_weight": WEIGHT}, min_samples_leaf=3),
    "planted categories": lambda: planted("Classifier", CLASSES, NAMED, n_splits=15),
    "planted warm": lambda: fit(planted(warm_start=True, bootstrap=False).set_params(n_estimators=13)),
}
for _loss in ("log_loss", "exponential", "squared_error", "absolute_error"):
    MODELS[f"planted binary, {_loss}"] = partial(planted, "Classifier", BINARY, n_splits=15, loss=_loss)
    MODELS[f"planted classes, {_loss}"] = partial(planted, "Classifier", CLASSES, n_splits=15, loss=_loss)

PAIRS = {"max_interaction": 2, "n_background": 120, "random_state": 0}
# What differs from the rule, by a part of the name: the rows, what is removed, how decomposers are made, and of what
# is large, that only some of it is recorded.
OPTIONS: dict[str, dict[str, Any]] = {
    "categories": {"X": NAMED, "remove": ["f", "hr per week"]},
    "polars": {"X": in_polars, "remove": ["f", "hr per week"]},
    "catboost categories": {"X": KNOWN},
    "codes": {"remove": [5]},
    "zero_as_missing": {"X": ZEROS},
    "missing=-1": {"X": FILLED},
    "deep": {"X": WIDE, "params": PAIRS, "brief": True},
    "wide": {"X": WIDE, "params": PAIRS, "brief": True},
    "deep, all orders": {"X": WIDE[:, :11], "params": {"n_background": 200, "random_state": 0}},
    "treelite built": {"X": FULL},
    "treelite without": {"X": FULL},
    "sklearn boosting": {"X": FULL},
    "adaboost": {"X": FULL},
    "sklearn voting": {"X": FULL},
    "voting, xgboost": {"X": GAPS},
    "isolation, features": {"X": FULL},
    "pure": {"params": {"max_interaction": 3}, "brief": True},
    "one-hot": {"X": RAW, "remove": ["f", "d"]},
    "pipeline, pairs": {"X": RAW, "remove": ["c", "standardscaler__age"], "params": {"max_interaction": 2}},
    "pipeline, mixed": {"X": FULL, "remove": [0], "params": {"max_interaction": 2}},
    "fitted here": {"y": Y},
    "fitted here, classes": {"y": CLASSES},
}
DRAWN = ["xgboost regressor", "xgboost classes", "lightgbm categories", "sklearn boosting, exponential"]
DRAWN += ["xgboost categories, binary", "planted regressor"]


def options_of(name: str) -> dict[str, Any]:
    """Return what holds for one model."""
    options: dict[str, Any] = {"X": GAPS, "remove": [0, 3], "params": {}, "y": None, "brief": False}
    for part, own in OPTIONS.items():
        options |= own if part in name else {}
    X = options["X"]
    return {**options, "X": X() if callable(X) else X, "drawn": name in DRAWN}
