"""Use the estimator that a user passes as it is, or clone and fit it."""

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

from skglex._readers import encodes_labels, predicting_steps, tree_model
from skglex._utils import warn_user

# Names of the offset of rows in `fit` of XGBoost, LightGBM and CatBoost.
_OFFSETS = ("base_margin", "init_score", "baseline")


def is_fitted(estimator: Any) -> bool:
    """Return whether an estimator is fitted."""
    # CatBoost's sums of models have this method, but no attribute that scikit-learn looks for.
    if callable(says_fitted := getattr(estimator, "is_fitted", None)) and says_fitted():
        return True
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        return False
    return True


def uses_prefit(estimator: Any, prefit: Any, y: Any) -> bool:
    """Return whether an estimator is used as it is.

    This holds for models without ``fit``, for frozen estimators, with ``prefit=True``, and with ``prefit="auto"`` for
    a fitted estimator if there is no y.
    """
    if not hasattr(estimator, "fit") or isinstance(estimator, FrozenEstimator) or prefit is True:
        return True
    return prefit == "auto" and y is None and is_fitted(estimator)


def resolve_estimator(
    estimator: Any,
    prefit: str | bool,
    X: Any,
    y: Any,
    weight: NDArray[np.float64] | None,
    fit_params: dict[str, Any],
    *,
    owner: Any,
) -> tuple[Any, NDArray[Any] | None]:
    """Return an estimator as it is, or a clone that is fitted.

    Parameters
    ----------
    estimator : object
        A model, an estimator, or a pipeline.
    prefit : {"auto", True, False}
        Whether the estimator is used as it is, see `uses_prefit`.
    X, y : array-like
        The training data; y may be None.
    weight : ndarray of shape (n_samples,), or None
        Checked sample weights.
    fit_params : dict
        Further parameters of the estimator's ``fit``.
    owner : meta-estimator
        The object that holds the estimator, which routes metadata.

    Returns
    -------
    estimator : object
        The fitted estimator.
    classes : ndarray of shape (n_classes,), or None
        The labels, if y was encoded here.
    """
    if uses_prefit(estimator, prefit, y):
        return _use_as_is(estimator, prefit, X, y, fit_params), None
    require_target(estimator, prefit, y, type(owner).__name__)
    if prefit == "auto" and is_fitted(estimator):
        warn_user(
            f"y was passed, so the {type(estimator).__name__} is cloned and fitted again, although it is fitted. To "
            "keep it as it is, pass sklearn.frozen.FrozenEstimator(estimator) or prefit=True"
        )
    return _fit_clone(estimator, X, y, weight, fit_params, owner)


def require_target(estimator: Any, prefit: str | bool, y: Any, owner: str) -> None:
    """Raise if an estimator has to be fitted, but there is no target; ``owner`` names who asks."""
    if y is not None or uses_prefit(estimator, prefit, y):
        return
    # A pipeline does not say what its last step needs.
    if any(get_tags(part).target_tags.required for part in (estimator, tree_model(estimator))):
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None: the estimator is not fitted "
            "(clones never are). Pass y, or keep a fitted model as it is with "
            "sklearn.frozen.FrozenEstimator(estimator)"
        )


def _use_as_is(estimator: Any, prefit: str | bool, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
    """Check and return an estimator that is not fitted here."""
    name = type(estimator).__name__
    if not hasattr(estimator, "fit") and prefit is False:
        raise ValueError(
            f"prefit=False, but a {name} cannot be fitted again. Use prefit='auto', or pass a scikit-learn estimator"
        )
    if prefit is True and hasattr(estimator, "fit") and not is_fitted(estimator):
        check_is_fitted(estimator)
    if y is not None:
        check_consistent_length(X, y)
    if fit_params:
        warn_user(f"the {name} is used as it is: {', '.join(fit_params)} passed to fit has no effect")
    return estimator


def _fit_clone(
    estimator: Any,
    X: Any,
    y: Any,
    weight: NDArray[np.float64] | None,
    fit_params: dict[str, Any],
    owner: Any,
) -> tuple[Any, NDArray[Any] | None]:
    """Clone and fit an estimator; also return the labels, if y was encoded here."""
    unfitted, classes = _copy_unfitted(estimator), None
    if y is not None:  # Outlier detectors need no target.
        y, classes = _check_target(
            X, y, is_classifier(unfitted), encode=not encodes_labels(tree_model(unfitted))
        )
    if classes is not None:
        fit_params = {
            key: _encode_eval_set(value, classes) if key.endswith("eval_set") else value
            for key, value in fit_params.items()
        }
    if offset := list(filter(is_offset, fit_params)):
        warn_user(
            f"the model is fitted with {offset[0]}, which is not part of the model: the decomposition does not include "
            "it. FeatureRemover.predict takes it as offset="
        )
    if get_config()["enable_metadata_routing"]:
        weights = {} if weight is None else {"sample_weight": weight}
        fit_params = process_routing(owner, "fit", **weights, **fit_params).estimator.fit
    elif weight is not None:
        fit_params = {**fit_params, **_weight_params(unfitted, weight)}
    return unfitted.fit(X, y, **fit_params), classes


def is_offset(name: str) -> bool:
    """Return whether a parameter of ``fit`` is an offset of rows; in a pipeline the step's name comes first."""
    return name.rpartition("__")[2] in _OFFSETS


def _check_target(X: Any, y: Any, classifies: bool, encode: bool) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Check y. With ``encode``, labels become 0..K-1 and are also returned."""
    numpy_dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if numpy_dtype is not None and not y.isna().any():
        y = y.to_numpy(dtype=numpy_dtype)  # Otherwise pandas' nullable types become floats.
    if getattr(getattr(y, "dtype", None), "names", None):  # Event and time of scikit-survival.
        check_consistent_length(X, y)
        return y, None
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    kind = type_of_target(y, input_name="y") if classifies else ""
    if kind == "multiclass-multioutput":
        check_consistent_length(X, y)
        return np.asarray(y), None
    if classifies and kind != "multilabel-indicator":
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
    """Encode the labels in the evaluation sets of XGBoost and LightGBM as y is encoded."""
    if eval_set is None:
        return None
    if not isinstance(eval_set, (list, tuple)):  # The labels of a CatBoost Pool stay as they are.
        return eval_set
    if isinstance(eval_set, tuple):
        return (eval_set[0], _encode(eval_set[1], classes, "eval_set"), *eval_set[2:])
    return [_encode_eval_set(pair, classes) for pair in eval_set]


def _encode(labels: Any, classes: NDArray[Any], what: str) -> NDArray[np.int64]:
    """Return the positions of labels among the classes."""
    labels = np.asarray(labels).ravel()
    if not (known := np.isin(labels, classes)).all():
        raise ValueError(
            f"{what} has the label {labels[~known][0]!r}, which is not in y; expected one of {list(classes[:20])}"
        )
    return np.asarray(np.searchsorted(classes, labels))


def _weight_params(estimator: Any, weight: NDArray[np.float64]) -> dict[str, Any]:
    """Return the keyword argument by which an estimator's ``fit`` accepts sample weights, if it does."""
    if isinstance(estimator, Pipeline):
        if len(predicting_steps(estimator)) < len(estimator.steps):
            raise ValueError(
                "sample_weight has one value per row of X, but a sampler in the pipeline draws other rows before the "
                "model is fitted. Fit the pipeline first, and pass it fitted: sample_weight then weights the background"
            )
        name, last = estimator.steps[-1]
        return {f"{name}__{key}": value for key, value in _weight_params(last, weight).items()}
    if has_fit_parameter(estimator, "qid"):
        raise ValueError(
            f"sample_weight has one value per row, for the background, but a {type(estimator).__name__} expects one "
            "value per query. Fit it first and pass the fitted ranker (inside a search as "
            "sklearn.frozen.FrozenEstimator(ranker))"
        )
    return {"sample_weight": weight} if has_fit_parameter(estimator, "sample_weight") else {}


def _copy_unfitted(estimator: Any) -> Any:
    """Return an unfitted copy."""
    try:
        return clone(estimator)
    except RuntimeError:
        # CatBoost's get_params returns copies of lists, for which clone raises an error.
        return deepcopy(estimator)
