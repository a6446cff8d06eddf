"""Components: which there are, their tables, and everything summed from them."""

from skglex.components._component import Axis, Component, Components, ComponentSource
from skglex.components._decomposition import Decomposition, average_out
from skglex.components._importance import mean_absolute, strongest
from skglex.components._index import TooManyComponents, index_components

__all__ = [
    "Axis",
    "Component",
    "ComponentSource",
    "Components",
    "Decomposition",
    "TooManyComponents",
    "average_out",
    "index_components",
    "mean_absolute",
    "strongest",
]
