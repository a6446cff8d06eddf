"""Compare the losses of rows and of children with their formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skglex._planted._kernels.arguments import allocate_scratch
from skglex._planted._kernels.loss import (
    EXPONENTIAL,
    LOG_LOSS,
    additive_loss,
    child_update,
    gather_row,
    is_additive,
    span_loss,
)
from skglex._planted._kernels.split import sum_rows, unsplit_loss

pytestmark = pytest.mark.plain


# Sums of a few hundred float64 terms of size 1.
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


def test_rows(data):
    """Compare `count_stats`, `start_row` and `update_row` with the table in the docstring of the module `loss`."""
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
    """Check `sum_rows` and `child_update`, also for rows of one class, whose probabilities are clipped."""
    for rows in (data.rows, data.rows[:1], data.rows[data.y[:, 0] > 0]):
        sums, out = np.empty(data.arrays.stats.shape[1]), np.empty(data.n_outputs)
        sum_rows(rows, data.arrays.stats, sums)
        assert_allclose(sums, data.arrays.stats[rows].sum(axis=0), **TOLERANCE)
        child_update(data.loss, sums, data.n_outputs, data.clip, out)
        assert_allclose(out, data.update(rows), **TOLERANCE)


def test_child_loss(data):
    """Check `unsplit_loss` with `additive_loss` if `is_additive`, otherwise with `gather_row` and `span_loss`."""
    k, rows = data.n_outputs, data.rows[::2]
    update, growth = np.empty(k), np.empty(k)
    parts, weights = np.empty((data.n, k)), np.empty(data.n)
    parameters = data.parameters()
    scratch = allocate_scratch(data.arrays, 1, 1, parameters)
    result = unsplit_loss(rows, data.arrays, parameters, scratch)
    assert result == pytest.approx(data.change(rows), rel=1e-11, abs=1e-11)
    if is_additive(data.loss):
        assert additive_loss(data.loss, scratch.sides[0], k, data.clip, update) == result
        return
    present = [gather_row(data.loss, i, at, data.arrays, parts, weights) for at, i in enumerate(rows)]
    assert_allclose(weights[: len(rows)], data.weight[rows])
    moved = data.losses(data.margin + data.update(rows))
    now = data.losses(data.margin)
    if data.loss == LOG_LOSS:
        # The kernels add the linear part later.
        moved += (data.y * (data.margin + data.update(rows))).sum(axis=1)
        now += (data.y * data.margin).sum(axis=1)
    assert_allclose(present, (data.weight * now)[rows], **TOLERANCE)
    span = span_loss(data.loss, 3, len(rows), parts, weights, data.update(rows), np.exp(data.update(rows)))
    assert span == pytest.approx((data.weight * moved)[rows[3:]].sum(), rel=1e-12)
    assert span_loss(data.loss, 3, 3, parts, weights, update, growth) == 0


def test_span_loss_of_terms_whose_product_overflows():
    n = 500
    parts, weights = np.full((n, 1), 1e30), np.ones(n)
    result = span_loss(LOG_LOSS, 0, n, parts, weights, np.zeros(1), np.ones(1))
    assert result == pytest.approx(n * np.log(1e30), rel=1e-14)
