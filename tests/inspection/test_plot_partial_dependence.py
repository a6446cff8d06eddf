"""Compare pictures of partial dependence with those of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.inspection import PartialDependenceDisplay
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from skglex import GlexDecomposer
from skglex.inspection import plot_partial_dependence

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
X[:, 2] = RNG.integers(0, 3, size=60)
Y = X[:, 0] * X[:, 1] + X[:, 2]
BINARY = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, Y > 0)
CLASSES = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5).fit(X, np.digitize(Y, [0, 1]) + 5)
SEVERAL = RandomForestRegressor(3, max_depth=3).fit(X, np.column_stack([Y, -Y, Y**2]))


def lines(display):
    return [line.get_xydata() for ax in display.axes_.ravel() if ax for line in ax.lines]


@pytest.mark.parametrize(
    ("model", "params"),
    [
        (BINARY, {"kind": "both", "features": [0, 1], "subsample": 20, "random_state": 0, "centered": True}),
        (
            BINARY,
            {"features": [0, (0, 1)], "kind": ["individual", "average"], "n_cols": 1, "random_state": 0},
        ),
        (CLASSES, {"features": ["b", "c"], "feature_names": ["a", "b", "c"], "target": 6}),
        (
            SEVERAL,
            {"features": [(0, 1), 2], "target": 1, "categorical_features": [2], "contour_kw": {"alpha": 0.5}},
        ),
    ],
)
def test_draws_what_scikit_learn_draws(model, params, plt):
    params = {"grid_resolution": 6, **params}
    expected = PartialDependenceDisplay.from_estimator(model, X, method="brute", **params)
    for source in (model, GlexDecomposer(model).fit(X)):
        display = plot_partial_dependence(source, X, **params)
        assert type(display) is PartialDependenceDisplay
        assert display.axes_.shape == expected.axes_.shape
        assert (display.features, display.target_idx) == (expected.features, expected.target_idx)
        assert display.feature_names == expected.feature_names
        for j in expected.deciles:
            assert_allclose(display.deciles[j], expected.deciles[j])
        for own, other in zip(lines(display), lines(expected), strict=True):
            assert_allclose(own, other, atol=1e-12)
        labels = [[ax.get_xlabel(), ax.get_ylabel()] for ax in display.figure_.axes]
        assert labels == [[ax.get_xlabel(), ax.get_ylabel()] for ax in expected.figure_.axes]


@pytest.mark.parametrize(
    ("model", "params", "message"),
    [
        (BINARY, {"features": []}, "at least one of each"),
        (BINARY, {"features": [0], "kind": ["average"] * 2}, "kind has 2 elements for 1 features"),
        (BINARY, {"features": [(0, 1, 2)]}, "one feature or a pair"),
        (BINARY, {"features": [(0, 1)], "kind": "both"}, r"ICE curves of the pair \(0, 1\)"),
        (
            BINARY,
            {"features": [2], "kind": "both", "categorical_features": [2]},
            "ICE curves of the categorical",
        ),
        (
            BINARY,
            {"features": [(0, 2)], "categorical_features": [2]},
            "a pair of a categorical and a numeric",
        ),
        (CLASSES, {"features": [0]}, "target must be specified, because there are 3 classes"),
        (CLASSES, {"features": [0], "target": 1}, "target must be one of"),
        (SEVERAL, {"features": [0]}, "target must be specified, because there are 3 targets"),
    ],
)
def test_bad_input(model, params, message, plt):
    with pytest.raises(ValueError, match=message):
        plot_partial_dependence(model, X, grid_resolution=5, **params)


def test_categorical_columns_are_known(plt):
    """Texts, categories, and codes that the model splits as categories need no parameter."""
    names = np.array(["red", "green", "blue"])
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"size": X[:, 0], "colour": rng.choice(names, len(X)), "shape": rng.choice(["o", "x"], len(X))}
    )
    features = ["size", "colour", ("colour", "shape")]
    encoder = make_column_transformer((OneHotEncoder(), ["colour", "shape"]), remainder="passthrough")
    of_texts = make_pipeline(encoder, DecisionTreeRegressor(max_depth=4)).fit(rows, Y > 0)
    display = plot_partial_dependence(of_texts, rows, features)
    assert display.is_categorical == [(False,), (True,), (True, True)]
    assert [text.get_text() for text in display.axes_[0, 1].get_xticklabels()] == sorted(names)
    codes = np.column_stack([X[:, 0], rng.integers(0, 4, len(X))])
    boosting = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2, categorical_features=[1])
    boosting.fit(codes, codes[:, 1] % 2)
    display = plot_partial_dependence(boosting, codes, [0, 1, (0, 1)])
    assert display.is_categorical == [(False,), (True,), (False, False)]
    assert plot_partial_dependence(boosting, codes, [1], kind="both").is_categorical == [(False,)]
    with pytest.raises(ValueError, match="ICE curves of the categorical feature"):
        plot_partial_dependence(of_texts, rows, ["colour"], kind="both")
