"""Read random planted forests."""

from skglex import RandomPlantedForestClassifier, RandomPlantedForestRegressor
from skglex._readers._registry import find_reader
from tests.readers.contract import ReaderContract
from tests.support.data import make_data, make_targets

X, SIGNAL = make_data(100, missing=0)
TARGETS = make_targets(SIGNAL)
SMALL = {"n_estimators": 3, "n_splits": 8, "random_state": 0}

MODELS = {
    "regressor": lambda: RandomPlantedForestRegressor(**SMALL).fit(X, SIGNAL),
    "all orders": lambda: RandomPlantedForestRegressor(**SMALL, max_interaction=4).fit(X, SIGNAL),
    "two classes": lambda: RandomPlantedForestClassifier(**SMALL).fit(X, TARGETS.binary),
    "classes": lambda: RandomPlantedForestClassifier(**SMALL).fit(X, TARGETS.classes),
    "log loss": lambda: RandomPlantedForestClassifier(**SMALL, loss="log_loss").fit(X, TARGETS.classes),
}


class TestContract(ReaderContract):
    X = X
    special = (0.0, -0.0, 1e39, -1e39, 1e300, 5e-46)
    without_cover = tuple(MODELS)
    without_onnx = tuple(MODELS)
    saved = tuple(MODELS)
    dependence = ("regressor", "all orders")

    def margin(self, model, rows):
        margin = model.decision_function(rows) if hasattr(model, "classes_") else model.predict(rows)
        return margin.reshape(len(rows), -1)

    def thresholds(self, model):
        grid = find_reader(model)(model).ensemble.grid
        return [(j, t) for i, j in enumerate(grid.features) for t in grid.cuts_of(i)]
