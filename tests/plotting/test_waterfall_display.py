"""Draw how the margin of one row adds up."""

import numpy as np
import pytest
from xgboost import XGBRegressor

from skglex import GlexDecomposer
from skglex.plotting import ImportanceDisplay, WaterfallDisplay

pytestmark = pytest.mark.usefixtures("plt")


def test_waterfall_adds_up(bike, bike_X):
    X, _ = bike_X
    display = WaterfallDisplay.from_decomposer(bike, X[8:], k=5)
    values = bike.transform(X[8:9])[0]
    bars_ = display.ax_.patches
    assert [p.get_width() for p in bars_] == pytest.approx(list(display.values))
    assert display.names[5].endswith("other components")
    assert display.names[6] == "remainder"
    assert sorted(np.abs(display.values[:5]))[::-1] == pytest.approx(sorted(np.abs(values[:-1]))[:-6:-1])
    assert bars_[0].get_x() == bike.intercept_
    total = bike.estimator_.predict(X[8:9])[0]
    assert bars_[-1].get_x() + bars_[-1].get_width() == pytest.approx(total, abs=1e-3)


def test_a_model_without_components_is_drawn():
    X = np.random.default_rng(0).normal(size=(50, 2))
    decomposer = GlexDecomposer(XGBRegressor(n_estimators=1).fit(X, np.ones(50))).fit(X)
    display = WaterfallDisplay.from_decomposer(decomposer, X)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["intercept: 1", "prediction: 1"]
    for kind in ("component", "order"):
        assert ImportanceDisplay.from_decomposer(decomposer, kind).heights.sum() == 0


def test_waterfall_of_a_class(mixed):
    decomposer, X = mixed
    display = WaterfallDisplay.from_decomposer(decomposer, X, output=2)
    margin = decomposer.estimator_.predict(X[:1], output_margin=True)[0, 2]
    assert display.intercept + display.values.sum() == pytest.approx(margin, abs=1e-4)
