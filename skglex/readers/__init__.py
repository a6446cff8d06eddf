"""Readers: one library's model format each, into `skglex.ensemble.LeafEnsemble`."""

from skglex.readers._base import (
    Isolation,
    ReadModel,
    averages_probabilities,
    counted_trees,
    let_models_be_copied,
    require_reader,
    takes_any_labels,
)
