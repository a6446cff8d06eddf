"""The colours and labels that all pictures share."""

from __future__ import annotations

from typing import Any

from skglex._decomposition import Explained

# Okabe and Ito's colours without the yellow, which is too light for a line; told apart by the colour-blind.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000"]
LINE_STYLES = ["-", "--", "-.", ":"]
# Ends of the diverging map: blue takes away, red adds.
DIVERGING = "RdBu_r"
TAKES, ADDS = "#2166AC", "#B2182B"

_UNITS = {"sigmoid": "margin (log-odds)", "exponential": "margin (logarithm of the prediction)"}


def margin_label(view: Explained, class_: Any) -> str:
    """Label of an axis on the margin scale, for instance "margin (log-odds)"."""
    if view.output_labels is not None:
        what = "class" if hasattr(view.estimator, "classes_") else "output"
        return "margin" if class_ is None else f"margin of {what} {class_}"
    return _UNITS.get(view.source.response.link, "margin")


def number(value: float) -> str:
    """Four digits, or all those before the point."""
    text = f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−") if "e" not in text else text


def make_axes(plt: Any, ax: Any, figsize: tuple[float, float]) -> tuple[Any, Any]:
    """The given axes, or new ones, and their figure."""
    if ax is None:
        _, ax = plt.subplots(figsize=figsize, layout="constrained")
    return ax.figure, ax


def bare(ax: Any) -> None:
    """Remove the frame's upper and right side."""
    ax.spines[["top", "right"]].set_visible(False)
