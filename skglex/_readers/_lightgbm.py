"""Read LightGBM's boosters and scikit-learn wrappers, from the text of the model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import lightgbm as lgb
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skglex._input import LARGEST_ZERO, InputSpec
from skglex._readers._nodes import Nodes, to_leaves
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._response import Response, inverse_link, join_link

_VERSION = "v4"
_LINKS = {
    "regression": "identity",
    "regression_l1": "identity",
    "huber": "identity",
    "fair": "identity",
    "quantile": "identity",
    "mape": "identity",
    "lambdarank": "identity",
    "rank_xendcg": "identity",
    "poisson": "exponential",
    "gamma": "exponential",
    "tweedie": "exponential",
    "binary": "sigmoid",
    "cross_entropy": "sigmoid",
    "cross_entropy_lambda": "logarithm_one_plus_exp",
    "multiclass": "softmax",
    "multiclassova": "multiclass_ova",
}
# Bits of decision_type. The next two bits are the missing type.
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_NONE, _ZERO, _NAN = 0, 1, 2
# Lines of a tree with one number per split.
_OF_SPLITS = ("split_feature", "threshold", "decision_type", "left_child", "right_child", "internal_count")

READS = (
    ModelKind(
        "LightGBM",
        (
            "lightgbm.LGBMRegressor",
            "lightgbm.LGBMClassifier",
            "lightgbm.LGBMRanker",
            "lightgbm.Booster",
            "lightgbm.DaskLGBMRegressor",
            "lightgbm.DaskLGBMClassifier",
        ),
        "raw score",
        "rows (weights do not count)",
        "NaN, none or zeros, as trained",
        "``linear_tree=True``, ``pred_early_stop=True``",
    ),
)


def read(model: Any) -> SourceModel:
    """Read the trees that ``predict`` of a booster or fitted `LGBMModel` uses, up to ``best_iteration``."""
    if hasattr(model, "to_local"):  # The model is from lightgbm.dask.
        model = model.to_local()
    wrapped = isinstance(model, lgb.LGBMModel)
    booster = model.booster_ if wrapped else model
    if wrapped and model.get_params().get("pred_early_stop"):
        raise ValueError(
            f"cannot decompose a {type(model).__name__} with pred_early_stop=True, whose predictions use a different "
            "number of trees for each row. Pass the booster, `.booster_`, to explain the sum of all trees"
        )
    header, trees = _parse(booster.model_to_string(num_iteration=booster.best_iteration))
    n_outputs = int(header["num_tree_per_iteration"])
    # The raw score of a random forest is the sum of its trees, but the link applies to their mean.
    n_averaged = max(len(trees) // n_outputs, 1) if "average_output" in header else 1
    nodes, missing_zeros = _to_nodes(trees, n_outputs, n_averaged)
    names = booster.feature_name()
    classifies = isinstance(model, lgb.LGBMClassifier)
    margin = partial(_margin, booster, n_averaged)
    link = _find_link(booster, header.get("objective"), margin)
    categories = booster.pandas_categorical
    return SourceModel(
        ensemble=to_leaves(nodes, less_equal=True, as_float32=False),
        input=InputSpec(
            n_features=booster.num_feature(),
            feature_names=None if names == [f"Column_{i}" for i in range(len(names))] else names,
            spaces_become="_",
            frame_categories=None if categories is None else [np.array(c, dtype=object) for c in categories],
            unknown_is_missing=True,
            missing_zeros=missing_zeros,
            truncates_codes=True,
            integers_as_float32=True,
        ),
        margin=margin,
        output=partial(_output, model),
        response=Response(
            # Without an objective, predict_proba returns the margin.
            link="custom" if classifies and "objective" not in header else link,
            n_outputs=n_outputs,
            classes=np.asarray(model.classes_) if classifies else None,
        ),
        # LightGBM trains no random forest with an init_score.
        offset_replaces=None if "average_output" in header else np.zeros(n_outputs),
    )


def _margin(booster: lgb.Booster, n_averaged: int, X: Any) -> NDArray[np.float64]:
    return np.asarray(booster.predict(_as_matrix(X), raw_score=True)) / n_averaged


def _output(model: Any, X: Any) -> NDArray[np.float64]:
    predict = model.predict_proba if isinstance(model, lgb.LGBMClassifier) else model.predict
    return np.asarray(predict(_as_matrix(X)))


def _as_matrix(X: Any) -> Any:
    """Convert rows to a type that LightGBM accepts.

    It accepts sparse matrices but no sparse arrays, and no data frames except those of pandas. LightGBM 4.7
    terminates the process if a polars column is neither numeric nor boolean, even a column without splits.
    """
    if sp.issparse(X):
        return sp.csc_matrix(X) if X.format == "csc" else sp.csr_matrix(X)
    if not hasattr(X, "dtypes") or hasattr(X, "iloc"):
        return X
    values = X.to_numpy()
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"LightGBM accepts only numeric columns in a {type(X).__module__} data frame; got the types "
            f"{[str(dtype) for dtype in X.dtypes]}. Pass a pandas data frame to use categorical columns"
        )
    return values.astype(np.float64)


# -- the text -------------------------------------------------------------------------------------


def _parse(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Return the lines ``key=value`` before the trees, and those of every tree."""
    body, end, _ = text.partition("\nend of trees")
    header, *trees = ({k: v for k, _, v in map(_split, part.splitlines())} for part in body.split("\nTree="))
    if header.get("version") != _VERSION or not end:
        raise ValueError(
            f"cannot read a LightGBM model in the text format {header.get('version')!r} (LightGBM {lgb.__version__}); "
            f"expected {_VERSION!r}, the format of LightGBM 4. Save the model, and load it with LightGBM 4"
        )
    if any(tree.get("is_linear", "0") != "0" for tree in trees):
        raise ValueError(
            "cannot decompose a LightGBM model trained with linear_tree=True, whose leaves are linear functions. Train "
            "it with linear_tree=False"
        )
    return header, trees


def _split(line: str) -> tuple[str, str, str]:
    return line.partition("=")


def _numbers(trees: list[dict[str, str]], name: str, expected: int) -> NDArray[np.float64]:
    """Return one field of all trees. LightGBM writes doubles with enough digits to restore them exactly."""
    text = " ".join(tree.get(name, "") for tree in trees)
    values = np.array(text.split(), dtype=np.float64)
    if len(values) != expected:
        raise ValueError(
            f"cannot read the LightGBM model: expected {expected} values of {name}, got {len(values)}"
        )
    return values


def _to_nodes(trees: list[dict[str, str]], n_outputs: int, n_averaged: int) -> tuple[Nodes, frozenset[int]]:
    """Return the nodes of all trees, splits before leaves in each, and the features whose zeros are missing."""
    n_leaves = np.array([int(tree["num_leaves"]) for tree in trees], dtype=np.int64)
    roots = np.concatenate([[0], np.cumsum(2 * n_leaves - 1)]).astype(np.int64)
    tree_of = np.repeat(np.arange(len(trees)), 2 * n_leaves - 1)
    inner = np.arange(roots[-1]) - roots[tree_of] < n_leaves[tree_of] - 1
    at, leaf_at = np.flatnonzero(inner), np.flatnonzero(~inner)
    split = {name: _numbers(trees, name, len(at)) for name in _OF_SPLITS}
    decision = split["decision_type"].astype(np.int64)
    feature = split["split_feature"].astype(np.int64)
    numeric, kind = decision & _CATEGORICAL == 0, decision >> 2
    if (kind > _NAN).any():
        raise ValueError(
            f"cannot read the LightGBM model: unknown missing type {kind.max()}; expected 0 to {_NAN}"
        )

    def spread(values: NDArray[Any], fill: Any, where: NDArray[np.int64] = at) -> NDArray[Any]:
        out = np.full(len(inner), fill, dtype=values.dtype)
        out[where] = values
        return out

    first = roots[tree_of[at]]
    children = (
        first + np.where(child >= 0, child, n_leaves[tree_of[at]] - 1 + ~child)
        for child in (split[side].astype(np.int64) for side in ("left_child", "right_child"))
    )
    left, right = (spread(child, -1) for child in children)

    threshold = _beside_zero(split["threshold"])
    # If NaN does not count as missing, it counts as 0.
    missing_left = numeric & np.where(kind == _NONE, threshold >= 0, decision & _DEFAULT_LEFT > 0)
    zeros = np.unique(feature[numeric & (kind == _ZERO)])
    compared = numeric & (kind == _NAN) & np.isin(feature, zeros) & ((threshold >= 0) != missing_left)
    if compared.any():
        raise ValueError(
            f"cannot read the LightGBM model: feature {feature[compared][0]} has splits trained with "
            "zero_as_missing=True and splits trained without it. Train all iterations with the same setting"
        )

    # A tree with a single leaf always has its value, but not always its count.
    grown = [tree for tree, n in zip(trees, n_leaves) if n > 1]
    of_grown = (n_leaves > 1)[tree_of[leaf_at]]
    cover = spread(split["internal_count"], 1.0)
    cover[leaf_at[of_grown]] = _numbers(grown, "leaf_count", int(of_grown.sum()))
    value = spread(_numbers(trees, "leaf_value", len(leaf_at)), 0.0, leaf_at) / n_averaged
    nodes = Nodes(
        roots=roots,
        left=left,
        right=right,
        feature=spread(feature, 0),
        threshold=spread(threshold, 0.0),
        missing_left=spread(missing_left, False),
        value=value[:, None],
        output=(np.arange(len(trees)) % n_outputs).astype(np.int32),
        base=np.zeros(n_outputs),
        cover=cover,
        categories=_category_lists(trees, at[~numeric], tree_of, split["threshold"][~numeric]),
    )
    return nodes, frozenset(zeros.tolist())


def _beside_zero(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move thresholds within LightGBM's zero range, so that every value it treats as zero is routed like 0."""
    below = np.nextafter(-LARGEST_ZERO, -np.inf)
    return np.where(np.abs(threshold) > LARGEST_ZERO, threshold, np.where(threshold < 0, below, LARGEST_ZERO))


def _category_lists(
    trees: list[dict[str, str]],
    nodes: NDArray[np.int64],
    tree_of: NDArray[np.int64],
    number: NDArray[np.float64],
) -> dict[int, NDArray[np.int64]]:
    """Return the categories that go left, by node: the threshold n of a node means its tree's n-th bit set."""
    sets = {}
    for t in np.unique(tree_of[nodes]):
        bounds = [int(bound) for bound in trees[t]["cat_boundaries"].split()]
        words = np.array(trees[t]["cat_threshold"].split(), dtype="<u4").view(np.uint8)
        sets[int(t)] = [
            np.flatnonzero(np.unpackbits(words[4 * a : 4 * b], bitorder="little"))
            for a, b in pairwise(bounds)
        ]
    return {int(node): sets[int(t)][int(n)] for node, t, n in zip(nodes, tree_of[nodes], number, strict=True)}


# -- the link -------------------------------------------------------------------------------------


def _find_link(booster: lgb.Booster, objective: str | None, margin: Callable[[Any], Any]) -> str:
    """Return the inverse link of an objective such as ``"binary sigmoid:2"``.

    A custom objective is None; the booster then predicts the margin.
    """
    if objective is None:
        return "identity"
    name, *options = objective.split()
    if name not in _LINKS:
        raise ValueError(
            f"cannot read a LightGBM model with the objective {name!r}; expected one of {sorted(_LINKS)}, or a "
            "custom objective given as a function"
        )
    link = "signed_square" if "sqrt" in options else _LINKS[name]
    written = dict(option.split(":") for option in options if ":" in option).get("sigmoid", "1")
    # The text has six digits of the factor. The parameters have all digits, unless the model was saved and loaded.
    for factor in dict.fromkeys([float(booster.params.get("sigmoid", written)), float(written)]):
        if _is_link(booster, join_link(link, factor), margin):
            return join_link(link, factor)
    raise ValueError(
        f"cannot read a LightGBM model with the objective {objective!r}: its predictions are not the inverse link "
        f"{link!r} of its raw scores. Please report this with the version of LightGBM"
    )


def _is_link(booster: lgb.Booster, link: str, margin: Callable[[Any], Any]) -> bool:
    """Return whether an inverse link maps the booster's margin to its predictions, on a few rows."""
    rows = np.outer([0.0, -1e3, 1e3, np.nan], np.ones(booster.num_feature()))
    raw, predicted = (np.reshape(values, (len(rows), -1)) for values in (margin(rows), booster.predict(rows)))
    with np.errstate(over="ignore"):
        return bool(np.allclose(inverse_link(link, raw), predicted, rtol=1e-12, atol=0, equal_nan=True))
