"""Readers: one library's model format each, into `skglex.ensemble._leaves.LeafEnsemble`."""

from skglex.ensemble.readers._base import InputSpec, ReadModel, find_reader

__all__ = ["InputSpec", "ReadModel", "find_reader"]
