"""Write the small models of this folder, and what they predict, with an older release of a library.

Run it once per environment, for instance with xgboost==1.7.6 and lightgbm==3.3.5, with xgboost==2.0.3, and with the
last two minor versions of scikit-learn: ``python make_models.py [folder]``.
"""

import json
import pickle
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np


def make_data():
    """Return rows with missing values and codes of categories, without and with gaps, and three targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).round(1)
    X[:, 2] = rng.integers(0, 4, 120)
    gaps = X.copy()
    gaps[rng.random(120) < 0.15, 0] = np.nan
    y = X[:, 0] * 2 + (X[:, 2] == 2) * 3 + 5
    return X, gaps, y, (y > 5).astype(int), np.digitize(y, [4, 6])


def write_xgboost(folder):
    """Write models as JSON, one also as UBJSON; yield the name of each and its margins."""
    import pandas as pd
    import xgboost as xgb

    X, gaps, y, binary, classes = make_data()
    frame = pd.DataFrame(gaps, columns=["a", "b", "c"])
    frame["c"] = pd.Categorical.from_codes(X[:, 2].astype(int), ["w", "x", "y", "z"])
    small = {"n_estimators": 4, "max_depth": 2}
    models = {
        "squared": (xgb.XGBRegressor(**small, base_score=3.5), gaps, y),
        "logistic": (xgb.XGBClassifier(**small, base_score=0.3), gaps, binary),
        "softprob": (xgb.XGBClassifier(**small), gaps, classes),
        "poisson": (
            xgb.XGBRegressor(**small, objective="count:poisson", base_score=2.0),
            gaps,
            abs(y).round(),
        ),
        "dart": (xgb.XGBRegressor(**small, booster="dart", rate_drop=0.3, seed=0), gaps, y),
        "categories": (xgb.XGBRegressor(**small, tree_method="hist", enable_categorical=True), frame, y),
        "missing": (xgb.XGBRegressor(**small, missing=-999.0), np.nan_to_num(gaps, nan=-999.0), y),
    }
    for name, (model, rows, target) in models.items():
        model.fit(rows, target)
        for ending in ("json", "ubj")[: 1 + (name == "logistic")]:
            model.save_model(str(folder / f"xgboost-{xgb.__version__}-{name}.{ending}"))
        yield f"xgboost-{xgb.__version__}-{name}", model.predict(rows[:25], output_margin=True)


def write_lightgbm(folder):
    """Write boosters as text; yield the name of each and its margins."""
    import lightgbm as lgb

    _, gaps, y, binary, classes = make_data()
    small = {"num_leaves": 5, "min_data_in_leaf": 5, "verbose": -1, "num_iterations": 4}
    models = {
        "regression": ({}, y),
        "binary": ({"objective": "binary", "sigmoid": 1.5}, binary),
        "multiclass": ({"objective": "multiclass", "num_class": 3}, classes),
        "zero_as_missing": ({"zero_as_missing": True}, y),
        "categorical": ({"categorical_feature": [2]}, y),
    }
    for name, (params, target) in models.items():
        model = lgb.train({**small, **params}, lgb.Dataset(gaps, target))
        model.save_model(str(folder / f"lightgbm-{lgb.__version__}-{name}.txt"))
        yield f"lightgbm-{lgb.__version__}-{name}", model.predict(gaps[:25], raw_score=True)


def write_sklearn(folder):
    """Pickle models that later versions load; yield the name of each and its predictions."""
    import sklearn
    from sklearn.ensemble import IsolationForest, RandomForestClassifier

    X, gaps, _, binary, _ = make_data()
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(gaps, binary)
    isolation = IsolationForest(n_estimators=3, max_samples=20, random_state=0).fit(X)
    for name, model in {"forest": forest, "isolation": isolation}.items():
        (folder / f"sklearn-{sklearn.__version__}-{name}.pkl").write_bytes(pickle.dumps(model))
    yield f"sklearn-{sklearn.__version__}-forest", forest.predict_proba(gaps[:25])[:, 1]
    yield f"sklearn-{sklearn.__version__}-isolation", isolation.score_samples(X[:25])


def main(folder):
    """Write the models of all libraries of this environment."""
    found = {"rows": make_data()[1][:25], "rows without gaps": make_data()[0][:25]}
    writers = {"xgboost": write_xgboost, "lightgbm": write_lightgbm}
    present = [write for name, write in writers.items() if find_spec(name)] or [write_sklearn]
    for write in present:
        found.update(write(folder))
    file = folder / "expected.json"
    before = json.loads(file.read_text()) if file.exists() else {}
    numbers = {name: np.asarray(values, dtype=float).tolist() for name, values in found.items()}
    file.write_text(json.dumps({**before, **numbers}, indent=None))


if __name__ == "__main__":
    np.nan = np.nan  # XGBoost 2.0 with NumPy 2
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
