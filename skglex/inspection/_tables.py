"""What the inspection functions share: rows with weights in, tables out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from skglex._dask import is_dask, partitions_of
from skglex._decomposition import check_decomposer
from skglex._input import bin_all
from skglex._leaves import Background

if TYPE_CHECKING:
    from skglex._decomposer import GlexDecomposer


def weighted_bins(decomposer: GlexDecomposer, X: Any, sample_weight: Any) -> Background:
    """Bins and weights of given rows, or the background where X is None."""
    check_decomposer(decomposer)
    if X is None:
        if sample_weight is not None:
            raise ValueError(
                "sample_weight is given without X: the weights of the background are those given to fit. Pass the "
                "rows X too"
            )
        background: Background = decomposer._background
        return background
    if is_dask(X):
        partitioned: Background = decomposer._partitioned(partitions_of(X, sample_weight))
        return partitioned
    Xt = decomposer._check_X(X)
    bins = bin_all(Xt, decomposer._model.input, decomposer._model.ensemble.grid, decomposer._execution)
    weight = _check_sample_weight(
        sample_weight, np.empty((bins.shape[1], 0)), dtype=np.float64, ensure_non_negative=True
    )
    if not weight.sum() > 0:
        raise ValueError("sample_weight is zero for every row")
    return Background(bins, weight)


def label_columns(decomposer: GlexDecomposer, name: str, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Values of shape (n_rows, n_outputs) as columns: ``name``, or one ``label__name`` per output."""
    labels = decomposer._output_labels()
    if labels is None:
        return {name: values[:, 0]}
    return {f"{label}__{name}": values[:, o] for o, label in enumerate(labels)}


def as_table(columns: dict[str, Any]) -> Any:
    """A pandas data frame where pandas is installed, else a dict of arrays."""
    try:
        import pandas as pd
    except ImportError:
        return {name: np.asarray(values) for name, values in columns.items()}
    return pd.DataFrame(columns)
