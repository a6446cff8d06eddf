"""Give all displays the same colours, labels and axes."""

from __future__ import annotations

import textwrap
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

# What stands between the features of an interaction.
TIMES = " × "


def response_label(view: Explained, target: str | None, units: str | None) -> str:
    """Return what the prediction is called: the inverse link of the margin."""
    if hasattr(view.estimator, "classes_"):
        return "probability"
    return (target or "prediction") + ("" if units is None else f" {units}")


def number(value: float) -> str:
    """Format a number with four digits, or with all digits before the point."""
    text = f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−") if "e" not in text else text


class Names:
    """Write the names of features and categories in a figure: as plain text, and not too long.

    A name that is too long loses its middle. The legend of the figure then has the whole name.
    """

    def __init__(self) -> None:
        self.shortened: dict[str, str] = {}

    def write(self, name: Any, length: int = 30) -> str:
        """Return a name as matplotlib is to draw it."""
        name = " ".join(str(name).split())
        return plain_text(name if len(name) <= length else self._shorten(name, max(length, 5)))

    def write_product(self, names: str | list[str], length: int = 30) -> str:
        """Return the names of several features with a sign between them, each with its part of the length."""
        parts = names.split(TIMES) if isinstance(names, str) else names
        room = length - len(TIMES) * (len(parts) - 1)
        # Short names leave their part of the room to the long ones.
        longest = max(map(len, parts))
        while longest > 5 and sum(min(len(part), longest) for part in parts) > room:
            longest -= 1
        return TIMES.join(self.write(part, longest) for part in parts)

    def _shorten(self, name: str, length: int) -> str:
        # Names that differ only in what one cut takes away differ in what another cut leaves.
        for tail in range((length - 1) // 2, length - 1):
            short = f"{name[: length - 1 - tail]}…{name[len(name) - tail :] if tail else ''}"
            if self.shortened.setdefault(short, name) == name:
                return short
        number = len(self.shortened)
        self.shortened[f"{name[: length - 4]}…{number}"] = name
        return f"{name[: length - 4]}…{number}"

    def explain(self, figure: Any) -> None:
        """Add a legend with the whole names, below a figure that makes room for it."""
        if not self.shortened or figure.get_layout_engine() is None:
            return
        from matplotlib.lines import Line2D

        width = max(int(figure.get_figwidth() * 72 / 4.6), 20)
        lines = [
            textwrap.fill(f"{short}: {name}", width, subsequent_indent="    ")
            for short, name in self.shortened.items()
        ]
        legend = figure.legend(
            [Line2D([], [], lw=0) for _ in lines],
            [plain_text(line) for line in lines],
            loc="outside lower left",
            fontsize="x-small",
            frameon=False,
            handlelength=0,
            handletextpad=0,
        )
        legend.set_gid("names")
        n_lines = sum(line.count("\n") + 1 for line in lines)
        figure.set_figheight(figure.get_figheight() + 0.14 * n_lines)


def plain_text(text: str) -> str:
    """Return a text that matplotlib does not read as a formula, nor leaves out of a legend for its underscore."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def require_matplotlib() -> Any:
    """Return ``matplotlib.pyplot``; raise an ImportError that names the extra if it is not installed."""
    return import_optional("matplotlib.pyplot", "plots")


def make_axes(ax: Any, figsize: tuple[float, float]) -> tuple[Any, Any]:
    """Return a figure and its axes: ``ax``, or new axes if that is None."""
    plt = require_matplotlib()
    if ax is None:
        _, ax = plt.subplots(figsize=figsize, layout="constrained")
    return ax.figure, ax


def label_width(labels: list[str]) -> float:
    """Return the approximate width of tick labels in inches."""
    return 0.075 * max((len(line) for label in labels for line in label.split("\n")), default=0)


def remove_frame(ax: Any) -> None:
    """Remove the upper and the right side of the frame."""
    ax.spines[["top", "right"]].set_visible(False)
