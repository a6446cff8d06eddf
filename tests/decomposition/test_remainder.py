"""Warn of a large remainder, and sum the components of each order."""

import warnings

import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose

from skglex import GlexDecomposer
from skglex._decomposition._order_walks import OrderWalks
from skglex._utils import budgets
from skglex.exceptions import RemainderWarning
from tests.support.small_models import MODEL, X

FEW = np.where(X > 0, 1.0, 0.0)
PARITY = xgb.XGBRegressor(n_estimators=5, max_depth=4).fit(FEW, FEW.sum(axis=1) % 2)


@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
def test_a_large_remainder_warns_of_its_share(weighting):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dec = GlexDecomposer(PARITY, weighting=weighting).fit(FEW)
        share = dec.transform(FEW)[:, -1].var() / PARITY.predict(FEW).var()
    assert share > 0.1
    with pytest.warns(RemainderWarning, match=f"more than 2 features hold {share:.0%} of the variance"):
        GlexDecomposer(PARITY, weighting=weighting).fit(FEW)


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (PARITY, {"max_interaction": None}),
        (PARITY, {"features": [0, 1]}),  # The user left components out on purpose.
        (xgb.XGBRegressor(n_estimators=5, max_depth=2).fit(FEW, FEW.sum(axis=1) % 2), {}),
    ],
)
def test_no_warning(model, parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RemainderWarning)
        GlexDecomposer(model, **parameters).fit(FEW)


@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
@pytest.mark.parametrize("gain", [1, 1000])
def test_sums_by_order(monkeypatch, weighting, gain):
    """Sums over coalitions equal sums of components, with weights by mask or by rank."""
    monkeypatch.setattr("skglex._leaves._coalition_weights.RANKED_GAIN", gain)
    for features in (None, [0, 2, 3]):
        dec = GlexDecomposer(MODEL, weighting=weighting, max_interaction=None, features=features).fit(X)
        decomposition = dec._decomposition
        bins = dec._fitted.bins(X, dec._execution)
        orders, columns = decomposition.listed.orders, dec.transform(X)
        for n_orders in (1, 3, 4):
            found = decomposition.sum_by_order(bins, n_orders)[:, 0]
            expected = [columns[:, : len(orders)][:, orders == q + 1].sum(axis=1) for q in range(n_orders)]
            assert_allclose(found, expected, atol=1e-12)  # sums of float64 leaf values


def test_orders_that_take_long_are_left_out(monkeypatch):
    decomposition = GlexDecomposer(MODEL, max_interaction=1).fit(X)._decomposition
    assert decomposition.affordable_orders(300, None) == 4
    monkeypatch.setattr(budgets, "order_steps", 0)
    assert decomposition.affordable_orders(300, None) == 1
    assert decomposition.affordable_orders(300, 3) == 3
    monkeypatch.setattr(budgets, "held_components", 8)
    assert decomposition.count_by_order(3) == [4, None, None]


@pytest.mark.parametrize("features", [None, [0, 2, 3]])
@pytest.mark.parametrize("n_orders", [1, 2, 4])
def test_walks_sum_orders(n_orders, features):
    """Rows that walk down the trees beside weighted background rows sum the same components as the leaves do."""
    weight = np.random.default_rng(0).integers(0, 4, 90)
    dec = GlexDecomposer(MODEL, features=features).fit(X[:90], sample_weight=weight)
    decomposition, rows = dec._decomposition, dec._fitted.background
    walks = OrderWalks(decomposition.margins, decomposition.players, decomposition.allowed, n_orders)
    expected = decomposition.sum_by_order(rows.bins, n_orders)
    assert_allclose(walks(rows, dec._execution), expected, atol=1e-12)  # sums of float64 leaf values


def test_walks_measure_the_share_where_leaves_are_many(monkeypatch):
    """Walks afford all rows of this model, and so find the same share as the sum over its leaves."""
    shares = []
    for steps in (1e9, 1.0):
        monkeypatch.setattr(budgets, "remainder_steps", steps)
        with pytest.warns(RemainderWarning) as caught:
            GlexDecomposer(PARITY).fit(FEW)
        shares.append(str(caught[0].message))
    assert shares[0] == shares[1]
