"""Which of the model's features are removed: those that a user names, and those that come of raw columns."""

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
from skglex._utils import budgets, warn_user
from skglex.exceptions import MixedColumnsWarning


def expand_groups(features: Any, groups: Mapping[str, Any], names: list[str], X: Any) -> list[Any]:
    """The features that a user named, one by one, groups by their members."""
    items: list[Any] = []
    for item in list_features(features, names, X=X):
        grouped = isinstance(item, str) and item in groups
        items += list_features(groups[item], names) if grouped else [item]
    if not items:
        raise ValueError(f"features is empty: name at least one feature to remove; got {features!r}")
    return items


def find_outputs(
    items: list[Any], raw_names: list[str], model_names: list[str], source: RawColumns
) -> tuple[set[int], list[int]]:
    """Positions after the preprocessing of named columns, raw or not, and the raw columns that go entirely."""
    removed: set[int] = set()
    raw: set[int] = set()
    of_raw: set[int] = set()
    encoded = False
    for item in items:
        if isinstance(item, str) and item not in raw_names:
            if item not in model_names:
                raise ValueError(
                    f"features names the unknown feature {item!r}; known are the raw columns {raw_names[:20]} and, "
                    f"after the preprocessing, {model_names[:20]}"
                )
            encoded = True
            removed.update(resolve_features(item, model_names))
            continue
        position = resolve_features(item, raw_names)[0]
        raw.add(position)
        outputs = source.outputs_of([position])
        if not outputs:
            warn_user(
                f"the column {raw_names[position]!r} changes nothing after the preprocessing where it is permuted on "
                "the background, so there is nothing to remove. If it has one value there, pass a background where "
                "it varies, or name columns after the preprocessing"
            )
        of_raw |= outputs
    others = [position for position in range(len(raw_names)) if position not in raw]
    if of_raw and others and (mixed := (of_raw - removed) & source.outputs_of(others)):
        warn_user(
            f"after the preprocessing the columns {[model_names[i] for i in sorted(mixed)][:20]} are made of others "
            f"than {[raw_names[i] for i in sorted(raw)][:20]} too (where rows of the background are permuted), and are "
            "removed with all that they say of these. Use a preprocessing that keeps columns apart, or name columns "
            "after it",
            MixedColumnsWarning,
        )
    removed |= of_raw
    if encoded:  # all that comes of a raw column may have been named: it is not needed then
        raw |= {position for position in others if source.outputs_of([position], within=removed)}
    return removed, sorted(raw)


@dataclass
class RawColumns:
    """Find out what the preprocessing makes of raw columns.

    Attributes
    ----------
    X : array, sparse matrix or data frame
        The background before the preprocessing; any row of it if the background is in Dask partitions.
    transform : callable
        The preprocessing.
    background : BackgroundLike
    """

    X: Any
    transform: Callable[[Any], Any]
    background: BackgroundLike

    def outputs_of(self, positions: list[int], within: set[int] | None = None) -> set[int]:
        """Return the columns after the preprocessing that change when raw columns are permuted on the background.

        The set is empty as soon as one of them is not in ``within``.
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
    return bool(((a == b) | ((a != a) & (b != b))).all())
