"""Describe one component, and the sequence of all components."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from skglex._utils import import_optional, without_cached
from skglex.components._component_names import ComponentNames

# Stands in data frames for categories that have no bin of their own.
OTHER = "(other)"


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
    """Compute the values of components. A fitted decomposer and the stored components implement this protocol.

    The key of a component is what the source needs to find it.
    """

    @property
    def output_labels(self) -> list[Any] | None:
        """Return the labels of the outputs, None for a single output."""

    def importance(self, key: Any) -> Any:
        """Return the mean absolute value of a component."""

    def values(self, key: Any, X: Any) -> NDArray[np.float64]:
        """Evaluate a component at rows."""

    def axes(self, key: Any) -> tuple[Axis, ...]:
        """Return the axes of a component's table, also if the table is too large to compute."""

    def table(self, key: Any) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
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

    def __init__(self, source: ComponentSource, key: Any, name: str, features: tuple[str, ...]) -> None:
        self._source = source
        self._key = key
        self._importance: Any = None  # computed on first access
        self.name = name
        self.features = features

    def __getstate__(self) -> dict[str, Any]:
        return {**without_cached(self), "_importance": None}

    @property
    def order(self) -> int:
        """Return the number of features."""
        return len(self.features)

    @property
    def importance(self) -> Any:
        """Return the mean absolute value over the background."""
        if self._importance is None:
            self._importance = self._source.importance(self._key)
        return self._importance

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Return the axes of ``values``."""
        return self._axes

    @property
    def edges(self) -> tuple[NDArray[Any], ...]:
        """Return the edges (or categories) of each axis."""
        return tuple(axis.edges for axis in self.axes)

    @property
    def values(self) -> NDArray[np.float64]:
        """Return the values over the bins."""
        return self._table[1]

    @cached_property
    def _axes(self) -> tuple[Axis, ...]:
        return self._source.axes(self._key)

    @cached_property
    def _table(self) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        return self._source.table(self._key)

    def evaluate(self, X: Any) -> NDArray[np.float64]:
        """Evaluate the component at rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with all features, as for ``transform``; or a data frame with the component's features alone.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Values of the component, on the margin scale.
        """
        return self._source.values(self._key, X)

    def to_frame(self) -> Any:
        """Return the component's table as a data frame, one row per combination of bins.

        Returns
        -------
        pandas.DataFrame
            One column per feature, then ``value``, or one ``label__value`` per output, on the margin scale. A bin of
            a numeric feature is a ``pandas.Interval``, closed on the left; a bin of a categorical feature is the
            category, and ``"(other)"`` for categories that have no bin of their own. The last bin is NaN: missing
            values.

        Raises
        ------
        ImportError
            pandas is not installed.
        ValueError
            The table is too large.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.tree import DecisionTreeRegressor
        >>> from skglex import GlexDecomposer
        >>> X = np.array([[0.0], [1.0], [2.0]])
        >>> decomposer = GlexDecomposer(DecisionTreeRegressor().fit(X, [1, 2, 6])).fit(X)
        >>> table = decomposer["x0"].to_frame()
        >>> list(table.columns), table["value"].tolist()[:3]
        (['x0', 'value'], [-2.0, -1.0, 3.0])
        >>> 0.2 in table["x0"][0]
        True
        """
        labels = self._source.output_labels
        names = ["value"] if labels is None else [f"{label}__value" for label in labels]
        return table_to_frame(self.axes, self.values, names)

    def __repr__(self) -> str:
        known = self._importance is not None and np.ndim(self._importance) == 0
        importance = f", importance {self._importance:.4g}" if known else ""
        return f"<Component {self.name!r} of order {self.order}{importance}>"


def table_to_frame(axes: tuple[Axis, ...], values: NDArray[np.float64], names: list[str]) -> Any:
    """Return a table as a data frame, one row per combination of bins.

    Parameters
    ----------
    axes : tuple of Axis
    values : ndarray of shape (n_bins, ...) or (n_bins, ..., n_columns)
    names : list of str
        Names of the columns of values.
    """
    pd = import_optional("pandas", "examples")
    shape = [axis.n_bins for axis in axes]
    cells = np.indices(shape).reshape(len(shape), -1)
    columns = {
        axis.feature: pd.Series(_bin_labels(axis, pd)).take(cell).reset_index(drop=True)
        for axis, cell in zip(axes, cells)
    }
    values = values.reshape(-1, len(names))
    return pd.DataFrame({**columns, **{name: values[:, i] for i, name in enumerate(names)}})


def _bin_labels(axis: Axis, pd: Any) -> Any:
    """Return what stands for each bin of an axis in a data frame."""
    if axis.categorical:
        return [*axis.edges.tolist(), OTHER, np.nan]
    borders = np.concatenate([[-np.inf], axis.edges, [np.inf]])
    return [*pd.IntervalIndex.from_breaks(borders, closed="left"), np.nan]


class Components(Sequence[Component]):
    """Hold components; look one up by position, by name, or by its features (names or positions) in any order.

    Parameters
    ----------
    components : list of Component
    members : list of tuple of int
        Positions of the features of each component, increasing.
    names : ComponentNames
    why_absent : callable
        Return why there is no component of the features at some positions.
    """

    def __init__(
        self,
        components: list[Component],
        members: list[tuple[int, ...]],
        names: ComponentNames,
        why_absent: Callable[[tuple[int, ...]], str],
    ) -> None:
        self._all = components
        self._names = names
        self._why_absent = why_absent
        self._by_members = dict(zip(members, components))
        self._by_name = {c.name: c for c in components}

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, key: int | str | tuple[str | int, ...]) -> Component: ...

    @overload
    def __getitem__(self, key: slice) -> list[Component]: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, np.integer, slice)):
            return self._all[key]
        if isinstance(key, str) and key in self._by_name:
            return self._by_name[key]
        members = self._names.members(key)
        if members not in self._by_members:
            raise KeyError(self._why_absent(members))
        return self._by_members[members]

    def __contains__(self, key: object) -> bool:
        if isinstance(key, Component):
            return key in self._all
        try:
            self[key]  # type: ignore[call-overload]
        except (KeyError, IndexError):
            return False
        return True

    def __iter__(self) -> Iterator[Component]:
        return iter(self._all)

    def __repr__(self) -> str:
        shown = ", ".join(list(self._by_name)[:6]) + (", ..." if len(self) > 6 else "")
        return f"<{len(self)} components: {shown}>"

    def to_frame(self) -> Any:
        """Return a data frame of all components, with their importance.

        Returns
        -------
        pandas.DataFrame
            Columns ``component``, ``features`` (a tuple of names), ``order``, and ``importance`` or one
            ``label__importance`` per output: the mean absolute value over the background, on the margin scale.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        pd = import_optional("pandas", "examples")
        table = {
            "component": [c.name for c in self],
            "features": [c.features for c in self],
            "order": [c.order for c in self],
        }
        labels = self._all[0]._source.output_labels if self._all else None
        names = ["importance"] if labels is None else [f"{label}__importance" for label in labels]
        values = np.array([c.importance for c in self]).reshape(-1, len(names))
        return pd.DataFrame({**table, **{name: values[:, o] for o, name in enumerate(names)}})
