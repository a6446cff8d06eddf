"""Readers: one library's model format each, into `skglex._leaves.LeafEnsemble`."""

from skglex._readers._registry import (
    SourceModel,
    encodes_labels,
    is_probability_average,
    register_treelite_pickling,
    require_reader,
    trees_used_by_predict,
)

__all__ = [
    "SourceModel",
    "encodes_labels",
    "is_probability_average",
    "register_treelite_pickling",
    "require_reader",
    "trees_used_by_predict",
]
