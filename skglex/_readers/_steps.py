"""Take wrappers apart: the steps with which an estimator predicts, and the tree model at their end."""

from __future__ import annotations

from copy import copy
from typing import Any

from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline


def unwrap_frozen(estimator: Any) -> Any:
    """Return the estimator inside a `FrozenEstimator`."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def predicting_steps(pipeline: Pipeline) -> list[Any]:
    """Return the steps of a pipeline without the samplers of imbalanced-learn, which only draw rows in ``fit``."""
    *steps, last = (step for _, step in pipeline.steps)
    return [*(step for step in steps if not hasattr(step, "fit_resample")), last]


def steps_of(estimator: Any) -> list[Any]:
    """Return the steps with which an estimator predicts; the last one is the tree model.

    A pipeline at the end of another is unpacked too. A feature selection that predicts, such as `RFECV`, is a step and
    a model. The steps before a classifier with a threshold come before the threshold.
    """
    model = unwrap_frozen(estimator)
    if isinstance(model, Pipeline):
        *steps, last = predicting_steps(model)
        return [*steps, *steps_of(last)]
    if isinstance(model, RFE):
        return [model, *steps_of(inner_model(model))]
    if isinstance(model, FixedThresholdClassifier | TunedThresholdClassifierCV):
        *steps, last = steps_of(inner_model(model))
        return [*steps, _with_inner_model(model, last)]
    if hasattr(model, "_xgb_sklearn_model"):  # A model of xgboost.spark
        return [model._xgb_sklearn_model]
    return [model]


def tree_model(estimator: Any) -> Any:
    """Return the tree model: the estimator itself, or the last step of a pipeline."""
    return steps_of(estimator)[-1]


def inner_model(wrapper: Any) -> Any:
    """Return the estimator that a wrapper of scikit-learn has fitted, or will fit."""
    return getattr(wrapper, "estimator_", wrapper.estimator)


def _with_inner_model(wrapper: Any, inner: Any) -> Any:
    """Return a wrapper of another estimator; the wrapper itself if it wraps this one."""
    if inner_model(wrapper) is inner:
        return wrapper
    changed = copy(wrapper)
    setattr(changed, "estimator_" if hasattr(wrapper, "estimator_") else "estimator", inner)
    return changed
