"""Compare the best threshold with a search over all thresholds."""

import numpy as np
import pytest

from skglex._planted._kernels.arguments import allocate_scratch
from skglex._planted._kernels.split import RANDOM, best_threshold, is_lower

pytestmark = pytest.mark.plain


def test_is_lower():
    """Check that with random thresholds a difference within rounding error is a tie."""
    assert is_lower(1.0, np.inf, RANDOM)
    assert not is_lower(np.inf, np.inf, RANDOM)
    assert is_lower(-2.0, -1.0, RANDOM)
    assert not is_lower(-1.0 - 1e-12, -1.0, RANDOM)
    assert is_lower(-1.0 - 1e-12, -1.0, RANDOM + 1)


def search(data, codes, n_codes, min_samples_leaf=1):
    parameters = data.parameters(min_samples_leaf)
    scratch = allocate_scratch(data.arrays, n_codes + 1, 1, parameters)
    state = np.array([1], np.uint64)
    return best_threshold(data.rows, codes, np.int64(n_codes), data.arrays, parameters, state, scratch)


@pytest.mark.parametrize("min_samples_leaf", [1, 20])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_codes", [3, 12, 100, 3000])
def test_best_threshold(data, n_codes, missing, min_samples_leaf):
    """Compare with a search over all thresholds, with missing values on either side or alone."""
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

    present = np.unique(codes[codes < n_codes])
    splits = [(t, side) for t in present[1:] for side in ({False, True} if missing else {False})]
    best = min(change(*split) for split in [*splits, *[(n_codes, False)] * missing])
    assert loss == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert change(code, missing_left) == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("code", [0, 5])
def test_no_threshold(data, code):
    """Check that equal values are not split, and that missing values are split from all others."""
    codes = np.full(data.n, code, np.int32)
    assert search(data, codes, 5) == (np.inf, -1, False)
    codes[::3] = 5 - code
    assert search(data, codes, 5)[1:] == (5, False)
