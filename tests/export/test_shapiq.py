"""Export to shapiq.InteractionValues, and draw them with shapiq."""

import sys

import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose

from skglex import GlexDecomposer
from skglex.export import to_shapiq
from tests.export.models import CLASSES, MODEL, X


@pytest.fixture(scope="module")
def shapiq():
    return pytest.importorskip("shapiq")


def test_values_are_the_components(shapiq):
    dec = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    T = dec.transform(X[:5])
    rows = to_shapiq(dec, X[:5])
    assert len(rows) == 5
    for row, expected in zip(rows, T):
        assert isinstance(row, shapiq.InteractionValues)
        assert (row.index, row.n_players, row.min_order, row.max_order) == ("Moebius", 4, 0, 3)
        assert row.baseline_value == dec.intercept_
        for component, value in zip(dec.components_, expected):
            key = tuple(dec.explained_features_.index(name) for name in component.features)
            assert row[key] == pytest.approx(value, abs=1e-12)
        assert row[()] == dec.intercept_
    margin = MODEL.predict(X[:5], output_margin=True)
    assert_allclose([row.values.sum() for row in rows], margin, atol=1e-5)


def test_order(shapiq):
    dec = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    row = to_shapiq(dec, X[:1], order=1)[0]
    assert row.max_order == 1
    assert_allclose([row[(i,)] for i in range(4)], [dec[f"x{i}"].evaluate(X[:1])[0] for i in range(4)])
    limited = GlexDecomposer(MODEL, max_interaction=2).fit(X)
    assert to_shapiq(limited, X[:1])[0].max_order == 2
    row = to_shapiq(limited, X[:1], order=3)[0]
    assert_allclose(row[(0, 1, 2)], dec["x0:x1:x2"].evaluate(X[:1])[0], atol=1e-12)


def test_several_outputs(shapiq):
    dec = GlexDecomposer(CLASSES, max_interaction=None).fit(X)
    margin = CLASSES.predict(X[:3], output_margin=True)
    for label in (0, 1, 2):
        rows = to_shapiq(dec, X[:3], output=label)
        assert_allclose([row.values.sum() for row in rows], margin[:, label], atol=1e-5)


@pytest.mark.filterwarnings("ignore")  # shapiq warns.
@pytest.mark.usefixtures("plt")
def test_shapley_values_and_plots(shapiq):
    dec = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    row = to_shapiq(dec, X[:1])[0]
    phi = [sum(row[s] / len(s) for s in row.interaction_lookup if k in s) for k in range(4)]
    assert_allclose(phi, dec.shap_values(X[:1])[0], atol=1e-12)
    names = dec.explained_features_
    row.plot_waterfall(feature_names=names, show=False)
    row.plot_force(feature_names=names, show=False)
    row.plot_network(feature_names=names, show=False)
    row.plot_upset(feature_names=names, show=False)


def test_no_components(shapiq):
    constant = xgb.XGBRegressor(n_estimators=2, gamma=100).fit(X, np.ones(200))
    (row,) = to_shapiq(GlexDecomposer(constant, max_interaction=None).fit(X), X[:1])
    assert row[()] == row.values.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (MODEL, {"order": 0}, "order must be an integer of at least 1"),
        (MODEL, {"output": 1}, "the model has a single output"),
        (CLASSES, {}, r"output must be one of \[0, 1, 2\]; got None"),
        (CLASSES, {"output": 5}, r"output must be one of \[0, 1, 2\]; got 5"),
    ],
)
def test_bad_input(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        to_shapiq(GlexDecomposer(model, max_interaction=None).fit(X), X[:1], **arguments)


def test_without_shapiq(monkeypatch):
    monkeypatch.setitem(sys.modules, "shapiq", None)
    with pytest.raises(ImportError, match=r"needs shapiq.*pip install 'skglex\[shapiq\]'"):
        to_shapiq(GlexDecomposer(MODEL, max_interaction=None).fit(X), X[:1])
