"""Memory: what is set aside for work, and what is refused."""

from __future__ import annotations

import os
from math import prod

from sklearn import get_config

from skglex._utils._budgets import budgets

# scikit-learn's default working_memory, in MiB: all budgets are stated for it.
_STATED_FOR = 1024


def scaled(size: int) -> int:
    """A budget, less where scikit-learn's ``working_memory`` is set below its default: in proportion."""
    return max(int(size * min(1.0, get_config()["working_memory"] / _STATED_FOR)), 1)


def rows_at_a_time(width: int) -> int:
    """How many rows of ``width`` float64 numbers a buffer of 128 MB takes, at least 1,024."""
    return max(scaled(budgets.buffer_size) // max(width, 1), 1024)


def check_memory(shape: tuple[int, ...], what: str) -> None:
    """Refuse an output that is larger than the machine's memory."""
    size = 8 * prod(shape)
    try:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if size > limit:
        raise MemoryError(
            f"{what} of shape {shape} (outputs first, rows last) take {size / 2**30:,.1f} GiB, more than this "
            f"machine's {limit / 2**30:,.1f} GiB. Pass fewer rows at a time, or join features with feature_groups"
        )
