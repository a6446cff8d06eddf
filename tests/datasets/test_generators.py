"""Check that the simulated data have the components that their docstrings state."""

import numpy as np
import pytest

from skglex.datasets import make_importance, make_motivating, make_runtime, make_salary

GENERATORS = [make_importance, make_motivating, make_runtime, make_salary]


@pytest.mark.parametrize("make", GENERATORS)
def test_generators_are_reproducible(make):
    X, y = make(50, random_state=3)
    again, y_again = make(50, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, y_again)
    assert X.shape[0] == y.shape[0] == 50
    assert X.dtype == y.dtype == np.float64
    assert not np.array_equal(y, make(50, random_state=4)[1])


@pytest.mark.parametrize("correlation", [-1, 0, 0.3, 1])
def test_motivating_moments(correlation):
    X, y = make_motivating(200_000, correlation=correlation, random_state=0)
    np.testing.assert_allclose(np.cov(X.T), [[1, correlation], [correlation, 1]], atol=0.02)
    np.testing.assert_allclose(y.mean(), 2 * correlation, atol=0.03)
    x1, x2 = X.T
    np.testing.assert_allclose(np.std(y - x1 - x2 - 2 * x1 * x2), 1, atol=0.02)


def test_motivating_components_are_partial_dependence():
    # Averages over the other feature give the intercept and the main effect that the docstring states.
    r, grid = 0.3, np.array([-1.0, 0.0, 2.0])
    X, y = make_motivating(400_000, correlation=r, noise=0, random_state=0)
    np.testing.assert_allclose(y.mean(), 2 * r, atol=0.02)
    dependence = [np.mean(x1 + X[:, 1] + 2 * x1 * X[:, 1]) for x1 in grid]
    np.testing.assert_allclose(dependence, 2 * r + (grid - 2 * r), atol=0.02)


def test_importance_target():
    X, y = make_importance(50, noise=0, random_state=0)
    x1, x2, x3, x4 = X.T
    np.testing.assert_allclose(y, x1 + x3 + x2 * x3 - 2 * x2 * x3 * x4)


def test_runtime_uses_two_features():
    X, y = make_runtime(50, 5, noise=0, random_state=0)
    assert X.shape == (50, 5)
    np.testing.assert_allclose(y, X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1])


def test_salary_effects():
    X, y = make_salary(100_000, hours_sd=3, random_state=0)
    sex, hours = X.T
    assert set(sex) == {0, 1}
    for group, mean in [(0, 30), (1, 40)]:
        np.testing.assert_allclose(
            [hours[sex == group].mean(), hours[sex == group].std()], [mean, 3], atol=0.05
        )
    noise = y - 20 * sex - hours
    np.testing.assert_allclose([noise.mean(), noise.std()], [0, 1], atol=0.02)


def test_generator_errors():
    with pytest.raises(ValueError, match=r"correlation must lie in \[-1, 1\], but got 1.5"):
        make_motivating(correlation=1.5)
    with pytest.raises(ValueError, match=r"n_features must be at least 2, but got 1"):
        make_runtime(10, 1)
