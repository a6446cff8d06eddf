"""Reason codes beside plain sums of components, row by row."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose

from skglex import ComponentModel, GlexDecomposer
from skglex.exceptions import RemainderWarning
from skglex.export import load_components, save_components
from skglex.inspection import reason_codes

RNG = np.random.default_rng(0)
N = 300
FRAME = pd.DataFrame(RNG.normal(size=(N, 4)).round(1), columns=list("abcd"), index=np.arange(N) * 10)
FRAME.loc[::7, "b"] = np.nan
FRAME["job"] = pd.Categorical(RNG.choice(list("xyz"), N))
SIGNAL = FRAME["a"] * FRAME["b"].fillna(1) + np.sin(FRAME["c"]) + (FRAME["job"] == "x") * FRAME["d"]
ESTIMATOR = xgb.XGBRegressor(n_estimators=8, max_depth=3, enable_categorical=True).fit(FRAME, SIGNAL)
MODEL = ComponentModel(ESTIMATOR).fit(FRAME)
NAMES = list(FRAME)
GROUPS = {"one": ["a", "job"], "two": ["c"]}


def feature_points(model, rows):
    """Return main effects, halves of pairs, thirds of components of three features: shape (n_rows, n_features)."""
    out = np.zeros((len(rows), len(NAMES)))
    for component in model.components_:
        for feature in component.features:
            out[:, NAMES.index(feature)] += component.evaluate(rows) / component.order
    return out


def expected_reasons(points, start, k, direction, names):
    """Return rank, name and points of the reasons of every row, by sorting."""
    found = []
    for row in points - start:
        size = {"lower": -row, "higher": row, "both": np.abs(row)}[direction]
        order = np.argsort(-size.round(12), kind="stable")[:k]
        found.append([(names[i], row[i]) for i in order if size[i].round(12) > 0])
    return found


def as_lists(table, rows):
    grouped = dict(list(table.groupby("row")))
    out = []
    for row in rows.index:
        part = grouped.get(row, table[:0])
        assert part["rank"].tolist() == list(range(1, len(part) + 1))
        out.append(list(zip(part["feature"], part["points"])))
    return out


def assert_same(found, expected):
    assert [[name for name, _ in reasons] for reasons in found] == [[n for n, _ in r] for r in expected]
    numbers = [[points for reasons in each for _, points in reasons] for each in (found, expected)]
    assert_allclose(*numbers, rtol=0, atol=1e-12)


@pytest.mark.parametrize("direction", ["lower", "higher", "both"])
@pytest.mark.parametrize("reference", ["mean", "best", "row"])
def test_reasons(reference, direction):
    points = feature_points(MODEL, FRAME)
    best = points.min(axis=0) if direction == "higher" else points.max(axis=0)
    start = {"mean": points.mean(axis=0), "best": best, "row": points[5]}[reference]
    given = FRAME.iloc[5] if reference == "row" else reference
    table = reason_codes(MODEL, FRAME, k=3, reference=given, direction=direction)
    assert list(table) == ["row", "rank", "feature", "value", "points"]
    assert_same(as_lists(table, FRAME), expected_reasons(points, start, 3, direction, NAMES))
    for row, feature, value in table[["row", "feature", "value"]].itertuples(index=False):
        known = FRAME.loc[row, feature]
        assert value == known or (value != value and known != known)


def test_groups():
    points = feature_points(MODEL, FRAME)
    members = {"one": ["a", "job"], "b": ["b"], "two": ["c"], "d": ["d"]}
    total = np.column_stack(
        [points[:, [NAMES.index(f) for f in part]].sum(axis=1) for part in members.values()]
    )
    table = MODEL.reason_codes(FRAME, k=2, reference="best", groups=GROUPS)
    assert_same(as_lists(table, FRAME), expected_reasons(total, total.max(axis=0), 2, "lower", list(members)))
    assert set(table["value"][table["feature"] == "one"]) == {"(group)"}
    assert set(table["value"][table["feature"] == "two"]) <= set(FRAME["c"])


def test_points_of_all_features_are_the_difference_of_margins():
    for reference in ("mean", FRAME.iloc[:1]):
        table = reason_codes(MODEL, FRAME, k=9, reference=reference, direction="both")
        total = table.groupby("row")["points"].sum().reindex(FRAME.index, fill_value=0.0)
        margin = MODEL.margin(FRAME)
        start = margin.mean() if isinstance(reference, str) else margin[0]
        assert_allclose(total, margin - start, rtol=0, atol=1e-10)


@pytest.mark.filterwarnings("ignore:components of more than")
def test_remainder_and_edits():
    """What has no table is shared out as in SHAP values."""
    model = ComponentModel(ESTIMATOR, remainder=True, drop=[("a", "b")]).fit(FRAME).scale("c", 3.0)
    decomposer = GlexDecomposer(ESTIMATOR, max_interaction=None).fit(FRAME)
    points = decomposer.shap_values(FRAME)
    pair, effect = decomposer["a", "b"].evaluate(FRAME), decomposer["c"].evaluate(FRAME)
    points[:, 0] -= pair / 2
    points[:, 1] -= pair / 2
    points[:, 2] += 2 * effect
    table = reason_codes(model, FRAME, reference="best")
    assert_same(as_lists(table, FRAME), expected_reasons(points, points.max(axis=0), 4, "lower", NAMES))
    margin = model.margin(FRAME)
    assert_allclose(points.sum(axis=1) + model.intercept_, margin, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:components of more than")
def test_decomposers_and_stored_components(tmp_path):
    decomposer = GlexDecomposer(ESTIMATOR, max_interaction=None).fit(FRAME)
    points = decomposer.shap_values(FRAME)
    expected = expected_reasons(points, points[3], 4, "lower", NAMES)
    assert_same(as_lists(reason_codes(decomposer, FRAME, reference=FRAME.iloc[3]), FRAME), expected)
    save_components(decomposer, tmp_path / "all.zip")
    stored = load_components(tmp_path / "all.zip")
    assert_same(as_lists(reason_codes(stored, FRAME, reference=FRAME.iloc[[3]]), FRAME), expected)
    with pytest.raises(ValueError, match="neither the model's leaves nor the rows of the background"):
        reason_codes(stored, FRAME)
    save_components(GlexDecomposer(ESTIMATOR, max_interaction=1).fit(FRAME), tmp_path / "some.zip")
    with pytest.warns(RemainderWarning, match="the points lack those that were left out"):
        reason_codes(load_components(tmp_path / "some.zip"), FRAME, reference=FRAME.iloc[:1])


def test_several_outputs():
    classes = np.array(["low", "mid", "top"])[np.digitize(SIGNAL, [-0.5, 0.5])]
    estimator = xgb.XGBClassifier(n_estimators=3, max_depth=2, enable_categorical=True)
    model = ComponentModel(estimator, prefit=False).fit(FRAME, classes)
    table = model.reason_codes(FRAME, k=1, output="top", direction="both")
    points = np.zeros((N, len(NAMES)))
    for component in model.components_:
        for feature in component.features:
            points[:, NAMES.index(feature)] += component.evaluate(FRAME)[:, 2] / component.order
    expected = expected_reasons(points, points.mean(axis=0), 1, "both", NAMES)
    assert_same(as_lists(table, FRAME), expected)
    with pytest.raises(ValueError, match="the model has several outputs"):
        model.reason_codes(FRAME)


def test_ties_stand_in_the_order_of_the_features():
    """Two columns have equal effects; rows of an array are labelled by position, and values are numbers."""
    grid = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    estimator = xgb.XGBRegressor(n_estimators=40, max_depth=1).fit(grid, grid.sum(axis=1))
    model = ComponentModel(estimator).fit(grid)
    model._kept = model._kept.with_values({1: model._kept.terms[0].values})
    table = reason_codes(model, grid, reference="best")
    assert table["row"].tolist() == [0, 0, 1, 2]
    assert table["feature"].tolist() == ["x0", "x1", "x0", "x1"]
    assert table["value"].dtype == float
    assert table["points"][0] == table["points"][1] < 0


def test_errors():
    with pytest.raises(ValueError, match="direction must be one of 'lower', 'higher', 'both'; got 'up'"):
        reason_codes(MODEL, FRAME, direction="up")
    with pytest.raises(ValueError, match="reference must be 'mean', 'best' or a row; got 'median'"):
        reason_codes(MODEL, FRAME, reference="median")
    with pytest.raises(ValueError, match="reference must be a single row; got 2 rows"):
        reason_codes(MODEL, FRAME, reference=FRAME[:2])
    with pytest.raises(ValueError, match="groups contains the unknown feature 'wage'"):
        reason_codes(MODEL, FRAME, groups={"money": ["wage"]})
    with pytest.raises(ValueError, match="groups has the feature 'a' twice"):
        reason_codes(MODEL, FRAME, groups={"x": ["a", "b"], "y": ["a"]})
    with pytest.raises(ValueError, match="groups has the name of the feature 'd'"):
        reason_codes(MODEL, FRAME, groups={"d": ["a", "b"]})
    with pytest.raises(ValueError, match="k == 0, must be >= 1"):
        reason_codes(MODEL, FRAME, k=0)
