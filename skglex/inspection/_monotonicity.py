"""Certify that the prediction of a fitted decomposer is monotone in a feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skglex._decomposition import explained
from skglex._kept import keep, monotonicity_of
from skglex.components import Monotonicity

if TYPE_CHECKING:
    from skglex._component_model import ComponentModel
    from skglex._decomposer import GlexDecomposer


def monotonicity(
    decomposer: GlexDecomposer | ComponentModel,
    feature: str | int,
    *,
    increasing: bool | None = None,
    output: Any = None,
) -> Monotonicity:
    """Say whether a prediction is monotone in a feature, for all values of the other features.

    The prediction is the sum of the decomposer's components up to ``max_interaction``, or of the components that a
    `~skglex.ComponentModel` keeps, on the margin scale. If no component of the model is left out, it is the whole
    model.

    Parameters
    ----------
    decomposer : GlexDecomposer or ComponentModel
        A fitted decomposer or model.
    feature : str or int
        A numeric column of the model: for a pipeline, after the preprocessing.
    increasing : bool, default=None
        The direction. None: the one that holds, or else that of the smaller violations.
    output : object, default=None
        Label of the output. None: all outputs.

    Returns
    -------
    Monotonicity
        ``status`` is ``"monotone"``; or ``"not monotone"``, then ``violations`` lists the edges of the feature across
        which the prediction goes the wrong way; or ``"undecided"``, then ``not_covered`` says why.

    Raises
    ------
    ValueError
        The feature is unknown or categorical.

    Notes
    -----
    At each edge t of the feature j, the least change over all values of the other features is, up to order 2, ::

        change of m_j at t + sum over k of min over x_k of the change of m_jk(x_k) at t

    The prediction increases exactly if no such sum is negative. A sum counts as negative below minus ``tolerance``, a
    bound on the rounding of the tables. Components of higher order are added up over all combinations of bins, as far
    as these can be looked at. Else, if every tree of the whole model is monotone by itself, as in a model that was
    trained with monotone constraints, the model is monotone. What remains is decided by a row that goes the wrong way,
    or is undecided.

    Missing values of the feature have no order, and are left out. Those of the other features count, as does every
    combination of values, whether or not it occurs.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import monotonicity
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = X[:, 0] + np.sin(3 * X[:, 1])
    >>> model = XGBRegressor(n_estimators=20, max_depth=2, monotone_constraints=(1, 0)).fit(X, y)
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> monotonicity(decomposer, "x0").status
    'monotone'
    >>> found = monotonicity(decomposer, "x1")
    >>> found.status, found.violations[0].feature
    ('not monotone', 'x1')
    """
    certificate = getattr(decomposer, "monotonicity", None)
    if certificate is not None:
        found: Monotonicity = certificate(feature, increasing=increasing, output=output)
        return found
    view = explained(decomposer)
    if view.source.ensemble is None:
        raise TypeError(
            "stored components have no certificate of monotonicity, since the rounding of their tables is unknown. Use "
            "the decomposer that was saved"
        )
    kept = keep(view, view.listed.sets, [], everything=view.decomposition.complete, remainder=False)
    return monotonicity_of(kept, view, feature, increasing, output)
