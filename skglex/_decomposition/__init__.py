"""Split a leaf ensemble into components: list them, tabulate or stream them, and sum Shapley values."""

from skglex._decomposition._axis_cells import (
    MAX_LEVELS,
    AxisCells,
    Rows,
    cells_of_axis,
    cells_of_component,
    cells_of_player,
    component_values,
    drawable_cells,
    has_axes,
    response_values,
)
from skglex._decomposition._decomposition import Decomposition, average_out
from skglex._decomposition._explained import Explained, explained
from skglex._decomposition._given_tables import GivenTables
from skglex._decomposition._importance import (
    complete_means,
    component_means,
    means_by_feature_and_order,
    shapley_means,
    strongest,
    sum_by_feature_and_order,
    top_components,
)
from skglex._decomposition._index import TooManyComponents, fewer_components
from skglex._decomposition._listed_components import ListedComponents
from skglex._decomposition._margin_label import margin_label
from skglex._decomposition._pairs_of_rows import pair_shapley
from skglex._decomposition._remainder import remainder_share, warn_of_remainder
from skglex._decomposition._response_scale import ResponseScale
from skglex._decomposition._restricted import shapley_parts
from skglex._decomposition._row_means import RowMeans, margin_means, row_means
from skglex._decomposition._row_values import OneHot, as_text, name_values, one_hot_columns, row_values
from skglex._decomposition._tables import ComponentTables

__all__ = [
    "MAX_LEVELS",
    "AxisCells",
    "ComponentTables",
    "Decomposition",
    "Explained",
    "GivenTables",
    "ListedComponents",
    "OneHot",
    "ResponseScale",
    "RowMeans",
    "Rows",
    "TooManyComponents",
    "as_text",
    "average_out",
    "cells_of_axis",
    "cells_of_component",
    "cells_of_player",
    "complete_means",
    "component_means",
    "component_values",
    "drawable_cells",
    "explained",
    "fewer_components",
    "has_axes",
    "margin_label",
    "margin_means",
    "means_by_feature_and_order",
    "name_values",
    "one_hot_columns",
    "pair_shapley",
    "remainder_share",
    "response_values",
    "row_means",
    "row_values",
    "shapley_means",
    "shapley_parts",
    "strongest",
    "sum_by_feature_and_order",
    "top_components",
    "warn_of_remainder",
]
