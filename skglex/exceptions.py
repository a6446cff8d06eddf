"""Errors and warnings with a category of their own, so that each can be filtered, or turned into an error, alone."""

__all__ = [
    "AdditivityError",
    "MixedColumnsWarning",
    "SmallBackgroundWarning",
    "StreamedComponentsWarning",
    "ZeroCoverWarning",
]


class AdditivityError(RuntimeError):
    """The leaves or the components do not add up to the model's own margin; no number of them can be trusted.

    Examples
    --------
    >>> from skglex.exceptions import AdditivityError
    >>> issubclass(AdditivityError, RuntimeError)
    True
    """


class MixedColumnsWarning(UserWarning):
    """A column that is removed with a raw one is made of other raw columns, too, and takes what it says of them along.

    A nearest-neighbour imputer, say, fills gaps of a column from all others, a principal component is made of all
    columns. A `FeatureRemover` removes every column after the preprocessing that depends on a removed one.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import MixedColumnsWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", MixedColumnsWarning)  # stop instead
    """


class SmallBackgroundWarning(UserWarning):
    """The background has few rows for the order of the components, whose empirical weights are shares of it.

    Fewer than ``2 ** order`` rows (16 for order four and more), counted as ``sum(w) ** 2 / sum(w ** 2)`` where
    they have weights w. The decomposition is exact, but of a population that so few rows hardly stand for.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import SmallBackgroundWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SmallBackgroundWarning)  # stop instead
    """


class StreamedComponentsWarning(UserWarning):
    """Some components have too many cells for a table within the memory set aside for tables.

    They are computed leaf by leaf each time, to the same values, but slower.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import StreamedComponentsWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", StreamedComponentsWarning)  # stop instead
    """


class ZeroCoverWarning(UserWarning):
    """Nodes of the model have no cover, so the path-dependent weights of their children are a convention.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import ZeroCoverWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ZeroCoverWarning)  # stop instead
    """
