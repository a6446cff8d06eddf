"""Choose the components of a fitted decomposer that are kept, and take their tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, ListedComponents, component_means
from skglex._kept._kept_components import KeptComponents, Rest, Term
from skglex._leaves import LeafEnsemble, LeafSum
from skglex.components import Component, ComponentNames
from skglex.exceptions import StreamedComponentsWarning

Members = tuple[int, ...]


def names_of(view: Explained) -> ComponentNames:
    """Return what resolves the names of components."""
    grouped = view.groups.group_of(view.feature_names)
    return ComponentNames(view.groups.names, view.estimator.separator, grouped)


def resolve_terms(choice: Any, view: Explained, parameter: str) -> list[Members]:
    """Return the features of each component that a user chose, without those that are zero everywhere.

    Parameters
    ----------
    choice : str, Component, callable, or iterable of names, tuples and Component
        A callable gets each listed `~skglex.components.Component`, and returns whether it is chosen.
    view : Explained
    parameter : str
        Name of the parameter, for error messages.

    Raises
    ------
    ValueError
        A name is unknown.
    """
    names = names_of(view)
    if callable(choice):
        return [names.members(c.features) for c in view.estimator.components_ if choice(c)]
    if isinstance(choice, (str, Component)) or not isinstance(choice, Iterable):
        choice = [choice]
    chosen = []
    for item in choice:
        try:
            chosen.append(names.members(item))
        except KeyError as error:
            raise ValueError(f"{parameter} contains {item!r}, but {error.args[0]}") from error
    return [members for members in dict.fromkeys(chosen) if view.decomposition.together(members)]


def listed_or_pairs(view: Explained, *, rest: bool) -> ListedComponents:
    """Return the listed components, or, if there are too many and a rest may keep them, those up to order 2."""
    try:
        return view.listed
    except ValueError:
        if not rest:
            raise
        return view.components_up_to(2, least=1)


def importances_of(view: Explained, sets: Sequence[Members]) -> NDArray[np.float64]:
    """Return the mean absolute value over the background of some components, summed over the outputs."""
    out = np.empty(len(sets))
    listed = [view.find(members) for members in sets]
    for kind in {id(found): found for found, _ in listed}.values():
        at = [i for i, (found, _) in enumerate(listed) if found is kind]
        positions = np.array([listed[i][1] for i in at])
        means = component_means(kind, view.background, positions, execution=view.execution)
        out[at] = means.sum(axis=1)
    return out


def strongest(view: Explained, sets: list[Members], n_terms: int) -> list[Members]:
    """Return the components with the largest importance, in their own order."""
    if len(sets) <= n_terms:
        return sets
    ranking = np.argsort(-importances_of(view, sets), kind="stable")[:n_terms]
    return [sets[i] for i in sorted(ranking)]


def keep(
    view: Explained, kept: list[Members], dropped: list[Members], *, everything: bool, remainder: bool
) -> KeptComponents:
    """Take the tables of the kept components.

    Parameters
    ----------
    view : Explained
    kept, dropped : list of tuple of int
        The features of the components. All others are the remainder.
    everything : bool
        Whether the kept and the dropped components are all that the model has. Those that have no table then stay in
        the remainder, from which the dropped ones are subtracted.
    remainder : bool
        Whether the remainder stays in the prediction.

    Raises
    ------
    ValueError
        A table would be too large.
    """
    ensemble = view.source.ensemble
    whole = not dropped and (everything or remainder)
    if everything and not remainder and not _all_tabulated(view):
        kept, remainder = [members for members in kept if len(members) <= 2], True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamedComponentsWarning)
        terms = tuple(_take_table(view, members) for members in kept)
        rest = None
        if remainder:
            out = tuple(_take_table(view, members) for members in dropped)
            rest = Rest(LeafSum(ensemble), view.intercept, (*terms, *out))
    return KeptComponents(view.intercept, terms, view.grid, rounding_of_tables(ensemble), rest, whole)


def _all_tabulated(view: Explained) -> bool:
    try:
        listed = view.listed
    except ValueError:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamedComponentsWarning)
        return bool(listed.layout(view.execution).tabulated.all())


def _take_table(view: Explained, members: Members) -> Term:
    """Return the table of one component."""
    listed, position = view.find(members)
    axes, values = listed.table(
        position, view.fitted.column_names, view.source.input.categories, view.execution
    )
    columns = tuple(view.feature_names.index(axis.feature) for axis in axes)
    (name,) = view.component_names(listed, [position])
    values = np.ascontiguousarray(values)
    values.flags.writeable = False
    return Term(members, name, columns, axes, values)


def rounding_of_tables(ensemble: LeafEnsemble) -> NDArray[np.float64]:
    """Return a bound on the rounding of a sum of tables, per output.

    A cell is a sum of corners of leaves, each a product of a leaf's value and of a weight of at most one. With n
    additions of numbers, the rounding is at most n epsilon times the sum of their absolute values.
    """
    scale = np.abs(ensemble.base)
    np.add.at(
        scale, ensemble.output[:, None] + np.arange(ensemble.value.shape[1]), 4 * np.abs(ensemble.value)
    )
    n_additions = 4 * ensemble.n_leaves + 2 * int(ensemble.grid.n_bins.max(initial=0))
    return np.asarray(np.finfo(np.float64).eps * n_additions * scale)
