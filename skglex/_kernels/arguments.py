"""Group the arrays that kernels take: one documented named tuple per subject.

Numba compiles a kernel anew for every combination of types. The fields below therefore always have the dtype that
their documentation states, and all arrays are C-contiguous.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# -- a model, in bins -------------------------------------------------------------------------


class Conditions(NamedTuple):
    """Describe the distinct conditions of a model, each a set of bins of one used_feature.

    A condition holds for the bins ``lo <= b < hi`` and for the bin ``missing``. If ``mask >= 0``, it holds instead
    for the bins ``b`` with ``masks[mask + b] != 0``.

    Attributes
    ----------
    feature : ndarray of shape (n_conditions,), int32
        The used_feature, an index into ``grid.features``.
    lo, hi, missing : ndarray of shape (n_conditions,), the grid's dtype
        ``missing`` is the largest value of the dtype where missing values do not meet the condition.
    mask : ndarray of shape (n_conditions,), int32
        Start of the condition's bins in ``masks``; -1 for an interval.
    masks : ndarray, uint8
        For each condition with a mask, one entry per bin of its feature.
    """

    feature: NDArray[np.int32]
    lo: NDArray[np.unsignedinteger]
    hi: NDArray[np.unsignedinteger]
    missing: NDArray[np.unsignedinteger]
    mask: NDArray[np.int32]
    masks: NDArray[np.uint8]


class Trees(NamedTuple):
    """Describe binary trees whose splits are stated in bins.

    A node sends the bins ``b <= cut`` left, and missing values where ``missing_left`` says. If ``mask >= 0``, it
    sends the bins ``b`` with ``masks[mask + b] != 0`` left instead.

    Attributes
    ----------
    roots : ndarray of shape (n_trees + 1,), int64
        Root of each tree, and the number of nodes.
    left, right : ndarray of shape (n_nodes,), int32
        Children; -1 for a leaf.
    used_feature, cut : ndarray of shape (n_nodes,), int32
    missing_left : ndarray of shape (n_nodes,), uint8
    mask : ndarray of shape (n_nodes,), int32
        Start of the node's bins in ``masks``; -1 for a threshold.
    masks : ndarray, uint8
    leaf : ndarray of shape (n_nodes,), int32
        Number of each leaf in the ensemble.
    """

    roots: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    used_feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    mask: NDArray[np.int32]
    masks: NDArray[np.uint8]
    leaf: NDArray[np.int32]


class Cuts(NamedTuple):
    """Describe where the bins of a grid begin.

    Attributes
    ----------
    edges : ndarray, float64
        The least numbers that the model sends right, or category codes, used_feature by used_feature. NaN, which sends
        no number right, follows those of each used_feature.
    ptr : ndarray of shape (n_used_features + 1,), int64
        Start of each used_feature's edges.
    categorical : ndarray of shape (n_used_features,), bool
    as_float32 : bool
        Whether the model casts category codes to float32.
    """

    edges: NDArray[np.float64]
    ptr: NDArray[np.int64]
    categorical: NDArray[np.bool_]
    as_float32: bool


class Buckets(NamedTuple):
    """Divide the range of each used_feature's cuts into equal parts, which shortens the search for a bin.

    Attributes
    ----------
    ptr : ndarray of shape (n_used_features + 1,), int64
        Start of each used_feature's buckets in ``below``.
    scale : ndarray of shape (n_used_features,), float64
        Buckets per unit of the feature.
    below : ndarray, int32
        Number of cuts below each bucket.
    fullest : ndarray of shape (n_used_features,), int64
        Largest number of cuts in one bucket.
    """

    ptr: NDArray[np.int64]
    scale: NDArray[np.float64]
    below: NDArray[np.int32]
    fullest: NDArray[np.int64]


class ExtractedLeaves(NamedTuple):
    """Hold the leaves that `extract_leaves` finds, and their conditions.

    A condition is stated at the node below the path's last split on its feature, for all leaves below.

    Attributes
    ----------
    node : ndarray of shape (n_leaves,), int64
        The tree's node that is the leaf.
    tree_ptr : ndarray of shape (n_trees + 1,), int64
        First leaf of each tree.
    ptr : ndarray of shape (n_leaves + 1,), int64
        First condition of each leaf.
    condition_node : ndarray, int32
        Node of each condition of each leaf.
    feature, lo, hi : ndarray of shape (n_nodes,), int32
        Used_feature that the node's parent splits on, and the bins ``lo <= b < hi`` that reach the node.
    missing : ndarray of shape (n_nodes,), bool
        Whether missing values reach the node.
    mask : ndarray of shape (n_nodes,), int64
        Start of the bins in a pool of masks; -1 for an interval.
    """

    node: NDArray[np.int64]
    tree_ptr: NDArray[np.int64]
    ptr: NDArray[np.int64]
    condition_node: NDArray[np.int32]
    feature: NDArray[np.int32]
    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    missing: NDArray[np.bool_]
    mask: NDArray[np.int64]


class PackedTrees(NamedTuple):
    """Hold trees node by node, depth first, for `traverse`.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes, 4), int32
        See `skglex._kernels.traversal`.
    root : ndarray of shape (n_trees,), int64
    masks : ndarray, uint8
        Bins that categorical splits send left.
    missing : ndarray of shape (n_used_features,), int64
        Bin of missing values.
    value : ndarray of shape (n_values, width), float64
    output : ndarray of shape (n_trees,), int32
        First output that each tree adds to.
    """

    nodes: NDArray[np.int32]
    root: NDArray[np.int64]
    masks: NDArray[np.uint8]
    missing: NDArray[np.int64]
    value: NDArray[np.float64]
    output: NDArray[np.int32]


class LevelTrees(NamedTuple):
    """Hold trees whose leaves lead to themselves, for `traverse_levels`.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes, 4), uint32
        See `skglex._kernels.traversal`.
    value_row : ndarray of shape (n_nodes,), int32
        For a leaf, its row of ``value``.
    root, depth : ndarray of shape (n_trees,), int64
        Root of each tree, and number of splits on its longest path.
    missing, value, output
        As in `PackedTrees`.
    """

    nodes: NDArray[np.uint32]
    value_row: NDArray[np.int32]
    root: NDArray[np.int64]
    depth: NDArray[np.int64]
    missing: NDArray[np.int64]
    value: NDArray[np.float64]
    output: NDArray[np.int32]


# -- leaves and their games -------------------------------------------------------------------


class Paths(NamedTuple):
    """List the conditions of every leaf: ``condition[ptr[l]:ptr[l + 1]]``.

    Attributes
    ----------
    ptr : ndarray of shape (n_leaves + 1,), int64
    condition : ndarray of shape (n_leaf_conditions,), int32
    """

    ptr: NDArray[np.int64]
    condition: NDArray[np.int32]


class LeafValues(NamedTuple):
    """Hold what every leaf adds to the outputs ``output[l] .. output[l] + width - 1``.

    Attributes
    ----------
    value : ndarray of shape (n_leaves, width), float64
    output : ndarray of shape (n_leaves,), int32
    """

    value: NDArray[np.float64]
    output: NDArray[np.int32]


class PlayerArrays(NamedTuple):
    """Assign the conditions of every leaf to the players of its game.

    Attributes
    ----------
    position : ndarray of shape (n_leaf_conditions,), uint8
        Position of the condition's player among the players of its leaf.
    id : ndarray of shape (n_leaf_conditions,), int32
        The player itself: the number of a feature or of a group of features.
    n_players : ndarray of shape (n_leaves,), int64
    """

    position: NDArray[np.uint8]
    id: NDArray[np.int32]
    n_players: NDArray[np.int64]


class SubsetRanks(NamedTuple):
    """Number subsets by size, then by value (`skglex._kernels.subsets.subset_rank`).

    Attributes
    ----------
    choose : ndarray of shape (k + 1, k + 2), int64
        Binomial coefficients.
    offset : ndarray of shape (k + 1, k + 2), int64
        ``offset[n, i]`` is the number of subsets of n players with fewer than i members.
    """

    choose: NDArray[np.int64]
    offset: NDArray[np.int64]


class RankedSubsets(NamedTuple):
    """Request weights of subsets by rank: those of some leaves with at most ``max_order`` players.

    Attributes
    ----------
    leaves : ndarray, int64
    start : ndarray of shape (n_leaves,), int64
        Position of each leaf's first weight.
    size : int
        Number of weights in all.
    max_order : int
    """

    leaves: NDArray[np.int64]
    start: NDArray[np.int64]
    size: int
    max_order: int


class CoalitionArrays(NamedTuple):
    r"""Hold the weights E(P \ V) of some leaves, for coalitions V of their players.

    The weights of leaf l begin at ``weight[start[l]]``: one per bit mask V or, where ``ranked[l]``, one per subset
    by rank, for small subsets only.

    Attributes
    ----------
    start : ndarray of shape (n_leaves,), int64
    weight : ndarray, float64
    ranked : ndarray of shape (n_leaves,), bool
    ranks : SubsetRanks
    """

    start: NDArray[np.int64]
    weight: NDArray[np.float64]
    ranked: NDArray[np.bool_]
    ranks: SubsetRanks


class QuadratureRules(NamedTuple):
    """Hold Gauss-Legendre rules on [0, 1]: the rule of n nodes is in row n.

    Attributes
    ----------
    nodes, weights : ndarray of shape (n_rules, n_rules - 1), float64
    """

    nodes: NDArray[np.float64]
    weights: NDArray[np.float64]


class BackgroundRows(NamedTuple):
    """Hold the background rows that explained rows are compared with.

    Attributes
    ----------
    bins : ndarray of shape (n_used_features, n_background), the grid's dtype
    share : ndarray of shape (n_background,), float64
        Weight of each row, divided by the sum.
    inverse : ndarray of shape (k + 1, k + 1), float64
        ``inverse[n, i]`` is 1 / ((n + 1) C(n, i)).
    """

    bins: NDArray[np.unsignedinteger]
    share: NDArray[np.float64]
    inverse: NDArray[np.float64]


class NumberedRows(NamedTuple):
    """Hold background rows, with their bins numbered among those that occur.

    Attributes
    ----------
    bins : ndarray of shape (n_used_features, n_rows), uint16 or uint32
        Used_feature s of row r is in the bin ``occurring[ptr[s] + bins[s, r]]``.
    ptr : ndarray of shape (n_used_features + 1,), int64
    occurring : ndarray, int64
    weight : ndarray of shape (n_rows,), float64
    equal : float
        Weight of every row if all weights are equal, else 0.
    """

    bins: NDArray[np.unsignedinteger]
    ptr: NDArray[np.int64]
    occurring: NDArray[np.int64]
    weight: NDArray[np.float64]
    equal: float


class ShapleyRows(NamedTuple):
    """Locate Shapley values in an output array of shape (rows, n_samples).

    Player i of output o is row ``o * n_players + i``. With ``pairs``, the interaction of the players i < j is row
    ``(o * n_players + i) * n_players + j``.

    Attributes
    ----------
    n_players : int
        Number of players in all.
    pairs : bool
    """

    n_players: int
    pairs: bool


class SubsetWork(NamedTuple):
    """Hold work space for the largest of some games.

    Attributes
    ----------
    sums : ndarray of shape (1 or 3, 2**k), float64
        Tables of sums over subsets.
    weight : ndarray of shape (2**k,), float64
        Weights of coalitions.
    alone : ndarray of shape (k + 2, n_block), float64
        Terms of the players of a block of rows.
    n_members : ndarray of shape (2**k,), uint8
        Size of every coalition.
    pattern : ndarray, uint32
        Patterns of a block of rows.
    code : ndarray, uint16
        States of a block of rows.
    ids, rows : ndarray, int64
        Players of one leaf, and the rows of the output array that belong to them or to pairs of them.
    """

    sums: NDArray[np.float64]
    weight: NDArray[np.float64]
    alone: NDArray[np.float64]
    n_members: NDArray[np.uint8]
    pattern: NDArray[np.uint32]
    code: NDArray[np.uint16]
    ids: NDArray[np.int64]
    rows: NDArray[np.int64]


class ClusterSpace(NamedTuple):
    """Hold one cluster of leaves (`skglex._kernels.clusters`): the states of its features, and its players.

    The cluster numbers its features, the conditions on each, and its players; -1 stands for what it does not have.

    Attributes
    ----------
    slot : ndarray of shape (n_used_features,), int64
        Number of each used_feature.
    feature, n_conditions : ndarray of shape (n_features,), int64
        The used_feature, and the number of its conditions.
    condition : ndarray of shape (n_features, most_conditions), int64
    masked : ndarray of shape (n_features,), bool
        Whether some condition has a mask. Each bin of the feature is then a cell.
    first_bin : ndarray of shape (n_features, most_cells), int64
        First bin of each cell, in increasing order.
    state : ndarray of shape (n_features, most_cells), uint16
        State of each cell.
    n_cells, n_states, stride : ndarray of shape (n_features,), int64
        The number of the state of all features is the sum of the strides times the states.
    met : ndarray of shape (n_features, 64), uint64
        Bit mask of the feature's conditions that hold in each of its states.
    player_slot : ndarray of shape (n_players,), int64
        Number of each player.
    player : ndarray of shape (64,), int64
        The players.
    met_players : ndarray of shape (most_states,), uint32
        Bit mask of the players of one leaf whose conditions hold in each state.
    share : ndarray of shape (most_states,), float64
        Share of the background in each state.
    table : ndarray, float64
        What all leaves add, by output and player (or pair), then by state.
    """

    slot: NDArray[np.int64]
    feature: NDArray[np.int64]
    n_conditions: NDArray[np.int64]
    condition: NDArray[np.int64]
    masked: NDArray[np.bool_]
    first_bin: NDArray[np.int64]
    state: NDArray[np.uint16]
    n_cells: NDArray[np.int64]
    n_states: NDArray[np.int64]
    stride: NDArray[np.int64]
    met: NDArray[np.uint64]
    player_slot: NDArray[np.int64]
    player: NDArray[np.int64]
    met_players: NDArray[np.uint32]
    share: NDArray[np.float64]
    table: NDArray[np.float64]


class BitSets(NamedTuple):
    """Hold a block of background rows as bit sets.

    Row ``row_ptr[s] + i`` of ``bits`` is the set of the rows whose bin is among the i smallest that occur of
    used_feature s. Bit ``r % 64`` of word ``r // 64`` stands for row r of the block.

    Attributes
    ----------
    n_rows : int
    weight : ndarray of shape (n_rows,), float64
    equal : float
        Weight of every row if all weights are equal, else 0.
    n_bins : ndarray of shape (n_used_features,), int64
    bin_ptr : ndarray of shape (n_used_features + 1,), int64
        Start of each used_feature in ``rank``.
    rank : ndarray, int32
        ``rank[bin_ptr[s] + b]`` is the number of bins below b that occur.
    row_ptr : ndarray of shape (n_used_features + 1,), int64
    bits : ndarray of shape (row_ptr[-1], n_words), uint64
    """

    n_rows: int
    weight: NDArray[np.float64]
    equal: float
    n_bins: NDArray[np.int64]
    bin_ptr: NDArray[np.int64]
    rank: NDArray[np.int32]
    row_ptr: NDArray[np.int64]
    bits: NDArray[np.uint64]


class FreeAxes(NamedTuple):
    """Describe cells at which free features are set, and where every leaf begins and ends to hold along each axis.

    The cells are all combinations of the cells of some axes. Along axis a, leaf l has the ends
    ``end[ptr[s]:ptr[s + 1]]`` with ``s = run_set[a, l]``.

    Attributes
    ----------
    leaves : ndarray, int64
        Leaves that have conditions on free features.
    free : ndarray of shape (n_used_features,), bool
    run_set : ndarray of shape (n_axes, n_leaves), int64
    ptr : ndarray of shape (n_run_sets + 1,), int64
    end : ndarray, int64
        Cells, multiplied by the distance of two neighbours along the axis.
    sign : ndarray, float64
        1 where the leaf begins to hold, -1 where it ends.
    most_corners : int
        Maximum number of combinations of ends of one leaf.
    """

    leaves: NDArray[np.int64]
    free: NDArray[np.bool_]
    run_set: NDArray[np.int64]
    ptr: NDArray[np.int64]
    end: NDArray[np.int64]
    sign: NDArray[np.float64]
    most_corners: int


class SetFamily(NamedTuple):
    """List sets of few players. Every subset of a set is in the list, and the sets without supersets come last.

    Attributes
    ----------
    player_of_feature : ndarray of shape (n_used_features,), int64
        Player of every used_feature; -1 if it is in no set.
    with_player : ndarray of shape (n_sets_with_supersets, n_players), int32
        Position of every set with one more player; -1 if the player is in the set, or the larger set is not listed.
    order : int
        Number of players of the largest set.
    """

    player_of_feature: NDArray[np.int64]
    with_player: NDArray[np.int32]
    order: int


class WalkWork(NamedTuple):
    """Give a walk of mixed rows down the trees its work space.

    Attributes
    ----------
    waiting : ndarray of shape (2 * depth + 2, 7), int64
        Nodes at which background rows wait.
    order : ndarray of shape (n_background,), int64
        The background rows: those that wait together are next to each other.
    side : ndarray of shape (n_players,), uint8
        Which row every player follows; 0 if that is not decided.
    decided : ndarray of shape (n_players,), int64
        The players for which it is.
    found : ndarray, int64
        Sets of a family.
    sign : ndarray, float64
        With which sign a leaf counts for each.
    """

    waiting: NDArray[np.int64]
    order: NDArray[np.int64]
    side: NDArray[np.uint8]
    decided: NDArray[np.int64]
    found: NDArray[np.int64]
    sign: NDArray[np.float64]


class TreeEdges(NamedTuple):
    """List the nodes of one tree depth first, each with the edge that leads to it (`skglex._kernels.tree_products`).

    Attributes
    ----------
    node, parent, depth : ndarray of shape (n_nodes,), int64
        Numbers of the node and its parent in `Trees`, -1 above the root, and the number of edges above the node.
    is_left : ndarray of shape (n_nodes,), int64
        1 for left children, else 0.
    player : ndarray of shape (n_nodes,), int64
        The player on whose feature the parent splits.
    ratio : ndarray of shape (n_nodes, 2), float64
        Cover ratio of the player's conditions before and after the edge.
    factor : ndarray of shape (n_nodes, n_quadrature_nodes, 4), float64
        The player's factor after the edge over that before it, if a row meets the conditions before and after it, and
        if it meets them before it only; and (1 - ratio) / factor before and after the edge, for rows that meet them.
    """

    node: NDArray[np.int64]
    parent: NDArray[np.int64]
    depth: NDArray[np.int64]
    is_left: NDArray[np.int64]
    player: NDArray[np.int64]
    ratio: NDArray[np.float64]
    factor: NDArray[np.float64]


class OpenEdges(NamedTuple):
    """Hold the edges on the way to a node by depth, and what rows of a block find there. Depth 0 is the root.

    Attributes
    ----------
    edge : ndarray of shape (depth + 1,), int64
        Position in `TreeEdges`.
    earlier : ndarray of shape (depth + 1,), int64
        Depth of the edge before of the same player; 0 for none.
    is_last : ndarray of shape (depth + 1,), bool
        Whether no edge of the same player follows.
    met : ndarray of shape (depth + 1, n_rows), int64
        1 for rows that meet all conditions of the edge's player so far, else 0.
    some_met : ndarray of shape (depth + 1,), bool
        Whether any row does.
    product : ndarray of shape (depth + 1, n_quadrature_nodes, n_rows), float64
        Products of the factors of all players, and the quadrature weights.
    total : ndarray of shape (depth + 1, width, n_quadrature_nodes, n_rows), float64
        Sums of value times product over the leaves that have been visited.
    change : ndarray of shape (n_quadrature_nodes, n_rows), float64
    sums : ndarray of shape (2, n_rows), float64
        Work space.
    last : ndarray of shape (n_players,), int64
        Depth of the last edge of each player; 0 for none.
    """

    edge: NDArray[np.int64]
    earlier: NDArray[np.int64]
    is_last: NDArray[np.bool_]
    met: NDArray[np.int64]
    some_met: NDArray[np.bool_]
    product: NDArray[np.float64]
    total: NDArray[np.float64]
    change: NDArray[np.float64]
    sums: NDArray[np.float64]
    last: NDArray[np.int64]


# -- patterns ---------------------------------------------------------------------------------


class GroupBits(NamedTuple):
    """List the bits of the patterns of groups of leaves.

    Attributes
    ----------
    ptr : ndarray of shape (n_groups + 1,), int64
        Group g has the bits ``ptr[g]`` up to ``ptr[g + 1]``.
    condition : ndarray of shape (n_bits,), int32
        Condition that the bit stands for.
    position : ndarray of shape (n_bits,), uint8
        Position of the bit in the pattern.
    table_ptr : ndarray of shape (n_groups + 1,), int64
        Running sum of the groups' numbers of patterns; a group without patterns has no table.
    """

    ptr: NDArray[np.int64]
    condition: NDArray[np.int32]
    position: NDArray[np.uint8]
    table_ptr: NDArray[np.int64]


class LeafBits(NamedTuple):
    """Locate the conditions of every leaf in the pattern of its group.

    Attributes
    ----------
    group_leaf : ndarray of shape (n_groups + 1,), int64
        First leaf of each group.
    table_ptr : ndarray of shape (n_groups + 1,), int64
        As in `GroupBits`.
    position : ndarray of shape (n_leaf_conditions,), uint8
        Position of the condition's bit in its group's pattern.
    flip : ndarray of shape (n_leaf_conditions,), uint8
        1 where the bit stands for the condition's complement.
    """

    group_leaf: NDArray[np.int64]
    table_ptr: NDArray[np.int64]
    position: NDArray[np.uint8]
    flip: NDArray[np.uint8]


class PatternTables(NamedTuple):
    """Hold what groups of leaves add to some columns, for each of their patterns.

    Group g adds to the columns ``column[column_ptr[g]:column_ptr[g + 1]]``. Its table, of shape (n_patterns,
    n_columns), begins at ``values[value_ptr[g]]``.

    Attributes
    ----------
    column_ptr : ndarray of shape (n_groups + 1,), int64
    column : ndarray, int64
    value_ptr : ndarray of shape (n_groups + 1,), int64
    values : ndarray, float64
    """

    column_ptr: NDArray[np.int64]
    column: NDArray[np.int64]
    value_ptr: NDArray[np.int64]
    values: NDArray[np.float64]


class LeafColumns(NamedTuple):
    """Locate each leaf's columns among those of its group.

    Attributes
    ----------
    ptr : ndarray of shape (n_leaves + 1,), int64
        First column of each leaf.
    position : ndarray, int64
        Position of each column among its group's columns of one output.
    """

    ptr: NDArray[np.int64]
    position: NDArray[np.int64]


# -- tables of components ---------------------------------------------------------------------


class Axes(NamedTuple):
    """List the axes of every component: ``feature[ptr[c]:ptr[c + 1]]``.

    Attributes
    ----------
    ptr : ndarray of shape (n_components + 1,), int64
    feature : ndarray of shape (n_axes,), int64
        Used_feature of each axis.
    """

    ptr: NDArray[np.int64]
    feature: NDArray[np.int64]


class Sources(NamedTuple):
    """List the leaves that every component comes from, by path set.

    Attributes
    ----------
    ptr : ndarray of shape (n_components + 1,), int64
        First source of each component.
    path_set : ndarray of shape (n_sources,), int64
        Path set: all leaves with the same players.
    """

    ptr: NDArray[np.int64]
    path_set: NDArray[np.int64]


class PathSetItems(NamedTuple):
    """List items of every path set, its leaves or its conditions: ``item[ptr[p]:ptr[p + 1]]``.

    Attributes
    ----------
    ptr : ndarray of shape (n_path_sets + 1,), int64
    item : ndarray, int64
    """

    ptr: NDArray[np.int64]
    item: NDArray[np.int64]


class Events(NamedTuple):
    """List the bins at which each condition begins and ends to hold.

    Attributes
    ----------
    ptr : ndarray of shape (n_conditions + 1,), int64
        First event of each condition.
    bin : ndarray, int32
    sign : ndarray, int8
        1 where the condition begins to hold, -1 where it ends.
    """

    ptr: NDArray[np.int64]
    bin: NDArray[np.int32]
    sign: NDArray[np.int8]


class TableLayout(NamedTuple):
    """Describe the tables of components over the cells of their axes.

    Attributes
    ----------
    axes : Axes
    size, stride : ndarray of shape (n_axes,), int64
        Number of cells along each axis, and distance of two neighbours in the table.
    map_ptr : ndarray of shape (n_axes,), int64
        Start of each axis in ``maps``.
    maps : ndarray, int32
        Cell of every bin: ``maps[map_ptr[a] + b]``.
    table_ptr, n_cells : ndarray of shape (n_components,), int64
        Table of component c: (n_outputs, n_cells[c]) values from ``table_ptr[c]`` on.
    """

    axes: Axes
    size: NDArray[np.int64]
    stride: NDArray[np.int64]
    map_ptr: NDArray[np.int64]
    maps: NDArray[np.int32]
    table_ptr: NDArray[np.int64]
    n_cells: NDArray[np.int64]


class PairsOfPathSets(NamedTuple):
    """Locate the table of each pair of players of every path set; the players are single features.

    Attributes
    ----------
    of_leaf : ndarray of shape (n_leaves,), int64
        Path set of every leaf.
    ptr : ndarray of shape (n_path_sets + 1,), int64
        First pair of each path set.
    component : ndarray, int32
        The players at the positions p < q of path set s have the component ``component[ptr[s] + q (q - 1) / 2 + p]``,
        or -1.
    place : ndarray of shape (n_components, 5), int64
        Start of a component's table, its number of cells, the stride of its first axis, and the start of both axes in
        ``maps``.
    maps : ndarray, int32
        As in `TableLayout`.
    """

    of_leaf: NDArray[np.int64]
    ptr: NDArray[np.int64]
    component: NDArray[np.int32]
    place: NDArray[np.int64]
    maps: NDArray[np.int32]


class PairLayout(NamedTuple):
    """Describe a table of all pairs of features over their bins.

    The first and the second feature of a pair are in the order of the grid.

    Attributes
    ----------
    bin_ptr : ndarray of shape (n_used_features + 1,), int64
        First bin of each feature, among the bins of all features.
    start : ndarray of shape (n_used_features,), int64
        The value at bin a of a first feature of n bins and at bin b, among the bins of all features, of the second is
        at ``start + n * b + a``. So all values of one pair are neighbours.
    """

    bin_ptr: NDArray[np.int64]
    start: NDArray[np.int64]


class OpenConditions(NamedTuple):
    """List the conditions of some neighbouring leaves (work space of `skglex._kernels.pair_matrix`).

    Attributes
    ----------
    condition, feature : ndarray of shape (most_conditions,), int64
    last_leaf : ndarray of shape (most_conditions,), int64
        Last of the leaves that have the condition.
    holds : ndarray of shape (most_conditions,), float64
        1 if the condition holds in the first bin of its feature, else 0.
    first, last : ndarray of shape (most_conditions,), int64
        The condition's events in later bins.
    """

    condition: NDArray[np.int64]
    feature: NDArray[np.int64]
    last_leaf: NDArray[np.int64]
    holds: NDArray[np.float64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]


class OpenSums(NamedTuple):
    """Hold sums over the leaves that have a condition, or a pair of them (work space of `skglex._kernels.pair_matrix`).

    A leaf adds its value times the weight of its other conditions.

    Attributes
    ----------
    none : ndarray of shape (width, most_conditions), float64
        No condition holds, or all are averaged out. Of a pair, these are the sums of the later condition.
    single : ndarray of shape (width, most_conditions), float64
        The condition holds, or the later condition of a pair.
    other : ndarray of shape (width, most_conditions, most_conditions), float64
        The earlier condition of a pair holds.
    both : ndarray of shape (width, most_conditions, most_conditions), float64
        Both conditions of a pair hold.
    """

    none: NDArray[np.float64]
    single: NDArray[np.float64]
    other: NDArray[np.float64]
    both: NDArray[np.float64]


class ComponentTerms(NamedTuple):
    """List what the leaves of one path set add to: a term per output and component.

    Attributes
    ----------
    mask : ndarray of shape (n_components,), int64
        Bit mask of the component's players among those of the path set.
    row : ndarray of shape (n_outputs * n_components,), int64
        Row of the output array, by output, then by component.
    width : int
        Number of terms, and of zeros that make it a multiple of the processor's lanes.
    """

    mask: NDArray[np.int64]
    row: NDArray[np.int64]
    width: int


class ClusterBatch(NamedTuple):
    """Hold the tables of some clusters of leaves with the same terms.

    Attributes
    ----------
    code : ndarray of shape (most_clusters, n_samples), uint16
        State of each row in each cluster.
    first : ndarray of shape (most_clusters + 1,), int64
        First entry of each cluster's table.
    table : ndarray, float64
        A line of terms per state.
    """

    code: NDArray[np.uint16]
    first: NDArray[np.int64]
    table: NDArray[np.float64]


class StreamedComponents(NamedTuple):
    """List the components that are computed from the leaves of each path set.

    Attributes
    ----------
    path_set_of_leaf : ndarray of shape (n_leaves,), int64
    ptr : ndarray of shape (n_path_sets + 1,), int64
        First component of each path set.
    member_ptr : ndarray of shape (n_items + 1,), int64
        First member of each component.
    member : ndarray, int64
        Positions of the component's players among those of the path set, increasing.
    column : ndarray, int64
        Row of the output array, within the block of one output.
    """

    path_set_of_leaf: NDArray[np.int64]
    ptr: NDArray[np.int64]
    member_ptr: NDArray[np.int64]
    member: NDArray[np.int64]
    column: NDArray[np.int64]
