"""Represent every model as leaves over binned features, and weigh their conditions."""

from skglex._kernels.arguments import RankedSubsets, Trees
from skglex._leaves._additivity import require_equal, rounding_of
from skglex._leaves._background import (
    Background,
    BackgroundLike,
    NoBackground,
    number_bins,
    warn_of_small_background,
)
from skglex._leaves._coalition_weights import CoalitionWeights
from skglex._leaves._empirical import Empirical
from skglex._leaves._games import LeafGames
from skglex._leaves._grid import Grid
from skglex._leaves._leaf_sum import LeafSum, sum_leaves
from skglex._leaves._leaves import LeafEnsemble, collect_conditions
from skglex._leaves._path_dependent import PathDependent
from skglex._leaves._patterns import GROUP_BITS, PatternGroups, group_patterns
from skglex._leaves._players import MASK_BITS, Players, assign_players, one_feature_each
from skglex._leaves._weighting import Weighting, inverse_binomials, most_states

__all__ = [
    "GROUP_BITS",
    "MASK_BITS",
    "Background",
    "BackgroundLike",
    "CoalitionWeights",
    "Empirical",
    "Grid",
    "LeafEnsemble",
    "LeafGames",
    "LeafSum",
    "NoBackground",
    "PathDependent",
    "PatternGroups",
    "Players",
    "RankedSubsets",
    "Trees",
    "Weighting",
    "assign_players",
    "collect_conditions",
    "group_patterns",
    "inverse_binomials",
    "most_states",
    "number_bins",
    "one_feature_each",
    "require_equal",
    "rounding_of",
    "sum_leaves",
    "warn_of_small_background",
]
