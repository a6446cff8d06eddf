"""Warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings

_OURS = ("skglex", "sklearn")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn where the user called, however deep in skglex and scikit-learn (which wraps methods) this is."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
