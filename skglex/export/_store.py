"""Save components in an open format: arrays and JSON in one zip. No code in it is run when it is loaded."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import asdict, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._input import InputSpec
from skglex._kept import TermSum, term_sum
from skglex._response import Response
from skglex._utils import check_schema
from skglex._version import __version__
from skglex.components import Axis
from skglex.export._file_check import check_description, check_numbers
from skglex.export._stored_components import StoredComponents

# Raise this number whenever the format changes so that older versions of the package cannot read it.
SCHEMA = 1
_JSON = "components.json"
_ARRAYS = {
    "intercept": "<f8",
    "edges": "<f8",
    "n_edges": "<i8",
    "values": "<f8",
    "importances": "<f8",
    "background": "<f8",
}
_SUFFIXES = ("", ".zip", ".npz")


def save_components(model: Any, path: str | os.PathLike[str]) -> None:
    """Save components in an open format, without the model that they come from.

    The file is a zip of NumPy arrays (``numpy.load`` opens it) and ``components.json``. `load_components` reads it
    with any later version of Python, NumPy and skglex, and without the model's library. The documentation describes
    the format.

    Parameters
    ----------
    model : ComponentModel, GlexDecomposer or StoredComponents
        A fitted decomposer or component model; the remainder is not saved.
    path : str or path
        The file to write, with the suffix ``.zip``, ``.npz`` or none. It appears only when it is complete, and
        replaces an existing file.

    Raises
    ------
    ValueError
        The suffix is that of another format, or the tables are too large. Or some categories cannot be stored: dates,
        intervals, and those that the model encodes itself.

    Examples
    --------
    >>> import tempfile
    >>> from skglex import GlexDecomposer
    >>> from skglex.export import load_components, save_components
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> decomposer = GlexDecomposer(DecisionTreeRegressor().fit([[0], [1]], [1, 3])).fit([[0], [1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_components(decomposer, f"{folder}/components.zip")
    ...     load_components(f"{folder}/components.zip").margin([[1]])
    array([3.])
    """
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise ValueError(
            f"the path ends in {path.suffix!r}, but save_components writes a zip of arrays and JSON. Use the suffix "
            f"'.zip', as in {path.with_suffix('.zip').name!r}"
        )
    whole = term_sum(model)
    if not whole.response.is_named:
        raise ValueError(
            f"cannot save the components of a {type(whole.view.fitted.model).__name__}, whose predictions no named "
            "link computes from its margin. Use pickle or skops"
        )
    view, grid, spec = whole.view, whole.grid, whole.spec
    codes = {
        int(grid.features[s]): grid.cuts_of(s).astype(np.int64).tolist()
        for s in np.flatnonzero(grid.categorical).tolist()
    }
    axes_of: dict[int, list[Axis]] = {}
    for term in whole.terms:
        for column, axis in zip(term.columns, term.axes):
            axes_of.setdefault(column, []).append(axis)
    edges = [axis.edges for term in whole.terms for axis in term.axes if not axis.categorical]
    components = [
        {"name": term.name, "features": view.features_of(term.members), "columns": list(term.columns)}
        for term in whole.terms
    ]
    description = {
        "format": "skglex components",
        "schema": SCHEMA,
        "version": __version__,
        "feature_names": list(view.feature_names),
        "named": bool(spec.feature_names) or hasattr(view.estimator, "feature_names_in_"),
        "features": list(view.groups.names),
        "grouped": view.groups.group_of(view.feature_names),
        "components": components,
        "complete": bool(whole.complete),
        "remainder_share": _share_as_json(whole),
        "separator": view.estimator.separator,
        "n_background": int(view.background.n_rows),
        "outputs": _plain_labels(view.output_labels),
        "link": view.source.response.link,
        **_write_response(whole.response),
        "as_float32": bool(grid.as_float32),
        "sparse": view.fitted.sparse,
        "codes": {j: values for j, values in codes.items() if j in axes_of},
        "input": _write_spec(spec, {j for j in codes if j in axes_of}, view.feature_names),
    }
    arrays = {
        "intercept": whole.intercept,
        "edges": np.concatenate([*edges, np.empty(0)]),
        "n_edges": np.array([len(e) for e in edges]),
        "values": np.concatenate([*(term.values.ravel() for term in whole.terms), np.empty(0)]),
        "importances": np.ravel(whole.importances()),
        "background": _background_shares(view.estimator, axes_of),
    }
    _write(path, description, arrays)


def load_components(path: str | os.PathLike[str]) -> StoredComponents:
    """Load components that ``save_components`` wrote. Nothing in the file is run.

    Parameters
    ----------
    path : str or path
        The file to read.

    Returns
    -------
    StoredComponents
        The components, without the model.

    Raises
    ------
    ValueError
        The file is not a file of components, is damaged, or has the format of another version of skglex. The message
        contains the reason.

    Examples
    --------
    >>> import tempfile
    >>> from skglex import GlexDecomposer
    >>> from skglex.export import load_components, save_components
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> decomposer = GlexDecomposer(DecisionTreeRegressor().fit([[0], [1]], [1, 3])).fit([[0], [1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_components(decomposer, f"{folder}/components.zip")
    ...     load_components(f"{folder}/components.zip").margin([[1]])
    array([3.])
    """
    content = Path(path).read_bytes()
    try:
        with zipfile.ZipFile(BytesIO(content)) as file:
            description = json.loads(_member(file, _JSON))
            if not isinstance(description, dict) or description.get("format") != "skglex components":
                raise ValueError(f"{_JSON} does not have the format 'skglex components'")
            check_schema(description.get("schema"), description.get("version"), SCHEMA, "this file")
            arrays = {
                name: check_numbers(_member(file, f"{name}.npy"), name, kind)
                for name, kind in _ARRAYS.items()
            }
        check_description(description, arrays)
        return StoredComponents(description, arrays)
    # The readers of zip, JSON and NumPy raise many kinds of errors for damaged bytes. The user should see only one.
    except Exception as error:
        raise ValueError(f"cannot load components from {os.fspath(path)!r}: {error}") from error


def _share_as_json(whole: TermSum) -> float | None:
    share = 0.0 if whole.complete else whole.remainder_share
    return None if share is None or not np.isfinite(share) else float(share)


def _write_response(response: Response) -> dict[str, Any]:
    """Return how the margin becomes a prediction."""
    isolation = response.isolation
    return {
        "classes": None if response.classes is None else _plain_labels(list(response.classes)),
        "second_class_on_ties": response.second_class_on_ties,
        "threshold": response.threshold,
        "isolation": None if isolation is None else [isolation.path_length, isolation.offset],
    }


def _background_shares(decomposer: Any, axes_of: dict[int, list[Axis]]) -> NDArray[np.float64]:
    """Return the shares of the background in the bins of every column: all bins that any component distinguishes."""
    shares = []
    for _, axes in sorted(axes_of.items()):
        axis = axes[0]
        if not axis.categorical:
            edges = np.unique(np.concatenate([other.edges for other in axes]))
            axis = Axis(axis.feature, edges, False, len(edges) + 1)
        shares.append(decomposer.background_weights(axis))
    return np.concatenate([*shares, np.empty(0)])


def _member(file: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a member; raise if it is compressed, since it could be much larger than the file."""
    if file.getinfo(name).compress_type != zipfile.ZIP_STORED:
        raise ValueError(
            f"{name} is compressed, but save_components does not compress: load the file as it was written"
        )
    return file.read(name)


def _write(path: Path, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    text = json.dumps(description, allow_nan=False, indent=1)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as file:
            file.writestr(_JSON, text)
            for name, kind in _ARRAYS.items():
                with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, arrays[name].astype(kind), allow_pickle=False)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _plain_labels(labels: list[Any] | None) -> list[Any] | None:
    return None if labels is None else [_plain(label, "class label") for label in labels]


def _plain(value: Any, role: str) -> Any:
    """Return a value as JSON can hold it; raise if it cannot. ``role`` names the value in the error."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    raise ValueError(
        f"the {role} {value!r} cannot be stored: only strings, finite numbers and booleans can. Replace it by one of "
        "these before training"
    )


def _plain_category(value: Any) -> Any:
    """Return a category as JSON can hold it; None is a category of scikit-learn's histogram boosting."""
    return None if value is None else _plain(value, "category")


def _write_spec(spec: InputSpec, used: set[int], names: list[str]) -> dict[str, Any]:
    if encoded := used.intersection(spec.encoders):
        raise ValueError(
            f"the model encodes the categories of {names[min(encoded)]!r} itself, and this encoding cannot be stored. "
            "Encode the column before the model, for example with sklearn.preprocessing.OrdinalEncoder"
        )
    description = asdict(replace(spec, encoders={}, categories={}, frame_categories=None))
    for unused in ("n_features", "feature_names", "encoders", "spaces_become"):
        del description[unused]
    description["missing"] = None if np.isnan(spec.missing) else _plain(float(spec.missing), "missing value")
    description["missing_zeros"] = sorted(int(j) for j in spec.missing_zeros)
    description["categories"] = {
        int(j): [_plain_category(v) for v in np.asarray(values).tolist()]
        for j, values in spec.categories.items()
    }
    if spec.frame_categories is not None:
        description["frame_categories"] = [
            [_plain_category(v) for v in np.asarray(values).tolist()] for values in spec.frame_categories
        ]
    return description
