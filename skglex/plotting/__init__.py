"""Draw a fitted decomposer, in scikit-learn's Display form; this needs matplotlib (extra ``plots``)."""

from skglex.plotting._ale_display import AleDisplay
from skglex.plotting._component_display import ComponentDisplay
from skglex.plotting._importance_display import ImportanceDisplay
from skglex.plotting._parts_display import PartsDisplay
from skglex.plotting._shap_display import ShapDisplay
from skglex.plotting._survival_display import SurvivalDisplay
from skglex.plotting._waterfall_display import WaterfallDisplay

__all__ = [
    "AleDisplay",
    "ComponentDisplay",
    "ImportanceDisplay",
    "PartsDisplay",
    "ShapDisplay",
    "SurvivalDisplay",
    "WaterfallDisplay",
]
