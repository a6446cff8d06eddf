"""Nothing in a picture overlaps, is cut, or covers data, whatever the names, categories and panels."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBRegressor

from skglex import GlexDecomposer
from skglex._utils import budgets
from skglex.inspection import contrast, explain_gap, explain_shift
from skglex.plotting import ComponentDisplay, ImportanceDisplay, PartsDisplay, ShapDisplay, WaterfallDisplay
from tests.support.small_models import newer_xgboost

matplotlib = pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("plt")

RNG = np.random.default_rng(0)
N = 2000
LONG = "a feature whose name is much longer than any panel of a picture can be, such as this one"
TWIN = LONG.replace("such", "maybe")
STREETS = [f"Street of the Long Names, No. {i}" for i in range(40)]
X = pd.DataFrame(
    {
        LONG: RNG.normal(size=N),
        TWIN: RNG.normal(size=N),
        "$cost_1$": RNG.normal(size=N),
        "weak": RNG.normal(size=N),
        "_hidden 😀": RNG.integers(0, 3, N),
        "street": pd.Categorical(RNG.choice(STREETS, N), categories=STREETS),
        "kind": pd.Categorical(RNG.choice(["_a", "$b$", "c" * 60, "d", "e", "f"], N)),
    }
)
Y = (
    X[LONG] * X["$cost_1$"]
    + X[TWIN] * (X["kind"] == "_a")
    + (X["street"].cat.codes % 7) * (1 + (X["_hidden 😀"] == 1))
    + X["street"].cat.codes % 3 * (X["kind"] == "d")
    + X["$cost_1$"] * (X["kind"] == "$b$")
    + X["weak"] / 10
)


@pytest.fixture(scope="module")
def decomposer():
    model = XGBRegressor(n_estimators=60, max_depth=4, enable_categorical=True, n_jobs=2).fit(X, Y)
    return GlexDecomposer(model, max_interaction=2).fit(X)


def boxes(figure):
    """Return the texts of a drawn figure, and the box of each, by axes."""
    renderer = figure.canvas.get_renderer()

    def of(texts):
        return [
            (text, text.get_window_extent(renderer))
            for text in texts
            if text.get_text() and text.get_visible()
        ]

    found = []
    for ax in figure.axes:
        # Ticks outside of the limits are not drawn.
        ticks = [[tick.label1 for tick in axis._update_ticks()] for axis in (ax.xaxis, ax.yaxis)]
        words = [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
        legend = ax.get_legend()
        words += [] if legend is None else legend.get_texts()
        found.append(([of(labels) for labels in ticks], of(words)))
    return found


def check_layout(figure, *, own=True):
    """Check that texts are within the figure, readable on a phone, and that none covers another one or a panel."""
    figure.canvas.draw()
    width, height = figure.bbox.size
    everything = []
    for ticks, words in boxes(figure):
        for labels in ticks:
            everything += labels
        everything += words
    for text, box in everything:
        # A pixel of antialiasing does not matter.
        assert box.x0 > -1.5, text
        assert box.y0 > -1.5, text
        assert box.x1 < width + 1.5, text
        assert box.y1 < height + 1.5, text
    for (ticks, words), ax in zip(boxes(figure), figure.axes):
        for labels in ticks:
            check_ticks(labels)
        for text, box in words:
            if text not in ax.texts:
                for other in figure.axes:
                    assert not overlap(box, other.get_window_extent()), (text, other)
    if own:
        axis_texts = [(text, box) for text, box in everything if text.get_rotation() != 90]
        on_phone = 400 / (72 * figure.get_figwidth())
        assert min(text.get_fontsize() * on_phone for text, _ in axis_texts) > 7, "pixels at a width of 400"
    upright = [(text, box) for text, box in everything if text.get_rotation() in (0, 90)]
    for i, (text, box) in enumerate(upright):
        for other, other_box in upright[:i]:
            assert not overlap(box, other_box), (text, other)
    matplotlib.pyplot.close(figure)


def check_ticks(labels):
    """Check that tick labels do not overlap; those at 30 degrees need the height of a line between them."""
    for (text, box), (_, next_box) in pairwise(labels):
        if text.get_rotation() in (0, 90):
            assert not overlap(box, next_box), text
        else:
            size = text.get_fontsize() * text.figure.dpi / 72
            assert (next_box.x1 - box.x1) * np.sin(np.deg2rad(text.get_rotation())) > 0.9 * size, text


def overlap(a, b, slack=1.5):
    return min(a.x1, b.x1) - max(a.x0, b.x0) > slack and min(a.y1, b.y1) - max(a.y0, b.y0) > slack


COMPONENTS = [
    LONG,
    (LONG, "$cost_1$"),
    ("street", "kind"),
    ("street", "_hidden 😀"),
    "street",
    (TWIN, "kind"),
    ("$cost_1$", "kind"),
    "kind",
    (LONG, TWIN),
]


def present(decomposer):
    return [key for key in COMPONENTS if key in decomposer.components_]


@pytest.mark.parametrize("rows", [None, X])
@pytest.mark.parametrize("n_panels", [1, 2, 9])
def test_components(decomposer, rows, n_panels):
    components = present(decomposer)
    assert len(components) > 6
    for start in range(0, len(components), n_panels):
        display = ComponentDisplay.from_decomposer(decomposer, components[start : start + n_panels], X=rows)
        check_layout(display.figure_)


@pytest.mark.parametrize("size", [(4, 3), (14, 9)])
def test_figures_of_users(decomposer, plt, size):
    for component in present(decomposer):
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        ComponentDisplay.from_decomposer(decomposer, component, X=X, ax=ax)
        check_layout(figure, own=False)


def test_other_displays(decomposer):
    for kind in ("component", "order"):
        check_layout(ImportanceDisplay.from_decomposer(decomposer, kind).figure_)
    for row in (0, 1, 2):
        check_layout(WaterfallDisplay.from_decomposer(decomposer, X, row=row).figure_)
    check_layout(WaterfallDisplay.from_contrast(contrast(decomposer, X[:1], X[1:2])).figure_)
    # Small parts to the left of zero have their numbers beside the labels of the axis.
    gap = explain_gap(decomposer, X, X["kind"] == "_a")
    assert min(gap.values[0]) < 0
    check_layout(gap.plot().figure_)
    check_layout(explain_shift(decomposer, X[X[LONG] > 0], X[X[LONG] < 1]).plot().figure_)
    for feature in X:
        for colour_by in ("street", "kind", LONG):
            if feature != colour_by:
                display = ShapDisplay.from_decomposer(decomposer, feature, X, colour_by=colour_by)
                check_layout(display.figure_)


def test_whole_names_are_in_the_legend(decomposer):
    display = ComponentDisplay.from_decomposer(decomposer, [LONG, TWIN])
    first, second = (ax.get_xlabel() for ax in display.axes_)
    assert len({first, second}) == 2
    assert max(len(first), len(second)) < 50
    (legend,) = display.figure_.legends
    lines = ["".join(text.get_text().split()) for text in legend.get_texts()]
    assert "".join(f"{first}: {LONG}".split()) in lines
    assert "".join(f"{second}: {TWIN}".split()) in lines


@newer_xgboost
def test_names_are_text(decomposer):
    display = ComponentDisplay.from_decomposer(decomposer, ["$cost_1$", ("$cost_1$", "kind"), "kind"], X=X)
    display.figure_.canvas.draw()
    assert display.axes_[0].get_xlabel() == r"\$cost_1\$"
    labels = [text.get_text().strip() for text in display.axes_[1].get_legend().get_texts()]
    assert {"kind:", "_a", r"\$b\$", "d"} <= set(labels)
    assert not any(text.get_text().startswith("$") for text in display.axes_[1].get_legend().get_texts())


@newer_xgboost
def test_many_categories(decomposer):
    display = ComponentDisplay.from_decomposer(decomposer, ["street"])
    (view,) = display.panels[0].views
    component = decomposer["street"]
    assert len(view.labels) == 13
    assert view.labels[-1] == f"{len(component.edges[0]) - 12} others"
    share = X["street"].value_counts(normalize=True)
    strength = pd.Series(np.abs(component.values[:-2]), component.edges[0]) * share
    strongest = strength.sort_values(ascending=False).index[:12]
    assert set(view.labels[:-1]) == set(strongest)
    shown = pd.Series(component.values[:-2], component.edges[0])
    np.testing.assert_array_equal(display.panels[0].values[:-1], shown[view.labels[:-1]])
    others = [name for name in component.edges[0] if name not in set(view.labels)]
    mean = np.average(shown[others], weights=share[others])
    assert display.panels[0].values[-1] == pytest.approx(mean)
    np.testing.assert_allclose(view.shares[-1], share[others].sum())


def test_more_categories_than_are_stored(decomposer, monkeypatch):
    expected = ComponentDisplay.from_decomposer(decomposer, "street", X=X).panels[0]
    monkeypatch.setattr(budgets, "named_values", 5)
    fewer = GlexDecomposer(decomposer.estimator, max_interaction=2).fit(X)
    panel = ComponentDisplay.from_decomposer(fewer, "street", X=X).panels[0]
    np.testing.assert_array_equal(panel.values, expected.values)
    assert panel.views[0].labels == expected.views[0].labels


def test_colour_bar_shrinks_no_panel(decomposer):
    maps = [key for key in present(decomposer) if key in [(LONG, "$cost_1$"), (LONG, TWIN)]]
    display = ComponentDisplay.from_decomposer(decomposer, [*maps, LONG, TWIN, "$cost_1$"])
    display.figure_.canvas.draw()
    widths = [ax.get_window_extent().width for ax in display.axes_]
    heights = [ax.get_window_extent().height for ax in display.axes_]
    np.testing.assert_allclose(widths, widths[0], atol=1)
    np.testing.assert_allclose(heights, heights[0], atol=1)
    assert len(display.figure_.axes) == len(display.axes_) + 1


def test_flat_components_say_their_range(decomposer):
    display = ComponentDisplay.from_decomposer(decomposer, ["street", "kind", "weak"])
    spans = [float(np.ptp(panel.values)) for panel in display.panels]
    notes = [[text.get_text() for text in ax.texts] for ax in display.axes_]
    for span, note in zip(spans, notes):
        common = max(panel.values.max() for panel in display.panels) - min(
            panel.values.min() for panel in display.panels
        )
        assert bool(note) == (span < 0.1 * common)
    assert any(notes)
    apart = ComponentDisplay.from_decomposer(decomposer, ["street", "kind", "weak"], same_scale=False)
    assert not any(ax.texts for ax in apart.axes_)


@pytest.mark.parametrize("factor", [1e-9, 1.0, 3e8])
def test_numbers_of_all_sizes(decomposer, factor):
    values = factor * np.array([1.0, -0.004, 0.02, -0.0001])
    names = ["a", LONG, "b × c", "d"]
    label = "difference of the mean cost"
    shown = [
        PartsDisplay(names, {"gap": values}, label=label),
        PartsDisplay(names[:1], {"one": values[:1], "other": -values[:1]}, label=label, title="one line"),
        WaterfallDisplay([f"{name} = 0.25" for name in names], values, factor, title="row 0"),
        ImportanceDisplay(names, np.abs(values)[:, None], label="the cost"),
    ]
    for display in shown:
        display.plot()
        check_layout(display.figure_)
        if factor != 1:
            assert "×10" in display.ax_.get_xlabel()


@pytest.mark.parametrize("draw", [ImportanceDisplay, WaterfallDisplay])
def test_bars_on_axes_of_users(decomposer, plt, draw):
    figure, axes = plt.subplots(2, 1, figsize=(6, 7), layout="constrained")
    for ax in axes:
        args = (decomposer, X[:1]) if draw is WaterfallDisplay else (decomposer,)
        draw.from_decomposer(*args, k=8, ax=ax)
    check_layout(figure, own=False)
