"""Resolve the features that users name, join features into groups, and name the columns of the output."""

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
    """Return a user's choice of features as a list of names and positions.

    Parameters
    ----------
    features : str, int, iterable of these, boolean mask, slice or callable
        The choice. A mask or a slice becomes a list of positions. A callable gets the data frame ``X`` and returns
        any of the other forms.
    names : list of str
        Names of all features, in order.
    X : data frame, optional
        Rows for a callable.
    parameter : str
        Name of the parameter, for error messages.

    Returns
    -------
    list of str and int
        The names and positions, not yet compared with ``names``.

    Raises
    ------
    ValueError
        The choice has none of these forms, a callable gets no data frame, or a mask has the wrong length.
    """
    if callable(features):
        if not is_frame(X):
            raise ValueError(
                f"{parameter} is a callable, which needs a data frame; got {type(X).__name__}. Pass a data frame, "
                "or names, positions or a mask"
            )
        features = features(X)
    if isinstance(features, slice):
        features = range(*features.indices(len(names)))
    if isinstance(features, (str, int, np.integer)):
        features = [features]
    if not isinstance(features, Iterable):
        raise ValueError(
            f"{parameter} must be a name, a position, a list of these, a mask or a callable; got {features!r}"
        )
    items = list(features)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != len(names):
            raise ValueError(
                f"{parameter} is a mask of length {len(items)}, but there are {len(names)} features. Pass one boolean "
                "per feature"
            )
        items = np.flatnonzero(items).tolist()
    return items


def resolve_features(
    features: Any, names: list[str], *, X: Any = None, parameter: str = "features"
) -> list[int]:
    """Return the positions of a user's choice of features; parameters as in `list_features`."""
    items = list_features(features, names, X=X, parameter=parameter)
    return [_position(item, names, parameter) for item in items]


def _position(item: Any, names: list[str], parameter: str) -> int:
    if isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_)):
        if not -len(names) <= item < len(names):
            raise ValueError(
                f"{parameter} contains the position {item}, but there are {len(names)} features. Pass a position from "
                f"{-len(names)} to {len(names) - 1}"
            )
        return int(item) % len(names)
    if isinstance(item, str) and item in names:
        if names.count(item) > 1:
            raise ValueError(
                f"{parameter} contains the name {item!r}, but {names.count(item)} columns have it. Pass the position "
                "of one of them"
            )
        return names.index(item)
    shown = ", ".join(repr(name) for name in names[:20]) + (", ..." if len(names) > 20 else "")
    raise ValueError(f"{parameter} contains the unknown feature {item!r}. The features are {shown}")


@dataclass(frozen=True)
class FeatureGroups:
    """Assign features to players: each player is a single feature or a group of features.

    Attributes
    ----------
    names : list of str
        Name of each player. A group stands at the position of its first member.
    of_feature : ndarray of shape (n_features,), int64
        The player of every feature.
    grouped : bool
        Whether there are groups.
    """

    names: list[str]
    of_feature: NDArray[np.int64]
    grouped: bool

    def group_of(self, feature_names: list[str]) -> dict[str, str]:
        """Return the group of each feature that belongs to one."""
        players = [self.names[player] for player in self.of_feature]
        return {name: player for name, player in zip(feature_names, players) if name not in self.names}

    def resolve(self, features: Any, feature_names: list[str], *, X: Any) -> list[int]:
        """Return the positions of the players that a user names; raise if a feature belongs to a group."""
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
                    f"features contains {feature_names[position]!r}, which belongs to the group "
                    f"{self.names[player]!r}. Pass the name of the group"
                )
            out.append(player)
        return out


def group_features(groups: Mapping[str, Any] | None, names: list[str]) -> FeatureGroups:
    """Join features into groups; every other feature is a player by itself."""
    n = len(names)
    if not groups:
        return FeatureGroups(list(names), np.arange(n), False)
    group_of: dict[int, str] = {}
    for group, columns in groups.items():
        members = resolve_features(columns, names, parameter=f"feature_groups[{group!r}]")
        if not members:
            raise ValueError(
                f"feature_groups[{group!r}] is empty. List at least one column, or drop the group"
            )
        for position in members:
            if group_of.setdefault(position, group) != group:
                raise ValueError(
                    f"feature_groups contains {names[position]!r} in both {group_of[position]!r} and {group!r}. A "
                    "column may be in one group only"
                )
    player_names: list[str] = []
    of_feature = np.empty(n, np.int64)
    player_of_group: dict[str, int] = {}
    for position, name in enumerate(names):
        feature_group = group_of.get(position)
        if feature_group is None:
            of_feature[position] = len(player_names)
            player_names.append(name)
            continue
        if feature_group not in player_of_group:
            player_of_group[feature_group] = len(player_names)
            player_names.append(str(feature_group))
        of_feature[position] = player_of_group[feature_group]
    ungrouped = {names[position] for position in range(n) if position not in group_of}
    if clash := ungrouped & set(player_of_group):
        raise ValueError(
            f"feature_groups contains a group with the name {sorted(clash)[0]!r}, but a feature outside of the group "
            "has the same name. Rename the group"
        )
    return FeatureGroups(player_names, of_feature, True)


# XGBoost rejects these characters in feature names.
_CLEAN = str.maketrans("[]<", "___")


def column_names(names: list[str], sets: list[tuple[int, ...]], separator: str) -> list[str]:
    """Return the names of components, which are valid as XGBoost feature names; raise if two are equal."""
    members = [[names[i] for i in players] for players in sets]
    columns = [(separator.join(m).translate(_CLEAN), f"the component of {m}") for m in members]
    return _distinct(columns, "Rename a feature or choose another separator")


def output_names(components: list[str], *, remainder: bool, labels: list[Any] | None) -> list[str]:
    """Return the names of all columns, once per label if there are labels; raise if two are equal."""
    block = [(name, f"the component {name!r}") for name in components]
    if remainder:
        block.append(("remainder", "the remainder"))
    if labels is not None:
        block = [
            (f"{label}__{name}".translate(_CLEAN), f"{meaning} of {str(label)!r}")
            for label in labels
            for name, meaning in block
        ]
    way_out = "Rename a feature or a class" + (", or set remainder=False" if remainder else "")
    return _distinct(block, way_out)


def _distinct(columns: list[tuple[str, str]], way_out: str) -> list[str]:
    """Return the names in pairs of a name and its meaning; raise if two names are equal."""
    meanings: dict[str, str] = {}
    for name, meaning in columns:
        if name in meanings:
            raise ValueError(
                f"{meanings[name]} and {meaning} would both have the column name {name!r}. {way_out}"
            )
        meanings[name] = meaning
    return list(meanings)
