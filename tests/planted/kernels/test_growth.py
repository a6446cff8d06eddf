"""Compare the first split of a planted forest with a search over all splits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skglex import RandomPlantedForestClassifier
from skglex._planted._leaves import encode_columns

# Without numba, the random number generator warns about its arithmetic modulo 2**64.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


LOSSES = ["log_loss", "exponential", "squared_error", "absolute_error"]


def change_of_loss(loss, y, weight):
    """Return by how much a first child changes the loss, and the update of the child."""
    total = weight.sum()
    if loss == "squared_error":
        update = weight @ y / total
        return weight @ ((y - update[None]) ** 2 - y**2).sum(axis=1), update
    if loss == "absolute_error":
        update = weight @ y / total
        return weight @ (abs(y - update[None]) - abs(y)).sum(axis=1), update
    p = weight @ (y > 0) / total
    reference = 1 - p.sum()

    def ratio(margin):
        return np.log(np.clip(p, margin, 1 - margin) / np.clip(reference, margin, 1 - margin))

    if loss == "log_loss":
        u = ratio(0.001)
        return weight @ (np.log1p(np.exp(u).sum()) - y @ u - np.log1p(y.shape[1])), ratio(0.1)
    return weight @ (np.exp(-0.5 * y * ratio(0.001)) - 1).sum(axis=1), ratio(0.1)


@pytest.mark.plain
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("max_bins", [None, 8])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_first_split_is_the_best_one(loss, n_classes, max_bins, missing):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3)).round(1)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    score = np.nan_to_num(X[:, 1], nan=1.5) + 0.5 * rng.normal(size=80)
    labels = np.digitize(score, [0.3] if n_classes == 2 else [-0.5, 0.5])
    weight = rng.uniform(0.5, 2, size=80)
    forest = RandomPlantedForestClassifier(
        1, n_splits=1, split_try=1000, t_try=1.0, bootstrap=False, loss=loss, max_bins=max_bins, epsilon=0.1
    ).fit(X, labels, weight)

    y = (labels[:, None] == np.arange(n_classes)).astype(float)
    y = y[:, 1:] if n_classes == 2 or loss == "log_loss" else y
    y = 2 * y - 1 if loss == "exponential" else y
    best = np.inf
    for k, edges in enumerate(encode_columns(X, max_bins)[2]):
        for cut in edges[1:]:
            for missing_left in (False, True):
                left = np.where(np.isnan(X[:, k]), missing_left, X[:, k] < cut)
                if 0 < left.sum() < 80:
                    sides = [change_of_loss(loss, y[s], weight[s]) for s in (left, ~left)]
                    if sides[0][0] + sides[1][0] < best - 1e-12:
                        best = sides[0][0] + sides[1][0]
                        expected = np.where(left[:, None], sides[0][1], sides[1][1])
    assert_allclose(forest._margin(X)[:, -y.shape[1] :], expected, atol=1e-12)
