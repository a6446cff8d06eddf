"""Trace the model's columns back to the raw columns that the preprocessing computes them from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skglex._input._categories import categories_and_codes, column_values, raw_column
from skglex._input._feature_names import FeatureGroups
from skglex._input._raw_columns import RawColumns
from skglex._input._rows import frame_names, is_frame, take_rows
from skglex._input._spec import InputSpec
from skglex._leaves import BackgroundLike, Grid
from skglex._utils import PlainState, budgets


@dataclass(frozen=True)
class Origin(PlainState):
    """Describe a raw column, and the model's columns that the preprocessing computes from it alone.

    Attributes
    ----------
    name : str
        Name of the raw column.
    position : int
        Position of the raw column.
    outputs : tuple of int
        Positions of the model's columns.
    numeric : bool
        Whether the raw column holds numbers.
    limits : tuple of two floats
        Least and largest number in the background, if the column is numeric.
    values : ndarray of shape (n_values,), object
        Distinct values in the background, sorted, without missing values. If there are too many, they are a selection
        of a numeric column, and empty otherwise.
    bins : ndarray of shape (n_used_outputs, n_values + 1)
        The bins of the outputs that the model splits on, for every value; the last column is for missing values.
    shares : ndarray of shape (n_values + 1,)
        Share of the background with each value; the last is for missing values.
    """

    name: str
    position: int
    outputs: tuple[int, ...]
    numeric: bool
    limits: tuple[float, float] = (0.0, 0.0)
    values: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, object))
    bins: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 1), np.int64))
    shares: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))

    def number_values(self, column: Any) -> NDArray[np.int64]:
        """Return the positions of a column's values among ``values``: -1 if it is not there, n_values if missing."""
        values, codes = distinct_values(column)
        position = {value: i for i, value in enumerate(self.values.tolist())}
        found = [position.get(value, -1) for value in values]
        return np.array([*found, len(position)], dtype=np.int64)[codes]


@dataclass(frozen=True)
class RawMap(PlainState):
    """Say which of the model's columns depend on which raw columns.

    Attributes
    ----------
    names : list of str
        Names of the raw columns. Empty if there is no preprocessing.
    outputs : list of tuple of int
        For each raw column, the positions of the model's columns that change with it.
    origins : list of Origin
        The raw columns from which columns of the model are computed alone. Without preprocessing, these are the
        model's categorical columns.
    """

    names: list[str] = field(default_factory=list)
    outputs: list[tuple[int, ...]] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)

    def by_name(self) -> Mapping[str, tuple[int, ...]]:
        """Return the model's columns that change with a raw column, by the name of the raw column."""
        return dict(zip(self.names, self.outputs))

    def groups(
        self,
        model_names: list[str],
        derived: tuple[tuple[int, ...], ...] = (),
        *,
        by_raw_column: bool = False,
    ) -> dict[str, list[int]]:
        """Return the groups of columns that share a raw column, or one split, directly or through other columns.

        A group has the name of its raw column, or the names of its members if several raw columns are mixed in it. A
        column that keeps the name of its raw column needs no group.

        Parameters
        ----------
        model_names : list of str
            Names of the model's columns.
        derived : tuple of tuple of int
            The columns that the model combines for one split.
        by_raw_column : bool, default=False
            Name a group with several raw columns by these, not by its members.
        """
        joined: list[tuple[list[str], set[int]]] = []
        relations = [([name], outputs) for name, outputs in zip(self.names, self.outputs)]
        for names, outputs in [*relations, *(([], columns) for columns in derived)]:
            members = set(outputs)
            apart = []
            for other in joined:
                if members & other[1]:
                    names, members = other[0] + names, members | other[1]
                else:
                    apart.append(other)
            joined = [*apart, (names, members)] if members else apart
        groups = {}
        for names, found in joined:
            ordered = sorted(found)
            name = names[0] if len(names) == 1 else "+".join(model_names[i] for i in ordered)
            name = "+".join(names) if by_raw_column and names else name
            if [name] != [model_names[i] for i in ordered]:
                groups[name] = ordered
        return groups


def distinct_values(column: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the distinct values of a column, sorted if they can be, and the position of every row's value among them.

    Missing values have the position -1.
    """
    values, codes = categories_and_codes(column)
    if codes is None:
        array = np.asarray(column)
        if array.dtype.kind in "iufb":
            unique, codes = np.unique(array, return_inverse=True)
            codes = np.where(array == array, codes, -1)
            values = [value for value in unique.tolist() if value == value]
        else:
            first: dict[Any, int] = {}
            items = column.tolist() if hasattr(column, "tolist") else column.to_list()
            codes = np.array([-1 if _is_missing(v) else first.setdefault(v, len(first)) for v in items])
            values = list(first)
            order = sorted(range(len(values)), key=lambda i: (str(type(values[i])), values[i]))
            codes = np.append(np.argsort(order), -1)[codes] if values else codes
            values = [values[i] for i in order]
    return values, codes.astype(np.int64)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def find_outputs_of_all(X: Any, transform: Callable[[Any], Any], background: BackgroundLike) -> RawMap:
    """Find the model's columns that change when each raw column is permuted on the rows X of the background."""
    source = RawColumns(X, transform, background)
    names = frame_names(X) if is_frame(X) else [f"x{i}" for i in range(X.shape[1])]
    outputs = [tuple(sorted(source.outputs_of([position]))) for position in range(len(names))]
    return RawMap(names, outputs, [])


def trace_columns(
    X: Any,
    Xt: Any,
    transform: Callable[[Any], Any] | None,
    spec: InputSpec,
    grid: Grid,
    background: Any,
) -> RawMap:
    """Trace the model's columns back to raw columns, and list the values of raw columns that are not numbers.

    Parameters
    ----------
    X, Xt : array, sparse matrix or data frame
        The background before and after the preprocessing.
    transform : callable, or None
        The preprocessing.
    spec : InputSpec
        How the model reads its columns.
    grid : Grid
    background : Background
        The binned rows.
    """
    if transform is None:
        raw = RawMap()
        positions = [int(feature) for feature in grid.features[grid.categorical]]
        parents = {position: [position] for position in positions}
        names = frame_names(X) if is_frame(X) else [f"x{i}" for i in range(X.shape[1])]
    elif X.shape[1] > budgets.traced_columns:
        return RawMap()
    else:
        sample = _varied_rows(Xt)
        raw = find_outputs_of_all(take_rows(X, sample), transform, background)
        counts = np.bincount([i for outputs in raw.outputs for i in outputs], minlength=Xt.shape[1])
        parents = {
            position: [i for i in outputs if counts[i] == 1] for position, outputs in enumerate(raw.outputs)
        }
        names = raw.names
    origins = []
    for position, outputs in parents.items():
        if outputs:
            origin = Origin(names[position], position, tuple(outputs), False)
            origins.append(_list_values(origin, X, None if transform else spec, grid, background))
    return RawMap(raw.names, raw.outputs, origins)


def _list_values(origin: Origin, X: Any, spec: InputSpec | None, grid: Grid, background: Any) -> Origin:
    """Add the values of a raw column; ``spec`` names the codes of categories if there is no preprocessing."""
    column = raw_column(X, origin.position)
    categories = None
    if spec is not None and not (is_frame(X) or spec.by_value or origin.position in spec.encoders):
        categories = spec.categories.get(origin.position)
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    numeric = (
        spec is None and categories_and_codes(column)[1] is None and (kind in "iufb" or _is_number(column))
    )
    limits = (0.0, 0.0)
    if numeric:
        column = column_values(X, origin.position, InputSpec(X.shape[1]))
        finite = column[np.isfinite(column)]
        limits = (float(finite.min()), float(finite.max())) if len(finite) else limits
    values, codes = distinct_values(column)
    occurring, first = np.unique(codes, return_index=True)
    kept = occurring[occurring >= 0]
    if len(kept) > budgets.named_values:
        if not numeric:
            return origin
        kept = kept[np.linspace(0, len(kept) - 1, budgets.named_values).astype(int)]
    # If no value is missing, the bins of missing values come from any row, and have no weight.
    rows = first[np.append(np.searchsorted(occurring, kept), 0)]
    # A value that is not kept counts to the next lower one.
    codes = np.where(codes < 0, len(kept), np.searchsorted(kept, codes, side="right") - 1)
    used = np.flatnonzero(np.isin(grid.features, origin.outputs))
    named = np.empty(len(kept), object)
    for i, code in enumerate(kept.tolist()):
        # The values of CatBoost's categories may be texts.
        is_number = not isinstance(values[code], str)
        is_code = categories is not None and is_number and 0 <= values[code] < len(categories)
        named[i] = categories[int(values[code])] if categories is not None and is_code else values[code]
    return replace(
        origin,
        numeric=numeric,
        limits=limits,
        values=named,
        bins=np.asarray(background.bins[used][:, rows], dtype=np.int64),
        shares=np.bincount(codes, background.weight, len(kept) + 1) / background.total,
    )


def _is_number(column: Any) -> bool:
    """Return whether a column of a data frame holds numbers in one of the frame's own dtypes."""
    dtype: Any = getattr(column, "dtype", None)
    return bool(getattr(dtype, "_is_numeric", False) or (hasattr(dtype, "is_numeric") and dtype.is_numeric()))


def find_one_hot_groups(Xt: Any, spec: InputSpec, groups: FeatureGroups) -> tuple[str, ...]:
    """Return the groups whose columns are zeros and ones in all rows, with at most one 1 in a row."""
    found = []
    for group in groups.members:
        columns = groups.columns_of(group)
        try:
            values = [column_values(Xt, position, spec) for position in columns.tolist()]
        except ValueError:  # The group has a column that is no number and that the model does not split on.
            continue
        if len(values) > 1 and all(np.isin(column, (0, 1)).all() for column in values):
            found += [group] if (np.sum(values, axis=0) <= 1).all() else []
    return tuple(found)


def _varied_rows(Xt: Any) -> NDArray[np.int64]:
    """Return rows that are spread evenly, and for every column those with its least and its largest value."""
    n = Xt.shape[0]
    chosen = [np.linspace(0, n - 1, min(n, budgets.traced_rows)).astype(np.int64)]
    if sp.issparse(Xt):
        Xt = Xt.tocsc()
        chosen += [np.ravel(Xt.argmax(axis=0)), np.ravel(Xt.argmin(axis=0))]
    else:
        for position in range(Xt.shape[1]):
            column = np.asarray(raw_column(Xt, position))
            if column.dtype.kind in "iufb":
                chosen.append(np.array([column.argmax(), column.argmin()]))
    return np.unique(np.concatenate(chosen))
