"""Write model files of each library, and tables of the same rows, once."""

import pickle
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skglex._command_line import main

FEATURES = ["age", "job", "zone", "sex"]
CATEGORIES = ["job", "zone", "sex"]


def make_people():
    """Return rows with an id, a number with gaps, categories (texts that look like numbers or gaps), and a target."""
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame(
        {
            "id": np.arange(n) + 1000,
            "age": rng.integers(18, 80, n).astype(float),
            "job": rng.choice(["NA", "01", "02"], n),
            "zone": rng.choice([1, 2, 7], n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    score = (frame["job"] == "NA") + (frame["sex"] == "m") * (frame["age"] > 40) + (frame["zone"] == 7) / 2
    frame["bought"] = (score + rng.normal(0, 0.3, n) > 0.8).astype(int)
    frame.loc[::7, "age"] = np.nan
    return frame


def write_models(folder, frame):
    """Write a model of every kind; return, by the name of the file, what it predicts on the margin scale."""
    X, y = frame[FEATURES].astype(dict.fromkeys(CATEGORIES, "category")), frame["bought"]
    margins = {}
    model = xgb.XGBClassifier(n_estimators=8, max_depth=3, enable_categorical=True, early_stopping_rounds=2)
    noise = np.random.default_rng(1).permutation(y)
    model.fit(X, y, eval_set=[(X, noise)], verbose=False)  # Only the first of its trees count.
    model.save_model(folder / "wrapper.json")
    margins["wrapper.json"] = model.predict(X, output_margin=True)
    booster = xgb.train({"max_depth": 3}, xgb.DMatrix(X, y, enable_categorical=True), 8)
    booster.save_model(folder / "booster.ubj")
    margins["booster.ubj"] = booster.predict(xgb.DMatrix(X, enable_categorical=True))
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), CATEGORIES), remainder="passthrough"
    )
    # A pipeline takes what pandas reads from a CSV file.
    plain = pd.read_csv(folder / "rows.csv")[FEATURES]
    pipeline = make_pipeline(encoder, RandomForestClassifier(5, max_depth=3, random_state=0)).fit(plain, y)
    joblib.dump(pipeline, folder / "pipeline.joblib.gz")
    margins["pipeline.joblib.gz"] = pipeline.predict_proba(plain)[:, 1]
    boosting = HistGradientBoostingRegressor(max_iter=8, categorical_features="from_dtype").fit(X, y)
    (folder / "boosting.pkl").write_bytes(pickle.dumps(boosting))
    margins["boosting.pkl"] = boosting.predict(X)
    return margins


def write_optional_models(folder, frame, margins):
    """Write models of the libraries that are installed."""
    X, plain, y = (
        frame[FEATURES].astype(dict.fromkeys(CATEGORIES, "category")),
        frame[FEATURES],
        frame["bought"],
    )
    try:
        import lightgbm as lgb
    except ImportError:
        pass
    else:
        booster = lgb.train({"num_leaves": 7, "verbose": -1}, lgb.Dataset(X, y), 8)
        booster.save_model(folder / "light.txt")
        margins["light.txt"] = booster.predict(X)
    try:
        import catboost as cb
    except ImportError:
        pass
    else:
        options = {
            "iterations": 8,
            "depth": 3,
            "max_ctr_complexity": 1,
            "verbose": 0,
            "allow_writing_files": False,
        }
        model = cb.CatBoostClassifier(cat_features=CATEGORIES, **options).fit(plain, y)
        model.save_model(str(folder / "cat.cbm"))
        model.save_model(str(folder / "cat.json"), format="json")
        margins["cat.cbm"] = margins["cat.json"] = model.predict(plain, prediction_type="RawFormulaVal")
    try:
        import skops.io as sio
    except ImportError:
        pass
    else:
        sio.dump(joblib.load(folder / "pipeline.joblib.gz"), folder / "pipeline.skops")
        margins["pipeline.skops"] = margins["pipeline.joblib.gz"]


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Provide the folder, the rows, and the margins by the name of the model's file."""
    folder = tmp_path_factory.mktemp("files")
    frame = make_people()
    frame.to_csv(folder / "rows.csv", index=False)
    margins = write_models(folder, frame)
    write_optional_models(folder, frame, margins)
    return SimpleNamespace(folder=folder, frame=frame, margins=margins)


@pytest.fixture
def run(files, tmp_path, monkeypatch, capsys):
    """Return a function that runs a command in the folder of the files, and returns exit code, stdout and stderr."""
    monkeypatch.chdir(files.folder)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return SimpleNamespace(code=code, **dict(zip(("out", "err"), capsys.readouterr())))

    return run
