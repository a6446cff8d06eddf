"""Run methods on the rows of a Dask collection lazily, partition by partition; the fitted estimator is sent once."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from skglex._dask._partitions import align, rows_of, share
from skglex._input import is_frame


def map_rows(
    estimator: Any,
    method: str,
    X: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    example_row: Callable[[Any, Any], Any],
) -> Any:
    """Return ``estimator.method(*args, X)`` as a Dask array, or as a Dask data frame if ``set_output`` requests one.

    Run one background row through the method to learn the shape and dtype of the result; X itself is not computed.
    """
    check_is_fitted(estimator)
    container = _container(estimator) if method == "transform" else "default"
    worker_estimator = _for_workers(estimator)
    offset = kwargs.pop("offset", None)
    offsets = (
        [{}] * len(_lengths(X)) if offset is None else [{"offset": o} for o in align(X, offset, "offset")]
    )
    call = getattr(worker_estimator, method)
    meta = np.asarray(call(*args, example_row(worker_estimator, X), **kwargs))[:0]
    names = worker_estimator.get_feature_names_out() if container == "pandas" else None
    task = share(worker_estimator)
    if names is not None and is_frame(X):
        import pandas as pd

        frame = pd.DataFrame(meta, columns=names, index=X._meta.index[:0])
        return X.map_partitions(_frame_of, task, method, meta, names, meta=frame)
    blocks = [
        da.from_delayed(
            delayed(_values_of)(part, task, method, meta, args, {**kwargs, **of_part}),
            (n, *meta.shape[1:]),
            meta.dtype,
        )
        for part, n, of_part in zip(rows_of(X), _lengths(X), offsets)
    ]
    out = da.concatenate(blocks, allow_unknown_chunksizes=True)
    if names is None:
        return out
    import dask.dataframe as dd

    return dd.from_dask_array(out, columns=list(names))


def _values_of(
    part: Any, estimator: Any, method: str, meta: NDArray[Any], args: Any = (), kwargs: Any = None
) -> NDArray[Any]:
    """Return the result of the method for one partition, which may be empty."""
    if not part.shape[0]:
        return meta
    return np.asarray(getattr(estimator, method)(*args, part, **(kwargs or {})))


def _frame_of(part: Any, estimator: Any, method: str, meta: NDArray[Any], names: NDArray[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(_values_of(part, estimator, method, meta), columns=names, index=part.index)


def _for_workers(estimator: Any) -> Any:
    """Return a copy that returns arrays and runs in one thread, since Dask runs several partitions at a time."""
    worker_estimator = copy(estimator)
    worker_estimator.n_jobs, worker_estimator.verbose = 1, 0
    if hasattr(worker_estimator, "set_output"):
        # The shallow copy shares this dict with the original, which `set_output` would change.
        vars(worker_estimator).pop("_sklearn_output_config", None)
        worker_estimator.set_output(transform="default")
    return worker_estimator


def _container(estimator: Any) -> str:
    container = str(_get_output_config("transform", estimator)["dense"])
    if container not in ("default", "pandas"):
        raise ValueError(
            f"set_output(transform={container!r}) is not supported if X is a Dask collection: transform returns a Dask "
            'array or a Dask data frame of pandas. Use set_output(transform="pandas") or "default"'
        )
    return container


def _lengths(X: Any) -> list[float]:
    return list(X.chunks[0]) if isinstance(X, da.Array) else [np.nan] * X.npartitions
