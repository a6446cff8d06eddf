"""Numba kernels on flat arrays: they know numbers, and no class of the package."""
