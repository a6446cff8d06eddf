"""ImportanceDisplay: which components and features are large."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, explained, sum_by_feature_and_order
from skglex._utils import import_optional
from skglex.plotting._style import COLOURS, bare, make_axes, margin_label


class ImportanceDisplay:
    """Importances of components, or of features by order, as bars.

    The importance of a component is the mean of its absolute value over the background. That of feature j at order
    q is the sum of these over the components of q features that hold j, divided by q, as each SHAP value takes its
    share of them [1]_. The SHAP importance, mean ``|phi_j|``, beside it can be smaller, since components cancel
    in it. Make it with `from_decomposer`.

    Parameters
    ----------
    names : list of str
        Of the components or features, the most important first.
    heights : ndarray of shape (n_names, n_orders)
        Importances; one column per order, or one in all.
    orders : list of int, or None
        The orders of the columns; None for components.
    shap : ndarray of shape (n_names,), or None
        SHAP importances.
    label : str
        Label of the margin axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    References
    ----------
    .. [1] M. Hiabu, J. T. Meyer, M. N. Wright, "Unifying local and global model explanations by functional
       decomposition of low dimensional structures", AISTATS 2023.

    Examples
    --------
    >>> from skglex import GlexDecomposer
    >>> from skglex.datasets import make_importance
    >>> from skglex.plotting import ImportanceDisplay
    >>> from xgboost import XGBRegressor
    >>> X, y = make_importance(random_state=0)
    >>> model = XGBRegressor(n_estimators=20, max_depth=4).fit(X, y)
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> display = ImportanceDisplay.from_decomposer(decomposer, kind="order")
    >>> display.heights.shape
    (4, 4)
    >>> display.plot(ax=display.ax_).figure_ is display.figure_  # drawn again
    True
    """

    def __init__(
        self,
        names: list[str],
        heights: NDArray[np.float64],
        *,
        orders: list[int] | None = None,
        shap: NDArray[np.float64] | None = None,
        label: str = "margin",
    ) -> None:
        self.names = names
        self.heights = heights
        self.orders = orders
        self.shap = shap
        self.label = label

    @classmethod
    def from_decomposer(
        cls,
        decomposer: Any,
        kind: str = "component",
        *,
        class_: Any = None,
        k: int = 15,
        shap: bool = True,
        ax: Any = None,
    ) -> ImportanceDisplay:
        """Draw the largest importances.

        Parameters
        ----------
        decomposer : GlexDecomposer
            Fitted.
        kind : {"component", "order"}, default="component"
            One bar per component, or one per feature, stacked by order. The orders are those that the decomposer
            has components of (``max_interaction``).
        class_ : object, default=None
            The class (or the position of the output), where the model has several. None: their sum.
        k : int, default=15
            At most that many bars.
        shap : bool, default=True
            With ``kind="order"``, draw the SHAP importance beside each bar.
        ax : matplotlib Axes, default=None
            Where to draw.

        Returns
        -------
        ImportanceDisplay
            With what was drawn in its attributes.
        """
        import_optional("matplotlib.pyplot", "plots")
        if kind not in ("component", "order"):
            raise ValueError(f"kind must be 'component' or 'order', got {kind!r}")
        view = explained(decomposer)
        label = margin_label(view, class_)
        if class_ is None and view.output_labels is not None:
            label = "margin, sum over all outputs"
        components = decomposer.components_
        importances = _of_output(view, decomposer.component_importances_, class_)
        if kind == "component":
            order = np.argsort(-importances, kind="stable")[:k]
            names = [" × ".join(components[int(i)].features) for i in order]
            return cls(names, importances[order][:, None], label=label).plot(ax=ax)
        features = decomposer.explained_features_
        heights = sum_by_feature_and_order(view.decomposition, importances)
        shown = np.argsort(-heights.sum(axis=1), kind="stable")[:k]
        phi = _of_output(view, decomposer.feature_importances_, class_)[shown] if shap else None
        orders = [q for q in range(1, heights.shape[1] + 1) if heights[:, q - 1].any()]
        heights = heights[np.ix_(shown, np.array(orders, dtype=int) - 1)]
        return cls([features[i] for i in shown], heights, orders=orders, shap=phi, label=label).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> ImportanceDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: a new figure.

        Returns
        -------
        ImportanceDisplay
            With what was drawn in its attributes.
        """
        plt = import_optional("matplotlib.pyplot", "plots")
        self.figure_, self.ax_ = make_axes(
            plt, ax, (6.0, 1.3 + 0.3 * len(self.names) * (1 + (self.shap is not None)))
        )
        at = np.arange(len(self.names))
        ax = self.ax_
        if self.orders is None:
            ax.barh(at, self.heights[:, 0], 0.7, color=COLOURS[0])
            ax.set_xlabel(f"importance (mean absolute value), {self.label}")
        else:
            self._draw_orders(plt, at)
        ax.set_yticks(at, self.names)
        ax.invert_yaxis()
        bare(ax)
        return self

    def _draw_orders(self, plt: Any, at: NDArray[np.int64]) -> None:
        assert self.orders is not None
        beside = self.shap is not None
        width, offset = (0.42, -0.21) if beside else (0.7, 0.0)
        # from dark to light, in print too, and the same for an order in every picture
        colours = plt.get_cmap("viridis")([min(0.23 * q - 0.18, 0.98) for q in self.orders])
        left = np.zeros(len(at))
        for heights, order, colour in zip(self.heights.T, self.orders, colours):
            name = "main effect" if order == 1 else f"order {order}"
            self.ax_.barh(at + offset, heights, width, left=left, color=colour, label=name)
            left = left + heights
        if beside:
            self.ax_.barh(
                at - offset,
                self.shap,
                width,
                color="white",
                edgecolor="0.3",
                hatch="////",
                lw=0.8,
                label="SHAP",
            )
        self.ax_.set_xlabel(f"importance (mean absolute value), {self.label}")
        self.ax_.legend(loc="lower right", fontsize="small")


def _of_output(view: Explained, values: NDArray[np.float64], class_: Any) -> NDArray[np.float64]:
    """Importances of one output, or summed over all."""
    if values.ndim == 2 and class_ is None:
        return np.asarray(values.sum(axis=1))
    output = view.output_position(class_, "class_")
    return values if values.ndim == 1 else np.asarray(values[:, output])
