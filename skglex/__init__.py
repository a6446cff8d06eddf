"""skglex: exact functional decomposition of tree ensembles for scikit-learn."""

from skglex._decomposer import GlexDecomposer
from skglex._planted_forest import RandomPlantedForestClassifier, RandomPlantedForestRegressor
from skglex._remover import FeatureRemover

__version__ = "0.1.0"
__all__ = [
    "FeatureRemover",
    "GlexDecomposer",
    "RandomPlantedForestClassifier",
    "RandomPlantedForestRegressor",
]
