"""Combine the predictions of members, as calibrated, stacked, voting and transformed models of scikit-learn do.

The functions are the inverse links of these models: functions of the margins of all members, side by side. A *member*
is a dict: ``response`` says what its margins mean, and ``first`` is the first of their columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

Margin = NDArray[np.float64]
Member = dict[str, Any]

# scikit-learn adds this to probabilities before it takes their logarithm.
_EPSILON = 1e-12


def calibrated(members: list[Member], n_classes: int, margin: Margin) -> Margin:
    """Return the mean of the members' calibrated probabilities."""
    p = sum(_calibrate(member, n_classes, margin) for member in members) / len(members)
    return _without_first(np.asarray(p))


def averaged(members: list[Member], weights: list[float], classifies: bool, margin: Margin) -> Margin:
    """Return the weighted mean of the members' probabilities or predictions."""
    outputs = [
        _probabilities(member, margin) if classifies else _output(member, margin) for member in members
    ]
    mean = np.asarray(sum(weight * output for weight, output in zip(weights, outputs)))
    return _without_first(mean) if classifies else mean


def stacked(members: list[Member], final: Any, classifies: bool, margin: Margin) -> Margin:
    """Return what the last model of a stack predicts from the members' predictions."""
    columns = np.hstack([_for_last_model(member, margin) for member in members])
    if classifies:
        return _without_first(np.asarray(final.predict_proba(columns), dtype=np.float64))
    return np.asarray(final.predict(columns), dtype=np.float64).reshape(len(columns), -1)


def transformed(member: Member, transformer: Any, margin: Margin) -> Margin:
    """Return the prediction on the scale of the target that was transformed."""
    return np.asarray(transformer.inverse_transform(_output(member, margin)), dtype=np.float64)


# -- the members ----------------------------------------------------------------------------------


def _own_margin(member: Member, margin: Margin) -> Margin:
    return margin[:, member["first"] : member["first"] + member["response"].n_outputs]


def _output(member: Member, margin: Margin) -> Margin:
    return np.asarray(member["response"].output(_own_margin(member, margin)))


def _probabilities(member: Member, margin: Margin) -> Margin:
    return np.asarray(member["response"].probabilities(_output(member, margin)))


def _decision(member: Member, margin: Margin) -> Margin:
    decision = np.asarray(member["response"].decision(_own_margin(member, margin)))
    return decision.reshape(len(decision), -1)


def _without_first(p: Margin) -> Margin:
    """Return the probability of the second of two classes, or those of all of more classes."""
    return p[:, 1:] if p.shape[1] == 2 else p


def _for_last_model(member: Member, margin: Margin) -> Margin:
    """Return the columns that the last model of a stack gets from a member."""
    if member["method"] == "predict_proba":
        return _without_first(_probabilities(member, margin))
    if member["method"] == "decision_function":
        return _decision(member, margin)
    prediction = np.asarray(member["response"].predict(_output(member, margin)), dtype=np.float64)
    return prediction.reshape(len(prediction), -1)


# -- calibrators ----------------------------------------------------------------------------------


def _calibrate(member: Member, n_classes: int, margin: Margin) -> Margin:
    """Return a member's calibrated probabilities of all classes."""
    decides = member["method"] == "decision_function"
    scores = _decision(member, margin) if decides else _without_first(_probabilities(member, margin))
    calibrators = member["calibrators"]
    if calibrators[0]["kind"] == "temperature":
        return _scale_temperature(scores, decides, calibrators[0]["beta"])
    p = np.zeros((len(margin), n_classes))
    for position, score, calibrator in zip(member["classes"], scores.T, calibrators):
        # Of two classes there is only the score of the second.
        p[:, position + (n_classes == 2)] = _calibrate_score(calibrator, score)
    if n_classes == 2:
        p[:, 0] = 1.0 - p[:, 1]
        return p
    total = p.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(p, total, out=np.full_like(p, 1 / n_classes), where=total != 0))


def _calibrate_score(calibrator: dict[str, Any], score: Margin) -> Margin:
    if calibrator["kind"] == "sigmoid":
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / (1.0 + np.exp(calibrator["a"] * score + calibrator["b"])))
    return np.asarray(np.interp(score, calibrator["x"], calibrator["y"]))


def _scale_temperature(scores: Margin, decides: bool, beta: float) -> Margin:
    if decides:
        logits = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
    else:
        p = np.hstack([1 - scores, scores]) if scores.shape[1] == 1 else scores
        logits = np.log(p + _EPSILON)
    return np.asarray(softmax(beta * logits, axis=1))


# -- description ----------------------------------------------------------------------------------


def describe_combination(inverse: Any) -> dict[str, Any] | None:
    """Return how a combined model maps the margins of its members to its output, as plain values and responses.

    Returns None for functions that have no formula: transformers of targets, and functions of other modules.
    """
    kind = getattr(inverse, "func", None)
    if kind is calibrated:
        members, n_classes = inverse.args
        return {"kind": "calibrated", "members": members, "n_classes": n_classes}
    if kind is averaged:
        members, weights, classifies = inverse.args
        return {"kind": "averaged", "members": members, "weights": list(weights), "classifies": classifies}
    if kind is not stacked:
        return None
    members, final, classifies = inverse.args
    if any(member["method"] == "predict" and member["response"].is_classifier for member in members):
        return None
    link = "identity"
    if classifies:
        several = "scaled_sigmoid" if final.solver == "liblinear" else "softmax"
        link = "sigmoid" if len(final.classes_) == 2 else several
    return {
        "kind": "stacked",
        "members": members,
        "coef": np.atleast_2d(final.coef_).tolist(),
        "intercept": np.broadcast_to(final.intercept_, len(np.atleast_2d(final.coef_))).tolist(),
        "link": link,
    }
