"""The report: a page of reStructuredText, its tables and figures."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

plt.rcParams.update(
    {"font.size": 11, "axes.titlesize": 11, "axes.spines.top": False, "axes.spines.right": False}
)


class Report:
    """Collects the page, ``method/paper.rst`` in a folder; figures are written at once, to ``images`` in the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts = [".. Written by ``python -m examples.paper``: do not edit."]

    def title(self, text: str, level: int = 0) -> None:
        self.parts.append(f"{text}\n{'=-~'[level] * len(text)}")

    def text(self, text: str) -> None:
        self.parts.append(text.strip("\n"))

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        lines = [".. list-table::", "   :header-rows: 1", ""]
        for row in [head, *rows]:
            lines += [f"   {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(row)]
        self.parts.append("\n".join(line.rstrip() for line in lines))

    def figure(self, figure: Figure, name: str, description: str) -> None:
        path = self.folder / "images" / f"paper_{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=100)
        plt.close(figure)
        # A picture of 256 colours has a third of the size. Without k-means, reds of a map turn into browns.
        reduced = Image.open(drawn).convert("RGB").quantize(256, kmeans=3, dither=Image.Dither.NONE)
        reduced.save(path, optimize=True)
        self.parts.append(f".. image:: /images/{path.name}\n   :alt: {description}")

    def save(self) -> Path:
        path = self.folder / "method" / "paper.rst"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(self.parts) + "\n", encoding="utf-8")
        return path


def mean_sd(draws: Sequence[float] | np.ndarray, digits: int) -> str:
    """The mean of the draws, with their standard deviation in brackets."""
    return f"{np.mean(draws):.{digits}f} ({np.std(draws, ddof=1):.{digits}f})"


def agrees(number: float, draws: Sequence[float] | np.ndarray, digits: int) -> str:
    """Whether a number from one run is within two standard deviations (and its rounding) of ours."""
    distance = abs(number - np.mean(draws)) - 0.5 * 10.0**-digits
    return "yes" if distance <= 2 * np.std(draws, ddof=1) else "no"
