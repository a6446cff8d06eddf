"""Draw panels on a grid of axes: what the displays of components and of accumulated effects share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from skglex.plotting._draw import draw_panel, note_flat_panel, room_for_labels
from skglex.plotting._panels import Panel
from skglex.plotting._style import Names, plain_text, require_matplotlib

# Width and height of one of several panels, in inches: two of them beside each other are readable on a phone.
PANEL = 2.8, 2.6


class PanelsDisplay:
    """Draw panels, on one scale and with one colour bar.

    Parameters
    ----------
    panels : list of Panel
        The data of the panels.
    label : str
        What the values are effects on.
    """

    # What the values are called on the axis.
    _what = "effect"

    def __init__(self, panels: list[Panel], *, label: str = "the prediction") -> None:
        self.panels = panels
        self.label = label

    def plot(
        self, *, ax: Any = None, background: bool = True, same_scale: bool = True, n_cols: int = 2
    ) -> Self:
        """Draw the panels; the parameters are those of ``from_decomposer``.

        Parameters
        ----------
        ax : matplotlib Axes, or array of Axes, default=None
            Axes to draw on. None: a new figure.
        background : bool, default=True
            As in `from_decomposer`.
        same_scale : bool, default=True
            As in `from_decomposer`.
        n_cols : int, default=2
            As in `from_decomposer`.

        Returns
        -------
        PanelsDisplay
            The display, with the figure and axes as attributes.
        """
        self._make_axes(ax, n_cols)
        from matplotlib.colors import Normalize

        names = Names()
        label = plain_text(f"{self._what} on {self.label}")
        largest = max((_size(panel) for panel in self.panels if panel.kind == "map"), default=0.0) or 1.0
        curves = [panel for panel in self.panels if panel.kind != "map"]
        common = _limits(curves) if same_scale and len(curves) > 1 else None
        # On one scale, one label per row of panels is enough.
        labelled = set()
        mesh = None
        for i, (panel, panel_ax) in enumerate(zip(self.panels, self.axes_)):
            drawn = draw_panel(
                panel_ax,
                panel,
                limits=common or _limits([panel]),
                colours=Normalize(-largest, largest),
                label="" if common and _row(panel_ax) in labelled else label,
                background=background,
                legend=i == 0 or not panel.continues,
                names=names,
            )
            if drawn is not None:
                mesh, mesh_ax = drawn, panel_ax
                continue
            labelled.add(_row(panel_ax))
            if common:
                note_flat_panel(panel_ax, panel, common)
        self.colorbar_ = None
        given = ax is not None and (len(self.panels) == 1 or isinstance(ax, (list, tuple, np.ndarray)))
        if mesh is not None and not given and len(self.panels) > 1:
            # The colour bar belongs to all panels. All rows are made narrower alike; it is as high as two rows.
            shrink = min(1.0, 2 / -(-len(self.panels) // min(n_cols, len(self.panels))))
            style = {"fraction": 0.04, "aspect": 25, "shrink": shrink, "anchor": (0, 1), "pad": 0.02}
            self.colorbar_ = self.figure_.colorbar(mesh, ax=list(self.axes_), **style)
        elif mesh is not None:
            # Beside given axes, the colour bar takes no room from them.
            self.colorbar_ = self.figure_.colorbar(mesh, cax=mesh_ax.inset_axes([1.02, 0, 0.04, 1]))
        if self.colorbar_ is not None:
            self.colorbar_.set_label(label)
        if ax is None:
            names.explain(self.figure_)
        return self

    def _size_of_figure(self, n_rows: int, n_cols: int) -> tuple[float, float]:
        """Return the size of a new figure: a colour bar and long labels take no room from the panels."""
        if len(self.panels) == 1:
            wide = 5.4 if self.panels[0].kind == "map" else 5.0
            width, height = room_for_labels(self.panels[0], wide)
            return wide + width, 3.6 + height
        bar = 0.7 if any(panel.kind == "map" for panel in self.panels) else 0.0
        rooms = np.array([room_for_labels(panel, PANEL[0]) for panel in self.panels])
        # All panels get the same size inside, so that a row or a column takes the room of its longest labels.
        row, column = np.divmod(np.arange(len(rooms)), n_cols)
        width = sum(rooms[column == i, 0].max() for i in range(n_cols))
        height = sum(rooms[row == i, 1].max() for i in range(n_rows))
        return PANEL[0] * n_cols + width + bar, PANEL[1] * n_rows + height

    def _make_axes(self, ax: Any, n_cols: int) -> None:
        n = len(self.panels)
        n_cols = min(n_cols, n)
        shape = (-(-n // n_cols), n_cols)
        if ax is None:
            figure, axes = require_matplotlib().subplots(
                *shape,
                figsize=self._size_of_figure(*shape),
                layout="constrained",
                squeeze=False,
            )
            figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)
            axes = axes.ravel()
            for unused in axes[n:]:
                unused.remove()
        elif isinstance(ax, (list, tuple, np.ndarray)):
            axes = np.asarray(ax, dtype=object).ravel()
            if len(axes) < n:
                raise ValueError(
                    f"there are {n} panels, but ax has {len(axes)} axes: pass at least {n} axes, or one to divide"
                )
            figure = axes[0].figure
        elif n == 1:
            figure, axes = ax.figure, np.array([ax], dtype=object)
        else:
            figure = ax.figure
            ax.set_axis_off()
            grid = ax.get_subplotspec().subgridspec(*shape)
            axes = np.array([figure.add_subplot(grid[divmod(i, n_cols)]) for i in range(n)], dtype=object)
        self.figure_, self.axes_, self.ax_ = figure, axes[:n], axes[0]


def _row(ax: Any) -> Any:
    """Identify the row of the grid that the axes are in; axes outside of a grid are their own row."""
    spec = ax.get_subplotspec()
    return ax if spec is None else (spec.get_gridspec(), spec.rowspan.start)


def _size(panel: Panel) -> float:
    return float(np.abs(panel.values).max(initial=0))


def _limits(panels: list[Panel]) -> tuple[float, float]:
    """Return the range of the margin over panels; it contains zero."""
    parts = [part for panel in panels for part in (panel.values, *(panel.band or ()))]
    low = min((float(part.min(initial=0)) for part in parts), default=0.0)
    return low, max((float(part.max(initial=0)) for part in parts), default=0.0)
