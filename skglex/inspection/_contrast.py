"""Explain why the predictions of two rows differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, explained, pair_shapley, row_values
from skglex._utils import check_memory
from skglex.inspection._results import Result
from skglex.inspection._tables import as_table, label_columns

if TYPE_CHECKING:
    from skglex.plotting import WaterfallDisplay


@dataclass(frozen=True, repr=False, eq=False)
class Contrast(Result):
    """Hold the Shapley values of rows against other rows.

    `contrast` returns it. ``print`` shows the first pair, ``plot`` draws one pair.

    Parameters
    ----------
    decomposer : GlexDecomposer
        The decomposer that was explained.
    values : ndarray of shape (n_rows, n_features) or (n_rows, n_features, n_outputs)
        Shapley values of the difference, in the order of ``decomposer.explained_features_``.
    interactions : ndarray of shape (n_rows, n_features, n_features) or (..., n_outputs), or None
        Shapley interaction values, whose rows sum to ``values``. None unless they were asked for.
    margin, margin_other : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        The margins, whose difference each row of ``values`` sums to.
    rows, rows_other : array, sparse matrix or data frame
        The rows that were compared; a single other row stands for all.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import contrast
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> decomposer = GlexDecomposer(DecisionTreeRegressor().fit(X, X[:, 0])).fit(X)
    >>> result = contrast(decomposer, X[:3], X[3])
    >>> result.table["row"].tolist()
    [0, 0, 1, 1, 2, 2]
    >>> bool(result.plot(row=2).intercept == result.margin_other[2])
    True
    """

    decomposer: Any
    values: NDArray[np.float64]
    interactions: NDArray[np.float64] | None
    margin: NDArray[np.float64]
    margin_other: NDArray[np.float64]
    rows: Any
    rows_other: Any

    @property
    def table(self) -> Any:
        """Return one line per pair of rows and feature, the largest difference of a pair first.

        Returns
        -------
        pandas.DataFrame, or dict of ndarray if pandas is not installed
            Columns ``row``, ``feature``, ``here`` and ``there`` (the values of the feature in the two rows), and
            ``value`` or one ``label__value`` per output, on the margin scale.
        """
        view = explained(self.decomposer)
        n_rows, n_features = self.values.shape[:2]
        values = self.values.reshape(n_rows, n_features, view.n_outputs)
        ranking = np.argsort(-np.abs(values).sum(axis=2), axis=1, kind="stable")
        names = np.array(view.groups.names, dtype=object)
        here, there = (_shown_values(view, rows, n_rows) for rows in (self.rows, self.rows_other))
        ranked = np.take_along_axis(values, ranking[:, :, None], axis=1).reshape(-1, view.n_outputs)
        return as_table(
            {
                "row": np.repeat(np.arange(n_rows), n_features),
                "feature": names[ranking].ravel(),
                "here": np.take_along_axis(here, ranking, axis=1).ravel(),
                "there": np.take_along_axis(there, ranking, axis=1).ravel(),
                **label_columns(view, "value", ranked),
            }
        )

    @property
    def headline(self) -> str:
        """Return the first difference in one sentence."""
        n = len(self.values)
        return (
            f"{n} pair{'' if n == 1 else 's'} of rows. The margins of the first are {self._numbers(self.margin[0])} "
            f"and {self._numbers(self.margin_other[0])}."
        )

    def plot(
        self,
        row: int | None = None,
        *,
        output: Any = None,
        k: int = 10,
        target: str | None = None,
        units: str | None = None,
        ax: Any = None,
    ) -> WaterfallDisplay:
        """Draw one pair as steps from the margin of the other row to that of the row.

        Parameters
        ----------
        row : int, default=None
            Position of the pair. None: there is only one.
        output : object, default=None
            The class, or the name or position of the output. Required if the model has several outputs.
        k : int, default=10
            Number of features with a separate step. The others share one step.
        target, units : str, default=None
            Name and unit of the target, for labels. None: the kind of the margin ("prediction", "log-odds", ...).
        ax : matplotlib Axes, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        WaterfallDisplay
            The display, with the figure and axes as attributes.
        """
        from skglex.plotting import WaterfallDisplay

        options = {"output": output, "k": k, "target": target, "units": units, "ax": ax}
        return WaterfallDisplay.from_contrast(self, row, **options)


def contrast(decomposer: Any, X: Any, X_other: Any, *, interactions: bool = False) -> Contrast:
    """Explain why rows are predicted differently from other rows, by Shapley values of the difference.

    The game of a pair pays the margin of the row that has the features of the row for the players in a coalition, and
    those of the other row for all others. So the other row is the only background, and the Shapley values add up to
    the difference of the two margins. This answers why one item of a ranking is above another, and what would have to
    be different for a decision to be another one.

    Parameters
    ----------
    decomposer : GlexDecomposer
        A fitted decomposer. Its background and its weighting do not matter.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Rows with the same columns as those passed to `~skglex.GlexDecomposer.fit`.
    X_other : array-like, sparse matrix or data frame of shape (n_rows, n_features) or (1, n_features)
        The row that each row of X is compared with, or one row for all.
    interactions : bool, default=False
        Also compute Shapley interaction values.

    Returns
    -------
    Contrast
        The Shapley values, on the margin scale.

    Raises
    ------
    ValueError
        The numbers of rows differ, or the columns are not those of the model.

    See Also
    --------
    skglex.GlexDecomposer.shap_values : Shapley values against the whole background.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import contrast
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, X[:, 0] + 2 * X[:, 0] * X[:, 1])
    >>> result = contrast(GlexDecomposer(model).fit(X), X[:5], X[5:10])
    >>> result.values.shape
    (5, 3)
    >>> np.allclose(result.values.sum(axis=1), model.predict(X[:5]) - model.predict(X[5:10]), atol=1e-5)
    True
    """
    view = explained(decomposer)
    rows, others = (view.as_rows(part) for part in (X, X_other))
    if others.shape[0] not in (1, rows.shape[0]):
        raise ValueError(
            f"X has {rows.shape[0]} rows and X_other has {others.shape[0]}. Pass as many other rows as rows, or a "
            "single other row"
        )
    decomposition, execution = view.decomposition, view.execution
    n, players, outputs = rows.shape[0], decomposition.n_players, view.n_outputs
    check_memory((outputs, *((players, players) if interactions else (players,)), n), "Shapley values")
    bins, other = (view.fitted.bins(view.check(part), execution) for part in (rows, others))
    margins = [decomposition.margins(part, execution).T for part in (bins, other)]
    margins[1] = np.repeat(margins[1], n // len(margins[1]), axis=0)
    other = np.ascontiguousarray(np.repeat(other, n // other.shape[1], axis=1))
    pairs = None
    if interactions:
        half = pair_shapley(decomposition, bins, other, execution, pairs=True)
        pairs = half.transpose(3, 1, 2, 0)
        values = pairs.sum(axis=2)
        pairs = view.squeeze(pairs)
    else:
        values = pair_shapley(decomposition, bins, other, execution).transpose(2, 1, 0)
    return Contrast(
        decomposer=decomposer,
        values=view.squeeze(values),
        interactions=pairs,
        margin=view.squeeze(margins[0]),
        margin_other=view.squeeze(margins[1]),
        rows=rows,
        rows_other=others,
    )


def _shown_values(view: Explained, X: Any, n_rows: int) -> NDArray[np.object_]:
    """Return the values of every explained feature as users know them: shape (n_rows, n_features)."""
    data, texts = row_values(view, X)
    out = data.astype(object)
    for player, values in texts.items():
        out[:, player] = values
    return np.broadcast_to(out, (n_rows, out.shape[1]))
