"""Train a model of every kind that CatBoost knows."""

import json
from functools import partial
from pathlib import Path

import catboost as cb
import numpy as np

from tests.support.data import make_data, make_targets

POLICIES = ["SymmetricTree", "Depthwise", "Lossguide"]
SMALL = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
# CatBoost sums a few dozen terms of size 1 in float64, in another order.
FLOAT64 = {"rtol": 1e-12, "atol": 1e-12}

X, SIGNAL = make_data()
_, BINARY, CLASSES, POSITIVE, COUNTS, TARGETS, LABELS = make_targets(SIGNAL)
BINARY = BINARY.astype(bool)


class SquaredError:
    def calc_ders_range(self, margin, y, weight):
        return [(y[i] - margin[i], -1.0) for i in range(len(y))]


def regressor(y=SIGNAL, rows=X, kind=cb.CatBoostRegressor, **params):
    return kind(**{**SMALL, **params}).fit(rows, y)


def classifier(y=BINARY, **params):
    return regressor(y, kind=cb.CatBoostClassifier, **params)


def base_class(y, loss, **params):
    return cb.CatBoost({**SMALL, "loss_function": loss, **params}).fit(X, y)


def ranker(**params):
    model = cb.CatBoostRanker(**{**SMALL, "loss_function": "QueryRMSE", **params})
    return model.fit(X, CLASSES, group_id=np.repeat(np.arange(10), 30))


KINDS = {
    "RMSE": lambda **p: regressor(**p),
    "Quantile": lambda **p: regressor(loss_function="Quantile:alpha=0.3", **p),
    "LogLinQuantile": lambda **p: regressor(POSITIVE, loss_function="LogLinQuantile", **p),
    "MultiQuantile": lambda **p: regressor(loss_function="MultiQuantile:alpha=0.2,0.8", **p),
    "Poisson": lambda **p: regressor(COUNTS, loss_function="Poisson", **p),
    "Tweedie": lambda **p: regressor(POSITIVE, loss_function="Tweedie:variance_power=1.4", **p),
    "RMSEWithUncertainty": lambda **p: regressor(loss_function="RMSEWithUncertainty", **p),
    "MultiRMSE": lambda **p: regressor(TARGETS, loss_function="MultiRMSE", **p),
    "Logloss": lambda **p: classifier(**p),
    "CrossEntropy": lambda **p: classifier(np.clip(SIGNAL, 0, 1), loss_function="CrossEntropy", **p),
    "MultiClass": lambda **p: classifier(CLASSES, **p),
    "MultiClass of two": lambda **p: classifier(loss_function="MultiClass", **p),
    "MultiClassOneVsAll": lambda **p: classifier(CLASSES, loss_function="MultiClassOneVsAll", **p),
    "MultiLogloss": lambda **p: classifier(LABELS, loss_function="MultiLogloss", **p),
    "ranker": ranker,
    "CatBoost, Logloss": lambda **p: base_class(BINARY, "Logloss", **p),
    "CatBoost, Poisson": lambda **p: base_class(COUNTS, "Poisson", **p),
}


def scaled(**params):
    model = regressor(**params)
    model.set_scale_and_bias(2.5, -3.0)
    return model


def early(use_best_model):
    noise = np.random.default_rng(0).permutation(SIGNAL[200:])
    model = cb.CatBoostRegressor(**{**SMALL, "iterations": 200, "learning_rate": 0.7})
    watched = {"eval_set": (X[200:], noise), "early_stopping_rounds": 5, "use_best_model": use_best_model}
    model.fit(X[:200], SIGNAL[:200], **watched)
    assert (model.tree_count_ == model.best_iteration_ + 1) == use_best_model
    return model


def shrunk():
    model = regressor(depth=1, iterations=3)
    model.shrink(ntree_end=1)
    return model


def stump():
    params = {"l2_leaf_reg": 1e9, "min_data_in_leaf": 300, "grow_policy": "Depthwise"}
    return regressor(np.repeat([0.0, 1.0], 150), **params)


# How trees grow depends on the loss only through the number of outputs.
MODELS = {kind: partial(train, grow_policy="SymmetricTree") for kind, train in KINDS.items()} | {
    f"{kind}, {policy}": partial(KINDS[kind], grow_policy=policy)
    for kind in ("RMSE", "MultiRMSE", "Logloss", "MultiClass")
    for policy in POLICIES[1:]
}
MODELS |= {f"scale and bias, {policy}": partial(scaled, grow_policy=policy) for policy in POLICIES} | {
    "missing last": partial(regressor, nan_mode="Max"),
    "missing forbidden": partial(regressor, rows=np.nan_to_num(X, nan=7.0), nan_mode="Forbidden"),
    "missing mode by feature": partial(
        regressor, per_float_feature_quantization=["0:nan_mode=Max", "1:nan_mode=Min"]
    ),
    "early, best model": partial(early, True),
    "early, all trees": partial(early, False),
    "no splits": stump,
    "shrunk": shrunk,
    "custom objective": partial(regressor, loss_function=SquaredError(), eval_metric="RMSE"),
}


def margin_of(model, rows):
    with np.errstate(over="ignore"):  # 1e39 is infinite in float32
        margin = cb.CatBoost.predict(model, rows, prediction_type="RawFormulaVal")
    return np.asarray(margin).reshape(len(rows), -1)


def to_json(model, folder):
    path = Path(folder) / "model.json"
    model.save_model(str(path), format="json")
    return json.loads(path.read_text())
