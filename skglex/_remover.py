"""FeatureRemover: predictions of a fitted tree ensemble without some features."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skglex._decomposition import average_out
from skglex._input import RawColumns, expand_groups, find_outputs, is_frame, resolve_features
from skglex._leaves import LeafSum
from skglex._predictor import DebiasedPredictor
from skglex._prefit import tree_model
from skglex._utils import restore_on_failure, warn_user

if TYPE_CHECKING:
    import xgboost


class FeatureRemover(DebiasedPredictor):
    """Predict with every component that touches some features taken out of a fitted model.

    The features, say a protected attribute, lose their main effects and all their interactions; the model is not
    refitted. With R the removed features, the debiased margin is

        sum over S disjoint from R of m_S(x) = sum_l v_l * 1[x_(P_l minus R)] * E_l(P_l and R)

    which is one pass over the leaves: each keeps its conditions on other features and pays its value times the
    weight E_l with which its conditions on R hold when x_R is averaged out [1]_. What other features tell about
    the removed ones stays in; see the user guide on what removal can and cannot do. On Dask arrays and data frames
    all methods that predict are lazy: they return Dask arrays.

    Parameters
    ----------
    estimator : estimator or booster
        A regressor, classifier, ranker or isolation forest, fitted or not, a ``Pipeline`` that ends in one, an
        ``xgboost.Booster``, ``lightgbm.Booster`` or ``treelite.Model`` (a regressor then, whose prediction is the
        model's own output) or a ``FrozenEstimator``. The documentation lists which models can be read.
    features : str, int, list of these, mask or callable
        The features to remove: names, positions, a boolean mask, names of ``feature_groups``, or a callable that
        gets the data frame (as ``sklearn.compose.make_column_selector``). Around a pipeline, names of raw columns
        are looked up first, then those after the preprocessing; a raw column is removed with every column after
        the preprocessing that changes when it is permuted on the background.
    weighting : {"empirical", "path_dependent"}, default="empirical"
        How the removed features are averaged out: over the background rows, or by the cover ratios of the model's
        own paths. Where features are dependent, only ``"empirical"`` takes out the whole direct effect.
    strength : float, default=1.0
        From 0 (the full model) to 1: margin - strength * (sum of the touched components). It may be set after
        `fit`, to trace a trade-off without fitting again.
    feature_groups : dict of str to list, default=None
        ``{"name": [columns]}``: names for several columns, to use in ``features``.
    prefit : {"auto", True, False}, default="auto"
        ``"auto"``: the estimator is used as it is when it is fitted and no y is given (boosters and frozen
        estimators always); otherwise it is cloned and fitted. ``True``: always as it is. ``False``: always fitted.
    n_background : int, default=None
        Number of rows of X drawn as the background. None: all.
    n_jobs : int, default=None
        Number of threads. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the background.
    verbose : int, default=0
        With 1, long work shows its progress.

    Attributes
    ----------
    removed_features_ : list of str
        The model's features that are taken out (columns after the preprocessing, around a pipeline).
    estimator_ : object
        The fitted model.
    classes_ : ndarray of shape (n_classes,)
        Labels, of a classifier.
    offset_ : float
        Of an isolation forest: rows that score less are outliers.
    background_ : Bunch
        ``rows`` (positions in the X given to `fit`) and ``weights`` (None: in the partitions of a Dask collection).
    n_features_in_ : int
        Number of columns of the X given to `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Their names, where X is a data frame.

    See Also
    --------
    GlexDecomposer : The components themselves.

    References
    ----------
    .. [1] M. Hiabu, J. T. Meyer, M. N. Wright, "Unifying local and global model explanations by functional
       decomposition of low dimensional structures", AISTATS 2023.

    Examples
    --------
    >>> from skglex import FeatureRemover
    >>> from skglex.datasets import make_salary
    >>> from xgboost import XGBRegressor
    >>> X, y = make_salary(2000, hours_sd=5, random_state=0)  # columns: sex, hours
    >>> model = XGBRegressor(n_estimators=50, max_depth=3, colsample_bynode=0.5).fit(X, y)
    >>> fair = FeatureRemover(model, features=[0]).fit(X)
    >>> gap = lambda p: p[X[:, 0] == 1].mean() - p[X[:, 0] == 0].mean()
    >>> bool(gap(fair.predict(X)) < 0.5 * gap(model.predict(X)))
    True

    With the squared error the margin is the prediction. As an ordinary booster, and as ONNX:

    >>> import numpy as np
    >>> import xgboost
    >>> np.array_equal(fair.margin(X), fair.predict(X))
    True
    >>> 0 < fair.score(X, y) < model.score(X, y)
    True
    >>> booster = fair.to_xgboost()
    >>> np.allclose(booster.predict(xgboost.DMatrix(X)), fair.predict(X), rtol=1e-4)
    True
    >>> sorted(output.name for output in fair.to_onnx().graph.output)
    ['margin', 'variable']

    Of a classifier, without the difference that sex makes to the odds of a salary above 30:

    >>> from xgboost import XGBClassifier
    >>> classifier = XGBClassifier(n_estimators=20, max_depth=2).fit(X, y > 30)
    >>> fair = FeatureRemover(classifier, features=[0]).fit(X)
    >>> odds = fair.decision_function(X)
    >>> np.allclose(fair.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)))
    True
    >>> np.allclose(np.exp(fair.predict_log_proba(X)), fair.predict_proba(X))
    True

    Of an isolation forest, which gives scores:

    >>> from sklearn.ensemble import IsolationForest
    >>> forest = IsolationForest(n_estimators=10, random_state=0).fit(X)
    >>> FeatureRemover(forest, features=[0]).fit(X).score_samples(X).shape
    (2000,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **DebiasedPredictor._parameter_constraints,
        "features": "no_validation",
        "strength": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        estimator: Any,
        features: Any,
        *,
        weighting: str = "empirical",
        strength: float = 1.0,
        feature_groups: dict[str, Any] | None = None,
        prefit: str | bool = "auto",
        n_background: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.weighting = weighting
        self.strength = strength
        self.feature_groups = feature_groups
        self.prefit = prefit
        self.n_background = n_background
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator)
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags = inner.classifier_tags
            tags.regressor_tags = inner.regressor_tags
            if tags.classifier_tags is not None:
                tags.classifier_tags.multi_label &= tags.target_tags.multi_output
        else:
            tags.estimator_type = "regressor"
        # what the removed features told about the target is lost on purpose
        for own in (tags.classifier_tags, tags.regressor_tags):
            if own is not None:
                own.poor_score = True
        return tags

    @restore_on_failure
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> FeatureRemover:
        """Take or fit the estimator, and average the features out of it.

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
            Further parameters of the estimator's ``fit`` (``qid``, ``eval_set``, ...).

        Returns
        -------
        FeatureRemover
            The fitted estimator itself.

        Raises
        ------
        AdditivityError
            On a background row the leaves miss the model's own margin: it was not read exactly.
        ValueError
            The model predicts something else than its margin says, or ``features`` names none that there are.

        Warns
        -----
        MixedColumnsWarning
            Around a pipeline: removed columns are made of other raw columns, too.
        """
        X, Xt = self._fit_model(X, y, sample_weight, fit_params)
        self._prove(Xt)
        removed = self._resolve_removed(X)
        ensemble = self._model.ensemble
        self.removed_features_ = [self._model_names[i] for i in sorted(removed)]
        self._removed = np.array(sorted(removed), dtype=np.int64)
        keep = ~np.isin(ensemble.grid.features, self._removed)
        if len(removed) == self._model.input.n_features:
            warn_user("all features are removed: the predictions are constant, the intercept")
        if self._model.response.isolation is not None:
            self.offset_ = self._model.response.isolation.offset
        self._debiased = average_out(ensemble, self._make_weighting(), keep, self._execution)
        self._full = LeafSum(ensemble)
        self._prove_output(Xt)
        return self

    def to_xgboost(self) -> xgboost.Booster:
        """The debiased model as an ordinary XGBoost booster, for deployment.

        It has the model's feature names, types and categories, objective and base score, splits on none of the
        removed features, and its margin is `margin` to float32 rounding. Only counted trees are written, without
        ``best_iteration``; DART becomes gbtree. Its more and smaller trees predict slower than `predict`.

        Returns
        -------
        xgboost.Booster
            After the preprocessing, where the estimator is a pipeline.

        Raises
        ------
        TypeError
            The model is not an XGBoost model.
        ValueError
            ``strength`` is not 1.
        """
        check_is_fitted(self)
        model = tree_model(self.estimator_)
        if not type(model).__module__.startswith("xgboost") and not hasattr(model, "get_booster"):
            raise TypeError(
                f"to_xgboost writes XGBoost models only, this is a {type(model).__name__}. Use to_onnx()"
            )
        if self.strength != 1:
            raise ValueError(
                f"to_xgboost writes the debiased model, strength=1; got strength={self.strength}. A model of less "
                "strength is a mean of two: export it, and mix its margin with the full model's, or use to_onnx()"
            )
        from skglex.export._xgboost import debiased_booster

        return debiased_booster(model, set(self._removed.tolist()), self._leaf_weight())

    def to_onnx(self, *, input_dtype: Any = np.float64) -> Any:
        """The debiased model as an ONNX model (needs the optional dependency ``onnx``).

        Parameters
        ----------
        input_dtype : {numpy.float64, numpy.float32}, default=numpy.float64
            Type of the input ``X``, of shape (n_samples, n_features): all features, the removed ones of any
            value. float32 is exact for models that cast to it anyway (XGBoost, scikit-learn's trees). Categories are
            given as their codes (positions among the model's categories), unknown ones as missing.

        Returns
        -------
        onnx.ModelProto
            With the outputs ``margin`` and, of a classifier, ``label`` and ``probabilities``, of an isolation forest
            ``label`` and ``scores``, else ``variable``.

        Raises
        ------
        ImportError
            ``onnx`` is not installed.
        """
        check_is_fitted(self)
        from skglex.export._onnx import onnx_model

        return onnx_model(
            replace(self._model, response=self._response),
            removed=np.isin(self._model.ensemble.grid.features, self._removed),
            leaf_weight=self._leaf_weight(),
            strength=self.strength,
            input_dtype=input_dtype,
        )

    # -- helpers ------------------------------------------------------------------------------

    def _leaf_weight(self) -> NDArray[np.float64]:
        """E_l of every leaf's conditions on the removed features."""
        ensemble = self._model.ensemble
        removed = np.isin(ensemble.grid.features, self._removed)[ensemble.condition_feature]
        return self._make_weighting().joint_weights(ensemble, removed, self._execution)

    def _resolve_removed(self, X: Any) -> set[int]:
        """Positions of the removed features among the model's; notes the raw columns that go entirely."""
        raw_names = self._model_names
        if is_frame(X):
            raw_names = [str(name) for name in X.columns]
        elif self._preprocess is not None:
            raw_names = [f"x{i}" for i in range(X.shape[1])]
        items = expand_groups(self.features, self.feature_groups or {}, raw_names, X)
        if self._preprocess is None:
            removed = set(resolve_features(items, self._model_names))
            self._raw_removed = sorted(removed)
            return removed
        source = RawColumns(X, self._to_model_space, self._background, self._background_rows)
        removed, self._raw_removed = find_outputs(items, raw_names, self._model_names, source)
        return removed
