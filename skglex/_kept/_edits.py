"""Apply edits to the tables of kept components."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from skglex._decomposition import Explained
from skglex._input import resolve_features
from skglex._kept._choice import names_of
from skglex._kept._kept_components import KeptComponents
from skglex._kept._monotonize import monotonize
from skglex._leaves import Background
from skglex._utils import list_names
from skglex.components import Axis, Edit

# A cell without background counts as a thousandth of the mean cell.
EMPTY_SHARE = 1e-3


def apply_edit(kept: KeptComponents, edit: Edit, view: Explained) -> KeptComponents:
    """Return the components after an edit.

    Raises
    ------
    ValueError
        The edit names something that is not there, or one of its values is invalid.
    """
    return _KINDS[edit.kind](kept, edit, view)


def _scale(kept: KeptComponents, edit: Edit, view: Explained) -> KeptComponents:
    position = find_term(kept, edit, view)
    return kept.with_values({position: kept.terms[position].values * _number(edit, "factor")})


def _set(kept: KeptComponents, edit: Edit, view: Explained) -> KeptComponents:
    position = find_term(kept, edit, view)
    term = kept.terms[position]
    value = edit.values["value"]
    numbers = np.asarray(value if isinstance(value, tuple) else (value,), dtype=np.float64)
    if len(numbers) not in (1, kept.n_outputs) or not np.isfinite(numbers).all():
        raise ValueError(f"{edit}: value must be a finite number, or a tuple of one per output")
    where = dict(edit.values["where"] or ())
    chosen = [np.arange(axis.n_bins) for axis in term.axes]
    for feature, wanted in where.items():
        axes = [i for i, axis in enumerate(term.axes) if axis.feature == str(feature)]
        if not axes:
            raise ValueError(
                f"{edit}: where names {feature!r}, but the features of {term.name!r} are "
                f"{[axis.feature for axis in term.axes]}"
            )
        chosen[axes[0]] = select_bins(term.axes[axes[0]], wanted, edit)
    values = term.values.copy()
    values[np.ix_(*chosen)] = numbers
    return kept.with_values({position: values})


def _cap(kept: KeptComponents, edit: Edit, view: Explained) -> KeptComponents:
    position = find_term(kept, edit, view)
    limits = [-np.inf, np.inf]
    for i, name in enumerate(("lower", "upper")):
        if edit.values[name] is not None:
            limits[i] = _number(edit, name)
    if limits == [-np.inf, np.inf] or limits[0] > limits[1]:
        raise ValueError(f"{edit}: expected lower, upper, or both, and lower <= upper")
    return kept.with_values({position: np.clip(kept.terms[position].values, limits[0], limits[1])})


def _smooth(kept: KeptComponents, edit: Edit, view: Explained) -> KeptComponents:
    """Minimize ``sum(w * (s - v)**2) + strength * mean(w) * sum((change of s between neighbours)**2)``."""
    position, strength = find_term(kept, edit, view), _number(edit, "strength")
    term = kept.terms[position]
    if strength < 0:
        raise ValueError(f"{edit}: strength must not be negative")
    if term.order > 2:
        raise ValueError(
            f"{edit}: smooth takes main effects and pairs, but {term.name!r} has order {term.order}. Use scale, set or "
            "cap, or drop the term"
        )
    weight = cell_weights(kept, position, view).ravel()
    shape = term.values.shape[:-1]
    cell = np.arange(weight.size).reshape(shape)
    pairs = []
    for i, axis in enumerate(term.axes):
        if not axis.categorical:  # Missing, and categories, have no neighbours.
            numbers = np.take(cell, np.arange(axis.missing), axis=i)
            pairs.append((np.delete(numbers, 0, axis=i).ravel(), np.delete(numbers, -1, axis=i).ravel()))
    upper, lower = (np.concatenate([np.empty(0, np.int64), *side]) for side in zip(*pairs, ([], [])))
    n = len(upper)
    difference = sp.csr_matrix(
        (np.repeat([1.0, -1.0], n), (np.tile(np.arange(n), 2), np.concatenate([upper, lower]))),
        shape=(n, weight.size),
    )
    system = sp.diags(weight) + strength * weight.mean() * (difference.T @ difference)
    target = weight[:, None] * term.values.reshape(weight.size, -1)
    smoothed = splu(system.tocsc()).solve(target)
    return kept.with_values({position: smoothed.reshape(term.values.shape)})


def _round(kept: KeptComponents, edit: Edit, view: Explained) -> KeptComponents:
    step = _number(edit, "step")
    if not step > 0:
        raise ValueError(f"{edit}: step must be positive")

    def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
        # 0.1 is not 1 / 10 in binary, so multiples of steps below 1 are taken as quotients.
        whole = 1 / step
        if step < 1 and abs(whole - round(whole)) < 1e-9:
            return np.round(values * round(whole)) / round(whole)
        return np.round(values / step) * step

    if edit.term is not None:
        position = find_term(kept, edit, view)
        return kept.with_values({position: rounded(kept.terms[position].values)})
    return kept.with_values(
        {i: rounded(term.values) for i, term in enumerate(kept.terms)}, rounded(kept.intercept)
    )


def _merge_levels(kept: KeptComponents, edit: Edit, view: Explained) -> KeptComponents:
    """Replace the values of some bins of a feature by their mean, weighted by the background."""
    having, column = terms_with(kept, edit, view)
    changed = {}
    for position in having:
        term = kept.terms[position]
        i = term.columns.index(column)
        bins = select_bins(term.axes[i], edit.values["levels"], edit)
        weight = np.moveaxis(cell_weights(kept, position, view), i, 0)[bins][..., None]
        values = np.moveaxis(term.values.copy(), i, 0)
        values[bins] = (weight * values[bins]).sum(axis=0) / weight.sum(axis=0)
        changed[position] = np.ascontiguousarray(np.moveaxis(values, 0, i))
    return kept.with_values(changed)


def _monotonize(kept: KeptComponents, edit: Edit, view: Explained) -> KeptComponents:
    having, column = terms_with(kept, edit, view)
    increasing, method = edit.values["increasing"], edit.values["method"]
    if method not in ("joint", "each") or not isinstance(increasing, (bool, np.bool_)):
        raise ValueError(f"{edit}: expected increasing=True or False, and method='joint' or 'each'")
    name = view.feature_names[column]
    if kept.rest is not None:
        raise ValueError(
            f"{edit}: the remainder, which has no tables, cannot be made monotone. Set remainder=False, and "
            "max_interaction=2"
        )
    if high := [kept.terms[i].name for i in having if kept.terms[i].order > 2]:
        raise ValueError(
            f"{edit}: only main effects and pairs can be made monotone, but {name!r} is in {high[0]!r}"
            + (f" and {len(high) - 1} other terms of order 3 and more" if len(high) > 1 else "")
            + ". Set max_interaction=2, or drop these terms"
        )
    player = int(view.groups.of_feature[column])
    if any(
        len([c for c in kept.terms[i].columns if view.groups.of_feature[c] == player]) > 1 for i in having
    ):
        raise ValueError(
            f"{edit}: {name!r} shares the group {view.groups.names[player]!r} with other columns, so that its terms "
            "are not functions of a single number. Fit with this column outside of the group"
        )
    terms = [kept.terms[i] for i in having]
    if terms[0].axes[terms[0].columns.index(column)].categorical:
        raise ValueError(
            f"{edit}: {name!r} is categorical, so its values have no order. Use merge_levels or set"
        )
    weights = [cell_weights(kept, i, view) for i in having]
    values = monotonize(terms, weights, column, increasing=bool(increasing), joint=method == "joint")
    return kept.with_values(dict(zip(having, values)))


_KINDS: dict[str, Callable[[KeptComponents, Edit, Explained], KeptComponents]] = {
    "scale": _scale,
    "set": _set,
    "cap": _cap,
    "smooth": _smooth,
    "monotonize": _monotonize,
    "round_to": _round,
    "merge_levels": _merge_levels,
}


def find_term(kept: KeptComponents, edit: Edit, view: Explained) -> int:
    """Return the position of the term that an edit names."""
    try:
        members = names_of(view).members(edit.term)
    except KeyError as error:
        raise ValueError(f"{edit}: {error.args[0]}") from error
    position = kept.find(members)
    if position is None:
        names = list_names([term.name for term in kept.terms], "terms of the model")
        raise ValueError(f"{edit}: there is no such term in the model. {names}")
    return position


def terms_with(kept: KeptComponents, edit: Edit, view: Explained) -> tuple[list[int], int]:
    """Return the positions of the terms with the column that an edit names, and the column."""
    (column,) = resolve_features([edit.term], view.feature_names, parameter=f"{edit}: the feature")
    having = [i for i, term in enumerate(kept.terms) if column in term.columns]
    if not having:
        known = sorted({c for term in kept.terms for c in term.columns})
        shown = ", ".join(repr(view.feature_names[c]) for c in known[:20])
        raise ValueError(
            f"{edit}: no term of the model has the feature {view.feature_names[column]!r}. The features of its terms "
            f"are {shown}"
        )
    return having, column


def select_bins(axis: Axis, wanted: Any, edit: Edit) -> NDArray[np.int64]:
    """Return the bins of an axis that a user chose.

    Parameters
    ----------
    axis : Axis
    wanted : object
        A number or a category; None or NaN for missing; a frozenset of these; or, for a numeric feature, a tuple
        ``(low, high)`` of the smallest and the largest number. All bins are chosen that have one of the values.
    edit : Edit
        The edit, for error messages.
    """
    if isinstance(wanted, frozenset):
        parts = [select_bins(axis, item, edit) for item in wanted]
        return np.unique(np.concatenate([np.empty(0, np.int64), *parts]))
    if wanted is None or (isinstance(wanted, float) and np.isnan(wanted)):
        return np.array([axis.missing])
    if axis.categorical:
        known = axis.edges.tolist()
        if wanted not in known:
            raise ValueError(
                f"{edit}: the model has no bin for the category {wanted!r} of {axis.feature!r}. It has bins for "
                f"{known[:30]}"
            )
        return np.array([known.index(wanted)])
    ends = wanted if isinstance(wanted, tuple) else (wanted, wanted)
    if len(ends) != 2 or not all(isinstance(end, (int, float)) for end in ends) or not ends[0] <= ends[1]:
        raise ValueError(
            f"{edit}: {axis.feature!r} is numeric, so expected a number, a tuple (low, high), a list of these or None "
            f"for missing; got {wanted!r}"
        )
    first, last = np.searchsorted(axis.edges, ends, side="right")
    return np.arange(first, last + 1)


def cell_weights(kept: KeptComponents, position: int, view: Explained) -> NDArray[np.float64]:
    """Return the share of the background in each cell of a term's table; no cell has less than `EMPTY_SHARE` says."""
    term = kept.terms[position]
    shape = term.values.shape[:-1]
    layout = kept.tables.tables(view.execution).layout
    compute = partial(_shares, layout=layout, position=position, n_cells=int(np.prod(shape)))
    share = np.asarray(view.background.average(compute))
    return np.maximum(share, EMPTY_SHARE / share.size).reshape(shape)


def _shares(background: Background, *, layout: Any, position: int, n_cells: int) -> NDArray[np.float64]:
    cell = np.zeros(len(background.weight), np.int64)
    for a in range(layout.axes.ptr[position], layout.axes.ptr[position + 1]):
        bins = background.bins[layout.axes.feature[a]]
        cell += layout.stride[a] * layout.maps[layout.map_ptr[a] :][bins]
    return np.asarray(np.bincount(cell, background.weight / background.total, n_cells))


def _number(edit: Edit, name: str) -> float:
    value = edit.values[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise ValueError(f"{edit}: {name} must be a finite number")
    return float(value)


def check_edits(edits: Any) -> tuple[Edit, ...]:
    """Return the edits of a parameter; raise unless it is a sequence of them."""
    if isinstance(edits, Edit):
        edits = (edits,)
    found = tuple(edits) if isinstance(edits, Iterable) else (edits,)
    for edit in found:
        if not isinstance(edit, Edit):
            raise ValueError(
                f"edits must be a sequence of skglex.components.Edit, such as [Edit('scale', 'age', factor=0.5)]; got "
                f"{edit!r}"
            )
    return found
