"""Say before work begins if it will take long."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from skglex._leaves import LeafEnsemble
from skglex._utils import warn_user
from skglex.exceptions import SlowComputationWarning

# Nanoseconds per margin at a cell: the leaf sums, the link and the mean. Longest duration that needs no warning.
_MARGIN, _LONG = 12.0, 60.0
# Nanoseconds per condition of a leaf and row: conditions are looked up for 64 rows at one time.
_CONDITION = 3.0 / 64


def warn_of_margins(n_margins: float, what: str, *, conditions: float = 0.0) -> None:
    """Warn if the responses of so many mixed rows take longer than a minute.

    ``conditions`` is how often a row is compared with a condition of a leaf: `count_conditions` times the rows.
    """
    seconds = (n_margins * _MARGIN + conditions * _CONDITION) * 1e-9
    warn_of_seconds(seconds, f"{what} needs the response of {n_margins:.1e} mixed rows")


def count_conditions(ensemble: LeafEnsemble, free: Iterable[NDArray[np.int64]]) -> float:
    """Return about how many conditions the leaves have that change with some used_features, summed over such sets."""
    length = np.diff(ensemble.paths.ptr)
    n_features = len(ensemble.grid.features)
    of_feature = np.bincount(ensemble.condition_feature, length[ensemble.condition_leaf], n_features)
    # A leaf that changes with two features is counted twice.
    return float(sum(min(of_feature[used].sum(), length.sum()) for used in free))


def warn_of_seconds(seconds: float, what: str) -> None:
    """Warn if work will take longer than a minute on one core."""
    if seconds > _LONG:
        duration = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
        warn_user(
            f"{what}, which takes about {duration} on one core. Fewer rows or a smaller background "
            "(n_background) take less time, n_jobs uses more cores, and scale='margin' is much faster",
            SlowComputationWarning,
        )
