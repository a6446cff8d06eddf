"""Make rows for the tests of the losses and of the search for thresholds."""

import numpy as np
import pytest

from skglex._planted._kernels.arguments import Parameters, allocate_rows
from skglex._planted._kernels.loss import (
    ABSOLUTE_ERROR,
    EXPONENTIAL,
    LOG_LOSS,
    SQUARED_ERROR,
    start_row,
    update_row,
)
from skglex._planted._kernels.split import RANDOM

LOSSES = {
    "squared error": SQUARED_ERROR,
    "absolute error": ABSOLUTE_ERROR,
    "log loss": LOG_LOSS,
    "exponential": EXPONENTIAL,
}


class Rows:
    """Hold weighted rows whose statistics the kernels compute, and the target and margin to check them."""

    # Distance from 0 and 1 at which probabilities are clipped.
    clip = 0.05

    def __init__(self, loss, n=120, n_outputs=2, seed=0):
        rng = np.random.default_rng(seed)
        self.loss, self.n, self.n_outputs = loss, n, n_outputs
        self.rows = np.arange(n, dtype=np.int32)
        self.weight = rng.choice([1.0, 2.0, 0.7, 3.0], n)
        self.y = rng.normal(size=(n, n_outputs))
        if loss in (LOG_LOSS, EXPONENTIAL):
            self.y = (rng.integers(0, n_outputs + 1, n)[:, None] == np.arange(n_outputs)).astype(float)
        if loss == EXPONENTIAL:
            self.y = 2 * self.y - 1
        self.margin = np.zeros((n, n_outputs))
        self.arrays = allocate_rows(self.y, loss)
        self.arrays.weight[:] = self.weight
        for i in self.rows:
            start_row(loss, i, self.arrays)
        for update in rng.normal(size=(2, n_outputs)):
            self.move(np.flatnonzero(rng.random(n) < 0.6), update)

    def move(self, rows, update):
        for i in rows:
            update_row(self.loss, i, update, self.arrays)
        self.margin[rows] += update

    def losses(self, margin):
        """Return the loss of each row."""
        if self.loss == SQUARED_ERROR:
            return ((self.y - margin) ** 2).sum(axis=1)
        if self.loss == ABSOLUTE_ERROR:
            return np.abs(self.y - margin).sum(axis=1)
        if self.loss == LOG_LOSS:
            return np.log1p(np.exp(margin).sum(axis=1)) - (self.y * margin).sum(axis=1)
        return np.exp(-self.y * margin / 2).sum(axis=1)

    def update(self, rows):
        """Return the update of a child with these rows."""
        w, y, margin = self.weight[rows], self.y[rows], self.margin[rows]
        if self.loss in (SQUARED_ERROR, ABSOLUTE_ERROR):
            return np.average(y - margin, axis=0, weights=w)
        if self.loss == LOG_LOSS:
            p, at = np.average(y, axis=0, weights=w), np.average(margin, axis=0, weights=w)
        else:
            boosting = w[:, None] * np.exp(-y * margin / 2)
            p, at = (boosting * (y > 0)).sum(axis=0) / boosting.sum(axis=0), 0.0
        return (
            np.log(np.clip(p, self.clip, 1 - self.clip) / np.clip(1 - p.sum(), self.clip, 1 - self.clip)) - at
        )

    def change(self, rows):
        """Return by how much a child with these rows changes the loss."""
        moved = self.losses(self.margin + self.update(rows)) - self.losses(self.margin)
        return self.weight[rows] @ moved[rows]

    def parameters(self, min_samples_leaf=1):
        """Return the parameters of a search over all thresholds."""
        return Parameters(
            loss=self.loss,
            max_interaction=1,
            n_splits=1,
            split_try=10**4,
            t_try=1.0,
            split_decay_rate=0.0,
            max_candidates=1,
            delete_leaves=True,
            bootstrap=False,
            min_samples_leaf=min_samples_leaf,
            delta=self.clip,
            epsilon=self.clip,
            rule=RANDOM,
        )


@pytest.fixture(params=LOSSES)
def data(request):
    """Return rows for each loss."""
    return Rows(LOSSES[request.param])
