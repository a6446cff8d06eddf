"""Models with more thresholds on one feature than 16-bit numbers can count, as forests with random thresholds have."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import ExtraTreesRegressor

from skglex import GlexDecomposer
from skglex._leaves import Grid
from skglex._leaves._leaves import collect_conditions


@pytest.mark.parametrize("n_cuts", [100, 70_000])
def test_conditions(n_cuts):
    """An interval without missing values has the largest number of the bins' type as its missing bin."""
    grid = Grid.from_cuts(
        np.array([0]), [np.arange(n_cuts)], np.array([False]), less_equal=True, as_float32=False
    )
    lo, hi, missing = np.array([0, n_cuts - 1, 0]), np.array([n_cuts - 1, n_cuts + 1, 5]), np.array([0, 1, 0])
    conditions, complement, number = collect_conditions(grid, np.zeros(3, np.int32), lo, hi, missing != 0)
    assert grid.dtype is (np.uint16 if n_cuts == 100 else np.uint32)
    for array in (conditions.lo, conditions.hi, conditions.missing):
        assert array.dtype == grid.dtype
    assert_array_equal(conditions.lo[number], lo)
    assert_array_equal(conditions.hi[number], hi)
    assert_array_equal(conditions.missing[number], np.where(missing, n_cuts + 1, np.iinfo(grid.dtype).max))
    assert_array_equal(complement[number], [number[1], number[0], -1])


@pytest.mark.slow
def test_values_of_extra_trees():
    """Components and SHAP values of 80,000 thresholds on one feature, against the model's predictions."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=2000), rng.integers(2, size=2000)])
    model = ExtraTreesRegressor(40, random_state=0, n_jobs=2).fit(
        X, X[:, 0] * X[:, 1] + rng.normal(size=2000)
    )
    rows, background = X[:40], X[500:560]
    decomposer = GlexDecomposer(model, max_interaction=2).fit(background)
    assert decomposer._decomposition.ensemble.grid.n_bins.max() > 2**16
    means = np.array(
        [
            [
                model.predict(np.column_stack([np.where(fixed, row, background)])).mean()
                for fixed in ([False, False], [True, False], [False, True], [True, True])
            ]
            for row in rows
        ]
    )
    first, second = means[:, 1] - means[:, 0], means[:, 2] - means[:, 0]
    both = means[:, 3] - means[:, 0] - first - second
    # Means of predictions up to 3 over 40 trees: the rounding is far below.
    assert_allclose(
        decomposer.transform(rows)[:, :3], np.column_stack([first, second, both]), rtol=0, atol=1e-11
    )
    assert_allclose(
        decomposer.shap_values(rows),
        np.column_stack([first + both / 2, second + both / 2]),
        rtol=0,
        atol=1e-11,
    )
