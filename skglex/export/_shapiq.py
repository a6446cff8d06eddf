"""Components of single rows as the object that shapiq's plots take."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from skglex._memory import check_memory
from skglex._optional import import_optional
from skglex.inspection._tables import check_decomposer

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
    if order is not None and not (isinstance(order, Integral) and order >= 1):
        raise ValueError(f"order must be an integer of at least 1, or None; got {order!r}")
    decomposer._require_components()
    limit = decomposer.max_interaction
    if order is not None and limit is not None and order > limit and not decomposer._decomposition.complete:
        raise ValueError(
            f"order={order}, but the decomposer was fitted with max_interaction={limit}: fit one with a higher "
            "max_interaction"
        )
    position = _output_position(decomposer, output)
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
        decomposer._decomposition.components(bins, chosen, part, n_jobs=decomposer.n_jobs)
        values[start:stop, 1:] = part.reshape(decomposer._n_outputs, len(chosen), -1)[position].T
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


def _output_position(decomposer: GlexDecomposer, output: Any) -> int:
    labels = decomposer._output_labels()
    if labels is None:
        if output is not None:
            raise ValueError(f"the model has one output, but output={output!r}: leave it out")
        return 0
    if output is None or output not in labels:
        raise ValueError(f"output must be one of {[*map(_plain, labels)]}; got {output!r}")
    return labels.index(output)


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label
