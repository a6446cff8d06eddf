"""Fit random planted forests: sums of overlapping boxes with few features each."""

from skglex._planted._classifier import RandomPlantedForestClassifier
from skglex._planted._leaves import PlantedLeaves
from skglex._planted._regressor import RandomPlantedForestRegressor

__all__ = ["PlantedLeaves", "RandomPlantedForestClassifier", "RandomPlantedForestRegressor"]
