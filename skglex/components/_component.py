"""Describe one component, and the sequence of all components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from skglex._utils import without_cached


@dataclass(frozen=True)
class Axis:
    """Describe one axis of a component's table: the bins of one feature.

    Attributes
    ----------
    feature : str
        Name of the feature.
    edges : ndarray
        For a numeric feature, bin ``i`` is ``edges[i - 1] <= x < edges[i]`` in float64, and the first and the last
        bin reach to infinity. ``numpy.searchsorted(edges, x, side="right")`` is the bin of x. For a categorical
        feature, the categories, or their codes if the model stores codes only: bin ``i`` is the i-th category, and
        one more bin holds all other categories.
    categorical : bool
        Whether the bins are categories.
    missing : int
        Position of the bin of missing values, which is always the last bin.
    n_bins : int
        Number of bins, including the bin of missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skglex import GlexDecomposer
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> decomposer = GlexDecomposer(DecisionTreeRegressor().fit(X, [1, 2, 6])).fit(X)
    >>> axis = decomposer["x0"].axes[0]
    >>> axis.feature, axis.n_bins, axis.missing
    ('x0', 4, 3)
    >>> np.searchsorted(axis.edges, [0.2, 1.7], side="right")
    array([0, 2])
    """

    feature: str
    edges: NDArray[Any]
    categorical: bool
    missing: int

    @property
    def n_bins(self) -> int:
        """Return the number of bins."""
        return self.missing + 1


def bins_along(axis: Axis, edges: NDArray[Any]) -> NDArray[np.int64]:
    """Map the bins of a feature's full grid to the coarser bins of an axis.

    Parameters
    ----------
    axis : Axis
        Axis of a component.
    edges : ndarray
        All edges of the feature, over all leaves of the model.

    Returns
    -------
    ndarray of shape (n_grid_bins,), int64
        Bin of the axis for every bin of the grid; the bin of missing values is the last in both.
    """
    if axis.categorical:
        return np.arange(axis.n_bins)
    begins = np.concatenate([[-np.inf], edges])
    return np.append(np.searchsorted(axis.edges, begins, side="right"), axis.missing)


class ComponentSource(Protocol):
    """Compute the values of components. A fitted decomposer and the stored components implement this protocol."""

    def importance(self, position: int) -> Any:
        """Return the mean absolute value of a component."""

    def values(self, position: int, X: Any) -> NDArray[np.float64]:
        """Evaluate a component at rows."""

    def table(self, position: int) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        """Return the axes and the values of a component's table."""


class Component:
    """Represent a main effect or an interaction of a fitted model.

    Attributes
    ----------
    features : tuple of str
        Features (or groups) of the component.
    order : int
        Number of features (or groups).
    name : str
        Column name of the component.
    importance : float or ndarray of shape (n_outputs,)
        Mean absolute value of the component over the background, on the margin scale.
    axes : tuple of Axis
        Features and bins along the axes of ``values``.
    edges : tuple of ndarray
        Edges (or categories) of each axis.
    values : ndarray of shape (n_bins, ...) or (n_bins, ..., n_outputs)
        Value of the component in every combination of bins, on the margin scale. If the component has no table
        yet, the first access computes one. It raises a ValueError with the size if the table is too large.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skglex import GlexDecomposer
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> decomposer = GlexDecomposer(DecisionTreeRegressor().fit(X, [1, 2, 6])).fit(X)
    >>> decomposer.intercept_
    3.0
    >>> component = decomposer["x0"]
    >>> component.values[:3]
    array([-2., -1.,  3.])
    >>> component.evaluate([[1.9]])
    array([3.])
    """

    def __init__(self, source: ComponentSource, position: int, name: str, features: tuple[str, ...]) -> None:
        self._source = source
        self._position = position
        self.name = name
        self.features = features

    def __getstate__(self) -> dict[str, Any]:
        return without_cached(self)

    @property
    def order(self) -> int:
        """Return the number of features."""
        return len(self.features)

    @property
    def importance(self) -> Any:
        """Return the mean absolute value over the background."""
        return self._source.importance(self._position)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Return the axes of ``values``."""
        return self._table[0]

    @property
    def edges(self) -> tuple[NDArray[Any], ...]:
        """Return the edges (or categories) of each axis."""
        return tuple(axis.edges for axis in self.axes)

    @property
    def values(self) -> NDArray[np.float64]:
        """Return the values over the bins."""
        return self._table[1]

    @cached_property
    def _table(self) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        return self._source.table(self._position)

    def evaluate(self, X: Any) -> NDArray[np.float64]:
        """Evaluate the component at rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with all features, as for ``transform``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Values of the component, on the margin scale.
        """
        return self._source.values(self._position, X)

    def __repr__(self) -> str:
        return f"<Component {self.name!r} of order {self.order}>"


class Components(Sequence[Component]):
    """Hold all components; look one up by position, by name, or by its features (names or positions) in any order."""

    def __init__(
        self,
        source: ComponentSource,
        component_names: list[str],
        features: list[tuple[str, ...]],
        *,
        names: list[str],
        grouped: set[str],
    ) -> None:
        self._names = names
        self._grouped = grouped
        self._all = [Component(source, i, *key) for i, key in enumerate(zip(component_names, features))]
        self._by_name = {c.name: c for c in self._all}
        self._by_features = {frozenset(c.features): c for c in self._all}

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, key: int | str | tuple[str | int, ...]) -> Component: ...

    @overload
    def __getitem__(self, key: slice) -> list[Component]: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, np.integer, slice)):
            return self._all[key]
        component = self._find(key)
        if component is None:
            grouped = [name for name in _as_tuple(key) if name in self._grouped]
            raise KeyError(
                f"there is no component {key!r}: "
                + (
                    f"{grouped[0]!r} belongs to a feature group. Pass the name of the group"
                    if grouped
                    else "the model does not split on these features together, or max_interaction or features "
                    "excludes the component. get_feature_names_out() lists the names"
                )
            )
        return component

    def __contains__(self, key: object) -> bool:
        return key in self._all if isinstance(key, Component) else self._find(key) is not None

    def __iter__(self) -> Iterator[Component]:
        return iter(self._all)

    def __repr__(self) -> str:
        shown = ", ".join(list(self._by_name)[:6]) + (", ..." if len(self) > 6 else "")
        return f"<{len(self)} components: {shown}>"

    def _find(self, key: Any) -> Component | None:
        if isinstance(key, str) and key in self._by_name:
            return self._by_name[key]
        features = [
            self._names[name] if isinstance(name, (int, np.integer)) and name < len(self._names) else name
            for name in _as_tuple(key)
        ]
        return self._by_features.get(frozenset(features))


def _as_tuple(key: Any) -> tuple[Any, ...]:
    return tuple(key) if isinstance(key, (tuple, list, set, frozenset)) else (key,)
