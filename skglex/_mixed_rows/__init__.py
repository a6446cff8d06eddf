"""Compute margins of mixed rows: some features take the values of one row, the others those of another."""

from skglex._mixed_rows._cells import CellAxis, all_bins, cell_axis, distinct_cells
from skglex._mixed_rows._coalitions import coalition_responses
from skglex._mixed_rows._costs import seconds_of_grids, warn_of_grids, warn_of_margins, warn_of_seconds
from skglex._mixed_rows._few_players import FewPlayers, few_players
from skglex._mixed_rows._margins import (
    Link,
    MixedRows,
    apply_link,
    identity,
    mean_over_cells,
    mean_over_rows,
)

__all__ = [
    "CellAxis",
    "FewPlayers",
    "Link",
    "MixedRows",
    "all_bins",
    "apply_link",
    "cell_axis",
    "coalition_responses",
    "distinct_cells",
    "few_players",
    "identity",
    "mean_over_cells",
    "mean_over_rows",
    "seconds_of_grids",
    "warn_of_grids",
    "warn_of_margins",
    "warn_of_seconds",
]
