"""Keep components as tables: predict from them, edit them, and say whether their sum is monotone."""

from skglex._kept._choice import keep, listed_or_pairs, names_of, resolve_terms, strongest
from skglex._kept._edits import apply_edit, check_edits
from skglex._kept._kept_components import KeptComponents, Rest, Term
from skglex._kept._monotonicity import monotonicity_of
from skglex._kept._refit import Problem, check_link, lasso_terms, refit_weights
from skglex._kept._term_sum import TermSum, merge_equal_bins, name_outputs, term_sum

__all__ = [
    "KeptComponents",
    "Problem",
    "Rest",
    "Term",
    "TermSum",
    "apply_edit",
    "check_edits",
    "check_link",
    "keep",
    "lasso_terms",
    "listed_or_pairs",
    "merge_equal_bins",
    "monotonicity_of",
    "name_outputs",
    "names_of",
    "refit_weights",
    "resolve_terms",
    "strongest",
    "term_sum",
]
