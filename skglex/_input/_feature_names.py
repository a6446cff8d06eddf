"""Resolve the features that users name, join features into groups, and name the columns of the output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._input._rows import is_frame, name_of
from skglex._utils import suggest, warn_user
from skglex.exceptions import JoinedFeaturesWarning


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
        features = _named_positions(range(*features.indices(len(names))), names)
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
        items = _named_positions(np.flatnonzero(items).tolist(), names)
    return items


def _named_positions(positions: Iterable[int], names: list[str]) -> list[Any]:
    """Return positions; as names, where columns are called by numbers, which would be taken for names."""
    return [names[position] if str(position) in names else position for position in positions]


def resolve_features(
    features: Any, names: list[str], *, X: Any = None, parameter: str = "features"
) -> list[int]:
    """Return the positions of a user's choice of features; parameters as in `list_features`."""
    items = list_features(features, names, X=X, parameter=parameter)
    return [_position(item, names, parameter) for item in items]


def _position(item: Any, names: list[str], parameter: str) -> int:
    """Return the position of a column that a user names by its label, or by its position if no label is equal to it."""
    name = name_of(item)
    if name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{parameter} contains the name {item!r}, but {names.count(name)} columns have it. Pass the position "
                "of one of them"
            )
        return names.index(name)
    if isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_)):
        if not -len(names) <= item < len(names):
            raise ValueError(
                f"{parameter} contains the position {item}, but there are {len(names)} features. Pass a position from "
                f"{-len(names)} to {len(names) - 1}"
            )
        return int(item) % len(names)
    known = suggest(item, names)
    if isinstance(item, str) and names == [f"x{i}" for i in range(len(names))]:
        known = (
            f"The features are 'x0' to 'x{len(names) - 1}', since the columns have no names. If {item!r} is a column "
            "before a preprocessing, pass the pipeline with the preprocessing as the model"
        )
    raise ValueError(f"{parameter} contains the unknown feature {item!r}. {known}")


@dataclass(frozen=True)
class FeatureGroups:
    """Assign features to players: each player is a single feature or a group of features.

    Attributes
    ----------
    names : list of str
        Name of each player. A group stands at the position of its first member.
    of_feature : ndarray of shape (n_features,), int64
        The player of every feature.
    members : dict of str to list of str
        The names of the columns of every group.
    raw : mapping of str to tuple of int
        The features that the preprocessing computes from each raw column, by the name of the raw column.
    of_derived : ndarray of shape (n_derived,), int64
        The player of every column that the model itself derives from its features.
    one_hot : tuple of str
        The groups whose columns are zeros and ones in the background, with at most one 1 in a row.
    """

    names: list[str]
    of_feature: NDArray[np.int64]
    members: dict[str, list[str]]
    raw: Mapping[str, tuple[int, ...]]
    one_hot: tuple[str, ...] = ()
    of_derived: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def of_column(self) -> NDArray[np.int64]:
        """Return the player of every feature, then of every derived column."""
        return np.concatenate([self.of_feature, self.of_derived])

    def with_derived(self, derived: tuple[tuple[int, ...], ...], feature_names: list[str]) -> FeatureGroups:
        """Assign the columns that the model derives from several features; raise if these are several players."""
        for members in derived:
            if len(set(self.of_feature[list(members)].tolist())) > 1:
                names = [feature_names[i] for i in members]
                raise ValueError(
                    f"the model splits on combinations of features, such as {names}, which must count as one feature. "
                    "Set feature_groups='auto', or list them in one group of feature_groups; or train the model with "
                    "max_ctr_complexity=1. FeatureRemover needs no groups"
                )
        players = [self.of_feature[members[0]] for members in derived]
        return replace(self, of_derived=np.array(players, dtype=np.int64))

    @property
    def grouped(self) -> bool:
        """Return whether there are groups."""
        return bool(self.members)

    def columns_of(self, player: str) -> NDArray[np.int64]:
        """Return the positions of the features of a player."""
        return np.flatnonzero(self.of_feature == self.names.index(player))

    def group_of(self, feature_names: list[str]) -> dict[str, str]:
        """Return the group of each feature that belongs to one."""
        players = [self.names[player] for player in self.of_feature]
        return {name: player for name, player in zip(feature_names, players) if name not in self.names}

    def resolve(self, features: Any, feature_names: list[str], *, X: Any) -> list[int]:
        """Return the positions of the players that a user names; raise if a feature belongs to a group.

        A name is that of a group, else that of a raw column, which stands for all features computed from it, else that
        of a feature.
        """
        out: list[int] = []
        for item in list_features(features, feature_names, X=X):
            if isinstance(item, str) and item in self.members:
                out.append(self.names.index(item))
                continue
            positions = _features_of(item, feature_names, self.raw, "features")
            for player in dict.fromkeys(self.of_feature[positions].tolist()):
                outside = set(np.flatnonzero(self.of_feature == player).tolist()) - set(positions)
                if self.names[player] in self.members and outside:
                    raise ValueError(
                        f"features contains {feature_names[positions[0]]!r}, which belongs to the group "
                        f"{self.names[player]!r}. Pass the name of the group"
                    )
                out.append(player)
        return list(dict.fromkeys(out))


def _features_of(
    item: Any, names: list[str], raw: Mapping[str, tuple[int, ...]], parameter: str
) -> list[int]:
    """Return the features that a name or a position stands for; a name is first searched among the raw columns."""
    if name_of(item) in raw:
        return list(raw[name_of(item)])
    known = [*names, *(name for name in raw if name not in names)]
    return resolve_features(
        [item], names if isinstance(item, (int, np.integer)) else known, parameter=parameter
    )


def group_features(
    groups: Mapping[str, Any] | None, names: list[str], raw: Mapping[str, tuple[int, ...]] | None = None
) -> FeatureGroups:
    """Join features into groups; every other feature is a player by itself.

    Members may be names of raw columns, which are searched first; ``raw`` maps them to features.
    """
    raw = raw or {}
    group_of: dict[int, str] = {}
    members: dict[str, list[str]] = {}
    for group, columns in (groups or {}).items():
        parameter = f"feature_groups[{group!r}]"
        items = list_features(columns, names, parameter=parameter)
        positions = [i for item in items for i in _features_of(item, names, raw, parameter)]
        if not positions:
            raise ValueError(f"{parameter} is empty. List at least one column, or drop the group")
        members[str(group)] = [names[i] for i in dict.fromkeys(positions)]
        for position in positions:
            if group_of.setdefault(position, str(group)) != str(group):
                raise ValueError(
                    f"feature_groups contains {names[position]!r} in both {group_of[position]!r} and {group!r}. A "
                    "column may be in one group only"
                )
    player_names: list[str] = []
    of_feature = np.empty(len(names), np.int64)
    player_of_group: dict[str, int] = {}
    for position, name in enumerate(names):
        feature_group = group_of.get(position)
        if feature_group is None:
            of_feature[position] = len(player_names)
            player_names.append(name)
            continue
        if feature_group not in player_of_group:
            player_of_group[feature_group] = len(player_names)
            player_names.append(feature_group)
        of_feature[position] = player_of_group[feature_group]
    ungrouped = {name for position, name in enumerate(names) if position not in group_of}
    if clash := ungrouped & set(player_of_group):
        raise ValueError(
            f"feature_groups contains a group with the name {sorted(clash)[0]!r}, but a feature outside of the group "
            "has the same name. Rename the group"
        )
    return FeatureGroups(player_names, of_feature, members, raw)


def warn_of_joined_features(groups: FeatureGroups) -> None:
    """Warn of the groups that "auto" made since the model splits on combinations of features."""
    for player in np.unique(groups.of_derived).tolist():
        if members := groups.members.get(groups.names[player]):
            warn_user(
                f"the model splits on combinations of features, so {len(members)} features count as one: {members}. To "
                "keep them apart, train the model with max_ctr_complexity=1",
                JoinedFeaturesWarning,
            )


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
