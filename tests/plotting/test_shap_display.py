"""Draw the SHAP values of a feature."""

import numpy as np
import pytest

from skglex.plotting import ShapDisplay
from tests.plotting.drawn import stairs

matplotlib = pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("plt")


def test_shap_values_and_main_effect(bike, bike_X):
    X, _ = bike_X
    rows = X[:300]
    display = ShapDisplay.from_decomposer(bike, "temp", rows)
    (points,) = display.ax_.collections
    expected = np.column_stack([rows["temp"], bike.shap_values(rows)[:, 2]])
    np.testing.assert_allclose(points.get_offsets(), expected)
    ((values, edges),) = stairs(display.ax_)
    np.testing.assert_array_equal(values, display.main_effect)
    at = (edges[1:] + edges[:-1]) / 2
    many = rows.iloc[np.zeros(len(at), int)].assign(temp=at)
    np.testing.assert_allclose(values, bike["temp"].evaluate(many))


def test_shap_colours(mixed):
    decomposer, X = mixed
    for feature, colour_by in [("age", "colour"), ("colour", "size"), ("size", "age")]:
        display = ShapDisplay.from_decomposer(
            decomposer, feature, X, output=2, colour_by=colour_by, subsample=500
        )
        drawn = [c for c in display.ax_.collections if isinstance(c, matplotlib.collections.PathCollection)]
        assert sum(len(c.get_offsets()) for c in drawn) == 500
