"""Components: which there are, their tables, and everything summed from them."""

from skglex.components._component import Axis, Component, Components, ComponentSource, bins_along
from skglex.components._decomposition import Decomposition, average_out
from skglex.components._importance import component_means, shapley_means, strongest, sum_by_feature_and_order
from skglex.components._index import TooManyComponents
from skglex.components._tables import LARGEST_TABLE
