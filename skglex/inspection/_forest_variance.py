"""Estimate the variance of a random forest's components from its trees, by the infinitesimal jackknife."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Decomposition, Explained, ListedComponents
from skglex._input import iter_binned
from skglex._utils import check_memory


class ForestVariance:
    """Hold the components of every tree of a forest, and how often every row is in its sample.

    Parameters
    ----------
    view : Explained
        The decomposer of a fitted forest that was grown with bootstrap samples.
    n_rows : int
        Number of rows of the training data.

    Attributes
    ----------
    n_trees : int
    """

    def __init__(self, view: Explained, n_rows: int) -> None:
        self._view = view
        samples = _samples_of(view.fitted.model)
        if max(int(np.max(rows)) for rows in samples) >= n_rows:
            raise ValueError(
                f"X has {n_rows} rows, but the forest was grown on more. Pass the training data of the forest as X"
            )
        ensemble = view.decomposition.ensemble
        self.n_trees = len(samples)
        if len(ensemble.tree_ptr) - 1 != self.n_trees:
            raise ValueError(
                f"the forest has {self.n_trees} members and {len(ensemble.tree_ptr) - 1} trees. The infinitesimal "
                "jackknife needs one tree per member"
            )
        self._n_drawn = len(samples[0])
        counts = np.array([np.bincount(rows, minlength=n_rows) for rows in samples], dtype=np.float64)
        counts -= counts.mean(axis=0)
        # The covariances of rows and trees, multiplied out: their sum of products over the rows is T' G T.
        values, vectors = np.linalg.eigh(counts @ counts.T / self.n_trees**2)
        self._root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        # Every tree becomes an output of one ensemble. The forest is the mean of its trees.
        tree = np.repeat(np.arange(self.n_trees), np.diff(ensemble.tree_ptr))
        self._ensemble = replace(
            ensemble,
            value=ensemble.value * self.n_trees,
            output=(tree * ensemble.n_outputs + ensemble.output).astype(np.int32),
            base=np.zeros(self.n_trees * ensemble.n_outputs),
            trees=None,
        )

    def listed(self, members: tuple[int, ...]) -> ListedComponents:
        """Return one component of all trees."""
        view = self._view.decomposition
        trees = Decomposition(self._ensemble, view.players, view.n_players, view.weighting, 1)
        return trees.single(members)

    def values(self, listed: ListedComponents, bins: NDArray[Any]) -> NDArray[np.float64]:
        """Return a component of every tree at binned rows: shape (n_trees, n_rows, n_outputs)."""
        n_outputs, n_rows = self._view.n_outputs, bins.shape[1]
        check_memory((self.n_trees * n_outputs, n_rows), "the components of all trees")
        out = np.empty((self.n_trees * n_outputs, n_rows))
        listed.evaluate(bins, np.array([0]), out, self._view.execution)
        return out.reshape(self.n_trees, n_outputs, n_rows).swapaxes(1, 2)

    def importance(self, listed: ListedComponents) -> NDArray[np.float64]:
        """Return what every tree adds to the mean absolute value of a component: shape (n_trees, n_outputs).

        The sign is that of the component of the forest.
        """
        background = self._view.background.in_memory()
        weight, total = background.weight / background.total, np.zeros((self.n_trees, self._view.n_outputs))
        for start, stop, bins in iter_binned(background.bins, total.size):
            values = self.values(listed, bins)
            total += np.einsum("tro,ro,r->to", values, np.sign(values.mean(axis=0)), weight[start:stop])
        return total

    def deviations(self, trees: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return deviations whose products sum to the covariance of the mean over the trees, and the variance.

        The variance is corrected for the finite number of trees, so that it can be smaller than the sum of the squared
        deviations. Both are for numbers of every tree, of shape (n_trees, n_cells, n_outputs).
        """
        centred = trees - trees.mean(axis=0)
        deviations = np.tensordot(self._root, centred, axes=1)
        bias = self._n_drawn / self.n_trees**2 * np.einsum("tco,tco->co", centred, centred)
        return deviations, np.einsum("tco,tco->co", deviations, deviations) - bias


def _samples_of(model: Any) -> list[NDArray[np.int64]]:
    """Return the rows of every tree's bootstrap sample."""
    if not getattr(model, "bootstrap", False) or not hasattr(model, "estimators_samples_"):
        raise ValueError(
            f"method='infinitesimal_jackknife' needs a forest of scikit-learn grown with bootstrap=True, whose trees "
            f"have samples of their own; got a {type(model).__name__}. Use method='bootstrap' or 'subsample'"
        )
    return list(model.estimators_samples_)
