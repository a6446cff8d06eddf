"""Limit memory: scale the budgets, and refuse outputs that do not fit into the machine."""

from __future__ import annotations

import os
from math import prod

from sklearn import get_config

from skglex._utils._budgets import budgets

# All budgets hold for scikit-learn's default working_memory, which is in MiB.
_DEFAULT_WORKING_MEMORY = 1024


def scaled(size: int) -> int:
    """Scale a memory budget down if scikit-learn's ``working_memory`` is below its default."""
    return max(int(size * min(1.0, get_config()["working_memory"] / _DEFAULT_WORKING_MEMORY)), 1)


def rows_at_a_time(width: int) -> int:
    """Return how many rows of ``width`` float64 numbers fit into a buffer of 128 MB, at least 1,024."""
    return max(scaled(budgets.buffer_size) // max(width, 1), 1024)


def check_memory(shape: tuple[int, ...], name: str) -> None:
    """Raise a MemoryError if an output is larger than the machine's memory."""
    size = 8 * prod(shape)
    try:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if size > limit:
        raise MemoryError(
            f"the output ({name}, shape {shape}: outputs first, rows last) needs {size / 2**30:,.1f} GiB, but this "
            f"machine has {limit / 2**30:,.1f} GiB. Pass fewer rows at a time, or join features with feature_groups"
        )
