"""FeatureRemover: predictions of a fitted tree ensemble without some features."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skglex._base import BaseTreeModelEstimator, example_row
from skglex._dask import lazy_on_dask
from skglex._decomposition import average_out
from skglex._input import (
    RawColumns,
    as_numpy,
    expand_groups,
    fill_columns,
    find_outputs,
    is_frame,
    resolve_features,
    take_rows,
)
from skglex._leaves import LeafSum
from skglex._prefit import tree_model
from skglex._readers import SourceModel, is_probability_average
from skglex._response import Response
from skglex._utils import Execution, restore_on_failure, warn_user

if TYPE_CHECKING:
    import xgboost


# Background rows on which the model's own output is compared with what its link makes of the margin.
_OUTPUT_ROWS = 100
# What may be infinite in float32.
_LARGE = 1e38


def _classifies(remover: FeatureRemover) -> bool:
    return bool(is_classifier(remover))


def _source_of(remover: FeatureRemover) -> SourceModel | None:
    fitted = getattr(remover, "_fitted", None)
    return None if fitted is None else fitted.source


def _has_decision(remover: FeatureRemover) -> bool:
    # scikit-learn allows none to regressors; where there is no link, predict is the margin anyhow. A classifier's
    # says the class by its sign, which a probability does not
    if get_tags(remover).estimator_type == "regressor":
        model = _source_of(remover)
        return model is not None and model.response.link != "identity"
    return not (is_classifier(remover) and is_probability_average(tree_model(remover.estimator)))


def _scores_samples(remover: FeatureRemover) -> bool:
    model = _source_of(remover)
    if model is None:
        return hasattr(remover.estimator, "score_samples")
    return model.response.isolation is not None


def _has_score(remover: FeatureRemover) -> bool:
    return get_tags(remover).estimator_type in ("classifier", "regressor")


@lazy_on_dask(
    "margin",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    example_row=example_row,
)
class FeatureRemover(BaseTreeModelEstimator):
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
        **BaseTreeModelEstimator._parameter_constraints,
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
        X, Xt = self._fit_model(X, y, sample_weight, fit_params, check_additivity=True)
        removed = self._resolve_removed(X)
        ensemble = self._fitted.source.ensemble
        self.removed_features_ = [self._fitted.feature_names[i] for i in sorted(removed)]
        self._removed = np.array(sorted(removed), dtype=np.int64)
        keep = ~np.isin(ensemble.grid.features, self._removed)
        if len(removed) == self._fitted.source.input.n_features:
            warn_user("all features are removed: the predictions are constant, the intercept")
        if self._fitted.source.response.isolation is not None:
            self.offset_ = self._fitted.source.response.isolation.offset
        self._debiased = average_out(ensemble, self._fitted.weighting, keep, self._execution)
        self._full = LeafSum(ensemble)
        self._check_output(Xt)
        return self

    @available_if(_has_decision)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The debiased margin, as `margin`; a regressor has it where its margin is not its prediction.

        Of two classes minus the margin at which they are equal (one half, where it is a probability as in a planted
        forest). Not of scikit-learn's trees and forests, which have none.
        Of an isolation forest: `score_samples` minus the model's offset, negative for outliers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The sign says the class, or who is an outlier.
        """
        check_is_fitted(self)
        return self._response.decision(self._margin(self._check_rows(X)))

    @available_if(_scores_samples)
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The scores of an isolation forest from the debiased mean path length; the lower, the more abnormal.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            From -1 to 0.
        """
        check_is_fitted(self)
        return self._response.scores(self._margin(self._check_rows(X)))

    def margin(self, X: Any) -> NDArray[np.float64]:
        """The debiased margin (raw score).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            With ``strength=1`` a data frame may lack the removed columns.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            On the margin scale (log-odds, one score per class, mean path length, ...).
        """
        check_is_fitted(self)
        margin = self._margin(self._check_rows(X))
        return margin[:, 0] if margin.shape[1] == 1 else margin

    def predict(self, X: Any) -> NDArray[Any]:
        """The debiased prediction: labels of a classifier, else what the model itself would return.

        Of an isolation forest: 1, or -1 for outliers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            With ``strength=1`` a data frame may lack the removed columns.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            On the scale of the model's own ``predict``.
        """
        check_is_fitted(self)
        if self._fitted.source.response.isolation is not None:
            return self._response.outliers(self._margin(self._check_rows(X)))
        return self._response.predict(self._output(X))

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The debiased probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        return self._response.probabilities(self._output(X))

    @available_if(_classifies)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @available_if(_has_score)
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R² of a regressor.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            True labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            As scikit-learn's ``accuracy_score`` or ``r2_score``.
        """
        metric = accuracy_score if is_classifier(self) else r2_score
        # numbers, even of a Dask collection
        return float(metric(np.asarray(y), np.asarray(self.predict(X)), sample_weight=sample_weight))

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
        from skglex.export import debiased_booster

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
        from skglex.export import onnx_model

        return onnx_model(
            replace(self._fitted.source, response=self._response),
            removed=np.isin(self._fitted.source.ensemble.grid.features, self._removed),
            leaf_weight=self._leaf_weight(),
            strength=self.strength,
            input_dtype=input_dtype,
        )

    # -- helpers ------------------------------------------------------------------------------

    def _leaf_weight(self) -> NDArray[np.float64]:
        """E_l of every leaf's conditions on the removed features."""
        ensemble = self._fitted.source.ensemble
        removed = np.isin(ensemble.grid.features, self._removed)[ensemble.condition_feature]
        return self._fitted.weighting.joint_weights(ensemble, removed, self._execution)

    def _resolve_removed(self, X: Any) -> set[int]:
        """Positions of the removed features among the model's; notes the raw columns that go entirely."""
        raw_names = self._fitted.feature_names
        if is_frame(X):
            raw_names = [str(name) for name in X.columns]
        elif self._fitted.preprocess is not None:
            raw_names = [f"x{i}" for i in range(X.shape[1])]
        items = expand_groups(self.features, self.feature_groups or {}, raw_names, X)
        if self._fitted.preprocess is None:
            removed = set(resolve_features(items, self._fitted.feature_names))
            self._raw_removed = sorted(removed)
            return removed
        rows = self._fitted.background_rows
        background = X if len(rows) == X.shape[0] else take_rows(X, rows)
        columns = RawColumns(background, self._fitted.to_model_space, self._fitted.background)
        removed, self._raw_removed = find_outputs(items, raw_names, self._fitted.feature_names, columns)
        return removed

    @property
    def _response(self) -> Response:
        """Return what the margin means, with the labels that `fit` was given."""
        return replace(self._fitted.source.response, classes=self.classes_ if is_classifier(self) else None)

    def _margin(self, Xt: Any) -> NDArray[np.float64]:
        shape = (self._debiased.n_outputs,)
        return self._fitted.map_rows(Xt, shape, self._mix, self._execution, "margins").T

    def _mix(self, bins: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
        """Return the margin of binned rows, between the full one and the debiased one by ``strength``."""
        debiased = self._debiased(bins, execution)
        if self.strength == 1:
            return debiased
        full = self._full(bins, execution)
        return full - self.strength * (full - debiased)

    def _output(self, X: Any) -> NDArray[np.float64]:
        """What the model itself returns (probabilities, counts, ...), debiased."""
        Xt = self._check_rows(X)
        if self.strength == 0:
            return self._model_output(Xt).astype(np.float64)
        return self._response.output(self._margin(Xt))

    def _model_output(self, Xt: Any) -> NDArray[Any]:
        own = np.asarray(self._fitted.source.output(Xt))
        own = own.reshape(len(own), -1)
        # a binary classifier says both probabilities
        return own[:, 1:] if self._response.binary and own.shape[1] == 2 else own

    def _check_output(self, Xt: Any) -> None:
        """Raise if the model's own output is not the inverse link of its margin on background rows."""
        response = self._response
        if response.link == "custom" or response.isolation is not None:
            return  # A custom objective has no output here, and the scores of a forest are defined by the margin.
        rows = self._fitted.background_rows[:_OUTPUT_ROWS]
        model_output = self._model_output(take_rows(Xt, rows))
        with np.errstate(over="ignore"):
            output = response.output(self._fitted.model_margin(Xt, rows))
        # The model's own output is a float32, which is infinite where ours is only large.
        output = np.where(np.isinf(model_output) & (output > _LARGE), model_output, output)
        scale = np.abs(model_output).max(initial=0, where=np.isfinite(model_output))
        close = np.isclose(output, model_output, rtol=1e-4, atol=1e-5 * scale, equal_nan=True).all(axis=1)
        if not close.all():
            row, model = int(np.argmin(close)), tree_model(self.estimator_)
            raise ValueError(
                f"the {type(model).__name__} predicts {model_output[row]} for row {rows[row]}, but the inverse link "
                f"{response.link!r} of its margin is {output[row]}. If its class changes the predictions of the class "
                "that it derives from, pass a model of that class"
            )

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        own = "strength"  # which may be set after fit
        constraint = {own: self._parameter_constraints[own]}
        validate_parameter_constraints(constraint, {own: self.strength}, type(self).__name__)
        names = getattr(self, "feature_names_in_", None)
        if self.strength == 1:
            # the preprocessing or the model may refuse some of them
            numbers = self._fitted.preprocess is not None or bool(self._fitted.source.input.finite)
            # one row of the background stands in for removed columns that are absent or hold anything at all
            X = fill_columns(as_numpy(X), self._raw_removed, self._fitted.row, names, numbers=numbers)
        elif is_frame(X) and names is not None:
            given = {str(name) for name in X.columns}
            if absent := [str(names[i]) for i in self._raw_removed if str(names[i]) not in given]:
                raise ValueError(
                    "The feature names should match those that were passed during fit: X lacks "
                    f"{absent}, needed with strength={self.strength}. With strength=1 removed columns may be absent"
                )
        return self._fitted.check(X, self)
