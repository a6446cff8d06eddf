"""Cut tables into Dask collections, and compare results of both."""

from itertools import pairwise

import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="needs dask: pip install 'skglex[dask]'")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'skglex[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="needs dask: pip install 'skglex[dask]'")

TOLERANCE = 1e-12
NAMES = ["a", "b", "c", "d"]


def as_frame(X):
    """Return five partitions of different lengths, one of them empty, with unknown divisions."""
    cuts = [0, 1, 400, 400, 900, 1000]
    parts = [X.iloc[a:b] for a, b in pairwise(cuts)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=X.iloc[:0])


def as_array(X):
    return da.from_array(X.to_numpy(), chunks=(300, 3))


def same(actual, expected):
    actual = actual.compute() if hasattr(actual, "compute") else actual
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=0, atol=TOLERANCE)


def compare(dec, local, rows, X):
    same(dec.intercept_, local.intercept_)
    for method in ["transform", "shap_values", "shap_interaction_values"]:
        lazy = getattr(dec, method)(rows)
        assert isinstance(lazy, da.Array)
        expected = getattr(local, method)(X)
        assert lazy.shape[1:] == expected.shape[1:]
        assert lazy.dtype == expected.dtype
        same(lazy, expected)
    same(dec.partial_dependence(["a", "c"], rows), local.partial_dependence(["a", "c"], X))
    same(dec["a"].evaluate(rows), local["a"].evaluate(X))
