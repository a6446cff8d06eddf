"""Compute with Numba on flat arrays: kernels know numbers, and no class of the package beyond their arguments."""
