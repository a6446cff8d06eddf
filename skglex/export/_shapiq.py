"""Export the components of single rows for the plots of shapiq."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import explained
from skglex._utils import Execution, import_optional

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer


def to_shapiq(
    decomposer: GlexDecomposer, X: Any, order: int | None = None, *, output: Any = None
) -> list[Any]:
    """Evaluate components and return them as ``shapiq.InteractionValues``, one per row.

    The components are the Möbius transform of the game of a row; this is the index ``"Moebius"`` of shapiq.

    This needs shapiq: ``pip install "skglex[shapiq]"``.

    Parameters
    ----------
    decomposer : GlexDecomposer
        A fitted decomposer.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows with the same columns as those passed to `~skglex.GlexDecomposer.fit`.
    order : int, default=None
        Highest order of the components. None: all components of the decomposer.
    output : object, default=None
        The output whose components are exported: a class label, the output's name, or its position. Required if the
        model has several outputs.

    Returns
    -------
    list of shapiq.InteractionValues
        On the margin scale. Players are positions in ``explained_features_``, and the baseline is ``intercept_``.
        Without ``order`` the values of a row add up to its margin, unless ``max_interaction`` or ``features`` leave
        components out.

    Raises
    ------
    ImportError
        shapiq is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.export import to_shapiq
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, X[:, 0] + 2 * X[:, 0] * X[:, 1])
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> first = to_shapiq(decomposer, X[:1])[0]  # doctest: +SKIP
    >>> first.plot_force(feature_names=decomposer.explained_features_)  # doctest: +SKIP
    """
    view = explained(decomposer)
    listed = view.listed if order is None else view.components_up_to(order, least=1)
    position = view.output_position(output, "output")
    shapiq = import_optional("shapiq", "shapiq")
    sets = listed.sets
    chosen = np.array([c for c, s in enumerate(sets) if order is None or len(s) <= order], dtype=np.int64)
    Xt = view.check(X)

    def compute(bins: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
        values: NDArray[np.float64] = view.component_values(listed, bins, chosen)[position]
        return values

    components = view.fitted.map_rows(Xt, (len(chosen),), compute, view.execution, "components")
    values = np.column_stack([np.full(Xt.shape[0], view.intercept[position]), components.T])
    keys = [(), *(sets[c] for c in chosen)]
    lookup = {tuple(int(player) for player in key): i for i, key in enumerate(keys)}
    return [
        shapiq.InteractionValues(
            row,
            index="Moebius",
            max_order=max(1, *map(len, lookup)) if len(lookup) > 1 else 1,
            min_order=0,
            n_players=len(decomposer.explained_features_),
            interaction_lookup=dict(lookup),
            estimated=False,
            baseline_value=float(row[0]),
        )
        for row in values
    ]
