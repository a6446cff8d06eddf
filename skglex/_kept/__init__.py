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
from skglex._kept._term_sum import TermSum, merge_equal_bins, name_outputs, term_sum

__all__ = [
    "KeptComponents",
    "Rest",
    "Term",
    "TermSum",
    "importances_of",
    "keep",
    "listed_or_pairs",
    "merge_equal_bins",
    "name_outputs",
    "names_of",
    "resolve_terms",
    "strongest",
    "term_sum",
]
