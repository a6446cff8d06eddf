"""ONNX models agree with the debiased leaves, summed one by one in NumPy."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import treelite
import xgboost as xgb
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier

from skglex._input import InputSpec
from skglex._readers import SourceModel
from skglex._readers._treelite import from_treelite
from skglex._response import Response
from skglex.export._onnx import onnx_model
from tests.export.debiased_models import (
    FRAME,
    LABELS,
    MODELS,
    N,
    X,
    Y,
    assert_float32_close,
    categorical,
    classifier,
    codes,
    debias,
    debiased_margin,
    is_frame,
    leaf_weights,
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


def test_missing_value_of_the_model(run_onnx):
    rows = np.where(np.isnan(X), -999, X)
    model = regressor(missing=-999).fit(rows, Y)
    source = read(model)
    exported = onnx_model(source)
    assert_float32_close(run_onnx(exported, rows)["variable"][:, 0], model.predict(rows))


@pytest.mark.parametrize(
    ("labels", "link", "names"),
    [
        (Y > 0, "sigmoid", np.array([3, 7])),
        (Y > 0, "sigmoid", np.array([False, True])),
        (LABELS, "softmax", np.array(["low", "mid", "high"])),
    ],
)
def test_classifier(labels, link, names, run_onnx):
    model = classifier().fit(X, labels)
    source = read(model)
    result = run_onnx(onnx_model(with_response(source, link=link, classes=names)), X)
    assert list(result) == ["label", "probabilities", "margin"]
    np.testing.assert_allclose(result["probabilities"], model.predict_proba(X), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(result["label"], names[model.predict(X)])


def test_links(run_onnx):
    model = MODELS["poisson"]()
    source = read(model)
    result = run_onnx(onnx_model(source), X)
    np.testing.assert_allclose(result["variable"][:, 0], model.predict(X), rtol=1e-5)
    result = run_onnx(onnx_model(with_response(source, link="hinge")), X)
    np.testing.assert_array_equal(result["variable"], result["margin"] > 0)
    model = MODELS["multi-class"]()
    result = run_onnx(onnx_model(with_response(read(model), link="max_index", classes=None)), X)
    np.testing.assert_array_equal(result["variable"][:, 0], result["margin"].argmax(axis=1))


def as_source(ensemble, classes=None):
    response = Response(n_outputs=ensemble.n_outputs, classes=classes)
    return SourceModel(ensemble, InputSpec(6), margin=None, output=None, response=response)


def test_other_comparisons(run_onnx):
    forest = RandomForestClassifier(5, max_depth=5, random_state=0).fit(X, LABELS)
    ensemble = from_treelite(treelite.sklearn.import_model(forest), as_float32=True)
    result = run_onnx(onnx_model(as_source(ensemble, forest.classes_)), X)
    np.testing.assert_allclose(result["probabilities"], forest.predict_proba(X), rtol=0, atol=1e-6)
    boosting = HistGradientBoostingRegressor(max_iter=10).fit(X, Y)
    ensemble = from_treelite(treelite.sklearn.import_model(boosting), as_float32=False)
    gone, weight = leaf_weights(ensemble, ensemble.grid.bin(X.T[ensemble.grid.features]), {0}, "empirical")
    result = run_onnx(onnx_model(as_source(ensemble), removed=gone, leaf_weight=weight), X)
    expected = debiased_margin(ensemble, ensemble.grid.bin(X.T[ensemble.grid.features]), gone, weight)
    assert_float32_close(result["variable"], expected)


def test_strength(run_onnx):
    model = regressor().fit(X, Y)
    source, gone, weight, debiased = debias(model, {0, 3})
    for strength in (0.0, 0.3, 1.0):
        exported = onnx_model(source, removed=gone, leaf_weight=weight, strength=strength)
        expected = (1 - strength) * model.predict(X) + strength * debiased[:, 0]
        assert_float32_close(run_onnx(exported, X)["variable"][:, 0], expected)


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
