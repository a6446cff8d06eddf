"""Index the components that leaves have."""

import numpy as np
import pytest

from skglex._decomposition._index import _unique_rows


@pytest.mark.parametrize("largest", [3, 2**40])
def test_distinct_rows(largest):
    rows = np.random.default_rng(0).integers(0, 2, size=(50, 3)) * largest
    unique, inverse = _unique_rows(rows)
    assert np.array_equal(unique, np.unique(rows, axis=0))
    assert np.array_equal(unique[inverse], rows)
