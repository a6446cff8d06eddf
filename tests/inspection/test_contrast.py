"""Explain why two rows are predicted differently."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from skglex import GlexDecomposer
from skglex.inspection import contrast
from tests.support.comparisons import check_contrast
from tests.support.oracles import brute_force_game, game_components

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)).round(1)
MODEL = xgb.XGBRegressor(n_estimators=15, max_depth=4).fit(X, X[:, 0] + X[:, 1] * X[:, 2] * X[:, 3])
FOREST = RandomForestClassifier(5, max_depth=5, random_state=0).fit(X, RNG.integers(0, 3, 200))
# Sums of float64 terms of size 1; margins of XGBoost itself are float32.
EXACT, SINGLE = 1e-12, 1e-5


@pytest.fixture(scope="module")
def dec():
    return GlexDecomposer(MODEL).fit(X)


def test_pairs_one_other_row_and_blocks(dec):
    """Few pairs are compared one by one, many in blocks."""
    check_contrast(dec, X[:2], X[2:4], lambda Z: MODEL.predict(Z)[:, None].astype(float), SINGLE)
    one = contrast(dec, X[:20], X[30])
    assert_allclose(
        one.values, contrast(dec, X[:20], np.repeat(X[30:31], 20, axis=0)).values, rtol=0, atol=EXACT
    )
    each = np.concatenate([contrast(dec, X[i], X[30], interactions=True).interactions for i in range(20)])
    assert_allclose(contrast(dec, X[:20], X[30], interactions=True).interactions, each, rtol=0, atol=EXACT)
    assert_allclose(one.values.sum(axis=1), one.margin - one.margin_other, rtol=0, atol=EXACT)
    assert_allclose(contrast(dec, X[:20], X[:20]).values, 0, atol=0)


def test_groups_are_players():
    dec = GlexDecomposer(MODEL, feature_groups={"pair": [1, 3]}).fit(X)
    found = contrast(dec, X[:1], X[1:2]).values[0]
    game = game_components(brute_force_game(MODEL.predict, X[:1], X[1:2]))
    groups = {0: 0, 1: 1, 2: 2, 3: 1}
    expected = np.zeros(3)
    for members, value in game.items():
        players = {groups[j] for j in members}
        for player in players:
            expected[player] += value[0, 0] / len(players)
    assert_allclose(found, expected, atol=SINGLE)


def test_several_outputs_and_table():
    dec = GlexDecomposer(FOREST).fit(X)
    result = contrast(dec, X[:9], X[9:18], interactions=True)
    assert result.values.shape == (9, 4, 3)
    assert result.interactions.shape == (9, 4, 4, 3)
    difference = FOREST.predict_proba(X[:9]) - FOREST.predict_proba(X[9:18])
    assert_allclose(result.values.sum(axis=1), difference, rtol=0, atol=EXACT)
    table = result.table
    assert list(table.columns) == ["row", "feature", "here", "there", "0__value", "1__value", "2__value"]
    first = table[table["row"] == 3].set_index("feature")
    assert first["here"].tolist() == [X[3, int(name[1])] for name in first.index]
    assert first["there"].tolist() == [X[12, int(name[1])] for name in first.index]
    assert_allclose(first["1__value"].sum(), difference[3, 1], atol=EXACT)
    assert "9 pairs of rows" in repr(result)


def test_pipelines_and_picture(plt):
    frame = pd.DataFrame({"size": X[:, 0], "kind": np.array(list("abc"))[RNG.integers(0, 3, 200)]})
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["kind"]), remainder="passthrough")
    model = make_pipeline(encode, DecisionTreeRegressor(max_depth=4)).fit(
        frame, X[:, 0] + (frame["kind"] == "a")
    )
    dec = GlexDecomposer(model, feature_groups="auto").fit(frame)
    here, there = frame[frame["kind"] == "a"], frame[frame["kind"] == "b"]
    result = contrast(dec, here[:1], there[:1])
    assert_allclose(result.values.sum(), model.predict(here[:1]) - model.predict(there[:1]), atol=EXACT)
    table = result.table.set_index("feature")
    assert table.loc["kind", ["here", "there"]].tolist() == ["a", "b"]
    display = result.plot()
    assert "kind = a (b)" in display.names
    assert display.intercept == result.margin_other[0]
    assert_allclose(display.values.sum(), result.values.sum(), atol=EXACT)
    assert display.ax_.get_yticklabels()[0].get_text().startswith("other row")


def test_bad_input(dec):
    with pytest.raises(ValueError, match="X has 3 rows and X_other has 2"):
        contrast(dec, X[:3], X[:2])
    with pytest.raises(ValueError, match="features"):
        contrast(dec, X[:3], X[:3, :2])
    with pytest.raises(TypeError, match="expected a GlexDecomposer"):
        contrast(MODEL, X[:3], X[:3])
