"""Split a leaf ensemble into components: which there are, their tables, and everything summed from them."""

from skglex._decomposition._decomposition import Decomposition, average_out
from skglex._decomposition._explained import Explained, explained
from skglex._decomposition._importance import (
    component_means,
    shapley_means,
    strongest,
    sum_by_feature_and_order,
)
from skglex._decomposition._index import TooManyComponents

__all__ = [
    "Decomposition",
    "Explained",
    "TooManyComponents",
    "average_out",
    "component_means",
    "explained",
    "shapley_means",
    "strongest",
    "sum_by_feature_and_order",
]
