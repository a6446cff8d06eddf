"""Look up and evaluate the components of a fitted model, and describe changes of them."""

from skglex.components._component import OTHER as OTHER
from skglex.components._component import Axis, Component, Components
from skglex.components._component import ComponentSource as ComponentSource
from skglex.components._component import bins_along as bins_along
from skglex.components._component import table_to_frame as table_to_frame
from skglex.components._component_names import ComponentNames as ComponentNames
from skglex.components._edit import Edit
from skglex.components._monotonicity import Monotonicity, Violation

__all__ = ["Axis", "Component", "Components", "Edit", "Monotonicity", "Violation"]
