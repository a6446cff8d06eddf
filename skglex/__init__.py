"""skglex: exact functional decomposition of tree ensembles for scikit-learn."""

from skglex._decomposer import GlexDecomposer
from skglex._planted import RandomPlantedForestClassifier, RandomPlantedForestRegressor
from skglex._remover import FeatureRemover
from skglex._version import __version__ as __version__

__all__ = [
    "FeatureRemover",
    "GlexDecomposer",
    "RandomPlantedForestClassifier",
    "RandomPlantedForestRegressor",
]
