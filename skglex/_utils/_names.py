"""Help users who misspell a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

# Names that an error lists.
_LISTED = 20
# Parts of names that are shorter than this occur in too many names.
_SHORTEST_PART = 2


def similar_names(name: Any, known: Iterable[Any], n: int = 3) -> list[str]:
    """Return up to n of the known names that a user may have meant: longer, similar or shorter ones, in any case."""
    by_lower = {str(other).lower(): str(other) for other in known}
    name = str(name).lower()
    if name in by_lower:
        return [by_lower[name]]
    longer = [other for other in by_lower if len(name) >= _SHORTEST_PART and name in other]
    shorter = [other for other in by_lower if len(other) > _SHORTEST_PART and name.startswith(other)]
    found = longer or list(dict.fromkeys([*get_close_matches(name, list(by_lower), n), *shorter]))
    return [by_lower[other] for other in found[:n]]


def suggest(name: Any, known: Iterable[Any], kind: str = "features") -> str:
    """Return a sentence for an unknown name: "Did you mean 'age'?", or a list of the known names."""
    names = [str(other) for other in known]
    if near := similar_names(name, names):
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return list_names(names, kind)


def list_names(names: Sequence[str], kind: str) -> str:
    """Return a sentence that lists the known names, the first of them if they are many."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (
        f"The {kind} are {', '.join(map(repr, names[:_LISTED]))}{more}" if names else f"There are no {kind}"
    )
