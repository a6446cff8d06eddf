"""Define GlexDecomposer, which decomposes a fitted tree ensemble into the exact sum of its components."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import TransformerMixin, _fit_context
from sklearn.utils import check_scalar, estimator_html_repr
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from skglex._base import BaseTreeModelEstimator, example_row
from skglex._dask import lazy_on_dask
from skglex._decomposition import (
    Decomposition,
    Explained,
    ListedComponents,
    ResponseScale,
    average_out,
    complete_means,
    fewer_components,
    shapley_means,
    strongest,
    warn_of_remainder,
)
from skglex._input import (
    FeatureGroups,
    as_numpy,
    column_names,
    find_one_hot_groups,
    group_features,
    list_features,
    output_names,
    resolve_features,
    take_rows,
    warn_of_joined_features,
)
from skglex._leaves import Background, assign_players, require_equal, rounding_of, warn_of_small_background
from skglex._response import on_response
from skglex._utils import Execution, budgets, largest_components_table, restore_on_failure
from skglex.components import Axis, Component, ComponentNames, Components, bins_along

# `transform` compares the sum of the components with the model's margin on at most this many rows.
_CHECKED_ROWS = 100
_IMPORTANCES = ("component_importances_", "feature_importances_")
_OF_COMPONENTS = ("component_importances_", "components_", "n_components_")


class NoComponentsError(ValueError, AttributeError):
    """Report an attribute that is not available if there are too many components; ``hasattr`` returns False for it."""


@lazy_on_dask(
    "transform",
    "fit_transform",
    "shap_values",
    "shap_interaction_values",
    "partial_dependence",
    "_component_values",
    example_row=example_row,
)
class GlexDecomposer(TransformerMixin, BaseTreeModelEstimator):
    """Decompose a tree ensemble exactly into main effects and interactions.

    `fit` gets the background: the rows over which features are averaged out. `transform` returns a column for each
    component. With the intercept, the columns of a row add up to the margin (raw score) of the model.
    ``decomposer["hr", "temp"]`` is a single component, a function of two features. SHAP values, partial dependence
    functions and importances are sums of components.

    Parameters
    ----------
    estimator : estimator or booster
        A regressor, classifier or isolation forest, fitted or not; a ``Pipeline`` that ends in one; an
        ``xgboost.Booster``, ``lightgbm.Booster`` or ``treelite.Model``; or a ``FrozenEstimator``. For a pipeline, the
        final model is decomposed, and its features are the columns after the preprocessing. The documentation lists
        the supported models.
    weighting : {"empirical", "path_dependent"}, default="empirical"
        How features are averaged out (E_l in the notes). ``"empirical"``: E_l(U) is the weighted share of background
        rows that satisfy the leaf's conditions on U, under the joint distribution [2]_. Partial dependence then equals
        the brute-force version, and SHAP values are interventional. ``"path_dependent"``: E_l(U) is the product of the
        cover ratios along the leaf's path, as in XGBoost's ``pred_contribs``. The covers are those
        that the model stores; shap counts them again if ``TreeExplainer`` gets data.
    max_interaction : int, default=2
        Maximum order of the components that `transform` and ``components_`` list; the others are in the remainder.
        None: all orders. Any component is available by name: ``decomposer["a", "b", "c"]``. SHAP values, SHAP
        interaction values and partial dependence contain all orders.
    features : list of str or int, mask or callable, default=None
        List only components whose features are all in this list. None: all components. With ``feature_groups``,
        a group is selected by its name. For a pipeline, names of raw columns are searched first.
    feature_groups : dict of str to list, or "auto", default=None
        ``{"name": [columns]}``: columns that count as one feature. For a pipeline, the name of a raw column stands for
        all columns that are computed from it. ``"auto"``: the columns that the preprocessing computes from one raw
        column are a group with its name. Columns that are computed from several raw columns join their groups, and so
        do features that one split of the model combines, as CatBoost's does.
    remainder : bool, default=True
        If ``max_interaction`` or ``features`` is set, append the column ``remainder``: margin - intercept - sum of
        the other columns.
    prefit : {"auto", True, False}, default="auto"
        ``"auto"``: use the estimator unchanged if it is fitted and y is not passed (boosters and frozen estimators
        always); otherwise clone and fit it. ``True``: always use it unchanged. ``False``: always clone and fit it.
    missing : float, default=nan
        The value that was missing in training besides NaN, for a model that does not store it: an
        ``xgboost.Booster`` that was trained on ``DMatrix(..., missing=missing)``, or a ``treelite.Model``.
    survival_output : {"risk", "cumulative_hazard", "survival"}, default="risk"
        For a tree or forest of scikit-survival, what the margin is: the risk score, or the cumulative hazard or
        survival function, with one output per time. For its gradient boosting with ``loss="coxph"``, whose margin is
        the logarithm of the hazard ratio, what the response is.
    times : array-like of shape (n_times,), default=None
        Increasing times of the cumulative hazard or survival function. None: all times in the training data.
    n_background : int, default=None
        Number of rows of X (or of a Dask collection) to draw as the background. None: all rows.
    max_components : int, default=20_000
        If there are more components up to ``max_interaction``, `transform` and ``components_`` raise a ValueError.
        Single components, importances, displays and exports are not limited.
    separator : str, default=":"
        String between the features in the name of a component.
    check_additivity : bool, default=True
        Compare sums with the model's own margin, and raise an error if they differ. `fit` compares the leaves, on up
        to 1,000 background rows. `transform` compares the components, on up to 100 rows of X, if the model can predict
        rows of this kind.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the output of `transform`. Sums are always computed in float64.
    n_jobs : int, default=None
        Number of threads, as everywhere in scikit-learn. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Random state for drawing the background.
    verbose : int, default=0
        If 1, show the progress of long computations, and say when kernels are compiled.

    Attributes
    ----------
    intercept_ : float, or ndarray of shape (n_outputs,)
        m_0, the mean margin over the background (for path-dependent weights, over the training data according to the
        covers). For a model that combines several members, such as a calibrated classifier: the mean response.
    components_ : sequence of Component
        The components up to ``max_interaction``. Look one up by position, by name or by its features in any order:
        ``decomposer.components_["hr:temp"]``. ``decomposer["hr:temp"]`` also finds components of higher order.
    n_components_ : int
        Number of columns of the output of `transform`.
    component_importances_ : ndarray of shape (n_sets,) or (n_sets, n_outputs)
        Mean of ``|m_S|`` over the background, one entry per component in ``components_``.
    feature_importances_ : ndarray of shape (n_features,) or (n_features, n_outputs)
        Mean of ``|phi_k|`` over the background, not normalized. Like ``component_importances_``, it is computed on
        first access, from the binned background that a fitted (and a saved) decomposer contains, or from the
        background in Dask partitions.
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
    sklearn.inspection.partial_dependence : Partial dependence by brute force.

    Notes
    -----
    The margin at x is the sum of the components of all feature sets S, ::

        margin(x) = m_0 + sum over S of m_S(x_S)

    Averaging identifies them [1]_. The component of S is a sum over the leaves l whose path features P_l contain S,
    and over the subsets V of S, ::

        m_S(x) = sum over l and V of
                     v_l * (-1)^(|S| - |V|) * 1[x_V] * E_l(P_l minus V)

    where

    - v_l is the value of the leaf;
    - 1[x_V] is 1 if x satisfies the leaf's conditions on V, and 0 otherwise;
    - E_l(U) is the weight with which the leaf's conditions on U hold when x_U is averaged out.

    All methods with rows X as an argument are lazy on Dask arrays and data frames: they return Dask collections.

    The margin is on the link scale: log-odds for a binary classifier, one score per class for a multiclass
    classifier, the logarithm for Poisson, gamma and Tweedie regression. An offset of rows
    (``base_margin``, ``init_score``, ``baseline``) is not part of the decomposition; `FeatureRemover` takes one.

    References
    ----------
    .. [1] M. Hiabu, J. T. Meyer, M. N. Wright, "Unifying local and global model explanations by functional
       decomposition of low dimensional structures", AISTATS 2023.
    .. [2] J. Liu, T. Steensgaard, M. N. Wright, N. Pfister, M. Hiabu, "Fast Estimation of Partial Dependence
       Functions using Trees", ICML 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from xgboost import XGBRegressor
    >>> from skglex import GlexDecomposer
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X[:, 0] + 2 * X[:, 0] * X[:, 1]
    >>> model = XGBRegressor(n_estimators=100, max_depth=2).fit(X, y)
    >>> decomposer = GlexDecomposer(model).fit(X)
    >>> decomposer.get_feature_names_out()
    array(['x0', 'x1', 'x2', 'x0:x1', 'x0:x2', 'x1:x2', 'remainder'],
          dtype=object)
    >>> components = decomposer.transform(X)
    >>> margin = decomposer.intercept_ + components.sum(axis=1)
    >>> np.allclose(margin, model.predict(X), atol=1e-5)
    True
    >>> decomposer.strongest_components(1)[0].name
    'x0:x1'

    SHAP values, interactions and partial dependence are sums of components:

    >>> parts = [decomposer[name].evaluate(X) for name in ["x0", "x0:x1", "x0:x2"]]
    >>> shap_values = decomposer.shap_values(X)
    >>> np.allclose(shap_values[:, 0], parts[0] + parts[1] / 2 + parts[2] / 2)
    True
    >>> interactions = decomposer.shap_interaction_values(X)
    >>> np.allclose(interactions[:, 0, 1], parts[1] / 2)
    True
    >>> np.allclose(decomposer.partial_dependence("x0", X), decomposer.intercept_ + parts[0])
    True

    The distribution of the background along a feature:

    >>> axis = decomposer.feature_axis("x0")
    >>> bool(np.isclose(decomposer.background_weights(axis).sum(), 1))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseTreeModelEstimator._parameter_constraints,
        "max_interaction": [Interval(Integral, 1, None, closed="left"), None],
        "features": ["array-like", slice, str, Integral, callable, None],
        "remainder": ["boolean"],
        "max_components": [Interval(Integral, 1, None, closed="left")],
        "separator": [str],
        "check_additivity": ["boolean"],
        "dtype": "no_validation",  # `fit` validates it: numpy accepts many spellings of float64 and float32
    }

    def __init__(
        self,
        estimator: Any,
        *,
        weighting: str = "empirical",
        max_interaction: int | None = 2,
        features: Any = None,
        feature_groups: dict[str, Any] | str | None = None,
        remainder: bool = True,
        prefit: str | bool = "auto",
        missing: float = np.nan,
        survival_output: str = "risk",
        times: Any = None,
        n_background: int | None = None,
        max_components: int = 20_000,
        separator: str = ":",
        check_additivity: bool = True,
        dtype: Any = np.float64,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.weighting = weighting
        self.max_interaction = max_interaction
        self.features = features
        self.feature_groups = feature_groups
        self.remainder = remainder
        self.prefit = prefit
        self.missing = missing
        self.survival_output = survival_output
        self.times = times
        self.n_background = n_background
        self.max_components = max_components
        self.separator = separator
        self.check_additivity = check_additivity
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @restore_on_failure
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, **fit_params: Any
    ) -> GlexDecomposer:
        """Use the estimator as it is or fit it, and decompose it into components.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape (n_samples, n_features), default=None
            The background rows. If the estimator is fitted here, they are also the training data. A Dask collection
            stays in its partitions, and the estimator must already be fitted. Path-dependent weights need no rows of
            a fitted estimator. Importances then need rows, which the functions of ``skglex.inspection`` take.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target. Needed only if the estimator is fitted here.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the background rows. If the estimator is fitted here, they are also passed to its ``fit``.
        **fit_params : dict
            Further parameters of the estimator's ``fit``.

        Returns
        -------
        GlexDecomposer
            The fitted estimator itself.

        Raises
        ------
        ValueError
            The input is invalid, or the model cannot be decomposed.
        AdditivityError
            The leaves do not reproduce the model's margin.

        Warns
        -----
        JoinedFeaturesWarning
            ``feature_groups="auto"`` joins features, since the model splits on combinations of them.
        RemainderWarning
            The components up to ``max_interaction`` leave out more than a tenth of the variance of the margin.
        SmallBackgroundWarning
            The background has few rows for the order of the components.
        ZeroCoverWarning
            The weights are path-dependent, and some nodes have no cover.
        """
        if np.dtype(self.dtype) not in (np.float64, np.float32):
            raise ValueError(f"dtype must be numpy.float64 or numpy.float32; got {self.dtype!r}")
        Xt = None
        if X is None:
            if isinstance(self.feature_groups, str):
                raise ValueError("feature_groups='auto' needs rows X. Pass X, or the groups as a dict")
            self._read_without_rows(y)
        else:
            X, Xt = self._fit_model(X, y, sample_weight, fit_params, check_additivity=self.check_additivity)
            self._fitted = self._fitted.with_raw_columns(X, Xt)
        self._groups = self._find_groups(X)
        if isinstance(self.feature_groups, str):
            warn_of_joined_features(self._groups)
        if X is not None and self._fitted.background.n_rows == len(self._fitted.background_rows):
            one_hot = find_one_hot_groups(Xt, self._fitted.source.input, self._groups)
            self._groups = replace(self._groups, one_hot=one_hot)
        self.feature_groups_ = self._groups.members
        self._decomposition = self._decompose(Xt)
        if self.weighting == "empirical":
            warn_of_small_background(self._fitted.background.effective_rows, self._decomposition.max_order)
        intercept = self._mean()
        self.intercept_ = float(intercept[0]) if len(intercept) == 1 else intercept
        self._cache: dict[str, Any] = {}  # attributes that are computed on first access
        self._list_components()
        self._decomposition.prepare_copies(self._execution)
        if self.features is None and self._decomposition.without_margin is None:
            warn_of_remainder(
                self._decomposition,
                self._fitted.background,
                self._execution,
                empirical=self.weighting == "empirical",
            )
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "_cache" in state:
            # A copy computes importances again, unless the background stays in Dask partitions.
            kept = () if self._fitted.background.copied else ("component_importances", "feature_importances")
            state["_cache"] = {name: self._cache[name] for name in kept if name in self._cache}
        return state

    def _find_groups(self, X: Any) -> FeatureGroups:
        """Return the features and groups that are explained; X are the rows passed to `fit`."""
        fitted, groups = self._fitted, self.feature_groups
        names, derived = fitted.feature_names, fitted.source.input.derived
        # Members with a preprocessing of their own have columns of their own, of which only raw columns are explained.
        by_raw_column = fitted.by_member and X is not None
        raw = self._trace_columns(X) if X is not None and (groups or by_raw_column) else fitted.raw
        if isinstance(groups, str) or by_raw_column:
            found = raw.groups(names, derived, by_raw_column=by_raw_column)
            given = groups if isinstance(groups, dict) else {}
            joined = {name for columns in given.values() for name in list_features(columns, names)}
            groups = {name: columns for name, columns in found.items() if name not in joined} | given
        return group_features(groups, names, raw.by_name()).with_derived(derived, names)

    def _mean(self) -> NDArray[np.float64]:
        """Return the mean margin over the background; the mean response if the model has no margin of its own."""
        if self._decomposition.without_margin is None:
            return self._decomposition.intercept(self._execution)
        nothing = np.empty((len(self._fitted.grid.features), 1), self._fitted.grid.dtype)
        scale = ResponseScale(self._decomposition, self._fitted.background, self._fitted.source.response)
        return scale.means([()], nothing, self._execution)[:, 0, 0]

    def _decompose(self, Xt: Any) -> Decomposition:
        """Split the leaves into the components of features, or of groups of features."""
        ensemble, groups = self._fitted.source.ensemble, self._groups
        players = assign_players(ensemble, groups.of_column[ensemble.grid.features])
        allowed = None
        if self.features is not None:
            allowed = np.zeros(len(groups.names), dtype=bool)
            allowed[groups.resolve(self.features, self._fitted.feature_names, X=Xt)] = True
        weighting, order = self._fitted.weighting, self.max_interaction
        without_margin = self._fitted.source.response.without_margin
        return Decomposition(
            ensemble, players, len(groups.names), weighting, order, allowed, without_margin=without_margin
        )

    def _list_components(self) -> None:
        """List the components up to ``max_interaction``, and check that the names of their columns differ."""
        self._has_remainder = self.remainder and (
            self.max_interaction is not None or self.features is not None
        )
        self._decomposition.list_components(max(self.max_components, budgets.held_components))
        if not self._too_many:
            self._column_names()  # This raises if two names are equal.

    # -- components ---------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Compute the components of rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, ``n_components_``), of type ``dtype``, or a data frame (see ``set_output``)
            Components on the margin scale, with the columns of `get_feature_names_out`. For several outputs, the
            columns of the first output come first, then those of the second, and so on.

        Raises
        ------
        ValueError
            There are more components than ``max_components``.
        AdditivityError
            The components of a row do not add up to the model's margin (see ``check_additivity``).

        Warns
        -----
        StreamedComponentsWarning
            Some components have too many cells for a table. The warning appears once.
        """
        check_is_fitted(self)
        Xt = self._fitted.check(X, self)
        self._require_components()
        shape = (self.n_components_,)
        columns = self._fitted.map_rows(
            Xt, shape, self._compute_components, self._execution, "components", self.dtype
        )
        if self.check_additivity:
            self._check_sums(Xt, columns)
        return columns.T

    def _compute_components(self, bins: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
        """Return the columns of binned rows: for every output the components, then the remainder if there is one."""
        decomposition = self._decomposition
        out = np.empty((self.n_components_, bins.shape[1]))
        decomposition.listed.evaluate(bins, np.arange(len(decomposition.listed)), out, execution)
        if not self._has_remainder:
            return out
        blocks = out.reshape(self._n_outputs, -1, bins.shape[1])
        if decomposition.complete:
            blocks[:, -1] = 0.0
            return out
        remainder = decomposition.margins(bins, execution) - np.reshape(self.intercept_, (-1, 1))
        for block, rest in zip(blocks, remainder):
            block[-1] = rest - block[:-1].sum(axis=0)
        return out

    def _check_sums(self, Xt: Any, columns: NDArray[Any]) -> None:
        """Raise an AdditivityError unless the components add up to the model's margin on a sample of the rows."""
        rows = np.unique(np.linspace(0, Xt.shape[0] - 1, _CHECKED_ROWS).astype(int))
        try:
            model_margin = self._fitted.model_margin(Xt, rows)
        except (TypeError, ValueError):
            # The model cannot predict on this container (for example an array instead of a data frame), so there is
            # no margin to compare with.
            return
        sample = columns[:, rows].astype(np.float64).reshape(self._n_outputs, -1, len(rows))
        if self._has_remainder or self._decomposition.complete:
            total = np.reshape(self.intercept_, (-1, 1)) + sample.sum(axis=1)
        else:
            total = self._decomposition.margins(self._fitted.bins(take_rows(Xt, rows), self._execution))
        # Each column is rounded to its dtype, and is a sum of terms of about the same magnitude.
        rounding = np.abs(sample).sum(axis=1) * 8 * np.finfo(columns.dtype).eps
        rounding = rounding_of(self._fitted.source.ensemble) + rounding.T
        require_equal(model_margin, total.T, rounding, rows, "components", "transform")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names that must equal ``feature_names_in_``, as everywhere in scikit-learn.

        Returns
        -------
        ndarray of shape (``n_components_``,), object
            Names of the components. For several outputs, they have the form ``class__component``. The last column of
            each output is ``remainder`` if there is a remainder.
        """
        check_is_fitted(self)
        self._require_components()
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array(self._column_names(), dtype=object)

    @property
    def n_components_(self) -> int:
        """Return the number of columns of the output of `transform`."""
        self._require_components(NoComponentsError)
        return self._n_outputs * (len(self._decomposition.listed) + self._has_remainder)

    @property
    def components_(self) -> Components:
        """Return the components up to ``max_interaction``."""
        self._require_components(NoComponentsError)
        if "components" not in self._cache:
            sets = self._decomposition.listed.sets
            made = [self._new_component(*item) for item in zip(sets, self._component_names(sets))]
            self._cache["components"] = Components(made, sets, self._names, self._why_not_listed)
        components: Components = self._cache["components"]
        return components

    def __getitem__(self, key: Any) -> Component:
        """Return a component of any order.

        Parameters
        ----------
        key : str, int, or tuple, list or set of these
            The name of the component, or its features (names or positions) in any order. A single integer is a
            position in ``components_``.

        Returns
        -------
        Component
            The component, also if it has more than ``max_interaction`` features.

        Raises
        ------
        KeyError
            A name is unknown, or the component is zero because no path of the model has all of its features.
        """
        check_is_fitted(self)
        if isinstance(key, (int, np.integer, slice)) or (not self._too_many and key in self.components_):
            component: Component = self.components_[key]
            return component
        members = self._names.members(key)
        if not self._decomposition.together(members):
            raise KeyError(self._why_zero(members))
        return self._new_component(members, *self._component_names([members]))

    def __contains__(self, key: object) -> bool:
        """Return whether the model has a component, of any order, with a name or with some features."""
        check_is_fitted(self)
        try:
            return self._decomposition.together(self._names.members(key))
        except KeyError:
            return False

    def __iter__(self) -> Iterator[Component]:
        """Iterate over ``components_``."""
        return iter(self.components_)

    def _new_component(self, members: tuple[int, ...], name: str) -> Component:
        features = tuple(self._groups.names[i] for i in members)
        return Component(_ComponentSource(self), members, name, features)

    @property
    def _names(self) -> ComponentNames:
        grouped = self._groups.group_of(self._fitted.feature_names)
        return ComponentNames(self._groups.names, self.separator, grouped)

    def _component_names(self, sets: list[tuple[int, ...]]) -> list[str]:
        return column_names(self._groups.names, sets, self.separator)

    def _why_zero(self, members: tuple[int, ...]) -> str:
        features, longest = [self._groups.names[i] for i in members], self._decomposition.players.largest
        if len(members) == 1:
            return f"the model does not split on {features[0]!r}, so this component is zero everywhere"
        if len(members) > longest:
            return (
                f"the component of {features} has order {len(members)}, but no path of the model has more than "
                f"{longest} features, so it is zero everywhere"
            )
        return f"no path of the model splits on all of {features}, so their component is zero everywhere"

    def _why_not_listed(self, members: tuple[int, ...]) -> str:
        if not self._decomposition.together(members):
            return self._why_zero(members)
        features = [self._groups.names[i] for i in members]
        limit = f"max_interaction={self.max_interaction}"
        if len(members) <= self._decomposition.max_order:
            limit = f"features={self.features!r}"
        return (
            f"{limit} leaves the component of {features} out of components_. The decomposer itself has it: "
            f"decomposer{features}"
        )

    def strongest_components(self, k: int = 10) -> list[Component]:
        """Return the components with the largest importance, summed over the outputs.

        Parameters
        ----------
        k : int, default=10
            Number of components.

        Returns
        -------
        list of Component
            Components up to ``max_interaction``, in descending order of importance.

        Raises
        ------
        ValueError
            ``k`` is less than 1, or there are too many components to list.
        """
        check_scalar(k, "k", Integral, min_val=1)
        check_is_fitted(self)
        sets, means = self._strongest(k)
        if self._too_many:
            components = [self._new_component(*item) for item in zip(sets, self._component_names(sets))]
        else:
            components = [self.components_[self._positions[members]] for members in sets]
        for component, mean in zip(components, self._squeeze(means)):
            component._importance = mean
        return components

    def _strongest(self, k: int | None) -> tuple[list[tuple[int, ...]], NDArray[np.float64]]:
        """Return the players and the importances of the k strongest components, or of all."""
        if "component_importances" in self._cache:
            ranking = np.argsort(-self._component_means().sum(axis=1), kind="stable")[:k]
            sets = self._decomposition.listed.sets
            return [sets[int(i)] for i in ranking], self._component_means()[ranking]
        known = self._cache.setdefault("some_importances", {})
        return strongest(self._decomposition, self._fitted.background, k, self._execution, known)

    @property
    def component_importances_(self) -> NDArray[np.float64]:
        """Return the mean absolute value of every component over the background."""
        self._require_components(NoComponentsError)
        return self._squeeze(self._component_means())

    def _component_means(self) -> NDArray[np.float64]:
        """Return the mean absolute value of every component up to ``max_interaction``: (n_sets, n_outputs)."""
        if "component_importances" not in self._cache:
            listed, known = self._decomposition.listed, self._cache.pop("some_importances", {})
            complete_means(known, listed, self._fitted.background, np.arange(len(listed)), self._execution)
            self._cache["component_importances"] = np.reshape(
                [known[c] for c in range(len(listed))], (len(listed), listed.n_outputs)
            )
        means: NDArray[np.float64] = self._cache["component_importances"]
        return means

    # -- sums of components -------------------------------------------------------------------

    def shap_values(self, X: Any, *, scale: str = "margin") -> NDArray[np.float64]:
        """Compute SHAP values: ``phi_k = sum over S with k of m_S / |S|``, over components of all orders.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        scale : {"margin", "response"}, default="margin"
            ``"response"``: explain the model's own response (probability, price, count) instead of the margin. This
            mixes each row with each background row in all coalitions of the features, of which there may be 14.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
            SHAP values. Those of a row and ``intercept_`` add up to its margin; on the response scale, those of a row
            and the mean response (``partial_dependence([], X, scale="response")``) add up to its response. With
            ``feature_groups``, the players are the groups and the features outside of groups, in the order of
            ``explained_features_``.

        Raises
        ------
        ValueError
            With ``scale="response"``: the weights are path-dependent, or the model uses more than 14 features or
            groups.
        """
        check_is_fitted(self)
        if on_response(scale):
            compute = self._explained.response_scale.shapley
            shape = (len(self._groups.names),)
            values = self._on_rows(X, shape, compute, "SHAP values", scale)
        else:
            values = self._fill_rows(X, self._decomposition.fill_shapley, "SHAP values", pairs=False)
        return _squeezed(values.transpose(2, 1, 0))

    def shap_interaction_values(self, X: Any, *, scale: str = "margin") -> NDArray[np.float64]:
        """Compute SHAP interaction values: ``1/2 sum over S with i, j of m_S / (|S| - 1)``, over all orders.

        The diagonal is defined such that each row of the matrix sums to the SHAP value, as in XGBoost and shap.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        scale : {"margin", "response"}, default="margin"
            As in `shap_values`.

        Returns
        -------
        ndarray of shape (n_samples, n_features, n_features) or (n_samples, n_features, n_features, n_outputs)
            SHAP interaction values.

        Raises
        ------
        ValueError
            As in `shap_values`.
        """
        check_is_fitted(self)
        name = "SHAP interaction values"
        if on_response(scale):
            compute = self._explained.response_scale.shapley_interactions
            values = self._on_rows(X, (len(self._groups.names),) * 2, compute, name, scale)
        else:
            values = self._fill_rows(X, self._decomposition.fill_interactions, name, pairs=True)
        return _squeezed(values.transpose(3, 1, 2, 0))

    def partial_dependence(self, features: Any, X: Any, *, scale: str = "margin") -> NDArray[np.float64]:
        """Evaluate the partial dependence function of some features at rows.

        ``PD_S(x) = sum over U in S of m_U(x)``, including the intercept (the empty U) and all orders. It is the mean
        margin when the features S are set to the row's values and the other features are averaged out. On the response
        scale it is the mean response.

        Parameters
        ----------
        features : str, int or list of these
            Names or positions of the features S. With ``feature_groups``, a group is selected by its name. An empty
            list gives the mean over the background.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        scale : {"margin", "response"}, default="margin"
            ``"response"``: average the model's own response (probability, price, count) instead of the margin.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Partial dependence.

        Raises
        ------
        ValueError
            With ``scale="response"``: the weights are path-dependent.
        """
        check_is_fitted(self)
        Xt = self._check_rows(X)
        empty = not callable(features) and np.size(features) == 0
        players = [] if empty else self._groups.resolve(features, self._fitted.feature_names, X=Xt)
        if on_response(scale):
            means = partial(self._explained.response_scale.means, [tuple(sorted(map(int, players)))])
            return _squeezed(self._on_rows(X, (1,), means, "partial dependence", scale)[:, 0].T)
        decomposition = self._decomposition
        decomposition.require_margin()
        keep = np.isin(decomposition.players.player_of_feature, players)
        averaged = average_out(decomposition.ensemble, decomposition.weighting, keep, self._execution)
        shape = (self._n_outputs,)
        return self._squeeze(
            self._fitted.map_rows(Xt, shape, averaged, self._execution, "partial dependence").T
        )

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return the mean absolute SHAP value of every feature over the background."""
        check_is_fitted(self)
        if "feature_importances" not in self._cache:
            means = shapley_means(self._decomposition, self._fitted.background, self._execution)
            self._cache["feature_importances"] = self._squeeze(means)
        importances: NDArray[np.float64] = self._cache["feature_importances"]
        return importances

    def feature_axis(self, feature: str | int) -> Axis:
        """Return all bins of a feature that the model distinguishes.

        Parameters
        ----------
        feature : str or int
            Name or position of a feature that the model splits on.

        Returns
        -------
        Axis
            The axis with the edges of all trees. The axis of a component has only the edges of the component's
            leaves.
        """
        check_is_fitted(self)
        used_feature = self._used_feature(feature)
        grid = self._fitted.grid
        position, categorical = int(grid.features[used_feature]), bool(grid.categorical[used_feature])
        edges: NDArray[Any]
        if categorical:
            codes = grid.cuts_of(used_feature).astype(np.int64)
            categories = self._fitted.source.input.categories.get(position)
            edges = codes if categories is None else categories[codes]
        else:
            edges = np.unique(grid.edges(used_feature)[: grid.n_reached(used_feature) - 1])
        return Axis(self._fitted.feature_names[position], edges, categorical, len(edges) + 1)

    def background_weights(self, axis: Axis | str | int) -> NDArray[np.float64]:
        """Return the share of the background in every bin of an axis.

        Parameters
        ----------
        axis : Axis, str or int
            Axis of a component of this decomposer. Or a feature, which stands for its `feature_axis`.

        Returns
        -------
        ndarray of shape (axis.n_bins,)
            Weight of the background in each bin; the weights sum to one.
        """
        check_is_fitted(self)
        axis = axis if isinstance(axis, Axis) else self.feature_axis(axis)
        used_feature = self._used_feature(axis.feature)
        grid = self._fitted.grid
        compute = partial(_bin_shares, used_feature=used_feature, n_bins=int(grid.n_bins[used_feature]))
        share = self._fitted.background.average(compute)
        return np.asarray(np.bincount(bins_along(axis, grid.edges(used_feature)), share, axis.n_bins))

    @property
    def explained_features_(self) -> list[str]:
        """Return the names along the feature axis of SHAP values: features, or groups and ungrouped features."""
        check_is_fitted(self)
        return list(self._groups.names)

    # -- access for inspection, plots, exports and notebooks ----------------------------------

    @property
    def _explained(self) -> Explained:
        """Return the fitted state for inspection, plots and exports, which call `skglex._decomposition.explained`."""
        return Explained(
            decomposition=self._decomposition,
            fitted=self._fitted,
            groups=self._groups,
            output_labels=self._output_labels(),
            intercept=np.reshape(self.intercept_, -1),
            max_interaction=self.max_interaction,
            execution=self._execution,
            estimator=self,
            component_means=self._component_means,
            strongest=self._strongest,
            find=self._find,
            members=self._names.members,
            cached=frozenset(self._cache),
        )

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram and a table of the largest components."""
        table = ""
        # Show the diagram alone if the decomposer is not fitted, or if there are too many components.
        with suppress(Exception):
            table = largest_components_table(self, self._explained)
        return str(estimator_html_repr(self)) + table

    def _repr_html_inner(self) -> str:
        # scikit-learn before 1.7 does not call `_html_repr`.
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._html_repr()
        return bundle

    # The diagram of scikit-learn 1.8 and later shows the values of all attributes in `dir`, and tab completion reads
    # each of them. Neither may compute importances or raise, so `dir` must not list such attributes.

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        self.__dict__["_in_diagram"] = True
        try:
            return super()._get_fitted_attr_html(doc_link)
        finally:
            del self.__dict__["_in_diagram"]

    def __dir__(self) -> list[str]:
        state = self.__dict__
        hidden = set(_IMPORTANCES + _OF_COMPONENTS) if "_cache" not in state else set()
        if "_decomposition" in state and self._decomposition.without_margin is not None:
            hidden.update(_IMPORTANCES)
        if "_cache" in state and self._too_many:
            hidden.update(_OF_COMPONENTS)
        if "_in_diagram" in state:
            hidden.update(name for name in _IMPORTANCES if name.rstrip("_") not in state.get("_cache", {}))
        shown = [name for name in object.__dir__(self) if name not in hidden]
        return [name for name in shown if name in _IMPORTANCES + _OF_COMPONENTS or self._has(name)]

    def _has(self, name: str) -> bool:
        """Return whether an attribute can be read: some need components, which may be refused."""
        try:
            getattr(self, name)
        except (AttributeError, ValueError):
            return False
        return True

    # -- helpers ------------------------------------------------------------------------------

    @property
    def _n_outputs(self) -> int:
        return self._fitted.source.ensemble.n_outputs

    def _output_labels(self) -> list[Any] | None:
        """Return the labels of the outputs, None for a single output."""
        if self._n_outputs == 1 or self._decomposition.without_margin is not None:
            return None
        if (labels := self._fitted.source.response.output_labels) is not None:
            return list(labels)
        classes = getattr(self, "classes_", None)
        if classes is not None and len(classes) == self._n_outputs:
            return list(classes)
        return list(range(self._n_outputs))

    def _squeeze(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Drop the last axis if there is a single output."""
        return values[..., 0] if self._n_outputs == 1 else values

    def _used_feature(self, feature: str | int) -> int:
        """Return the position on the grid of a feature that the model splits on."""
        names = self._fitted.feature_names
        (position,) = resolve_features(feature, names, parameter="feature")
        used_feature = np.flatnonzero(self._fitted.grid.features == position)
        if not len(used_feature):
            raise ValueError(
                f"the model does not split on the feature {names[position]!r}, so the feature has no bins. Pass a "
                "feature of a component"
            )
        return int(used_feature[0])

    def _fill_rows(self, X: Any, fill: Any, name: str, *, pairs: bool) -> NDArray[np.float64]:
        """Compute SHAP values, or interactions, of rows: (n_outputs, n_players, n_samples), or one axis more."""
        Xt, decomposition = self._check_rows(X), self._decomposition
        shape = (self._n_outputs, *(decomposition.n_players,) * (2 if pairs else 1))
        width = decomposition.shapley_width(pairs=pairs)
        return self._fitted.fill_rows(Xt, shape, fill, self._execution, name, width)

    def _on_rows(
        self, X: Any, shape: tuple[int, ...], compute: Any, name: str, scale: str = "margin"
    ) -> NDArray[np.float64]:
        r"""Compute numbers of all outputs or responses for rows: shape (n_outputs, \*shape, n_samples)."""
        Xt = self._check_rows(X)
        n_outputs = self._fitted.source.response.n_responses if on_response(scale) else self._n_outputs
        return self._fitted.map_rows(Xt, (n_outputs, *shape), compute, self._execution, name)

    def _check_rows(self, X: Any) -> Any:
        """Check rows to explain, and take them through the preprocessing; an array of one dimension is one row."""
        if isinstance(X, (list, np.ndarray)) and np.ndim(X) == 1 and len(X) == self.n_features_in_:
            X = np.reshape(X, (1, -1))
        return self._fitted.check(X, self)

    def _column_names(self) -> list[str]:
        names = self._component_names(self._decomposition.listed.sets)
        return output_names(names, remainder=self._has_remainder, labels=self._output_labels())

    @property
    def _too_many(self) -> bool:
        return (
            self._decomposition.without_margin is not None
            or not self._decomposition.is_listed
            or self._decomposition.n_listed[0] > self.max_components
        )

    def _require_components(self, error: type[ValueError] = ValueError) -> None:
        """Raise if there are more components than ``max_components``."""
        check_is_fitted(self)
        if self._decomposition.without_margin is not None:
            raise error(self._decomposition.without_margin)
        if self._too_many:
            count, exact = self._decomposition.n_listed
            limit = f"more than max_components={self.max_components:,}"
            if count <= self.max_components:
                limit = "on so many different paths that they cannot be listed"
            raise error(
                f"the model has {'' if exact else 'at least '}{count:,} components, {limit}. "
                f"{fewer_components(self._decomposition.max_order)}, join columns with feature_groups, "
                "or raise max_components. Single components (decomposer['name']), strongest_components(k) of main "
                "effects and pairs, SHAP values, SHAP interaction values and partial dependence are available "
                "regardless"
            )

    def _find(self, members: tuple[int, ...]) -> tuple[ListedComponents, int]:
        """Return a list of components that has the one of some features, and its position in the list."""
        if not self._too_many and (position := self._positions.get(members)) is not None:
            return self._decomposition.listed, position
        return self._decomposition.single(members), 0

    @property
    def _positions(self) -> dict[tuple[int, ...], int]:
        """Return the position of every listed component."""
        if "positions" not in self._cache:
            sets = self._decomposition.listed.sets
            self._cache["positions"] = {members: position for position, members in enumerate(sets)}
        positions: dict[tuple[int, ...], int] = self._cache["positions"]
        return positions

    def _component_values(self, members: tuple[int, ...], X: Any) -> NDArray[np.float64]:
        """Evaluate one component at rows."""
        listed, position = self._find(members)
        needed = np.flatnonzero(np.isin(self._groups.of_feature, members))
        X = self._fitted.fill_others(as_numpy(X), needed)

        def compute(bins: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
            return self._explained.component_values(listed, bins, np.array([position]))[:, 0]

        return self._squeeze(self._on_rows(X, (), compute, "the component").T)


class _ComponentSource:
    """Compute a decomposer's components, with their players as keys; see `skglex.components.ComponentSource`."""

    def __init__(self, decomposer: GlexDecomposer) -> None:
        self._decomposer = decomposer

    @property
    def output_labels(self) -> list[Any] | None:
        """Return the labels of the outputs, None for a single output."""
        return self._decomposer._output_labels()

    def importance(self, key: tuple[int, ...]) -> Any:
        """Return the importance of a component."""
        decomposer = self._decomposer
        listed, position = decomposer._find(key)
        known: dict[int, NDArray[np.float64]] = {}
        if not decomposer._too_many and listed is decomposer._decomposition.listed:
            if "component_importances" in decomposer._cache:
                return decomposer._squeeze(decomposer._component_means())[position]
            known = decomposer._cache.setdefault("some_importances", {})
        background, chosen = decomposer._fitted.background, np.array([position])
        complete_means(known, listed, background, chosen, decomposer._execution)
        return decomposer._squeeze(known[position][None])[0]

    def values(self, key: tuple[int, ...], X: Any) -> NDArray[np.float64]:
        """Evaluate a component at rows."""
        return self._decomposer._component_values(key, X)

    def axes(self, key: tuple[int, ...]) -> tuple[Axis, ...]:
        """Return the axes of a component's table."""
        return self._decomposer._explained.component_axes(*self._decomposer._find(key))

    def table(self, key: tuple[int, ...]) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        """Return the axes and the values of a component's table."""
        return self._decomposer._explained.component_table(*self._decomposer._find(key))


def _squeezed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Drop the last axis if it has a single output."""
    return values[..., 0] if values.shape[-1] == 1 else values


def _bin_shares(background: Background, *, used_feature: int, n_bins: int) -> NDArray[np.float64]:
    weight = background.weight / background.total
    share: NDArray[Any] = np.bincount(background.bins[used_feature], weight, n_bins)
    return share
