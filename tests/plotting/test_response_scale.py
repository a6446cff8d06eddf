"""Displays on the scale of the response: what they draw beside brute force over the model's probabilities."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier

from skglex import GlexDecomposer
from skglex._utils import budgets
from skglex.inspection import response_components
from skglex.plotting import ComponentDisplay, ImportanceDisplay, ShapDisplay, WaterfallDisplay

pytestmark = pytest.mark.usefixtures("plt")
RNG = np.random.default_rng(6)
N = 120
X = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N), "c": RNG.integers(0, 2, N).astype(float)})
Y = np.where(X["a"] * X["b"] + X["c"] > 0.5, "yes", "no")
MODEL = HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5).fit(X, Y)
DECOMPOSER = GlexDecomposer(MODEL).fit(X)
ATOL = 1e-12


def mean_response(**values):
    return MODEL.predict_proba(X.assign(**values))[:, 1].mean()


def test_curves_and_bars_are_partial_dependence():
    display = ComponentDisplay.from_decomposer(DECOMPOSER, ["a", "c"], scale="response", X=X)
    assert display.axes_[0].get_ylabel().replace("\n", " ") == "effect on probability of class yes"
    curve, bars = display.panels
    middles = (curve.views[0].borders[1:] + curve.views[0].borders[:-1]) / 2
    expected = [mean_response(a=a) - mean_response() for a in middles[:: len(middles) // 8]]
    assert_allclose(curve.values[: len(middles)][:: len(middles) // 8], expected, rtol=0, atol=ATOL)
    assert_allclose(
        bars.values[:2], [mean_response(c=c) - mean_response() for c in (0, 1)], rtol=0, atol=ATOL
    )
    # The points of the rows lie on the curve.
    parts = response_components(DECOMPOSER, X, 1)
    assert_allclose(np.sort(curve.points[1]), np.sort(parts["a"]), rtol=0, atol=ATOL)


def test_maps_are_computed_at_quantiles_if_they_are_large(monkeypatch):
    monkeypatch.setattr(budgets, "picture_margins", 200.0 * N)
    display = ComponentDisplay.from_decomposer(DECOMPOSER, ("b", "a"), scale="response", units="per day")
    (panel,) = display.panels
    assert display.colorbar_.ax.get_ylabel() == "effect on probability of class yes (per day)"
    a, b = (np.asarray(view.borders[:-1]) for view in panel.views)
    assert len(a) * len(b) > 200
    n_levels = [np.unique(panel.values, axis=axis).shape[axis] for axis in (0, 1)]
    assert max(n_levels) <= 15
    first = mean_response(a=-9.0, b=-9.0) - mean_response(a=-9.0) - mean_response(b=-9.0) + mean_response()
    assert_allclose(panel.values[0, 0], first, rtol=0, atol=ATOL)


def test_components_that_the_margin_does_not_have():
    """The link makes features interact that no tree has on one path."""
    stumps = HistGradientBoostingClassifier(max_depth=1, max_iter=30, min_samples_leaf=5).fit(
        X, X["a"] + X["c"] > 0.3
    )
    decomposer = GlexDecomposer(stumps).fit(X)
    assert ("a", "c") not in decomposer
    display = ComponentDisplay.from_decomposer(decomposer, ("a", "c"), scale="response")
    assert np.abs(display.panels[0].values).max() > 1e-4
    with pytest.raises(ValueError, match="the model does not split on the feature 'b'"):
        ComponentDisplay.from_decomposer(decomposer, "b", scale="response")


def test_waterfall_ends_at_the_probability():
    display = WaterfallDisplay.from_decomposer(DECOMPOSER, X, row=3, scale="response", k=3)
    probability = MODEL.predict_proba(X[3:4])[0, 1]
    assert_allclose(display.intercept + display.values.sum(), probability, rtol=0, atol=ATOL)
    assert_allclose(display.intercept, mean_response(), rtol=0, atol=ATOL)
    assert display.ax_.get_xlabel() == "probability of class yes"
    assert display.names[-1] == "remainder"
    ticks = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert ticks[-1] == f"probability of class yes: {probability:.4g}"
    whole = WaterfallDisplay.from_decomposer(
        GlexDecomposer(MODEL, max_interaction=None).fit(X), X[:1], scale="response"
    )
    assert "remainder" not in whole.names


def test_shap_values_around_the_main_effect():
    display = ShapDisplay.from_decomposer(
        DECOMPOSER, "a", X, scale="response", subsample=10, target="default"
    )
    assert display.ax_.get_ylabel() == "SHAP value, probability of default"
    rows = np.sort(np.random.default_rng(0).choice(N, 10, replace=False))
    expected = DECOMPOSER.shap_values(X.iloc[rows], scale="response")[:, 0]
    assert_allclose(display.shap, expected, rtol=0, atol=ATOL)
    assert_allclose(display.main_effect[0], mean_response(a=-9.0) - mean_response(), rtol=0, atol=ATOL)


def test_importances_are_means_over_rows():
    parts = response_components(DECOMPOSER, X).abs().mean().drop(["intercept", "remainder"]).sort_values()
    display = ImportanceDisplay.from_decomposer(DECOMPOSER, scale="response")
    assert_allclose(display.heights[::-1, 0], parts, rtol=0, atol=ATOL)
    assert "probability of class yes" in display.ax_.get_xlabel()
    by_order = ImportanceDisplay.from_decomposer(DECOMPOSER, "order", scale="response")
    assert by_order.shap is None
    assert_allclose(by_order.heights.sum(), parts.sum(), rtol=0, atol=ATOL)
