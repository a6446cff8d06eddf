"""Compute with Numba on flat arrays: kernels know numbers, and no class of the package beyond their arguments."""

from skglex._kernels.compilation import report_compilations

__all__ = ["report_compilations"]
