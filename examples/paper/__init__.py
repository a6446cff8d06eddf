"""Repeat the experiments of the paper on functional decomposition; ``python -m examples.paper`` runs all of them."""
