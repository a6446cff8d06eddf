"""One component, and the sequence of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Axis:
    """One axis of a component's table: the bins of one feature.

    Attributes
    ----------
    feature : str
        Its name.
    edges : ndarray
        Numeric: bin ``i`` is ``edges[i - 1] <= x < edges[i]`` in float64, the first and last reaching to
        infinity, so that ``numpy.searchsorted(edges, x, side="right")`` is the bin of x. Categorical: the
        categories (codes, where the model knows only these), bin ``i`` for the i-th and then one bin for any other.
    categorical : bool
        Whether the bins are categories.
    missing : int
        The bin of a missing value: always the last.
    n_bins : int
        Number of bins, with that of missing values.

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
        return self.missing + 1


def bins_along(axis: Axis, edges: NDArray[Any]) -> NDArray[np.int64]:
    """Bin along an axis of each of the finer bins that all edges of its feature make, the missing one last."""
    if axis.categorical:
        return np.arange(axis.n_bins)
    begins = np.concatenate([[-np.inf], edges])
    return np.append(np.searchsorted(axis.edges, begins, side="right"), axis.missing)


class ComponentSource(Protocol):
    """Give components their values: made by a fitted decomposer, or by components that were stored."""

    def importance(self, position: int) -> Any:
        """Return the mean absolute value of a component."""

    def values(self, position: int, X: Any) -> NDArray[np.float64]:
        """Evaluate a component at rows."""

    def table(self, position: int) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        """Return the axes and the values of a component's table."""


class Component:
    """A main effect or an interaction of a fitted model.

    Attributes
    ----------
    features : tuple of str
        Features (or groups) of the component.
    order : int
        Number of features.
    name : str
        Its column name.
    importance : float or ndarray of shape (n_outputs,)
        Mean of the component's absolute value over the background, on the margin scale.
    axes : tuple of Axis
        Features and bins along the axes of ``values``.
    edges : tuple of ndarray
        Edges (or categories) of each axis.
    values : ndarray of shape (n_bins, ...) or (n_bins, ..., n_outputs)
        The component over the bins, on the margin scale. A component that is not tabulated has its table made
        now, or raises a ValueError with the size if it does not fit.

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

    @property
    def order(self) -> int:
        return len(self.features)

    @property
    def importance(self) -> Any:
        return self._source.importance(self._position)

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self._table[0]

    @property
    def edges(self) -> tuple[NDArray[Any], ...]:
        return tuple(axis.edges for axis in self.axes)

    @property
    def values(self) -> NDArray[np.float64]:
        return self._table[1]

    @cached_property
    def _table(self) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        return self._source.table(self._position)

    def evaluate(self, X: Any) -> NDArray[np.float64]:
        """The component's value at given rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with all features, as for ``transform``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            On the margin scale.
        """
        return self._source.values(self._position, X)

    def __repr__(self) -> str:
        return f"<Component {self.name!r} of order {self.order}>"


class Components(Sequence[Component]):
    """All components, by position, by name or by the features (names or positions) in any order."""

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
                f"no component {key!r}: "
                + (
                    f"{grouped[0]!r} belongs to a feature group: name the group"
                    if grouped
                    else "the model does not split on these features together, or max_interaction or features "
                    "leave it out. The names are in get_feature_names_out()"
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
