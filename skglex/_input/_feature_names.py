"""Names of features, and how users point at them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._input._rows import is_frame


def list_features(
    features: Any, names: list[str], *, X: Any = None, parameter: str = "features"
) -> list[Any]:
    """The names and positions in what a user passed; a mask or a slice becomes the positions it stands for.

    Parameters
    ----------
    features : str, int, iterable of these, boolean mask, slice or callable
        A callable gets the data frame ``X`` and returns any of the other forms.
    names : list of str
        Names of all features, in order.
    X : data frame, optional
    parameter : str
        Name of the parameter, for messages.
    """
    if callable(features):
        if not is_frame(X):
            raise ValueError(f"{parameter} is a callable, which needs a data frame; got {type(X).__name__}")
        features = features(X)
    if isinstance(features, slice):
        features = range(*features.indices(len(names)))
    if isinstance(features, (str, int, np.integer)):
        features = [features]
    if not isinstance(features, Iterable):
        raise ValueError(f"{parameter} must be names, positions, a mask or a callable; got {features!r}")
    items = list(features)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != len(names):
            raise ValueError(
                f"{parameter} is a mask of length {len(items)}, but there are {len(names)} features"
            )
        items = np.flatnonzero(items).tolist()
    return items


def resolve_features(
    features: Any, names: list[str], *, X: Any = None, parameter: str = "features"
) -> list[int]:
    """Positions of the features that a user named; parameters as in `list_features`."""
    items = list_features(features, names, X=X, parameter=parameter)
    return [_position(item, names, parameter) for item in items]


def _position(item: Any, names: list[str], parameter: str) -> int:
    if isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_)):
        if not -len(names) <= item < len(names):
            raise ValueError(f"{parameter} names the feature {item}, but there are {len(names)} features")
        return int(item) % len(names)
    if isinstance(item, str) and item in names:
        if names.count(item) > 1:
            raise ValueError(f"{parameter} names {item!r}, which {names.count(item)} columns are called")
        return names.index(item)
    shown = ", ".join(repr(name) for name in names[:20]) + (", ..." if len(names) > 20 else "")
    raise ValueError(f"{parameter} names the unknown feature {item!r}; known are {shown}")


@dataclass(frozen=True)
class FeatureGroups:
    """Features, some of them joined into groups that count as one.

    Attributes
    ----------
    names : list of str
        Name of each player: a feature on its own, or a group (at its first member's position).
    of_feature : ndarray of shape (n_features,), int64
        The player of every feature.
    grouped : bool
    """

    names: list[str]
    of_feature: NDArray[np.int64]
    grouped: bool

    def resolve(self, features: Any, feature_names: list[str], *, X: Any) -> list[int]:
        """Players that a user named; a feature that belongs to a group is none."""
        if not self.grouped:
            return resolve_features(features, self.names, X=X)
        out = []
        for item in list_features(features, feature_names, X=X):
            if isinstance(item, str) and item in self.names:
                out.append(self.names.index(item))
                continue
            position = resolve_features(item, feature_names)[0]
            player = int(self.of_feature[position])
            if self.names[player] != feature_names[position]:
                raise ValueError(
                    f"features names {feature_names[position]!r}, which belongs to the group "
                    f"{self.names[player]!r}: name the group"
                )
            out.append(player)
        return out


def group_features(groups: Mapping[str, Any] | None, names: list[str]) -> FeatureGroups:
    """Join features into groups; those in no group stand on their own."""
    n = len(names)
    if not groups:
        return FeatureGroups(list(names), np.arange(n), False)
    group_of: dict[int, str] = {}
    for group, columns in groups.items():
        members = resolve_features(columns, names, parameter=f"feature_groups[{group!r}]")
        if not members:
            raise ValueError(f"feature_groups[{group!r}] is empty")
        for position in members:
            if group_of.setdefault(position, group) != group:
                raise ValueError(
                    f"feature_groups puts {names[position]!r} into both {group_of[position]!r} and {group!r}"
                )
    player_names: list[str] = []
    of_feature = np.empty(n, np.int64)
    at: dict[str, int] = {}
    for position in range(n):
        own = group_of.get(position)
        if own is None or own not in at:
            if own is not None:
                at[own] = len(player_names)
            of_feature[position] = len(player_names)
            player_names.append(names[position] if own is None else str(own))
        else:
            of_feature[position] = at[own]
    alone = {names[position] for position in range(n) if position not in group_of}
    if clash := alone & set(at):
        raise ValueError(f"feature_groups uses the name {sorted(clash)[0]!r}, which another feature has")
    return FeatureGroups(player_names, of_feature, True)


_CLEAN = str.maketrans("[]<", "___")


def column_names(names: list[str], sets: list[tuple[int, ...]], separator: str) -> list[str]:
    """Names of components, fit for use as XGBoost feature names; two that would be equal raise."""
    members = [[names[i] for i in own] for own in sets]
    columns = [(separator.join(own).translate(_CLEAN), f"the component of {own}") for own in members]
    return _distinct(columns, "called", "rename a feature or choose another separator")


def output_names(components: list[str], *, remainder: bool, labels: list[Any] | None) -> list[str]:
    """Names of all columns, for every label where there are any; two that would be equal raise."""
    block = [(name, f"the component {name!r}") for name in components]
    if remainder:
        block.append(("remainder", "the remainder"))
    if labels is not None:
        block = [
            (f"{label}__{name}".translate(_CLEAN), f"{what} of {str(label)!r}")
            for label in labels
            for name, what in block
        ]
    way_out = "rename a feature or a class" + (", or set remainder=False" if remainder else "")
    return _distinct(block, "the column", way_out)


def _distinct(columns: list[tuple[str, str]], called: str, way_out: str) -> list[str]:
    """The names among names and what they stand for; two that are equal raise."""
    seen: dict[str, str] = {}
    for name, what in columns:
        if name in seen:
            raise ValueError(f"{seen[name]} and {what} would both be {called} {name!r}: {way_out}")
        seen[name] = what
    return list(seen)
