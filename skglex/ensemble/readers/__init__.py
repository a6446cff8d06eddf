"""Readers: one library's model format each, into `skglex.ensemble._leaves.LeafEnsemble`."""

import copyreg

import treelite

from skglex.ensemble.readers._base import InputSpec, ReadModel, find_reader

__all__ = ["InputSpec", "ReadModel", "find_reader"]

# A treelite model holds a pointer, which `copy`, `pickle` and so scikit-learn's `clone` refuse; its bytes do as well.
copyreg.pickle(
    treelite.Model, lambda model: (treelite.Model.deserialize_bytes, (bytes(model.serialize_bytes()),))
)
