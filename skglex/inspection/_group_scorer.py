"""Score models by the difference between groups of rows, for searches and cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.utils.metadata_routing import MetadataRequest

from skglex._input import is_frame, raw_column
from skglex._utils import suggest
from skglex.inspection._group_difference import find_statistic, group_statistics


def make_group_scorer(
    statistic: str | Callable[..., Any] | None = None, *, groups: Any = None, label: Any = None
) -> Callable[..., float]:
    """Make a scorer that compares the predictions of groups, for example for a ``GridSearchCV``.

    The score is minus the difference between the largest and the smallest statistic of a group. So the best score is
    zero, and a search that maximizes it prefers models that treat the groups alike.

    Parameters
    ----------
    statistic : {"rate", "mean", "median"} or callable, default=None
        ``"rate"`` is the share of the rows for which a classifier predicts ``label``. The other statistics are those
        of `group_statistics`. They summarize the predictions of a regressor, and the probabilities of ``label`` of a
        classifier. None: ``"rate"`` for classifiers, ``"mean"`` for regressors.
    groups : str, int or callable, default=None
        The column of X with the groups: its name (in a data frame) or position. Or a function of X that returns the
        group of each row. None: the groups are passed as metadata, for example ``search.fit(X, y, groups=sex)``. This
        needs scikit-learn's metadata routing.
    label : class label, default=None
        The class whose predictions are compared. None: the second class of a binary classifier.

    Returns
    -------
    callable
        A scorer with the signature ``scorer(estimator, X, y=None, sample_weight=None)``. It can be pickled.

    Raises
    ------
    ValueError
        The statistic is unknown, or ``groups`` is None and metadata routing is not enabled. The scorer itself raises an
        error if X has no such column, if the rows have a single group, or if it needs a ``label``.

    See Also
    --------
    group_difference : The difference between the predictions of two groups.
    group_statistics : The statistic of each group.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skglex import FeatureRemover
    >>> from skglex.datasets import load_adult
    >>> from skglex.inspection import make_group_scorer
    >>> from xgboost import XGBClassifier
    >>> X, y = load_adult(return_X_y=True)
    >>> X, y = X[["age", "hours-per-week", "sex"]].assign(sex=X["sex"] == "Male").head(4000), y.head(4000) == ">50K"
    >>> search = GridSearchCV(
    ...     FeatureRemover(XGBClassifier(n_estimators=50, n_jobs=1), "sex"),
    ...     {"strength": [0, 0.5, 1]},
    ...     scoring={"accuracy": "accuracy", "parity": make_group_scorer(groups="sex")},
    ...     refit="parity",
    ... ).fit(X, y)
    >>> search.best_params_
    {'strength': 1}

    Groups that are no column of X are passed as metadata:

    >>> import sklearn
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(
    ...         XGBClassifier(n_estimators=50, n_jobs=1), {"max_depth": [1, 6]}, scoring=make_group_scorer("mean")
    ...     ).fit(X[["age"]], y, groups=X["sex"])
    """
    if statistic not in (None, "rate"):
        find_statistic(statistic)
    if groups is None and not get_config()["enable_metadata_routing"]:
        raise ValueError(
            "groups is None, so the groups are metadata, but scikit-learn's metadata routing is not enabled. Name a "
            "column of X, or call sklearn.set_config(enable_metadata_routing=True) first"
        )
    return _GroupScorer(statistic, groups, label)


class _GroupScorer:
    """Score an estimator; a class, unlike a function within a function, can be pickled."""

    def __init__(self, statistic: str | Callable[..., Any] | None, groups: Any, label: Any) -> None:
        self.statistic, self.groups, self.label = statistic, groups, label

    def __repr__(self) -> str:
        return f"make_group_scorer({self.statistic!r}, groups={self.groups!r}, label={self.label!r})"

    def get_metadata_routing(self) -> MetadataRequest:
        """Request the groups of the rows, unless X has them."""
        request = MetadataRequest(owner=repr(self))
        if self.groups is None:
            request.score.add_request(param="groups", alias=True)
        return request

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        if self.groups is not None:
            groups = _find_groups(X, self.groups)
        elif groups is None:
            raise ValueError(
                "the scorer needs groups: pass them as metadata, as in search.fit(X, y, groups=...)"
            )
        values, statistic = self._summarised(estimator, X)
        by_group = group_statistics(values, groups, statistic=statistic, sample_weight=sample_weight)
        if len(by_group) < 2:
            (only,) = by_group
            raise ValueError(
                f"a difference needs at least two groups; all rows are of the group {only!r}. Split the rows so that "
                "each part has several groups, for example with StratifiedKFold"
            )
        return min(by_group.values()) - max(by_group.values())

    def _summarised(self, estimator: Any, X: Any) -> tuple[NDArray[Any], Any]:
        """Return the numbers that are summarized within each group, and the statistic that summarizes them."""
        if not is_classifier(estimator):
            if self.statistic == "rate" or self.label is not None:
                raise ValueError(
                    f"rates and labels are for classifiers; {type(estimator).__name__} is none. Use the statistic "
                    "'mean' or 'median', without a label"
                )
            return np.asarray(estimator.predict(X)), self.statistic or "mean"
        classes = np.asarray(estimator.classes_).tolist()
        label = classes[-1] if self.label is None else self.label
        if label not in classes or (self.label is None and len(classes) != 2):
            raise ValueError(f"label must be one of the classes {classes}; got {self.label!r}")
        if self.statistic in (None, "rate"):
            return np.asarray(estimator.predict(X)) == label, "mean"
        return np.asarray(estimator.predict_proba(X))[:, classes.index(label)], self.statistic


def _find_groups(X: Any, groups: Any) -> Any:
    if callable(groups):
        return groups(X)
    names = list(X.columns) if is_frame(X) else []
    if groups in names:
        return raw_column(X, names.index(groups))
    if isinstance(groups, str) or not -np.shape(X)[1] <= groups < np.shape(X)[1]:
        known = (
            suggest(groups, names, "columns") if names else f"X has {np.shape(X)[1]} columns, without names"
        )
        raise ValueError(f"groups must be a column of X; got {groups!r}. {known}")
    return raw_column(X if hasattr(X, "shape") else np.asarray(X), groups)
