"""Define the random planted forest for regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from skglex._planted._base import BasePlantedForest
from skglex._planted._kernels.loss import SQUARED_ERROR


class RandomPlantedForestRegressor(RegressorMixin, BasePlantedForest):
    """Fit a random planted forest for regression.

    The prediction is the mean over families, each of which is a sum of leaves,

        f(x) = 1 / B * sum over families b, feature sets t and leaves l of v_l * 1[x_t in box_l]

    where:

    * ``B`` is ``n_estimators``,
    * a feature set ``t`` has at most ``max_interaction`` features,
    * a leaf ``l`` of the set ``t`` is a box in the features of ``t`` with a value ``v_l``.

    A family starts with one leaf, the whole space. Each split compares some candidates (a leaf, a feature and a
    threshold), takes the one that fits the current residuals best, and subtracts the means of the two children
    from the residuals. If the leaf does not depend on the feature yet, the leaf stays, and the children are
    planted in the tree of the larger feature set. So boxes overlap, and main effects are still fitted when
    interactions exist already [1]_.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of families. R: ``ntrees``.
    max_interaction : int or None, default=2
        Largest number of features that a leaf, and so a component, may depend on. 1 gives an additive model,
        None sets no bound. R: 1.
    n_splits : int, default=100
        Number of splits of each family; with 0 a family predicts the mean of its rows. R: ``splits``, 30. More
        splits fit interactions better (see Notes); fewer splits suit a noisy target.
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
    Mean squared test errors (``benchmarks/planted_forest_accuracy.py``; 2,000 training rows, bike sharing 5,763):

    ============================================== ========= =========== ============
    model                                          friedman1 interaction bike sharing
    ============================================== ========= =========== ============
    30 splits (R's default)                        1.78      1.19        2576
    100 splits (this default)                      1.19      1.13        1838
    ... and ``max_bins=None``                      1.20      1.13        1841
    order 3, 100 splits, t_try=0.9, split_try=5                          1411
    ``HistGradientBoostingRegressor()``            1.79      1.32        1222
    ============================================== ========= =========== ============

    A planted forest predicts best if the true function has a low order; compare orders by cross-validation.

    Each split sends missing values to the child where they lower the loss most. If no value was missing in
    training, missing values go to the child with more rows. The categories of a pandas categorical column are
    replaced by the ranks of their mean targets. With several outputs, they are ranked by the first principal
    component of the means. A category that did not occur in training is treated as a missing value.

    References
    ----------
    .. [1] M. Hiabu, E. Mammen, J. T. Meyer, "Random Planted Forest: a directly interpretable tree ensemble",
       arXiv:2012.14563.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import RandomPlantedForestRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(500, 3))
    >>> y = X[:, 0] + 2 * X[:, 0] * X[:, 1]
    >>> forest = RandomPlantedForestRegressor(random_state=0).fit(X, y)
    >>> forest.predict(X[:5]).shape
    (5,)
    >>> forest.score(X, y) > 0.99
    True
    >>> forest.feature_importances_.round(2)
    array([0.62, 0.37, 0.01])
    """

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        max_interaction: int | None = 2,
        n_splits: int = 100,
        split_try: int = 10,
        t_try: float = 0.4,
        split_decay_rate: float = 0.1,
        max_candidates: int = 50,
        delete_leaves: bool = True,
        bootstrap: bool = True,
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
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_target(self, y: NDArray[Any]) -> tuple[NDArray[np.float64], int, float, float]:
        y = np.asarray(y, dtype=np.float64)
        n_outputs = 1 if y.ndim == 1 else y.shape[1]
        if self.warm_start and hasattr(self, "leaves_"):
            expected = self.leaves_.values.shape[1]
            if n_outputs != expected:
                raise ValueError(
                    f"y has {n_outputs} outputs, but the families already grown have {expected}. Pass a y with "
                    f"{expected} outputs, or set warm_start=False to start again."
                )
        self._flat = y.ndim == 1
        return np.ascontiguousarray(y.reshape(len(y), -1)), SQUARED_ERROR, 0.0, 0.0

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the mean of the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predicted means of the target.
        """
        margin = self._margin(X)
        return margin[:, 0] if self._flat else margin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
