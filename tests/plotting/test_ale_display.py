"""Compare what AleDisplay draws with the effects it draws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skglex.inspection import ale
from skglex.plotting import AleDisplay
from tests.plotting.drawn import bars, mesh, stairs
from tests.support.small_models import newer_xgboost


def test_steps_are_those_of_the_effect(bike, bike_X, plt):
    X, _ = bike_X
    for rows in (None, X):
        result = ale(bike, "temp", rows)
        display = AleDisplay.from_decomposer(bike, "temp", rows)
        ((values, edges),) = stairs(display.ax_)
        middle = (edges[1:] + edges[:-1]) / 2
        inside = (middle > result.bins[0][0]) & (middle < result.bins[0][-1])
        expected = result.effect[np.searchsorted(result.edges[0], middle, side="right")]
        assert_allclose(values[inside], expected[inside])
        # Beyond the edges, the effect stays as it is.
        assert set(values[~inside]) <= {result.effect[0], result.effect[-1]}
    assert display.ax_.get_ylabel() == "ALE on prediction"


def test_pairs_and_grids(bike, plt):
    display = AleDisplay.from_decomposer(bike, ["hr", ("temp", "hum"), ("hr", "workingday")], bins=10)
    assert [panel.kind for panel in display.panels] == ["steps", "map", "lines"]
    result = ale(bike, ("temp", "hum"), bins=10)
    drawn = mesh(display.axes_[1]).get_array()
    assert_allclose(np.abs(drawn).max(), np.abs(result.effect).max())
    assert len(stairs(display.axes_[2])) == 2


@newer_xgboost
def test_categories_in_the_given_order(mixed, plt):
    decomposer, X = mixed
    order = ["green", "red", "blue"]
    display = AleDisplay.from_decomposer(decomposer, "colour", X, order={"colour": order}, output=1)
    result = ale(decomposer, "colour", X, order=order)
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == order
    assert_allclose(bars(display.ax_), result.effect[:, 1])
    display = AleDisplay.from_decomposer(
        decomposer, ("age", "colour"), order={"colour": order}, output=1, bins=5
    )
    assert len(stairs(display.ax_)) == 3


def test_response(mixed, plt):
    decomposer, X = mixed
    display = AleDisplay.from_decomposer(decomposer, "age", X, scale="response", output=2)
    result = ale(decomposer, "age", X, scale="response")
    ((values, _),) = stairs(display.ax_)
    assert set(values) <= set(result.effect[:, 2])
    assert display.ax_.get_ylabel() == "ALE on probability of class 2"


def test_bad_input(bike, mixed, plt):
    with pytest.raises(ValueError, match="features is empty"):
        AleDisplay.from_decomposer(bike, [])
    with pytest.raises(ValueError, match="'colour' is categorical"):
        AleDisplay.from_decomposer(mixed[0], "colour", output=1)
    with pytest.raises(ValueError, match="several outputs"):
        AleDisplay.from_decomposer(mixed[0], "age")
