"""SHAP values, partial dependence and axes: what a decomposed model says without a list of its components."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skglex._base import BaseTreeModelEstimator
from skglex._dask import per_partition
from skglex._decomposition import Decomposition, average_out, shapley_means
from skglex._input import FeatureGroups, bin_chunks, bin_rows, resolve_features
from skglex._leaves import Background
from skglex._utils import check_memory, rows_at_a_time
from skglex.components import Axis, bins_along


class TreeModelExplainer(BaseTreeModelEstimator):
    """Base of a decomposer. Its ``fit`` sets the decomposition and the groups of features."""

    _decomposition: Decomposition
    _groups: FeatureGroups
    _lazy: dict[str, Any]  # what is computed on first access

    @per_partition
    def shap_values(self, X: Any) -> NDArray[np.float64]:
        """SHAP values: ``phi_k = sum over S with k of m_S / |S|``, all orders included.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
            On the margin scale; with ``intercept_`` they add up to the margin. With ``feature_groups``, the values
            of the game between the groups and the other features, in the order of ``explained_features_``.
        """
        shape = (len(self._groups.names),)
        values = self._on_rows(self._check_X(X), shape, self._decomposition.shapley, "SHAP values")
        return self._squeeze(values.transpose(2, 1, 0))

    @per_partition
    def shap_interaction_values(self, X: Any) -> NDArray[np.float64]:
        """SHAP interaction values: ``1/2 sum over S with i, j of m_S / (|S| - 1)``, all orders included.

        The diagonal makes each row sum to the SHAP value, the convention of XGBoost and shap.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features, n_features) or (n_samples, n_features, n_features, n_outputs)
            On the margin scale.
        """
        shape = (len(self._groups.names),) * 2
        compute = self._decomposition.shapley_interactions
        values = self._on_rows(self._check_X(X), shape, compute, "SHAP interaction values")
        return self._squeeze(values.transpose(3, 1, 2, 0))

    @per_partition
    def partial_dependence(self, features: Any, X: Any) -> NDArray[np.float64]:
        """The partial dependence function of some features at the rows' values of them.

        ``PD_S(x) = sum over U in S of m_U(x)``, all orders included: the mean margin when the features are set to
        the row's values and the others are averaged out.

        Parameters
        ----------
        features : str, int or list of these
            Names or positions; with ``feature_groups``, a group by its name.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            On the margin scale.
        """
        Xt = self._check_X(X)
        wanted = self._groups.resolve(features, self._model_names, X=Xt)
        keep = np.isin(self._decomposition.players.player_of_feature, wanted)
        decomposition = self._decomposition
        averaged = average_out(decomposition.ensemble, decomposition.weighting, keep, self._execution)

        return self._squeeze(self._on_rows(Xt, (), averaged, "partial dependence").T)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        if "feature_importances" not in self._lazy:
            means = shapley_means(self._decomposition, self._background, self._execution)
            self._lazy["feature_importances"] = self._squeeze(means)
        importances: NDArray[np.float64] = self._lazy["feature_importances"]
        return importances

    def feature_axis(self, feature: str | int) -> Axis:
        """All bins that the model tells apart along one feature.

        Parameters
        ----------
        feature : str or int
            Name or position of a feature that the model splits on.

        Returns
        -------
        Axis
            Its ``edges`` are those of all trees; a component's axis has those of its own leaves.
        """
        check_is_fitted(self)
        used_feature = self._slot(feature)
        grid = self._model.ensemble.grid
        position, categorical = int(grid.features[used_feature]), bool(grid.categorical[used_feature])
        edges: NDArray[Any]
        if categorical:
            codes = grid.cuts_of(used_feature).astype(np.int64)
            known = self._model.input.categories.get(position)
            edges = codes if known is None else known[codes]
        else:
            edges = grid.edges(used_feature)[: grid.n_reached(used_feature) - 1]
        return Axis(self._model_names[position], edges, categorical, len(edges) + 1)

    def background_weights(self, axis: Axis) -> NDArray[np.float64]:
        """Share of the background in every bin of an axis.

        Parameters
        ----------
        axis : Axis
            Of a component of this decomposer, or from `feature_axis`.

        Returns
        -------
        ndarray of shape (axis.n_bins,)
            The background's weights by bin; they sum to one.
        """
        check_is_fitted(self)
        used_feature = self._slot(axis.feature)
        grid = self._model.ensemble.grid
        share = self._background.average(
            partial(_bin_shares, used_feature=used_feature, n_bins=int(grid.n_bins[used_feature]))
        )
        return np.asarray(np.bincount(bins_along(axis, grid.edges(used_feature)), share, axis.n_bins))

    @property
    def explained_features_(self) -> list[str]:
        """Names along the feature axis of SHAP values: features, or groups and the features in none."""
        check_is_fitted(self)
        return list(self._groups.names)

    # -- helpers ------------------------------------------------------------------------------

    @property
    def _n_outputs(self) -> int:
        return self._model.ensemble.n_outputs

    def _output_labels(self) -> list[Any] | None:
        if self._n_outputs == 1:
            return None
        classes = getattr(self, "classes_", None)
        if classes is not None and len(classes) == self._n_outputs:
            return list(classes)
        return list(range(self._n_outputs))

    def _squeeze(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Drop the last axis where there is one output."""
        return values[..., 0] if self._n_outputs == 1 else values

    def _slot(self, feature: str | int) -> int:
        """Position on the grid of a feature that the model splits on."""
        (position,) = resolve_features(feature, self._model_names, parameter="feature")
        found = np.flatnonzero(self._model.ensemble.grid.features == position)
        if not len(found):
            raise ValueError(f"the model does not split on the feature {self._model_names[position]!r}")
        return int(found[0])

    def _on_rows(
        self, Xt: Any, shape: tuple[int, ...], compute: Callable[..., NDArray[np.float64]], what: str
    ) -> NDArray[np.float64]:
        r"""``compute(bins)`` on all rows, chunk by chunk; shape (n_outputs, \*shape, n_samples)."""
        n = Xt.shape[0]
        shape = (self._n_outputs, *shape, n)
        check_memory(shape, what)
        out = None
        for start, stop, bins in self._binned(Xt, prod(shape[:-1])):
            part = compute(bins, self._execution)
            if stop - start == n:
                return part
            out = np.empty(shape) if out is None else out
            out[..., start:stop] = part
        assert out is not None
        return out

    def _binned(self, Xt: Any, width: int) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Rows in chunks: their range and their bins. ``width``: numbers of output per row."""
        grid = self._model.ensemble.grid
        chunks = bin_chunks(Xt, grid)
        if len(chunks) > 1 or np.dtype(self.dtype) != np.float64:
            size = rows_at_a_time(width)
            chunks = [(a, min(a + size, stop)) for start, stop in chunks for a in range(start, stop, size)]
        for start, stop in chunks:
            yield start, stop, bin_rows(Xt, self._model.input, grid, start, stop, self._execution)


def _bin_shares(background: Background, *, used_feature: int, n_bins: int) -> NDArray[np.float64]:
    share: NDArray[Any] = np.bincount(
        background.bins[used_feature], background.weight / background.total, n_bins
    )
    return share
