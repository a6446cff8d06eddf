"""Describe a change of the components of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

# For each kind of edit its values, with their defaults; `...` stands for a value that has to be given.
_VALUES: dict[str, dict[str, Any]] = {
    "scale": {"factor": ...},
    "set": {"value": ..., "where": None},
    "cap": {"lower": None, "upper": None},
    "smooth": {"strength": 1.0},
    "monotonize": {"increasing": True, "method": "joint"},
    "round_to": {"step": ...},
    "merge_levels": {"levels": ...},
}


@dataclass(frozen=True, init=False, repr=False)
class Edit:
    """Describe one change of the components that a `~skglex.ComponentModel` keeps.

    Edits are compared by value, never change, and can be used as keys. The methods of `~skglex.ComponentModel` with
    the names of the kinds make them; the page "Edit and certify components" describes what each kind does.

    Parameters
    ----------
    kind : {"scale", "set", "cap", "smooth", "monotonize", "round_to", "merge_levels"}
        What is done.
    term : str, int, Component or tuple of these, default=None
        The component that is edited, as in ``decomposer[term]``. For ``"monotonize"`` and ``"merge_levels"``, the
        feature whose components are edited. For ``"round_to"``, None stands for all components and the intercept.
    **values : dict
        The values of the kind:

        - ``"scale"``: ``factor``;
        - ``"set"``: ``value``, ``where=None``;
        - ``"cap"``: ``lower=None``, ``upper=None``;
        - ``"smooth"``: ``strength=1.0``;
        - ``"monotonize"``: ``increasing=True``, ``method="joint"``;
        - ``"round_to"``: ``step``;
        - ``"merge_levels"``: ``levels``.

    Attributes
    ----------
    kind : str
    term : object
    items : tuple of tuple
        The names of the values and the values, which are hashable: a list became a frozenset, a dict a tuple.
    values : dict
        The values by name.

    Raises
    ------
    TypeError
        A value is missing, or the kind has no value of this name.
    ValueError
        The kind is unknown.

    Examples
    --------
    >>> from skglex.components import Edit
    >>> edit = Edit("scale", ("hr", "temp"), factor=0.5)
    >>> edit
    Edit('scale', ('hr', 'temp'), factor=0.5)
    >>> edit == Edit("scale", ("hr", "temp"), factor=0.5), edit.values
    (True, {'factor': 0.5})
    """

    kind: str
    term: Any
    items: tuple[tuple[str, Any], ...]

    def __init__(self, kind: str, term: Any = None, **values: Any) -> None:
        if kind not in _VALUES:
            raise ValueError(f"there is no edit of the kind {kind!r}; expected one of {list(_VALUES)}")
        known = _VALUES[kind]
        if unknown := [name for name in values if name not in known]:
            raise TypeError(f"an edit of the kind {kind!r} has no value {unknown[0]!r}; it has {list(known)}")
        if missing := [name for name, default in known.items() if default is ... and name not in values]:
            raise TypeError(f"an edit of the kind {kind!r} needs the value {missing[0]!r}")
        if term is None and kind != "round_to":
            raise TypeError(f"an edit of the kind {kind!r} needs a term, the component or feature to edit")
        given = {name: _freeze(values.get(name, default)) for name, default in known.items()}
        set_value = object.__setattr__
        set_value(self, "kind", kind)
        set_value(self, "term", _freeze_term(term))
        set_value(self, "items", tuple(given.items()))

    @property
    def values(self) -> dict[str, Any]:
        """Return the values by name."""
        return dict(self.items)

    def __repr__(self) -> str:
        values = [f"{name}={_show(value)}" for name, value in self.items if value != _VALUES[self.kind][name]]
        term = [] if self.term is None else [repr(self.term)]
        return f"Edit({', '.join([repr(self.kind), *term, *values])})"


def _freeze_term(term: Any) -> Any:
    term = getattr(term, "features", term)
    if isinstance(term, (list, set, frozenset)):
        return tuple(sorted(term, key=str) if isinstance(term, (set, frozenset)) else term)
    return term.item() if isinstance(term, np.generic) else term


def _freeze(value: Any) -> Any:
    """Return a hashable copy: an array, a list or a set as a frozenset, a mapping as a sorted tuple of pairs."""
    if isinstance(value, Mapping):
        return tuple(
            sorted(((key, _freeze(item)) for key, item in value.items()), key=lambda pair: str(pair[0]))
        )
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return tuple(map(_freeze, value))
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return frozenset(map(_freeze, value.tolist() if isinstance(value, np.ndarray) else value))
    return value


def _show(value: Any) -> str:
    return repr(sorted(value, key=str)) if isinstance(value, frozenset) else repr(value)
