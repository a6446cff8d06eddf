"""Readers: one library's model format each, into `skglex.ensemble._leaves.LeafEnsemble`."""

from skglex.ensemble.readers._base import LARGEST_ZERO, InputSpec, ReadModel, find_reader, takes_any_labels

__all__ = ["LARGEST_ZERO", "InputSpec", "ReadModel", "find_reader", "takes_any_labels"]
