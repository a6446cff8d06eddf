"""Divide the axes of a picture into cells."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from skglex import GlexDecomposer
from skglex._decomposition import Rows, cells_of_component, component_values, drawable_cells, explained
from skglex._utils import budgets
from skglex.export import load_components, save_components
from skglex.plotting._panels import make_panels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
X[RNG.random(X.shape) < 0.1] = np.nan
Z = np.nan_to_num(X)
FOREST = RandomForestRegressor(3, random_state=0).fit(X, np.c_[Z[:, 0] * Z[:, 1] * Z[:, 2], Z[:, 1]])
TOLERANCE = {"rtol": 0, "atol": 1e-13}  # rounding of sums of leaves


@pytest.mark.parametrize("table_cells", [10, 1 << 21])  # streamed; tabulated
@pytest.mark.parametrize("stored", [False, True])
def test_too_many_cells_for_a_picture(table_cells, stored, monkeypatch, tmp_path):
    """A joined cell has the exact value at one of its bins."""
    monkeypatch.setattr(budgets, "table_cells", table_cells)
    source = GlexDecomposer(FOREST, max_interaction=3).fit(X)
    if stored:
        save_components(source, tmp_path / "components.npz")
        source = load_components(tmp_path / "components.npz")
    view, rows = explained(source), Rows(source, X)
    for component in (source["x0", "x1"], source["x0", "x1", "x2"]):
        fine = cells_of_component(source, component)
        assert all(a is b for a, b in zip(drawable_cells(fine, view.n_outputs), fine))
        table = component_values(view, component, fine)
        monkeypatch.setattr(budgets, "picture_cells", 1000)
        monkeypatch.setattr(budgets, "coarse_cells", 30**2)
        axes = drawable_cells(fine, view.n_outputs)
        assert all(8 < axis.n_cells <= 32 < whole.n_cells for axis, whole in zip(axes, fine))
        found = component_values(view, component, axes)
        assert found.shape == (*(axis.n_cells for axis in axes), 2)
        np.testing.assert_allclose(found, table[np.ix_(*(axis.table_bins for axis in axes))], **TOLERANCE)
        for axis, whole in zip(axes, fine):
            numbers = axis.numbers(rows)
            cell = np.searchsorted(axis.edges, numbers, side="right")
            np.testing.assert_array_equal(axis.find(rows), np.where(np.isnan(numbers), axis.missing, cell))
            np.testing.assert_allclose(axis.shares.sum(), whole.shares.sum(), **TOLERANCE)
        monkeypatch.undo()
        monkeypatch.setattr(budgets, "table_cells", table_cells)


def test_too_many_cells_of_a_group(monkeypatch):
    """The axes of a group are none of a table, so the component is evaluated at the cells that are drawn."""
    source = GlexDecomposer(FOREST, feature_groups={"group": ["x0", "x1"]}).fit(X)
    view, component = explained(source), source["group"]
    fine = cells_of_component(source, component)
    table = component_values(view, component, fine)
    monkeypatch.setattr(budgets, "picture_cells", 1000)
    monkeypatch.setattr(budgets, "coarse_cells", 30**2)
    axes = drawable_cells(fine, view.n_outputs)
    cells = [np.searchsorted(whole.bins[0], axis.bins[0]) for axis, whole in zip(axes, fine)]
    found = component_values(view, component, axes)
    assert max(found.shape) <= 32
    np.testing.assert_allclose(found, table[np.ix_(*cells)], **TOLERANCE)
    # On the scale of the response, which is the margin of this forest, the same cells are drawn.
    parts = [panel.values for panel in make_panels(source, ["group"], 0, rows=None, drawn=None, missing=True)]
    assert max(parts[0].shape) <= 32


def test_axes_of_a_table_that_is_too_large(monkeypatch):
    whole = GlexDecomposer(FOREST).fit(X)["x0", "x1"]
    monkeypatch.setattr(budgets, "table_cells", 10)
    monkeypatch.setattr(budgets, "largest_table_cells", 10)
    component = GlexDecomposer(FOREST).fit(X)["x0", "x1"]
    with pytest.raises(ValueError, match="the table of this component would have"):
        component.values  # noqa: B018
    for axis, same in zip(component.axes, whole.axes):
        assert (axis.feature, axis.missing) == (same.feature, same.missing)
        np.testing.assert_array_equal(axis.edges, same.edges)
