"""Readers: one library's model format each, into `skglex.ensemble.LeafEnsemble`."""

from skglex.readers._base import (
    Isolation,
    ReadModel,
    averages_probabilities,
    counted_trees,
    find_reader,
    let_models_be_copied,
    takes_any_labels,
)

__all__ = [
    "Isolation",
    "ReadModel",
    "averages_probabilities",
    "counted_trees",
    "find_reader",
    "let_models_be_copied",
    "takes_any_labels",
]
