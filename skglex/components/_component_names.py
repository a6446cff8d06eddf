"""Find the features that a user's name of a component stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skglex._utils import suggest


@dataclass(frozen=True)
class ComponentNames:
    """Resolve a component's name, or its features in any order.

    Attributes
    ----------
    names : list of str
        Names of all features and groups, in order.
    separator : str
        String between the features in the name of a component.
    grouped : dict of str to str
        The group of each feature that belongs to one.
    """

    names: list[str]
    separator: str
    grouped: dict[str, str]

    def members(self, key: Any) -> tuple[int, ...]:
        """Return the positions of a component's features, increasing.

        Parameters
        ----------
        key : str, Component, or tuple, list or set of str and int
            The name of a feature, the features' names joined by the separator in any order, or names and positions.

        Raises
        ------
        KeyError
            A name is unknown, or a position does not exist.
        TypeError
            The key is a table of rows.
        """
        key = getattr(key, "features", key)
        if isinstance(key, np.ndarray) and key.ndim == 1:
            key = key.tolist()
        if hasattr(key, "shape") and len(key.shape) > 1:
            raise TypeError(
                f"expected the name of a feature or a component, or names in a list; got a {type(key).__name__}. If "
                "these are rows, pass X=rows"
            )
        if isinstance(key, str) and key not in self.names:
            parts = self._split(key)
            key = [key] if parts is None else parts
        items = key if isinstance(key, (tuple, list, set, frozenset)) else [key]
        return tuple(sorted({self._position(item) for item in items}))

    def _split(self, key: str) -> list[str] | None:
        """Split a component's name into names of features, which may contain the separator."""
        if key in self.names:
            return [key]
        for name in self.names:
            if key.startswith(name + self.separator):
                rest = self._split(key[len(name + self.separator) :])
                if rest is not None:
                    return [name, *rest]
        return None

    def _position(self, item: Any) -> int:
        names = self.names
        if isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_)):
            if -len(names) <= item < len(names):
                return int(item) % len(names)
            raise KeyError(f"there is no feature at position {item}: there are {len(names)} features")
        if item in names:
            return names.index(item)
        if item in self.grouped:
            raise KeyError(
                f"{item!r} belongs to the feature group {self.grouped[item]!r}. Pass the name of the group"
            )
        # Of the name of an interaction, only some parts may be wrong.
        parts = str(item).split(self.separator)
        unknown = next((part for part in parts if part not in names), str(item))
        feature = repr(item) if unknown == str(item) else f"{unknown!r} (in {item!r})"
        raise KeyError(f"there is no feature {feature}. {suggest(unknown, names)}")
