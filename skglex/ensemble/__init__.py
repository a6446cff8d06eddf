"""The representation that every model is read into: leaves over binned features, and their weights."""

from skglex.ensemble._fixed import FixedWeights
from skglex.ensemble._grid import Grid
from skglex.ensemble._leaves import LeafEnsemble, Trees, collect_conditions
from skglex.ensemble._patterns import MAX_TABLE_BITS, TABLE_BUDGET, PatternGroups, group_patterns
from skglex.ensemble._players import Players, assign_players
from skglex.ensemble._sums import LeafSum
from skglex.ensemble._weights import Background, Empirical, PathDependent, RankedSubsets, Weighting
