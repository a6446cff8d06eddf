"""Describe the features of a page: the cells that each divides its values into, and the bins of the model in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import AxisCells, Explained, Rows, cells_of_player, explained

# What a page says of the values of a feature is the same for at least so many rows.
FEWEST_ROWS = 5
# No column has this value.
_UNKNOWN = "a value that no row has"


@dataclass
class PageFeature:
    """Describe one feature, or group of features, of the page.

    Attributes
    ----------
    player : int
        The feature among all of the model.
    name : str
    columns : ndarray of shape (n_columns,), int64
        The columns on the grid that the feature consists of.
    axis : AxisCells, or None
        The cells of the feature. None: it has only the combinations of bins that occur in ``bins``.
    bins : ndarray of shape (n_columns, n_cells)
        Bins of the columns in each cell. Cells without a place on the axis come last.
    unseen : int, or None
        The cell of categories that the model does not know. None: it refuses them, or the feature has numbers.
    """

    player: int
    name: str
    columns: NDArray[np.int64]
    axis: AxisCells | None
    bins: NDArray[np.int64]
    unseen: int | None = None

    @property
    def n_on_axis(self) -> int:
        """Return the number of cells that have a place on the axis."""
        return 0 if self.axis is None else self.axis.n_cells

    def cells_of(self, bins: NDArray[Any], cells: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return the cells of binned rows; add cells for combinations of bins that no cell has.

        Parameters
        ----------
        bins : ndarray of shape (n_columns, n_rows)
        cells : ndarray of shape (n_rows,), optional
            The cells that the values of the rows are in, -1 if there is none.
        """
        found = np.full(bins.shape[1], -1) if cells is None else cells.copy()
        agree = found >= 0
        agree[agree] = (self.bins[:, found[agree]] == bins[:, agree]).all(axis=0)
        open_rows = np.flatnonzero(~agree)
        if not len(open_rows):
            return found
        distinct, of_row = np.unique(bins[:, open_rows], axis=1, return_inverse=True)
        known = {column.tobytes(): i for i, column in reversed(list(enumerate(_columns(self.bins))))}
        position = []
        for column in _columns(distinct):
            if column.tobytes() not in known:
                known[column.tobytes()] = self.bins.shape[1]
                self.bins = np.column_stack([self.bins, column])
            position.append(known[column.tobytes()])
        found[open_rows] = np.array(position)[of_row.ravel()]
        return found


def _columns(bins: NDArray[Any]) -> NDArray[np.int64]:
    """Return the columns of an array as rows of 64-bit integers."""
    return np.ascontiguousarray(bins.T, dtype=np.int64)


def page_features(decomposer: Any, view: Explained) -> list[PageFeature]:
    """Return the features that the model uses."""
    player_of_column = view.groups.of_column[view.grid.features]
    features = []
    for player in np.unique(player_of_column).tolist():
        columns = np.flatnonzero(player_of_column == player)
        name = view.groups.names[player]
        axis = None
        if player not in view.groups.of_derived:
            axes = cells_of_player(decomposer, name)
            if len(axes) == 1 and set(axes[0].used_features.tolist()) == set(columns.tolist()):
                axis = axes[0]
                columns = axis.used_features
        bins = np.empty((len(columns), 0), np.int64) if axis is None else axis.bins.astype(np.int64)
        shown = view.shown_name(name) if axis is None else axis.feature
        feature = PageFeature(player, shown, columns, axis, bins)
        feature.unseen = _unseen(feature, view)
        features.append(feature)
    return features


def can_edit_all(decomposer: Any) -> bool:
    """Return whether each feature of a decomposer has one axis, along which a page can change it."""
    return all(feature.axis is not None for feature in page_features(decomposer, explained(decomposer)))


def describe_feature(
    feature: PageFeature, view: Explained, rows: Rows | None, shares: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the facts of one feature.

    Parameters
    ----------
    feature : PageFeature
    view : Explained
    rows : Rows, or None
        All rows that the report is made of. None: there are none.
    shares : ndarray of shape (n_cells,)
        Share of the background in every cell, for a feature without an axis.
    """
    axis = feature.axis
    facts: dict[str, Any] = {"name": feature.name, "nCells": feature.bins.shape[1], "hasMissing": False}
    if axis is None:
        labels = [f"combination {i + 1}" for i in range(feature.bins.shape[1])]
        return facts | {
            "kind": "combination",
            "editable": False,
            "labels": labels,
            "missing": None,
            "background": shares.tolist(),
        }
    has_missing = axis.missing < axis.n_cells
    extra = feature.bins.shape[1] - axis.n_cells
    facts |= {
        "editable": True,
        "hasMissing": has_missing and view.source.input.finite is not True,
        "missing": axis.missing if has_missing else None,
        "missingLabel": axis.missing_label,
        "nOnAxis": axis.n_cells,
        "background": [*axis.shares.tolist(), *[0.0] * extra],
    }
    if axis.labels is not None:
        labels = [*axis.labels, *([axis.missing_label] if has_missing else [])]
        labels += [
            "other" if axis.n_cells + i == feature.unseen else f"another value {i + 1}" for i in range(extra)
        ]
        # A cell that no value can be in is no choice: "other" where the model refuses other values.
        unused = np.zeros(len(labels), dtype=bool)
        unused[: axis.n_cells] = (axis.shares == 0) & (np.array(labels[: axis.n_cells]) == "other")
        unused[axis.missing : axis.n_cells] = not facts["hasMissing"]
        cells = None if rows is None else axis.find(rows)
        typical = (
            int(np.argmax(axis.shares)) if cells is None else int(np.bincount(cells[cells >= 0]).argmax())
        )
        return facts | {
            "kind": "category",
            "labels": labels,
            "unseen": feature.unseen,
            "choices": [c for c in range(feature.bins.shape[1]) if c == feature.unseen or not unused[c]],
            "typical": labels[typical],
        }
    return facts | {"kind": "number", "edges": _finite(axis.edges)} | _numbers(axis, feature, view, rows)


def _unseen(feature: PageFeature, view: Explained) -> int | None:
    """Return the cell of categories that the model does not know; add one if it is needed.

    A column after a preprocessing gets what the preprocessing makes of such a value, if it takes it.
    """
    axis = feature.axis
    if axis is None or axis.labels is None:
        return None
    origin = view.origin_of(view.grid.features[feature.columns].tolist())
    if view.fitted.preprocess is not None:
        positions = (
            [o.position for o in view.fitted.raw.origins if o.name == feature.name] if origin is None else []
        )
        return _cell_of_unknown(
            feature, view, positions[0] if positions else origin.position if origin else None
        )
    spec, column = view.source.input, int(view.grid.features[feature.columns[0]])
    if len(feature.columns) > 1 or axis.labels[-1] != "other":
        return None
    if spec.unknown_is_missing and column in spec.categories:
        return axis.missing
    known = column in spec.categories and column not in spec.encoders and not spec.by_value
    return None if known else len(axis.labels) - 1


def _cell_of_unknown(feature: PageFeature, view: Explained, position: int | None) -> int | None:
    """Return the cell of a raw value that the preprocessing was not fitted on; None if it refuses the value."""
    row = view.fitted.row
    if position is None or not (
        hasattr(row, "iloc") or getattr(getattr(row, "dtype", None), "kind", "") == "O"
    ):
        return None
    row = row.copy()
    unknown = np.array([_UNKNOWN], dtype=object)
    if hasattr(row, "iloc"):
        row.isetitem(position, unknown)
    else:
        row[:, position] = unknown
    try:
        bins = view.fitted.bins(view.fitted.to_model_space(row), view.execution)
    except (ValueError, TypeError, KeyError):
        return None
    return int(feature.cells_of(bins[feature.columns])[0])


def _numbers(axis: AxisCells, feature: PageFeature, view: Explained, rows: Rows | None) -> dict[str, Any]:
    """Return the facts of the numbers of a feature."""
    spec, column = view.source.input, int(view.grid.features[feature.columns[0]])
    in_units_of_model = len(feature.columns) == 1 and feature.name == view.feature_names[column]
    facts: dict[str, Any] = {
        "missingValue": _number(spec.missing) if in_units_of_model else None,
        "zeroIsMissing": in_units_of_model and (view.fitted.zero_is_missing or column in spec.missing_zeros),
        "asFloat32": bool(view.grid.as_float32),
        "step": None,
        "quantiles": [],
        "typical": None,
    }
    numbers = np.empty(0)
    if rows is not None and axis.numbers is not None:
        numbers = np.where(axis.find(rows) == axis.missing, np.nan, axis.numbers(rows))
        numbers = np.sort(numbers[np.isfinite(numbers)])
    if len(numbers) > 2 * FEWEST_ROWS:
        facts["step"] = 1 if bool((numbers == np.round(numbers)).all()) else None
        facts["quantiles"] = _rounded_quantiles(numbers, facts["step"])
        facts["typical"] = facts["quantiles"][10]
    ends = [*facts["quantiles"], *(e for e in _edges(axis) if abs(e) < 1e100)]
    facts["min"], facts["max"] = (min(ends), max(ends)) if ends else (0.0, 1.0)
    if facts["typical"] is None:
        facts["typical"] = ends[len(ends) // 2] if ends else 0.0
    return facts


def _rounded_quantiles(numbers: NDArray[np.float64], step: int | None) -> list[float]:
    """Return 21 quantiles of sorted numbers that tell no number of a single row.

    The ends are the fifth number of each side, and the quantiles are rounded to whole numbers or to a thousandth of the
    range.
    """
    inner = numbers[FEWEST_ROWS - 1 : 1 - FEWEST_ROWS]
    quantiles = np.quantile(inner, np.linspace(0, 1, 21))
    digits = 0
    if step is None and inner[-1] > inner[0]:
        digits = 3 - int(np.floor(np.log10(inner[-1] - inner[0])))
    return [float(round(value, digits)) for value in quantiles.tolist()]


def _edges(axis: AxisCells) -> list[float]:
    """Return the edges of an axis of numbers."""
    return [] if axis.edges is None else np.asarray(axis.edges, np.float64).tolist()


def _number(value: float) -> float | None:
    """Return a number for JSON, None for NaN."""
    return None if np.isnan(value) else float(value)


def _finite(edges: Any) -> list[Any]:
    """Return edges for JSON, in which an infinite number is a text."""
    return [edge if np.isfinite(edge) else str(edge) for edge in np.asarray(edges, np.float64).tolist()]
