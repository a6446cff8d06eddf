"""Draw components over time."""

import numpy as np
import pandas as pd
import pytest

from skglex import GlexDecomposer
from skglex.plotting import SurvivalDisplay
from tests.plotting.test_layout import check_layout
from tests.support.small_models import MODEL
from tests.support.small_models import X as SMALL_X

plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("sksurv", reason="needs scikit-survival")
pytestmark = pytest.mark.usefixtures("plt")

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(150, 2)).round(1), RNG.integers(0, 3, 150)])


@pytest.fixture(scope="module")
def decomposer():
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    time = np.ceil(5 * RNG.exponential(np.exp(-X[:, 0] * X[:, 2])))
    forest = RandomSurvivalForest(4, max_depth=3, random_state=0).fit(X, Surv.from_arrays(time < 40, time))
    return GlexDecomposer(
        forest, survival_output="cumulative_hazard", times=[1, 2, 5, 10], max_interaction=2
    ).fit(X)


def test_curves_of_rows(decomposer):
    display = SurvivalDisplay.from_decomposer(decomposer, X[:4], k=2)
    assert len(display.axes_) == 4
    effects = decomposer._explained.decomposition.margins(
        decomposer._fitted.bins(X[:4], decomposer._execution)
    )
    effects = effects.T - decomposer.intercept_
    for ax, curves, effect in zip(display.axes_, display.curves, effects):
        np.testing.assert_allclose(curves.sum(axis=0), effect, rtol=0, atol=1e-12)
        drawn = {step.get_label(): step.get_data().values for step in ax.patches}
        np.testing.assert_array_equal(drawn["all together"], curves.sum(axis=0))
        for component in decomposer.strongest_components(2):
            name = " × ".join(component.features)
            np.testing.assert_array_equal(
                drawn[name], display.curves[display.axes_.tolist().index(ax), display.names.index(name)]
            )
    value = decomposer.strongest_components(1)[0].evaluate(X[:4])
    np.testing.assert_allclose(display.curves[:, 0], value, rtol=0, atol=1e-14)


def test_a_main_effect_at_some_times(decomposer):
    display = SurvivalDisplay.from_decomposer(decomposer, feature="x0", times=[1, 10])
    component = decomposer["x0"]
    np.testing.assert_allclose(
        display.curves[0, : len(component.edges[0]) + 1], component.values[:-1][:, [0, 3]]
    )
    assert display.names == ["1", "10"]
    levels = SurvivalDisplay.from_decomposer(decomposer, feature="x2")
    assert levels.curves.shape[2] == 4
    assert SurvivalDisplay.from_decomposer(decomposer, X[:1], ax=levels.ax_).ax_ is levels.ax_


@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
def test_pictures_look_like_the_others(decomposer):
    """Nothing overlaps, the last step is drawn, and rows of a data frame have their own names."""
    rows = pd.DataFrame(X[:3], columns=["x0", "x1", "x2"], index=["Ann", "Bob", "Cy"])
    display = SurvivalDisplay.from_decomposer(decomposer, rows, k=4)
    check_layout(display.figure_)
    assert [ax.get_title(loc="left") for ax in display.axes_] == ["row Ann", "row Bob", "row Cy"]
    assert display.ax_.patches[0].get_data().edges.tolist() == [1, 2, 5, 10, 15]
    for feature in ("x0", "x2"):
        check_layout(SurvivalDisplay.from_decomposer(decomposer, feature=feature).figure_)
    figure = plt.figure(figsize=(8, 4), layout="constrained")
    check_layout(
        SurvivalDisplay.from_decomposer(decomposer, X[:2], ax=figure.subplots(1, 2)).figure_, own=False
    )


def test_what_has_no_curves_is_refused(decomposer):
    with pytest.raises(ValueError, match="has no outputs over time"):
        SurvivalDisplay.from_decomposer(GlexDecomposer(MODEL).fit(SMALL_X), SMALL_X[:1])
    for arguments in ({}, {"X": X[:1], "feature": "x0"}):
        with pytest.raises(ValueError, match="either rows X or a feature"):
            SurvivalDisplay.from_decomposer(decomposer, **arguments)
    with pytest.raises(ValueError, match="X has 13 rows; expected 1 to 12"):
        SurvivalDisplay.from_decomposer(decomposer, X[:13])
    with pytest.raises(ValueError, match="times must be among the times of the decomposer"):
        SurvivalDisplay.from_decomposer(decomposer, feature="x0", times=[3])
    display = SurvivalDisplay.from_decomposer(decomposer, X[:1])
    with pytest.raises(ValueError, match="ax has 2 axes, but there are 1 panels"):
        display.plot(ax=[display.ax_, display.ax_])
