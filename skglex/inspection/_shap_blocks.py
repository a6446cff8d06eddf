"""Iterate over SHAP values and interactions of more rows than their result has room for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from skglex._decomposition import explained
from skglex._input import take_rows
from skglex._utils import budgets, scaled

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer


@dataclass(frozen=True, eq=False)
class ShapBlock:
    """Hold SHAP values of some neighbouring rows; `iter_shap_values` yields it.

    Parameters
    ----------
    rows : slice
        Which rows of X these are.
    values : ndarray of shape (n_rows, n_features) or (n_rows, n_features, n_outputs)
        SHAP values on the margin scale, as `skglex.GlexDecomposer.shap_values` returns them.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import iter_shap_values
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = RandomForestRegressor(5, max_depth=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> block = next(iter_shap_values(decomposer, X, block_rows=40))
    >>> block.rows, block.values.shape
    (slice(0, 40, None), (40, 3))
    """

    rows: slice
    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShapInteractionBlock:
    """Hold SHAP interaction values of some neighbouring rows, of the pairs of features that the model has.

    `iter_shap_interactions` yields it.

    Parameters
    ----------
    rows : slice
        Which rows of X these are.
    pairs : ndarray of shape (n_pairs, 2), int64
        Positions of the features i <= j of each pair, the diagonal included. All other pairs are zero.
    values : ndarray of shape (n_rows, n_pairs) or (n_rows, n_pairs, n_outputs)
        Entries [i, j] of the matrices of `skglex.GlexDecomposer.shap_interaction_values`, which are symmetric.
    n_features : int
        Number of features, or of groups of features.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import iter_shap_interactions
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = RandomForestRegressor(5, max_depth=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> block = next(iter_shap_interactions(decomposer, X))
    >>> np.allclose(block.to_dense(), decomposer.shap_interaction_values(X))
    True
    """

    rows: slice
    pairs: NDArray[np.int64]
    values: NDArray[np.float64]
    n_features: int

    def to_dense(self) -> NDArray[np.float64]:
        """Return the matrices, as `skglex.GlexDecomposer.shap_interaction_values` does.

        Returns
        -------
        ndarray of shape (n_rows, n_features, n_features) or (n_rows, n_features, n_features, n_outputs)
            Pairs that the model does not have are zero.
        """
        n = self.n_features
        out = np.zeros((len(self.values), n, n, *self.values.shape[2:]))
        i, j = self.pairs.T
        out[:, i, j] = self.values
        out[:, j, i] = self.values
        return out


def iter_shap_values(
    decomposer: GlexDecomposer, X: Any, *, block_rows: int | None = None
) -> Iterator[ShapBlock]:
    """Yield SHAP values block by block, for more rows than the result has room for in memory.

    Parameters
    ----------
    decomposer : GlexDecomposer
        A fitted decomposer.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows with the same columns as in ``fit``. A memory-mapped array is read block by block.
    block_rows : int, default=None
        Number of rows of a block. Default: as many as have 16 million values, 128 MB.

    Yields
    ------
    ShapBlock
        The values of the next rows. Blocks are in the order of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import iter_shap_values
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = RandomForestRegressor(5, max_depth=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> total = sum(np.abs(block.values).sum(axis=0) for block in iter_shap_values(decomposer, X, block_rows=40))
    >>> np.allclose(total / len(X), np.abs(decomposer.shap_values(X)).mean(axis=0))
    True
    """
    view = explained(decomposer)
    size = len(view.groups.names) * view.decomposition.n_outputs
    for rows, part in _blocks(X, size, block_rows):
        yield ShapBlock(rows, decomposer.shap_values(part))


def iter_shap_interactions(
    decomposer: GlexDecomposer, X: Any, *, block_rows: int | None = None
) -> Iterator[ShapInteractionBlock]:
    """Yield SHAP interaction values block by block, in a sparse form: the pairs of features that the model has.

    Two features have an interaction if some path of a tree splits on both.

    Parameters
    ----------
    decomposer : GlexDecomposer
        A fitted decomposer.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows with the same columns as in ``fit``. A memory-mapped array is read block by block.
    block_rows : int, default=None
        Number of rows of a block. Default: as many as have 16 million values in dense form, 128 MB.

    Yields
    ------
    ShapInteractionBlock
        The interactions of the next rows. Blocks are in the order of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import GlexDecomposer
    >>> from skglex.inspection import iter_shap_interactions
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = RandomForestRegressor(5, max_depth=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> for block in iter_shap_interactions(decomposer, X, block_rows=40):
    ...     print(block.rows, block.values.shape == (block.rows.stop - block.rows.start, len(block.pairs)))
    slice(0, 40, None) True
    slice(40, 80, None) True
    slice(80, 100, None) True
    """
    view = explained(decomposer)
    n = len(view.groups.names)
    together = np.eye(n, dtype=bool)
    path_sets = view.decomposition.path_sets
    for players in np.split(path_sets.member, path_sets.ptr[1:-1]):
        together[np.ix_(players, players)] = True
    pairs = np.argwhere(np.triu(together))
    for rows, part in _blocks(X, n * n * view.decomposition.n_outputs, block_rows):
        dense = decomposer.shap_interaction_values(part)
        yield ShapInteractionBlock(rows, pairs, dense[:, pairs[:, 0], pairs[:, 1]], n)


def _blocks(X: Any, size: int, block_rows: int | None) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of X block by block, where a row has a result of some size."""
    if block_rows is None:
        block_rows = max(1, scaled(budgets.buffer_size) // max(size, 1))
    if isinstance(block_rows, bool) or not isinstance(block_rows, (int, np.integer)) or block_rows < 1:
        raise ValueError(f"block_rows must be a positive integer or None, got {block_rows!r}")
    n_rows = _num_samples(X)
    for start in range(0, n_rows, block_rows):
        rows = slice(start, min(start + block_rows, n_rows))
        yield rows, take_rows(X, rows)
