"""Decide which components get a table over the bins, and which are streamed: computed from the leaves each time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skglex._utils import budgets, scaled, warn_user
from skglex.exceptions import StreamedComponentsWarning


def choose_tables(
    cells: NDArray[np.float64], map_cells: NDArray[np.int64], max_cells: int
) -> NDArray[np.bool_]:
    """Return which components get a table: the smallest first, as long as their tables fit in memory together.

    Parameters
    ----------
    cells : ndarray of shape (n_components,), float64
        Size of each table, of all outputs.
    map_cells : ndarray of shape (n_components,), int64
        Number of bins along the axes of each table, whose cells are looked up in maps of 32-bit integers.
    max_cells : int
        Largest size of one table.
    """
    tabulated = np.zeros(len(cells), dtype=bool)
    by_size = np.argsort(cells, kind="stable")
    used = np.cumsum(cells[by_size] + map_cells[by_size] / 2)
    fits = (used <= max(scaled(budgets.total_table_cells), max_cells)) & (cells[by_size] <= max_cells)
    tabulated[by_size[fits]] = True
    return tabulated


def warn_of_streaming(tabulated: NDArray[np.bool_]) -> None:
    """Warn if some components have no table."""
    if n_streamed := int((~tabulated).sum()):
        warn_user(
            f"{n_streamed:,} of {len(tabulated):,} components have too many cells for a table within the memory "
            "reserved for tables. They are computed leaf by leaf each time, which gives the same values but is slower. "
            "Lower max_interaction, or train on fewer bins (max_bin)",
            StreamedComponentsWarning,
        )
