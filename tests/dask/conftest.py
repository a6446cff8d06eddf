"""Provide data and models for the tests of Dask collections."""

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier, XGBRegressor

from skglex import GlexDecomposer


@pytest.fixture(autouse=True)
def scheduler():
    dask = pytest.importorskip("dask", reason="needs dask: pip install 'skglex[dask]'")
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="session")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2]) + 0.1 * rng.normal(size=1000)
    return pd.DataFrame(X, columns=list("abcd"), index=2 * np.arange(1000)), y


@pytest.fixture(scope="session")
def model(data):
    X, y = data
    return XGBRegressor(n_estimators=20, max_depth=4, random_state=0).fit(X, y)


@pytest.fixture(scope="session")
def classifier(data):
    X, y = data
    return XGBClassifier(n_estimators=5, max_depth=3).fit(X, np.digitize(y, [-0.5, 0.5]))


@pytest.fixture(scope="session")
def local(data, model):
    return GlexDecomposer(model).fit(data[0])
