"""Give all displays the same colours, labels and axes."""

from __future__ import annotations

from typing import Any

from skglex._decomposition import Explained
from skglex._utils import import_optional

# Okabe and Ito chose these colours so that colour-blind readers can distinguish them. Their yellow is left out, since
# it is too light for lines.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000"]
LINE_STYLES = ["-", "--", "-.", ":"]
DIVERGING = "RdBu_r"
# The bars of a waterfall have the end colours of the diverging map, so that blue means negative in all pictures.
NEGATIVE, POSITIVE = "#2166AC", "#B2182B"

_UNITS = {"sigmoid": "margin (log-odds)", "exponential": "margin (logarithm of the prediction)"}


def margin_label(view: Explained, output: Any) -> str:
    """Return the label of an axis on the margin scale, for example "margin (log-odds)"."""
    if view.output_labels is not None:
        kind = "class" if hasattr(view.estimator, "classes_") else "output"
        return "margin" if output is None else f"margin of {kind} {output}"
    return _UNITS.get(view.source.response.link, "margin")


def number(value: float) -> str:
    """Format a number with four digits, or with all digits before the point."""
    text = f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−") if "e" not in text else text


def require_matplotlib() -> Any:
    """Return ``matplotlib.pyplot``; raise an ImportError that names the extra if it is not installed."""
    return import_optional("matplotlib.pyplot", "plots")


def make_axes(ax: Any, figsize: tuple[float, float]) -> tuple[Any, Any]:
    """Return a figure and its axes: ``ax``, or new axes if that is None."""
    plt = require_matplotlib()
    if ax is None:
        _, ax = plt.subplots(figsize=figsize, layout="constrained")
    return ax.figure, ax


def remove_frame(ax: Any) -> None:
    """Remove the upper and the right side of the frame."""
    ax.spines[["top", "right"]].set_visible(False)
