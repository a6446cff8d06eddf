"""Provide a data frame of people, whose sex is removed, and a model and a pipeline trained on it."""

import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.support.small_models import small

RNG = np.random.default_rng(1)
N = 400
FRAME = pd.DataFrame(
    {
        "sex": RNG.integers(0, 2, size=N).astype(float),
        "age": RNG.normal(40, 10, size=N),
        "hours": RNG.normal(size=N),
        "noise": RNG.normal(size=N),
    }
)
FRAME.loc[RNG.random(N) < 0.1, "age"] = np.nan
Y = 2 * FRAME["sex"] * (1 + FRAME["hours"]) + FRAME["age"].fillna(40) / 10 + RNG.normal(size=N)
MODEL = xgb.XGBRegressor(n_estimators=30, max_depth=4, n_jobs=1).fit(FRAME, Y)


PEOPLE = FRAME.assign(sex=np.where(FRAME["sex"] == 1, "man", "woman"), age=FRAME["age"].fillna(40))


def people_pipeline(**names):
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), ["sex"]), remainder=StandardScaler(), **names),
        small(),
    )
