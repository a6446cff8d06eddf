"""Read random planted forests."""

from functools import partial

import numpy as np

from skglex import RandomPlantedForestClassifier, RandomPlantedForestRegressor
from skglex._readers._registry import find_reader
from tests.readers.contract import ReaderContract
from tests.support.data import make_data, make_targets

X, SIGNAL = make_data(100)
TARGETS = make_targets(SIGNAL)
SMALL = {"n_estimators": 3, "n_splits": 8, "random_state": 0}

MODELS = {
    "regressor": lambda: RandomPlantedForestRegressor(**SMALL).fit(X, SIGNAL),
    "all orders": lambda: RandomPlantedForestRegressor(**SMALL, max_interaction=4).fit(X, SIGNAL),
    "classes": lambda: RandomPlantedForestClassifier(**SMALL).fit(X, TARGETS.classes),
} | {
    f"{loss}, {kind} classes": partial(
        lambda loss, y: RandomPlantedForestClassifier(**SMALL, loss=loss).fit(X, y), loss, y
    )
    for loss in ("log_loss", "exponential", "absolute_error")
    for kind, y in (("two", TARGETS.binary), ("three", TARGETS.classes))
}


class TestContract(ReaderContract):
    X = X
    special = (np.nan, np.inf, 0.0, -0.0, 1e39, -1e39, 1e300, 5e-46)
    without_cover = tuple(MODELS)
    without_onnx = tuple(MODELS)
    saved = tuple(MODELS)
    dependence = ("regressor", "all orders")

    def takes(self, model, value):
        return value != np.inf

    def margin(self, model, rows):
        return model._margin(rows)

    def thresholds(self, model):
        grid = find_reader(model)(model).ensemble.grid
        return [(j, t) for i, j in enumerate(grid.features) for t in grid.cuts_of(i)]
