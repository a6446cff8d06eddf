"""Compute the importance of components, orders and features."""

from __future__ import annotations

from contextlib import suppress
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import (
    Explained,
    TooManyComponents,
    explained,
    means_by_feature_and_order,
    shapley_means,
    strongest,
    sum_by_feature_and_order,
)
from skglex.inspection._tables import as_table, label_columns

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer


def component_importance(
    decomposer: GlexDecomposer,
    X: Any = None,
    *,
    sample_weight: Any = None,
    by: str = "component",
    k: int | None = None,
) -> Any:
    """Compute the importance of components: the mean absolute value of each over rows.

    Parameters
    ----------
    decomposer : GlexDecomposer or StoredComponents
        A fitted decomposer, or components that were loaded from a file.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
        Rows to average over. None: the background, with its weights.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows X.
    by : {"component", "order", "feature"}, default="component"
        ``"component"``: the mean of ``|m_S|`` for every component, the largest first. ``"order"``: the sum of these
        means over the components of each order. ``"feature"``: for every feature j and order q the sum of the means
        of ``|m_S|`` over all S with ``j in S`` and ``|S| = q``, divided by q, as in figure 4 of the paper [1]_. The
        sum of the latter over all features is the importance by order.
    k : int, default=None
        Return only the k most important components (by the sum over outputs). Components that cannot be among them
        are not evaluated. Allowed only with ``by="component"``.

    Returns
    -------
    pandas.DataFrame, or dict of ndarray if pandas is not installed
        Columns ``component`` and ``order``, or ``order``, or ``feature`` and ``order``, depending on ``by``; then
        ``importance``, or one ``label__importance`` per output. Importances are on the margin scale.

    See Also
    --------
    feature_importance : One number per feature.
    interaction_strength : The share of each order in the variance of the margin.

    References
    ----------
    .. [1] M. Hiabu, J. T. Meyer, M. N. Wright, "Unifying local and global model explanations by functional
       decomposition of low dimensional structures", AISTATS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import component_importance
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, X[:, 0] + 2 * X[:, 0] * X[:, 1])
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> component_importance(decomposer, k=2).round(1)
      component  order  importance
    0     x0:x1      2         1.0
    1        x0      1         0.9
    """
    if by not in ("component", "order", "feature"):
        raise ValueError(f"by must be 'component', 'order' or 'feature'; got {by!r}")
    if k is not None and by != "component":
        raise ValueError(f"k={k!r} limits the number of components, but by={by!r} lists none: leave k out")
    if k is not None and not (isinstance(k, Integral) and k >= 1):
        raise ValueError(f"k must be an integer of at least 1, or None; got {k!r}")
    view = explained(decomposer)
    if by == "component":
        sets, means = _top(view, X, sample_weight, None if k is None else int(k))
        names = view.set_names(sets)
        orders = np.array([len(members) for members in sets], dtype=np.int64)
        return as_table({"component": names, "order": orders, **label_columns(view, "importance", means)})
    shares = _by_feature_and_order(view, X, sample_weight)
    n_features, n_orders, _ = shares.shape
    order = np.arange(1, n_orders + 1)
    if by == "order":
        return as_table({"order": order, **label_columns(view, "importance", shares.sum(axis=0))})
    importance = label_columns(view, "importance", shares.reshape(-1, shares.shape[2]))
    features = np.repeat(np.array(decomposer.explained_features_, dtype=object), n_orders)
    return as_table({"feature": features, "order": np.tile(order, n_features), **importance})


def feature_importance(
    decomposer: GlexDecomposer, X: Any = None, *, kind: str = "shap", sample_weight: Any = None
) -> Any:
    """Compute the importance of features from their SHAP values or from their components.

    Parameters
    ----------
    decomposer : GlexDecomposer or StoredComponents
        A fitted decomposer, or components that were loaded from a file.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
        Rows to average over. None: the background, with its weights.
    kind : {"shap", "absolute"}, default="shap"
        ``"shap"``: the mean of ``|phi_k|``, where the SHAP value ``phi_k`` is the sum of ``m_S / |S|`` over all S
        with ``k in S``, of all orders. ``"absolute"``: the sum over all S with ``k in S`` of the mean of ``|m_S|``,
        divided by ``|S|``. Here components of opposite sign do not cancel. The sum contains the components that the
        decomposer has (``max_interaction``, ``features``). If it has all of them, the result is at least the
        importance by SHAP values.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows X.

    Returns
    -------
    pandas.DataFrame, or dict of ndarray if pandas is not installed
        Columns ``feature`` and ``importance``, or one ``label__importance`` per output. The most important feature
        (by the sum over outputs) comes first. Importances are on the margin scale.

    See Also
    --------
    component_importance : Importances by component, by order, or by feature and order.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import feature_importance
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, X[:, 0] + 2 * X[:, 0] * X[:, 1])
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> feature_importance(decomposer, kind="absolute")["feature"].tolist()
    ['x0', 'x1', 'x2']
    """
    if kind not in ("shap", "absolute"):
        raise ValueError(f"kind must be 'shap' or 'absolute'; got {kind!r}")
    view = explained(decomposer)
    if kind == "absolute":
        means = _by_feature_and_order(view, X, sample_weight).sum(axis=1)
    elif X is None and sample_weight is None:
        means = decomposer.feature_importances_.reshape(-1, view.n_outputs)
    else:
        means = shapley_means(view.decomposition, view.weighted_rows(X, sample_weight), view.execution)
    ranking = np.argsort(-means.sum(axis=1), kind="stable")
    features = [decomposer.explained_features_[i] for i in ranking]
    return as_table({"feature": features, **label_columns(view, "importance", means[ranking])})


def _top(
    view: Explained, X: Any, sample_weight: Any, k: int | None
) -> tuple[list[tuple[int, ...]], NDArray[np.float64]]:
    """Return the players and the importances of the k most important components, or of all."""
    if X is None and sample_weight is None:
        return view.strongest(k)
    return strongest(view.decomposition, view.weighted_rows(X, sample_weight), k, view.execution)


def _by_feature_and_order(view: Explained, X: Any, sample_weight: Any) -> NDArray[np.float64]:
    """Return the importances of shape (n_features, n_orders, n_outputs); see ``by="feature"`` above."""
    if X is None and sample_weight is None:
        # Too many components have no means of their own to keep.
        with suppress(TooManyComponents):
            return sum_by_feature_and_order(
                view.listed.sets, view.decomposition.n_players, view.component_means()
            )
    rows = view.weighted_rows(X, sample_weight)
    return means_by_feature_and_order(view.decomposition, rows, view.execution)
