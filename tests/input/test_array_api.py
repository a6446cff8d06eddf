"""Convert arrays of other libraries to NumPy's, with dispatch or without; refuse arrays on a GPU."""

import os
import subprocess
import sys

import numpy as np
import pytest
import sklearn
import xgboost as xgb
from sklearn.utils.fixes import parse_version

from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestRegressor

X = np.random.default_rng(0).normal(size=(200, 3))
Y = X[:, 0] * X[:, 1]
MODEL = xgb.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1).fit(X, Y)

DISPATCHED = """
import array_api_strict as other, numpy as np, sklearn
from sklearn.base import clone
from tests.input.test_array_api import MODEL, X, Y, FeatureRemover, GlexDecomposer, RandomPlantedForestRegressor
weight = np.arange(200.0)
estimators = [
    GlexDecomposer(MODEL), FeatureRemover(MODEL, [0]), GlexDecomposer(clone(MODEL)),
    RandomPlantedForestRegressor(3, random_state=0),
]
for estimator in estimators:
    y = None if getattr(estimator, "estimator", None) is MODEL else Y
    name = "transform" if hasattr(estimator, "transform") else "predict"
    expected = getattr(clone(estimator, safe=False) if y is not None else estimator, "fit")(X, y, sample_weight=weight)
    expected = getattr(expected, name)(X)
    for dispatch in (False, True):
        with sklearn.config_context(array_api_dispatch=dispatch):
            given = [None if part is None else other.asarray(part) for part in (X, y, weight)]
            out = getattr(estimator.fit(given[0], given[1], sample_weight=given[2]), name)(given[0])
            assert type(out) is np.ndarray and np.array_equal(out, expected), (estimator, dispatch)
"""


def test_dispatched_arrays():
    pytest.importorskip("array_api_strict")
    if parse_version(sklearn.__version__) < parse_version("1.7"):  # Later versions bring their own copy.
        pytest.importorskip("array_api_compat")
    env = {
        **os.environ,
        "SCIPY_ARRAY_API": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    run = subprocess.run([sys.executable, "-c", DISPATCHED], env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


class OnGPU:
    """Refuse the conversion to NumPy, as CuPy's arrays do."""

    shape, dtype, ndim = X.shape, X.dtype, 2

    def __array_namespace__(self, api_version=None):
        return np

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")


@pytest.mark.parametrize(
    "call",
    [
        GlexDecomposer(MODEL).fit,
        GlexDecomposer(MODEL).fit(X).transform,
        FeatureRemover(MODEL, [0]).fit(X).predict,
        RandomPlantedForestRegressor(3).fit(X, Y).predict,
    ],
)
def test_arrays_on_a_gpu_are_refused(call):
    with pytest.raises(TypeError, match="Please use"):
        call(OnGPU())
