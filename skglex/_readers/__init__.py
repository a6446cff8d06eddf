"""Read the models of each library into leaves, `skglex._leaves.LeafEnsemble`."""

from skglex._readers._member_links import describe_combination
from skglex._readers._pickling import register_treelite_pickling
from skglex._readers._registry import (
    decides_by_margin,
    describe_subclass,
    encodes_labels,
    is_probability_average,
    require_reader,
)
from skglex._readers._source_model import SourceModel
from skglex._readers._steps import is_side_by_side, predicting_steps, steps_of, tree_model
from skglex._readers._xgboost_trees import booster_json, parse_trees, tree_section, trees_used_by_predict

__all__ = [
    "SourceModel",
    "booster_json",
    "decides_by_margin",
    "describe_combination",
    "describe_subclass",
    "encodes_labels",
    "is_probability_average",
    "is_side_by_side",
    "parse_trees",
    "predicting_steps",
    "register_treelite_pickling",
    "require_reader",
    "steps_of",
    "tree_model",
    "tree_section",
    "trees_used_by_predict",
]
