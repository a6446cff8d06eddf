"""Take wrappers apart: the steps with which an estimator predicts, and the tree model at their end."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor
from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline


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
    if isinstance(model, _COMPOSED) and (apart := _take_apart(model)) is not None:
        return apart
    if hasattr(model, "_xgb_sklearn_model"):  # A model of xgboost.spark
        return [model._xgb_sklearn_model]
    return [model]


# Models that combine the predictions of several members.
_COMPOSED = (
    CalibratedClassifierCV,
    StackingClassifier,
    StackingRegressor,
    TransformedTargetRegressor,
    VotingClassifier,
    VotingRegressor,
)
_SIDE_BY_SIDE = "_skglex_side_by_side"


def members_of(model: Any) -> list[Any]:
    """Return the fitted members of a model that combines their predictions; an empty list if it is not fitted."""
    if isinstance(model, CalibratedClassifierCV):
        return [part.estimator for part in getattr(model, "calibrated_classifiers_", [])]
    if isinstance(model, TransformedTargetRegressor):
        return [model.regressor_] if hasattr(model, "regressor_") else []
    return list(getattr(model, "estimators_", []))


def is_side_by_side(model: Any) -> bool:
    """Return whether each member of a model gets columns of its own, which `MemberSteps` computes."""
    return getattr(model, _SIDE_BY_SIDE, False)


def _take_apart(model: Any) -> list[Any] | None:
    """Return the steps of the members, side by side, and the model without them; None if no member has steps."""
    steps = [steps_of(member) for member in members_of(model)]
    if all(len(part) == 1 for part in steps):
        return None
    changed, inner = copy(model), [part[-1] for part in steps]
    if isinstance(model, CalibratedClassifierCV):
        changed.calibrated_classifiers_ = [copy(part) for part in model.calibrated_classifiers_]
        for part, member in zip(changed.calibrated_classifiers_, inner):
            part.estimator = member
    elif isinstance(model, TransformedTargetRegressor):
        (changed.regressor_,) = inner
    else:
        changed.estimators_ = inner
    setattr(changed, _SIDE_BY_SIDE, True)
    return [MemberSteps([make_pipeline(*part[:-1]) if part[1:] else None for part in steps]), changed]


class MemberSteps(TransformerMixin, BaseEstimator):
    """Apply the fitted preprocessing of every member, and put the results side by side.

    Parameters
    ----------
    members : list of Pipeline or None
        None: the member gets the rows as they are.
    """

    _names: list[str] | None = None

    def __init__(self, members: list[Any]) -> None:
        self.members = members

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> MemberSteps:
        """Do nothing: the members are fitted."""
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns, which begin with the number of their member."""
        if self._names is None:
            raise AttributeError("the names are known after transform")
        return np.array(self._names, dtype=object)

    def transform(self, X: Any) -> Any:
        """Return the rows of all members, side by side."""
        parts = [X if member is None else member.transform(X) for member in self.members]
        labels = [getattr(part, "columns", [f"x{j}" for j in range(part.shape[1])]) for part in parts]
        names = [[f"{i}__{label}" for label in part] for i, part in enumerate(labels)]
        self._names = [name for part in names for name in part]
        if any(hasattr(part, "iloc") for part in parts):
            import pandas as pd

            frames = [pd.DataFrame(part).reset_index(drop=True) for part in parts]
            return pd.concat([frame.set_axis(part, axis=1) for frame, part in zip(frames, names)], axis=1)
        sparse = [sp.issparse(part) for part in parts]
        if all(sparse):
            return sp.hstack(parts, format="csr")
        if any(sparse):
            raise ValueError(
                "the preprocessing of some members returns sparse matrices, that of others does not. Let all of them "
                "return dense arrays, for example with OneHotEncoder(sparse_output=False)"
            )
        return np.hstack([np.asarray(part) for part in parts])


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
