"""Explain the difference between the mean predictions of groups."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier

from skglex import ComponentModel, FeatureRemover, GlexDecomposer
from skglex.inspection import explain_gap, group_difference
from tests.support.comparisons import check_gap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)).round(1)
X[:, 0] = X[:, 0] > 0
X[:, 1] += X[:, 0]
SEX = np.where(X[:, 0] == 1, "m", "f")
MODEL = xgb.XGBRegressor(n_estimators=15, max_depth=4).fit(X, X[:, 0] + X[:, 1] * X[:, 2] + X[:, 0] * X[:, 1])
WEIGHT = RNG.integers(0, 4, size=200) * 1.0
# Sums of float64 terms of size 1; margins of XGBoost itself are float32.
EXACT, SINGLE = 1e-12, 1e-5


@pytest.fixture(scope="module")
def dec():
    return GlexDecomposer(MODEL).fit(X)


def expected_lines(dec, rows, share, own):
    """Return the lines from all components of a decomposer that lists them."""
    gaps = [(set(c.features), share @ c.evaluate(rows)) for c in dec.components_]
    direct = sum(g for s, g in gaps if s <= own)
    mixed = sum(g for s, g in gaps if s & own and s - own)
    features = [
        sum(g / len(s) for s, g in gaps if k in s and not s & own)
        for k in dec.explained_features_
        if k not in own
    ]
    return [direct, mixed, *features] if own else features


@pytest.mark.parametrize("groups", [None, {"pair": [1, 3]}])
@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
def test_lines_are_sums_of_components(weighting, groups):
    dec = GlexDecomposer(MODEL, weighting=weighting, feature_groups=groups, max_interaction=None).fit(
        X, sample_weight=WEIGHT
    )
    weights = [np.where(label == SEX, WEIGHT, 0) for label in "mf"]
    share = weights[0] / weights[0].sum() - weights[1] / weights[1].sum()
    for own in ({"x0"}, {"x0", "x2"}, set()):
        gap = explain_gap(dec, X, SEX, features=sorted(own) or None, sample_weight=WEIGHT)
        assert_allclose(gap.values[0, :, 0], expected_lines(dec, X, share, own), rtol=0, atol=EXACT)
        assert_allclose(
            gap.gap.item(),
            group_difference(MODEL.predict(X), SEX, statistic="mean", sample_weight=WEIGHT),
            atol=SINGLE,
        )


def test_brute_force(dec):
    check_gap(
        GlexDecomposer(MODEL).fit(X[:20]),
        X[40:52],
        X[:20],
        lambda Z: MODEL.predict(Z)[:, None].astype(float),
        SINGLE,
    )


def test_several_groups_and_a_reference(dec):
    third = np.array(["a", "b", "c"])[np.arange(200) % 3]
    margin = GlexDecomposer(MODEL, max_interaction=None).fit(X).transform(X).sum(axis=1)
    means = {label: margin[third == label].mean() for label in "abc"}
    rest = {label: margin[third != label].mean() for label in "abc"}
    against_all = explain_gap(dec, X, third)
    assert (against_all.groups, against_all.reference) == (["a", "b", "c"], None)
    assert_allclose(against_all.gap[:, 0], [means[label] - rest[label] for label in "abc"], atol=EXACT)
    against_b = explain_gap(dec, X, third, reference="b")
    assert against_b.groups == ["a", "c"]
    assert_allclose(against_b.gap[:, 0], [means[label] - means["b"] for label in "ac"], atol=EXACT)
    assert_allclose(against_b.table.groupby("group")["gap"].sum(), against_b.gap[:, 0], atol=EXACT)
    with pytest.raises(ValueError, match="group must be one of"):
        against_b.plot()
    two = explain_gap(dec, X, SEX)
    assert (two.groups, two.reference) == (["m"], "f")


def test_several_outputs():
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, RNG.integers(0, 3, 200))
    gap = explain_gap(GlexDecomposer(forest).fit(X), X, SEX, features=0)
    p = forest.predict_proba(X)
    assert_allclose(gap.gap[0], p[SEX == "m"].mean(axis=0) - p[SEX == "f"].mean(axis=0), atol=EXACT)
    assert list(gap.table.columns) == ["group", "part", "0__gap", "1__gap", "2__gap"]


def test_proxies_table_and_picture(dec, plt):
    gap = explain_gap(dec, X, SEX, features="x0")
    assert gap.table["part"].tolist()[:3] == ["direct", "interactions", "x1"]
    assert gap.proxies(1) == ["x1"]
    values = dict(zip(gap.lines, gap.values[0, :, 0]))
    assert all(values[name] * values["x1"] > 0 for name in gap.proxies())
    assert "differs from that of the group 'f': 'm' by" in repr(gap)
    display = gap.plot()
    assert_allclose(display.parts["gap"].sum(), gap.gap.sum(), atol=EXACT)
    frame = pd.DataFrame(X, columns=["sex", "a", "b", "c"])
    named = explain_gap(GlexDecomposer(MODEL).fit(frame), frame, frame["sex"], features=["sex"])
    assert_allclose(named.values, gap.values, atol=EXACT)
    after = explain_gap(FeatureRemover(MODEL, [0]).fit(X), X, SEX, features=0)
    assert "direct" not in after.plot().names


@pytest.mark.parametrize("removed", [["x0"], ["x1"], ["x0", "x1"]])
@pytest.mark.parametrize("strength", [1.0, 0.3])
def test_before_and_after_a_remover(removed, strength):
    """The lines of the components that are left, of all of them in part."""
    remover = FeatureRemover(MODEL, [int(name[1]) for name in removed], strength=strength).fit(X)
    whole = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    share = np.where(SEX == "m", 1 / (SEX == "m").sum(), -1 / (SEX == "f").sum())
    gaps = [(set(c.features), share @ c.evaluate(X)) for c in whole.components_]
    gaps = [(s, g * (1 - strength * bool(s & set(removed)))) for s, g in gaps]
    gap = explain_gap(remover, X, SEX, features=["x0"])
    direct = sum(g for s, g in gaps if s == {"x0"})
    mixed = sum(g for s, g in gaps if "x0" in s and len(s) > 1)
    features = [sum(g / len(s) for s, g in gaps if k in s and "x0" not in s) for k in ("x1", "x2", "x3")]
    assert_allclose(gap.values[0, :, 0], [direct, mixed, *features], rtol=0, atol=EXACT)
    assert_allclose(gap.gap[0, 0], share @ remover.margin(X), rtol=0, atol=EXACT)
    assert_allclose(gap.before, explain_gap(whole, X, SEX, features=["x0"]).values, rtol=0, atol=EXACT)
    assert list(gap.table.columns) == ["group", "part", "before", "gap"]


@pytest.mark.parametrize("remainder", [False, True])
def test_before_and_after_edits(remainder):
    """The lines of the components that a model keeps, one of them scaled; the rest is one line."""
    model = ComponentModel(MODEL, drop=["x1"], remainder=remainder).fit(X).scale("x2", 0.5)
    share = np.where(SEX == "m", 1 / (SEX == "m").sum(), -1 / (SEX == "f").sum())
    gap = explain_gap(model, X, SEX, features=["x0"])
    lines = dict(zip(gap.lines, gap.values[0, :, 0]))
    gaps = [(set(c.features), share @ c.evaluate(X)) for c in model.components_]
    assert_allclose(lines["direct"], sum(g for s, g in gaps if s == {"x0"}), rtol=0, atol=EXACT)
    assert_allclose(
        lines["interactions"], sum(g for s, g in gaps if "x0" in s and len(s) > 1), rtol=0, atol=EXACT
    )
    for k in ("x1", "x2", "x3"):
        expected = sum(g / len(s) for s, g in gaps if k in s and "x0" not in s)
        assert_allclose(lines[k], expected, rtol=0, atol=EXACT)
    assert ("remainder" in lines) is remainder
    assert_allclose(gap.gap[0, 0], share @ model.margin(X), rtol=0, atol=EXACT)
    assert_allclose(gap.before.sum(), explain_gap(model.decomposer_, X, SEX).gap.item(), rtol=0, atol=EXACT)


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        (np.zeros(200), {}, "all rows are in the group 0.0"),
        (SEX, {"reference": "x"}, "reference must be one of the groups"),
        (SEX, {"sample_weight": (SEX == "m") * 1.0}, "zero on all rows of the group 'f'"),
        (SEX[:10], {}, "inconsistent numbers of samples"),
        (SEX, {"features": "nobody"}, "unknown feature 'nobody'"),
        ([None] * 200, {}, "missing values"),
    ],
)
def test_bad_input(dec, groups, options, message):
    with pytest.raises(ValueError, match=message):
        explain_gap(dec, X, groups, **options)
