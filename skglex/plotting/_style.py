"""Give all displays the same colours, labels and axes."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np

from skglex._decomposition import Explained
from skglex._utils import import_optional

# Okabe and Ito chose these colours so that colour-blind readers can distinguish them. Their yellow is left out, since
# it is too light for lines.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000"]
LINE_STYLES = ["-", "--", "-.", ":"]
DIVERGING = "RdBu_r"
# The bars of a waterfall have the end colours of the diverging map, so that blue means negative in all pictures.
NEGATIVE, POSITIVE = "#2166AC", "#B2182B"

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

# What stands between the features of an interaction.
TIMES = " × "


def response_label(view: Explained, target: str | None, units: str | None) -> str:
    """Return what the prediction is called: the inverse link of the margin."""
    if hasattr(view.estimator, "classes_"):
        return "probability"
    return (target or "prediction") + ("" if units is None else f" {units}")


def number(value: float) -> str:
    """Format a number with four digits, or with all digits before the point."""
    text = f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−") if "e" not in text else text


def signed(value: float) -> str:
    """Format a change with three digits and its sign."""
    return ("+" if value > 0 else "") + number(float(f"{value:.3g}"))


def fold(text: str, width: int) -> list[str]:
    """Break a text into as few lines as it needs, and these into about the same length.

    Lines end after spaces and the signs in names; a word longer than a line is cut.
    """
    lines = _fill(text, width)
    while width > 1 and len(narrower := _fill(text, width - 1)) == len(lines):
        lines, width = narrower, width - 1
    return lines


def _fill(text: str, width: int) -> list[str]:
    lines = [""]
    for word in re.split(r"(?<=[\s_/:])|(?<=\.)(?=[^\W\d])", text):
        for part in (word[start : start + width] for start in range(0, len(word), max(width, 1))):
            if lines[-1] and len((lines[-1] + part).rstrip()) > width:
                lines.append("")
            lines[-1] += part
    return [line.rstrip() for line in lines]


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

    def write_lines(self, name: Any, width: int, n_lines: int = 2, *, end: str = "") -> str:
        """Return a name and what follows it on up to ``n_lines`` lines; the name loses its middle if it is too long."""
        name = " ".join(str(name).split())
        length = len(name)
        while length > 5 and len(_fill(_cut(name, length) + end, width)) > n_lines:
            length -= 1
        name = name if length == len(name) else self._shorten(name, length)
        return "\n".join(map(plain_text, fold(name + end, width)))

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
            short = _cut(name, length, tail)
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

        width = max(int(figure.get_figwidth() * 72 / 5), 20)
        lines = [
            textwrap.fill(f"{short}: {name}", width, subsequent_indent="    ")
            for short, name in self.shortened.items()
        ]
        legend = figure.legend(
            [Line2D([], [], lw=0) for _ in lines],
            [plain_text(line) for line in lines],
            loc="outside lower left",
            fontsize="small",
            frameon=False,
            handlelength=0,
            handletextpad=0,
        )
        legend.set_gid("names")
        n_lines = sum(line.count("\n") + 1 for line in lines)
        figure.set_figheight(figure.get_figheight() + 0.16 * n_lines)


def _cut(name: str, length: int, tail: int | None = None) -> str:
    """Return a name without its middle; ``tail`` is how many of its last letters stay, None: half of all."""
    if len(name) <= length:
        return name
    tail = (length - 1) // 2 if tail is None else tail
    return f"{name[: length - 1 - tail]}…{name[len(name) - tail :]}"


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


def take_out_power(axis: Any, low: float, high: float) -> str:
    """Divide the ticks of large or tiny numbers by a power of ten; return what the label of the axis says about it."""
    from matplotlib.ticker import FuncFormatter

    largest = max(abs(low), abs(high))
    exponent = int(np.floor(np.log10(largest))) if 0 < largest < np.inf else 0
    if -4 < exponent < 5:
        return ""
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value / 10.0**exponent:.4g}".replace("-", "−"))
    )
    return " ×10" + str(exponent).translate(_SUPERSCRIPTS)


def remove_frame(ax: Any) -> None:
    """Remove the upper and the right side of the frame."""
    ax.spines[["top", "right"]].set_visible(False)
