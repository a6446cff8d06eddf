"""Out of one machine: Dask collections as backgrounds and as rows. Nothing here imports Dask before one comes along."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from skglex._dask._background import PartitionedBackground
    from skglex._dask._partitions import Partitions

Method = TypeVar("Method", bound=Callable[..., Any])


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection (array, data frame, series)."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def per_partition(method: Method) -> Method:
    """Make a method whose last argument is rows lazy where these are a Dask collection."""

    @wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        X = kwargs.get("X", args[-1] if args else None)
        if not is_dask(X):
            return method(self, *args, **kwargs)
        kwargs.pop("X", None)
        from skglex._dask._rows import map_rows

        before = args if not args or args[-1] is not X else args[:-1]
        return map_rows(self, method.__name__, X, before, kwargs)

    return wrapper  # type: ignore[return-value]


def partitions_of(X: Any, sample_weight: Any) -> Partitions:
    """The rows of a Dask collection and their weights (None: equal), lazily."""
    from skglex._dask._partitions import Partitions

    return Partitions(X, sample_weight)


def partitioned_background(
    partitions: Partitions, read: Callable[..., Any], prove: Callable[..., Any]
) -> PartitionedBackground:
    """Rows in partitions as a background."""
    from skglex._dask._background import PartitionedBackground

    return PartitionedBackground(partitions, read, prove)
