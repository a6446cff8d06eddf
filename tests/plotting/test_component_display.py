"""Draw components."""

import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import PartialDependenceDisplay
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch
from xgboost import XGBClassifier, XGBRegressor

from skglex import GlexDecomposer
from skglex.export import load_components, save_components
from skglex.plotting import AleDisplay, ComponentDisplay, ShapDisplay, WaterfallDisplay
from tests.plotting.drawn import bars, mesh, stairs

matplotlib = pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("plt")
draw = ComponentDisplay.from_decomposer


def test_main_effect_is_its_step_function(bike):
    display = draw(bike, "hr")
    component = bike["hr"]
    ((values, edges),) = stairs(display.ax_)
    np.testing.assert_array_equal(values, component.values[:-1])
    np.testing.assert_array_equal(edges[1:-1], component.edges[0])
    assert display.ax_.get_xlim() == (edges[0], edges[-1])
    assert display.ax_.get_xlabel() == "hr"
    assert display.ax_.get_ylabel() == "effect on prediction"
    assert display.figure_ is display.ax_.figure


def test_histogram_is_that_of_the_background(bike, bike_X):
    X, _ = bike_X
    display = draw(bike, "temp")
    (patch,) = [p for p in display.ax_.patches if p.get_fill()]
    heights, borders, _ = patch.get_data()
    assert np.isin(borders[1:-1], bike.feature_axis("temp").edges).all()
    assert len(borders) > 20
    expected = np.histogram(X["temp"], [-np.inf, *borders[1:-1], np.inf])[0] / np.diff(borders)
    np.testing.assert_allclose(heights / heights.max(), expected / expected.max())


def test_background_weights_are_shares(bike, bike_X):
    X, _ = bike_X
    (axis,) = bike["hum"].axes
    counts = np.bincount(np.searchsorted(axis.edges, X["hum"], side="right"), minlength=axis.n_bins)
    np.testing.assert_allclose(bike.background_weights(axis), counts / len(X))


def test_rows_are_points_on_the_curve(bike, bike_X):
    X, _ = bike_X
    rows = X[:150]
    display = draw(bike, "temp", X=rows, subsample=150)
    points = display.ax_.lines[-1]
    np.testing.assert_allclose(points.get_xdata(), rows["temp"])
    np.testing.assert_allclose(points.get_ydata(), bike["temp"].evaluate(rows))
    assert len(draw(bike, "temp", X=rows, subsample=20).ax_.lines[-1].get_xdata()) == 20


def test_integers_are_in_the_middle_of_their_steps(bike, bike_X):
    X, _ = bike_X
    ((values, edges),) = stairs(draw(bike, "hr", X=X, subsample=0).ax_)
    assert edges[0] == -0.5
    assert edges[-1] == 23.5
    at = X["hr"].to_numpy()[:200]
    drawn = values[np.searchsorted(edges, at) - 1]
    np.testing.assert_allclose(drawn, bike["hr"].evaluate(X[:200]))


def test_few_rows_do_not_narrow_the_axes(bike, bike_X):
    rows = bike_X[0][:3]
    display = draw(bike, "hr", X=rows)
    assert display.ax_.get_xlim() == draw(bike, "hr").ax_.get_xlim()
    np.testing.assert_array_equal(display.ax_.lines[-1].get_ydata(), bike["hr"].evaluate(rows))
    far = draw(bike, "temp", X=rows.assign(temp=3.0))
    assert far.ax_.get_xlim()[1] == 3.0
    assert len(far.ax_.lines[-1].get_xdata()) == 3


def test_few_values_are_bars(bike, bike_X):
    display = draw(bike, "workingday", X=bike_X[0], subsample=0)
    np.testing.assert_array_equal(bars(display.ax_), bike["workingday"].values[:-1])
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["0", "1"]
    labels = [t.get_text() for t in draw(bike, "workingday").ax_.get_xticklabels()]
    assert labels == ["< 1", "≥ 1"]


def test_pair_is_one_line_per_level(bike):
    display = draw(bike, ("workingday", "hr"))
    component = bike["hr", "workingday"]
    for day, (values, edges) in enumerate(stairs(display.ax_)):
        np.testing.assert_array_equal(values, component.values[:-1, day])
        np.testing.assert_array_equal(edges[1:-1], component.edges[0])
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["workingday:", "< 1", "≥ 1"]


def test_pair_is_a_heat_map(bike):
    display = draw(bike, "hr:temp")
    component = bike["hr:temp"]
    drawn = mesh(display.ax_)
    np.testing.assert_array_equal(drawn.get_array(), component.values[:-1, :-1].T)
    corners = drawn.get_coordinates()
    np.testing.assert_array_equal(corners[0, 1:-1, 0], component.edges[0])
    np.testing.assert_array_equal(corners[1:-1, 0, 1], component.edges[1])
    assert drawn.norm.vmin == -drawn.norm.vmax
    assert drawn.norm.vmax == np.abs(drawn.get_array()).max()
    assert display.colorbar_.ax.get_ylabel() == "effect on prediction"


def test_three_features_are_panels(bike):
    display = draw(bike, ("hr", "temp", "workingday"))
    component = bike["hr", "temp", "workingday"]
    day = component.features.index("workingday")
    assert len(display.axes_) == 2
    for level, ax in enumerate(display.axes_):
        expected = np.take(component.values, level, axis=day)[:-1, :-1].T
        np.testing.assert_array_equal(mesh(ax).get_array(), expected)
    assert len({mesh(ax).norm.vmax for ax in display.axes_}) == 1


def test_three_numbers_are_cut_where_the_background_is(bike, bike_X):
    X, _ = bike_X
    display = draw(bike, ("hr", "temp", "hum"), X=X, subsample=300)
    assert len(display.axes_) == 3
    component = bike["hr", "temp", "hum"]
    for ax, panel in zip(display.axes_, display.panels):
        np.testing.assert_array_equal(mesh(ax).get_array(), panel.values.T)
        assert (np.abs(component.values - panel.values[0, 0]) == 0).any()
    values = np.array([panel.values for panel in display.panels])
    split = display.panels[0].subtitle.split(":")[0]
    moved = np.moveaxis(component.values, component.features.index(split), 0)
    for panel in values:
        assert any(np.isin(panel, cut).all() for cut in moved)


def test_grid_has_one_scale(bike):
    display = draw(bike, ["hr", "temp", ("hr", "workingday"), "hr:temp", "temp:hum"])
    assert len(display.axes_) == 5
    curves, maps = display.axes_[:3], display.axes_[3:]
    assert len({ax.get_ylim() for ax in curves}) == 1
    assert len({mesh(ax).norm.vmax for ax in maps}) == 1
    free = draw(bike, ["hr", "temp"], same_scale=False)
    assert free.axes_[0].get_ylim() != free.axes_[1].get_ylim()


def test_axes_can_be_given(bike, plt):
    _, ax = plt.subplots()
    assert draw(bike, "hr", ax=ax).ax_ is ax
    _, axes = plt.subplots(1, 2)
    assert list(draw(bike, ["hr", "hr:temp"], ax=axes).axes_) == list(axes)
    figure, ax = plt.subplots()
    divided = draw(bike, ["hr", "temp", "hum"], ax=ax)
    assert divided.figure_ is figure
    assert len(divided.axes_) == 3
    with pytest.raises(ValueError, match="3 panels, but ax has 2 axes"):
        draw(bike, ["hr", "temp", "hum"], ax=axes)


def test_forty_components_within_ten_seconds(bike):
    components = bike.strongest_components(40)
    start = time.perf_counter()
    display = draw(bike, components)
    assert time.perf_counter() - start < 10
    assert len(display.axes_) >= 40


def test_classes_and_the_missing_bin(mixed):
    decomposer, _ = mixed
    component = decomposer["age"]
    display = draw(decomposer, "age", output=1)
    ((values, _),) = stairs(display.ax_)
    np.testing.assert_array_equal(values, component.values[np.ravel(display.panels[0].views[0].drawn), 1])
    marker = next(line for line in display.ax_.lines if line.get_marker() == "D")
    np.testing.assert_array_equal(marker.get_ydata(), component.values[-1, 1])
    assert display.ax_.get_xticklabels()[-1].get_text() == "missing"
    assert display.ax_.get_ylabel() == "effect on score of class 1"
    with pytest.raises(ValueError, match="output must be one of"):
        draw(decomposer, "age")
    with pytest.raises(ValueError, match=r"output must be one of .* got 9"):
        draw(decomposer, "age", output=9)
    hidden = draw(decomposer, "age", output=1, missing=False)
    assert not [line for line in hidden.ax_.lines if line.get_marker() == "D"]


def test_categories_are_bars_by_name(mixed):
    decomposer, X = mixed
    display = draw(decomposer, ["colour", ("colour", "size")], output=2, X=X)
    first, second = display.axes_
    component = decomposer["colour"]
    np.testing.assert_array_equal(bars(first), component.values[: len(component.edges[0]), 2])
    assert [t.get_text() for t in first.get_xticklabels()] == [str(c) for c in component.edges[0]]
    pair = decomposer["colour", "size"]
    x, y = display.panels[1].views
    expected = pair.values[..., 2]
    if pair.axes[0].feature != x.feature:
        expected = expected.T
    shown = np.ix_(*([int(view.axis.table_bins[cell]) for (cell,) in view.cells] for view in (x, y)))
    np.testing.assert_array_equal(bars(second), expected[shown].T.ravel())


def test_points_of_missing_values_and_levels_match(mixed):
    decomposer, X = mixed
    display = draw(decomposer, ["age", ("age", "dose"), ("age", "colour")], output=0, X=X, subsample=300)
    for ax in display.axes_:
        assert len(ax.lines[-1].get_xdata()) == 300
    points = display.axes_[0].lines[-1]
    for x, y in zip(points.get_xdata(), points.get_ydata()):
        view = display.panels[0].views[0]
        cell = len(view.drawn) if x > view.borders[-1] else np.searchsorted(view.axis.edges, x, side="right")
        cell = cell - view.drawn[0][0] if x <= view.borders[-1] else cell
        assert display.panels[0].values[cell] == y


def test_trees_that_split_at_infinity():
    """No number is right of ``x <= inf``: the bin is not on the axis, but the bins of rows count it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[rng.random(400) < 0.2, 0] = np.nan
    y = np.nan_to_num(X[:, 0]) + 3 * np.isnan(X[:, 0]) + X[:, 1]
    model = RandomForestRegressor(10, max_depth=4, random_state=0).fit(X, y)
    assert any(np.isinf(tree.tree_.threshold).any() for tree in model.estimators_)
    decomposer = GlexDecomposer(model).fit(X)
    display = draw(decomposer, "x0", X=X, subsample=400)
    at, height = display.ax_.lines[-1].get_data()
    missing = np.isnan(X[:, 0])
    np.testing.assert_array_equal(height, decomposer["x0"].evaluate(X))
    np.testing.assert_array_equal(at[~missing], X[~missing, 0])
    assert (at[missing] == np.mean(display.panels[0].views[0].missing_span)).all()


def test_numbers_far_away_do_not_squeeze_the_axis(bike, bike_X):
    X = bike_X[0].copy()
    expected = draw(bike, "temp", X=X).ax_.get_xlim()
    X.iloc[0, 2], X.iloc[1, 2] = 1e300, -999.0
    assert draw(bike, "temp", X=X).ax_.get_xlim() == expected


@pytest.mark.parametrize("display", [ComponentDisplay, AleDisplay])
def test_axes_end_where_the_data_end(display, tmp_path):
    """XGBoost sends all numbers to one side, and missing values to the other, by a threshold far beyond the data."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 90, 2000).astype(float), "x": rng.normal(size=2000)})
    X.loc[rng.random(2000) < 0.1, "age"] = np.nan
    model = XGBRegressor(n_estimators=30, max_depth=4).fit(X, X["age"].fillna(150) / 40 + X["x"])
    decomposer = GlexDecomposer(model).fit(X)
    assert decomposer.feature_axis("age").edges.max() > 150

    def ends(*args, **options):
        return display.from_decomposer(*args, **options).panels[0].views[0].borders[[0, -1]].tolist()

    assert ends(decomposer, "age") == [18, 89]
    assert ends(decomposer, "age", scale="response") == [18, 89]
    scaled = make_pipeline(StandardScaler(), XGBRegressor(n_estimators=30, max_depth=4)).fit(
        X, X["age"].fillna(150)
    )
    assert ends(GlexDecomposer(scaled).fit(X), "age") == [18, 89]
    if display is ComponentDisplay:
        save_components(decomposer, tmp_path / "components.zip")
        low, high = ends(load_components(tmp_path / "components.zip"), "age")
        assert 15 < low <= 18
        assert 89 <= high < 95


def test_missing_bins_of_a_heat_map(mixed):
    decomposer, _ = mixed
    display = draw(decomposer, ("age", "dose"), output=0)
    drawn = mesh(display.ax_).get_array()
    # The bins beyond all numbers of the background are not drawn.
    inside = [np.append(np.ravel(view.drawn), -1) for view in display.panels[0].views]
    values = decomposer["age", "dose"].values[..., 0][np.ix_(*inside)]
    np.testing.assert_array_equal(drawn[:-2, :-2], values[:-1, :-1].T)
    np.testing.assert_array_equal(drawn[-1, :-2], values[:-1, -1])
    assert drawn[-1, -1] == values[-1, -1]
    assert drawn.mask[-2].all()
    assert drawn.mask[:, -2].all()


def test_scikit_learns_display_takes_partial_dependence(bike, bike_X):
    X, _ = bike_X
    hours = np.arange(24)
    average = bike.partial_dependence("hr", X.iloc[hours].assign(hr=hours))
    result = Bunch(grid_values=[hours], average=average[None])
    display = PartialDependenceDisplay(
        [result], features=[(1,)], feature_names=list(X), target_idx=0, deciles={1: [3, 12, 20]}
    ).plot()
    expected = bike.intercept_ + bike["hr"].evaluate(X.iloc[hours].assign(hr=hours))
    np.testing.assert_allclose(display.lines_[0, 0].get_ydata(), expected)


def test_arrays_and_binary_classes():
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = XGBClassifier(n_estimators=10, max_depth=3).fit(X, X[:, 0] * X[:, 1] > X[:, 2])
    decomposer = GlexDecomposer(model).fit(X)
    display = draw(decomposer, ["x0", (0, 1), ("x0", "x1", "x2")], X=X)
    assert display.axes_[0].get_ylabel() == "effect on log-odds"
    ShapDisplay.from_decomposer(decomposer, 0, X, colour_by=1)
    assert WaterfallDisplay.from_decomposer(decomposer, X[:1]).names


def test_groups_are_drawn_over_their_columns(bike_X):
    X, y = bike_X
    model = XGBRegressor(n_estimators=10, max_depth=3).fit(X, y)
    decomposer = GlexDecomposer(model, feature_groups={"weather": ["temp", "hum"]}).fit(X)
    display = draw(decomposer, "weather")
    np.testing.assert_array_equal(mesh(display.ax_).get_array(), decomposer["weather"].values[:-1, :-1].T)
    with pytest.raises(ValueError, match="belongs to the group 'weather'"):
        ShapDisplay.from_decomposer(decomposer, "temp", X)


def test_without_matplotlib_the_error_names_the_extra():
    code = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
from skglex.plotting import ComponentDisplay
try:
    ComponentDisplay.from_decomposer(None, "x")
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'skglex[plots]'" in run.stdout


def test_rows_stand_after_the_features(bike, bike_X):
    """All displays take the rows by position."""
    X, _ = bike_X
    by_position = ComponentDisplay.from_decomposer(bike, "hr", X)
    by_name = ComponentDisplay.from_decomposer(bike, "hr", X=X)
    assert by_position.ax_.get_xlim() == by_name.ax_.get_xlim()
    with pytest.raises(TypeError, match=r"got a DataFrame.*X=rows"):
        ComponentDisplay.from_decomposer(bike, X)
