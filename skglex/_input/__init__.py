"""From what users pass (arrays, sparse matrices, data frames) to numbers, and to bins."""

from skglex._input._bins import bin_all, bin_chunks, bin_rows
from skglex._input._categories import categories_of, column_values, name_categories, raw_column
from skglex._input._rows import (
    as_dense,
    as_numpy,
    check_rows,
    fill_columns,
    is_frame,
    take_rows,
    with_columns_of,
)
from skglex._input._spec import LARGEST_ZERO, InputSpec
