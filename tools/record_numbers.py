"""Record the numbers of many models, to compare them before and after the package is rebuilt.

    PYTHONPATH=. python tools/record_numbers.py write numbers.npz      # with the old code
    PYTHONPATH=. python tools/record_numbers.py compare numbers.npz    # with the new code, on the same machine

The models are those of `recorded_models.py`, trained from fixed seeds on one thread. Only public names of the package
are used, so that the script runs on any version that has them. Numbers are compared to the bit. Of a large array the
file holds a digest and some of the entries; of what raises an error, the type of the error.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import pickle
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xgboost as xgb
from recorded_models import FULL, GAPS, MODELS, NAMED, RAW, SIGNAL, TRAIN, WEIGHT, options_of
from scipy import sparse
from sklearn import config_context
from threadpoolctl import threadpool_limits

import skglex
from skglex import FeatureRemover, GlexDecomposer, datasets, exceptions, export, inspection, plotting

# How else decomposers are made, two ways for each model, with scikit-learn's working memory in MiB: with little of
# it tables are small, and much is streamed.
VARIANTS: list[tuple[str, dict[str, Any], int]] = [
    ("float32, two jobs", {"dtype": np.float32, "n_jobs": 2}, 1),
    ("little memory", {}, 4),
    ("main effects", {"max_interaction": 1, "n_background": 150, "random_state": 0}, 1024),
    ("some features", {"features": [0, 1, 3], "max_interaction": 2}, 1024),
    ("little memory, pairs, two jobs", {"max_interaction": 2, "n_jobs": 2}, 8),
    ("groups", {"feature_groups": {"g": [0, 2], "h": [3, 4]}, "separator": " & "}, 1024),
    ("no remainder", {"features": [0, 1], "remainder": False}, 1024),
    ("weighted", {"n_jobs": 2}, 1024),
]
FORMS: dict[str, Callable[[Any], Any]] = {
    "float32": lambda X: X.astype(np.float32),
    "integers": lambda X: np.nan_to_num(X).astype(np.int64),
    "columns": np.asfortranarray,
    "lists": lambda X: X.tolist(),
    "sparse": lambda X: sparse.csr_matrix(np.nan_to_num(X)),
    "frame": pd.DataFrame,
    "polars": lambda X: importlib.import_module("polars").DataFrame(X),
}
FRAMES: dict[str, Callable[[Any], Any]] = {
    "other": lambda X: importlib.import_module("polars").from_pandas(X) if is_pandas(X) else X.to_pandas(),
    "without f": lambda X: X.drop(columns="f") if is_pandas(X) else X.drop("f"),
}
OWN_WARNINGS = [kind for kind in vars(exceptions).values() if isinstance(kind, type)]

# -- recording -----------------------------------------------------------------------------------------

# Of arrays with more entries there is a digest, and about so many of the entries.
LARGEST = 1000


class Recorder:
    """Collect arrays by name, and the messages of errors."""

    def __init__(self, arrays: dict[str, Any], raised: list[str], prefix: str) -> None:
        self.arrays, self.raised, self.prefix = arrays, raised, prefix

    def under(self, name: str) -> Recorder:
        """Return a recorder of names that begin with a further part."""
        return Recorder(self.arrays, self.raised, f"{self.prefix}/{name}")

    def make(self, name: str, compute: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return what a function returns; of an error record the type, and return None."""
        try:
            return compute(*args, **kwargs)
        except Exception as error:
            self.raised.append(f"{type(error).__name__}: {str(error)[:100]}")
            self.put(name, f"raised {type(error).__name__}")

    def __call__(self, name: str, compute: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Record what a function returns, or the error that it raises."""
        n_raised = len(self.raised)
        value = self.make(name, compute, *args, **kwargs)
        if len(self.raised) == n_raised:
            self.put(name, value)

    def attributes(self, source: Any, *names: str) -> None:
        """Record attributes."""
        for name in names:
            self(name, getattr, source, name)

    def put(self, name: str, value: Any) -> None:
        """Record a value."""
        for part, array in flatten(value):
            key = f"{self.prefix}/{name}{part}"
            if key in self.arrays:
                raise ValueError(f"{key} is recorded twice")
            if array.size > LARGEST:
                self.arrays[key + "/digest"] = np.array(digest(array))
                array = np.ravel(array)[:: -(-array.size // LARGEST)].copy()
            self.arrays[key] = array


def is_pandas(rows: Any) -> bool:
    """Return whether rows are a data frame of pandas, not one of polars."""
    return isinstance(rows, pd.DataFrame)


def digest(array: np.ndarray) -> str:
    """Return a hash of type, shape and values, equal where ``array_equal`` says so."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array + 0).astype(array.dtype)  # one zero, one NaN
    return hashlib.sha256(f"{array.dtype} {array.shape} ".encode() + array.tobytes()).hexdigest()


def flatten(value: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays that a value consists of, with what is to be added to its name."""
    if isinstance(value, bytes | bytearray):
        value = hashlib.sha256(value).hexdigest()
    if isinstance(value, pd.DataFrame):
        value = {name: value[name].to_numpy() for name in value.columns}
    if isinstance(value, list | tuple) and any(isinstance(part, list | tuple | np.ndarray) for part in value):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for name, part in value.items():
            yield from ((f"/{name}{inner}", array) for inner, array in flatten(part))
        return
    array = np.asarray(value)
    if array.dtype.kind not in "biufU":
        array = np.array([repr(entry) for entry in array.ravel()], dtype=str).reshape(array.shape)
    yield "", array


def shown_axis(axis: Any) -> dict[str, Any]:
    """Return what an axis says."""
    return {name: getattr(axis, name) for name in ("feature", "edges", "categorical", "missing", "n_bins")}


def shown_component(component: Any, rows: Any) -> dict[str, Any]:
    """Return what a component says."""
    axes = dict(enumerate(map(shown_axis, component.axes)))
    return {"axes": axes, "values": component.values, "rows": component.evaluate(rows)}


def record_rows(add: Recorder, decomposer: Any, rows: Any, *, pairs: bool = True) -> None:
    """Record what a decomposer says of rows."""
    features = decomposer.explained_features_
    add("transform", decomposer.transform, rows)
    add("shap", decomposer.shap_values, rows)
    if pairs:
        add("interactions", decomposer.shap_interaction_values, rows)
    add("dependence", decomposer.partial_dependence, features[0], rows)
    add("dependence of two", decomposer.partial_dependence, features[1:3], rows)


def record_decomposer(add: Recorder, decomposer: Any, few: Any, many: Any) -> None:
    """Record what a decomposer says; of few rows before and after many, since tables are kept."""
    components, importances = getattr(decomposer, "components_", []), "component_importances_"
    add.attributes(decomposer, "intercept_", "explained_features_", "background_", "n_components_")
    add("names", decomposer.get_feature_names_out)
    add("strongest", lambda: [c.name for c in decomposer.strongest_components(5)])
    for name, rows in {"few": few, "many": many, "few again": few}.items():
        record_rows(add.under(name), decomposer, rows)
    add.attributes(decomposer, importances, "feature_importances_")
    add("strongest of known", lambda: [c.name for c in decomposer.strongest_components(5)])
    for feature in decomposer.explained_features_[:8]:
        axis = add.make(f"axis {feature}", decomposer.feature_axis, feature)
        if axis is not None:
            add(f"axis {feature}", shown_axis, axis)
            add(f"weights {feature}", decomposer.background_weights, axis)
    for component in [*components[:8], *components[max(len(components) // 2, 8) :][:3]]:
        if component.order <= 3:  # on demand, tables of more could be large
            add(f"component {component.name}", shown_component, component, few)
    if len(components):
        add("by features", lambda: decomposer[components[-1].features[::-1]].name)
    loaded = pickle.loads(pickle.dumps(decomposer))
    record_rows(add.under("pickled"), loaded, few)
    add("pandas", lambda: loaded.set_output(transform="pandas").transform(few).to_dict("split"))


def record_variant(add: Recorder, i: int, make: Callable[..., Any], given: Any, few: Any, many: Any) -> None:
    """Record what a decomposer says that is made in another way."""
    name, params, memory = VARIANTS[i % len(VARIANTS)]
    add = add.under(name)
    with config_context(working_memory=memory):
        decomposer = add.make("fit", make(**params).fit, *given, WEIGHT if name == "weighted" else None)
        if decomposer is None:
            return
        add.attributes(decomposer, "intercept_", "component_importances_")
        add("names", decomposer.get_feature_names_out)
        record_rows(add.under("few"), decomposer, few)
        record_rows(add.under("many"), decomposer, many, pairs=False)
        components = getattr(decomposer, "components_", [])
        for component in components[len(components) // 2 :][:1]:
            add("component", shown_component, component, few)


def record_forms(add: Recorder, compute: Callable[[Any], Any], rows: Any) -> None:
    """Record what is said of the same rows in other forms."""
    for name, convert in (FORMS if isinstance(rows, np.ndarray) else FRAMES).items():
        add(name, lambda convert=convert: compute(convert(rows)))


def record_inspection(add: Recorder, decomposer: Any, rows: Any) -> None:
    """Record what the functions for inspection say of a decomposer."""
    weighted = {"X": rows, "sample_weight": np.arange(len(rows)) % 5.0}
    for name, how in {"background": {}, "rows": weighted}.items():
        inner = add.under(name)
        for by in ("component", "order", "feature"):
            inner(f"by {by}", inspection.component_importance, decomposer, by=by, **how)
        inner("k", inspection.component_importance, decomposer, k=4, **how)
        for kind in ("shap", "absolute"):
            inner(kind, inspection.feature_importance, decomposer, kind=kind, **how)
        inner("strength", inspection.interaction_strength, decomposer, **how)
    for order in (0, 1, 2):
        add(f"truncated {order}", inspection.truncated_margin, decomposer, rows, order, return_r2=True)


def record_exports(add: Recorder, decomposer: Any, few: Any, many: Any) -> None:
    """Record what is exported."""
    for interactions in (False, True):
        shown = add.make(f"shap {interactions}", export.to_shap, decomposer, few, interactions=interactions)
        parts = ["values", "base_values", "data", "display_data", "feature_names", "output_names"]
        add.under(f"shap {interactions}").attributes(shown, *parts if shown is not None else [])
    output = None if np.ndim(decomposer.intercept_) == 0 else getattr(decomposer, "classes_", [0, 1])[1]
    rows = add.make("shapiq", export.to_shapiq, decomposer, few[:2], 2, output=output) or []
    add("shapiq rows", lambda: [[row.values, list(row.interaction_lookup)] for row in rows])
    ebm = add.make("ebm", export.to_ebm, decomposer)
    for part in ["term_scores_", "bin_weights_", "term_names_"] if ebm is not None else []:
        add(f"ebm {part}", getattr, ebm, part)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "components.zip"
        add("save", export.save_components, decomposer, path)
        if not path.exists():
            return
        with zipfile.ZipFile(path) as file:
            add("file", lambda: {name: file.read(name) for name in sorted(file.namelist())})
        stored = export.load_components(path)
    parts = ["intercept_", "component_importances_", "feature_names", "outputs", "link", "complete"]
    add.attributes(stored, *parts)
    for size, rows in {"few": few, "many": many}.items():
        add(f"evaluate {size}", stored.evaluate, rows)
        add(f"margin {size}", stored.margin, rows)
    for component in stored.components_[:4]:
        add(f"component {component.name}", shown_component, component, few)


def drawn(display: Any) -> dict[str, Any]:
    """Return what a display shows: texts, lines, bars, points and colours, in numbers of the axes."""
    out: dict[str, Any] = {}
    for i, ax in enumerate(display.figure_.axes):
        ticks = [label.get_text() for label in [*ax.get_xticklabels(), *ax.get_yticklabels()]]
        titles = [ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left"), ax.get_title()]
        out[f"{i} texts"] = [*titles, *ticks, *(text.get_text() for text in ax.texts)]
        out[f"{i} limits"] = np.array([ax.get_xlim(), ax.get_ylim()])
        out[f"{i} lines"] = [np.asarray(line.get_xydata(), dtype=float) for line in ax.lines]
        out[f"{i} bars"] = [np.array(bar.get_extents().bounds) for bar in ax.patches]
        out[f"{i} points"] = [np.asarray(drawing.get_offsets(), dtype=float) for drawing in ax.collections]
        out[f"{i} colours"] = [np.ma.filled(drawing.get_array(), np.nan) for drawing in ax.collections]
    return out


def record_pictures(add: Recorder, decomposer: Any, rows: Any) -> None:
    """Record what is drawn."""
    pyplot = importlib.import_module("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    how = {} if np.ndim(decomposer.intercept_) == 0 else {"class_": decomposer.classes_[1]}
    few = [c for order in (1, 2, 3) for c in [c for c in decomposer.components_ if c.order == order][:4]]
    one, other, _, levels = decomposer.explained_features_[:4]
    components, shap, falls, bars = (
        getattr(plotting, f"{name}Display").from_decomposer
        for name in ("Component", "Shap", "Waterfall", "Importance")
    )
    add("components", lambda: drawn(components(decomposer, few, X=rows, **how)))
    add("components, no rows", lambda: drawn(components(decomposer, few, same_scale=False, **how)))
    add("shap", lambda: drawn(shap(decomposer, one, rows, colour_by=other, **how)))
    add("shap, levels", lambda: drawn(shap(decomposer, levels, rows, colour_by=levels, **how)))
    add("notebook", lambda: decomposer._repr_mimebundle_()["text/html"].partition("skglex-components")[2])
    add("waterfall", lambda: drawn(falls(decomposer, rows[:1], **how)))
    for kind in ("component", "order"):
        add(f"bars by {kind}", lambda kind=kind: drawn(bars(decomposer, kind, **how)))
    pyplot.close("all")


def record_remover(add: Recorder, remover: Any, few: Any, many: Any, dtype: Any) -> None:
    """Record what a remover predicts, and the models that it writes."""
    methods = ["margin", "predict", "predict_proba", "predict_log_proba"]
    methods += ["decision_function", "score_samples"]
    add.attributes(remover, "removed_features_")
    for strength in (1.0, 0.5, 0.0):
        remover.set_params(strength=strength)
        inner = add.under(f"strength {strength}")
        for size, rows in {"few": few, "many": many, "few again": few}.items():
            for method in methods:
                if hasattr(remover, method):
                    inner(f"{method} {size}", getattr(remover, method), rows)
        if dtype is not None and strength:
            inner("onnx", lambda: remover.to_onnx(input_dtype=dtype).SerializeToString())
    remover.set_params(strength=1.0)
    booster = add.make("booster", remover.to_xgboost)
    if booster is not None:
        add("booster json", booster.save_raw, "json")
        add("booster predict", lambda: booster.predict(xgb.DMatrix(few, enable_categorical=True)))
    add("pickled", pickle.loads(pickle.dumps(remover)).margin, many)
    record_forms(add.under("forms"), remover.margin, few)


def record_forest(add: Recorder, forest: Any, few: Any, many: Any) -> None:
    """Record a planted forest itself."""
    arrays = ("leaf_ptr", "feature", "lo", "hi", "missing", "values", "family")
    add.under("leaves").attributes(forest.leaves_, *arrays)
    add.attributes(forest, "feature_importances_", "categories_")
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(forest, method):
            add(f"{method} few", getattr(forest, method), few)
            add(f"{method} many", getattr(forest, method), many)


def record_model(add: Recorder, name: str) -> None:
    """Record all that is said of one model."""
    position, options = list(MODELS).index(name), options_of(name)
    X, y, full = options["X"], options["y"], not options["brief"]
    model, background, few, many = MODELS[name](), X[:TRAIN], X[TRAIN : TRAIN + 7], X[TRAIN:]
    if y is None and not name.startswith(("treelite", "xgboost booster")):
        add("own prediction", model.predict, many)
    if name.startswith("planted"):
        record_forest(add.under("forest"), model, few, many)
    for shift, weighting in enumerate(["empirical", "path_dependent"]):
        inner = add.under(weighting)
        make = partial(GlexDecomposer, model, weighting=weighting, **options["params"])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            decomposer = inner.make("fit", make().fit, background, y)
        inner.put("warnings", sorted(w.category.__name__ for w in caught if w.category in OWN_WARNINGS))
        if decomposer is None:
            continue
        record_decomposer(inner, decomposer, few, many)
        for i in (0, 1):
            record_variant(inner, position + 4 * shift + i, make, (background, y), few, many)
        if full:
            record_forms(inner.under("forms"), decomposer.transform, few)
            record_inspection(inner.under("inspection"), decomposer, many[:1100])
            record_exports(inner.under("export"), decomposer, few, many)
        if options["drawn"]:
            record_pictures(inner.under("pictures"), decomposer, many)
        remover = FeatureRemover(model, options["remove"], weighting=weighting, n_jobs=1 + position % 2)
        weight = WEIGHT if position % 3 == 0 else None
        remover = inner.make("removed", remover.fit, background, y, weight)
        if remover is not None:
            dtype = np.float64 if weighting == "empirical" else np.float32
            record_remover(inner.under("removed"), remover, few, many, dtype if full else None)


def record_dask(add: Recorder) -> None:
    """Record what is said of Dask collections, in partitions and sampled."""
    dask, array, frame = map(importlib.import_module, ("dask", "dask.array", "dask.dataframe"))
    weight = array.from_array(np.arange(1000) % 4, chunks=300)
    cases = {
        "array": (MODELS["xgboost classes"](), array.from_array(GAPS[:1000], chunks=(300, 6)), weight),
        "frame": (MODELS["xgboost categories"](), frame.from_pandas(NAMED[:999], npartitions=3), None),
        "pipeline": (MODELS["sklearn pipeline, pairs"](), frame.from_pandas(RAW[:999], npartitions=3), None),
    }
    for name, (model, X, weight) in cases.items():
        for how, params in {"all": {}, "sample": {"n_background": 200, "random_state": 0}}.items():
            inner = add.under(f"{name}, {how}")
            with dask.config.set(scheduler="synchronous"):
                decomposer = GlexDecomposer(model, max_interaction=2, **params).fit(X, sample_weight=weight)
                remover = FeatureRemover(model, [1, 5], **params).fit(X, sample_weight=weight)
                inner.attributes(decomposer, "intercept_", "component_importances_", "feature_importances_")
                inner.attributes(remover, "removed_features_")
                inner("rows", inspection.component_importance, decomposer, X, k=3)
                methods = decomposer.transform, decomposer.shap_values, remover.margin, remover.predict
                for method in methods:
                    inner(method.__name__, lambda of=method, X=X: np.asarray(of(X).compute()))


def record_datasets(add: Recorder) -> None:
    """Record the data sets."""
    for name in ("make_importance", "make_motivating", "make_runtime", "make_salary"):
        add(name, getattr(datasets, name), 500, random_state=1)
    add("bike sharing", datasets.load_bike_sharing, as_frame=False, return_X_y=True)
    add("adult", lambda: datasets.load_adult(subset="all").frame)


def record_groups(add: Recorder) -> None:
    """Record differences between groups."""
    two = np.where(FULL[:, 0] > 0, "a", "b")
    for statistic in ("median", "mean"):
        for name, weight in {"equal": None, "weighted": np.arange(len(SIGNAL)) % 4.0}.items():
            inner, how = add.under(f"{statistic}, {name}"), {"statistic": statistic, "sample_weight": weight}
            inner("statistics", inspection.group_statistics, SIGNAL, FULL[:, 3], **how)
            inner("difference", inspection.group_difference, SIGNAL, two, reference="b", **how)


OTHERS = {"dask": record_dask, "datasets": record_datasets, "groups": record_groups}


def record(name: str) -> tuple[str, dict[str, np.ndarray], list[str]]:
    """Record one model, or something else; return a message, arrays and errors."""
    started, arrays, raised = time.perf_counter(), {}, []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        add = Recorder(arrays, raised, name)
        try:
            OTHERS.get(name, partial(record_model, name=name))(add)
        except ImportError as error:
            return f"skipped: {name}: {error}", {}, []
    return f"{time.perf_counter() - started:6.1f} s  {name}, {len(arrays)} arrays", arrays, raised


def differences(old: dict[str, np.ndarray], new: dict[str, np.ndarray]) -> Iterator[str]:
    """Yield a line for each name that is missing, new, or has another value."""
    for name in sorted({*old, *new}):
        if name not in new or name not in old:
            yield f"{'missing' if name in old else 'new'}: {name}"
            continue
        a, b = old[name], new[name]
        numeric = a.dtype.kind in "biuf"
        if a.dtype == b.dtype and np.array_equal(a, b, equal_nan=numeric):
            continue
        size = "other values"
        if numeric and a.shape == b.shape:
            size = f"by {np.nanmax(np.abs(a.astype(float) - b.astype(float)), initial=0):.3g}"
        yield f"differs: {name}: {size}, {a.dtype} {a.shape} {str(a)[:60]}, now {b.dtype} {b.shape} {str(b)[:60]}"


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="only what has this text in its name")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    print(f"skglex of {Path(skglex.__file__).parent}", flush=True)
    started = time.perf_counter()
    arrays: dict[str, np.ndarray] = {}
    errors: Counter[str] = Counter()
    names = [name for name in [*MODELS, *OTHERS] if args.only in name]
    with ProcessPoolExecutor(args.processes, mp_context=get_context("spawn")) as pool:
        for message, own, raised in pool.map(record, names):
            arrays |= own
            errors.update(raised)
            print(message, flush=True)
    print(*(f"{count} times {error}" for error, count in errors.most_common()), sep="\n")
    n_models, took = len(set(names).difference(OTHERS)), time.perf_counter() - started
    print(f"{n_models} models, {len(arrays)} arrays, {took:.0f} s")
    if args.action == "write":
        np.savez_compressed(args.file, **arrays)
        return 0
    with np.load(args.file) as file:
        old = {name: file[name] for name in file.files if args.only in name.split("/")[0]}
    found = list(differences(old, arrays))
    print(*found, f"{len(found)} differences among {len({*old, *arrays})} arrays", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
