"""Inspect models and predictions: importances, orders of interaction, monotonicity, differences between groups."""

from skglex.inspection._ale import ale
from skglex.inspection._comparison import Comparison, compare_models
from skglex.inspection._contrast import Contrast, contrast
from skglex.inspection._gap import Gap, explain_gap
from skglex.inspection._group_difference import group_difference, group_statistics
from skglex.inspection._group_scorer import make_group_scorer
from skglex.inspection._h_statistic import h_statistic
from skglex.inspection._importance import component_importance, feature_importance
from skglex.inspection._monotonicity import monotonicity
from skglex.inspection._partial_dependence import partial_dependence
from skglex.inspection._plot_partial_dependence import plot_partial_dependence
from skglex.inspection._reason_codes import reason_codes
from skglex.inspection._resampling import ResampledComponents, resample_components
from skglex.inspection._response_components import response_components
from skglex.inspection._shap_blocks import (
    ShapBlock,
    ShapInteractionBlock,
    iter_shap_interactions,
    iter_shap_values,
)
from skglex.inspection._shift import Shift, explain_shift
from skglex.inspection._truncation import interaction_strength, truncated_margin

__all__ = [
    "Comparison",
    "Contrast",
    "Gap",
    "ResampledComponents",
    "ShapBlock",
    "ShapInteractionBlock",
    "Shift",
    "ale",
    "compare_models",
    "component_importance",
    "contrast",
    "explain_gap",
    "explain_shift",
    "feature_importance",
    "group_difference",
    "group_statistics",
    "h_statistic",
    "interaction_strength",
    "iter_shap_interactions",
    "iter_shap_values",
    "make_group_scorer",
    "monotonicity",
    "partial_dependence",
    "plot_partial_dependence",
    "reason_codes",
    "resample_components",
    "response_components",
    "truncated_margin",
]
