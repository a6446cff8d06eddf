"""Read the models of each library into leaves, `skglex._leaves.LeafEnsemble`."""

from skglex._readers._pickling import register_treelite_pickling
from skglex._readers._registry import (
    describe_subclass,
    encodes_labels,
    is_probability_average,
    predicting_steps,
    require_reader,
)
from skglex._readers._source_model import SourceModel
from skglex._readers._xgboost_trees import booster_json, parse_trees, tree_section, trees_used_by_predict

__all__ = [
    "SourceModel",
    "booster_json",
    "describe_subclass",
    "encodes_labels",
    "is_probability_average",
    "parse_trees",
    "predicting_steps",
    "register_treelite_pickling",
    "require_reader",
    "tree_section",
    "trees_used_by_predict",
]
