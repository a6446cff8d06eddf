"""Bring a model file and the rows of a table together."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb
from sklearn.pipeline import make_pipeline

from skglex._command_line._columns import (
    ModelColumns,
    choose_columns,
    columns_of,
    is_text,
    positions_of_categories,
    require_columns,
    to_categories,
)
from skglex._command_line._model_files import load_model
from skglex._command_line._tables import read_table
from skglex._command_line._terminal import Mistake, Progress
from skglex._readers import steps_of, trees_used_by_predict

# Rows that the preprocessing of a model is tried on.
_TRIED_ROWS = 20


@dataclass(frozen=True)
class LoadedModel:
    """Hold a model of a file.

    Attributes
    ----------
    path : Path
    model : object
        The model, as the estimators take it.
    columns : ModelColumns
    missing : float
        The value that was missing in training, for the estimators; NaN where the model stores it.
    """

    path: Path
    model: Any
    columns: ModelColumns
    missing: float


@dataclass(frozen=True)
class Rows:
    """Hold rows of a table.

    Attributes
    ----------
    path : Path
    frame : pandas.DataFrame
        All columns.
    X : pandas.DataFrame
        The columns that the model takes.
    """

    path: Path
    frame: Any
    X: Any


def read_model(path: Path, args: Namespace, say: Progress) -> LoadedModel:
    """Load a model file, and find out which columns the model takes."""
    say(f"loading {path}")
    model = load_model(path, trust=args.trust, missing=args.missing)
    if type(model).__module__.startswith("skglex") and hasattr(model, "estimator_"):
        say(f"the file holds a {type(model).__name__}; its model is used")
        model = model.estimator_
    try:
        columns = columns_of(model)
    except (TypeError, ValueError) as error:
        raise Mistake(f"{path}: {error}") from error
    missing = np.nan
    if args.missing is not None:
        if isinstance(model, xgb.Booster):
            missing = args.missing
        elif not isinstance(model, xgb.XGBModel):
            raise Mistake(
                "--missing is for models of XGBoost, whose files do not store it. Leave it out: this is a model of "
                f"{type(model).__module__.partition('.')[0]}"
            )
    return LoadedModel(path, model, columns, missing)


def as_one_kind(first: LoadedModel, second: LoadedModel) -> tuple[LoadedModel, LoadedModel]:
    """Return two models to compare; if only one has classes, an XGBoost classifier counts as its booster.

    Files of LightGBM, and of boosters, do not say that the model is a classifier.
    """
    if hasattr(first.model, "classes_") == hasattr(second.model, "classes_"):
        return first, second

    def without_classes(loaded: LoadedModel) -> LoadedModel:
        if not isinstance(loaded.model, xgb.XGBClassifier):
            return loaded
        booster = trees_used_by_predict(loaded.model)
        return replace(loaded, model=booster, columns=columns_of(booster), missing=loaded.model.missing)

    return without_classes(first), without_classes(second)


def read_rows(
    path: Path, loaded: LoadedModel, args: Namespace, say: Progress, *, may_lack: Collection[str] = ()
) -> Rows:
    """Read a table, and choose the columns that the model takes."""
    say(f"reading {path}")
    columns, chosen = loaded.columns, list[str]()
    roles = {
        f"--{role}": value for role in ("target", "weights", "groups") if (value := getattr(args, role, None))
    }
    others = {*roles.values(), *args.drop, *getattr(args, "keep", [])}
    if columns.names is not None:
        # A column that the model takes is a feature, whatever else it is used for.
        others -= set(columns.names)

    def find_categories(names: Sequence[str], text: set[str]) -> dict[str, Any]:
        for option, name in roles.items():
            require_columns([name], names, path, option)
        require_columns(args.drop, names, path, "--drop")
        chosen.extend(choose_columns(columns, names, path, others=others, may_lack=may_lack))
        require_columns(args.categorical, chosen, path, "--categorical")
        return positions_of_categories(columns, chosen, text, args.categorical, path)

    frame, categories = read_table(path, find_categories)
    if not len(frame):
        raise Mistake(f"{path} has no rows")
    X = to_categories(frame[chosen], categories, columns, loaded.path)
    if columns.raw and not may_lack:
        _check_preprocessing(loaded, X, path)
    return Rows(path, frame, X)


def _check_preprocessing(loaded: LoadedModel, X: Any, path: Path) -> None:
    """Raise a Mistake if the preprocessing of the model does not take the first rows."""
    *steps, _ = steps_of(loaded.model)
    try:
        make_pipeline(*steps).transform(X.iloc[:_TRIED_ROWS])
    except Exception as error:
        raise Mistake(
            f"the preprocessing of {loaded.path} does not take the rows of {path}: {error}. The columns must have the "
            "types of the training data, which Parquet keeps and CSV does not"
        ) from error


def draw(rows: Rows, n: int | None, seed: int, say: Progress) -> Rows:
    """Return n rows drawn at random, in their order; all rows if there are no more."""
    if n is None or n >= len(rows.frame):
        return rows
    say(f"drawing {n:,} of {len(rows.frame):,} rows")
    positions = np.sort(np.random.default_rng(seed).choice(len(rows.frame), n, replace=False))
    return Rows(rows.path, rows.frame.iloc[positions], rows.X.iloc[positions])


def column_of(rows: Rows, name: str | None) -> Any:
    """Return a column that an option names; None if it names none."""
    return None if name is None else rows.frame[name]


def weights_of(rows: Rows, args: Namespace) -> Any:
    """Return the weights of rows, or None."""
    weights = column_of(rows, args.weights)
    if weights is not None and is_text(weights.dtype):
        raise Mistake(f"--weights names {args.weights!r}, which holds no numbers, in {rows.path}")
    return weights


def target_of(
    rows: Rows, loaded: LoadedModel, name: str | None, say: Progress
) -> tuple[Any, list[str] | None]:
    """Return the target, and the texts of its classes where the model only numbers them.

    These texts become the numbers, in alphabetical order.
    """
    target = column_of(rows, name)
    if target is None or not is_text(target.dtype):
        return target, None
    response = loaded.columns.source.response
    classes = getattr(loaded.model, "classes_", range(response.n_classes or 2))
    if np.asarray(classes).dtype.kind not in "biuf":
        return target, None
    found = sorted(target.astype(str).unique())
    if len(found) != len(classes):
        return target, None
    pairs = ", ".join(f"{text!r} as {number}" for text, number in zip(found, classes))
    say(f"the model numbers its classes: {name} takes {pairs}")
    return target.astype(str).map(dict(zip(found, classes))), None if response.n_classes is None else found
