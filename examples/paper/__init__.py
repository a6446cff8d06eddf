"""The experiments of the paper on functional decomposition, repeated; ``python -m examples.paper`` runs them all."""
