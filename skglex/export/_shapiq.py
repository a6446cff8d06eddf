"""Components of single rows as the object that shapiq's plots take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skglex._decomposition import check_decomposer, check_order, output_position
from skglex._utils import check_memory, import_optional

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer


def to_shapiq(
    decomposer: GlexDecomposer, X: Any, order: int | None = None, *, output: Any = None
) -> list[Any]:
    """Components at given rows as ``shapiq.InteractionValues``, one per row.

    Components are the Möbius transform of the game of a row, index ``"Moebius"`` in shapiq.

    Needs shapiq: ``pip install "skglex[shapiq]"``.

    Parameters
    ----------
    decomposer : GlexDecomposer
        Fitted.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows, with the columns of those given to `fit`.
    order : int, default=None
        Highest order of a component. None: all that the decomposer has.
    output : label, default=None
        Of which output, where there are several: a class, or the number of the output.

    Returns
    -------
    list of shapiq.InteractionValues
        On the margin scale; players are positions in ``explained_features_``, the baseline is ``intercept_``. Without
        ``order`` the values of a row add up to its margin, unless ``max_interaction`` or ``features`` leave
        something out.

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
    check_decomposer(decomposer)
    decomposer._require_components()
    if order is not None:
        check_order(decomposer, order, least=1)
    position = output_position(decomposer, output, "output")
    shapiq = import_optional("shapiq", "shapiq")
    sets = decomposer._decomposition.index.sets
    chosen = np.array([c for c, s in enumerate(sets) if order is None or len(s) <= order], dtype=np.int64)
    Xt = decomposer._check_X(X)
    width = len(chosen) * decomposer._n_outputs
    check_memory((width, Xt.shape[0]), "components")
    values = np.empty((Xt.shape[0], 1 + len(chosen)))
    values[:, 0] = np.ravel(decomposer.intercept_)[position]
    for start, stop, bins in decomposer._binned(Xt, width):
        part = np.empty((width, stop - start))
        decomposer._decomposition.components(bins, chosen, part, decomposer._execution)
        values[start:stop, 1:] = part.reshape(decomposer._n_outputs, len(chosen), stop - start)[position].T
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
