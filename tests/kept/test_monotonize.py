"""Compare `monotonize` with a general solver, with isotonic regression, and with its own certificate."""

import numpy as np
import pytest
import xgboost as xgb
from scipy.optimize import minimize
from sklearn.isotonic import isotonic_regression

from skglex import ComponentModel
from skglex._kept._quadratic_program import solve_projection
from skglex._utils import budgets
from tests.kept.test_edits import shares
from tests.support.kept_models import changes, coarse_model


def solve(model, X, column, sign):
    """Return the changed tables by a general solver: a variable per cell, an inequality per combination of bins."""
    components = [c for c in model.components_ if f"x{column}" in c.features]
    tables = [np.moveaxis(c.values, c.features.index(f"x{column}"), 0) for c in components]
    weights = [np.moveaxis(shares(c, X), c.features.index(f"x{column}"), 0) for c in components]
    edges = sorted({e for c in components for e in c.axes[c.features.index(f"x{column}")].edges})
    start = np.concatenate([t.ravel() for t in tables])
    weight = np.concatenate([w.ravel() for w in weights])
    offsets = np.cumsum([0, *(t.size for t in tables)])
    rows = []
    for edge in edges:
        # The changes across the edge in every combination of the other features' bins, as sums of single ones.
        sums = [np.zeros(len(start))]
        for c, t, offset in zip(components, tables, offsets):
            own = list(c.axes[c.features.index(f"x{column}")].edges)
            if edge not in own:
                continue
            b, cell = own.index(edge), offset + np.arange(t.size).reshape(t.shape)
            both = []
            for low, high in zip(cell[b].ravel(), cell[b + 1].ravel()):
                row = np.zeros(len(start))
                row[[low, high]] = -sign, sign
                both.append(row)
            sums = [total + row for total in sums for row in both]
        rows += sums
    A = np.array(rows)
    scale = 1e3  # The solver's tolerance is absolute.
    found = minimize(
        lambda x: scale * (weight * (x - start) ** 2).sum(),
        start,
        jac=lambda x: 2 * scale * weight * (x - start),
        constraints={"type": "ineq", "fun": lambda x: A @ x, "jac": lambda x: A},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    return [c.name for c in components], weights, tables, found.fun / scale


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("increasing", [True, False])
def test_joint_is_the_minimum(seed, increasing):
    model, X, _ = coarse_model(seed, n_trees=3, depth=2)
    made = model.monotonize("x0", increasing=increasing)
    sign = 1 if increasing else -1
    assert (sign * changes(made, 0)).min() >= -1e-12
    assert made.monotonicity("x0", increasing=increasing).status == "monotone"
    names, weights, tables, expected = solve(model, X, 0, sign)
    cost = sum(
        (w * (np.moveaxis(made.components_[n].values, n.split(":").index("x0"), 0) - t) ** 2).sum()
        for n, w, t in zip(names, weights, tables)
    )
    assert np.isclose(cost, expected, rtol=1e-6, atol=1e-9)
    others = [c.name for c in model.components_ if "x0" not in c.features]
    assert all(np.array_equal(made.components_[n].values, model.components_[n].values) for n in others)
    # Missing values of the feature stay as they are.
    for name in names:
        i = name.split(":").index("x0")
        before, after = (np.moveaxis(m.components_[name].values, i, 0)[-1] for m in (model, made))
        assert np.array_equal(before, after)


def test_each_is_isotonic_regression():
    model, X, _ = coarse_model(1)
    made = model.monotonize("x0", method="each")
    for component in model.components_:
        if "x0" not in component.features:
            continue
        i = component.features.index("x0")
        before, after, weight = (
            np.moveaxis(values, i, 0).reshape(component.axes[i].n_bins, -1)
            for values in (component.values, made.components_[component.name].values, shares(component, X))
        )
        for j in range(before.shape[1]):
            assert np.allclose(
                after[:-1, j], isotonic_regression(before[:-1, j], sample_weight=weight[:-1, j])
            )
    assert made.monotonicity("x0", increasing=True).status == "monotone"
    joint = model.monotonize("x0")
    assert _cost(joint, model, X) <= _cost(made, model, X)


def _cost(made, model, X):
    return sum(
        (shares(c, X) * (made.components_[c.name].values - c.values) ** 2).sum() for c in model.components_
    )


def test_many_bins_and_a_term_without_main_effect():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] + X[:, 2] * X[:, 0]
    booster = xgb.XGBRegressor(n_estimators=20, max_depth=2).fit(X, y)
    for how in ({}, {"drop": "x0"}, {"terms": ["x0:x1"]}):
        made = ComponentModel(booster, **how).fit(X).monotonize("x0", increasing=False)
        assert made.monotonicity("x0", increasing=False).status == "monotone"
    monotone = made.monotonize("x0", increasing=False)
    # A table that is monotone already does not change.
    assert all(np.array_equal(a.values, b.values) for a, b in zip(monotone.components_, made.components_))


@pytest.mark.filterwarnings("ignore:components of more than")
def test_what_cannot_be_made_monotone(monkeypatch):
    model, X, _ = coarse_model(0)
    estimator = model.estimator_
    for how, message in (
        (
            {"remainder": True},
            r"the remainder, which has no tables, cannot be made monotone\. Set remainder=False",
        ),
        ({"max_interaction": 3}, r"'x0' is in 'x0:x1:x2'\. Set max_interaction=2, or drop these terms"),
        ({"feature_groups": {"g": [0, 2]}}, r"'x0' shares the group 'g' with other columns"),
    ):
        with pytest.raises(ValueError, match=message):
            ComponentModel(estimator, **how).fit(X).monotonize("x0")
    with pytest.raises(ValueError, match="expected increasing=True or False, and method='joint' or 'each'"):
        model.monotonize("x0", method="all")
    monkeypatch.setattr(budgets, "monotone_cells", 10)
    with pytest.raises(
        ValueError, match=r"the tables of 'x0' have \d+ cells, more than the 10 of a joint program"
    ):
        model.monotonize("x0")
    model.monotonize("x0", method="each")


def test_projection_on_random_constraints():
    rng = np.random.default_rng(0)
    for _ in range(5):
        n, m = 6, 9
        A, lower, weight = rng.normal(size=(m, n)), rng.normal(size=m) - 1, rng.random(n) + 0.1
        x = solve_projection(weight, A, lower)
        found = minimize(
            lambda x, w=weight: (w * x**2).sum() / 2,
            np.zeros(n),
            jac=lambda x, w=weight: w * x,
            constraints={"type": "ineq", "fun": lambda x, A=A, b=lower: A @ x - b, "jac": lambda x, A=A: A},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        assert np.allclose(x, found.x, atol=1e-6)
        assert (A @ x - lower).min() > -1e-10


def test_projection_ends_where_its_systems_become_singular(monkeypatch):
    rng = np.random.default_rng(1)
    A, lower, weight = rng.normal(size=(9, 6)), rng.normal(size=9) - 1, rng.random(6) + 0.1
    found = solve_projection(weight, A, lower)
    # Without a tolerance, the iteration goes on until rounding leaves nothing to solve.
    monkeypatch.setattr("skglex._kept._quadratic_program._TOLERANCE", 0.0)
    assert np.allclose(solve_projection(weight, A, lower), found, atol=1e-9)
