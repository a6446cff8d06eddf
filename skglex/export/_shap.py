"""Export SHAP values for the plots of shap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, explained, row_values
from skglex._utils import import_optional

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer


def to_shap(decomposer: GlexDecomposer, X: Any, *, interactions: bool = False) -> Any:
    """Compute SHAP values and return them as a ``shap.Explanation``, for the plots of shap.

    This needs shap: ``pip install "skglex[shap]"``.

    Parameters
    ----------
    decomposer : GlexDecomposer
        A fitted decomposer.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows with the same columns as those passed to `~skglex.GlexDecomposer.fit`.
    interactions : bool, default=False
        Compute SHAP interaction values instead of SHAP values.

    Returns
    -------
    shap.Explanation
        On the margin scale, with

        * ``values`` of shape (n_samples, n_features) or (n_samples, n_features, n_outputs); interaction values have
          a second axis of length n_features after the first;
        * ``base_values`` of shape (n_samples,) or (n_samples, n_outputs): ``intercept_``;
        * ``data``, the rows as numbers. Categories are codes, and missing values are NaN;
        * ``display_data``, the same rows with the names of categories. None if there are no categories and no groups;
        * ``feature_names`` and, for several outputs, ``output_names``.

        The features are those of ``explained_features_``. A feature that is the only one that the preprocessing
        computes from a raw column has the name and the value of the raw column. A group has a value if its columns
        come from one raw column or are one-hot encoded; the ``data`` of other groups are NaN.

    Raises
    ------
    ImportError
        shap is not installed.

    See Also
    --------
    skglex.GlexDecomposer.shap_values : The values as an array.

    Notes
    -----
    With path-dependent weights the values are those of ``shap.TreeExplainer(model)``. An explainer that gets data and
    ``feature_perturbation="tree_path_dependent"`` counts the covers of that data, so its values differ.

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
    compute = decomposer.shap_interaction_values if interactions else decomposer.shap_values
    return explanation_of(view, X, compute(X), decomposer.intercept_, view.output_labels)


def explanation_of(
    view: Explained, X: Any, values: NDArray[np.float64], base_value: Any, labels: list[Any] | None
) -> Any:
    """Return SHAP values as a ``shap.Explanation``.

    Parameters
    ----------
    view : Explained
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The rows.
    values : ndarray of shape (n_samples, n_features, ...)
        Their SHAP values or interaction values.
    base_value : float, or ndarray of shape (n_outputs,)
        What the values of a row are added to.
    labels : list, or None
        The labels of the outputs, None for a single output.
    """
    shap = import_optional("shap", "shap")
    base = np.asarray(base_value, dtype=np.float64)
    data, texts = row_values(view, X)
    display = data.astype(object) if texts else None
    for player, text in texts.items():
        display[:, player] = text  # type: ignore[index]
    return shap.Explanation(
        values,
        base_values=np.full((len(values), *base.shape), base),
        data=data,
        display_data=display,
        feature_names=shown_names(view),
        output_names=None if labels is None else [str(label) for label in labels],
    )


def shown_names(view: Explained) -> list[str]:
    """Return the names of the features in explanations."""
    return [view.shown_name(name) for name in view.groups.names]
