"""What people ask of a model and of its debiased predictions."""

from skglex.inspection._group_difference import group_difference, group_statistics

__all__ = ["group_difference", "group_statistics"]
