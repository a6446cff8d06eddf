"""skglex: exact functional decomposition of tree ensembles for scikit-learn."""

from skglex._decomposer import GlexDecomposer
from skglex._planted_forest import RandomPlantedForestClassifier, RandomPlantedForestRegressor

__version__ = "0.1.0"
__all__ = ["GlexDecomposer", "RandomPlantedForestClassifier", "RandomPlantedForestRegressor"]
