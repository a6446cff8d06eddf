"""Check the encoding of columns and the prediction with leaves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skglex import RandomPlantedForestRegressor

# Without numba, the random number generator warns about its arithmetic modulo 2**64.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def sum_boxes(leaves, X):
    """Predict by comparing every row with every box."""
    out = np.zeros((len(X), leaves.values.shape[1]))
    for leaf, value in enumerate(leaves.values):
        inside = np.ones(len(X), dtype=bool)
        for c in range(leaves.leaf_ptr[leaf], leaves.leaf_ptr[leaf + 1]):
            x = X[:, leaves.feature[c]]
            inside &= np.where(np.isnan(x), leaves.missing[c], (leaves.lo[c] <= x) & (x < leaves.hi[c]))
        out[inside] += value
    return out / leaves.n_families


def test_prediction_is_the_sum_of_the_boxes(interaction):
    """Check `add_leaves`."""
    X, y = interaction()
    X[::7, 0] = np.nan
    forest = RandomPlantedForestRegressor(5, max_interaction=3, random_state=0).fit(
        X, np.column_stack([y, -y])
    )
    new = interaction(seed=1)[0]
    new[::5, 1] = np.nan
    new[:50] = X[:50]
    expected = sum_boxes(forest.leaves_, new)
    assert expected.shape == (300, 2)
    assert_allclose(forest.predict(new), expected, atol=1e-12)
    # So many rows need several blocks and several tasks.
    assert_allclose(forest.predict(np.tile(new, (60, 1)))[-300:], expected, atol=1e-12)


def test_max_bins_bounds_the_thresholds(interaction):
    X, y = interaction(n=1000)
    leaves = RandomPlantedForestRegressor(30, max_bins=4, random_state=0).fit(X, y).leaves_
    cuts = np.unique(leaves.lo[(leaves.feature == 0) & np.isfinite(leaves.lo)])
    assert len(cuts) == 3
    assert_allclose(cuts, np.quantile(X[:, 0], [0.25, 0.5, 0.75]), atol=0.05)
