"""Support Dask collections as backgrounds and as rows; Dask is imported only when a user passes a collection."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.base import TransformerMixin
from sklearn.utils._available_if import _AvailableIfDescriptor

if TYPE_CHECKING:
    from skglex._dask._background import PartitionedBackground
    from skglex._dask._partitions import Partitions

__all__ = ["lazy_on_dask", "partitioned_background", "partitions_of"]

Class = TypeVar("Class", bound=type)


def lazy_on_dask(*methods: str, example_row: Callable[[Any, Any], Any]) -> Callable[[Class], Class]:
    """Make methods of an estimator lazy if their last argument, the rows X, is a Dask collection.

    A class decorator runs after scikit-learn has wrapped ``transform`` for ``set_output``. It must wrap that wrapper,
    which would otherwise compute a lazy result.

    Parameters
    ----------
    *methods : str
        Names of methods that take rows. For ``fit_transform``, the rows are the first argument.
    example_row : callable
        Function of the fitted estimator and X that returns one background row in the container of X. The method runs
        on this row at once, to learn the shape and dtype of the result.

    Returns
    -------
    callable
        The class decorator.
    """

    def decorate(cls: Class) -> Class:
        for name in methods:
            make_lazy = _fit_then_transform if name == "fit_transform" else _per_partition
            descriptor = cls.__dict__.get(name)
            if isinstance(descriptor, _AvailableIfDescriptor):
                # Wrap the function inside the descriptor, so that the method keeps its condition.
                descriptor.fn = make_lazy(descriptor.fn, example_row)
            else:
                setattr(cls, name, make_lazy(getattr(cls, name), example_row))
        return cls

    return decorate


def partitions_of(X: Any, sample_weight: Any) -> Partitions | None:
    """Return the lazy partitions of a Dask collection with their weights; None if X is not a Dask collection."""
    if not is_dask(X):
        return None
    from skglex._dask._partitions import Partitions

    return Partitions(X, sample_weight)


def partitioned_background(
    partitions: Partitions, read: Callable[..., Any], read_and_check: Callable[..., Any]
) -> PartitionedBackground:
    """Return the rows of some partitions as a background; see `PartitionedBackground`."""
    from skglex._dask._background import PartitionedBackground

    return PartitionedBackground(partitions, read, read_and_check)


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask collection."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def _per_partition(method: Callable[..., Any], example_row: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    @wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        X = kwargs.get("X", args[-1] if args else None)
        if not is_dask(X):
            return method(self, *args, **kwargs)
        kwargs.pop("X", None)
        from skglex._dask._lazy_methods import map_rows

        before = args if not args or args[-1] is not X else args[:-1]
        return map_rows(self, method.__name__, X, before, kwargs, example_row)

    return wrapper


def _fit_then_transform(
    method: Callable[..., Any], example_row: Callable[[Any, Any], Any]
) -> Callable[..., Any]:
    @wraps(method)
    def wrapper(self: Any, X: Any, y: Any = None, **fit_params: Any) -> Any:
        if is_dask(X):
            return self.fit(X, y, **fit_params).transform(X)
        return TransformerMixin.fit_transform(self, X, y, **fit_params)

    return wrapper
