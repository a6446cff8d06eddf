"""Suggest the names that a user may have meant."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import skglex
from skglex import ComponentModel, FeatureRemover, GlexDecomposer
from skglex._utils import suggest
from skglex.components import Edit
from skglex.export import to_sql
from skglex.inspection import (
    ale,
    explain_gap,
    group_difference,
    make_group_scorer,
    partial_dependence,
    reason_codes,
)
from skglex.plotting import ComponentDisplay, ShapDisplay

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["temperature", "humidity", "windspeed"])
MODEL = DecisionTreeRegressor(max_depth=5).fit(X, X["temperature"] * X["humidity"] + X["windspeed"])
DECOMPOSER = GlexDecomposer(MODEL).fit(X)


@pytest.mark.parametrize(
    ("name", "known", "sentence"),
    [
        ("ID", ["id", "age"], "Did you mean 'id'?"),
        ("age", ["num__age", "cat__sex"], "Did you mean 'num__age'?"),
        ("temprature", ["temp", "temperature"], "Did you mean 'temperature' or 'temp'?"),
        ("temperature", ["temp", "hr"], "Did you mean 'temp'?"),
        ("z", ["a", "b"], "The columns are 'a', 'b'"),
        ("z", range(25), "The columns are " + ", ".join(f"'{i}'" for i in range(20)) + " and 5 more"),
        ("z", [], "There are no columns"),
    ],
)
def test_sentences(name, known, sentence):
    assert suggest(name, known, "columns") == sentence


@pytest.mark.parametrize(
    "look_up",
    [
        lambda: DECOMPOSER["humidty"],
        lambda: DECOMPOSER["temperature", "humidty"],
        lambda: DECOMPOSER.partial_dependence("humidty", X),
        lambda: GlexDecomposer(MODEL, features=["humidty"]).fit(X),
        lambda: GlexDecomposer(MODEL, feature_groups={"air": ["humidty"]}).fit(X),
        lambda: FeatureRemover(MODEL, "humidty").fit(X),
        lambda: ComponentModel(MODEL, terms=["humidty"]).fit(X),
        lambda: ComponentModel(MODEL, edits=[Edit("scale", "humidty", factor=2)]).fit(X),
        lambda: ComponentDisplay.from_decomposer(DECOMPOSER, "humidty"),
        lambda: ShapDisplay.from_decomposer(DECOMPOSER, "humidty", X),
        lambda: ShapDisplay.from_decomposer(DECOMPOSER, "humidity", X, colour_by="humidty"),
        lambda: ale(DECOMPOSER, "humidty", X),
        lambda: partial_dependence(MODEL, X, ["humidty"]),
        lambda: partial_dependence(MODEL, X, ["humidity"], categorical_features=["humidty"]),
        lambda: reason_codes(DECOMPOSER, X, groups={"air": ["humidty"]}),
        lambda: make_group_scorer("mean", groups="humidty")(MODEL, X, X["humidity"]),
        lambda: to_sql(
            GlexDecomposer(MODEL, max_interaction=None).fit(X), dialect="duckdb", columns={"humidty": "h"}
        ),
        lambda: skglex.report(MODEL, X, remove="humidty", path=None),
        lambda: skglex.report(MODEL, X, groups="humidty", path=None),
    ],
)
def test_every_look_up_suggests(look_up, plt):
    with pytest.raises((KeyError, ValueError), match="Did you mean 'humidity'"):
        look_up()


def test_names_of_columns_instead_of_columns():
    """A text is the name of a column of X where there is an X, and otherwise refused with the way out."""
    gap = explain_gap(DECOMPOSER, X.assign(humidity=X["humidity"] > 0), "humidity")
    assert gap.groups == [True]
    with pytest.raises(
        ValueError, match=r"groups must have one label per row; got 'town'\. Pass the column, X\['town'\]"
    ):
        group_difference(X["humidity"], "town")
    with pytest.raises(ValueError, match="y must have one value per row; got 'count'"):
        skglex.report(MODEL, X, "count", path=None)


def test_columns_that_have_lost_their_names():
    array = X.to_numpy()
    model = DecisionTreeRegressor(max_depth=2).fit(array, X["humidity"])
    with pytest.raises(ValueError, match=r"'humidity'\. The features are 'x0' to 'x2'.* pass the pipeline"):
        FeatureRemover(model, "humidity").fit(array)
    with pytest.raises(ValueError, match=r"could not convert string to float: 'wet'.* in a data frame"):
        GlexDecomposer(model).fit(np.array([["wet", 1, 2]], dtype=object))
