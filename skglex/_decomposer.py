"""GlexDecomposer: a fitted tree ensemble as the exact sum of its components."""

from __future__ import annotations

from functools import wraps
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin, _fit_context
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from skglex._dask import is_dask, per_partition
from skglex._decomposition import Decomposition, TooManyComponents, component_means, top_components
from skglex._explainer import TreeModelExplainer
from skglex._input import bin_all, column_names, group_features, output_names, take_rows
from skglex._leaves import assign_players, require_equal, rounding_of, warn_of_small_background
from skglex._utils import ComponentsHTMLMixin, Execution, check_memory, restore_on_failure
from skglex.components import Axis, Component, Components

# Rows of which `transform` compares the sum with the model's own margin.
_CHECKED_ROWS = 100


class NoComponentsError(ValueError, AttributeError):
    """An attribute that does not exist with too many components; ``hasattr`` and displays leave it out."""


class GlexDecomposer(ComponentsHTMLMixin, TransformerMixin, TreeModelExplainer):
    """Exact functional decomposition of a tree ensemble into main effects and interactions.

    The margin (raw score) of the model at x is split into components, ::

        margin(x) = m_0 + sum over feature sets S of m_S(x_S),

    identified by averaging: for every leaf l with value v_l and path features P_l, ::

        m_S(x) = sum_l v_l * sum over V in S of (-1)^(|S| - |V|) * 1[x_V] * E_l(P_l minus V)   (P_l holds S)

    where 1[x_V] says that x meets the leaf's conditions on V, and E_l(U) is the weight with which those on U hold
    when x_U is averaged out [1]_. SHAP values, partial dependence functions and importances are sums of components.

    Parameters
    ----------
    estimator : estimator or booster
        A regressor, classifier or isolation forest, fitted or not, a ``Pipeline`` that ends in one, an
        ``xgboost.Booster``, ``lightgbm.Booster`` or ``treelite.Model``, or a ``FrozenEstimator``. Around a pipeline,
        the decomposition is of the final model, in the space after the preprocessing. The documentation lists which
        models can be read.
    weighting : {"empirical", "path_dependent"}, default="empirical"
        ``"empirical"``: E_l(U) is the weighted share of background rows that meet the leaf's conditions on U, the
        joint distribution [2]_. Partial dependence then is the brute-force one, SHAP values are interventional.
        ``"path_dependent"``: the product of the cover ratios along the leaf's path, as XGBoost's
        ``pred_contribs`` has it.
    max_interaction : int, default=None
        Highest order of a component. None: all that the model has.
    features : list of str or int, mask or callable, default=None
        Only components whose features all lie in this list. With ``feature_groups``, groups are named by their name.
    feature_groups : dict of str to list, default=None
        ``{"name": [columns]}``: columns that count as one feature.
    remainder : bool, default=True
        Where ``max_interaction`` or ``features`` is set: append the column ``remainder``, margin - intercept -
        columns.
    prefit : {"auto", True, False}, default="auto"
        ``"auto"``: the estimator is used as it is when it is fitted and no y is given (boosters and frozen
        estimators always); otherwise it is cloned and fitted. ``True``: always as it is. ``False``: always fitted.
    n_background : int, default=None
        Number of rows of X drawn as the background, also of a Dask collection. None: all.
    max_components : int, default=20_000
        With more components than that, `transform` and ``components_`` raise a ValueError.
    separator : str, default=":"
        Between the features in a component's name.
    check_additivity : bool, default=True
        Prove that the model's own margin is reproduced: at `fit` by the leaves, on up to 1,000 background rows; at
        `transform` by the components, on up to 100 of the rows (where the model itself takes them in this form).
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the output of `transform`. Sums are float64 in any case.
    n_jobs : int, default=None
        Number of threads, as everywhere in scikit-learn. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the background.
    verbose : int, default=0
        With 1, long work shows its progress.

    Attributes
    ----------
    intercept_ : float, or ndarray of shape (n_outputs,)
        m_0, the mean margin over the background (path-dependent: over the training data as covers tell it).
    components_ : sequence of Component
        By position, by name or by the tuple of features: ``decomposer.components_["hr:temp"]``.
    n_components_ : int
        Number of columns of the output of `transform`.
    component_importances_ : ndarray of shape (n_sets,) or (n_sets, n_outputs)
        Mean of ``|m_S|`` over the background, one entry per component in ``components_``.
    feature_importances_ : ndarray of shape (n_features,) or (n_features, n_outputs)
        Mean of ``|phi_k|`` over the background, not normalised. Like ``component_importances_`` it is computed on
        first access, from the binned background that a fitted (and a saved) decomposer contains, or from that in
        Dask partitions.
    estimator_ : object
        The fitted model.
    classes_ : ndarray of shape (n_classes,)
        Labels, of a classifier.
    background_ : Bunch
        ``rows`` (positions in the X given to `fit`) and ``weights`` (None: in the partitions of a Dask collection).
    n_features_in_ : int
        Number of columns of the X given to `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Their names, where X is a data frame.

    See Also
    --------
    sklearn.inspection.partial_dependence : Partial dependence by brute force.

    Notes
    -----
    All methods that take rows X are lazy on Dask arrays and data frames: they return Dask collections.

    The margin is on the link scale: log-odds for a binary classifier, one score per class for several, the
    logarithm for Poisson, gamma and Tweedie regression. A model trained with ``base_margin`` is decomposed
    without it.

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
    array(['x0', 'x1', 'x2', 'x0:x1', 'x0:x2', 'x1:x2'], dtype=object)
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

    Where the background is, along a feature:

    >>> axis = decomposer.feature_axis("x0")
    >>> bool(np.isclose(decomposer.background_weights(axis).sum(), 1))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TreeModelExplainer._parameter_constraints,
        "max_interaction": [Interval(Integral, 1, None, closed="left"), None],
        "features": ["array-like", slice, str, Integral, callable, None],
        "remainder": ["boolean"],
        "max_components": [Interval(Integral, 1, None, closed="left")],
        "separator": [str],
        "check_additivity": ["boolean"],
        "dtype": "no_validation",  # anything that numpy takes for float64 or float32
    }

    def __init__(
        self,
        estimator: Any,
        *,
        weighting: str = "empirical",
        max_interaction: int | None = None,
        features: Any = None,
        feature_groups: dict[str, Any] | None = None,
        remainder: bool = True,
        prefit: str | bool = "auto",
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
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> GlexDecomposer:
        """Take or fit the estimator and split it into components.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape (n_samples, n_features)
            The background; the training data too, where the estimator is fitted here. A Dask collection stays in its
            partitions, and the estimator must be fitted already.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target, needed only where the estimator is fitted here.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the background rows, passed to the estimator too where it is fitted here.
        **fit_params : dict
            Further parameters of the estimator's ``fit``.

        Returns
        -------
        GlexDecomposer
            The fitted estimator itself.

        Raises
        ------
        ValueError
            Bad input, or a model that cannot be decomposed.
        AdditivityError
            The leaves do not reproduce the model's own margin.

        Warns
        -----
        SmallBackgroundWarning
            The background has few rows for the order of the components.
        ZeroCoverWarning
            Path-dependent weights of nodes without cover.
        """
        if np.dtype(self.dtype) not in (np.float64, np.float32):
            raise ValueError(f"dtype must be numpy.float64 or numpy.float32, got {self.dtype!r}")
        _, Xt = self._fit_model(X, y, sample_weight, fit_params)
        if self.check_additivity:
            self._prove(Xt)
        self._decomposition = self._decompose()
        if self.weighting == "empirical":
            warn_of_small_background(self._background.effective_rows, self._decomposition.max_order)
        intercept = self._decomposition.intercept(self._execution)
        self.intercept_ = float(intercept[0]) if len(intercept) == 1 else intercept
        self._lazy = {}
        self._list_components(Xt)
        self._keep_weights()
        return self

    def _decompose(self) -> Decomposition:
        """The decomposition of the model that was read, its features grouped."""
        ensemble, groups = self._model.ensemble, group_features(self.feature_groups, self._model_names)
        self._groups = groups
        players = assign_players(ensemble, groups.of_feature[ensemble.grid.features])
        weighting = self._make_weighting()
        return Decomposition(ensemble, players, len(groups.names), weighting, self.max_interaction)

    def _list_components(self, Xt: Any) -> None:
        """List the components that are wanted, and name their columns; or note that there are too many."""
        names, allowed = self._groups.names, None
        if self.features is not None:
            allowed = np.zeros(len(names), dtype=bool)
            allowed[self._groups.resolve(self.features, self._model_names, X=Xt)] = True
        self._has_remainder = self.remainder and (
            self.max_interaction is not None or self.features is not None
        )
        self._too_many: str | None = None
        try:
            self._decomposition.list_components(allowed, self.max_components)
        except TooManyComponents as error:
            self._too_many = f"{'' if error.exact else 'at least '}{error.count:,}"
            return
        self._component_names = column_names(names, self._decomposition.index.sets, self.separator)
        self._column_names()  # raises where two are equal

    def _keep_weights(self) -> None:
        """Where the background is out of this process, keep what is needed of it, for copies that have none."""
        self._decomposition.prepare_copies(self._execution)

    def transform(self, X: Any) -> Any:
        """Components of given rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples, ``n_components_``), of type ``dtype``, or a data frame (see ``set_output``)
            On the margin scale; columns as in `get_feature_names_out`. Several outputs: class after class.

        Raises
        ------
        ValueError
            There are more components than ``max_components``.
        AdditivityError
            The components of a row do not add up to the model's own margin (see ``check_additivity``).

        Warns
        -----
        StreamedComponentsWarning
            Once: some components have too many cells for a table.
        """
        Xt = self._check_X(X)
        self._require_components()
        n, width = Xt.shape[0], self.n_components_
        check_memory((width, n), "components")
        out = np.empty((width, n), dtype=self.dtype)
        for start, stop, bins in self._binned(Xt, width):
            whole = stop - start == n and np.dtype(self.dtype) == np.float64
            part = out if whole else np.empty((width, stop - start))
            self._write_components(bins, part)
            if not whole:
                out[:, start:stop] = part
        if self.check_additivity:
            self._check_sums(Xt, out)
        return out.T

    def _check_sums(self, Xt: Any, out: NDArray[Any]) -> None:
        """Raise unless components add up to the model's own margin, on a sample of the rows."""
        rows = np.unique(np.linspace(0, Xt.shape[0] - 1, _CHECKED_ROWS).astype(int))
        try:
            own = self._own_margin(Xt, rows)
        except (TypeError, ValueError):
            return  # the model refuses rows in this form (arrays for data frames, say): no margin to miss
        columns = out[:, rows].astype(np.float64).reshape(self._n_outputs, -1, len(rows))
        if self._has_remainder or self._decomposition.complete:
            ours = np.reshape(self.intercept_, (-1, 1)) + columns.sum(axis=1)
        else:
            bins = bin_all(take_rows(Xt, rows), self._model.input, self._model.ensemble.grid)
            ours = self._decomposition.margins(bins)
        # a column is rounded to its type, and summed from terms of about its size
        rounding = np.abs(columns).sum(axis=1) * 8 * np.finfo(out.dtype).eps
        require_equal(
            own, ours.T, rounding_of(self._model.ensemble) + rounding.T, rows, "components", "transform"
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Checked against ``feature_names_in_``, as everywhere in scikit-learn.

        Returns
        -------
        ndarray of shape (``n_components_``,), object
            Of several outputs ``class__component``; the last of each output is ``remainder``, where there is one.
        """
        check_is_fitted(self)
        self._require_components()
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array(self._column_names(), dtype=object)

    @property
    def n_components_(self) -> int:
        self._require_components(NoComponentsError)
        return self._n_outputs * (len(self._component_names) + self._has_remainder)

    @property
    def components_(self) -> Components:
        self._require_components(NoComponentsError)
        if "components" not in self._lazy:
            groups = self._groups
            features = [tuple(groups.names[i] for i in members) for members in self._decomposition.index.sets]
            grouped = set(self._model_names) - set(groups.names)
            self._lazy["components"] = Components(
                self, self._component_names, features, names=groups.names, grouped=grouped
            )
        components: Components = self._lazy["components"]
        return components

    def __getitem__(self, key: Any) -> Component:
        """The component with the given name, or of the given features."""
        component: Component = self.components_[key]
        return component

    def strongest_components(self, k: int = 10) -> list[Component]:
        """The components with the largest importance (the sum of it over outputs).

        Parameters
        ----------
        k : int, default=10
            How many.

        Returns
        -------
        list of Component
            The strongest first.

        Raises
        ------
        ValueError
            ``k`` is less than 1.
        """
        check_scalar(k, "k", Integral, min_val=1)
        components, background = self.components_, self._background
        if "component_importances" not in self._lazy:
            found, _ = top_components(self._decomposition, background, k, self._execution)
        else:
            total = self.component_importances_.reshape(len(components), self._n_outputs).sum(axis=1)
            found = np.argsort(-total, kind="stable")[:k]
        return [components[int(i)] for i in found]

    @property
    def component_importances_(self) -> NDArray[np.float64]:
        self._require_components(NoComponentsError)
        if "component_importances" not in self._lazy:
            means = component_means(self._decomposition, self._background, execution=self._execution)
            self._lazy["component_importances"] = self._squeeze(means)
        importances: NDArray[np.float64] = self._lazy["component_importances"]
        return importances

    # -- helpers ------------------------------------------------------------------------------

    def _column_names(self) -> list[str]:
        return output_names(
            self._component_names, remainder=self._has_remainder, labels=self._output_labels()
        )

    def _require_components(self, error: type[ValueError] = ValueError) -> None:
        check_is_fitted(self)
        if self._too_many is not None:
            raise error(
                f"the model has {self._too_many} components, more than max_components={self.max_components:,}. Set "
                "max_interaction (2 gives main effects and pairs), restrict features, join columns with "
                "feature_groups, or raise max_components. SHAP values, interactions and partial dependence work all "
                "the same"
            )

    def _write_components(self, bins: NDArray[Any], out: NDArray[np.float64]) -> None:
        """Fill ``out`` (class blocks of components and, where there is one, the remainder)."""
        self._decomposition.components(bins, np.arange(len(self._component_names)), out, self._execution)
        if not self._has_remainder:
            return
        step = len(out) // self._n_outputs
        rest = out[step - 1 :: step]
        if self._decomposition.complete:
            rest[:] = 0.0
            return
        rest[:] = self._decomposition.margins(bins, self._execution) - np.reshape(self.intercept_, (-1, 1))
        for o in range(self._n_outputs):
            rest[o] -= out[o * step : (o + 1) * step - 1].sum(axis=0)

    # -- what a Component asks (`skglex.components.ComponentSource`) ---------------------------

    @per_partition
    def _component_values(self, position: int, X: Any) -> NDArray[np.float64]:
        def compute(bins: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
            out = np.empty((self._n_outputs, bins.shape[1]))
            self._decomposition.components(bins, np.array([position]), out, execution)
            return out

        return self._squeeze(self._on_rows(self._check_X(X), (), compute, "the component").T)

    def _component_table(self, position: int) -> tuple[tuple[Axis, ...], NDArray[np.float64]]:
        axes, values = self._decomposition.component_table(
            position, self._model_names, self._model.input.categories, self._execution
        )
        return axes, self._squeeze(values)


@wraps(GlexDecomposer.fit_transform)
def _fit_transform(self: GlexDecomposer, X: Any, y: Any = None, **fit_params: Any) -> Any:
    if is_dask(X):
        return self.fit(X, y, **fit_params).transform(X)
    return TransformerMixin.fit_transform(self, X, y, **fit_params)


# outside of what scikit-learn wraps around methods for set_output, which would compute
GlexDecomposer.transform = per_partition(GlexDecomposer.transform)  # type: ignore[method-assign]
GlexDecomposer.fit_transform = _fit_transform
