"""Check that the content of a file of components is consistent, before anything is made from it."""

from __future__ import annotations

from io import BytesIO
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._response import is_link

_DESCRIPTION: dict[str, type | tuple[type, ...]] = {
    "version": str,
    "link": str,
    "feature_names": list,
    "features": list,
    "grouped": dict,
    "components": list,
    "codes": dict,
    "input": dict,
    "named": bool,
    "complete": bool,
    "as_float32": bool,
    "sparse": bool,
    "outputs": (list, type(None)),
    "remainder_share": (float, int, type(None)),
    "separator": str,
    "n_background": int,
    "classes": (list, type(None)),
    "second_class_on_ties": bool,
    "threshold": float,
    "isolation": (list, type(None)),
}
_INPUT: dict[str, type | tuple[type, ...]] = {
    "categories": dict,
    "frame_categories": (list, type(None)),
    "missing": (int, float, type(None)),
    "missing_zeros": list,
    "unknown_is_missing": bool,
    "sparse_is_missing": (bool, type(None)),
    "by_value": bool,
    "finite": (bool, str),
    "truncates_codes": bool,
    "integers_as_float32": bool,
}
_LARGEST_CODE = 1 << 53
_LARGEST = float(np.finfo(np.float64).max)


def check_numbers(content: bytes, name: str, kind: str) -> NDArray[Any]:
    """Return the one-dimensional array in the bytes of a .npy file; raise unless it is as long as its header says."""
    file = BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"{name} has the .npy version {version}, expected (1, 0)")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    data = content[file.tell() :]
    if dtype != np.dtype(kind) or len(shape) != 1 or len(data) != shape[0] * dtype.itemsize:
        raise ValueError(
            f"{name} has {len(data)} bytes of shape {shape} and type {dtype}, expected one dimension of {kind}"
        )
    return np.frombuffer(data, dtype).astype(kind[1:])


def check_description(description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Raise unless the JSON and the arrays fit together.

    Files may come from anyone, so no entry is used before it is checked.
    """
    _check_types(description, _DESCRIPTION, "components.json")
    _check_types(description["input"], _INPUT, "input")
    n_features, n_outputs = len(description["feature_names"]), len(arrays["intercept"])
    for key in ("feature_names", "features", "grouped"):
        _require(all(isinstance(name, str) for name in description[key]), f"{key} holds strings")
    outputs = description["outputs"]
    _require(
        n_outputs > 0 and (n_outputs == 1) == (outputs is None),
        "outputs is null if and only if there is one output",
    )
    _require(outputs is None or len(outputs) == n_outputs, "outputs has one label for each output")
    codes = {_position(j, n_features): values for j, values in description["codes"].items()}
    for values in codes.values():
        _require(_increasing(values), "codes increase")
    _check_input(description["input"], codes, n_features)
    _require(is_link(description["link"]), "link is the name of an inverse link")
    _check_response(description, n_outputs)
    _check_tables(description, codes, arrays)
    background = arrays["background"]
    _require(bool((background >= 0).all() and (background <= 1 + 1e-6).all()), "background holds shares")


def _check_response(description: dict[str, Any], n_outputs: int) -> None:
    classes, isolation = description["classes"], description["isolation"]
    _require(
        classes is None
        or (
            len(classes) > 0
            and len({type(label) for label in classes}) == 1
            and all(isinstance(label, (str, bool, int, float)) for label in classes)
        ),
        "classes holds strings, numbers or booleans",
    )
    _require(
        isolation is None
        or (len(isolation) == 2 and n_outputs == 1 and all(isinstance(v, (int, float)) for v in isolation)),
        "isolation holds two numbers, for one output",
    )


def _check_input(spec: dict[str, Any], codes: dict[int, list[int]], n_features: int) -> None:
    _require(spec["finite"] in (True, False, "allow-nan"), "finite is true, false or allow-nan")
    _require(
        spec["missing"] is None or abs(spec["missing"]) <= _LARGEST, "missing is null or a finite number"
    )
    for j in spec["missing_zeros"]:
        _require(isinstance(j, int) and 0 <= j < n_features, "missing_zeros holds positions of features")
    for j, values in spec["categories"].items():
        position = _position(j, n_features)
        _check_categories(values)
        column_codes = codes.get(position, [])
        _require(
            not column_codes or column_codes[-1] < len(values), "codes are positions among the categories"
        )
    for values in spec["frame_categories"] or []:
        _check_categories(values)


def _check_categories(values: Any) -> None:
    _require(
        isinstance(values, list) and all(isinstance(v, (str, bool, int, float, type(None))) for v in values),
        "categories are strings, numbers, booleans and null",
    )


def _check_tables(
    description: dict[str, Any],
    codes: dict[int, list[int]],
    arrays: dict[str, NDArray[Any]],
) -> None:
    components, n_outputs = description["components"], len(arrays["intercept"])
    features = set(description["features"])
    n_edges = arrays["n_edges"].tolist()
    _check_edges(arrays["edges"], arrays["n_edges"])
    axis = size = 0
    for component in components:
        _check_component(component, features, description)
        columns = component["columns"]
        n_numeric = sum(j not in codes for j in columns)
        _require(axis + n_numeric <= len(n_edges), "n_edges has an entry for every numeric axis")
        inner = iter(n_edges[axis : axis + n_numeric])
        size += n_outputs * prod((len(codes[j]) if j in codes else next(inner)) + 2 for j in columns)
        axis += n_numeric
    for key in ("name", "features"):
        distinct = {str(sorted(c[key]) if key == "features" else c[key]) for c in components}
        _require(len(distinct) == len(components), f"no two components have the same {key}")
    _require(axis == len(n_edges), "n_edges has an entry for every numeric axis")
    _require(size == len(arrays["values"]), "values has one entry for every cell of the tables")
    _require(bool(np.isfinite(arrays["values"]).all()), "values are finite")
    _require(
        len(arrays["importances"]) == len(components) * n_outputs,
        "importances has one entry for every component and output",
    )


def _check_edges(edges: NDArray[np.float64], n_edges: NDArray[np.int64]) -> None:
    _require(
        min(n_edges.tolist(), default=0) >= 0 and sum(n_edges.tolist()) == len(edges),
        "n_edges counts the edges",
    )
    # The edges of one axis increase; from the last edge of an axis to the first of the next they may decrease.
    same_axis = np.ones(max(len(edges) - 1, 0), dtype=bool)
    ends = np.cumsum(n_edges)
    same_axis[ends[(ends > 0) & (ends < len(edges))] - 1] = False
    _require(not np.isnan(edges).any() and not (same_axis & (edges[1:] < edges[:-1])).any(), "edges increase")


def _check_component(component: Any, all_features: set[str], description: dict[str, Any]) -> None:
    names = description["feature_names"]
    _require(isinstance(component, dict), "components holds objects")
    _check_types(component, {"name": str, "features": list, "columns": list}, "a component")
    columns, features = component["columns"], component["features"]
    _require(
        len(features) > 0 and all(isinstance(f, str) and f in all_features for f in features),
        "a component's features are among the features",
    )
    _require(
        0 < len(columns) < 64 and all(type(j) is int and 0 <= j < len(names) for j in columns),
        "columns holds positions of features",
    )
    column_names = {names[j] for j in columns}
    # A feature group is stored only by its name, which may equal the name of one of its columns. So the columns of a
    # component with a group can be checked only in part.
    has_group = not column_names.isdisjoint(description["grouped"])
    _require(
        column_names & all_features <= {*features} and (has_group or column_names >= {*features} & {*names}),
        "a component's columns are those of its features",
    )


def _check_types(entries: dict[str, Any], types: dict[str, Any], holder: str) -> None:
    for key, expected in types.items():
        if key not in entries:
            raise ValueError(f"{holder} has no entry {key!r}")
        if not isinstance(entries[key], expected):
            kinds = expected if isinstance(expected, tuple) else (expected,)
            names = " or ".join(kind.__name__ for kind in kinds)
            raise ValueError(f"{holder} has {entries[key]!r:.40} for {key!r}, expected {names}")


def _position(key: str, n_features: int) -> int:
    _require(key.isdecimal() and len(key) < 10 and int(key) < n_features, "keys are positions of features")
    return int(key)


def _increasing(values: Any) -> bool:
    if not isinstance(values, list) or not all(type(v) is int and 0 <= v < _LARGEST_CODE for v in values):
        return False
    return values == sorted(set(values))


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise ValueError(f"the file is damaged (expected: {rule}). Write it again with save_components")
