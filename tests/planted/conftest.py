"""Make data for the tests of the planted forest."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def interaction():
    """Return a function that simulates two main effects and their interaction."""

    def make(n=300, d=4, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d))
        return X, X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1] + rng.normal(size=n)

    return make
