"""The representation that every model is read into: leaves over binned features, and their weights."""

from skglex._leaves._additivity import require_equal, rounding_of, warn_of_small_background
from skglex._leaves._coalition_weights import CoalitionWeights
from skglex._leaves._grid import Grid
from skglex._leaves._leaf_sum import LeafSum
from skglex._leaves._leaves import LeafEnsemble, Trees, collect_conditions
from skglex._leaves._patterns import MAX_TABLE_BITS, PatternGroups, group_patterns
from skglex._leaves._players import Players, assign_players
from skglex._leaves._weighting import (
    Background,
    BackgroundLike,
    Empirical,
    PathDependent,
    RankedSubsets,
    Weighting,
)

__all__ = [
    "MAX_TABLE_BITS",
    "Background",
    "BackgroundLike",
    "CoalitionWeights",
    "Empirical",
    "Grid",
    "LeafEnsemble",
    "LeafSum",
    "PathDependent",
    "PatternGroups",
    "Players",
    "RankedSubsets",
    "Trees",
    "Weighting",
    "assign_players",
    "collect_conditions",
    "group_patterns",
    "require_equal",
    "rounding_of",
    "warn_of_small_background",
]
