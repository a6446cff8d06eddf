"""Define ComponentModel, which predicts from the components of a tree ensemble that one keeps."""

from __future__ import annotations

import os
import warnings
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from skglex._base import BaseMarginPredictor
from skglex._dask import partitions_of
from skglex._decomposer import GlexDecomposer
from skglex._decomposition import Explained, component_means, explained
from skglex._input import as_numpy, take_rows
from skglex._kept import (
    KeptComponents,
    Problem,
    apply_edit,
    check_edits,
    check_link,
    keep,
    lasso_terms,
    listed_or_pairs,
    monotonicity_of,
    names_of,
    refit_weights,
    resolve_terms,
    strongest,
)
from skglex._prefit import is_offset, require_target
from skglex._utils import Execution, budgets, list_names, restore_on_failure
from skglex.components import Axis, Component, Components, Edit, Monotonicity
from skglex.exceptions import RemainderWarning

if TYPE_CHECKING:
    import xgboost

    from skglex.export import StoredComponents

# Number of background rows on which the model's prediction is compared with the inverse link of its margin.
_OUTPUT_ROWS = 100
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
    """Predict from the components of a fitted model that one keeps, as one has edited them.

    The model is an exact sum of main effects and interactions. What should not be there can be left out (an
    interaction that a regulator forbids), changed (a jump that is noise), or made monotone (an effect that must not
    fall), without fitting the model again. Edits are methods that return a new fitted model, or the parameter
    ``edits``, which `~sklearn.base.clone` and a search repeat. On Dask arrays and data frames all methods that
    predict are lazy: they return Dask arrays.

    Parameters
    ----------
    estimator : estimator or booster
        A regressor, classifier, ranker or isolation forest, fitted or not; a ``Pipeline`` that ends in one; an
        ``xgboost.Booster``, ``lightgbm.Booster`` or ``treelite.Model``, which makes a regressor whose prediction is
        the output of the booster; or a ``FrozenEstimator``. The documentation lists the supported models.
    max_interaction : int, default=2
        Maximum order of the components that are kept; the others are left out, or are in the remainder. None: all
        orders.
    terms : list of str, tuple and Component, or callable, default=None
        The components that are kept, by names or tuples of features, of any order. A callable gets each
        `~skglex.components.Component` up to ``max_interaction``, and returns whether it is kept. None: all of them.
        Components that are zero everywhere are ignored.
    drop : list of str, tuple and Component, or callable, default=None
        The components that are left out, in the same form.
    n_terms : int, default=None
        Maximum number of components that are kept. None: no limit.
    selection : {"importance", "lasso"}, default="importance"
        How ``n_terms`` components are selected. ``"importance"``: those with the largest mean absolute value over the
        background. ``"lasso"``: the first on the lasso's path towards the predictions of the model, on the rows X.
    refit : {"ridge", "lasso"}, default=None
        Multiply every kept component by a weight and change the intercept, such that the loss of the rows passed to
        `fit` is minimal, plus a weak penalty: ``"ridge"`` pulls the weights towards 1, ``"lasso"`` towards 0, and drops
        components whose weight is 0. The targets are y; without y, the predictions of the model itself. The loss
        belongs to the inverse link: squared error, logistic, Poisson or softmax. Weights for targets that the model
        was trained on favour what it has overfitted: pass other rows, and ``prefit=True``.
    remainder : bool, default=False
        Keep all components that are not chosen, as they are: only ``drop`` leaves something out.
    edits : sequence of Edit, default=()
        Edits (`~skglex.components.Edit`) that `fit` applies in this order, after the refit.
    weighting : {"empirical", "path_dependent"}, default="empirical"
        How features are averaged out, as for `GlexDecomposer`.
    feature_groups : dict of str to list, or "auto", default=None
        Columns that count as one feature, as for `GlexDecomposer`.
    prefit : {"auto", True, False}, default="auto"
        ``"auto"``: use the estimator unchanged if it is fitted and y is not passed (boosters and frozen estimators
        always); otherwise clone and fit it. ``True``: always use it unchanged. ``False``: always clone and fit it.
    missing : float, default=nan
        The value that was missing in training besides NaN, for a model that does not store it.
    survival_output : {"risk", "cumulative_hazard", "survival"}, default="risk"
        What a model of survival times is read as, as for `GlexDecomposer`.
    times : array-like of shape (n_times,), default=None
        Increasing times of the cumulative hazard or survival function. None: all times in the training data.
    n_background : int, default=None
        Number of rows of X to draw as the background. None: all rows.
    n_jobs : int, default=None
        Number of threads. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Random state for drawing the background.
    verbose : int, default=0
        If 1, show the progress of long computations, and say when kernels are compiled.

    Attributes
    ----------
    intercept_ : float, or ndarray of shape (n_outputs,)
        The intercept, on the margin scale.
    components_ : sequence of Component
        The kept components, as they are after the refit and the edits.
    term_weights_ : dict of str to float
        The weight of each component, by its name. Only with ``refit``.
    history_ : list of dict
        For each edit the keys ``edit``, ``before`` and ``after``: the edit, and the ``score`` before and after it,
        which is None without targets.
    decomposer_ : GlexDecomposer
        The fitted decomposer of the model, before any choice or edit.
    feature_groups_ : dict of str to list of str
        The columns of every group.
    estimator_ : object
        The fitted model.
    classes_ : ndarray of shape (n_classes,)
        Class labels. Only for classifiers.
    background_ : Bunch
        ``rows``: positions of the background in the X passed to `fit`. ``weights``: their weights, or None if the
        background is in the partitions of a Dask collection.
    n_features_in_ : int
        Number of columns of the X passed to `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of these columns. Only if X is a data frame.

    See Also
    --------
    GlexDecomposer : Compute the components.
    FeatureRemover : Predict without the effects of some features, of all orders.

    Notes
    -----
    The margin is ::

        intercept + sum over the kept components S of m_S(x_S)

    where each m_S is a table over the bins that the model distinguishes. With ``remainder=True`` it is the margin of
    the model, plus the changes of the edited components, minus the dropped ones. This is also done for
    ``max_interaction=None``, if some components have too many cells for a table.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import ComponentModel
    >>> from xgboost import XGBRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> y = X[:, 0] + X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=1000)
    >>> booster = XGBRegressor(n_estimators=50, max_depth=2).fit(X, y)
    >>> model = ComponentModel(booster, terms=["x0", "x1", ("x0", "x1")]).fit(X)
    >>> [component.name for component in model.components_]
    ['x0', 'x1', 'x0:x1']
    >>> total = model.intercept_ + sum(c.evaluate(X) for c in model.components_)
    >>> np.allclose(model.predict(X), total)
    True

    Edit the components, with the score before and after:

    >>> edited = model.scale("x0:x1", 0.5, X=X, y=y).smooth("x1", 10.0).set("x0", 2.5, where={"x0": (2, 9)})
    >>> [entry["edit"].kind for entry in edited.history_]
    ['scale', 'smooth', 'set']
    >>> edited.history_[0]["after"] < edited.history_[0]["before"]
    True
    >>> rounded = edited.cap("x1", -0.1, 0.1).merge_levels("x1", [(-0.5, 0.5)]).round_to(step=0.01)
    >>> float(np.abs(rounded.components_["x1"].values).max())
    0.1

    Make the prediction monotone in a feature, and certify it:

    >>> additive = ComponentModel(booster, max_interaction=1, refit="ridge").fit(X)
    >>> additive.monotonicity("x0", increasing=True).status
    'not monotone'
    >>> additive.monotonize("x0").monotonicity("x0").status
    'monotone'
    >>> bool(0 < additive.score(X, y) < model.score(X, y))
    True

    A classifier's margin is the log-odds:

    >>> from xgboost import XGBClassifier
    >>> classifier = ComponentModel(XGBClassifier(n_estimators=10, max_depth=2), n_terms=2).fit(X, y > 0)
    >>> odds = classifier.decision_function(X)
    >>> np.array_equal(odds, classifier.margin(X))
    True
    >>> np.allclose(classifier.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)))
    True
    >>> np.allclose(np.exp(classifier.predict_log_proba(X)), classifier.predict_proba(X))
    True

    Ship it: as a booster, an ONNX model, SQL, tables, a workbook, an EBM, or an open file:

    >>> import xgboost
    >>> np.allclose(model.to_xgboost().predict(xgboost.DMatrix(X)), model.predict(X), atol=1e-5)
    True
    >>> list(model.to_tables())[:2]
    ['(intercept)', 'x0']
    >>> onnx_model, statement = model.to_onnx(), model.to_sql(dialect="duckdb")  # doctest: +SKIP
    >>> model.save_excel("points.xlsx")  # doctest: +SKIP
    >>> ebm = model.to_ebm()  # doctest: +SKIP
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/components.zip")
    ...     stored = ComponentModel.load(f"{folder}/components.zip")
    >>> np.allclose(stored.predict(X), model.predict(X))
    True

    The features that moved each row most:

    >>> list(model.reason_codes(X[:3], k=2))
    ['row', 'rank', 'feature', 'value', 'points']
    """

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
        survival_output: str = "risk",
        times: Any = None,
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
        self.survival_output = survival_output
        self.times = times
        self.n_background = n_background
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @restore_on_failure
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> ComponentModel:
        """Use the estimator as it is or fit it, keep the chosen components, weigh them, and edit them.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape (n_samples, n_features)
            The background rows. If the estimator is fitted here, they are also the training data. A Dask collection
            stays in its partitions, and the estimator must already be fitted.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target. Needed if the estimator is fitted here, and for ``refit`` and ``selection="lasso"``. To use a
            fitted estimator as it is nevertheless, set ``prefit=True``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the background, in ``refit``, and in the ``fit`` of the estimator.
        **fit_params : dict
            Further parameters of the estimator's ``fit``. An offset among them (``base_margin``, ``init_score``,
            ``baseline``) also counts in ``refit`` and in the scores of ``history_``.

        Returns
        -------
        ComponentModel
            The fitted estimator itself.

        Raises
        ------
        AdditivityError
            On a background row the leaves do not reproduce the model's margin, so that the model was not read exactly.
        ValueError
            The input is invalid, a name is unknown, a term is too large for a table, or an edit cannot be applied.

        Warns
        -----
        RemainderWarning
            The components above ``max_interaction``, which are left out, hold more than a tenth of the variance.
        """
        edits = check_edits(self.edits)
        view = self._decompose(X, y, sample_weight, fit_params)
        self.history_: list[dict[str, Any]] = []
        some = self._fitted.row
        if partitions_of(X, sample_weight) is None:
            some = take_rows(view.as_rows(X), self._fitted.background_rows[:_OUTPUT_ROWS])
        self._check_output(self._fitted.check(some, self))
        rows = None
        if partitions_of(X, sample_weight) is None:
            rows = _Rows(self, X, y, sample_weight, fit_params)
        self._kept = self._keep(view, rows)
        if self.refit is not None:
            self._refit_weights(self._require(rows, f"refit={self.refit!r}"))
        for edit in edits:
            self._apply(edit, rows)
        return self

    def _decompose(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> Explained:
        """Fit the decomposer, and take over what it knows of the model and of the rows."""
        require_target(self.estimator, self.prefit, y, type(self).__name__)
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
                survival_output=self.survival_output,
                times=self.times,
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
        self._fitted = self._view.fitted
        if reason := self._fitted.source.response.without_margin:
            raise ValueError(f"a ComponentModel keeps components of a margin, but {reason}")
        return self._view

    @property
    def _view(self) -> Explained:
        """Return the fitted decomposer's view of the model, as it is before any choice or edit."""
        return explained(self.decomposer_)

    def _keep(self, view: Explained, rows: _Rows | None) -> KeptComponents:
        """Choose the components, and take their tables."""
        all_orders = self.max_interaction is None or view.decomposition.complete
        everything = all_orders and self.terms is None and self.n_terms is None
        candidates = listed_or_pairs(view, rest=self.remainder or everything).sets
        dropped = [] if self.drop is None else resolve_terms(self.drop, view, "drop")
        if self.terms is not None:
            candidates = resolve_terms(self.terms, view, "terms")
        chosen = [members for members in candidates if members not in set(dropped)]
        chosen.sort(key=lambda members: (len(members), members))
        how = {"everything": everything, "remainder": self.remainder}
        if self.n_terms is None or len(chosen) <= self.n_terms:
            return keep(view, chosen, dropped, **how)
        if self.selection == "importance":
            return keep(view, strongest(view, chosen, self.n_terms), dropped, **how)
        kept = keep(view, chosen, dropped, **how)
        problem, _ = self._require(rows, "selection='lasso'").problem(kept, like_the_model=True)
        chosen = [kept.terms[i].members for i in lasso_terms(problem, kept.intercept, self.n_terms)]
        return keep(view, chosen, dropped, **how)

    def _refit_weights(self, rows: _Rows) -> None:
        """Multiply every table by a weight; drop the terms whose weight is zero."""
        kept = self._kept
        problem, factor = rows.problem(kept)
        assert self.refit is not None
        intercept, weights = refit_weights(problem, self.refit, factor * kept.intercept)
        self.term_weights_ = {term.name: float(weight) for term, weight in zip(kept.terms, weights)}
        kept = kept.with_values(
            {i: weight * term.values for i, (term, weight) in enumerate(zip(kept.terms, weights))},
            intercept / factor,
        )
        self._kept = kept.take(np.flatnonzero(weights != 0))

    def _require(self, rows: _Rows | None, what: str) -> _Rows:
        """Return the rows; raise if they are in Dask partitions."""
        if rows is None:
            raise ValueError(
                f"{what} needs rows in memory, but X is a Dask collection. Draw a sample of its rows, and pass that"
            )
        return rows

    def _margin_of_bins(self, bins: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
        return self._kept.margins(bins, execution)

    # -- what is kept -------------------------------------------------------------------------

    @property
    def intercept_(self) -> Any:
        """Return the intercept, on the margin scale."""
        return float(self._kept.intercept[0]) if self._kept.n_outputs == 1 else self._kept.intercept

    @property
    def components_(self) -> Components:
        """Return the kept components, as they are after the refit and the edits."""
        view, kept = self._view, self._kept
        made = [
            Component(_KeptSource(self), i, term.name, tuple(view.features_of(term.members)))
            for i, term in enumerate(kept.terms)
        ]
        members = [term.members for term in kept.terms]
        return Components(made, members, names_of(view), self._why_absent)

    def _why_absent(self, members: tuple[int, ...]) -> str:
        names = [term.name for term in self._kept.terms]
        asked = self._view.features_of(members)
        return f"the model has no component of {asked}. {list_names(names, 'components')}"

    def monotonicity(
        self, feature: str | int, *, increasing: bool | None = None, output: Any = None
    ) -> Monotonicity:
        """Say whether the prediction is monotone in a feature, on the margin scale.

        See `skglex.inspection.monotonicity`, which says what the certificate covers.

        Parameters
        ----------
        feature : str or int
            A numeric column of the model: for a pipeline, after the preprocessing.
        increasing : bool, default=None
            The direction. None: the one that holds, or else that of the smaller violations.
        output : object, default=None
            Label of the output. None: all outputs.

        Returns
        -------
        Monotonicity
            ``status`` is ``"monotone"``, ``"not monotone"`` or ``"undecided"``.
        """
        check_is_fitted(self)
        return monotonicity_of(self._kept, self._view, feature, increasing, output)

    # -- edits --------------------------------------------------------------------------------

    def _edited(self, edit: Edit, rows: tuple[Any, Any, Any]) -> ComponentModel:
        """Return a copy with one more edit."""
        check_is_fitted(self)
        X, y, sample_weight = rows
        if (X is None) != (y is None):
            raise ValueError(
                "the scores before and after an edit need both X and y; only one of them was passed"
            )
        model = object.__new__(type(self))
        model.__dict__.update(self.__dict__)
        model.edits = (*check_edits(self.edits), edit)
        model.history_ = list(self.history_)
        model._apply(edit, None if y is None else _Rows(model, X, y, sample_weight, {}))
        return model

    def _apply(self, edit: Edit, rows: _Rows | None) -> None:
        """Apply an edit, and record it."""
        before = None if rows is None else rows.score()
        self._kept = apply_edit(self._kept, edit, self._view)
        after = None if rows is None else rows.score()
        self.history_.append({"edit": edit, "before": before, "after": after})

    def scale(
        self,
        term: Any,
        factor: float,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> ComponentModel:
        """Multiply a component by a number: 0 removes it, 0.5 halves it.

        Parameters
        ----------
        term : str, int, Component or tuple of these
            The component, as in ``components_[term]``.
        factor : float
            The number.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
            Rows for the scores before and after the edit, in ``history_``. None: no scores.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The targets of these rows.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of these rows.

        Returns
        -------
        ComponentModel
            The model with the edit. This model does not change.
        """
        return self._edited(Edit("scale", term, factor=factor), (X, y, sample_weight))

    def set(
        self,
        term: Any,
        value: Any,
        where: Any = None,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> ComponentModel:
        """Set a component to a number, everywhere or in some bins.

        A bin lies between two edges of the model, so a part of a bin cannot be set.

        Parameters
        ----------
        term : str, int, Component or tuple of these
            The component, as in ``components_[term]``.
        value : float, or tuple of float
            The value on the margin scale; a tuple has one per output.
        where : dict, default=None
            For features of the component: a number or a category; None for missing; a tuple ``(low, high)`` of the
            smallest and the largest number; or a list of these. The bins that have one of the values are set; those of
            a feature that is left out, all of them. None: all cells.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
            Rows for the scores before and after the edit, in ``history_``. None: no scores.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The targets of these rows.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of these rows.

        Returns
        -------
        ComponentModel
            The model with the edit. This model does not change.
        """
        return self._edited(Edit("set", term, value=value, where=where), (X, y, sample_weight))

    def cap(
        self,
        term: Any,
        lower: float | None = None,
        upper: float | None = None,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> ComponentModel:
        """Limit the values of a component.

        Parameters
        ----------
        term : str, int, Component or tuple of these
            The component, as in ``components_[term]``.
        lower, upper : float, default=None
            The limits on the margin scale. None: no limit.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
            Rows for the scores before and after the edit, in ``history_``. None: no scores.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The targets of these rows.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of these rows.

        Returns
        -------
        ComponentModel
            The model with the edit. This model does not change.
        """
        return self._edited(Edit("cap", term, lower=lower, upper=upper), (X, y, sample_weight))

    def smooth(
        self,
        term: Any,
        strength: float = 1.0,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> ComponentModel:
        """Smooth a main effect or a pair, by the weight of the background.

        The smooth table s minimizes ``sum w (s - v)^2 + strength * mean(w) * sum d^2`` over its cells, where v is the
        component, w the share of the background in a cell, and d the difference of two neighbouring bins of a numeric
        feature. The mean over the background does not change. Missing values and categories have no neighbours. A cell
        without background counts as a thousandth of the mean cell.

        Parameters
        ----------
        term : str, int, Component or tuple of these
            The component, as in ``components_[term]``.
        strength : float, default=1.0
            Roughly the square of the number of neighbouring bins that are averaged on each side.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
            Rows for the scores before and after the edit, in ``history_``. None: no scores.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The targets of these rows.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of these rows.

        Returns
        -------
        ComponentModel
            The model with the edit. This model does not change.
        """
        return self._edited(Edit("smooth", term, strength=strength), (X, y, sample_weight))

    def monotonize(
        self,
        feature: str | int,
        increasing: bool = True,
        method: str = "joint",
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> ComponentModel:
        """Make the prediction monotone in a feature, with the least change.

        A cell weighs as the share of the background in it; a cell without background counts as a thousandth of the
        mean cell. Missing values of the feature have no order and stay as they are. `monotonicity` certifies the
        result.

        Parameters
        ----------
        feature : str or int
            A numeric column of the model.
        increasing : bool, default=True
            The direction; False: decreasing.
        method : {"joint", "each"}, default="joint"
            ``"joint"``: the least weighted sum of squared changes of the feature's main effect and pairs for which
            their sum is monotone, whatever the values of the other features: a quadratic program. ``"each"``: an
            isotonic regression of each table by itself. That is sufficient, and much faster, but changes more.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
            Rows for the scores before and after the edit, in ``history_``. None: no scores.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The targets of these rows.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of these rows.

        Returns
        -------
        ComponentModel
            The model with the edit. This model does not change.
        """
        return self._edited(
            Edit("monotonize", feature, increasing=increasing, method=method), (X, y, sample_weight)
        )

    def round_to(
        self,
        term: Any = None,
        step: float = 0.01,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> ComponentModel:
        """Round the values of a component to multiples of a step.

        Parameters
        ----------
        term : str, int, Component or tuple of these, default=None
            The component, as in ``components_[term]``. None: all components, and the intercept.
        step : float, default=0.01
            The step, on the margin scale.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
            Rows for the scores before and after the edit, in ``history_``. None: no scores.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The targets of these rows.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of these rows.

        Returns
        -------
        ComponentModel
            The model with the edit. This model does not change.
        """
        return self._edited(Edit("round_to", term, step=step), (X, y, sample_weight))

    def merge_levels(
        self,
        feature: str | int,
        levels: Any,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> ComponentModel:
        """Give some levels of a feature the same effect.

        In the main effect and in every interaction of the feature, the values of these levels become their mean,
        weighted by the background. A cell without background counts as a thousandth of the mean cell.

        Parameters
        ----------
        feature : str or int
            A column of the model.
        levels : list
            Categories; or, for a numeric feature, numbers and tuples ``(low, high)``, which stand for the bins that
            have them; None for missing.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
            Rows for the scores before and after the edit, in ``history_``. None: no scores.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The targets of these rows.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of these rows.

        Returns
        -------
        ComponentModel
            The model with the edit. This model does not change.
        """
        return self._edited(Edit("merge_levels", feature, levels=levels), (X, y, sample_weight))

    # -- exports and reason codes -------------------------------------------------------------

    def to_xgboost(self) -> xgboost.Booster:
        """Write the model as an ordinary XGBoost booster, with a small tree per component and output.

        Returns
        -------
        xgboost.Booster
            Its margin is that of the model, rounded to float32; see `skglex.export.to_xgboost`. The remainder is
            written as the trees of the estimator.

        Raises
        ------
        ValueError
            XGBoost has no objective with the link of the estimator, or does not read its input as the estimator does.
        """
        from skglex.export import to_xgboost

        return to_xgboost(self)

    def to_onnx(self, *, input_dtype: Any = np.float64) -> Any:
        """Write the model as an ONNX model, with a small tree per component.

        Parameters
        ----------
        input_dtype : {numpy.float64, numpy.float32}, default=numpy.float64
            Type of the input ``X``. float32 is allowed only for estimators that cast to float32 anyway.

        Returns
        -------
        onnx.ModelProto
            The model, with the inputs and outputs of `skglex.export.to_onnx`. The remainder is written as the trees of
            the estimator.

        Raises
        ------
        ImportError
            onnx is not installed.
        ValueError
            The model cannot be written as ONNX, or would be rounded by ``input_dtype``.
        """
        from skglex.export import to_onnx

        return to_onnx(self, input_dtype=input_dtype)

    def to_sql(
        self,
        *,
        dialect: str,
        table: str = "data",
        columns: dict[str, str] | None = None,
        keep: list[str] | None = None,
    ) -> str:
        """Write the model as one SQL statement with look-up tables.

        Parameters
        ----------
        dialect : {"bigquery", "duckdb", "postgres", "snowflake", "sqlite", "tsql"}
            The dialect.
        table : str, default="data"
            Name of the table with the rows.
        columns : dict of str to str, default=None
            Names of columns of the table by the names of the model's features, where they differ.
        keep : list of str, default=None
            Columns of the table that the result contains. None: all.

        Returns
        -------
        str
            A ``SELECT`` statement that returns the rows with their predictions; see `skglex.export.to_sql`.

        Raises
        ------
        ImportError
            sqlglot is not installed.
        ValueError
            There is a remainder, the tables are too large, or the model has categories that SQL cannot compare.
        """
        from skglex.export import to_sql

        return to_sql(self, dialect=dialect, table=table, columns=columns, keep=keep)

    def to_tables(self, *, scale: str = "points") -> dict[str, Any]:
        """Return the tables of the components as data frames, as points to add or factors to multiply.

        Parameters
        ----------
        scale : {"points", "relativities"}, default="points"
            Values to add on the margin scale, or factors to multiply.

        Returns
        -------
        dict of str to pandas.DataFrame
            ``"(intercept)"``, and a table for each component by its name; see `skglex.export.to_tables`.

        Raises
        ------
        ImportError
            pandas is not installed.
        ValueError
            There is a remainder, or relativities are asked for a model with another link.
        """
        from skglex.export import to_tables

        return to_tables(self, scale=scale)

    def save_excel(self, path: str | os.PathLike[str], *, scale: str = "points") -> None:
        """Save the tables of the components as a workbook of Excel: a price list, or a scorecard.

        Parameters
        ----------
        path : str or path
            The file to write, with the suffix ``.xlsx``. It replaces an existing file.
        scale : {"points", "relativities"}, default="points"
            Values to add on the margin scale, or factors to multiply.

        Raises
        ------
        ImportError
            openpyxl is not installed.
        ValueError
            There is a remainder. Or the tables are too large for Excel. Or the link of the model is no logarithm, and
            ``scale`` is ``"relativities"``.
        """
        from skglex.export import save_excel

        save_excel(self, path, scale=scale)

    def to_ebm(self) -> Any:
        """Write the model as an explainable boosting machine (EBM) of InterpretML.

        Returns
        -------
        ExplainableBoostingRegressor or ExplainableBoostingClassifier
            It predicts the same; see `skglex.export.to_ebm`.

        Raises
        ------
        ImportError
            interpret-core is not installed.
        ValueError
            There is a remainder, a component of order 3 or more, or InterpretML has no counterpart of the model.
        """
        from skglex.export import to_ebm

        return to_ebm(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the components in an open format, without the estimator; the remainder is not saved.

        Parameters
        ----------
        path : str or path
            The file to write, with the suffix ``.zip``, ``.npz`` or none; see `skglex.export.save_components`.

        Raises
        ------
        ValueError
            The suffix is that of another format, or the model has categories that cannot be stored.
        """
        from skglex.export import save_components

        save_components(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> StoredComponents:
        """Load components that ``save`` wrote. Nothing in the file is run.

        Parameters
        ----------
        path : str or path
            The file to read.

        Returns
        -------
        StoredComponents
            The components, which predict, and are drawn, inspected and exported without the estimator.

        Raises
        ------
        ValueError
            The file is not a file of components, is damaged, or has the format of another version of skglex.
        """
        from skglex.export import load_components

        return load_components(path)

    def reason_codes(
        self,
        X: Any,
        *,
        k: int = 4,
        reference: Any = "mean",
        groups: dict[str, list[Any]] | None = None,
        direction: str = "lower",
        output: Any = None,
    ) -> Any:
        """Name the features that moved the margin of each row most against a reference.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        k : int, default=4
            Largest number of reasons of a row.
        reference : {"mean", "best"} or array-like of one row, default="mean"
            What the points of each feature are compared with: their mean over the background, their highest value over
            the background (points lost, as on a scorecard), or those of a row.
        groups : dict of str to list of str, default=None
            ``{"name": [features]}``: features that are one reason.
        direction : {"lower", "higher", "both"}, default="lower"
            Whether reasons lower the margin, raise it, or both.
        output : label, default=None
            The output to explain, by its label or position. Needed only if there are several.

        Returns
        -------
        pandas.DataFrame, or dict of ndarray if pandas is not installed
            Columns ``row``, ``rank``, ``feature``, ``value`` and ``points``; see `skglex.inspection.reason_codes`.

        Raises
        ------
        ValueError
            An argument is invalid, or the reference needs background rows that are not known.
        """
        from skglex.inspection import reason_codes

        options = {"k": k, "reference": reference, "groups": groups, "direction": direction, "output": output}
        return reason_codes(self, X, **options)


class _Rows:
    """Hold rows, and targets if there are any: the columns of a problem, and the score of the model as it is now."""

    def __init__(
        self, model: ComponentModel, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]
    ) -> None:
        self._model = model
        self._X = model._view.as_rows(X)
        self._y = None if y is None else np.asarray(as_numpy(y))
        if y is not None:
            check_consistent_length(self._X, self._y)
        self._weight = None if sample_weight is None else as_numpy(sample_weight)
        self._offset = next((value for name, value in fit_params.items() if is_offset(name)), None)

    def score(self) -> float | None:
        """Return the accuracy or the R² of the model, None without targets, or if it has no score."""
        if self._y is None or not hasattr(self._model, "score"):
            return None
        offset = {} if self._offset is None else {"offset": self._offset}
        return float(self._model.score(self._X, self._y, self._weight, **offset))

    def problem(self, kept: KeptComponents, *, like_the_model: bool = False) -> tuple[Problem, float]:
        """Return the components at the rows with the targets, and the factor of the link.

        Without targets, or if the components should be like the model, its own predictions are the targets.
        """
        model, n_terms, n_outputs = self._model, len(kept.terms), kept.n_outputs
        check_link(model._response.link)
        view, fitted, n_rows = model._view, model._fitted, self._X.shape[0]
        weight = _check_sample_weight(self._weight, np.empty((n_rows, 0)), dtype=np.float64)
        offset = np.zeros((n_rows, n_outputs))
        if self._offset is not None:
            offset = model._shift(self._offset, (n_rows, n_outputs))
        most = max(1000, budgets.refit_numbers // max(n_terms * n_outputs, 1))
        rows = np.unique(np.linspace(0, n_rows - 1, min(n_rows, most)).astype(int))
        bins = fitted.bins(fitted.check(take_rows(self._X, rows), model), view.execution)
        values = np.empty((n_outputs * n_terms, len(rows)))
        kept.tables.evaluate(bins, np.arange(n_terms), values, view.execution)
        columns, fixed = values.reshape(n_outputs, n_terms, len(rows)), offset[rows].T
        of_model = None
        if self._y is None or like_the_model:
            of_model = view.decomposition.margins(bins, view.execution) + fixed
        if kept.rest is not None:
            others = kept.margins(bins, view.execution) - kept.intercept[:, None]
            fixed = fixed + others - columns.sum(axis=1)
        target = None if of_model is not None else self._target()[:, rows]
        link = model._response.link
        return Problem.of(link, columns, fixed, weight[rows], target=target, margin=of_model)

    def _target(self) -> NDArray[np.float64]:
        """Return the targets of every output: shape (n_outputs, n_rows)."""
        response, y = self._model._response, self._y
        assert y is not None
        if response.classes is None or response.multilabel:
            target = y.reshape(len(y), -1).T.astype(np.float64)
        elif response.binary:
            target = (y.ravel() == response.classes[-1])[None].astype(np.float64)
        else:
            target = (y.ravel() == response.classes[:, None]).astype(np.float64)
        if len(target) != response.n_outputs:
            raise ValueError(f"y has {len(target)} outputs, but the model has {response.n_outputs}")
        return target


class _KeptSource:
    """Compute the kept components, with their positions as keys; see `skglex.components.ComponentSource`."""

    def __init__(self, model: ComponentModel) -> None:
        self._model = model

    @property
    def output_labels(self) -> list[Any] | None:
        """Return the labels of the outputs, None for a single output."""
        return self._model._view.output_labels

    def importance(self, key: int) -> Any:
        """Return the mean absolute value over the background."""
        view, tables = self._model._view, self._model._kept.tables
        means = component_means(tables, view.background, np.array([key]), execution=view.execution)
        return view.squeeze(means)[0]

    def values(self, key: int, X: Any) -> NDArray[np.float64]:
        """Evaluate a component at rows."""
        model = self._model
        view, tables = model._view, model._kept.tables
        columns = np.array(model._kept.terms[key].columns)
        Xt = view.fitted.check(view.fitted.fill_others(as_numpy(X), columns), model)

        def compute(bins: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
            return view.component_values(tables, bins, np.array([key]))[:, 0]

        return view.squeeze(
            view.fitted.map_rows(Xt, (view.n_outputs,), compute, view.execution, "the component").T
        )

    def axes(self, key: int) -> tuple[Axis, ...]:
        """Return the axes of a component's table."""
        return self._model._kept.terms[key].axes

    def table(self, key: int) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        """Return the axes and the values of a component's table."""
        term = self._model._kept.terms[key]
        return term.axes, self._model._view.squeeze(term.values)
