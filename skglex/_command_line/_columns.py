"""Find the columns of a table that a model takes, and turn text into the model's categories."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._command_line._terminal import Mistake
from skglex._input import frame_names, is_categorical
from skglex._readers import SourceModel, require_reader, steps_of
from skglex._utils import similar_names, suggest


@dataclass(frozen=True)
class ModelColumns:
    """Hold what a model says about its columns.

    Attributes
    ----------
    source : SourceModel
        The model read into leaves.
    n : int, or None
        The number of columns, if it is known.
    names : list of str, or None
        Their names, if the model stores them.
    raw : bool
        Whether the model begins with a preprocessing, which takes text.
    spaces_become : str
        What a space in a name of the table is in a name of the model.
    categories : mapping of int to ndarray or None
        For each column of categories at a known position, the categories; None if the model does not store them.
    in_order : list of ndarray
        The categories of columns whose positions the model does not store, in the order of the columns.
    split_by_category : frozenset of int
        Columns whose splits are sets of categories.
    """

    source: SourceModel
    n: int | None
    names: list[str] | None
    raw: bool
    spaces_become: str = " "
    categories: Mapping[int, NDArray[Any] | None] = field(default_factory=dict)
    in_order: list[NDArray[Any]] = field(default_factory=list)
    split_by_category: frozenset[int] = frozenset()


def columns_of(model: Any) -> ModelColumns:
    """Return what a model, or a pipeline, says about its columns."""
    steps = steps_of(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Fitting an estimator repeats those that matter.
        source = require_reader(steps[-1])(steps[-1])
    first = next((part for part in (model, steps[0]) if hasattr(part, "n_features_in_")), model)
    names = getattr(first, "feature_names_in_", None)
    names = None if names is None else list(map(str, names))
    if len(steps) > 1:
        n = getattr(first, "n_features_in_", None)
        return ModelColumns(source, n, names, raw=True)
    spec, grid = source.input, source.ensemble.grid
    return ModelColumns(
        source,
        n=spec.n_features,
        names=spec.feature_names or names,
        raw=False,
        spaces_become=spec.spaces_become,
        categories={**spec.categories, **dict.fromkeys(spec.encoders)},
        in_order=list(spec.frame_categories or []),
        split_by_category=frozenset(grid.features[np.flatnonzero(grid.categorical)].tolist()),
    )


def choose_columns(
    model: ModelColumns,
    table: Sequence[str],
    path: Path,
    *,
    others: Collection[str],
    may_lack: Collection[str] = (),
) -> list[str]:
    """Return the names of the table's columns that the model takes, in its order.

    Parameters
    ----------
    model : ModelColumns
    table : sequence of str
        The names of the table's columns.
    path : Path
        The file of the table, for errors.
    others : collection of str
        Columns that are no features: the target, weights, columns to leave out.
    may_lack : collection of str, default=()
        Columns of the model that the table may lack.
    """
    if model.names is None:
        left = [name for name in table if name not in others]
        if model.n is not None and len(left) != model.n:
            raise Mistake(
                f"the model takes {model.n} columns and stores no names, but {path} has {len(left)} columns besides "
                f"those that are named as something else: {_listed(left)}. Name those that are no features with --drop"
            )
        return left
    of_name = {name.replace(" ", model.spaces_become): name for name in table}
    if len(of_name) < len(table):
        of_name |= {name: name for name in table}
    wanted = {name: of_name.get(name.replace(" ", model.spaces_become)) for name in model.names}
    missing = [name for name, found in wanted.items() if found is None and name not in may_lack]
    if missing:
        free = [name for name in table if name not in wanted.values()]
        close = next(((name, near[0]) for name in missing if (near := similar_names(name, free, 1))), None)
        raise Mistake(
            f"{path} lacks {_listed(missing)}, which the model was trained on. It has the columns {_listed(table)}"
            + (f". Is {close[1]!r} the model's {close[0]!r}? Then rename it" if close else "")
        )
    return [found for found in wanted.values() if found is not None]


def require_columns(names: Collection[str], table: Sequence[str], path: Path, option: str) -> None:
    """Raise a Mistake if a table lacks a column that an option names."""
    for name in names:
        if name not in table:
            raise Mistake(
                f"{option} names {name!r}, but {path} has no such column. {suggest(name, table, 'columns')}"
            )


def positions_of_categories(
    model: ModelColumns, names: Sequence[str], text: Collection[str], categorical: Collection[str], path: Path
) -> dict[str, NDArray[Any] | None]:
    """Return the columns that must be categories, and which categories the model stores for them.

    Parameters
    ----------
    model : ModelColumns
    names : sequence of str
        The columns of the table that the model takes, in its order.
    text : collection of str
        Those that hold text or categories.
    categorical : collection of str
        Those that the user says are categories.
    path : Path
        The file of the table, for errors.
    """
    position = {name.replace(" ", model.spaces_become): i for i, name in enumerate(model.names or names)}
    at = {name: position.get(name.replace(" ", model.spaces_become), -1) for name in names}
    found = {name: model.categories[i] for name, i in at.items() if i in model.categories}
    if model.in_order:
        chosen = _in_order(model, at, text, categorical, path)
        return dict(zip(chosen, model.in_order))
    return found


def _in_order(
    model: ModelColumns, at: dict[str, int], text: Collection[str], categorical: Collection[str], path: Path
) -> list[str]:
    """Return the columns whose categories a model stores in the order of the columns only."""
    split = {name for name, i in at.items() if i in model.split_by_category}
    for candidates in (set(categorical), set(text), set(text) | split):
        if len(candidates & set(at)) == len(model.in_order):
            return [name for name in at if name in candidates]
    described = "; ".join(_listed([str(value) for value in values[:4]]) for values in model.in_order)
    found = _listed([name for name in at if name in text]) or "no column"
    raise Mistake(
        f"the model was trained on {len(model.in_order)} categorical columns ({described}), and does not say which "
        f"they are. In {path}, {found} holds text. Name all categorical columns with --categorical"
    )


def to_categories(
    frame: Any, wanted: Mapping[str, NDArray[Any] | None], model: ModelColumns, model_path: Path
) -> Any:
    """Return a table whose columns are of the types that the model takes: categories where it has categories.

    A value becomes the model's category of the same text, or the same number. Other values become categories of their
    own, so that the model treats them as it does unseen categories.
    """
    frame = frame.copy(deep=False)
    for name, categories in wanted.items():
        column = frame[name]
        if categories is None or is_categorical(column.dtype):
            continue
        frame[name] = _as_categories(column, categories)
    if model.raw:
        return frame
    stored = {
        name.replace(" ", model.spaces_become): i for i, name in enumerate(model.names or frame_names(frame))
    }
    for name in frame.columns:
        if name in wanted or not is_text(frame[name].dtype):
            continue
        texts = [value for value in frame[name] if isinstance(value, str)]
        first = next((value for value in texts if not _is_number(value)), texts[0] if texts else "")
        if stored.get(name.replace(" ", model.spaces_become)) in model.split_by_category:
            raise Mistake(
                f"the column {name!r} holds text ({first!r}), and {model_path} does not hold the names of its "
                "categories, only their numbers. Store the table as Parquet, with the categorical column of the "
                "training data"
            )
        raise Mistake(
            f"the column {name!r} holds text ({first!r}), but the model takes numbers there. Replace the text, or "
            "write missing values as empty fields"
        )
    return frame


def _as_categories(column: Any, categories: NDArray[Any]) -> Any:
    """Return a column as pandas categories, those of the model and others that occur."""
    import pandas as pd

    known = {_key(value): value for value in categories.tolist()}
    values = [None if missing else value for value, missing in zip(column.tolist(), column.isna())]
    found = [None if value is None else known.get(_key(value), value) for value in values]
    others = sorted({value for value in found if value is not None} - set(known.values()), key=str)
    kind = object if others else None
    # Codes follow the model's order, which XGBoost before 3.1 relies on.
    return pd.Series(
        pd.Categorical(found, categories=pd.Index([*known.values(), *others], dtype=kind)), index=column.index
    )


def _key(value: Any) -> Any:
    """Return what equal categories have in common: the text "1" and the numbers 1 and 1.0 are equal."""
    if isinstance(value, str):
        try:
            return float(value) if value.strip() == value else value
        except ValueError:
            return value
    return (
        str(value)
        if isinstance(value, bool)
        else float(value)
        if isinstance(value, int | float)
        else str(value)
    )


def _is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_text(dtype: Any) -> bool:
    """Return whether a pandas column of this type may hold text."""
    return (dtype.kind == "O" and not is_categorical(dtype)) or str(dtype).startswith("str")


def _listed(names: Collection[str], most: int = 12) -> str:
    """Return names in quotes, the first of them if they are many."""
    shown = [repr(name) for name in list(names)[:most]]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")
