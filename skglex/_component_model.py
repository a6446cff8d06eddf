"""Define ComponentModel, which predicts from the components of a tree ensemble that one keeps."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from skglex._base import BaseMarginPredictor
from skglex._decomposer import GlexDecomposer
from skglex._decomposition import Explained, explained
from skglex._kept import KeptComponents, keep, listed_or_pairs, resolve_terms, strongest
from skglex._utils import Execution, restore_on_failure
from skglex.exceptions import RemainderWarning

# What the model takes over from its fitted decomposer, where the decomposer has it.
_TAKEN_OVER = (
    "estimator_",
    "classes_",
    "background_",
    "feature_groups_",
    "n_features_in_",
    "feature_names_in_",
)


class ComponentModel(BaseMarginPredictor):
    """Predict from the components of a tree ensemble that one keeps."""

    _kept: KeptComponents

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseMarginPredictor._parameter_constraints,
        "max_interaction": [Interval(Integral, 1, None, closed="left"), None],
        "terms": "no_validation",
        "drop": "no_validation",
        "n_terms": [Interval(Integral, 1, None, closed="left"), None],
        "selection": [StrOptions({"importance", "lasso"})],
        "refit": [StrOptions({"ridge", "lasso"}), None],
        "remainder": ["boolean"],
        "edits": "no_validation",
    }

    def __init__(
        self,
        estimator: Any,
        *,
        max_interaction: int | None = 2,
        terms: Any = None,
        drop: Any = None,
        n_terms: int | None = None,
        selection: str = "importance",
        refit: str | None = None,
        remainder: bool = False,
        edits: Any = (),
        weighting: str = "empirical",
        feature_groups: dict[str, Any] | str | None = None,
        prefit: str | bool = "auto",
        missing: float = np.nan,
        n_background: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.max_interaction = max_interaction
        self.terms = terms
        self.drop = drop
        self.n_terms = n_terms
        self.selection = selection
        self.refit = refit
        self.remainder = remainder
        self.edits = edits
        self.weighting = weighting
        self.feature_groups = feature_groups
        self.prefit = prefit
        self.missing = missing
        self.n_background = n_background
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @restore_on_failure
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> ComponentModel:
        """Use the estimator as it is or fit it, and keep the chosen components."""
        view = self._decompose(X, y, sample_weight, fit_params)
        self._kept = self._keep(view)
        return self

    def _decompose(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> Explained:
        """Fit the decomposer, and take over what it knows of the model and of the rows."""
        with warnings.catch_warnings():
            if self.remainder:
                warnings.simplefilter("ignore", RemainderWarning)
            decomposer = GlexDecomposer(
                self.estimator,
                weighting=self.weighting,
                max_interaction=self.max_interaction,
                feature_groups=self.feature_groups,
                prefit=self.prefit,
                missing=self.missing,
                n_background=self.n_background,
                n_jobs=self.n_jobs,
                random_state=self.random_state,
                verbose=self.verbose,
            ).fit(X, y, sample_weight, **fit_params)
        self.decomposer_ = decomposer
        for name in _TAKEN_OVER:
            self.__dict__.pop(name, None)
            if name in vars(decomposer):
                setattr(self, name, getattr(decomposer, name))
        view = explained(decomposer)
        self._fitted = view.fitted
        return view

    def _keep(self, view: Explained) -> KeptComponents:
        """Choose the components, and take their tables."""
        everything = self.max_interaction is None and self.terms is None and self.n_terms is None
        candidates = listed_or_pairs(view, rest=self.remainder or everything).sets
        dropped = [] if self.drop is None else resolve_terms(self.drop, view, "drop")
        if self.terms is not None:
            candidates = resolve_terms(self.terms, view, "terms")
        kept = [members for members in candidates if members not in set(dropped)]
        if self.n_terms is not None:
            kept = strongest(view, kept, self.n_terms)
        kept.sort(key=lambda members: (len(members), members))
        return keep(view, kept, dropped, everything=everything, remainder=self.remainder)

    def _margin_of_bins(self, bins: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
        return self._kept.margins(bins, execution)
