"""Compute the four losses of a planted forest from sums of per-row statistics.

A row has a ``target`` (the residual for the two errors, the class indicator otherwise), a ``score`` (class odds
for the log loss, boosting weights for the exponential loss, unused otherwise) and ``stats``. The sums of ``stats``
over a child determine the update of the child. With row weight w, residual or indicator y, margin W and boosting
weight b, per output k:

=============== ==========================================================
loss            columns of ``stats``
=============== ==========================================================
squared error   w, w y_k
absolute error  w, w y_k
log loss        w, w log(1 + sum exp W), w y_k, w W_k
exponential     (w b_k if y_k > 0 else 0), (w b_k if y_k < 0 else 0), ...
=============== ==========================================================
"""

import numpy as np

from skglex._kernels.compilation import helper, kernel

SQUARED_ERROR, ABSOLUTE_ERROR, LOG_LOSS, EXPONENTIAL = 0, 1, 2, 3


def count_stats(loss: int, n_outputs: int) -> int:
    """Return the number of columns of ``stats``."""
    if loss == LOG_LOSS:
        return 2 + 2 * n_outputs
    if loss == EXPONENTIAL:
        return 2 * n_outputs
    return 1 + n_outputs


@kernel
def is_additive(loss):
    """Return whether a child's loss follows from its summed statistics, without a pass over its rows."""
    return loss in (SQUARED_ERROR, EXPONENTIAL)


@helper
def _refresh_row(loss, i, data):
    """Recompute the statistics of row ``i`` that depend on its residuals, odds or boosting weights."""
    target, score, stats = data.target, data.score, data.stats
    weight, n_outputs = data.weight[i], target.shape[1]
    if loss == LOG_LOSS:
        total = 1.0
        for k in range(n_outputs):
            total += score[i, k]
        stats[i, 1] = weight * np.log(total)
    elif loss == EXPONENTIAL:
        for k in range(n_outputs):
            positive = target[i, k] > 0
            stats[i, 2 * k] = weight * score[i, k] if positive else 0.0
            stats[i, 2 * k + 1] = 0.0 if positive else weight * score[i, k]
    else:
        for k in range(n_outputs):
            stats[i, 1 + k] = weight * target[i, k]


@kernel
def start_row(loss, i, data):
    """Compute the score and the statistics of row ``i`` at a margin of zero."""
    target, stats = data.target, data.stats
    weight, n_outputs = data.weight[i], target.shape[1]
    stats[i, 0] = weight
    for k in range(n_outputs):
        data.score[i, k] = 1.0
        if loss == LOG_LOSS:
            stats[i, 2 + k] = weight * target[i, k]
            stats[i, 2 + n_outputs + k] = 0.0
    _refresh_row(loss, i, data)


@kernel
def update_row(loss, i, update, data):
    """Add the update of a child to the margin of row ``i``."""
    target, score = data.target, data.score
    n_outputs = target.shape[1]
    for k in range(n_outputs):
        if loss == LOG_LOSS:
            score[i, k] *= np.exp(update[k])
            data.stats[i, 2 + n_outputs + k] += data.weight[i] * update[k]
        elif loss == EXPONENTIAL:
            score[i, k] *= np.exp(-0.5 * target[i, k] * update[k])
        else:
            target[i, k] -= update[k]
    _refresh_row(loss, i, data)


@helper
def _clip(p, margin):
    """Keep a probability ``margin`` away from 0 and 1."""
    return min(max(p, margin), 1.0 - margin)


@kernel
def child_update(loss, sums, n_outputs, margin, out):
    """Compute the update that a child with these sums adds to its rows.

    Probabilities are kept ``margin`` away from 0 and 1.
    """
    reference = 1.0
    for k in range(n_outputs):
        if loss == LOG_LOSS:
            out[k] = sums[2 + k] / sums[0]
        elif loss == EXPONENTIAL:
            total = sums[2 * k] + sums[2 * k + 1]
            out[k] = sums[2 * k] / total if total > 0 else 0.5
        else:
            out[k] = sums[1 + k] / sums[0]
        reference -= out[k]
    if loss in (LOG_LOSS, EXPONENTIAL):
        reference = _clip(reference, margin)
        for k in range(n_outputs):
            out[k] = np.log(_clip(out[k], margin) / reference)
            if loss == LOG_LOSS:
                out[k] -= sums[2 + n_outputs + k] / sums[0]


@kernel
def additive_loss(loss, sums, n_outputs, margin, update):
    """Return the change of the loss in a child from its sums; ``update`` is scratch space."""
    result = 0.0
    if loss == SQUARED_ERROR:
        for k in range(n_outputs):
            result -= sums[1 + k] * sums[1 + k]
        return result / sums[0]
    child_update(loss, sums, n_outputs, margin, update)
    for k in range(n_outputs):
        up = np.exp(-0.5 * update[k])
        result += sums[2 * k] * (up - 1.0) + sums[2 * k + 1] * (1.0 / up - 1.0)
    return result


@kernel
def gather_row(loss, i, to, data, parts, part_weights):
    """Copy the numbers of row ``i`` that `span_loss` needs to position ``to``; return the row's present loss."""
    target, stats = data.target, data.stats
    part_weights[to] = stats[i, 0]
    present = 0.0
    for k in range(target.shape[1]):
        if loss == LOG_LOSS:
            parts[to, k] = data.score[i, k]
        else:
            parts[to, k] = target[i, k]
            present += stats[i, 0] * abs(target[i, k])
    return stats[i, 1] if loss == LOG_LOSS else present


@kernel
def span_loss(loss, start, stop, parts, part_weights, update, growth):
    """Return the loss of the gathered rows from ``start`` to ``stop - 1`` after an update.

    ``growth`` is ``exp(update)``. For the log loss the linear part is left out, since it follows from the summed
    statistics.
    """
    n_outputs = parts.shape[1]
    total = 0.0
    if loss == LOG_LOSS:
        # Logarithms are slow, so take one of the product of many terms. Most bootstrap weights are 1 or 2.
        product = 1.0
        for j in range(start, stop):
            term = 1.0
            for k in range(n_outputs):
                term += parts[j, k] * growth[k]
            if part_weights[j] == 1.0:
                product *= term
            elif part_weights[j] == 2.0:
                product *= term * term
            else:
                total += part_weights[j] * np.log(term)
            if product > 1e100:
                total += np.log(product)
                product = 1.0
        return total + np.log(product)
    for j in range(start, stop):
        for k in range(n_outputs):
            total += part_weights[j] * abs(parts[j, k] - update[k])
    return total
