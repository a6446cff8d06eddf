"""Compare the random number generator with Python integers, and check its distributions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skglex._planted._kernels.random_numbers import draw_distinct, draw_weighted, next_below, next_double

# Without numba, the random number generator warns about its arithmetic modulo 2**64.
pytestmark = [pytest.mark.plain, pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")]


class SplitMix64:
    """Draw numbers from SplitMix64 with Python integers."""

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
    """Compare the drawn numbers with the smallest exponential variables divided by the weights."""
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
