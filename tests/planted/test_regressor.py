"""Check the planted forest for regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skglex import RandomPlantedForestRegressor

# Without numba, the random number generator warns about its arithmetic modulo 2**64.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


@pytest.mark.parametrize("dtype", [np.int8, bool])
def test_integer_targets_are_numbers(dtype, interaction):
    X, y = interaction()
    forest = RandomPlantedForestRegressor(5, random_state=0)
    target = (3 * y).astype(dtype)
    assert_array_equal(forest.fit(X, target).predict(X), forest.fit(X, target.astype(float)).predict(X))


def test_constant_target(interaction):
    X = interaction()[0]
    assert_allclose(RandomPlantedForestRegressor(5).fit(X, np.full(300, 7.0)).predict(X), 7)
    assert_allclose(RandomPlantedForestRegressor(5).fit(X, np.zeros(300)).predict(X), 0)


def test_two_distinct_values():
    x = np.array([[0.0], [0.0], [1.0], [1.0]])
    forest = RandomPlantedForestRegressor(3, bootstrap=False).fit(x, [1.0, 1.0, 5.0, 5.0])
    assert_allclose(forest.predict([[0.0], [0.5], [1.0], [9.0]]), [1, 1, 5, 5])
