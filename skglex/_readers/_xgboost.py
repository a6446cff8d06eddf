"""Read XGBoost's boosters and scikit-learn wrappers."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import treelite
import xgboost as xgb
from numpy.typing import NDArray

from skglex._input import InputSpec
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._readers._treelite import from_treelite
from skglex._readers._xgboost_trees import booster_json, number_leaves, tree_section, trees_used_by_predict
from skglex._response import Response

_OLD_VECTOR_LEAVES = tuple(int(part) for part in xgb.__version__.split(".")[:2]) < (3, 1)
_NO_CATEGORIES: dict[str, list[Any]] = {"enc": [], "feature_segments": [], "sorted_idx": []}

READS = (
    ModelKind(
        "XGBoost",
        (
            "xgboost.XGBRegressor",
            "xgboost.XGBClassifier",
            "xgboost.XGBRanker",
            "xgboost.XGBRFRegressor",
            "xgboost.XGBRFClassifier",
            "xgboost.Booster",
            "xgboost.dask.DaskXGBRegressor",
            "xgboost.dask.DaskXGBClassifier",
        ),
        "raw score (log-odds, logarithm of a mean, of a hazard ratio or of a time, one quantile per output, ...)",
        "sums of hessians",
        "NaN and ``missing=``, by default direction",
        "``gblinear``; ``reg:expectileerror``, which treelite does not support",
    ),
)


def read(model: Any, missing: float = np.nan) -> SourceModel:
    """Read all trees of a booster, or the trees up to ``best_iteration`` of a fitted `XGBModel`.

    A booster does not store which value is ``missing``.
    """
    model = _without_cluster(model)
    wrapped = isinstance(model, xgb.XGBModel)
    booster = model.get_booster() if wrapped else model
    if wrapped and model.missing is not None:
        missing = float(model.missing)
    learner = json.loads(booster.save_config())["learner"]
    if learner["gradient_booster"]["name"] == "gblinear":
        raise ValueError(
            "cannot decompose an XGBoost model with booster='gblinear', which has no trees. Use booster='gbtree' or "
            "'dart'; the main effects of a linear model are its coefficients"
        )
    used = trees_used_by_predict(model)
    try:
        tree_model, categories = _without_categories(used)
    except treelite.TreeliteError as error:
        raise ValueError(
            f"treelite {treelite.__version__} cannot read this XGBoost {xgb.__version__} model with the objective "
            f"{learner['objective']['name']!r}. Use another objective, or a newer treelite"
        ) from error
    link = str(tree_model.get_header_accessor().get_field("postprocessor"))
    if learner["objective"]["name"] == "multi:softmax" and not wrapped:
        link = "max_index"  # The booster predicts the class, while the wrapper predicts probabilities.
    ensemble = from_treelite(tree_model, as_float32=True)
    levels = _levels(learner["objective"]) if ensemble.n_outputs > 1 else None
    if levels and _sorts_outputs(booster, len(levels)):
        link = "sorted"
    if not used.num_boosted_rounds():
        # XGBoost does not always apply the link to the base score of a model without trees, so we let it predict.
        ensemble = replace(ensemble, base=_margin_without_trees(booster))
    elif link == "sigmoid" and np.isinf(ensemble.base).any():
        ensemble = replace(ensemble, base=_finite_log_odds(ensemble.base))
    return SourceModel(
        ensemble=ensemble,
        input=InputSpec(
            n_features=booster.num_features(),
            feature_names=None if booster.feature_names is None else list(booster.feature_names),
            categories=categories,
            missing=missing,
            sparse_is_missing=True,
        ),
        margin=partial(_wrapper_margin, model) if wrapped else partial(_booster_margin, model, missing),
        output=partial(_wrapper_output, model) if wrapped else partial(_booster_output, model, missing),
        response=Response(
            link=link,
            n_outputs=ensemble.n_outputs,
            classes=np.asarray(model.classes_) if isinstance(model, xgb.XGBClassifier) else None,
            output_labels=levels,
        ),
        offset_replaces=ensemble.base,
        with_missing=None if wrapped else partial(read, model),
    )


def _levels(objective: dict[str, Any]) -> list[float] | None:
    """Return the levels of several quantiles or expectiles."""
    for name in ("quantile", "expectile"):
        if written := objective.get(f"{name}_loss_param", {}).get(f"{name}_alpha"):
            # XGBoost writes the levels in float32.
            return [float(f"{np.float32(level):.6g}") for level in str(written).strip("[]() ").split(",")]
    return None


def _without_cluster(model: Any) -> Any:
    """Convert a wrapper of ``xgboost.dask``, whose ``predict`` accepts only Dask collections, to an ordinary one."""
    for kind in type(model).__mro__:
        if kind.__module__.startswith("xgboost.dask"):
            plain = getattr(xgb, kind.__name__.removeprefix("Dask"))(missing=model.missing)
            plain.load_model(model.get_booster().save_raw())
            return plain
    return model


def _wrapper_margin(model: xgb.XGBModel, X: Any) -> NDArray[np.float32]:
    return np.asarray(model.predict(X, output_margin=True))


def _booster_margin(booster: xgb.Booster, missing: float, X: Any) -> NDArray[np.float32]:
    # inplace_predict accepts infinities, a DMatrix does not.
    return np.asarray(
        booster.inplace_predict(X, predict_type="margin", missing=missing, validate_features=False)
    )


def _margin_without_trees(booster: xgb.Booster) -> NDArray[np.float64]:
    """Return the margin of a booster without trees, one value per output."""
    return np.asarray(booster.predict(_empty_row(booster), output_margin=True), dtype=np.float64).ravel()


def _sorts_outputs(booster: xgb.Booster, n_outputs: int) -> bool:
    """Return whether `predict` sorts quantiles that cross, as XGBoost does from 3.4 on: quantiles far apart show it."""
    row = _empty_row(booster)
    row.set_base_margin(1e8 * np.arange(n_outputs, 0, -1, dtype=np.float32)[None])
    return bool((np.diff(booster.predict(row)) > 0).all())


def _empty_row(booster: xgb.Booster) -> xgb.DMatrix:
    """Return a row of missing values."""
    return xgb.DMatrix(
        np.full((1, booster.num_features()), np.nan),
        feature_names=booster.feature_names,
        feature_types=booster.feature_types,
    )


def _wrapper_output(model: xgb.XGBModel, X: Any) -> NDArray[np.float32]:
    return np.asarray(model.predict_proba(X) if isinstance(model, xgb.XGBClassifier) else model.predict(X))


def _booster_output(booster: xgb.Booster, missing: float, X: Any) -> NDArray[np.float32]:
    return np.asarray(booster.inplace_predict(X, missing=missing, validate_features=False))


def _finite_log_odds(base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace infinite base scores, which models trained on a single class have.

    XGBoost moves such a probability away from 0 or 1 by 1e-6, in float32.
    """
    one, margin = np.float32(1), np.float32(1e-6)
    probability = np.where(base > 0, one - margin, margin)
    return np.where(np.isinf(base), -np.log(one / probability - one), base).astype(np.float64)


def _without_categories(booster: xgb.Booster) -> tuple[treelite.Model, dict[int, NDArray[Any]]]:
    """Return the booster as a treelite model, and the categories by code, by feature.

    XGBoost from 3.1 on keeps the categories of a data frame in a container that treelite does not accept. The splits
    use only the codes, so the container is taken out. Before 3.1, vector leaves can have a format that treelite does
    not know, see `number_leaves`.
    """
    n_rounds = booster.num_boosted_rounds()
    if n_rounds and "c" not in (booster.feature_types or []) and not _OLD_VECTOR_LEAVES:
        return treelite.frontend.from_xgboost(booster), {}
    content = booster_json(booster)
    if not n_rounds:  # Without trees, treelite does not accept the base scores of several classes.
        content["learner"]["learner_model_param"] |= {"num_class": "0", "base_score": "0.5"}
    section = tree_section(content)
    container = section.get("cats", _NO_CATEGORIES)
    if "cats" in section:
        section["cats"] = _NO_CATEGORIES
    for tree in section["trees"]:
        number_leaves(tree)
    categories = {i: _category_values(enc) for i, enc in enumerate(container["enc"]) if enc["values"]}
    return treelite.frontend.from_xgboost_json(json.dumps(content)), categories


def _category_values(encoding: dict[str, Any]) -> NDArray[Any]:
    """Return the category values of one feature by code: numbers, or strings stored as joined UTF-8."""
    values = encoding["values"]
    if "offsets" not in encoding:
        return np.array(values)
    raw = bytes(value % 256 for value in values)
    offsets = encoding["offsets"]
    return np.array([raw[a:b].decode() for a, b in pairwise(offsets)], dtype=object)
