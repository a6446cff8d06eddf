"""Hold components that were loaded from a file, without model and background."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar
from sklearn.utils.metaestimators import available_if

from skglex._decomposition import Explained, GivenTables
from skglex._input import (
    FeatureGroups,
    InputSpec,
    bin_all,
    check_rows,
    frame_names,
    group_features,
    is_frame,
    output_names,
    resolve_features,
)
from skglex._leaves import Grid
from skglex._readers import SourceModel
from skglex._response import Isolation, Response
from skglex._utils import DEFAULT_EXECUTION, warn_user
from skglex.components import Axis, Component, ComponentNames, Components, bins_along
from skglex.exceptions import RemainderWarning
from skglex.export._stored_view import NOT_STORED, StoredModel, stored_view

# The importances that need SHAP values, in the words of those who ask for them.
_NO_SHAP = NOT_STORED.format("SHAP values") + (
    ". skglex.inspection.feature_importance has kind='absolute', and ImportanceDisplay has shap=False"
)


def _classifies(stored: StoredComponents) -> bool:
    return stored._response.is_classifier


class StoredComponents:
    """Hold components that were saved with ``save_components``, without model and background.

    They can be looked up, evaluated, drawn (`skglex.plotting`) and ranked (`skglex.inspection`) like those of a
    `~skglex.GlexDecomposer`, and summed up to predictions. Whatever needs the leaves of the model raises an error: SHAP
    values, partial dependence, components that were not saved, and the remainder.

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
    remainder_share : float, or None
        Share of the variance of the margin, over at most 1,000 background rows, that the components left out hold.
        None: it is not known (the background was in Dask partitions).
    classes_ : ndarray of shape (n_classes,)
        Class labels. Only for classifiers.
    explained_features_ : list of str
        Features and groups of the components.
    separator : str
        String between the features in the name of a component.
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
    >>> decomposer = GlexDecomposer(model, max_interaction=None).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_components(decomposer, f"{folder}/components.zip")
    ...     stored = load_components(f"{folder}/components.zip")
    >>> np.array_equal(stored.evaluate(X), decomposer.transform(X))
    True
    >>> np.allclose(stored.predict(X), model.predict(X), atol=1e-5)
    True
    >>> np.array_equal(stored.predict(X), stored.margin(X))  # with the squared error
    True
    >>> stored.strongest_components(1)[0].name
    'x0:x1'
    >>> np.array_equal(stored.transform(X), stored.evaluate(X))  # there is one output
    True
    >>> bool(stored.background_weights(stored.feature_axis("x0")).sum().round(6) == 1)
    True
    >>> list(stored.get_feature_names_out()) == [component.name for component in stored]
    True

    With ``max_interaction``, predictions warn that they lack the components that were left out:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_components(GlexDecomposer(model, max_interaction=1).fit(X), f"{folder}/main_effects.zip")
    ...     stored = load_components(f"{folder}/main_effects.zip")
    >>> stored.complete, round(stored.remainder_share, 1)
    (False, 0.5)
    """

    def __init__(self, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._content = description, arrays
        self.version: str = description["version"]
        self.feature_names: list[str] = description["feature_names"]
        self.outputs: list[Any] | None = description["outputs"]
        self.link: str = description["link"]
        self.complete: bool = description["complete"]
        self.remainder_share: float | None = description["remainder_share"]
        self.separator: str = description["separator"]
        self.explained_features_: list[str] = description["features"]
        self._named: bool = description["named"]
        self._spec = _read_spec(description["input"], len(self.feature_names))
        self._codes = {int(j): np.array(codes, np.int64) for j, codes in description["codes"].items()}
        self._columns: list[list[int]] = [c["columns"] for c in description["components"]]
        n_outputs = len(arrays["intercept"])
        self.intercept_: Any = float(arrays["intercept"][0]) if n_outputs == 1 else arrays["intercept"]
        self._n_outputs = n_outputs
        importances = arrays["importances"].reshape(-1, n_outputs)
        self.component_importances_ = importances[:, 0] if n_outputs == 1 else importances
        self._response = _read_response(description, n_outputs)
        if self._response.classes is not None:
            self.classes_ = self._response.classes
        ends = np.cumsum(arrays["n_edges"])
        edges = iter(np.split(arrays["edges"], ends[:-1]) if len(ends) else [])
        tables = [
            self._table(columns, edges, arrays["values"], start)
            for columns, start in zip(
                self._columns, accumulate(map(prod, self._shapes(arrays["n_edges"])), initial=0)
            )
        ]
        axes, values = [axes for axes, _ in tables], [table for _, table in tables]
        self._grid = self._make_grid(axes, description["as_float32"])
        if len(arrays["background"]) != self._grid.n_bins.sum():
            raise ValueError("background has one share for every bin of every feature")
        self._background = arrays["background"]
        self._n_background: int = description["n_background"]
        self._sparse: bool = description["sparse"]
        names: list[str] = description["features"]
        self._names = ComponentNames(names, self.separator, description["grouped"])
        source = _StoredTables(self)
        made = [
            Component(source, i, c["name"], tuple(c["features"]))
            for i, c in enumerate(description["components"])
        ]
        members = [tuple(sorted(map(names.index, c.features))) for c in made]
        self.components_ = Components(made, members, self._names, self._why_absent)
        self._listed = GivenTables(members, axes, values, self._columns, self._grid)
        self._groups = _read_groups(description)

    @property
    def _explained(self) -> Explained:
        """Return what inspection and plots may use."""
        source: Any = SourceModel(None, self._spec, None, None, self._response)  # type: ignore[arg-type]
        fitted = StoredModel(self, source, self._grid, n_background=self._n_background, sparse=self._sparse)
        return stored_view(self, self._listed, fitted, self._groups, self._names)

    def __getattr__(self, name: str) -> Any:
        # Only attributes that are missing come here. Those of a decomposer are explained.
        if name in ("feature_importances_", "shap_values", "shap_interaction_values"):
            raise AttributeError(_NO_SHAP)
        if name in ("partial_dependence", "background_", "estimator_", "weighting"):
            raise AttributeError(NOT_STORED.format(name.strip("_").replace("_", " ")))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

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

    def __contains__(self, key: object) -> bool:
        """Return whether the file has a component with a name or with some features."""
        return key in self.components_

    def __iter__(self) -> Iterator[Component]:
        """Iterate over ``components_``."""
        return iter(self.components_)

    def strongest_components(self, k: int = 10) -> list[Component]:
        """Return the components with the largest importance, summed over the outputs.

        Parameters
        ----------
        k : int, default=10
            Number of components.

        Returns
        -------
        list of Component
            Components in descending order of importance over the background of the decomposer that was saved.
        """
        check_scalar(k, "k", Integral, min_val=1)
        total = self.component_importances_.reshape(len(self.components_), -1).sum(axis=1)
        return [self.components_[int(i)] for i in np.argsort(-total, kind="stable")[:k]]

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
            On the margin scale. The values equal those of ``transform`` of the saved decomposer: to the bit for
            components that it looks up in tables, and up to rounding for those without a table (see
            `~skglex.exceptions.StreamedComponentsWarning`).
        """
        columns = self._evaluate(self._check(X), np.arange(len(self.components_)))
        return self._squeeze(columns.reshape(self._n_outputs, len(self.components_), -1).transpose(2, 1, 0))

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Evaluate all components on rows, in the form of ``GlexDecomposer.transform``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows as for `evaluate`.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs * n_sets)
            The columns of `get_feature_names_out`. There is no column ``remainder``.
        """
        return self._evaluate(self._check(X), np.arange(len(self.components_))).T

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : object, default=None
            Not used; present for compatibility with scikit-learn.

        Returns
        -------
        ndarray of shape (n_outputs * n_sets,), object
            Names of the components, for several outputs in the form ``class__component``.
        """
        names = [component.name for component in self.components_]
        return np.array(output_names(names, remainder=False, labels=self.outputs), dtype=object)

    def margin(self, X: Any) -> NDArray[np.float64]:
        """Compute the sum of the intercept and all components, which is the model's margin if ``complete`` is True.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows as for `evaluate`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The raw score.

        Warns
        -----
        RemainderWarning
            ``complete`` is False. The result lacks the components that were left out.
        """
        margin = self._margin(X)
        return margin[:, 0] if self._n_outputs == 1 else margin

    def predict(self, X: Any) -> NDArray[Any]:
        """Compute predictions from ``margin``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows as for `evaluate`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels for a classifier, and -1 (outlier) or 1 for an isolation forest. Else the numbers that ``predict``
            of the model would return.

        Warns
        -----
        RemainderWarning
            ``complete`` is False. The result lacks the components that were left out.
        """
        margin = self._margin(X)
        if self._response.isolation is not None:
            return self._response.outliers(self._response.scores(margin))
        return self._response.predict(self._response.output(margin))

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the probabilities of the classes from ``margin``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows as for `evaluate`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with the classes in the order of ``classes_``.

        Warns
        -----
        RemainderWarning
            ``complete`` is False. The result lacks the components that were left out.
        """
        return np.asarray(self._response.probabilities(self._response.output(self._margin(X))))

    def feature_axis(self, feature: str | int) -> Axis:
        """Return all bins of a feature that the components distinguish.

        Parameters
        ----------
        feature : str or int
            Name or position of a feature of a component.

        Returns
        -------
        Axis
            The axis with the edges of all components.
        """
        used = self._used_feature(feature)
        position = int(self._grid.features[used])
        if position in self._codes:
            return self._categorical_axis(position)
        edges = self._grid.cuts_of(used)
        return Axis(self.feature_names[position], edges, False, len(edges) + 1)

    def background_weights(self, axis: Axis | str | int) -> NDArray[np.float64]:
        """Return the share of the background in every bin of an axis.

        Parameters
        ----------
        axis : Axis, str or int
            Axis of a stored component. Or a feature, which stands for its `feature_axis`.

        Returns
        -------
        ndarray of shape (axis.n_bins,)
            Weight of the background of the decomposer that was saved in each bin; the weights sum to one.
        """
        axis = axis if isinstance(axis, Axis) else self.feature_axis(axis)
        used = self._used_feature(axis.feature)
        start = int(self._grid.n_bins[:used].sum())
        shares = self._background[start : start + int(self._grid.n_bins[used])]
        return np.asarray(np.bincount(bins_along(axis, self._grid.cuts_of(used)), shares, axis.n_bins))

    # -- helpers ------------------------------------------------------------------------------

    def _why_absent(self, members: tuple[int, ...]) -> str:
        names = [self._names.names[i] for i in members]
        if self.complete:
            return f"no path of the model splits on all of {names}, so their component is zero everywhere"
        return (
            f"the component of {names} was not saved: it is zero everywhere, or max_interaction or features left it "
            "out"
        )

    def _margin(self, X: Any) -> NDArray[np.float64]:
        """Return the sum of intercept and components, of shape (n_samples, n_outputs)."""
        if not self.complete:
            share = "an unknown share" if self.remainder_share is None else f"{self.remainder_share:.0%}"
            warn_user(
                "max_interaction or features left components out of the file, so this is the sum of the others. The "
                f"components left out hold {share} of the variance of the model's margin over background rows. Save a "
                "decomposer that was fitted with max_interaction=None, or predict with the model",
                RemainderWarning,
            )
        bins = bin_all(self._check(X), self._spec, self._grid)
        margins: NDArray[np.float64] = self._explained.decomposition.margins(bins)
        return margins.T

    def _evaluate(self, X: Any, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return chosen components at checked rows: for every output one row per component."""
        bins = bin_all(X, self._spec, self._grid)
        out = np.empty((self._n_outputs * len(chosen), bins.shape[1]))
        self._listed.evaluate(bins, chosen, out)
        return out

    def _used_feature(self, feature: str | int) -> int:
        """Return the position on the grid of a feature of the components."""
        (position,) = resolve_features(feature, self.feature_names, parameter="feature")
        used = np.flatnonzero(self._grid.features == position)
        if not len(used):
            raise ValueError(
                f"no stored component has the feature {self.feature_names[position]!r}. Pass a feature of a component"
            )
        return int(used[0])

    def _categorical_axis(self, column: int) -> Axis:
        codes = self._codes[column]
        categories = self._spec.categories
        edges = categories[column][codes] if column in categories else codes
        return Axis(self.feature_names[column], edges, True, len(edges) + 1)

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
            if j in self._codes:
                axes.append(self._categorical_axis(j))
                continue
            inner = next(edges)
            axes.append(Axis(self.feature_names[j], inner, False, len(inner) + 1))
        shape = (*(axis.n_bins for axis in axes), self._n_outputs)
        return tuple(axes), values[start : start + prod(shape)].reshape(shape)

    def _make_grid(self, axes_of: list[tuple[Axis, ...]], as_float32: bool) -> Grid:
        """Return the grid with the edges of all components; a value left of an edge is ``< edge``."""
        cuts: dict[int, list[NDArray[np.float64]]] = {}
        for columns, axes in zip(self._columns, axes_of):
            for j, axis in zip(columns, axes):
                cuts.setdefault(j, []).append(np.empty(0) if axis.categorical else axis.edges)
        features = np.array(sorted(cuts), dtype=np.int64)
        parts = [self._codes.get(j, np.unique(np.concatenate(cuts[j]))) for j in features.tolist()]
        categorical = np.isin(features, list(self._codes))
        return Grid.from_cuts(features, parts, categorical, less_equal=False, as_float32=as_float32)

    def _check(self, X: Any) -> Any:
        X = check_rows(X, lambda: True)
        if X.shape[1] != len(self.feature_names):
            raise ValueError(
                f"X has {X.shape[1]} features, but the model of the components has {len(self.feature_names)}: "
                f"{self.feature_names[:20]}. Pass X with these columns"
            )
        if is_frame(X) and self._named and frame_names(X) != self.feature_names:
            raise ValueError(
                f"X has the columns {list(X.columns)}, but the model of the components has {self.feature_names}. Pass "
                "X with these columns, in this order"
            )
        return X


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
        columns = self._stored._evaluate(self._stored._check(X), np.array([key]))
        return self._stored._squeeze(columns.T)

    def axes(self, key: int) -> tuple[Axis, ...]:
        return self._stored._listed.axes(key, [], {}, DEFAULT_EXECUTION)

    def table(self, key: int) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        axes, values = self._stored._listed.table(key, [], {}, DEFAULT_EXECUTION)
        return axes, self._stored._squeeze(values)


def _read_response(description: dict[str, Any], n_outputs: int) -> Response:
    classes, isolation = description["classes"], description["isolation"]
    return Response(
        link=description["link"],
        n_outputs=n_outputs,
        classes=None if classes is None else np.array(classes),
        isolation=None if isolation is None else Isolation(*map(float, isolation)),
        second_class_on_ties=description["second_class_on_ties"],
        threshold=description["threshold"],
        output_labels=description["outputs"] if description["classes"] is None else None,
    )


def _read_groups(description: dict[str, Any]) -> FeatureGroups:
    """Return the features and groups; a group may be called as one of its columns."""
    names: list[str] = description["feature_names"]
    groups: dict[str, list[str]] = {}
    for feature, group in description["grouped"].items():
        groups.setdefault(group, [group] if group in names else []).append(feature)
    found = group_features(groups, names)
    if found.names != description["features"]:
        raise ValueError("features holds the features that are in no group, and the groups")
    return found


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
