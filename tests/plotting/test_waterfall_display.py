"""Draw how the margin of one row adds up."""

import numpy as np
import pytest
from xgboost import XGBRegressor

from skglex import GlexDecomposer
from skglex.inspection import contrast
from skglex.plotting import ImportanceDisplay, WaterfallDisplay

pytestmark = pytest.mark.usefixtures("plt")


def test_waterfall_adds_up(bike, bike_X):
    X, _ = bike_X
    display = WaterfallDisplay.from_decomposer(bike, X, row=8, k=5)
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
    display = WaterfallDisplay.from_decomposer(decomposer, X[:1])
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["intercept: 1", "prediction: 1"]
    for kind in ("component", "order"):
        assert ImportanceDisplay.from_decomposer(decomposer, kind).heights.sum() == 0


def test_waterfall_of_a_class(mixed):
    decomposer, X = mixed
    display = WaterfallDisplay.from_decomposer(decomposer, X[:1], output=2)
    margin = decomposer.estimator_.predict(X[:1], output_margin=True)[0, 2]
    assert display.intercept + display.values.sum() == pytest.approx(margin, abs=1e-4)


def test_one_of_several_rows_is_chosen(bike, bike_X):
    X, _ = bike_X
    with pytest.warns(
        FutureWarning, match="X has 3 rows, and a waterfall draws one: the first. Choose it with row=0"
    ):
        first = WaterfallDisplay.from_decomposer(bike, X[:3])
    chosen = WaterfallDisplay.from_decomposer(bike, X[:3], row=0)
    np.testing.assert_array_equal(first.values, chosen.values)
    with pytest.raises(ValueError, match="row must be a position from 0 to 2, since X ends there; got 3"):
        WaterfallDisplay.from_decomposer(bike, X[:3], row=3)
    with pytest.raises(ValueError, match=r"X has no rows\. Pass the row to draw"):
        WaterfallDisplay.from_decomposer(bike, X[:0])
    pairs = contrast(bike, X[:2], X[5:6])
    with pytest.warns(FutureWarning, match="the contrast has 2 rows"):
        pairs.plot()
    assert pairs.plot(row=1).ax_.get_title(loc="left").startswith("pair 1")
