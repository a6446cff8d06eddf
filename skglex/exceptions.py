"""Define the categories of errors and warnings, so that users can catch or filter each of them separately."""

__all__ = [
    "AdditivityError",
    "JoinedFeaturesWarning",
    "MissingValueWarning",
    "MixedColumnsWarning",
    "RemainderWarning",
    "SlowComputationWarning",
    "SmallBackgroundWarning",
    "StreamedComponentsWarning",
    "ZeroCoverWarning",
]


class AdditivityError(RuntimeError):
    """Report that the sum of the leaves or components differs from the model's margin.

    No result of such a decomposition can be trusted.

    Examples
    --------
    >>> from skglex.exceptions import AdditivityError
    >>> issubclass(AdditivityError, RuntimeError)
    True
    """


class JoinedFeaturesWarning(UserWarning):
    """Warn that features count as one, since the model splits on combinations of them.

    CatBoost's target statistics of several features are such combinations. With ``feature_groups="auto"`` the features
    of a combination are one group; ``max_ctr_complexity=1`` trains a model without combinations.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import JoinedFeaturesWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", JoinedFeaturesWarning)  # stop instead
    """


class MissingValueWarning(UserWarning):
    """Warn that a value of the background looks like a missing one, but the model does not store which value is.

    This concerns an ``xgboost.Booster`` and a ``treelite.Model``; see the parameter ``missing`` of
    `~skglex.GlexDecomposer`.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import MissingValueWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", MissingValueWarning)  # stop instead
    """


class MixedColumnsWarning(UserWarning):
    """Warn that removing a raw column also removes information about other raw columns.

    A `~skglex.FeatureRemover` removes every preprocessed column that depends on a removed raw column. Such a column can
    depend on other raw columns too: a nearest-neighbour imputer fills the gaps of a column from all other columns,
    and a principal component is computed from all columns. Their information is lost as well.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import MixedColumnsWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", MixedColumnsWarning)  # stop instead
    """


class RemainderWarning(UserWarning):
    """Warn that components of higher order hold much of the model.

    The components up to ``max_interaction`` leave out more than a tenth of the variance of the margin, which is in
    the column ``remainder``. `skglex.inspection.interaction_strength` tells which order holds how much.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import RemainderWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", RemainderWarning)  # stop instead
    """


class SlowComputationWarning(UserWarning):
    """Warn that a computation will take more than a minute, with an estimate of the duration.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import SlowComputationWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SlowComputationWarning)  # stop instead
    """


class SmallBackgroundWarning(UserWarning):
    """Warn that the background has few rows for the order of the components.

    Few rows are fewer than ``2 ** order``, or fewer than 16 for an order of four or more. Rows with weights w count
    as ``sum(w) ** 2 / sum(w ** 2)``. Empirical weights are shares of the background rows. So the decomposition is
    exact for these rows, but so few rows may represent the population poorly.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import SmallBackgroundWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SmallBackgroundWarning)  # stop instead
    """


class StreamedComponentsWarning(UserWarning):
    """Warn that some components have too many cells for a table within the memory limit for tables.

    These components are computed leaf by leaf at every call. The values are the same, but it takes longer.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import StreamedComponentsWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", StreamedComponentsWarning)  # stop instead
    """


class ZeroCoverWarning(UserWarning):
    """Warn that some nodes of the model have no cover.

    The path-dependent weights of their children are not defined by the model, so a convention sets them.

    Examples
    --------
    >>> import warnings
    >>> from skglex.exceptions import ZeroCoverWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ZeroCoverWarning)  # stop instead
    """
