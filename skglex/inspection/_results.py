"""Give the results of comparisons what they have in common: a table, a picture, and how they show themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import explained

if TYPE_CHECKING:
    from skglex.plotting import PartsDisplay

# Rows of the table that a result shows.
_SHOWN_ROWS = 10


class Result(ABC):
    """Show a result by its headline and the first rows of its table."""

    decomposer: Any

    @property
    @abstractmethod
    def table(self) -> Any:
        """Return the result as a table."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """Return the result in one sentence."""

    def __repr__(self) -> str:
        table = self.table
        if isinstance(table, dict):
            shown = "\n".join(f"{name}: {list(values[:_SHOWN_ROWS])}" for name, values in table.items())
            return f"{self.headline}\n{shown}"
        text = table.head(_SHOWN_ROWS).to_string(index=False, float_format="{:.4g}".format)
        more = len(table) - _SHOWN_ROWS
        return f"{self.headline}\n{text}" + (f"\n... {more} more rows in .table" if more > 0 else "")

    def _repr_html_(self) -> str:
        from html import escape

        table = self.table
        if isinstance(table, dict):
            return f"<pre>{escape(repr(self))}</pre>"
        body = table.head(_SHOWN_ROWS).to_html(index=False, float_format="{:.4g}".format)
        return f"<p>{escape(self.headline)}</p>{body}"

    def _numbers(self, values: Any) -> str:
        """Return a number, or one number per output, as a text."""
        labels = explained(self.decomposer, removers=True).output_labels
        values = np.reshape(values, -1)
        if labels is None:
            return f"{values[0]:.4g}"
        return ", ".join(f"{label}: {value:.4g}" for label, value in zip(labels, values))

    def _shown(self, values: Any, output: Any) -> str:
        """Return the number of one output as pictures write it."""
        position = explained(self.decomposer, removers=True).output_position(output, "output")
        return f"{np.reshape(values, -1)[position]:.4g}".replace("-", "−")

    def _draw(
        self, lines: list[str], parts: dict[str, NDArray[np.float64]], title: str, **options: Any
    ) -> PartsDisplay:
        """Draw lines of one output; ``parts`` have the shape (n_lines, n_outputs)."""
        from skglex.plotting import PartsDisplay

        position = explained(self.decomposer, removers=True).output_position(options["output"], "output")
        drawn = {name: values[:, position] for name, values in parts.items()}
        return PartsDisplay.from_parts(self.decomposer, lines, drawn, title=title, **options)


def by_size(values: NDArray[np.float64], last: int = 0) -> NDArray[np.int64]:
    """Return the positions of lines by their size over all outputs, the largest first; the last lines stay last."""
    n = len(values) - last
    size = np.abs(values[:n]).sum(axis=tuple(range(1, values.ndim)))
    return np.append(np.argsort(-size, kind="stable"), np.arange(n, len(values)))
