"""Readers: one library's model format each, into `skglex.ensemble._leaves.LeafEnsemble`."""

import copyreg

import treelite

from skglex.ensemble.readers._base import (
    LARGEST_ZERO,
    InputSpec,
    Isolation,
    ReadModel,
    averages_probabilities,
    find_reader,
    takes_any_labels,
)

__all__ = [
    "LARGEST_ZERO",
    "InputSpec",
    "Isolation",
    "ReadModel",
    "averages_probabilities",
    "find_reader",
    "takes_any_labels",
]

# A treelite model holds a pointer, which `copy`, `pickle` and so scikit-learn's `clone` refuse; its bytes do as well.
copyreg.pickle(
    treelite.Model, lambda model: (treelite.Model.deserialize_bytes, (bytes(model.serialize_bytes()),))
)
