"""SHAP values as the object that shap's plots take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skglex._decomposition import Explained, explained
from skglex._input import column_values, is_frame, raw_column
from skglex._utils import import_optional

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer


def to_shap(decomposer: GlexDecomposer, X: Any, *, interactions: bool = False) -> Any:
    """SHAP values of given rows as a ``shap.Explanation``, for shap's own plots.

    Needs shap: ``pip install "skglex[shap]"``.

    Parameters
    ----------
    decomposer : GlexDecomposer
        Fitted.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows, with the columns of those given to `fit`.
    interactions : bool, default=False
        SHAP interaction values instead.

    Returns
    -------
    shap.Explanation
        On the margin scale, with

        * ``values`` of shape (n_samples, n_features), (n_samples, n_features, n_outputs), or with one more axis
          of length n_features after the first for interactions;
        * ``base_values`` of shape (n_samples,) or (n_samples, n_outputs): ``intercept_``;
        * ``data``, the rows as the model takes them (categories as codes, missing as NaN), and ``display_data``
          with the categories themselves, where there are any;
        * ``feature_names`` and, for several outputs, ``output_names``.

        With ``feature_groups`` the features are those of ``explained_features_``; a group has no value of its own,
        its ``data`` are NaN.

    Raises
    ------
    ImportError
        shap is not installed.

    See Also
    --------
    GlexDecomposer.shap_values : The values alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.export import to_shap
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, X[:, 0] + 2 * X[:, 0] * X[:, 1])
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> explanation = to_shap(decomposer, X)  # doctest: +SKIP
    >>> shap.plots.beeswarm(explanation)  # doctest: +SKIP
    """
    view = explained(decomposer)
    shap = import_optional("shap", "shap")
    compute = decomposer.shap_interaction_values if interactions else decomposer.shap_values
    values = compute(X)
    base = np.asarray(decomposer.intercept_, dtype=np.float64)
    data, display = _rows(view, view.check(X))
    labels = view.output_labels
    return shap.Explanation(
        values,
        base_values=np.full((len(values), *base.shape), base),
        data=data,
        display_data=display,
        feature_names=decomposer.explained_features_,
        output_names=None if labels is None else [str(label) for label in labels],
    )


def _rows(view: Explained, Xt: Any) -> tuple[NDArray[np.float64], NDArray[np.object_] | None]:
    """Numbers per explained feature, and what to display instead where these say little."""
    groups = view.groups
    members = [np.flatnonzero(groups.of_feature == player) for player in range(len(groups.names))]
    alone = {
        player: int(m[0]) for player, m in enumerate(members) if groups.names[player] not in _joined(view)
    }
    data = np.full((Xt.shape[0], len(members)), np.nan)
    display: dict[int, Any] = {player: "(group)" for player in range(len(members)) if player not in alone}
    spec = view.source.input
    Xt = Xt.toarray() if sp.issparse(Xt) else Xt
    for player, feature in alone.items():
        data[:, player] = column_values(Xt, feature, spec)
        column = raw_column(Xt, feature)
        kind = str(column.dtype).lower()
        encoded = feature in spec.encoders or feature in spec.categories
        if encoded or kind.startswith(("category", "categorical", "enum")):
            display[player] = np.asarray(column.to_list() if is_frame(Xt) else column, dtype=object)
    if not display:
        return data, None
    shown = data.astype(object)
    for player, column in display.items():
        shown[:, player] = column
    return data, shown


def _joined(view: Explained) -> set[str]:
    return {str(name) for name in view.estimator.feature_groups or {}}
