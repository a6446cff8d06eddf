"""The estimator that a user passes: taken as it is, or cloned and fitted."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, has_fit_parameter

from skglex._readers import encodes_labels
from skglex._utils import warn_user


def unwrap_frozen(estimator: Any) -> Any:
    """What is in a frozen estimator."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def steps_of(estimator: Any) -> list[Any]:
    """The steps of a pipeline, of pipelines at its end too; the tree model is the last."""
    model = unwrap_frozen(estimator)
    if not isinstance(model, Pipeline):
        return [model]
    return [*(step for _, step in model.steps[:-1]), *steps_of(model.steps[-1][1])]


def tree_model(estimator: Any) -> Any:
    """The tree model itself: the estimator, or the last step of a pipeline."""
    return steps_of(estimator)[-1]


def is_fitted(estimator: Any) -> bool:
    if callable(own := getattr(estimator, "is_fitted", None)) and own():
        return True  # CatBoost's sums of models, which have no attribute that scikit-learn looks for
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        return False
    return True


def uses_prefit(estimator: Any, prefit: Any, y: Any) -> bool:
    """Whether an estimator is used as it is; see the parameter ``prefit``."""
    if not hasattr(estimator, "fit") or isinstance(estimator, FrozenEstimator) or prefit is True:
        return True
    return prefit == "auto" and y is None and is_fitted(estimator)


def resolve_estimator(
    owner: Any, X: Any, y: Any, sample_weight: Any, weight: Any, fit_params: dict[str, Any]
) -> tuple[Any, NDArray[Any] | None]:
    """The estimator of a meta-estimator as it is, or a clone that is fitted.

    ``weight`` is the ``sample_weight``, checked. Also returns the labels, where y was encoded here.
    """
    estimator, prefit = owner.estimator, owner.prefit
    kind = type(estimator).__name__
    if uses_prefit(estimator, prefit, y):
        if not hasattr(estimator, "fit") and prefit is False:
            raise ValueError(
                f"prefit=False, but a {kind} cannot be fitted again. Use prefit='auto', or pass a scikit-learn "
                "estimator"
            )
        if prefit is True and hasattr(estimator, "fit") and not is_fitted(estimator):
            check_is_fitted(estimator)
        if y is not None:
            check_consistent_length(X, y)
        if fit_params:
            warn_user(f"the {kind} is used as it is: {', '.join(fit_params)} passed to fit has no effect")
        return estimator, None
    if y is None and get_tags(estimator).target_tags.required:
        raise ValueError(
            f"{type(owner).__name__} requires y to be passed, but the target y is None: the estimator is not fitted "
            "(clones never are). Pass y, or keep a fitted model as it is with "
            "sklearn.frozen.FrozenEstimator(estimator)"
        )
    if prefit == "auto" and is_fitted(estimator):
        warn_user(
            f"the {kind} is fitted already and will be cloned and fitted again, since y was passed. To keep it as it "
            "is, pass sklearn.frozen.FrozenEstimator(estimator) or prefit=True"
        )
    return _fit_clone(owner, X, y, sample_weight, weight, fit_params)


def _fit_clone(
    owner: Any, X: Any, y: Any, sample_weight: Any, weight: Any, fit_params: dict[str, Any]
) -> tuple[Any, NDArray[Any] | None]:
    estimator, classes = _unfitted(owner.estimator), None
    if y is not None:  # an outlier detector needs none
        encode = not encodes_labels(tree_model(estimator))
        y, classes = _check_target(X, y, is_classifier(estimator), encode)
    if classes is not None:
        fit_params = {
            key: _encode_eval_set(value, classes) if key.endswith("eval_set") else value
            for key, value in fit_params.items()
        }
    if offset := {"base_margin", "init_score"}.intersection(fit_params):
        warn_user(
            f"the model is fitted with {offset.pop()}, which is not part of it: it is decomposed without"
        )
    if get_config()["enable_metadata_routing"]:
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        fit_params = process_routing(owner, "fit", **given, **fit_params).estimator.fit
    elif weight is not None:
        fit_params = {**fit_params, **_weight_params(estimator, weight)}
    return estimator.fit(X, y, **fit_params), classes


def _check_target(X: Any, y: Any, classifies: bool, encode: bool) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Check y; labels become 0..K-1, unless the estimator does that itself, and are returned."""
    numpy_dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if numpy_dtype is not None and not y.isna().any():
        y = y.to_numpy(dtype=numpy_dtype)  # pandas' nullable integers and booleans would become floats
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    if classifies and type_of_target(y, input_name="y") != "multilabel-indicator":
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        check_consistent_length(X, y)
        if not encode:
            return np.asarray(y), None
        classes = LabelEncoder().fit(y).classes_
        return _encode(y, classes, "y"), classes
    y = column_or_1d(y, warn=True) if y.ndim == 1 or y.shape[1] == 1 else y
    if y.dtype.kind in "OUS":
        y = y.astype(np.float64)
    check_consistent_length(X, y)
    return np.asarray(y), None


def _encode_eval_set(eval_set: Any, classes: NDArray[Any]) -> Any:
    """The pairs of rows and labels that XGBoost and LightGBM watch while they fit, their labels encoded as y is."""
    if eval_set is None:
        return None
    if not isinstance(eval_set, (list, tuple)):  # CatBoost's Pool: its labels are its own affair
        return eval_set
    if isinstance(eval_set, tuple):
        return (eval_set[0], _encode(eval_set[1], classes, "eval_set"), *eval_set[2:])
    return [_encode_eval_set(pair, classes) for pair in eval_set]


def _encode(labels: Any, classes: NDArray[Any], what: str) -> NDArray[np.int64]:
    labels = np.asarray(labels).ravel()
    if not (known := np.isin(labels, classes)).all():
        raise ValueError(
            f"{what} has the label {labels[~known][0]!r}, which y does not have; its labels are {list(classes[:20])}"
        )
    return np.asarray(np.searchsorted(classes, labels))


def _weight_params(estimator: Any, weight: NDArray[np.float64]) -> dict[str, Any]:
    """The estimator's own keyword for sample weights, if it takes any."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return {f"{name}__{key}": value for key, value in _weight_params(last, weight).items()}
    if has_fit_parameter(estimator, "qid"):
        raise ValueError(
            f"sample_weight has one value per row, for the background, but a {type(estimator).__name__} takes one per "
            "query. Fit it first, and pass it fitted (in searches in sklearn.frozen.FrozenEstimator)"
        )
    return {"sample_weight": weight} if has_fit_parameter(estimator, "sample_weight") else {}


def _unfitted(estimator: Any) -> Any:
    """A copy to be fitted."""
    try:
        return clone(estimator)
    except RuntimeError:
        # CatBoost copies parameters (lists, say) where it is asked for them, which clone takes for a change
        return deepcopy(estimator)
