"""Convert the rows that users pass (arrays, sparse matrices, data frames) to numbers, and to bins of a model's grid."""

from skglex._input._bins import bin_all, column_limits, iter_binned, iter_bins, map_chunks, placeholders
from skglex._input._categories import (
    categories_and_codes,
    categories_of,
    column_values,
    is_categorical,
    is_text,
    name_categories,
    raw_column,
)
from skglex._input._distinct_values import DistinctValues, find_distinct_values
from skglex._input._feature_names import (
    FeatureGroups,
    column_names,
    group_features,
    list_features,
    output_names,
    resolve_features,
    warn_of_joined_features,
)
from skglex._input._origins import Origin, RawMap, find_one_hot_groups, find_outputs_of_all, trace_columns
from skglex._input._raw_columns import RawColumns, expand_groups, find_outputs
from skglex._input._rows import (
    as_dense,
    as_numpy,
    check_rows,
    fill_columns,
    frame_names,
    is_frame,
    row_of_series,
    take_rows,
    with_columns_of,
    with_numbers,
    with_values,
)
from skglex._input._saved_row import pack_index, pack_row, unpack_index, unpack_row
from skglex._input._spec import LARGEST_ZERO, InputSpec

__all__ = [
    "LARGEST_ZERO",
    "DistinctValues",
    "FeatureGroups",
    "InputSpec",
    "Origin",
    "RawColumns",
    "RawMap",
    "as_dense",
    "as_numpy",
    "bin_all",
    "categories_and_codes",
    "categories_of",
    "check_rows",
    "column_limits",
    "column_names",
    "column_values",
    "expand_groups",
    "fill_columns",
    "find_distinct_values",
    "find_one_hot_groups",
    "find_outputs",
    "find_outputs_of_all",
    "frame_names",
    "group_features",
    "is_categorical",
    "is_frame",
    "is_text",
    "iter_binned",
    "iter_bins",
    "list_features",
    "map_chunks",
    "name_categories",
    "output_names",
    "pack_index",
    "pack_row",
    "placeholders",
    "raw_column",
    "resolve_features",
    "row_of_series",
    "take_rows",
    "trace_columns",
    "unpack_index",
    "unpack_row",
    "warn_of_joined_features",
    "with_columns_of",
    "with_numbers",
    "with_values",
]
