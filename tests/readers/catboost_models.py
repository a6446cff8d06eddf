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


# How trees grow depends on the loss only through the number of outputs.
MODELS = {kind: partial(train, grow_policy="SymmetricTree") for kind, train in KINDS.items()} | {
    f"{kind}, {policy}": partial(KINDS[kind], grow_policy=policy)
    for kind in ("RMSE", "MultiRMSE", "Logloss", "MultiClass")
    for policy in POLICIES[1:]
}


def margin_of(model, rows):
    with np.errstate(over="ignore"):  # 1e39 is infinite in float32
        margin = cb.CatBoost.predict(model, rows, prediction_type="RawFormulaVal")
    return np.asarray(margin).reshape(len(rows), -1)


def to_json(model, folder):
    path = Path(folder) / "model.json"
    model.save_model(str(path), format="json")
    return json.loads(path.read_text())
