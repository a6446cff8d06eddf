"""Define FeatureRemover, which predicts with a fitted tree ensemble without the effects of some features."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skglex._base import BaseMarginPredictor, classifies, example_row, has_decision, scores_samples
from skglex._dask import lazy_on_dask
from skglex._decomposition import Decomposition, Explained, average_out
from skglex._input import (
    DistinctValues,
    RawColumns,
    as_numpy,
    expand_groups,
    fill_columns,
    find_distinct_values,
    find_outputs,
    frame_names,
    group_features,
    is_frame,
    list_features,
    resolve_features,
    take_rows,
)
from skglex._leaves import LeafSum, assign_players
from skglex._mixed_rows import (
    CellAxis,
    cell_axis,
    distinct_cells,
    mean_over_cells,
    warn_of_grids,
)
from skglex._readers import tree_model
from skglex._utils import Execution, restore_on_failure, warn_user
from skglex.components import ComponentNames

if TYPE_CHECKING:
    import xgboost


# Number of background rows on which the model's prediction is compared with the inverse link of its margin.
_OUTPUT_ROWS = 100


def _has_decision(remover: FeatureRemover) -> bool:
    fitted = getattr(remover, "_fitted", None)
    if remover.scale == "response" and fitted is not None:
        # The decision function is the link of the mean response, or made from the mean score.
        response = fitted.source.response
        if not (response.has_margins or response.isolation is not None):
            return False
    return has_decision(remover)


@lazy_on_dask(
    "margin",
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    example_row=example_row,
)
class FeatureRemover(BaseMarginPredictor):
    """Predict with a fitted model without the components that contain some features.

    The removed features, for example a protected attribute, lose their main effects and all their interactions. The
    model is not refitted.

    What other features tell about the removed ones remains: the page "Predict without a feature" says what removal can
    and cannot do. On Dask arrays and data frames all methods that predict are lazy: they return Dask arrays.

    Parameters
    ----------
    estimator : estimator or booster
        A regressor, classifier, ranker or isolation forest, fitted or not; a ``Pipeline`` that ends in one; an
        ``xgboost.Booster``, ``lightgbm.Booster`` or ``treelite.Model``, which makes a regressor whose prediction is
        the output of the booster; or a ``FrozenEstimator``. The documentation lists the supported models.
    features : str, int, list of these, mask or callable
        The features to remove: names, positions, a boolean mask, names of ``feature_groups``, or a callable that
        gets the data frame (such as ``sklearn.compose.make_column_selector``). An integer is the column with this
        label if the data frame has one, otherwise a position. For a pipeline, a name is first searched in the raw
        columns, then in the columns after the preprocessing. With a raw column, every column after the preprocessing
        is removed that changes when the raw column is permuted on the background.
    weighting : {"empirical", "path_dependent"}, default="empirical"
        How the removed features are averaged out: over the background rows, or by the cover ratios along the model's
        paths. If features are dependent, only ``"empirical"`` removes the whole direct effect.
    strength : float, default=1.0
        From 0 (the full model) to 1: the margin is the full margin - strength * (sum of the removed components). It
        may be changed after `fit`, to trace a trade-off without another fit. With ``scale="response"`` it mixes the
        response of the full model and the response without the features.
    scale : {"margin", "response"}, default="margin"
        The scale on which the removed features are averaged out. ``"margin"``: the margin is averaged, and then the
        inverse link is applied. ``"response"``: the model's own response (probability, price, count) is averaged over
        the background's distribution of the removed features. The predictions for the background are then right on
        average, if the removed features are independent of the others. Needs ``weighting="empirical"``.
    feature_groups : dict of str to list, or "auto", default=None
        ``{"name": [columns]}``: names for several columns, which ``features`` may contain. ``"auto"``: the names of the
        groups of columns that the preprocessing computes from one raw column, or from several that it mixes.
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
        Number of rows of X to draw as the background. None: all rows.
    n_jobs : int, default=None
        Number of threads. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Random state for drawing the background.
    verbose : int, default=0
        If 1, show the progress of long computations, and say when kernels are compiled.

    Attributes
    ----------
    removed_features_ : list of str
        Names of the model's features that are removed (for a pipeline, columns after the preprocessing).
    feature_groups_ : dict of str to list of str
        The columns of every group.
    estimator_ : object
        The fitted model.
    classes_ : ndarray of shape (n_classes,)
        Class labels. Only for classifiers.
    offset_ : float
        Rows with a lower score are outliers. Only for isolation forests.
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

    Notes
    -----
    With the removed features R, the debiased margin is one sum over the leaves l, ::

        sum over S disjoint from R of m_S(x)
            = sum over l of v_l * 1[x_(P_l minus R)] * E_l(P_l and R)

    where

    - v_l is the value of the leaf, and P_l are the features on the path to it;
    - 1[x_(P_l minus R)] is 1 if x satisfies the leaf's conditions on the features that remain, and 0 otherwise;
    - E_l is the weight with which the leaf's conditions on R hold when x_R is averaged out [1]_.

    With ``scale="response"`` and the inverse link g, the debiased response is the mean over the background rows b, ::

        sum over b of weight_b * g(margin(b_R, x_(not R)))

    It depends on the background only through the distinct values of the removed features that the model tells apart.
    For prices, this is the discrimination-free price [2]_.

    References
    ----------
    .. [1] M. Hiabu, J. T. Meyer, M. N. Wright, "Unifying local and global model explanations by functional
       decomposition of low dimensional structures", AISTATS 2023.
    .. [2] M. Lindholm, R. Richman, A. Tsanakas, M. V. Wüthrich, "Discrimination-free insurance pricing", ASTIN
       Bulletin 52, 2022.

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

    With the squared error the margin is the prediction. The debiased model can be exported as an ordinary booster
    and as ONNX:

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

    For a classifier, remove the effect of sex on the odds of a salary above 30:

    >>> from xgboost import XGBClassifier
    >>> classifier = XGBClassifier(n_estimators=20, max_depth=2).fit(X, y > 30)
    >>> fair = FeatureRemover(classifier, features=[0]).fit(X)
    >>> odds = fair.decision_function(X)
    >>> np.allclose(fair.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)))
    True
    >>> np.allclose(np.exp(fair.predict_log_proba(X)), fair.predict_proba(X))
    True

    Or average the probability itself. It is the mean over both values of sex, by their shares:

    >>> fair = FeatureRemover(classifier, features=[0], scale="response").fit(X)
    >>> share, parts = X[:, 0].mean(), []
    >>> for sex in (0, 1):
    ...     parts.append(classifier.predict_proba(np.column_stack([np.full(len(X), sex), X[:, 1]]))[:, 1])
    >>> mean = (1 - share) * parts[0] + share * parts[1]
    >>> np.allclose(fair.predict_proba(X)[:, 1], mean, rtol=1e-5)
    True

    An isolation forest has scores:

    >>> from sklearn.ensemble import IsolationForest
    >>> forest = IsolationForest(n_estimators=10, random_state=0).fit(X)
    >>> FeatureRemover(forest, features=[0]).fit(X).score_samples(X).shape
    (2000,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseMarginPredictor._parameter_constraints,
        "features": "no_validation",
        "strength": [Interval(Real, 0, 1, closed="both")],
        "scale": [StrOptions({"margin", "response"})],
    }

    def __init__(
        self,
        estimator: Any,
        features: Any,
        *,
        weighting: str = "empirical",
        strength: float = 1.0,
        scale: str = "margin",
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
        self.features = features
        self.weighting = weighting
        self.strength = strength
        self.scale = scale
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
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> FeatureRemover:
        """Use the estimator as it is or fit it, and average the removed features out.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Dask collection of shape (n_samples, n_features)
            The background rows. If the estimator is fitted here, they are also the training data. A Dask collection
            stays in its partitions, and the estimator must already be fitted.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target. Needed only if the estimator is fitted here.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the background rows. If the estimator is fitted here, they are also passed to its ``fit``.
        **fit_params : dict
            Further parameters of the estimator's ``fit`` (``qid``, ``eval_set``, ...).

        Returns
        -------
        FeatureRemover
            The fitted estimator itself.

        Raises
        ------
        AdditivityError
            On a background row the leaves do not reproduce the model's margin, so that the model was not read exactly.
        ValueError
            The input is invalid, the model's predictions are not the inverse link of its margin, or ``features`` is
            empty or contains an unknown feature.

        Warns
        -----
        MixedColumnsWarning
            The estimator is a pipeline, and some removed columns are computed from other raw columns too.
        """
        X, Xt = self._fit_model(X, y, sample_weight, fit_params, check_additivity=True)
        if self.scale == "margin" and (reason := self._fitted.source.response.without_margin):
            raise ValueError(reason)
        removed = self._resolve_removed(X)
        ensemble = self._fitted.source.ensemble
        self.removed_features_ = [self._fitted.feature_names[i] for i in sorted(removed)]
        self._removed = np.array(sorted(removed), dtype=np.int64)
        keep, mixed = self._keep_columns()
        if len(removed) == self._fitted.source.input.n_features:
            warn_user("all features are removed, so all predictions are equal: their margin is the intercept")
        if self._fitted.source.response.isolation is not None:
            self.offset_ = self._fitted.source.response.isolation.offset
        self._full = LeafSum(ensemble)
        self._cells, self._values, self._debiased = None, None, self._full
        if self.scale == "response":
            # This raises if there is no response.
            self._response.response(np.zeros((1, self._response.n_outputs)))
        if mixed:
            self._values = self._find_values(Xt)
        elif self.scale == "response":
            self._cells = self._find_cells(~keep)
        else:
            self._debiased = average_out(ensemble, self._fitted.weighting, keep, self._execution)
        self._check_output(take_rows(Xt, self._fitted.background_rows[:_OUTPUT_ROWS]))
        return self

    @available_if(_has_decision)
    def decision_function(self, X: Any, *, offset: Any = None) -> NDArray[np.float64]:
        """Compute the debiased decision function, which is the margin for most models.

        - For two classes, the margin at which both classes are equally likely is subtracted. It is not 0 if the margin
          is a probability, as in a planted forest, where it is one half.
        - For an isolation forest, the result is `score_samples` minus the model's offset.
        - With ``scale="response"``, the margin is the link of the mean response, such as its log-odds, or the
          logarithms of the mean probabilities of several classes. There is no such method if the inverse link cannot be
          inverted.
        - A regressor has this method only if its margin is not its prediction.
        - Classifiers that average probabilities, such as scikit-learn's trees and forests, do not have this method.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Offset of each row, as in `margin`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Positive values predict the second class; for an isolation forest, negative values mark outliers.
        """
        Xt = self._check_rows(X)
        if self._response.isolation is not None:
            return self._response.decision_of_scores(self._scores(Xt, offset))
        return self._response.decision(self._margin(Xt, offset))

    @available_if(scores_samples)
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Compute the scores of an isolation forest from the debiased mean path length.

        With ``scale="response"``, the scores themselves are averaged over the background.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores from -1 to 0. Lower scores are more abnormal.
        """
        return self._scores(self._check_rows(X))

    def margin(self, X: Any, *, offset: Any = None) -> NDArray[np.float64]:
        """Compute the debiased margin (raw score).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`. With ``strength=1`` a data frame may lack the removed columns.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Offset of each row on the margin scale, such as the logarithm of its exposure. It has the meaning that the
            model's library gives it:

            - XGBoost: ``base_margin``, which replaces the base score;
            - LightGBM: ``init_score``, which is added. (LightGBM's own ``predict`` leaves it out.)
            - CatBoost: ``baseline`` of a ``Pool``, which is added.

            Models of other libraries have no offset.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Margin on the link scale (log-odds, one score per class, mean path length, ...).

        Raises
        ------
        ValueError
            The input is invalid, or ``offset`` was passed and the model's library has no offset. With
            ``scale="response"``, where the margin is the link of the mean response: the inverse link cannot be
            inverted.
        """
        margin = self._margin(self._check_rows(X), offset)
        return margin[:, 0] if margin.shape[1] == 1 else margin

    def predict(self, X: Any, *, offset: Any = None) -> NDArray[Any]:
        """Compute the debiased predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`. With ``strength=1`` a data frame may lack the removed columns.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Offset of each row, as in `margin`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels for a classifier, and -1 (outlier) or 1 for an isolation forest. Else the numbers that ``predict``
            of the model would return.
        """
        check_is_fitted(self)
        if self._fitted.source.response.isolation is not None:
            return self._response.outliers(self._scores(self._check_rows(X), offset))
        return self._response.predict(self._output(X, offset))

    @available_if(classifies)
    def predict_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Compute the debiased probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Offset of each row, as in `margin`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with the classes in the order of ``classes_``. For several targets, a list of such arrays.
        """
        check_is_fitted(self)
        return self._response.probabilities(self._output(X, offset))

    def to_xgboost(self) -> xgboost.Booster:
        """Convert the debiased model to an ordinary XGBoost booster, for deployment.

        The booster has the model's feature names, types and categories, objective and base score. It does not split
        on removed features, and its margin equals `margin` up to float32 rounding. It contains only the trees that
        the model uses to predict, without ``best_iteration``, and DART becomes gbtree. The booster has more and
        smaller trees than the model, and predicts slower than `predict`. A round is one tree per output, so the rounds
        are not those of the model.

        Returns
        -------
        xgboost.Booster
            The booster. If the estimator is a pipeline, its input is the rows after the preprocessing, and it has the
            names of these columns (``xgboost.DMatrix(Z, feature_names=booster.feature_names)``).

        Raises
        ------
        TypeError
            The model is not an XGBoost model.
        ValueError
            ``strength`` is not 1, or ``scale`` is ``"response"``: a mean of responses is no sum of trees.
        """
        check_is_fitted(self)
        model = tree_model(self.estimator_)
        if not type(model).__module__.startswith("xgboost") and not hasattr(model, "get_booster"):
            raise TypeError(
                f"to_xgboost supports XGBoost models only; got a {type(model).__name__}. Use to_onnx()"
            )
        if self._on_response:
            raise ValueError(
                "to_xgboost supports scale='margin' only: a mean of responses is not the response of a sum of trees. "
                "Use to_onnx(), or set scale='margin' and fit again"
            )
        if self.strength != 1:
            raise ValueError(
                f"to_xgboost supports strength=1 only; got strength={self.strength}. Use to_onnx(), or set strength=1, "
                "export the debiased model, and average its margin with the margin of the full model"
            )
        from skglex.export import debiased_booster

        names = None if self._fitted.preprocess is None else self._fitted.feature_names
        return debiased_booster(model, set(self._removed.tolist()), self._leaf_weight(), names)

    def to_onnx(self, *, input_dtype: Any = np.float64) -> Any:
        """Convert the debiased model to an ONNX model (needs the optional dependency ``onnx``).

        Parameters
        ----------
        input_dtype : {numpy.float64, numpy.float32}, default=numpy.float64
            Type of the input ``X``. float32 is allowed only for models that cast to float32 anyway (XGBoost, CatBoost,
            scikit-learn's trees and forests), since rounding the input changes the predictions of others.

        Returns
        -------
        onnx.ModelProto
            The model. Its input ``X`` of shape (n_samples, n_features) contains all columns after the preprocessing of
            a pipeline; the removed ones may have any value. Categories are passed as codes (positions in the model's
            categories), and unknown categories as missing values. Missing values are NaN. If `fit` got sparse rows (or
            a pipeline made them) and the model takes the entries that they leave out as missing, zeros are missing.

            With ``scale="response"`` it contains all trees once for each combination of values of the removed features.

            Its outputs are ``margin`` (unless ``scale="response"``) and, for a classifier, ``label`` and
            ``probabilities``; for an isolation forest, ``label`` and ``scores``; otherwise ``variable``.
            ``doc_string`` describes the model, and ``metadata_props`` holds, as JSON, ``feature_names``,
            ``removed_features``, ``categories`` (by feature, in the order of their codes), ``preprocessing`` (the steps
            that have to be applied before), and ``zero_is_missing``.

        Raises
        ------
        ImportError
            ``onnx`` is not installed.
        ValueError
            The model cannot be written as ONNX, or would be rounded by ``input_dtype``. With ``scale="response"``:
            the removed features have more than 64 combinations of values in the background.
        """
        check_is_fitted(self)
        if self._fitted.source.input.derived:
            raise ValueError(
                "to_onnx cannot write a model that splits on combinations of features, since ONNX has no operator for "
                "their target statistics. Train it with max_ctr_complexity=1"
            )
        from skglex.export import onnx_metadata, onnx_model

        description, metadata = onnx_metadata(
            self._fitted,
            removed=self.removed_features_,
            strength=self.strength,
            weighting=self.weighting,
            scale=self.scale,
        )
        removed = np.isin(self._fitted.source.ensemble.grid.features, self._removed)
        on_margin = self._cells is None
        return onnx_model(
            replace(self._fitted.source, response=self._response),
            removed=removed if on_margin else None,
            leaf_weight=self._leaf_weight() if on_margin else None,
            cells=self._cells,
            strength=self.strength,
            input_dtype=input_dtype,
            zero_is_missing=self._fitted.zero_is_missing,
            description=description,
            metadata=metadata,
        )

    @property
    def _explained(self) -> Explained:
        """Return the model and what is removed for inspection, which calls `skglex._decomposition.explained`.

        Every column of the model is a player by itself.
        """
        fitted, execution = self._fitted, self._execution
        ensemble, names = fitted.source.ensemble, fitted.feature_names
        groups = group_features(None, names, fitted.raw.by_name())
        players = assign_players(ensemble, groups.of_feature[ensemble.grid.features])
        decomposition = Decomposition(ensemble, players, len(names), fitted.weighting, 1)
        classes = list(getattr(self, "classes_", []))
        labels = classes if len(classes) == ensemble.n_outputs else list(range(ensemble.n_outputs))
        return Explained(
            estimator=self,
            decomposition=decomposition,
            fitted=fitted,
            groups=groups,
            intercept=decomposition.intercept(execution),
            output_labels=None if ensemble.n_outputs == 1 else labels,
            max_interaction=None,
            execution=execution,
            component_means=lambda: np.empty((0, ensemble.n_outputs)),
            strongest=lambda k: ([], np.empty((0, ensemble.n_outputs))),
            find=lambda members: (decomposition.single(members), 0),
            members=ComponentNames(groups.names, ":", {}).members,
            cached=frozenset(),
            removed=tuple(self._removed.tolist()),
            strength=self.strength,
        )

    # -- helpers ------------------------------------------------------------------------------

    def _leaf_weight(self) -> NDArray[np.float64]:
        """Return the weight E_l of every leaf's conditions on the removed features."""
        ensemble = self._fitted.source.ensemble
        removed = np.isin(ensemble.grid.features, self._removed)[ensemble.condition_feature]
        return self._fitted.weighting.joint_weights(ensemble, removed, self._execution)

    def _keep_columns(self) -> tuple[NDArray[np.bool_], bool]:
        """Return which columns of the grid no removed feature changes, and whether some change with others too.

        These are the columns that the model derives from removed features and from features that remain.
        """
        spec, features = self._fitted.source.input, self._fitted.grid.features
        touched = [np.isin(members, self._removed) for members in spec.derived]
        derived = features[features >= spec.n_features] - spec.n_features
        removed = np.isin(features, self._removed)
        removed[features >= spec.n_features] = [touched[i].any() for i in derived]
        return ~removed, any(touched[i].any() and not touched[i].all() for i in derived)

    @property
    def _on_response(self) -> bool:
        """Return whether the model's response is averaged, rather than its margin."""
        return self._cells is not None or (self._values is not None and self.scale == "response")

    def _find_values(self, Xt: Any) -> DistinctValues:
        """Return the distinct values of removed features that the model combines with others for one split."""
        if self.weighting != "empirical":
            raise ValueError(
                f"the model splits on combinations of {self.removed_features_} with other features, so removal "
                "averages over background rows, which weighting='path_dependent' does not have. Use "
                "weighting='empirical', or train the model with max_ctr_complexity=1"
            )
        fitted, rows = self._fitted, self._fitted.background_rows
        background = Xt if len(rows) == Xt.shape[0] else take_rows(Xt, rows)
        spec, grid = fitted.source.input, fitted.grid
        return find_distinct_values(
            background, self._removed.tolist(), spec, grid, fitted.background.in_memory()
        )

    def _average_values(self, Xt: Any, link: Any, shift: Any) -> NDArray[np.float64]:
        """Average a function of margins over the distinct values of the removed features; mix in ``strength``.

        ``shift`` is added to the margins of the rows. The result has the shape (n_samples, n_numbers).
        """
        assert self._values is not None
        fitted, execution = self._fitted, self._execution
        shift = np.zeros((Xt.shape[0], 1)) if shift is None else shift
        parts = []
        for r0, r1, bins in fitted.iter_bins(Xt, execution, self._full.n_outputs):
            rows = take_rows(Xt, np.arange(r0, r1))
            full = link(self._full(bins, execution).T + shift[r0:r1])
            mean = np.zeros(full.shape)
            for share, mixed in self._values.mixed_with(rows, bins, fitted.source.input, fitted.grid):
                mean += share * link(self._full(mixed, execution).T + shift[r0:r1])
            parts.append(mean if self.strength == 1 else full - self.strength * (full - mean))
        return np.concatenate(parts)

    def _find_cells(self, removed: NDArray[np.bool_]) -> tuple[CellAxis, NDArray[np.float64]]:
        """Return the distinct values of the removed features in the background, and their shares."""
        if self.weighting != "empirical":
            raise ValueError(
                "scale='response' averages the model's response over background rows, which "
                "weighting='path_dependent' does not have. Use weighting='empirical'"
            )
        used_features = np.flatnonzero(removed)
        bins, share = distinct_cells(self._fitted.background.in_memory(), used_features)
        return cell_axis(self._fitted.source.ensemble, used_features, bins), share

    def _resolve_removed(self, X: Any) -> set[int]:
        """Return the positions of the removed features; store the raw columns that `predict` no longer needs."""
        raw_names = self._fitted.feature_names
        if is_frame(X):
            raw_names = frame_names(X)
        elif self._fitted.preprocess is not None:
            raw_names = [f"x{i}" for i in range(X.shape[1])]
        names = self._fitted.feature_names
        groups = self.feature_groups or {}
        if isinstance(groups, str):
            found = self._trace_columns(X).groups(names, self._fitted.source.input.derived)
            groups = {group: [names[i] for i in members] for group, members in found.items()}
        self.feature_groups_ = {
            str(group): list_features(items, raw_names) for group, items in groups.items()
        }
        if isinstance(self.feature_groups, str):
            # The columns of a single raw column are found below, on the whole background.
            groups = {group: items for group, items in groups.items() if group not in raw_names}
        items = expand_groups(self.features, groups, raw_names, X)
        if self._fitted.preprocess is None:
            removed = set(resolve_features(items, names))
            self._raw_removed = sorted(removed)
            return removed
        rows = self._fitted.background_rows
        background = X if len(rows) == X.shape[0] else take_rows(X, rows)
        columns = RawColumns(background, self._fitted.to_model_space, self._fitted.background)
        removed, self._raw_removed = find_outputs(items, raw_names, names, columns)
        return removed

    def _margin(self, Xt: Any, offset: Any = None) -> NDArray[np.float64]:
        """Return the debiased margin of rows after the preprocessing: shape (n_samples, n_outputs)."""
        if self._on_response:
            return self._response.margin_of(self._mean_response(Xt, offset))
        shape = (self._full.n_outputs,)
        if self._values is not None:
            shift = None if offset is None else self._shift(offset, (Xt.shape[0], *shape))
            return self._average_values(Xt, np.asarray, shift)
        margin = self._fitted.map_rows(Xt, shape, self._margin_of_bins, self._execution, "margins").T
        return margin if offset is None else margin + self._shift(offset, margin.shape)

    def _scores(self, Xt: Any, offset: Any = None) -> NDArray[np.float64]:
        """Return the debiased scores of an isolation forest."""
        if self._on_response:
            return self._mean_response(Xt, offset)[:, 0]
        return self._response.scores(self._margin(Xt, offset))

    def _mean_response(self, Xt: Any, offset: Any) -> NDArray[np.float64]:
        """Average the model's response over the removed features: shape (n_samples, n_responses)."""
        if self._values is not None:
            of_rows = None if offset is None else self._shift(offset, (Xt.shape[0], self._full.n_outputs))
            return self._average_values(Xt, self._response.response, of_rows)
        assert self._cells is not None
        axis, share = self._cells
        ensemble, response, execution = self._fitted.source.ensemble, self._response, self._execution
        n_rows, n_outputs = Xt.shape[0], self._full.n_outputs
        shift = None if offset is None else self._shift(offset, (n_rows, n_outputs)).T
        warn_of_grids(ensemble, n_rows, [axis.used_features], [axis.n_cells], "the mean response")
        out = np.empty((response.n_responses, n_rows))
        for r0, r1, bins in self._fitted.iter_bins(Xt, execution, n_outputs):
            part = None if shift is None else shift[:, r0:r1]
            args = ensemble, bins, axis, share, response.response, execution
            mean = mean_over_cells(*args, shift=part, label="mean responses")
            if self.strength < 1:
                margin = self._full(bins, execution) + (0.0 if part is None else part)
                full = response.response(margin.T).T
                mean = full - self.strength * (full - mean)
            out[:, r0:r1] = mean
        return out.T

    def _margin_of_bins(self, bins: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
        """Return the margin of binned rows: a mean of the full and the debiased margin, weighted by ``strength``."""
        debiased = self._debiased(bins, execution)
        if self.strength == 1:
            return debiased
        full = self._full(bins, execution)
        return full - self.strength * (full - debiased)

    def _output(self, X: Any, offset: Any) -> NDArray[np.float64]:
        """Compute the debiased output on the scale of the model's output (probabilities, counts, ...)."""
        Xt = self._check_rows(X)
        if self.strength == 0 and offset is None:
            return self._model_output(Xt).astype(np.float64)
        if self._on_response:
            return self._mean_response(Xt, offset)
        return self._response.output(self._margin(Xt, offset))

    def _check_rows(self, X: Any) -> Any:
        """Check rows and apply the preprocessing; if ``strength`` is 1, removed columns may be absent."""
        check_is_fitted(self)
        # `strength` may be changed after `fit`, so it is validated again.
        constraint = {"strength": self._parameter_constraints["strength"]}
        validate_parameter_constraints(constraint, {"strength": self.strength}, type(self).__name__)
        row = self._fitted.row
        if self.strength == 1:
            # The preprocessing or the model may reject some numbers, even in removed columns.
            numbers = self._fitted.preprocess is not None or bool(self._fitted.source.input.finite)
            # A background row replaces removed columns, which may be absent or contain any values.
            X = fill_columns(as_numpy(X), self._raw_removed, row, numbers=numbers)
        elif is_frame(X) and is_frame(row):
            names, known = frame_names(X), frame_names(row)
            if absent := [known[i] for i in self._raw_removed if known[i] not in names]:
                raise ValueError(
                    "The feature names should match those that were passed during fit: X lacks "
                    f"{absent}, which strength={self.strength} needs. Add these columns, or set strength=1, for which "
                    "removed columns may be absent"
                )
        return self._fitted.check(X, self)
