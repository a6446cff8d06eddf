"""Truncate the margin at an order, and measure the contribution of each order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, explained
from skglex._input import iter_binned, map_chunks
from skglex.inspection._tables import as_table, label_columns

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer


def interaction_strength(
    decomposer: GlexDecomposer, X: Any = None, *, sample_weight: Any = None, max_order: int | None = None
) -> Any:
    """Compute the share of each order in the variance of the margin.

    Let ``f_q`` be the sum of all components of order q, and f the margin. The share of order q is ::

        share_q = Cov(f_q, f) / Var(f)

    over the rows. The shares add up to one. A share can be negative, since components of different orders can be
    correlated.

    Parameters
    ----------
    decomposer : GlexDecomposer
        A fitted decomposer.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
        Rows over which variances and covariances are computed. None: the background, with its weights.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows X.
    max_order : int, default=None
        Highest order with a row of its own. None: all orders that the model has, as far as they can be computed in
        about a minute. ``max_interaction`` does not matter.

    Returns
    -------
    pandas.DataFrame, or dict of ndarray if pandas is not installed
        One row per order. If ``max_order`` or ``features`` leave components out, a last row ``remainder`` holds
        their share. The columns are ``order``, ``n_components`` (None for the remainder, and for orders with too many
        to count), ``share``, and ``r2``: the R² of the margin truncated after this order, compared with the model's
        margin. Several outputs have the columns ``label__share`` and ``label__r2``. Both are NaN if the margin is
        constant.

    See Also
    --------
    truncated_margin : The margin truncated at an order.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import interaction_strength
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, 2 * X[:, 0] * (1 + X[:, 1]))
    >>> interaction_strength(GlexDecomposer(model).fit(X)).round(1)
       order  n_components  share   r2
    0      1             3    0.7  0.7
    1      2             3    0.3  1.0
    """
    view = explained(decomposer)
    bins, weight = _bins_and_weights(view, X, sample_weight)
    decomposition = view.decomposition
    n_orders = decomposition.affordable_orders(bins.shape[1], max_order)
    parts = _sum_by_order(view, bins, n_orders)
    intercept = np.reshape(decomposer.intercept_, (-1, 1))
    labels: list[Any] = list(range(1, n_orders + 1))
    counts: list[Any] = decomposition.count_by_order(n_orders)
    if decomposition.all_allowed and n_orders == decomposition.players.largest:
        margin = parts.sum(axis=0) + intercept
    else:
        margin = decomposition.margins(bins, view.execution)
        parts = np.concatenate([parts, (margin - intercept - parts.sum(axis=0))[None]])
        labels.append("remainder")
        counts.append(None)
    share = weight / weight.sum()
    centred = margin - (margin @ share)[:, None]
    variance = (centred**2) @ share
    covariance = np.einsum("qor,or,r->qo", parts, centred, share)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(variance > 0, covariance / variance, np.nan)
    truncated = intercept + np.cumsum(parts, axis=0)
    r2 = np.array([_r2(margin, part, weight) for part in truncated]).reshape(len(labels), view.n_outputs)
    return as_table(
        {
            "order": labels,
            # Beside None, pandas would turn integers into floats.
            "n_components": np.array(counts, dtype=object) if None in counts else counts,
            **label_columns(view, "share", shares),
            **label_columns(view, "r2", r2),
        }
    )


def truncated_margin(
    decomposer: GlexDecomposer, X: Any, order: int, *, sample_weight: Any = None, return_r2: bool = False
) -> Any:
    """Compute the margin without the components above an order.

    Parameters
    ----------
    decomposer : GlexDecomposer
        A fitted decomposer.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows with the same columns as those passed to `~skglex.GlexDecomposer.fit`.
    order : int
        Highest order that is kept. 0 keeps only the intercept.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the R².
    return_r2 : bool, default=False
        Also return the R² of the truncated margin, compared with the model's margin on the same rows.

    Returns
    -------
    margin : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Intercept plus the sum of all ``m_S`` with ``|S| <= order``. The parameter ``features`` of the decomposer
        restricts the sum to the components of these features.
    r2 : float or ndarray of shape (n_outputs,)
        Only with ``return_r2=True``. NaN if the model's margin is constant.

    See Also
    --------
    interaction_strength : The R² at every order.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import truncated_margin
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, 2 * X[:, 0] * (1 + X[:, 1]))
    >>> margin, r2 = truncated_margin(GlexDecomposer(model).fit(X), X, order=1, return_r2=True)
    >>> margin.shape, round(r2, 1)
    ((500,), 0.7)
    """
    view = explained(decomposer)
    kept = view.decomposition.affordable_orders(0, view.check_order(order, least=0))
    bins, weight = _bins_and_weights(view, X, sample_weight)
    truncated = np.reshape(decomposer.intercept_, (-1, 1)) + _sum_by_order(view, bins, kept).sum(axis=0)
    margin = view.squeeze(truncated.T)
    if not return_r2:
        return margin
    r2 = _r2(view.decomposition.margins(bins, view.execution), truncated, weight)
    return margin, (float(r2[0]) if len(r2) == 1 else r2)


def _bins_and_weights(
    view: Explained, X: Any, sample_weight: Any
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the bins and the weights of the rows as arrays in memory."""
    rows = view.weighted_rows(X, sample_weight).in_memory()
    return rows.bins, rows.weight


def _sum_by_order(view: Explained, bins: NDArray[Any], n_orders: int) -> NDArray[np.float64]:
    """Sum the components of each order up to ``n_orders``: shape (n_orders, n_outputs, n_samples)."""
    width = n_orders * view.n_outputs
    shape = n_orders, view.n_outputs, bins.shape[1]

    def compute(chunk: NDArray[Any]) -> NDArray[np.float64]:
        return view.decomposition.sum_by_order(chunk, n_orders, view.execution)

    return map_chunks(iter_binned(bins, width), shape, compute)


def _r2(
    margin: NDArray[np.float64], truncated: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the R² of the truncated margin for each output; both margins are (n_outputs, n_samples)."""
    centred = margin - np.average(margin, axis=1, weights=weight)[:, None]
    total, residual = (centred**2) @ weight, ((margin - truncated) ** 2) @ weight
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, 1 - residual / total, np.nan)
