"""Run the paper's naive algorithms: a component of a tree at one point, by recursion. No categories, none missing."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from tests.support.oracles import read_json


class Leaf(NamedTuple):
    value: float
    cover: float


class Split(NamedTuple):
    feature: int
    threshold: np.float32
    left: Split | Leaf  # where x[feature] < threshold
    right: Split | Leaf
    cover: float


def read_trees(model):
    """Return the trees of an XGBoost model with one output (not DART, whose trees have weights)."""

    def build(tree, node):
        left, right = tree["left_children"][node], tree["right_children"][node]
        cover, number = tree["sum_hessian"][node], np.float32(tree["split_conditions"][node])
        if left < 0:
            return Leaf(float(number), cover)
        return Split(tree["split_indices"][node], number, build(tree, left), build(tree, right), cover)

    return [build(tree, 0) for tree, _, _ in read_json(model)]


def path_dependent(node, x, averaged):
    """Return the tree at x; a split on an ``averaged`` feature goes both ways, by cover (algorithm 1)."""
    if isinstance(node, Leaf):
        return node.value
    if node.feature not in averaged:
        child = node.left if x[node.feature] < node.threshold else node.right
        return path_dependent(child, x, averaged)
    left = path_dependent(node.left, x, averaged)
    right = path_dependent(node.right, x, averaged)
    return (node.left.cover * left + node.right.cover * right) / node.cover


def empirical(node, x, averaged, background):
    """Return the same, summed over background rows that each take their own way (algorithm 3)."""
    if isinstance(node, Leaf):
        return len(background) * node.value
    if node.feature not in averaged:
        child = node.left if x[node.feature] < node.threshold else node.right
        return empirical(child, x, averaged, background)
    goes_left = background[:, node.feature] < node.threshold
    left = empirical(node.left, x, averaged, background[goes_left])
    right = empirical(node.right, x, averaged, background[~goes_left])
    return left + right


def component(tree, x, features, background=None):
    """Return m_S(x) of one tree for S = ``features``: an alternating sum over the V that are held at x."""
    path_features = features_of(tree)
    if not set(features) <= path_features:
        return 0.0
    total = 0.0
    for size in range(len(features) + 1):
        for held in combinations(features, size):
            averaged = path_features.difference(held)
            if background is None:
                mean = path_dependent(tree, x, averaged)
            else:
                mean = empirical(tree, x, averaged, background) / len(background)
            total += (-1) ** (len(features) - size) * mean
    return total


def features_of(node):
    if isinstance(node, Leaf):
        return set()
    return {node.feature} | features_of(node.left) | features_of(node.right)
