"""Readers: one library's model format each, into `skglex.ensemble._leaves.LeafEnsemble`."""

from skglex.ensemble.readers._base import InputSpec, Isolation, ReadModel, find_reader

__all__ = ["InputSpec", "Isolation", "ReadModel", "find_reader"]
