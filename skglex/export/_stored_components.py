"""Hold components that were loaded from a file, without model and background."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._input import InputSpec, bin_all, check_rows, is_frame
from skglex._leaves import Grid
from skglex.components import Axis, Component, ComponentNames, Components, bins_along


class StoredComponents:
    """Hold components that were saved with `save_components`, without model and background.

    Parameters
    ----------
    description : dict
        The content of ``components.json``, as `load_components` checks it.
    arrays : dict of ndarray
        The arrays of the file.

    Attributes
    ----------
    intercept_ : float, or ndarray of shape (n_outputs,)
    components_ : sequence of Component
        Components by position, by name or by the tuple of features, as in ``GlexDecomposer.components_``.
    component_importances_ : ndarray of shape (n_sets,) or (n_sets, n_outputs)
        Mean of ``|m_S|`` over the background of the decomposer that was saved.
    feature_names : list of str
        The model's columns, in the order of the columns of X.
    outputs : list, or None
        Labels of the outputs; None for a single output.
    link : str
        Name of the function from margin to output: ``"identity"``, ``"sigmoid"``, ``"softmax"``, ...
    complete : bool
        Whether intercept and components add up to the margin. False if ``max_interaction`` or ``features`` left
        components out.
    version : str
        Version of skglex that wrote the file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.export import load_components, save_components
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, X[:, 0] + 2 * X[:, 0] * X[:, 1])
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_components(decomposer, f"{folder}/components.zip")
    ...     stored = load_components(f"{folder}/components.zip")
    >>> np.array_equal(stored.evaluate(X), decomposer.transform(X))
    True
    >>> np.allclose(stored.margin(X), model.predict(X), atol=1e-5)
    True
    """

    def __init__(self, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._content = description, arrays
        self.version: str = description["version"]
        self.feature_names: list[str] = description["feature_names"]
        self.outputs: list[Any] | None = description["outputs"]
        self.link: str = description["link"]
        self.complete: bool = description["complete"]
        self._named: bool = description["named"]
        self._spec = _read_spec(description["input"], len(self.feature_names))
        self._codes = {int(j): np.array(codes, np.int64) for j, codes in description["codes"].items()}
        self._columns: list[list[int]] = [c["columns"] for c in description["components"]]
        n_outputs = len(arrays["intercept"])
        self.intercept_: Any = float(arrays["intercept"][0]) if n_outputs == 1 else arrays["intercept"]
        self._n_outputs = n_outputs
        importances = arrays["importances"].reshape(-1, n_outputs)
        self.component_importances_ = importances[:, 0] if n_outputs == 1 else importances
        ends = np.cumsum(arrays["n_edges"])
        edges = iter(np.split(arrays["edges"], ends[:-1]) if len(ends) else [])
        self._tables = [
            self._table(columns, edges, arrays["values"], start)
            for columns, start in zip(
                self._columns, accumulate(map(prod, self._shapes(arrays["n_edges"])), initial=0)
            )
        ]
        self._grid = self._make_grid(description["as_float32"])
        names: list[str] = description["features"]
        self._names = ComponentNames(names, ":", description["grouped"])
        source = _StoredTables(self)
        made = [
            Component(source, i, c["name"], tuple(c["features"]))
            for i, c in enumerate(description["components"])
        ]
        members = [tuple(sorted(map(names.index, c.features))) for c in made]
        self.components_ = Components(made, members, self._names, self._why_absent)

    def __getstate__(self) -> dict[str, Any]:
        return {"content": self._content}

    def __setstate__(self, state: dict[str, Any]) -> None:
        description, arrays = state["content"]
        StoredComponents.__init__(self, description, arrays)

    def __getitem__(self, key: Any) -> Component:
        """Return the component with a name, or with a tuple of features."""
        component: Component = self.components_[key]
        return component

    def __repr__(self) -> str:
        return f"<StoredComponents: {len(self.components_)} components, written by skglex {self.version}>"

    def evaluate(self, X: Any) -> NDArray[np.float64]:
        """Evaluate all components on rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the model's columns. If the saved decomposer was fitted on a pipeline, these are the columns
            after the preprocessing.

        Returns
        -------
        ndarray of shape (n_samples, n_sets) or (n_samples, n_sets, n_outputs)
            On the margin scale; equal to the bit to ``transform`` of the saved decomposer.
        """
        bins = self._bin(X)
        columns = [self._look_up(i, bins) for i in range(len(self._tables))]
        values = np.stack(columns, axis=1) if columns else np.empty((bins.shape[1], 0, self._n_outputs))
        return self._squeeze(values)

    def margin(self, X: Any) -> NDArray[np.float64]:
        """Compute the model's margin on rows: the sum of the intercept and all components.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows as for `evaluate`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The raw score.

        Raises
        ------
        ValueError
            ``complete`` is False.
        """
        if not self.complete:
            raise ValueError(
                "max_interaction or features left components out, so the saved ones do not add up to the margin. Save "
                "a decomposer that was fitted without these parameters"
            )
        return np.asarray(self.intercept_ + self.evaluate(X).sum(axis=1))

    # -- helpers ------------------------------------------------------------------------------

    def _why_absent(self, members: tuple[int, ...]) -> str:
        names = [self._names.names[i] for i in members]
        if self.complete:
            return f"no path of the model splits on all of {names}, so their component is zero everywhere"
        return (
            f"the component of {names} was not saved: it is zero everywhere, or max_interaction or features left it "
            "out"
        )

    def _squeeze(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Drop the last axis if there is a single output."""
        return values[..., 0] if self._n_outputs == 1 else values

    def _shapes(self, n_edges: NDArray[np.int64]) -> list[tuple[int, ...]]:
        """Return the shapes of all tables; the last axis is that of the outputs."""
        inner = iter(n_edges.tolist())
        return [
            (
                *(len(self._codes[j]) + 2 if j in self._codes else next(inner) + 2 for j in columns),
                self._n_outputs,
            )
            for columns in self._columns
        ]

    def _table(
        self, columns: list[int], edges: Iterator[NDArray[Any]], values: NDArray[np.float64], start: int
    ) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        axes = []
        for j in columns:
            codes = self._codes.get(j)
            if codes is None:
                inner = next(edges)
            else:
                inner = self._spec.categories[j][codes] if j in self._spec.categories else codes
            axes.append(Axis(self.feature_names[j], inner, codes is not None, len(inner) + 1))
        shape = (*(axis.n_bins for axis in axes), self._n_outputs)
        return tuple(axes), values[start : start + prod(shape)].reshape(shape)

    def _make_grid(self, as_float32: bool) -> Grid:
        """Return the grid with the edges of all components; a value left of an edge is ``< edge``."""
        cuts: dict[int, list[NDArray[np.float64]]] = {}
        for columns, (axes, _) in zip(self._columns, self._tables):
            for j, axis in zip(columns, axes):
                cuts.setdefault(j, []).append(np.empty(0) if axis.categorical else axis.edges)
        features = np.array(sorted(cuts), dtype=np.int64)
        parts = [self._codes.get(j, np.unique(np.concatenate(cuts[j]))) for j in features.tolist()]
        categorical = np.isin(features, list(self._codes))
        return Grid.from_cuts(features, parts, categorical, less_equal=False, as_float32=as_float32)

    def _bin(self, X: Any) -> NDArray[Any]:
        X = check_rows(X, lambda: True)
        if X.shape[1] != len(self.feature_names):
            raise ValueError(
                f"X has {X.shape[1]} features, but the model of the components has {len(self.feature_names)}: "
                f"{self.feature_names[:20]}. Pass X with these columns"
            )
        if is_frame(X) and self._named and [str(name) for name in X.columns] != self.feature_names:
            raise ValueError(
                f"X has the columns {list(X.columns)}, but the model of the components has {self.feature_names}. Pass "
                "X with these columns, in this order"
            )
        return bin_all(X, self._spec, self._grid)

    def _look_up(self, position: int, bins: NDArray[Any]) -> NDArray[np.float64]:
        axes, values = self._tables[position]
        used_features = np.searchsorted(self._grid.features, self._columns[position])
        cells = []
        for axis, used_feature in zip(axes, used_features.tolist()):
            cells.append(bins_along(axis, self._grid.cuts_of(used_feature))[bins[used_feature]])
        cell_values: NDArray[np.float64] = values[tuple(cells)]
        return cell_values


class _StoredTables:
    """Give stored components their values; see `skglex.components.ComponentSource`."""

    def __init__(self, stored: StoredComponents) -> None:
        self._stored = stored

    @property
    def output_labels(self) -> list[Any] | None:
        return self._stored.outputs

    def importance(self, key: int) -> Any:
        return self._stored.component_importances_[key]

    def values(self, key: int, X: Any) -> NDArray[np.float64]:
        return self._stored._squeeze(self._stored._look_up(key, self._stored._bin(X)))

    def table(self, key: int) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        axes, values = self._stored._tables[key]
        return axes, self._stored._squeeze(values)


def _read_spec(description: dict[str, Any], n_features: int) -> InputSpec:
    frame = description["frame_categories"]
    return InputSpec(
        n_features=n_features,
        categories={
            int(j): np.array(values, dtype=object) for j, values in description["categories"].items()
        },
        frame_categories=None if frame is None else [np.array(values, dtype=object) for values in frame],
        missing=np.nan if description["missing"] is None else float(description["missing"]),
        missing_zeros=frozenset(description["missing_zeros"]),
        **{
            name: description[name]
            for name in ("unknown_is_missing", "sparse_is_missing", "by_value", "finite")
            + ("truncates_codes", "integers_as_float32")
        },
    )
