"""Raise warnings that point at the line of the user's code."""

from __future__ import annotations

import sys
import warnings

# Frames of these packages are skipped: they call methods and properties of estimators for the user.
_SKIPPED_PACKAGES = ("skglex", "sklearn", "joblib", "functools")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line where the user's code calls skglex, from any depth inside skglex and scikit-learn."""
    level, frame = 1, sys._getframe()
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] in _SKIPPED_PACKAGES
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
