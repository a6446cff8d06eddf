"""State the facts of a page: what the model is, what its numbers are called, and how important its parts are."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from skglex._decomposition import Explained, ResponseScale, margin_label, sum_by_feature_and_order
from skglex._input import column_names
from skglex._leaves import NoBackground, PathDependent
from skglex._readers import describe_combination
from skglex._response import PROBABILITIES, Response, even_margin, split_link
from skglex._version import __version__

# More components than this are not listed by importance.
_MOST_LISTED = 3_000
# The shares of the orders are computed for so many rows, and up to this order.
_ROWS_FOR_SHARES, _MOST_ORDERS = 2_000, 3
# The importances of a combined model are those of so many rows, and pairs are among them for so many features.
_COMBINED_ROWS, _MOST_PAIRED = 100, 15


def model_facts(view: Explained, title: str | None, target: str | None, units: str | None) -> dict[str, Any]:
    """Return what the model is, and what its numbers are called."""
    response = view.source.response
    model = view.fitted.model
    name = type(model).__name__
    decomposition = view.decomposition
    margins = [margin_label(view, o, target, units) for o in range(view.n_outputs)]
    return {
        "title": title or f"{name}, explained",
        "units": units,
        "target": target,
        "task": "classification" if response.is_classifier else "regression",
        "skglexVersion": __version__,
        "created": date.today().isoformat(),
        "modelName": name,
        "weighting": "path_dependent" if isinstance(decomposition.weighting, PathDependent) else "empirical",
        "nTrees": len(decomposition.ensemble.tree_ptr) - 1,
        "nLeaves": decomposition.ensemble.n_leaves,
        "nBackground": view.background.n_rows,
        "outputs": output_names(view, target),
        "defaultOutput": 0,
        "margin": {"name": margins[0], "names": margins, "kind": margin_kind(response)},
        "response": response_facts(view, target, units),
        "oneScale": _has_one_scale(view),
        "intercept": view.intercept.tolist(),
        "combined": None,
    } | _combined_facts(view, target, units)


def _combined_facts(view: Explained, target: str | None, units: str | None) -> dict[str, Any]:
    """Return the facts of a model that combines its members and has no margin of its own; the page has its response."""
    if view.source.response.without_margin is None:
        return {}
    facts = response_facts(view, target, units)
    if facts is None:
        name = view.source.response.combines
        raise ValueError(
            f"cannot write the report of this {name}: it has no margin of its own, and the page has no formula of its "
            "prediction. Write reports of its members instead"
        )
    return {
        "combined": facts["link"],
        "outputs": facts["outputs"],
        "margin": {part: facts[part] for part in ("name", "names", "kind")},
        "response": None,
    }


def output_names(view: Explained, target: str | None) -> list[str]:
    """Return one name per output."""
    if view.output_labels is not None:
        return [str(label) for label in view.output_labels]
    classes = view.classes
    if classes is not None and len(classes) == 2:
        return [str(classes[1])]
    return [target or "prediction"]


def margin_kind(response: Response) -> str:
    """Return whether margins are probabilities or other numbers."""
    own = response.is_classifier and split_link(response.link)[0] in ("identity", "probability", "clip")
    return "probability" if own else "number"


def _has_one_scale(view: Explained) -> bool:
    """Return whether the response is the margin: a mean of leaves that are probabilities, as in forests."""
    response = view.source.response
    if response.without_margin is not None or not response.is_classifier or response.targets:
        return False
    if response.inverse is not None or split_link(response.link) != ("probability", 1.0):
        return False
    return bool((view.decomposition.ensemble.leaf_values.value >= 0).all())


def response_facts(view: Explained, target: str | None, units: str | None) -> dict[str, Any] | None:
    """Return what the response is called, and how the page computes it; None if the page cannot, or need not."""
    response = view.source.response
    link = describe_link(response)
    if link is None or link == {"name": "identity", "factor": 1.0}:
        return None
    labels = view.response_labels
    n = response.n_responses
    names = [margin_label(view, o, target, units, "response") for o in range(n)]
    probability = response.is_classifier or split_link(response.link)[0] in PROBABILITIES
    return {
        "name": names[0],
        "names": names,
        "kind": "probability" if probability else "number",
        "outputs": [str(label) for label in labels] if labels else output_names(view, target)[:n],
        "link": link,
    }


def describe_link(response: Response) -> dict[str, Any] | None:
    """Return the inverse link for the page; None if it has no name, or no response that can be averaged."""
    if response.isolation is not None:
        return {"name": "isolation", "pathLength": response.isolation.path_length}
    if response.targets:
        parts = [describe_link(target) for target in response.targets]
        if any(part is None for part in parts):
            return None
        sizes = [target.n_outputs for target in response.targets]
        return {"name": "targets", "parts": parts, "sizes": sizes}
    if response.combines:
        return _describe_combination(response)
    name, factor = split_link(response.link)
    if response.inverse is not None or name in ("max_index", "custom", "function"):
        return None
    if name == "identity_multiclass":
        name = "identity"
    return {"name": name, "factor": factor}


def _describe_combination(response: Response) -> dict[str, Any] | None:
    """Return how a model combines its members, for the page; None if there is no formula."""
    found = describe_combination(response.inverse)
    if found is None:
        return None
    members = [_describe_member(member) for member in found.pop("members")]
    return (
        None
        if any(member["link"] is None for member in members)
        else {"name": "combined", "members": members} | found
    )


def _describe_member(member: dict[str, Any]) -> dict[str, Any]:
    """Return a member of a combined model for the page."""
    response: Response = member["response"]
    described = {
        "first": int(member["first"]),
        "size": response.n_outputs,
        "link": None if response.targets or response.isolation else describe_link(response),
        "binary": response.binary,
        "evenMargin": even_margin(response.link),
        "method": member.get("method"),
        "classes": member.get("classes"),
    }
    calibrators = member.get("calibrators", [])
    plain = [{k: v.tolist() if hasattr(v, "tolist") else v for k, v in c.items()} for c in calibrators]
    return described | {"calibrators": plain}


def importance_facts(view: Explained, players: NDArray[np.int64], notes: list[str]) -> dict[str, Any]:
    """Return the importance of components and features, and the share of each order in the variance.

    ``players`` are the players of the page's features.
    """
    empty: dict[str, Any] = {"importance": [], "featureImportance": [], "variance": []}
    if view.source.response.without_margin is not None:
        return empty | _combined_importance(view, players, notes)
    if isinstance(view.background, NoBackground):
        notes.append("The page has no importances, since the decomposer was fitted without rows.")
        return empty
    position = {int(player): i for i, player in enumerate(players)}
    try:
        sets, means = view.strongest(None)
    except ValueError as error:
        notes.append(f"The page lists no importances: {error}.")
        return empty
    if len(sets) > _MOST_LISTED:
        notes.append(f"The {_MOST_LISTED:,} most important of {len(sets):,} components are listed.")
    shown = sets[:_MOST_LISTED]
    importance = [
        {
            "features": [position[member] for member in members],
            "name": name,
            "order": len(members),
            "value": mean.tolist(),
        }
        for members, name, mean in zip(shown, view.set_names(shown), means)
    ]
    by_order = sum_by_feature_and_order(sets, view.decomposition.n_players, means)
    ranked = sorted(position, key=lambda player: -by_order[player].sum())
    return {
        "importance": importance,
        "featureImportance": [
            {"feature": position[player], "byOrder": by_order[player].tolist()} for player in ranked
        ],
        "variance": order_shares(view, notes),
    }


def _combined_importance(view: Explained, players: NDArray[np.int64], notes: list[str]) -> dict[str, Any]:
    """Return the importance of main effects and pairs of the response of a combined model, on some background rows."""
    notes.append(
        f"A {view.source.response.combines} combines its members and has no margin of its own, so the page explains "
        "its prediction. Importances and components average over rows that are drawn from the background."
    )
    rows = view.background.spread_rows(_COMBINED_ROWS)
    if rows is None or isinstance(view.decomposition.weighting, PathDependent):
        return {}
    scale = ResponseScale(view.decomposition, rows, view.source.response)
    sets = scale.sets_up_to(2 if scale.n_players <= _MOST_PAIRED else 1, view.decomposition.allowed)
    values = scale.components([(), *sets], rows.bins, view.execution)
    means = np.abs(values[:, 1:]) @ (rows.weight / rows.total)
    position = {int(player): i for i, player in enumerate(players)}
    names = column_names(view.groups.names, sets, view.estimator.separator)
    by_order = sum_by_feature_and_order(sets, view.decomposition.n_players, means.T)
    importance = [
        {
            "features": [position[j] for j in members],
            "name": name,
            "order": len(members),
            "value": mean.tolist(),
        }
        for members, name, mean in zip(sets, names, means.T)
    ]
    return {
        "intercept": values[:, 0, 0].tolist(),
        "importance": sorted(importance, key=lambda term: -sum(term["value"])),
        "featureImportance": [
            {"feature": position[j], "byOrder": by_order[j].tolist()}
            for j in sorted(position, key=lambda player: -by_order[player].sum())
        ],
    }


def order_shares(view: Explained, notes: list[str]) -> list[list[dict[str, Any]]]:
    """Return, for every output, the share of each order in the variance of the margin; the rest comes last."""
    rows = view.background.spread_rows(_ROWS_FOR_SHARES)
    if rows is None:
        return []
    if rows.n_rows < view.background.n_rows:
        notes.append(
            f"The shares of the variance are computed on {rows.n_rows:,} of {view.background.n_rows:,} background rows."
        )
    decomposition, weight = view.decomposition, rows.weight / rows.weight.sum()
    n_orders = decomposition.affordable_orders(rows.n_rows, _MOST_ORDERS)
    parts = decomposition.sum_by_order(rows.bins, n_orders, view.execution)
    margin = decomposition.margins(rows.bins, view.execution)
    rest = margin - view.intercept[:, None] - parts.sum(axis=0)
    parts = np.concatenate([parts, rest[None]])
    centred = margin - (margin @ weight)[:, None]
    variance = (centred**2) @ weight
    covariance = np.einsum("qor,or,r->oq", parts, centred, weight)
    known = decomposition.all_allowed and n_orders == decomposition.players.largest
    return [
        [
            {"order": q + 1 if q < n_orders else None, "share": float(c / v) if v > 0 else 0.0}
            for q, c in enumerate(of_output[: n_orders if known else None])
        ]
        for of_output, v in zip(covariance, variance)
    ]


def score_facts(view: Explained, margin: NDArray[np.float64], y: Any, weight: Any) -> list[dict[str, Any]]:
    """Return scores of the model for rows; ``margin`` has the shape (n_outputs, n_rows)."""
    response = view.source.response
    if response.isolation is not None or response.targets or response.multilabel:
        return []
    y = np.asarray(y)
    if y.dtype.kind in "OUST" and not response.is_classifier:
        way_out = f". Pass class_names={sorted(set(y.tolist()), key=str)[:9]}, in the order of its numbers"
        raise ValueError(
            f"y holds texts such as {y.tolist()[0]!r}, but the {type(view.fitted.model).__name__} predicts numbers"
            + ("" if response.n_classes is None else way_out)
        )
    try:
        output = response.output(margin.T)
    except ValueError:  # The inverse link is unknown.
        return []
    if response.is_classifier:
        scores = _classifier_scores(view, response, output, y, weight)
    elif output.shape[1] == (1 if y.ndim == 1 else y.shape[1]):
        predicted = output[:, 0] if y.ndim == 1 else output
        scores = {
            "R²": metrics.r2_score(y, predicted, sample_weight=weight),
            "mean absolute error": metrics.mean_absolute_error(y, predicted, sample_weight=weight),
            "root mean squared error": metrics.mean_squared_error(y, predicted, sample_weight=weight) ** 0.5,
        }
    else:
        return []
    return [{"name": name, "value": float(value)} for name, value in scores.items()]


def _classifier_scores(
    view: Explained, response: Response, output: NDArray[np.float64], y: NDArray[Any], weight: Any
) -> dict[str, Any]:
    """Return accuracy, and the scores of probabilities where the model has them."""
    classes = np.asarray(getattr(view.estimator, "classes_", response.classes))
    if not np.isin(y, classes).all():
        other = np.setdiff1d(y, classes).tolist()[0]
        raise ValueError(
            f"y has the label {other!r}, but the classes of the model are {classes.tolist()}. Pass the column that the "
            "model was trained to predict, with these labels"
        )
    p = np.asarray(response.probabilities(output))
    predicted = classes[np.searchsorted(np.asarray(response.classes), response.predict(output))]
    scores = {"accuracy": metrics.accuracy_score(y, predicted, sample_weight=weight)}
    if split_link(response.link)[0] == "max_index" or not 1 < len(classes) == p.shape[1]:
        return scores
    with np.errstate(divide="ignore"):
        scores["log loss"] = metrics.log_loss(y, p, labels=classes, sample_weight=weight)
    if len(classes) == 2 and len(np.unique(y)) == 2:
        scores["area under the ROC curve"] = metrics.roc_auc_score(
            y == classes[1], p[:, 1], sample_weight=weight
        )
    return scores
