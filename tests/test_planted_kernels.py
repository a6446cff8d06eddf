"""The random planted forest's kernels beside plain statements: random numbers, losses of rows, the best threshold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skglex._planted._kernels.arguments import Parameters, allocate_rows, allocate_scratch
from skglex._planted._kernels.loss import (
    ABSOLUTE_ERROR,
    EXPONENTIAL,
    LOG_LOSS,
    SQUARED_ERROR,
    additive_loss,
    child_update,
    gather_row,
    is_additive,
    span_loss,
    start_row,
    update_row,
)
from skglex._planted._kernels.random_numbers import draw_distinct, draw_weighted, next_below, next_double
from skglex._planted._kernels.split import RANDOM, best_threshold, is_lower, sum_rows, unsplit_loss

LOSSES = {
    "squared error": SQUARED_ERROR,
    "absolute error": ABSOLUTE_ERROR,
    "log loss": LOG_LOSS,
    "exponential": EXPONENTIAL,
}
# Probabilities stay so far off 0 and 1.
MARGIN = 0.05
# Sums of a few hundred float64 terms of size 1.
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


# -- random numbers -------------------------------------------------------------------------------


class SplitMix64:
    """The generator in integers of Python."""

    def __init__(self, seed):
        self.state = seed

    def double(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return ((z ^ z >> 31) >> 11) / 2**53

    def below(self, n):
        return int(self.double() * n)


@pytest.mark.parametrize("seed", [0, 5, 2**64 - 1])
def test_random_numbers(seed):
    state, plain = np.array([seed], np.uint64), SplitMix64(seed)
    assert [next_double(state) for _ in range(50)] == [plain.double() for _ in range(50)]
    for n in (1, 2, 7, 10**12):
        assert [next_below(state, n) for _ in range(20)] == [plain.below(n) for _ in range(20)]
    assert state[0] == plain.state


@pytest.mark.parametrize(("n", "size"), [(1, 1), (5, 2), (5, 5), (200, 30), (7, 0)])
def test_draw_distinct(n, size):
    state, plain, out = np.array([5], np.uint64), SplitMix64(5), np.empty(size, np.int64)
    for _ in range(20):
        draw_distinct(state, n, size, out)
        drawn = set()
        for top in range(n - size, n):
            value = plain.below(top + 1)
            drawn.add(top if value in drawn else value)
        assert out.tolist() == sorted(drawn)


def test_draw_distinct_is_uniform_over_subsets():
    state, out = np.array([5], dtype=np.uint64), np.empty(2, dtype=np.int64)
    counts = np.zeros((5, 5))
    for _ in range(5000):
        draw_distinct(state, 5, 2, out)
        counts[out[0], out[1]] += 1
    pairs = counts[np.triu_indices(5, 1)]
    assert counts.sum() == pairs.sum()
    assert_allclose(pairs, 500, atol=100)


@pytest.mark.parametrize("decay", [0.0, 0.1, 1000.0])
@pytest.mark.parametrize(("n", "size"), [(1, 1), (9, 4), (300, 299), (300, 300)])
def test_draw_weighted(n, size, decay):
    """The smallest of exponential variables over the weights; ages that leave no weight come last."""
    state, plain = np.array([5], np.uint64), SplitMix64(5)
    ages, keys, order = np.arange(n) % 7, np.empty(n), np.empty(n)
    for _ in range(5):
        out = np.empty(size, np.int64)
        draw_weighted(state, ages, decay, n, size, keys, order, out)
        expected = [-np.log(1 - plain.double()) * np.exp(min(decay * age, 700)) for age in ages]
        assert out.tolist() == sorted(np.argsort(expected, kind="stable")[:size].tolist())


def test_draw_weighted_follows_the_weights():
    state, out = np.array([5], dtype=np.uint64), np.empty(1, dtype=np.int64)
    ages, keys, order = np.array([0, 10, 20]), np.empty(3), np.empty(3)
    counts = np.zeros(3)
    for _ in range(5000):
        draw_weighted(state, ages, 0.1, 3, 1, keys, order, out)
        counts[out[0]] += 1
    assert_allclose(counts / 5000, np.exp([0, -1, -2]) / np.exp([0, -1, -2]).sum(), atol=0.03)


# -- losses ---------------------------------------------------------------------------------------


def make_parameters(loss, min_samples_leaf=1):
    return Parameters(
        loss=loss,
        max_interaction=1,
        n_splits=1,
        split_try=10**4,
        t_try=1.0,
        split_decay_rate=0.0,
        max_candidates=1,
        delete_leaves=True,
        bootstrap=False,
        min_samples_leaf=min_samples_leaf,
        delta=MARGIN,
        epsilon=MARGIN,
        rule=RANDOM,
    )


class Rows:
    """Weighted rows of a loss, started by the kernel and moved by updates; y and the margin are kept beside."""

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
        """The loss of every row."""
        if self.loss == SQUARED_ERROR:
            return ((self.y - margin) ** 2).sum(axis=1)
        if self.loss == ABSOLUTE_ERROR:
            return np.abs(self.y - margin).sum(axis=1)
        if self.loss == LOG_LOSS:
            return np.log1p(np.exp(margin).sum(axis=1)) - (self.y * margin).sum(axis=1)
        return np.exp(-self.y * margin / 2).sum(axis=1)

    def update(self, rows):
        """What a child of these rows adds to them."""
        w, y, margin = self.weight[rows], self.y[rows], self.margin[rows]
        if self.loss in (SQUARED_ERROR, ABSOLUTE_ERROR):
            return np.average(y - margin, axis=0, weights=w)
        if self.loss == LOG_LOSS:
            p, at = np.average(y, axis=0, weights=w), np.average(margin, axis=0, weights=w)
        else:
            boosting = w[:, None] * np.exp(-y * margin / 2)
            p, at = (boosting * (y > 0)).sum(axis=0) / boosting.sum(axis=0), 0.0
        return np.log(np.clip(p, MARGIN, 1 - MARGIN) / np.clip(1 - p.sum(), MARGIN, 1 - MARGIN)) - at

    def change(self, rows):
        """How a child of these rows changes the loss."""
        moved = self.losses(self.margin + self.update(rows)) - self.losses(self.margin)
        return self.weight[rows] @ moved[rows]


@pytest.fixture(params=LOSSES)
def data(request):
    return Rows(LOSSES[request.param])


def test_rows(data):
    """`count_stats`, `start_row` and `update_row`: the table at the top of the kernels' module."""
    y, w, margin = data.y, data.weight[:, None], data.margin
    if data.loss == LOG_LOSS:
        assert_allclose(data.arrays.score, np.exp(margin), **TOLERANCE)
        log = np.log1p(np.exp(margin).sum(axis=1, keepdims=True))
        expected = np.column_stack([w, w * log, w * y, w * margin])
    elif data.loss == EXPONENTIAL:
        boosting = np.exp(-y * margin / 2)
        assert_allclose(data.arrays.score, boosting, **TOLERANCE)
        expected = np.stack([w * boosting * (y > 0), w * boosting * (y < 0)], axis=2).reshape(data.n, -1)
    else:
        assert_allclose(data.arrays.target, y - margin, **TOLERANCE)
        expected = np.column_stack([w, w * (y - margin)])
    assert_allclose(data.arrays.stats, expected, **TOLERANCE)


def test_child_update(data):
    """`sum_rows` and `child_update`; of rows of one class too, whose probabilities are cut off."""
    for rows in (data.rows, data.rows[:1], data.rows[data.y[:, 0] > 0]):
        sums, out = np.empty(data.arrays.stats.shape[1]), np.empty(data.n_outputs)
        sum_rows(rows, data.arrays.stats, sums)
        assert_allclose(sums, data.arrays.stats[rows].sum(axis=0), **TOLERANCE)
        child_update(data.loss, sums, data.n_outputs, MARGIN, out)
        assert_allclose(out, data.update(rows), **TOLERANCE)


def test_child_loss(data):
    """`unsplit_loss`: `additive_loss` where `is_additive`, else `gather_row` and `span_loss`."""
    k, rows = data.n_outputs, data.rows[::2]
    update, growth = np.empty(k), np.empty(k)
    parts, weights = np.empty((data.n, k)), np.empty(data.n)
    parameters = make_parameters(data.loss)
    scratch = allocate_scratch(data.arrays, 1, 1, parameters)
    got = unsplit_loss(rows, data.arrays, parameters, scratch)
    assert got == pytest.approx(data.change(rows), rel=1e-11, abs=1e-11)
    if is_additive(data.loss):
        assert additive_loss(data.loss, scratch.sides[0], k, MARGIN, update) == got
        return
    present = [gather_row(data.loss, i, at, data.arrays, parts, weights) for at, i in enumerate(rows)]
    assert_allclose(weights[: len(rows)], data.weight[rows])
    moved = data.losses(data.margin + data.update(rows))
    now = data.losses(data.margin)
    if data.loss == LOG_LOSS:  # without the linear part
        moved += (data.y * (data.margin + data.update(rows))).sum(axis=1)
        now += (data.y * data.margin).sum(axis=1)
    assert_allclose(present, (data.weight * now)[rows], **TOLERANCE)
    span = span_loss(data.loss, 3, len(rows), parts, weights, data.update(rows), np.exp(data.update(rows)))
    assert span == pytest.approx((data.weight * moved)[rows[3:]].sum(), rel=1e-12)
    assert span_loss(data.loss, 3, 3, parts, weights, update, growth) == 0


def test_span_loss_of_terms_whose_product_overflows():
    n = 500
    parts, weights = np.full((n, 1), 1e30), np.ones(n)
    got = span_loss(LOG_LOSS, 0, n, parts, weights, np.zeros(1), np.ones(1))
    assert got == pytest.approx(n * np.log(1e30), rel=1e-14)


def test_is_lower():
    """By more than rounding where thresholds are drawn: two ways to the same children tie."""
    assert is_lower(1.0, np.inf, RANDOM)
    assert not is_lower(np.inf, np.inf, RANDOM)
    assert is_lower(-2.0, -1.0, RANDOM)
    assert not is_lower(-1.0 - 1e-12, -1.0, RANDOM)
    assert is_lower(-1.0 - 1e-12, -1.0, RANDOM + 1)


# -- the best threshold ---------------------------------------------------------------------------


def search(data, codes, n_codes, min_samples_leaf=1):
    parameters = make_parameters(data.loss, min_samples_leaf)
    scratch = allocate_scratch(data.arrays, n_codes + 1, 1, parameters)
    state = np.array([1], np.uint64)
    return best_threshold(data.rows, codes, np.int64(n_codes), data.arrays, parameters, state, scratch)


@pytest.mark.parametrize("min_samples_leaf", [1, 20])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_codes", [3, 12, 100, 3000])
def test_best_threshold(data, n_codes, missing, min_samples_leaf):
    """Over all thresholds, and missing values on either side or alone."""
    rng = np.random.default_rng(n_codes)
    codes = rng.integers(0, n_codes, data.n).astype(np.int32)
    if missing:
        codes[rng.random(data.n) < 0.3] = n_codes
    loss, code, missing_left = search(data, codes, n_codes, min_samples_leaf)

    def change(code, missing_left):
        left = np.where(codes == n_codes, missing_left, codes < code)
        if min(left.sum(), (~left).sum()) < min_samples_leaf:
            return np.inf
        return data.change(data.rows[left]) + data.change(data.rows[~left])

    known = np.unique(codes[codes < n_codes])
    ways = [(t, side) for t in known[1:] for side in ({False, True} if missing else {False})]
    best = min(change(*way) for way in [*ways, *[(n_codes, False)] * missing])
    assert loss == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert change(code, missing_left) == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("code", [0, 5])
def test_no_threshold(data, code):
    """Rows that are all the same, or all missing, are not split; known from missing ones they are."""
    codes = np.full(data.n, code, np.int32)
    assert search(data, codes, 5) == (np.inf, -1, False)
    codes[::3] = 5 - code
    assert search(data, codes, 5)[1:] == (5, False)
