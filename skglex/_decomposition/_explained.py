"""Show a fitted decomposer to inspection, plots, exports and notebooks: the one door to what is private in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skglex._decomposition._response_scale import ResponseScale
from skglex._input import as_numpy, column_names, row_of_series
from skglex._response import on_response
from skglex._utils import Execution

if TYPE_CHECKING:
    from skglex._decomposition._decomposition import Decomposition
    from skglex._decomposition._listed_components import ListedComponents
    from skglex._fitted_model import FittedModel
    from skglex._input import FeatureGroups, Origin
    from skglex._leaves import BackgroundLike, Grid
    from skglex._readers import SourceModel
    from skglex.components import Axis, Component


@dataclass(frozen=True)
class Explained:
    """Hold what inspection, plots and exports may use of a fitted decomposer, beside its public methods.

    Attributes
    ----------
    estimator : GlexDecomposer
    decomposition : Decomposition
        The components, tables, SHAP values and margins, on binned rows.
    fitted : FittedModel
        The model and its input: checks rows, bins them and has the background.
    groups : FeatureGroups
        The names of the players: features, or groups of them.
    intercept : ndarray of shape (n_outputs,)
    output_labels : list, or None
        The labels of the outputs, None for a single output.
    max_interaction : int, or None
        The decomposer's parameter.
    execution : Execution
    component_means : callable
        Returns the importances of the listed components, of shape (n_sets, n_outputs).
    strongest : callable
        Returns the players and the importances of the k strongest components over the background, or of all for None.
    find : callable
        Returns the list that has the component of some players, and its position there.
    members : callable
        Returns the players of a component from its name, or from their names in any order.
    cached : frozenset of str
        Names of the attributes that were computed already.
    removed : tuple of int
        Players whose components a FeatureRemover removes; empty for a decomposer.
    strength : float
        How much of them a FeatureRemover removes, from 0 to 1.
    class_names : list of str, or None
        Names for the classes, in the order of the model's labels. None: the labels are the names.
    """

    estimator: Any
    decomposition: Decomposition
    fitted: FittedModel
    groups: FeatureGroups
    intercept: NDArray[np.float64]
    output_labels: list[Any] | None
    max_interaction: int | None
    execution: Execution
    component_means: Callable[[], NDArray[np.float64]]
    strongest: Callable[[int | None], tuple[list[tuple[int, ...]], NDArray[np.float64]]]
    find: Callable[[tuple[int, ...]], tuple[ListedComponents, int]]
    members: Callable[[Any], tuple[int, ...]]
    cached: frozenset[str]
    removed: tuple[int, ...] = ()
    strength: float = 0.0
    class_names: list[str] | None = None

    @property
    def source(self) -> SourceModel:
        """Return the model read into leaves."""
        return self.fitted.source

    @property
    def grid(self) -> Grid:
        """Return the grid of the features that the model splits on."""
        return self.fitted.grid

    @property
    def feature_names(self) -> list[str]:
        """Return the names of the model's features, before they are grouped."""
        return self.fitted.feature_names

    @property
    def background(self) -> BackgroundLike:
        """Return the binned background."""
        return self.fitted.background

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs of the model."""
        return self.decomposition.n_outputs

    def squeeze(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Drop the last axis if there is a single output."""
        return values[..., 0] if self.n_outputs == 1 else values

    @property
    def classes(self) -> Any:
        """Return the classes as they are shown, None for a model without classes."""
        return getattr(self.estimator, "classes_", None) if self.class_names is None else self.class_names

    @property
    def response_scale(self) -> ResponseScale:
        """Return what decomposes the response of the model; raise if its background or its response do not allow it."""
        return ResponseScale(self.decomposition, self.background, self.source.response)

    @property
    def response_labels(self) -> list[Any] | None:
        """Return the labels of the responses, None for a single response."""
        response = self.source.response
        n = response.n_responses
        if n == 1:
            return None
        for labels in (response.output_labels, self.classes):
            if labels is not None and len(labels) == n:
                return list(labels)
        return list(range(n))

    def as_rows(self, X: Any) -> Any:
        """Return rows as an array, a sparse matrix or a data frame; a series or a flat array is one row."""
        X = row_of_series(as_numpy(X), self.fitted.row)
        X = X if hasattr(X, "shape") else np.asarray(X)
        return X.reshape(1, -1) if isinstance(X, np.ndarray) and X.ndim == 1 else X

    def check(self, X: Any) -> Any:
        """Check rows, and take them through the preprocessing."""
        return self.fitted.check(X, self.estimator)

    def weighted_rows(self, X: Any, sample_weight: Any) -> BackgroundLike:
        """Bin rows with weights in the form of a background; return the background itself if X is None."""
        return self.fitted.weighted_rows(X, sample_weight, self.estimator, self.execution)

    def used_feature(self, name: str) -> int:
        """Return the position on the grid of a feature that the model splits on."""
        return int(np.searchsorted(self.grid.features, self.feature_names.index(name)))

    @property
    def listed(self) -> ListedComponents:
        """Return the components up to ``max_interaction``; raise if there are too many to list."""
        return self.decomposition.listed

    def component_names(self, listed: ListedComponents, chosen: Iterable[int] | None = None) -> list[str]:
        """Return the names of all or the chosen components of a list."""
        return self.set_names(listed.sets if chosen is None else [listed.sets[int(i)] for i in chosen])

    def set_names(self, sets: list[tuple[int, ...]]) -> list[str]:
        """Return the names of components by their players."""
        return column_names(self.groups.names, sets, self.estimator.separator)

    def features_of(self, members: tuple[int, ...]) -> list[str]:
        """Return the names of the features of a component."""
        return [self.groups.names[player] for player in members]

    def component_values(
        self, listed: ListedComponents, bins: NDArray[Any], chosen: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return all or the chosen components of a list at binned rows: (n_outputs, n_components, n_rows)."""
        chosen = np.arange(len(listed)) if chosen is None else chosen
        out = np.empty((self.n_outputs * len(chosen), bins.shape[1]))
        listed.evaluate(bins, chosen, out, self.execution)
        return out.reshape(self.n_outputs, len(chosen), bins.shape[1])

    def component_table(
        self, listed: ListedComponents, position: int
    ) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        """Return the axes and the values of one component's table."""
        categories = self.source.input.categories
        axes, values = listed.table(position, self.fitted.column_names, categories, self.execution)
        return axes, self.squeeze(values)

    def component_axes(self, listed: ListedComponents, position: int) -> tuple[Axis, ...]:
        """Return the axes of one component's table, without its values."""
        categories = self.source.input.categories
        return listed.axes(position, self.fitted.column_names, categories, self.execution)

    def origin_of(self, columns: list[int]) -> Origin | None:
        """Return the raw column that some of the model's columns are computed from; None if it is not exactly one."""
        for origin in self.fitted.raw.origins:
            if set(columns) == set(origin.outputs):
                return origin
        return None

    def shown_name(self, player: str) -> str:
        """Return the name of a feature in pictures: that of its raw column if nothing else is computed from that."""
        if player in self.groups.members or self.fitted.preprocess is None:
            return player
        origin = self.origin_of(self.groups.columns_of(player).tolist())
        return player if origin is None else origin.name

    def component_on_bins(self, component: Component, bins: NDArray[Any]) -> NDArray[np.float64]:
        """Return a component's values at binned rows: shape (n_outputs, n_rows)."""
        listed, position = self.find(tuple(self.groups.names.index(name) for name in component.features))
        return self.component_values(listed, bins, np.array([position]))[:, 0]

    def component_at(self, component: Component, points: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        """Return a component's values at combinations of bins, some of each axis: shape (n_points, ..., n_outputs)."""
        listed, position = self.find(tuple(self.groups.names.index(name) for name in component.features))
        return listed.table_at(position, points, self.execution)

    def components_up_to(self, order: Any, *, least: int) -> ListedComponents:
        """Return the components up to an order; raise if the order is less than ``least``, or the list too long."""
        return self.decomposition.up_to(self.check_order(order, least=least))

    def check_order(self, order: Any, *, least: int) -> int:
        """Return an order; raise unless it is an integer of at least ``least``."""
        if not isinstance(order, (int, np.integer)) or order < least:
            raise ValueError(f"order must be an integer of at least {least}; got {order!r}")
        return int(order)

    def output_position(self, label: Any, parameter: str = "output", *, scale: str = "margin") -> int:
        """Return the position of an output; ``parameter`` names the argument in errors.

        Parameters
        ----------
        label : object
            A class label, an output's name, or its position. None if there is a single output.
        parameter : str, default="output"
        scale : {"margin", "response"}, default="margin"
            Whether it is an output of the margin or of the response.
        """
        labels = self.response_labels if on_response(scale) else self.output_labels
        if labels is None:
            positive = list(getattr(self.estimator, "classes_", []))[-1:]
            if label is not None and label not in positive:
                raise ValueError(
                    f"the model has a single output, but got {parameter}={label!r}. Leave it out"
                )
            return 0
        if label in labels:
            return labels.index(label)
        position = label if isinstance(label, (int, np.integer)) else -1
        if not 0 <= position < len(labels) or isinstance(label, (bool, np.bool_)):
            plain = [known.item() if hasattr(known, "item") else known for known in labels]
            raise ValueError(
                f"the model has several outputs, so {parameter} must be one of {plain}; got {label!r}"
            )
        return int(position)


def explained(decomposer: Any, *, removers: bool = False) -> Explained:
    """Return the view of a fitted GlexDecomposer, or of stored components; raise for anything else.

    With ``removers``, a FeatureRemover has a view too: of its model, and of what it removes.
    """
    accepted = "_explained" if removers else "strongest_components"
    if not hasattr(type(decomposer), accepted):
        raise TypeError(
            f"expected a GlexDecomposer, got a {type(decomposer).__name__}: pass GlexDecomposer(model).fit(X)"
        )
    if hasattr(decomposer, "fit"):  # Stored components have no such method.
        check_is_fitted(decomposer)
    view: Explained = decomposer._explained
    return view
