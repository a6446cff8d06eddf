"""Decompose the response of single rows: probabilities, prices, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skglex._decomposition import explained
from skglex._input import column_names
from skglex.inspection._tables import as_table

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer


def response_components(decomposer: GlexDecomposer, X: Any, max_interaction: int | None = 2) -> Any:
    """Compute the components of the model's response (probability, price, count) at rows.

    The response is decomposed by itself; these are not components of the margin on another scale. The intercept is the
    mean response over the background. ``m_j`` is the partial dependence function of the response minus the intercept,
    and so on. Features that do not interact in the margin may interact in the response.

    Parameters
    ----------
    decomposer : GlexDecomposer
        A fitted decomposer with ``weighting="empirical"``.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows with the same columns as in ``fit``.
    max_interaction : int, default=2
        Maximum order of the components; the others are in the remainder. None: all orders, for up to 14 features or
        groups.

    Returns
    -------
    pandas.DataFrame, or dict of ndarray if pandas is not installed
        One row per row of X. The columns are ``intercept``, the components by order, and ``remainder``, unless
        ``max_interaction`` contains all orders. They add up to the model's own response. Several responses have the
        columns ``label__intercept``, ..., ``label__remainder``, those of the first response first.

    Raises
    ------
    ValueError
        The weights are path-dependent. Or ``max_interaction`` is not a positive integer. Or there are too many features
        for all orders. Or the response cannot be averaged, as with a custom objective or predicted labels.

    Warns
    -----
    SlowComputationWarning
        The computation takes more than a minute. The time is proportional to the number of background rows, of rows
        with different values, and of components.

    See Also
    --------
    skglex.GlexDecomposer.shap_values : SHAP values, with ``scale="response"`` of the response.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import response_components
    >>> from xgboost import XGBClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBClassifier(n_estimators=20, max_depth=2).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> parts = response_components(decomposer, X[:5], max_interaction=1)
    >>> list(parts)
    ['intercept', 'x0', 'x1', 'remainder']
    >>> probability = sum(np.asarray(parts[name]) for name in parts)
    >>> np.allclose(probability, model.predict_proba(X[:5])[:, 1], atol=1e-6)
    True
    """
    view = explained(decomposer)
    if max_interaction is not None:
        view.check_order(max_interaction, least=1)
    scale = view.response_scale
    order = scale.all_orders() if max_interaction is None else int(max_interaction)
    sets = scale.sets_up_to(order, view.decomposition.allowed)
    bins = view.fitted.bins(view.check(view.as_rows(X)), view.execution)
    values = scale.components([(), *sets], bins, view.execution)
    names = ["intercept", *column_names(view.groups.names, sets, view.estimator.separator)]
    if not (view.decomposition.all_allowed and order >= scale.n_players):
        remainder = scale.output(bins, view.execution) - values.sum(axis=1)
        values = np.concatenate([values, remainder[:, None]], axis=1)
        names.append("remainder")
    labels = view.response_labels
    columns: dict[str, Any] = {}
    for o, block in enumerate(values):
        prefix = "" if labels is None else f"{labels[o]}__"
        columns |= {prefix + name: column for name, column in zip(names, block)}
    return as_table(columns)
