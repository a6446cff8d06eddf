"""ONNX models agree with the debiased leaves, summed one by one in NumPy."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import xgboost as xgb

from skglex.export._onnx import onnx_model
from tests.export.debiased_models import (
    FRAME,
    MODELS,
    N,
    X,
    Y,
    assert_float32_close,
    categorical,
    codes,
    debias,
    is_frame,
    read,
    regressor,
    rows_of,
)


def with_response(source, **changes):
    return replace(source, response=replace(source.response, **changes))


@pytest.mark.parametrize("name", MODELS)
def test_margin_is_the_debiased_margin(name, run_onnx):
    model = MODELS[name]()
    removed = {0, 6} if is_frame(model) else {0, 3}
    source, gone, weight, expected = debias(model, removed)
    exported = onnx_model(with_response(source, classes=None), removed=gone, leaf_weight=weight)
    rows = codes(rows_of(model))
    result = run_onnx(exported, rows)
    assert set(result) == {"variable", "margin"}
    assert_float32_close(result["margin"], expected)
    other = rows.copy()
    other[:, list(removed)] = np.nan
    np.testing.assert_array_equal(run_onnx(exported, other)["margin"], result["margin"])


def test_rows_on_thresholds(run_onnx):
    model = regressor(tree_method="exact").fit(X, Y)
    source = read(model)
    exported = onnx_model(source)
    grid = source.ensemble.grid
    cuts = grid.cuts_of(0).astype(np.float32).astype(float)
    values = np.concatenate([f(cuts) for f in (lambda c: c, lambda c: np.nextafter(c, -np.inf))])
    values = np.concatenate([values, cuts.astype(np.float32) - np.float32(1e-6), [np.inf, -np.inf, np.nan]])
    rows = np.tile(X[:1], (len(values), 1))
    rows[:, grid.features[0]] = values
    expected = model.predict(rows)
    assert_float32_close(run_onnx(exported, rows)["variable"][:, 0], expected)
    single = onnx_model(source, input_dtype=np.float32)
    assert_float32_close(run_onnx(single, rows.astype(np.float32))["variable"][:, 0], expected)


def test_unseen_categories(run_onnx):
    model = categorical(1)
    source = read(model)
    rows = codes(FRAME)
    rows[:, 7] = np.resize([-1, 12, 40, 1e9, 0.5, np.nan, 3], N)
    data = xgb.DMatrix(rows, feature_names=list(FRAME), feature_types=model.get_booster().feature_types)
    expected = model.get_booster().predict(data)
    result = run_onnx(onnx_model(source), rows)
    assert_float32_close(result["variable"][:, 0], expected)


def test_errors(monkeypatch):
    pytest.importorskip("onnx")
    model = regressor().fit(X, Y)
    source = read(model)
    with pytest.raises(ValueError, match="input_dtype must be float64 or float32"):
        onnx_model(source, input_dtype=np.int64)
    with pytest.raises(ValueError, match="inverse link 'probit' cannot be exported"):
        onnx_model(with_response(source, link="probit"))
    with pytest.raises(ValueError, match="1 outputs and the classes"):
        onnx_model(with_response(source, classes=np.arange(3)))
    two_labels = read(regressor(objective="binary:logistic").fit(X, np.column_stack([Y, -Y]) > 0))
    with pytest.raises(ValueError, match="2 outputs and the classes"):
        onnx_model(with_response(two_labels, classes=np.arange(2)))
    with pytest.raises(ValueError, match="expected integers, booleans or strings"):
        onnx_model(with_response(source, classes=np.array([0.5, 1.5])))
    with pytest.raises(ValueError, match="together"):
        onnx_model(source, leaf_weight=np.ones(3))
    empty = xgb.train({}, xgb.DMatrix(X, Y), num_boost_round=0)
    with pytest.raises(ValueError, match="without trees"):
        onnx_model(read(empty))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"skglex\[onnx\]"):
        onnx_model(source)
