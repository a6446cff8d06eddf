"""skglex: exact functional decomposition of tree ensembles for scikit-learn."""

__version__ = "0.1.0"
__all__: list[str] = []
