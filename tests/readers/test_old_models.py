"""Read models that older releases of the libraries have saved; ``old_models/make_models.py`` wrote them there."""

import json
import pickle
import warnings
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose
from sklearn.exceptions import InconsistentVersionWarning

from skglex import GlexDecomposer
from tests.support.oracles import total

FOLDER = Path(__file__).parent / "old_models"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
FILES = sorted(file.name for file in FOLDER.iterdir() if file.suffix in (".json", ".ubj", ".txt", ".pkl"))
ROWS = np.array(EXPECTED["rows"])


def load(file):
    """Return a model, and rows as it was trained on."""
    path, rows = FOLDER / file, ROWS
    if file.startswith("lightgbm"):
        return lgb.Booster(model_file=str(path)), rows
    if file.startswith("sklearn"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            try:
                model = pickle.loads(path.read_bytes())
                model.predict(np.array(EXPECTED["rows without gaps"]))
            except Exception as error:
                pytest.skip(f"this scikit-learn does not load the file: {error}")
        return model, np.array(EXPECTED["rows without gaps"]) if "isolation" in file else rows
    model = xgb.XGBClassifier() if "logistic" in file or "softprob" in file else xgb.XGBRegressor()
    model.load_model(path)
    if "categories" in file:
        rows = pd.DataFrame(ROWS, columns=["a", "b", "c"])
        rows["c"] = pd.Categorical.from_codes(ROWS[:, 2].astype(int), ["w", "x", "y", "z"])
    if "missing" in file:
        rows, model = np.nan_to_num(ROWS, nan=-999.0), model.set_params(missing=-999.0)
    return model, rows


# XGBoost 3.4 says of files with dropout that the booster "dart" is deprecated.
@pytest.mark.filterwarnings("ignore:.*`booster=dart` is deprecated")
@pytest.mark.parametrize("file", [file for file in FILES if file != "expected.json"])
def test_files_of_older_releases(file):
    """Base scores, categories and missing values count as in the release that made the model."""
    model, rows = load(file)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(rows)
    found, expected = total(decomposer, rows), np.array(EXPECTED[file.rpartition(".")[0]])
    if "isolation" in file:
        found = decomposer._fitted.source.response.scores(found)
    # XGBoost sums in float32.
    bound = 2e-6 if file.startswith("xgboost") else 1e-12
    assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=bound)
