"""Draw importances."""

import numpy as np
import pytest

from skglex import GlexDecomposer
from skglex._utils import budgets
from skglex.plotting import ImportanceDisplay
from tests.support.small_models import MODEL, X

pytestmark = pytest.mark.usefixtures("plt")


def test_importance_of_components(bike):
    display = ImportanceDisplay.from_decomposer(bike, k=7)
    strongest = bike.strongest_components(7)
    widths = [p.get_width() for p in display.ax_.patches]
    np.testing.assert_array_equal(widths, [c.importance for c in strongest])
    labels = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert labels == [" × ".join(c.features) for c in strongest]


def test_importance_by_order(bike, bike_X):
    X, _ = bike_X
    display = ImportanceDisplay.from_decomposer(bike, "order")
    absolute = np.abs(bike.transform(X))
    feature = display.names.index("workingday")
    for column, order in enumerate(display.orders):
        chosen = [
            i for i, c in enumerate(bike.components_) if "workingday" in c.features and c.order == order
        ]
        expected = absolute[:, chosen].sum(axis=1).mean() / order
        bar = display.ax_.containers[column][feature]
        assert bar.get_width() == pytest.approx(expected)
        assert bar.get_x() == pytest.approx(display.heights[feature, :column].sum())
    shap = display.ax_.containers[-1][feature].get_width()
    assert shap == pytest.approx(np.abs(bike.shap_values(X)[:, 4]).mean())


def test_importance_of_too_many_components(monkeypatch):
    """Main effects and pairs that are too many to list still have bars."""
    whole = GlexDecomposer(MODEL).fit(X)
    monkeypatch.setattr(budgets, "held_components", 3)
    few = GlexDecomposer(MODEL, max_components=3).fit(X)
    for kind in ("component", "order"):
        displays = [ImportanceDisplay.from_decomposer(d, kind, k=4) for d in (few, whole)]
        assert displays[0].names == displays[1].names
        np.testing.assert_allclose(displays[0].heights, displays[1].heights, rtol=1e-12)


def test_importance_of_classes(mixed):
    decomposer, _ = mixed
    one = ImportanceDisplay.from_decomposer(decomposer, output=0)
    assert one.heights.max() == decomposer.component_importances_[:, 0].max()
    total = ImportanceDisplay.from_decomposer(decomposer)
    assert total.heights.max() == decomposer.component_importances_.sum(axis=1).max()
    with pytest.raises(ValueError, match="kind must be"):
        ImportanceDisplay.from_decomposer(decomposer, "orders")


def test_the_label_says_which_orders_are_drawn():
    endings = {None: "prediction", 2: "; components of up to 2 features", 1: "; main effects only"}
    for most, ending in endings.items():
        decomposer = GlexDecomposer(MODEL, max_interaction=most).fit(X)
        assert ImportanceDisplay.from_decomposer(decomposer).label.endswith(ending)
