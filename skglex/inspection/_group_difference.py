"""Compare the predictions of groups of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length, column_or_1d


def group_statistics(
    y_pred: ArrayLike,
    groups: ArrayLike,
    *,
    statistic: str | Callable[..., Any] = "median",
    sample_weight: ArrayLike | None = None,
) -> dict[Any, float]:
    """Summarize the predictions of each group by one number.

    Parameters
    ----------
    y_pred : array-like of shape (n_samples,)
        Numbers: predictions, one column of ``predict_proba``, margins, or ``predict(X) == label``. The result has
        the same unit.
    groups : array-like of shape (n_samples,)
        The group of each row, for example the column of a protected attribute.
    statistic : {"median", "mean"} or callable, default="median"
        A callable is called with the predictions of one group. If weights are passed, the call has their weights as
        ``sample_weight=...``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    dict
        The statistic by group, in the sorted order of the groups. A dict of such dicts is a table:
        ``pandas.DataFrame({"full": group_statistics(...), "debiased": group_statistics(...)})``.

    See Also
    --------
    group_difference : The difference between two groups.

    Examples
    --------
    >>> from skglex.inspection import group_statistics
    >>> group_statistics([1, 2, 6, 4, 5], ["a", "a", "a", "b", "b"])
    {'a': 2.0, 'b': 4.5}
    >>> group_statistics([1, 2, 6, 4, 5], ["a", "a", "a", "b", "b"], statistic="mean")
    {'a': 3.0, 'b': 4.5}
    """
    compute = find_statistic(statistic)
    values = _check_predictions(y_pred)
    labels = check_groups(groups)
    check_consistent_length(values, labels)
    distinct = np.unique(labels)
    # Dates stay NumPy scalars, since `tolist` may turn them into integers.
    keys = distinct if distinct.dtype.kind in "mM" else distinct.tolist()
    masks = {label: labels == label for label in keys}
    if sample_weight is None:
        return {label: float(compute(values[rows])) for label, rows in masks.items()}
    weights = _check_weights(sample_weight, values)
    for label, rows in masks.items():
        if not weights[rows].any():
            raise ValueError(
                f"sample_weight is zero on all rows of the group {label!r}: give at least one of them a positive "
                "weight, or leave the group out"
            )
    return {label: float(compute(values[rows], sample_weight=weights[rows])) for label, rows in masks.items()}


def group_difference(
    y_pred: ArrayLike,
    groups: ArrayLike,
    *,
    reference: Any = None,
    statistic: str | Callable[..., Any] = "median",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Measure how the predictions of two groups differ.

    The difference is the statistic of the other group minus the statistic of the reference group. The paper measures
    bias like this [1]_.

    Parameters
    ----------
    y_pred : array-like of shape (n_samples,)
        Numbers: predictions, one column of ``predict_proba``, margins, or ``predict(X) == label``. The result has
        the same unit.
    groups : array-like of shape (n_samples,)
        The group of each row. There must be exactly two groups.
    reference : label, default=None
        The group whose statistic is subtracted. None: the first group in sorted order.
    statistic : {"median", "mean"} or callable, default="median"
        A callable is called with the predictions of one group. If weights are passed, the call has their weights as
        ``sample_weight=...``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The statistic of the other group minus that of the reference group.

    See Also
    --------
    group_statistics : The statistic of each group, for any number of groups.
    make_group_scorer : A scorer for searches.

    References
    ----------
    .. [1] M. Hiabu, J. T. Meyer, M. N. Wright, "Unifying local and global model explanations by functional
       decomposition of low dimensional structures", AISTATS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import FeatureRemover
    >>> from skglex.datasets import make_salary
    >>> from skglex.inspection import group_difference
    >>> from xgboost import XGBRegressor
    >>> X, y = make_salary(2000, hours_sd=5, random_state=0)
    >>> sex = np.where(X[:, 0] == 1, "male", "female")
    >>> model = XGBRegressor(n_estimators=100, max_depth=3, colsample_bynode=0.5).fit(X, y)
    >>> debiased = FeatureRemover(model, features=[0]).fit(X)
    >>> for predict in [model.predict, debiased.predict]:
    ...     print(round(group_difference(predict(X), sex, reference="female")))
    30
    10
    """
    by_group = group_statistics(y_pred, groups, statistic=statistic, sample_weight=sample_weight)
    if len(by_group) != 2:
        raise ValueError(
            f"a difference needs exactly two groups; got {len(by_group)}: {_show(by_group)}. Use group_statistics for "
            "any other number of groups"
        )
    first, second = by_group
    if reference is None:
        reference = first
    if reference not in by_group:
        raise ValueError(f"reference must be one of the groups {_show(by_group)}; got {reference!r}")
    other = second if reference == first else first
    return by_group[other] - by_group[reference]


def _is_missing(label: Any) -> bool:
    # A comparison with pandas.NA is neither true nor false, so the type is compared instead.
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def _show(labels: Any) -> str:
    first_labels = ", ".join(repr(label) for label in list(labels)[:10])
    return first_labels + (", ..." if len(labels) > 10 else "")


def find_statistic(statistic: str | Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a statistic; raise an error if there is none."""
    if callable(statistic):
        return statistic
    if statistic in _STATISTICS:
        return _STATISTICS[statistic]
    raise ValueError(f"statistic must be one of {sorted(_STATISTICS)} or a callable; got {statistic!r}")


def _check_predictions(y_pred: Any) -> NDArray[np.float64]:
    values = np.asarray(y_pred)
    if values.ndim == 2 and values.shape[1] > 1:
        raise ValueError(
            f"y_pred has the shape {values.shape}, but must have one dimension: pass one output, or one column, for "
            "example predict_proba(X)[:, 1]"
        )
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"y_pred must be numbers; got values of dtype {values.dtype}. For class labels, pass "
            "`predict(X) == label`"
        )
    return np.asarray(
        check_array(column_or_1d(values), ensure_2d=False, dtype=np.float64, input_name="y_pred")
    )


def check_groups(groups: Any) -> NDArray[Any]:
    labels = np.asarray(groups)
    if labels.ndim == 0:
        raise ValueError(
            f"groups must have one label per row; got {groups!r}. Pass the column, X[{groups!r}]"
        )
    if labels.ndim == 2 and labels.shape[1] > 1:
        raise ValueError(
            f"groups has the shape {labels.shape}, but must have one dimension: pass one label for each row"
        )
    labels = column_or_1d(labels)
    if any(_is_missing(label) for label in labels):
        raise ValueError("groups has missing values: drop these rows, or replace missing values by a label")
    if labels.dtype.kind == "O" and len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError("groups mixes strings with other labels: convert all labels to one type")
    return np.asarray(labels)


def _check_weights(sample_weight: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = check_array(
        column_or_1d(sample_weight),
        ensure_2d=False,
        dtype=np.float64,
        ensure_non_negative=True,
        input_name="sample_weight",
    )
    check_consistent_length(values, weights)
    return np.asarray(weights)


def _mean(values: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None) -> Any:
    return np.average(values, weights=sample_weight)


def _median(values: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None) -> Any:
    """Return the weighted median; a row of weight 2 counts like two rows."""
    if sample_weight is None:
        return np.median(values)
    order = np.argsort(values, kind="stable")
    order = order[sample_weight[order] > 0]
    cumulated = np.cumsum(sample_weight[order])
    half = cumulated[-1] / 2
    # If exactly half of the weight lies below a value, the median is the mean of that value and the next one. The
    # tolerance keeps this true if the cumulated weights are rounded.
    lower = values[order[np.searchsorted(cumulated, half * (1 - 1e-12), side="left")]]
    upper = values[order[min(np.searchsorted(cumulated, half * (1 + 1e-12), side="right"), len(order) - 1)]]
    return (lower + upper) / 2


_STATISTICS: dict[str, Callable[..., Any]] = {"mean": _mean, "median": _median}
