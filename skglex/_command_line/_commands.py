"""Do what the commands say."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._command_line._columns import require_columns
from skglex._command_line._inputs import (
    LoadedModel,
    Rows,
    as_one_kind,
    column_of,
    draw,
    read_model,
    read_rows,
    target_of,
    weights_of,
)
from skglex._command_line._model_files import is_model_file
from skglex._command_line._summary import describe_components, describe_model
from skglex._command_line._tables import TABLE_ENDINGS, check_output, table_ending, write_table
from skglex._command_line._terminal import Mistake, Progress, fits, table
from skglex._decomposer import GlexDecomposer
from skglex._decomposition import explained
from skglex._readers import tree_model
from skglex._remover import FeatureRemover
from skglex._utils import import_optional

_MODEL_ENDINGS = (".json", ".ubj", ".onnx")
# Rows of a table in the terminal.
_SHOWN_ROWS = 10


def components(args: Namespace, say: Progress) -> None:
    """Write the components of rows."""
    loaded, rows, background = _read(args, say, TABLE_ENDINGS)
    decomposer = _decompose(loaded, background, args, say)
    rows = _shown(rows, args)
    say(f"computing the components of {len(rows.frame):,} rows")
    values, names = decomposer.transform(rows.X), decomposer.get_feature_names_out().tolist()
    labels = explained(decomposer).output_labels
    columns = _with_ends(values, names, decomposer.intercept_, labels, ("intercept", "margin"))
    _write(args, say, columns, rows, n_outputs=len(labels or [None]))


def shap(args: Namespace, say: Progress) -> None:
    """Write the SHAP values of rows."""
    loaded, rows, background = _read(args, say, TABLE_ENDINGS)
    decomposer = _decompose(loaded, background, args, say)
    rows = _shown(rows, args)
    say(f"computing the SHAP values of {len(rows.frame):,} rows")
    values = decomposer.shap_values(rows.X, scale=args.scale)
    view = explained(decomposer)
    on_margin = args.scale == "margin"
    labels = view.output_labels if on_margin else view.response_labels
    features = [view.shown_name(name) for name in decomposer.explained_features_]
    names = [name if labels is None else f"{label}__{name}" for label in labels or [""] for name in features]
    if on_margin:
        base, ends = decomposer.intercept_, ("intercept", "margin")
    else:
        base = decomposer.partial_dependence([], rows.X[:1], scale="response")
        ends = ("mean", "prediction")
    by_output = np.moveaxis(values, -1, 1) if values.ndim == 3 else values
    columns = _with_ends(by_output, names, base, labels, ends)
    _write(args, say, columns, rows, n_outputs=len(labels or [None]))


def debias(args: Namespace, say: Progress) -> None:
    """Write predictions without some features, or a model without them."""
    endings = (*TABLE_ENDINGS, *_MODEL_ENDINGS)
    loaded, rows, background = _read(args, say, endings, may_lack=tuple(args.remove))
    require_columns(args.remove, list(background.X.columns), background.path, "--remove")
    say(f"removing {', '.join(args.remove)}")
    remover = FeatureRemover(
        loaded.model,
        args.remove,
        weighting=args.weighting,
        strength=args.strength,
        scale=args.scale,
        prefit=True,
        missing=loaded.missing,
        n_jobs=args.n_jobs,
        random_state=args.seed,
        verbose=say.verbose,
    ).fit(background.X, sample_weight=weights_of(background, args))
    if args.output is not None and table_ending(args.output) in _MODEL_ENDINGS:
        _write_model(remover, args.output)
        say(f"wrote {args.output}")
        return
    rows = _shown(rows, args)
    found = _predictions(remover, rows.X)
    if set(args.remove) <= set(rows.X.columns):
        remover.strength = 0.0
        found |= {f"{name}_before": values for name, values in _predictions(remover, rows.X).items()}
    _write(args, say, found, rows)


def _predictions(remover: FeatureRemover, X: Any) -> dict[str, NDArray[Any]]:
    """Return the predictions of rows: labels and probabilities of a classifier, otherwise numbers."""
    prediction = remover.predict(X)
    if not hasattr(remover, "predict_proba"):
        if prediction.ndim == 1:
            return {"prediction": prediction}
        labels = explained(remover, removers=True).response_labels or range(prediction.shape[1])
        return {f"prediction_{label}": prediction[:, i] for i, label in enumerate(labels)}
    probabilities, classes = remover.predict_proba(X), remover.classes_
    if isinstance(probabilities, list):
        raise Mistake("the model predicts several targets at once. Pass the model of one of them")
    if len(classes) == 2:
        return {"label": prediction, "probability": probabilities[:, 1]}
    return {"label": prediction, **{f"probability_{c}": probabilities[:, i] for i, c in enumerate(classes)}}


def _write_model(remover: FeatureRemover, path: Path) -> None:
    if table_ending(path) == ".onnx":
        path.write_bytes(remover.to_onnx().SerializeToString())
    else:
        model = tree_model(remover.estimator_)
        if not type(model).__module__.startswith("xgboost"):
            raise Mistake(
                f"-o {path}: only a model of XGBoost can be written as one, and this is a model of "
                f"{type(model).__module__.partition('.')[0]}. Write it as ONNX (.onnx), or write predictions"
            )
        remover.to_xgboost().save_model(path)


def summary(args: Namespace, say: Progress) -> None:
    """Print the model at a glance."""
    loaded = read_model(args.model, args, say)
    if args.data is None:
        print(describe_model(loaded))
        say("pass a table of rows too, for importances and the strength of interactions")
        return
    rows = draw(read_rows(args.data, loaded, args, say), args.sample, args.seed, say)
    decomposer = _decompose(loaded, rows, args, say)
    print(describe_model(loaded))
    print(describe_components(decomposer, args.top))


def report(args: Namespace, say: Progress) -> None:
    """Write the explorer: one HTML file."""
    from skglex._explorer import report as write_report

    check_output(args.output, (".html", ".htm"), [args.model, args.data])
    loaded, other = read_model(args.model, args, say), None
    if args.compare is not None and is_model_file(args.compare):
        loaded, other = as_one_kind(loaded, read_model(args.compare, args, say))
    rows = draw(read_rows(args.data, loaded, args, say), args.sample, args.seed, say)
    require_columns(args.remove, list(rows.X.columns), rows.path, "--remove")
    require_columns(args.keep, list(rows.frame.columns), rows.path, "--keep")
    decomposer = _decompose(loaded, rows, args, say)
    if other is not None:
        compared: Any = _decompose(other, rows, args, say)
    elif args.compare is not None:
        compared = draw(read_rows(args.compare, loaded, args, say), args.sample, args.seed, say).X
    else:
        compared = None
    target, class_names = target_of(rows, loaded, args.target, say)
    write_report(
        decomposer,
        rows.X,
        target,
        sample_weight=weights_of(rows, args),
        groups=column_of(rows, args.groups),
        remove=args.remove or None,
        compare=compared,
        class_names=class_names,
        keep=rows.frame[args.keep],
        title=args.title,
        units=args.units,
        max_rows=args.max_rows,
        background_rows=args.background_rows,
        path=args.output,
    )
    size = args.output.stat().st_size
    text = f"{size / 2**20:.1f} MB" if size > 2**20 else f"{size // 2**10} kB"
    say(f"wrote {args.output} ({text}). Open it in a browser; nothing else is needed")


def _read(
    args: Namespace, say: Progress, endings: Sequence[str], may_lack: Sequence[str] = ()
) -> tuple[LoadedModel, Rows, Rows]:
    """Return the model, the rows and the background; check first whether the result can be written."""
    if args.output is not None:
        check_output(args.output, endings, [args.model, args.data, *filter(None, [args.background])])
    loaded = read_model(args.model, args, say)
    rows = read_rows(args.data, loaded, args, say, may_lack=() if args.background is None else may_lack)
    require_columns(args.keep, list(rows.frame.columns), rows.path, "--keep")
    if args.background is None:
        return loaded, rows, draw(rows, args.sample, args.seed, say)
    return loaded, rows, draw(read_rows(args.background, loaded, args, say), args.sample, args.seed, say)


def _decompose(loaded: LoadedModel, background: Rows, args: Namespace, say: Progress) -> GlexDecomposer:
    say(f"decomposing the model over {len(background.frame):,} rows")
    decomposer = GlexDecomposer(
        loaded.model,
        weighting=args.weighting,
        max_interaction=getattr(args, "max_interaction", 2),
        feature_groups=args.feature_groups,
        prefit=True,
        missing=loaded.missing,
        n_jobs=args.n_jobs,
        verbose=say.verbose,
    )
    decomposer.fit(background.X, sample_weight=weights_of(background, args))
    return decomposer


def _shown(rows: Rows, args: Namespace) -> Rows:
    """Return all rows, or the first ones if they are shown in the terminal."""
    if args.output is not None:
        return rows
    return Rows(rows.path, rows.frame.iloc[:_SHOWN_ROWS], rows.X.iloc[:_SHOWN_ROWS])


def _with_ends(
    values: NDArray[np.float64],
    names: Sequence[str],
    base: Any,
    labels: Sequence[Any] | None,
    ends: tuple[str, str],
) -> dict[str, NDArray[np.float64]]:
    """Return columns by name: for each output the base, the columns that are added to it, and their sum."""
    bases = np.reshape(base, -1)
    blocks = values.reshape(len(values), len(bases), -1)
    found: dict[str, NDArray[np.float64]] = {}
    for k, start in enumerate(bases):
        first, last = (end if labels is None else f"{labels[k]}__{end}" for end in ends)
        n = blocks.shape[2]
        found[first] = np.full(len(values), start)
        found |= dict(zip(names[k * n : (k + 1) * n], blocks[:, k].T))
        found[last] = start + blocks[:, k].sum(axis=1)
    return found


def _without_rounding_errors(columns: dict[str, Any]) -> dict[str, Any]:
    """Return columns with zeros for numbers that are nothing but the rounding of sums of their row's largest."""
    numbers = {name: v for name, v in columns.items() if np.asarray(v).dtype.kind == "f"}
    largest = np.max([np.abs(v) for v in numbers.values()], axis=0) if numbers else 0.0
    return columns | {name: np.where(np.abs(v) < 1e-14 * largest, 0.0, v) for name, v in numbers.items()}


def _write(
    args: Namespace, say: Progress, columns: dict[str, Any], rows: Rows, *, n_outputs: int = 1
) -> None:
    """Write columns, after those to keep, to a file; show the largest of them if there is none."""
    pd = import_optional("pandas", "report")
    if clash := set(args.keep) & set(columns):
        raise Mistake(
            f"--keep {min(clash)}: the result has a column of this name. Rename the column in {rows.path}"
        )
    kept = {name: rows.frame[name].to_numpy() for name in args.keep}
    if args.output is not None:
        write_table(pd.DataFrame(kept | columns), args.output)
        say(f"wrote {args.output}: {len(rows.frame):,} rows, {len(kept) + len(columns)} columns")
        return
    shown = kept or {"row": np.arange(len(rows.frame))}
    columns = _without_rounding_errors(columns)
    size = len(columns) // n_outputs
    blocks = [dict(list(columns.items())[k * size : (k + 1) * size]) for k in range(n_outputs)]
    for n in range(size, 0, -1):
        texts = [table(pd.DataFrame(shown | _largest(block, n))) for block in blocks]
        if all(map(fits, texts)):
            break
    # Each output has a table of its own, whose columns add up.
    print("\n\n".join(texts))


def _largest(columns: dict[str, Any], n: int) -> dict[str, Any]:
    """Return the first and the last column, and the n largest ones between them; the others as their sum."""
    (first, start), *middle, (last, end) = columns.items()
    if n >= len(middle) or any(values.dtype.kind != "f" for _, values in middle):
        return columns
    middle.sort(key=lambda item: -np.abs(item[1]).mean())
    others = np.sum([values for _, values in middle[n:]], axis=0)
    return {first: start, **dict(middle[:n]), f"({len(middle) - n} others)": others, last: end}
