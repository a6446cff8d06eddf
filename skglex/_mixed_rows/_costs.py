"""Say before work begins if it will take long."""

from __future__ import annotations

from skglex._utils import warn_user
from skglex.exceptions import SlowComputationWarning

# Nanoseconds per margin at a cell: the leaf sums, the link and the mean. Longest duration that needs no warning.
_MARGIN, _LONG = 12.0, 60.0


def warn_of_margins(n_margins: float, what: str) -> None:
    """Warn if the responses of so many mixed rows take longer than a minute."""
    warn_of_seconds(n_margins * _MARGIN * 1e-9, f"{what} needs the response of {n_margins:.1e} mixed rows")


def warn_of_seconds(seconds: float, what: str) -> None:
    """Warn if work will take longer than a minute on one core."""
    if seconds > _LONG:
        warn_user(
            f"{what}, which takes about {seconds / 60:.0f} minutes on one core. Fewer rows or a smaller background "
            "(n_background) take less time, n_jobs uses more cores, and scale='margin' is much faster",
            SlowComputationWarning,
        )
