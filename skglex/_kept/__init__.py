"""Keep components as tables: predict from them, edit them, and say whether their sum is monotone."""

from skglex._kept._choice import (
    importances_of,
    keep,
    listed_or_pairs,
    names_of,
    resolve_terms,
    strongest,
)
from skglex._kept._kept_components import KeptComponents, Rest, Term

__all__ = [
    "KeptComponents",
    "Rest",
    "Term",
    "importances_of",
    "keep",
    "listed_or_pairs",
    "names_of",
    "resolve_terms",
    "strongest",
]
