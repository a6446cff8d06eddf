"""Split a leaf ensemble into components: list them, tabulate or stream them, and sum Shapley values."""

from skglex._decomposition._decomposition import Decomposition, average_out
from skglex._decomposition._explained import Explained, explained
from skglex._decomposition._given_tables import GivenTables
from skglex._decomposition._importance import (
    component_means,
    shapley_means,
    sum_by_feature_and_order,
    top_components,
)
from skglex._decomposition._listed_components import ListedComponents
from skglex._decomposition._pairs_of_rows import pair_shapley
from skglex._decomposition._remainder import remainder_share, warn_of_remainder
from skglex._decomposition._response_scale import ResponseScale, response_scale
from skglex._decomposition._restricted import shapley_parts
from skglex._decomposition._row_means import RowMeans, margin_means, row_means
from skglex._decomposition._row_values import OneHot, as_text, name_values, one_hot_columns, row_values
from skglex._decomposition._tables import ComponentTables

__all__ = [
    "ComponentTables",
    "Decomposition",
    "Explained",
    "GivenTables",
    "ListedComponents",
    "OneHot",
    "ResponseScale",
    "RowMeans",
    "as_text",
    "average_out",
    "component_means",
    "explained",
    "margin_means",
    "name_values",
    "one_hot_columns",
    "pair_shapley",
    "remainder_share",
    "response_scale",
    "row_means",
    "row_values",
    "shapley_means",
    "shapley_parts",
    "sum_by_feature_and_order",
    "top_components",
    "warn_of_remainder",
]
