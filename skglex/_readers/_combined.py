"""Combine models that were read into one: a weighted sum of their margins, or their margins side by side."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._input import InputSpec
from skglex._leaves import Grid, LeafEnsemble
from skglex._readers._nodes import Nodes, to_leaves
from skglex._readers._registry import find_reader
from skglex._readers._sklearn import names_of
from skglex._readers._source_model import SourceModel
from skglex._readers._steps import steps_of, unwrap_frozen

# `merge_inputs` merges these fields of the members' InputSpec. All other fields must have their default.
_MERGED = {
    "n_features",
    "feature_names",
    "categories",
    "unknown_is_missing",
    "sparse_is_missing",
    "by_value",
    "finite",
    "truncates_codes",
    "integers_as_float32",
    "spaces_become",
}
_STRICTNESS = [False, "allow-nan", True]


class Term(NamedTuple):
    """Hold a member of a weighted sum.

    Its column j is the column ``columns[j]`` of the sum, and its outputs are added to those from ``first_output`` on.
    """

    ensemble: LeafEnsemble
    weight: float
    columns: NDArray[np.int64]
    first_output: int = 0


# -- the members ----------------------------------------------------------------------------------


def read_member(model: Any, member: Any, *, alone: bool = False) -> SourceModel:
    """Read a member of an ensemble; raise if it is no tree model, or has a preprocessing of its own.

    A member that is alone may have leaves that come from no binary trees.
    """
    what = f"cannot decompose a {type(model).__name__} with the member {type(unwrap_frozen(member)).__name__}"
    *steps, member = steps_of(member)
    reader = find_reader(member)
    if reader is None or steps:
        raise TypeError(f"{what}: its members must be tree models" + ", without preprocessing" * bool(steps))
    source = reader(member)
    if source.ensemble.trees is None and not alone:
        raise ValueError(f"{what}: this member has no binary trees. Decompose the members one by one")
    return source


# -- the input ------------------------------------------------------------------------------------


def merge_inputs(model: Any, specs: list[InputSpec], terms: list[Term]) -> InputSpec:
    """Return the input that all members treat in the same way; raise if they do not."""
    name = type(model).__name__
    _check_unmerged_fields(name, specs)
    grids = [term.ensemble.grid for term in terms]
    coded = [spec for spec, grid in zip(specs, grids) if spec.categories or grid.categorical.any()]
    if coded and (
        len({spec.by_value for spec in specs}) > 1
        or len({(spec.unknown_is_missing, spec.truncates_codes) for spec in coded}) > 1
    ):
        raise ValueError(
            f"cannot decompose a {name} whose members treat categories in different ways. Use members of one library, "
            "or numeric columns"
        )
    single = [spec.integers_as_float32 or grid.as_float32 for spec, grid in zip(specs, grids)]
    if any(spec.integers_as_float32 for spec in specs) and not all(single):
        raise ValueError(
            f"cannot decompose a {name} if only some members cast integers to float32. Use members of LightGBM, "
            "XGBoost and scikit-learn's trees, without histogram boosting"
        )
    sparse = {spec.sparse_is_missing for spec in specs}
    return InputSpec(
        n_features=model.n_features_in_,
        feature_names=names_of(model),
        categories=_merge_categories(name, specs, terms),
        frame_categories=[] if any(spec.frame_categories is not None for spec in specs) else None,
        unknown_is_missing=any(spec.unknown_is_missing for spec in coded),
        sparse_is_missing=sparse.pop() if len(sparse) == 1 else None,
        by_value=any(spec.by_value for spec in specs),
        truncates_codes=any(spec.truncates_codes for spec in coded),
        integers_as_float32=any(spec.integers_as_float32 for spec in specs),
        finite=max((spec.finite for spec in specs), key=_STRICTNESS.index),
    )


def _check_unmerged_fields(name: str, specs: list[InputSpec]) -> None:
    default = InputSpec(0)
    for field in fields(InputSpec):
        if field.name in _MERGED:
            continue
        for spec in specs:
            value = getattr(spec, field.name)
            if field.name == "frame_categories" and not value:
                continue  # The member was trained on a data frame without categorical columns.
            if repr(value) != repr(getattr(default, field.name)):
                raise ValueError(
                    f"cannot decompose a {name} with a member whose input has {field.name}={value!r}. All members "
                    "must treat their input in the same way"
                )


def _merge_categories(name: str, specs: list[InputSpec], terms: list[Term]) -> dict[int, NDArray[Any]]:
    """Return the category values by code, by column of the model; members that split on a column must agree."""
    kinds: dict[int, tuple[bool, list[Any] | None]] = {}
    merged = {}
    for spec, term in zip(specs, terms):
        grid = term.ensemble.grid
        numeric = set(grid.features[~grid.categorical].tolist())
        for feature in {*grid.features.tolist(), *spec.categories}:
            column = int(term.columns[feature])
            values = spec.categories.get(feature)
            kind = feature not in numeric, None if values is None else values.tolist()
            if kinds.setdefault(column, kind) != kind:
                raise ValueError(
                    f"cannot decompose a {name} whose members have different categories in column {column}, or of "
                    "which some treat it as numeric. Encode the column first, or decompose the members one by one"
                )
            if values is not None:
                merged[column] = values
    return merged


# -- the sum --------------------------------------------------------------------------------------


def sum_of_ensembles(terms: list[Term]) -> LeafEnsemble:
    """Return one ensemble whose margin is the weighted sum of its members' margins.

    All thresholds become the largest float64 that goes left, see `last_left`. So one grid serves members that cast to
    float32 and members that do not, members that compare by ``<`` and members that compare by ``<=``.
    """
    parts = [_to_nodes(term) for term in terms]
    sizes = [len(part.left) for part in parts]
    shift = np.cumsum(sizes) - sizes
    base = np.zeros(max(term.first_output + term.ensemble.n_outputs for term in terms))
    for term in terms:
        base[term.first_output :][: term.ensemble.n_outputs] += term.weight * term.ensemble.base
    value, output = _join_values(parts, len(base))
    known = all(part.cover_ratio is not None for part in parts)
    nodes = Nodes(
        roots=np.concatenate([*(p.roots[:-1] + s for p, s in zip(parts, shift)), [sum(sizes)]]),
        left=np.concatenate([np.where(p.left < 0, -1, p.left + s) for p, s in zip(parts, shift)]),
        right=np.concatenate([np.where(p.right < 0, -1, p.right + s) for p, s in zip(parts, shift)]),
        feature=np.concatenate([p.feature for p in parts]),
        threshold=np.concatenate([p.threshold for p in parts]),
        missing_left=np.concatenate([p.missing_left for p in parts]),
        value=value,
        output=output,
        base=base,
        cover_ratio=np.concatenate([p.cover_ratio for p in parts if p.cover_ratio is not None])
        if known
        else None,
        categories={node + int(s): c for p, s in zip(parts, shift) for node, c in p.categories.items()},
        listed_right=np.concatenate([p.listed_right for p in parts if p.listed_right is not None]),
    )
    return to_leaves(nodes, less_equal=True, as_float32=False)


def _join_values(parts: list[Nodes], n_outputs: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the values of all nodes, and the first output of every tree; all trees get the width of the widest."""
    width = max(part.value.shape[1] for part in parts)
    values, outputs = [], []
    for part in parts:
        first = np.minimum(part.output, n_outputs - width)
        value = np.zeros((len(part.value), width))
        column = np.repeat(part.output - first, np.diff(part.roots))[:, None] + np.arange(part.value.shape[1])
        np.put_along_axis(value, column, part.value, axis=1)
        values.append(value)
        outputs.append(first.astype(np.int32))
    return np.concatenate(values), np.concatenate(outputs)


def last_left(grid: Grid) -> NDArray[np.float64]:
    """Return the largest float64 that each cut of a grid sends left; categorical cuts stay as they are."""
    out = grid.cuts.copy()
    for used_feature in np.flatnonzero(~grid.categorical).tolist():
        cuts = grid.cuts_of(used_feature)
        # A split x <= inf sends all numbers left, so its last number is inf, not the number before the edge.
        everything = (cuts == np.inf) & grid.less_equal
        with np.errstate(over="ignore"):
            edges = np.where(everything, np.inf, np.nextafter(grid.edges(used_feature), -np.inf))
        if (edges == -np.inf).any() and not grid.less_equal:
            raise ValueError(
                "cannot sum models if one of them splits at -inf, as one does in column "
                f"{grid.features[used_feature]}. Train without infinite values"
            )
        out[grid.cut_ptr[used_feature] : grid.cut_ptr[used_feature + 1]] = edges
    return out


def _to_nodes(term: Term) -> Nodes:
    """Return a member's nodes, whose thresholds are for ``<=`` in float64."""
    ensemble, trees, grid = term.ensemble, term.ensemble.trees, term.ensemble.grid
    assert trees is not None  # `read_member` raised otherwise.
    inner, numeric = trees.left >= 0, (trees.left >= 0) & (trees.mask < 0)
    used_feature = trees.used_feature.astype(np.int64)
    feature = np.zeros(len(inner), np.int64)
    feature[inner] = term.columns[grid.features[used_feature[inner]]]
    threshold = np.zeros(len(inner))
    threshold[numeric] = last_left(grid)[grid.cut_ptr[used_feature[numeric]] + trees.cut[numeric]]
    categories, listed_right = {}, np.zeros(len(inner), dtype=bool)
    for node in np.flatnonzero(trees.mask >= 0).tolist():
        cuts = grid.cuts_of(used_feature[node])
        goes_left = trees.masks[trees.mask[node] : trees.mask[node] + len(cuts) + 1] != 0
        # Unlisted categories go the same way as missing values (the last bin), so the others are listed.
        listed_right[node] = goes_left[-1]
        categories[node] = cuts[goes_left[:-1] != goes_left[-1]].astype(np.int64)
    value = np.zeros((len(inner), ensemble.value.shape[1]))
    value[trees.leaf >= 0] = term.weight * ensemble.value[trees.leaf[trees.leaf >= 0]]
    first_leaf = ensemble.tree_ptr[:-1]
    return Nodes(
        roots=trees.roots,
        left=trees.left.astype(np.int64),
        right=trees.right.astype(np.int64),
        feature=feature,
        threshold=threshold,
        missing_left=trees.missing_left != 0,
        value=value,
        output=ensemble.output[first_leaf] + np.int32(term.first_output),
        base=np.empty(0),  # `sum_of_ensembles` adds the bases.
        cover_ratio=ensemble.cover_ratio,
        categories=categories,
        listed_right=listed_right,
    )
