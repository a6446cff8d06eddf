"""Define the random planted forest for classification."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets

from skglex._planted._base import BasePlantedForest
from skglex._planted._kernels.loss import ABSOLUTE_ERROR, EXPONENTIAL, LOG_LOSS, SQUARED_ERROR
from skglex._response import inverse_link

_LOSSES = {
    "log_loss": LOG_LOSS,
    "exponential": EXPONENTIAL,
    "squared_error": SQUARED_ERROR,
    "absolute_error": ABSOLUTE_ERROR,
}


class RandomPlantedForestClassifier(ClassifierMixin, BasePlantedForest):
    """Fit a random planted forest for classification.

    The forest works as in `RandomPlantedForestRegressor`, but its leaves add to class scores [1]_:

    ==================== =============================================================================
    loss                 meaning of the sum of leaves: transformation to probabilities
    ==================== =============================================================================
    ``"log_loss"``       log-odds against the first class: sigmoid or softmax
    ``"exponential"``    log-odds (for several classes, one score each): sigmoid or softmax
    ``"squared_error"``  the class's probability: clipped to [0, 1], scaled to sum to 1
    ``"absolute_error"`` as ``"squared_error"``, but the absolute error decides between splits
    ==================== =============================================================================

    Parameters
    ----------
    n_estimators : int, default=50
        Number of families. R: ``ntrees``.
    max_interaction : int or None, default=2
        Largest number of features that a leaf, and so a component, may depend on. 1 gives an additive model,
        None sets no bound. R: 1.
    n_splits : int, default=30
        Number of splits of each family; with 0 a family predicts the class shares of its rows. R: ``splits``.
    split_try : int, default=10
        Number of thresholds tried for each candidate.
    t_try : float, default=0.4
        Share of the candidates tried for each split. A candidate is a leaf with a feature to split it on.
    split_decay_rate : float, default=0.1
        Decay of the weight ``exp(-split_decay_rate * a)`` with which a candidate is drawn, where ``a`` is the
        number of times that it was tried since it last won.
    max_candidates : int, default=50
        Largest number of candidates tried for each split.
    delete_leaves : bool, default=True
        Whether the children replace a leaf that is split on a feature of its tree. With False the leaf stays,
        and can be split again.
    bootstrap : bool, default=True
        Whether each family gets a bootstrap sample of the rows.
    loss : {"log_loss", "exponential", "squared_error", "absolute_error"}, default="log_loss"
        Loss that the splits reduce. R: ``"logit"``, ``"exponential"``, ``"L2"`` and ``"L1"``. All others are
        much faster than ``"log_loss"``.
    delta : float, default=0.001
        Distance from 0 and 1 at which probabilities are clipped when splits are compared (log loss and
        exponential loss).
    epsilon : float, default=0.01
        Distance from 0 and 1 at which probabilities are clipped when leaf values are computed (log loss and
        exponential loss). R: 0.1, which is better for ``"exponential"`` and worse for ``"log_loss"``.
    min_samples_leaf : int, default=1
        Smallest number of rows in a leaf. Repeated draws of a row count once.
    max_bins : int or None, default=255
        Largest number of quantile bins per feature, whose edges are the thresholds. With None all values are
        thresholds, as in R, which takes 1.4 times as long on 10,000 rows and predicts no better (see Notes).
    warm_start : bool, default=False
        Whether `fit` keeps the existing families and adds new ones, up to ``n_estimators``. With the same data
        and the same integer ``random_state``, the result equals a forest grown at once.
    n_jobs : int, default=None
        Number of threads that grow families. The forest does not depend on this number.
    random_state : int, RandomState instance or None, default=None
        Source of the random draws of rows, candidates and thresholds.
    verbose : int, default=0
        With 1, `fit` shows a progress bar, and says when kernels are compiled.

    Attributes
    ----------
    leaves_ : PlantedLeaves
        All leaves as flat arrays: boxes, values and families.
    classes_ : ndarray of shape (n_classes,)
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the reduction of the loss; the shares sum to 1.
    categories_ : dict of int to pandas Index
        Categories of each categorical column, in increasing order of the mean target.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (``n_features_in_``,)

    See Also
    --------
    GlexDecomposer : Split the forest into its components.

    Notes
    -----
    Log loss on test rows with 30 families (adult: 2,000 training rows; Hastie's ten-dimensional sphere: 600):

    ======================== ===== ====== ==== ====== ====
    loss, epsilon            adult Hastie iris cancer wine
    ======================== ===== ====== ==== ====== ====
    ``"log_loss"``, 0.01     0.361 0.345  0.22 0.109  0.11
    ``"log_loss"``, 0.03     0.368 0.357  0.22 0.121  0.15
    ``"exponential"``, 0.1   0.371 0.336  0.72 0.169  0.26
    ``"exponential"``, 0.01  0.386 0.310  1.30 0.263  0.20
    ``"squared_error"``      0.384 0.353  0.17 0.118  0.15
    ======================== ===== ====== ==== ====== ====

    With more splits, the exponential loss soon overfits. With the two error losses, components are on the scale
    of probabilities, which some users find easier to read than log-odds.

    `RandomPlantedForestRegressor` describes the treatment of missing values and categories.

    References
    ----------
    .. [1] M. Hiabu, E. Mammen, J. T. Meyer, "Random Planted Forest: a directly interpretable tree ensemble",
       arXiv:2012.14563.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skglex import RandomPlantedForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomPlantedForestClassifier(random_state=0).fit(X, y)
    >>> forest.predict_proba(X[:1]).round(1)
    array([[1., 0., 0.]])
    >>> forest.predict(X[:1])
    array([0])
    >>> forest.decision_function(X[:1]).shape
    (1, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BasePlantedForest._parameter_constraints,
        "loss": [StrOptions(set(_LOSSES))],
        "delta": [Interval(Real, 0, 0.5, closed="neither")],
        "epsilon": [Interval(Real, 0, 0.5, closed="neither")],
    }
    classes_: NDArray[Any]

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        max_interaction: int | None = 2,
        n_splits: int = 30,
        split_try: int = 10,
        t_try: float = 0.4,
        split_decay_rate: float = 0.1,
        max_candidates: int = 50,
        delete_leaves: bool = True,
        bootstrap: bool = True,
        loss: str = "log_loss",
        delta: float = 0.001,
        epsilon: float = 0.01,
        min_samples_leaf: int = 1,
        max_bins: int | None = 255,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_interaction = max_interaction
        self.n_splits = n_splits
        self.split_try = split_try
        self.t_try = t_try
        self.split_decay_rate = split_decay_rate
        self.max_candidates = max_candidates
        self.delete_leaves = delete_leaves
        self.bootstrap = bootstrap
        self.loss = loss
        self.delta = delta
        self.epsilon = epsilon
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_target(self, y: NDArray[Any]) -> tuple[NDArray[np.float64], int, float, float]:
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if y.ndim > 1:
            raise ValueError(
                f"y has shape {y.shape}, but a planted forest classifies one target. Fit one forest per column."
            )
        classes, index = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class, {classes[0]!r}, but a classifier needs at least two. Add rows of another class."
            )
        if self.warm_start and hasattr(self, "leaves_") and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"y has the classes {classes.tolist()}, but the families already grown have "
                f"{self.classes_.tolist()}. Pass the same classes, or set warm_start=False to start again."
            )
        self.classes_ = classes
        target = (index[:, None] == np.arange(len(classes))).astype(np.float64)
        if len(classes) == 2 or self.loss == "log_loss":
            target = np.ascontiguousarray(target[:, 1:])
        if self.loss == "exponential":
            target = 2.0 * target - 1.0
        return target, _LOSSES[self.loss], float(self.delta), float(self.epsilon)

    def _place_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(self.classes_) > 2 and self.loss == "log_loss":
            # The first class is the reference, whose score is always 0.
            return np.pad(values, ((0, 0), (1, 0)))
        return values

    @property
    def _link(self) -> str:
        """Return the name of the inverse link from margins to probabilities."""
        if self.loss.endswith("_error"):
            return "probability"
        return "softmax" if len(self.classes_) > 2 else "sigmoid"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the class scores.

        The score is the margin. With two classes and an error loss, 1/2 is subtracted from it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the score of the second class, which is predicted if the score is positive. For
            more classes, log-odds against the first class with the log loss (0 for the first class), estimated
            probabilities with the error losses.
        """
        margin = self._margin(X)
        if len(self.classes_) > 2:
            return margin
        return margin[:, 0] - 0.5 if self._link == "probability" else margin[:, 0]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with the classes in the order of ``classes_``.
        """
        margin = self._margin(X)
        p = inverse_link(self._link, margin)
        return np.hstack([1.0 - p, p]) if p.shape[1] == 1 else p

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the highest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels from ``classes_``.
        """
        score = self.decision_function(X)
        return np.take(self.classes_, (score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1))
