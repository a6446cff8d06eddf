"""Compute margins of mixed rows: some features take the values of one row, the others those of another."""

from skglex._mixed_rows._cells import CellAxis, all_bins, cell_axis, distinct_cells
from skglex._mixed_rows._coalitions import coalition_responses
from skglex._mixed_rows._costs import count_conditions, warn_of_margins, warn_of_seconds
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
    "Link",
    "MixedRows",
    "all_bins",
    "apply_link",
    "cell_axis",
    "coalition_responses",
    "count_conditions",
    "distinct_cells",
    "identity",
    "mean_over_cells",
    "mean_over_rows",
    "warn_of_margins",
    "warn_of_seconds",
]
