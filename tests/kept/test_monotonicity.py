"""Compare the certificate of monotonicity with brute force over all combinations of bins."""

import numpy as np
import pytest
import xgboost as xgb
from lightgbm import LGBMRegressor

from skglex import ComponentModel, GlexDecomposer
from skglex._utils import budgets
from skglex.inspection import monotonicity
from tests.support.data import make_data
from tests.support.kept_models import NUMBERS, changes, coarse_model

TRIPLES = pytest.mark.filterwarnings("ignore:components of more than", "ignore:the background counts as")


def check_certificate(model, X, y):
    """Compare the certificates of all features and both directions with brute force."""
    for column in range(3):
        for increasing, sign in ((True, 1), (False, -1)):
            change = (sign * changes(model, column)).min(axis=1)
            found = model.monotonicity(column, increasing=increasing)
            # Rounding of sums of a few float64 numbers of size ten.
            if (change < -1e-9).any() or (change >= -found.tolerance).all():
                assert found.status == ("not monotone" if (change < -1e-9).any() else "monotone")
            assert found.tolerance < 1e-9
            sizes = {v.edge: v.size for v in found.violations if v.size > 1e-9}
            expected = {float(np.ceil(edge)): size for edge, size in sizes.items()}
            falls = {edge: -size for edge, size in zip(NUMBERS[1:], change) if size < -1e-9}
            assert expected.keys() == falls.keys()
            assert all(np.isclose(expected[edge], falls[edge]) for edge in falls)
            for violation in (v for v in found.violations if v.size > 1e-9):
                check_violation(violation, model, X, column, sign)


def edges_of(component, column):
    """Return the edges of a component along a feature."""
    return [edge for axis in component.axes if axis.feature == f"x{column}" for edge in axis.edges]


def check_violation(violation, model, X, column, sign):
    """Look at the box of a violation, and count the rows beside its edge that go the wrong way."""
    row = np.zeros(3)
    for name, box in violation.where.items():
        row[int(name[1])] = np.nan if box is None else max(np.ceil(box[0]), 0.0)
    below, above = row.copy(), row.copy()
    position = list(NUMBERS).index(np.ceil(violation.edge))
    below[column], above[column] = NUMBERS[position - 1 : position + 1]
    change = sign * np.diff(model.margin(np.array([below, above])))[0]
    assert np.isclose(change, -violation.size)
    # The bins beside an edge end where any of the tables changes.
    edges = np.unique([np.ceil(e) for c in model.components_ for e in edges_of(c, column)])
    position = list(edges).index(above[column])
    first, last = np.concatenate([[-np.inf], edges, [np.inf]])[[position, position + 2]]
    beside = (X[:, column] >= first) & (X[:, column] < last)
    low, high = X[beside].copy(), X[beside].copy()
    low[:, column], high[:, column] = below[column], above[column]
    change = sign * (model.margin(high) - model.margin(low))
    # The tolerance of the certificate lies between the two.
    least, most = ((change < limit).sum() / len(X) for limit in (-1e-9, 0.0))
    assert least - 1e-12 <= violation.share <= most + 1e-12


@TRIPLES
@pytest.mark.fuzz
@pytest.mark.parametrize("max_interaction", [1, 2, 3])
def test_random_models(max_interaction, request):
    """Half of them are made monotone in a feature, so that both answers occur."""
    for seed in range(request.config.getoption("--fuzz-cases") or 4):
        how = {"max_interaction": max_interaction, "depth": 2 + seed % 2}
        model, X, y = coarse_model(seed, **how)
        if seed % 2 and max_interaction < 3:
            model = model.monotonize(0, increasing=y[X[:, 0] > 1].mean() > y.mean())
            sign = np.sign(y[X[:, 0] > 1].mean() - y.mean())
            assert (sign * changes(model, 0) >= -1e-9).all()
        check_certificate(model, X, y)


@TRIPLES
@pytest.mark.parametrize("depth", [2, 3, 6])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_models_with_constraints(library, depth):
    X, y = make_data(500, 4)
    # Noise in the constrained features lets the truncation of the deep models fall somewhere.
    y = y + X[:, 0].clip(-1, 1) * (np.nan_to_num(X[:, 1]) > 0)
    if library == "xgboost":
        model = xgb.XGBRegressor(n_estimators=20, max_depth=depth, monotone_constraints=(1, 0, -1, 0))
    else:
        model = LGBMRegressor(
            n_estimators=20,
            max_depth=depth,
            monotone_constraints=[1, 0, -1, 0],
            min_child_samples=5,
            verbose=-1,
        )
    whole = GlexDecomposer(model, max_interaction=None).fit(np.nan_to_num(X), np.nan_to_num(y))
    for feature, increasing in ((0, True), (2, False)):
        found = monotonicity(whole, feature)
        assert (found.status, found.increasing) == ("monotone", increasing)
        assert found.prediction == "the whole model"
    assert monotonicity(whole, 1).status == "not monotone"
    cut = GlexDecomposer(whole.estimator_, max_interaction=2).fit(np.nan_to_num(X))
    assert monotonicity(cut, 0).prediction == (
        "the whole model" if depth == 2 else "the sum of 10 components"
    )
    if depth == 6:
        assert monotonicity(cut, 0, increasing=True).status == "not monotone"


@TRIPLES
def test_more_than_can_be_looked_at(monkeypatch):
    """Without the combinations of bins, rows may show that a model is not monotone, but not that it is."""
    monkeypatch.setattr(budgets, "certificate_cells", 1)
    model, _, _ = coarse_model(0, max_interaction=3, n_trees=20)
    assert model.monotonicity(0, increasing=True).status == "not monotone"
    statuses = set()
    for seed in range(8):
        model, _, _ = coarse_model(seed, max_interaction=3, n_trees=2, monotone=(1, 1, 1))
        # What an edit leaves is no longer known from the trees.
        found = model.round_to(step=1e-9).monotonicity(0, increasing=True)
        statuses.add(found.status)
        assert (found.status == "undecided") == ("too many combinations" in found.not_covered)
    assert statuses <= {"undecided", "monotone"}
    assert "undecided" in statuses


@TRIPLES
def test_remainder():
    model, X, _ = coarse_model(1, monotone=(1, 0, 0), depth=3)
    kept = ComponentModel(model.estimator_, remainder=True).fit(X)
    assert kept.monotonicity(0).prediction == "the whole model"
    assert kept.monotonicity(0).status == "monotone"
    changed = kept.scale("x1", 3.0)  # This adds nothing that depends on the feature.
    assert changed.monotonicity(0).prediction == "the model with changed components"
    assert changed.monotonicity(0).status == "monotone"
    fallen = kept.scale("x0", -5.0)
    found = fallen.monotonicity(0, increasing=True)
    assert found.status == "not monotone"
    assert np.isclose(max(v.size for v in found.violations), -changes(fallen, 0).min())


def test_categories_groups_and_features_without_splits():
    X, y = make_data(300, 4, missing=0)
    X[:, 1] = np.random.default_rng(0).integers(0, 4, 300)
    y = y + 2 * X[:, 1] * X[:, 0]
    model = LGBMRegressor(n_estimators=5, max_depth=2, verbose=-1, min_child_samples=5, min_data_per_group=5)
    model.fit(X, y, categorical_feature=[1])
    plain = ComponentModel(model).fit(X)
    with pytest.raises(ValueError, match="'x1' is categorical, so its values have no order"):
        plain.monotonicity(1)
    # A group of columns is one variable: the certificate of a member is that of the model without the group.
    grouped = ComponentModel(model, feature_groups={"g": [0, 3]}).fit(X)
    for found, expected in ((grouped.monotonicity(j), plain.monotonicity(j)) for j in (0, 2)):
        assert found.status == expected.status
        assert np.isclose(sum(v.size for v in found.violations), sum(v.size for v in expected.violations))
    constant = xgb.XGBRegressor(n_estimators=2, max_depth=1).fit(X, X[:, 0] > 0)
    assert ComponentModel(constant).fit(X).monotonicity(3).status == "monotone"
    with pytest.raises(ValueError, match="unknown feature 'height'"):
        plain.monotonicity("height")


def test_several_outputs():
    X, y = make_data(300, 3, missing=0)
    several = np.column_stack([X[:, 2], -X[:, 2], y])
    model = ComponentModel(xgb.XGBRegressor(n_estimators=10, max_depth=2)).fit(X, several)
    assert model.monotonicity("x2", output=0, increasing=True).status == "monotone"
    assert model.monotonicity("x2", output=1).increasing is False
    found = model.monotonicity("x2", increasing=True)
    assert found.status == "not monotone"
    assert {violation.output for violation in found.violations} >= {1}
    assert "is not monotone (increasing) in 'x2'" in str(found)
