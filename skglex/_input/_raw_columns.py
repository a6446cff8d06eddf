"""Find the model's features to remove: features that a user names, and features computed from raw columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._input._feature_names import list_features, resolve_features
from skglex._input._rows import as_dense, is_frame, take_rows, with_columns_of
from skglex._leaves import BackgroundLike
from skglex._utils import budgets, suggest, warn_user
from skglex.exceptions import MixedColumnsWarning


def expand_groups(features: Any, groups: Mapping[str, Any], names: list[str], X: Any) -> list[Any]:
    """Return a user's choice of features as a list of names and positions; each group is replaced by its members."""
    items: list[Any] = []
    for item in list_features(features, names, X=X):
        grouped = isinstance(item, str) and item in groups
        items += list_features(groups[item], names) if grouped else [item]
    if not items:
        raise ValueError(f"features is empty: got {features!r}. Name at least one feature to remove")
    return items


def find_outputs(
    items: list[Any], raw_names: list[str], model_names: list[str], source: RawColumns
) -> tuple[set[int], list[int]]:
    """Find the columns after the preprocessing that are removed together with the named columns.

    Parameters
    ----------
    items : list of str and int
        Raw columns (names or positions) and columns after the preprocessing (names). A name that both have is the raw
        column.
    raw_names : list of str
        Names of the raw columns.
    model_names : list of str
        Names of the columns after the preprocessing.
    source : RawColumns
        The preprocessing with the background.

    Returns
    -------
    removed : set of int
        Positions of the removed columns after the preprocessing.
    raw : list of int
        Positions of the raw columns of which every output is removed, in order.
    """
    removed: set[int] = set()
    raw: set[int] = set()
    raw_outputs: set[int] = set()
    names_output = False
    for item in items:
        if isinstance(item, str) and item not in raw_names:
            if item not in model_names:
                known = [*raw_names, *(name for name in model_names if name not in raw_names)]
                kind = "raw columns, and those after the preprocessing,"
                raise ValueError(
                    f"features contains the unknown feature {item!r}. {suggest(item, known, kind)}"
                )
            names_output = True
            removed.update(resolve_features(item, model_names))
            continue
        (position,) = resolve_features([item], raw_names)
        raw.add(position)
        outputs = source.outputs_of([position])
        if not outputs:
            warn_user(
                f"permuting the column {raw_names[position]!r} on the background changes nothing after the "
                "preprocessing, so there is nothing to remove. If the column has a single value there, pass a "
                "background in which it varies, or name columns after the preprocessing"
            )
        raw_outputs |= outputs
    others = [position for position in range(len(raw_names)) if position not in raw]
    if raw_outputs and others and (mixed := (raw_outputs - removed) & source.outputs_of(others)):
        warn_user(
            f"the columns {[model_names[i] for i in sorted(mixed)][:20]} after the preprocessing are computed from "
            f"{[raw_names[i] for i in sorted(raw)][:20]} and also from other raw columns (permuting those on the "
            "background changes them). They are removed, with the information on the other columns. Use a "
            "preprocessing that keeps the columns apart, or name columns after the preprocessing",
            MixedColumnsWarning,
        )
    removed |= raw_outputs
    if names_output:
        # A raw column is not needed at predict if all columns computed from it were removed by name.
        raw |= {position for position in others if source.outputs_of([position], within=removed)}
    return removed, sorted(raw)


@dataclass
class RawColumns:
    """Find the columns that the preprocessing computes from raw columns.

    Attributes
    ----------
    X : array, sparse matrix or data frame
        The background before the preprocessing; any row of it if the background is in Dask partitions.
    transform : callable
        The preprocessing.
    background : BackgroundLike
        The binned background.
    """

    X: Any
    transform: Callable[[Any], Any]
    background: BackgroundLike

    def outputs_of(self, positions: list[int], within: set[int] | None = None) -> set[int]:
        """Return the columns after the preprocessing that change when raw columns are permuted on the background.

        The set is empty if one of them is not in ``within``.
        """
        compare = partial(_changed_columns, self.transform, positions, within)
        changed = set(np.flatnonzero(self.background.changed_columns(compare, self.X)).tolist())
        return changed if within is None or within.issuperset(changed) else set()


def _changed_columns(
    transform: Callable[[Any], Any], positions: list[int], within: set[int] | None, X: Any, more_rows: Any
) -> NDArray[np.bool_]:
    """Return which columns after the preprocessing change when X has permuted values in some columns.

    Values also come from ``more_rows``: a column has a single value in each partition if the data is partitioned by it.
    Batches of the same rows are transformed both times: matrix products may round differently for another batch size.
    """
    n_rows = X.shape[0]
    donors = [(X, np.random.default_rng(seed).permutation(n_rows)) for seed in range(3)]
    if more_rows is not None:
        donors.append((more_rows, np.resize(np.arange(more_rows.shape[0]), n_rows)))
    changed: NDArray[np.bool_] = np.zeros(1, dtype=bool)
    for start in range(0, n_rows, budgets.permuted_rows):
        part = slice(start, start + budgets.permuted_rows)
        batch = take_rows(X, np.arange(n_rows)[part])
        before = _columns(transform(batch))
        for donor, order in donors:
            after = _columns(transform(with_columns_of(batch, positions, take_rows(donor, order[part]))))
            changed = changed | [not _same(a, b) for a, b in zip(before, after)]
            if within is not None and not within.issuperset(np.flatnonzero(changed).tolist()):
                return changed
    return changed


def _columns(X: Any) -> list[NDArray[Any]]:
    if is_frame(X):
        return [np.asarray(X.iloc[:, i] if hasattr(X, "iloc") else X[:, i]) for i in range(X.shape[1])]
    return list(as_dense(X).T)


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        return np.array_equal(a, b, equal_nan=True)
    if object in (a.dtype, b.dtype):
        return all(map(_equal, a, b))
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _equal(a: Any, b: Any) -> bool:
    # Any comparison with pandas.NA is NA, which is neither true nor false.
    return a is b or (type(a) is type(b) and bool(a == b or (a != a and b != b)))
