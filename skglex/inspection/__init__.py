"""Inspect models and predictions: importances, orders of interaction, differences between groups."""

from skglex.inspection._ale import ale
from skglex.inspection._group_difference import group_difference, group_statistics
from skglex.inspection._group_scorer import make_group_scorer
from skglex.inspection._h_statistic import h_statistic
from skglex.inspection._importance import component_importance, feature_importance
from skglex.inspection._partial_dependence import partial_dependence
from skglex.inspection._plot_partial_dependence import plot_partial_dependence
from skglex.inspection._response_components import response_components
from skglex.inspection._truncation import interaction_strength, truncated_margin

__all__ = [
    "ale",
    "component_importance",
    "feature_importance",
    "group_difference",
    "group_statistics",
    "h_statistic",
    "interaction_strength",
    "make_group_scorer",
    "partial_dependence",
    "plot_partial_dependence",
    "response_components",
    "truncated_margin",
]
