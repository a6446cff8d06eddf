"""scikit-learn's trees: columns add up to the model's own margin, components are those of brute force."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from skglex import GlexDecomposer


def make_data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 3] = rng.integers(-2, 3, size=n)
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + (X[:, 3] > 0) + rng.normal(scale=0.1, size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


X, SIGNAL = make_data()


@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
def test_columns_add_up_to_the_margin(weighting):
    model = RandomForestRegressor(8, max_depth=4, random_state=0).fit(X, SIGNAL)
    decomposer = GlexDecomposer(model, weighting=weighting).fit(X)
    # float64 throughout
    np.testing.assert_allclose(
        decomposer.intercept_ + decomposer.transform(X).sum(axis=1), model.predict(X), rtol=0, atol=1e-12
    )
