"""Name the margin and the response of a model, as axes of pictures show them."""

from __future__ import annotations

from typing import Any

from skglex._decomposition._explained import Explained
from skglex._response import PROBABILITIES, on_response, split_link

_CLASSIFIER_WORDS = {
    "identity": "probability",
    "identity_multiclass": "probability",
    "probability": "probability",
    "sigmoid": "log-odds",
    "multiclass_ova": "log-odds",
    "softmax": "score",
    "exponential": "log-probability",
}
_REGRESSOR_WORDS = {"identity": "prediction", "exponential": "log of the prediction", "sigmoid": "log-odds"}
_PLAIN_LABELS = {"0", "1", "True", "False"}


def margin_label(
    view: Explained, output: Any, target: str | None, units: str | None, scale: str = "margin"
) -> str:
    """Return what the margin is called on an axis, for example "log-odds of class yes" or "rides (per hour)".

    Parameters
    ----------
    view : Explained
    output : int, or None
        Position of the output. None: all outputs together.
    target : str, or None
        The user's name of the target.
    units : str, or None
        The unit of the target.
    scale : {"margin", "response"}, default="margin"
        ``"response"``: return what the response is called, for example "probability of class yes".
    """
    response = view.source.response
    link, _ = split_link(response.link)
    classes = view.classes
    labels = view.output_labels
    if on_response(scale):
        labels = view.response_labels
        # A booster does not say that it is a classifier, but its link does.
        word = "prediction" if classes is None and link not in PROBABILITIES else "probability"
        word = "score" if response.isolation is not None else word
    else:
        words = _REGRESSOR_WORDS if classes is None else _CLASSIFIER_WORDS
        word = "mean path length" if response.isolation is not None else words.get(link, "margin")
    which = ""
    if labels is not None and output is not None:
        which = f"{'output' if classes is None else 'class'} {labels[output]}"
    elif classes is not None and len(classes) == 2 and str(classes[1]) not in _PLAIN_LABELS:
        which = f"class {classes[1]}"
    if target is not None:
        which = target if labels is None or output is None else f"{target}, {which}"
        word = {"prediction": "", "log of the prediction": "log"}.get(word, word)
    label = " of ".join(part for part in (word, which) if part)
    return label if units is None else f"{label} ({units})"
