"""Read scikit-learn's models that combine the predictions of tree models: calibrated, stacked, voting, transformed.

They have no single margin. The margins of their members stand side by side, and the rest is the inverse link.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._base import LinearModel
from sklearn.utils.validation import check_is_fitted

from skglex._input import InputSpec, is_frame
from skglex._leaves import LeafEnsemble
from skglex._readers._combined import Term, merge_inputs, read_member, sum_of_ensembles
from skglex._readers._member_links import Member, averaged, calibrated, stacked, transformed
from skglex._readers._sklearn import predict, predict_proba
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._readers._steps import is_side_by_side, members_of, unwrap_frozen
from skglex._response import Response

READS = (
    ModelKind(
        library="scikit-learn",
        classes=(
            "sklearn.calibration.CalibratedClassifierCV",
            "sklearn.ensemble.StackingClassifier",
            "sklearn.ensemble.StackingRegressor",
            "sklearn.compose.TransformedTargetRegressor",
        ),
        margin='none: only ``scale="response"``',
        cover="none",
        missing="as the members",
        refused="stacks whose last model is not linear or logistic; ``passthrough=True``",
    ),
)


def read(model: Any) -> SourceModel:
    """Read a fitted `CalibratedClassifierCV`, `StackingClassifier`, `StackingRegressor`, or the like."""
    check_is_fitted(model)
    members = Members(model)
    if isinstance(model, CalibratedClassifierCV):
        inverse = _calibration(model, members)
    elif isinstance(model, TransformedTargetRegressor):
        inverse = partial(transformed, members[0], model.transformer_)
    else:
        inverse = _stack(model, members)
    return compose(model, members, inverse)


def read_voting(model: Any) -> SourceModel:
    """Read a `VotingClassifier` or `VotingRegressor` whose members' outputs are no sums of leaves."""
    members, weights = Members(model), model._weights_not_none
    share = np.ones(len(members)) if weights is None else np.asarray(weights, dtype=np.float64)
    share = (share / share.sum()).tolist()
    listed = [members[i] for i in range(len(members))]
    return compose(model, members, partial(averaged, listed, share, is_classifier(model)))


class Members:
    """Read the members of a model; those that are the same estimator are read once."""

    def __init__(self, model: Any) -> None:
        self._estimators = [unwrap_frozen(member) for member in members_of(model)]
        distinct = list({id(member): member for member in self._estimators}.values())
        self.side_by_side = is_side_by_side(model)
        self.sources = [read_member(model, member, alone=len(distinct) == 1) for member in distinct]
        self._position = {id(member): i for i, member in enumerate(distinct)}
        sizes = [source.ensemble.n_outputs for source in self.sources]
        self.first = np.cumsum([0, *sizes])
        widths = [source.input.n_features for source in self.sources]
        starts = np.cumsum([0, *widths]) if self.side_by_side else np.zeros(len(widths) + 1, np.int64)
        self.columns = [np.arange(start, start + width) for start, width in zip(starts, widths)]

    def __len__(self) -> int:
        return len(self._estimators)

    def __getitem__(self, position: int) -> Member:
        """Return a member for the functions of `skglex._readers._member_links`."""
        i = self._position[id(self._estimators[position])]
        return {"response": self.sources[i].response, "first": int(self.first[i])}

    def ensemble(self) -> LeafEnsemble:
        """Return the margins of all members side by side."""
        if len(self.sources) == 1:
            return self.sources[0].ensemble
        return sum_of_ensembles(self._terms())

    def input(self, model: Any) -> InputSpec:
        """Return the input of the whole model."""
        if len(self.sources) == 1:
            return self.sources[0].input
        spec = merge_inputs(model, [source.input for source in self.sources], self._terms())
        if not self.side_by_side:
            return spec
        return replace(spec, n_features=sum(map(len, self.columns)), feature_names=None)

    def _terms(self) -> list[Term]:
        return [
            Term(source.ensemble, 1.0, columns, int(first))
            for source, columns, first in zip(self.sources, self.columns, self.first)
        ]


def compose(model: Any, members: Members, inverse: Any) -> SourceModel:
    """Return a model that is a function of its members' margins."""
    classifies = is_classifier(model)
    columns = members.columns if members.side_by_side else None
    margin = partial(_margins, [source.margin for source in members.sources], columns)
    response = Response(
        link="function",
        n_outputs=int(members.first[-1]),
        classes=model.classes_ if classifies else None,
        inverse=inverse,
        combines=type(model).__name__,
    )
    # Members with a preprocessing of their own got rows of it, from which the model itself cannot predict.
    output = partial(outputs_of, response, margin) if members.side_by_side else None
    spec = members.input(model)
    return SourceModel(
        ensemble=members.ensemble(),
        input=spec,
        margin=margin,
        output=output or partial(predict_proba if classifies else predict, model),
        response=response,
    )


def _margins(margins: list[Any], columns: list[NDArray[np.int64]] | None, X: Any) -> NDArray[np.float64]:
    """Return the margins of all members, side by side."""
    parts = [X] * len(margins) if columns is None else [_columns_of(X, part) for part in columns]
    out = [np.asarray(margin(part), dtype=np.float64) for margin, part in zip(margins, parts)]
    return np.hstack([part.reshape(len(part), -1) for part in out])


def _columns_of(X: Any, columns: NDArray[np.int64]) -> Any:
    """Return the columns of one member, with the names that its preprocessing gave them."""
    if not is_frame(X):
        return X[:, columns]
    part = X.iloc[:, columns]
    return part.set_axis([name.partition("__")[2] for name in part.columns], axis=1)


def mean_margin(
    margins: list[Any], weights: list[float], columns: list[NDArray[np.int64]], X: Any
) -> NDArray[np.float64]:
    """Return the weighted sum of the margins of members with columns of their own."""
    parts = [
        np.asarray(margin(_columns_of(X, own)), dtype=np.float64) for margin, own in zip(margins, columns)
    ]
    return np.asarray(sum(weight * part for weight, part in zip(weights, parts)))


def outputs_of(response: Response, margin: Any, X: Any) -> NDArray[np.float64]:
    """Return the output that belongs to a model's margin."""
    values = margin(X)
    return np.asarray(response.output(values.reshape(len(values), -1)))


# -- the rest of the model ------------------------------------------------------------------------


def _calibration(model: Any, members: Members) -> Any:
    """Return the function of a `CalibratedClassifierCV`."""
    positions = {label: i for i, label in enumerate(np.asarray(model.classes_).tolist())}
    found = []
    for i, part in enumerate(model.calibrated_classifiers_):
        estimator = unwrap_frozen(part.estimator)
        decides = hasattr(estimator, "decision_function")
        member = members[i] | {
            "method": "decision_function" if decides else "predict_proba",
            "calibrators": [_calibrator(model, calibrator) for calibrator in part.calibrators],
        }
        if member["calibrators"][0]["kind"] != "temperature":  # A fold may lack a class.
            member["classes"] = [positions[label] for label in np.asarray(estimator.classes_).tolist()]
        found.append(member)
    return partial(calibrated, found, len(positions))


def _calibrator(model: Any, calibrator: Any) -> dict[str, Any]:
    """Return the parameters of one calibrator."""
    if hasattr(calibrator, "a_") and hasattr(calibrator, "b_"):
        return {"kind": "sigmoid", "a": float(calibrator.a_), "b": float(calibrator.b_)}
    if hasattr(calibrator, "beta_"):
        return {"kind": "temperature", "beta": float(calibrator.beta_)}
    if isinstance(calibrator, IsotonicRegression):
        x, y = (np.asarray(v, np.float64) for v in (calibrator.X_thresholds_, calibrator.y_thresholds_))
        return {"kind": "isotonic", "x": x, "y": y}
    raise ValueError(
        f"cannot decompose a {type(model).__name__} with the calibrator {type(calibrator).__name__}. Use "
        "method='sigmoid', 'isotonic' or 'temperature'"
    )


def _stack(model: Any, members: Members) -> Any:
    """Return the function of a `StackingClassifier` or `StackingRegressor`."""
    name, final, classifies = type(model).__name__, model.final_estimator_, is_classifier(model)
    if model.passthrough:
        raise ValueError(
            f"cannot decompose a {name} with passthrough=True, whose last model also gets the features themselves. Use "
            "passthrough=False"
        )
    if not isinstance(final, LogisticRegression if classifies else LinearModel):
        raise ValueError(
            f"cannot decompose a {name} whose last model is a {type(final).__name__}. Use a "
            + ("LogisticRegression" if classifies else "linear regression (LinearRegression, RidgeCV, ...)")
        )
    listed = [members[i] | {"method": method} for i, method in enumerate(model.stack_method_)]
    return partial(stacked, listed, final, classifies)
