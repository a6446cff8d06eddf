"""The work: every case of the suite."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatch
from typing import Any

import numpy as np

from benchmarks._startup import STEPS, fresh
from benchmarks._ways import (
    brute_force,
    debiased,
    debiased_booster,
    histogram_boosting_fit,
    margin_from_components,
    model_predicts,
    on_background,
    ours,
    ours_partial_dependence,
    ours_with_fit,
    planted_components,
    planted_fit,
    planted_predict,
    shap_explains,
    shap_from_components,
    shapiq_explains,
    shapiq_interactions,
    shapiq_values,
    sklearn_partial_dependence,
    treehfd_explains,
    without_bias,
    woodelf_by_features,
    woodelf_components,
    woodelf_explains,
    woodelf_partial_dependence,
    xgboost_explains,
)
from benchmarks._work import Case, Data, Recorded, Size, Target, Way, times_faster, under, within

CONTRIBS = Way("XGBoost pred_contribs", xgboost_explains(pred_contribs=True), without_bias)
INTERACTIONS = Way("XGBoost pred_interactions", xgboost_explains(pred_interactions=True), without_bias)
PREDICT = Way("the model's predict", model_predicts, None)
AS_UNIT = replace(CONTRIBS, common=None)
HISTOGRAM_BOOSTING = Way("HistGradientBoosting fit", histogram_boosting_fit, None, by_rows=False)

SHAP = Way("shap", shap_explains("shap_values", "tree_path_dependent"))
SHAP_EMPIRICAL = Way("shap", shap_explains("shap_values", "interventional"))
SHAPIQ = Way("shapiq", shapiq_explains("SV", 1), shapiq_values)
SHAPIQ_PAIRS = Way("shapiq", shapiq_explains("SII", 2), shapiq_interactions)


def woodelf(method: str, weighting: str) -> Way:
    return Way("woodelf", woodelf_explains(method, weighting))


def shap_ways(weighting: str) -> tuple[Way, ...]:
    own = ours("shap_values", weighting), ours_with_fit("shap_values", weighting)
    if weighting == "path_dependent":
        return (*own, CONTRIBS, SHAP, woodelf("shap_values", weighting), SHAPIQ)
    return (*own, SHAP_EMPIRICAL, woodelf("shap_values", weighting))


def interaction_ways(weighting: str) -> tuple[Way, ...]:
    method = "shap_interaction_values"
    own = ours(method, weighting), ours_with_fit(method, weighting)
    if weighting == "path_dependent":
        shap = Way("shap", shap_explains(method, "tree_path_dependent"))
        return (*own, INTERACTIONS, shap, woodelf(method, weighting), SHAPIQ_PAIRS)
    return (*own, woodelf(method, weighting))


def component_ways(weighting: str, order: int | None) -> tuple[Way, ...]:
    parameters: dict[str, Any] = {"max_interaction": order, "remainder": False}
    own = ours("transform", weighting, **parameters), ours_with_fit("transform", weighting, **parameters)
    peers = [Way("woodelf", woodelf_components(weighting, order), woodelf_by_features)]
    if weighting == "path_dependent":
        peers.append(Way("shapiq", shapiq_explains("Moebius", order), lambda result: result[0]))
    return (*own, *peers)


def fill(extra: int) -> Way:
    """Allocate and first fill an array of the shape of the components of order 1 and 2, and a remainder."""

    def prepare(data: Data) -> Any:
        width = data.size.features * (data.size.features + 1) // 2 + extra

        def call(n: int) -> Any:
            out = np.empty((width, n))
            out.fill(0.0)
            return out

        return call

    return Way("np.empty and fill", prepare, None)


ORDER_2 = {"weighting": "path_dependent", "max_interaction": 2}


def sweep(kind: str, weighting: str, axis: str, values: tuple[int, ...], **size: int) -> Case:
    ways = shap_ways(weighting)
    words = "path-dependent" if weighting == "path_dependent" else "empirical"
    return Case(
        f"{kind}-{axis}",
        "sweeps",
        f"SHAP values, {words}, by {axis}",
        replace(Size(rows=10_000, trees=200), **size),
        ways,
        axis=axis,
        values=values,
        figure="sizes",
    )


def paper(axis: str, values: tuple[int, ...], linked: tuple[str, ...] = (), **size: int) -> Case:
    """The paper's run-time experiment: fitting included, as its times are."""
    path = "path_dependent"
    ways = (
        ours_with_fit("shap_values", path),
        replace(
            ours("transform", path, fit=True, common=shap_from_components, max_components=1_000_000),
            label="skglex, components of all orders",
        ),
        CONTRIBS,
        replace(
            ours("transform", path, fit=True, max_interaction=2, remainder=False),
            label="skglex, components to order 2",
            common=None,
        ),
        replace(INTERACTIONS, common=lambda values: without_bias(values).sum(axis=2)),
    )
    ways = (replace(ways[0], label="skglex, SHAP values"), *ways[1:])
    return Case(
        f"paper-{axis}",
        "paper",
        f"The paper's run-time figure, by {axis}",
        Size(**size),
        ways,
        axis=axis,
        values=values,
        linked=linked,
        figure="paper",
        memory=False,
    )


def planted(n: int, losses: bool, recorded: dict[str, float]) -> tuple[Case, ...]:
    """Random planted forests: 50 families, order 2, 30 splits, one thread. R: randomPlantedForest 0.3."""
    fits = {
        "skglex, 255 bins": planted_fit(max_bins=255),
        "skglex, exact": planted_fit(max_bins=None),
        "skglex, 64 bins": planted_fit(max_bins=64),
    }
    if losses:
        for loss in ("squared_error", "absolute_error", "exponential", "log_loss"):
            fits[f"skglex, {loss}"] = planted_fit(max_bins=None, loss=loss)
    size = Size(rows=n, train=n, background=n, trees=1, depth=1)
    predicted = {
        "skglex, predict": Way("skglex, predict", planted_predict, precision=np.float64),
        "skglex, 55 components": Way(
            "skglex, 55 components", planted_components, margin_from_components, np.float64
        ),
    }

    def related(labels: Any) -> tuple[Recorded, ...]:
        return tuple(
            Recorded(f"R, {label.removeprefix('skglex, ')} (recorded)", recorded[label], label)
            for label in labels
            if label in recorded
        )

    return (
        Case(
            f"planted-fit-{n}",
            "planted",
            f"Random planted forest, fit on {n:,} rows",
            size,
            (*(Way(label, way, None, by_rows=False) for label, way in fits.items()), HISTOGRAM_BOOSTING),
            recorded=related(fits),
            threads=1,
        ),
        Case(
            f"planted-predict-{n}",
            "planted",
            f"Random planted forest, {n:,} rows",
            size,
            (*predicted.values(), HISTOGRAM_BOOSTING),
            recorded=related(predicted),
            threads=1,
        ),
    )


CASES: tuple[Case, ...] = (
    # -- SHAP values
    Case(
        "shap-path",
        "shap",
        "SHAP values, path-dependent",
        Size(),
        shap_ways("path_dependent"),
        (times_faster(40, CONTRIBS.label), times_faster(20, "woodelf")),
    ),
    Case(
        "shap-empirical",
        "shap",
        "SHAP values, empirical",
        Size(),
        shap_ways("empirical"),
        (times_faster(20, "woodelf"),),
    ),
    Case(
        "shap-empirical-100",
        "shap",
        "SHAP values, empirical, small background",
        Size(background=100),
        (*shap_ways("empirical"), Way("shapiq", shapiq_explains("SV", 1, "interventional"), shapiq_values)),
    ),
    Case(
        "shap-depth-10",
        "shap",
        "SHAP values of deep trees, path-dependent",
        Size(trees=100, depth=10),
        shap_ways("path_dependent"),
        (times_faster(5, "woodelf"),),
    ),
    Case(
        "shap-forest",
        "shap",
        "SHAP values of a random forest grown to purity, path-dependent",
        Size(rows=1_000, trees=100, depth=None, train=5_000, background=5_000),
        (*(way for way in shap_ways("path_dependent") if way is not CONTRIBS),),
        (times_faster(1, "shap"),),
    ),
    Case(
        "shap-forest-empirical",
        "shap",
        "SHAP values of a random forest grown to purity, empirical",
        Size(rows=1_000, trees=100, depth=None, train=5_000, background=100),
        shap_ways("empirical"),
    ),
    Case(
        "shap-row",
        "shap",
        "SHAP values of one row, path-dependent",
        Size(rows=1),
        (
            ours("shap_values", "path_dependent"),
            CONTRIBS,
            SHAP,
            woodelf("shap_values", "path_dependent"),
            SHAPIQ,
        ),
        (under(0.001),),
        memory=False,
    ),
    # -- SHAP interaction values
    Case(
        "interactions-path",
        "interactions",
        "SHAP interaction values, path-dependent",
        Size(rows=20_000),
        interaction_ways("path_dependent"),
        (times_faster(25, INTERACTIONS.label), times_faster(15, "woodelf")),
    ),
    Case(
        "interactions-empirical",
        "interactions",
        "SHAP interaction values, empirical",
        Size(rows=20_000),
        interaction_ways("empirical"),
        (times_faster(15, "woodelf"),),
    ),
    # -- components
    Case(
        "order-2",
        "components",
        "Components of order 1 and 2",
        Size(rows=1_000_000),
        (
            ours("transform", **ORDER_2, remainder=False),
            ours_with_fit("transform", **ORDER_2, remainder=False),
            fill(0),
            AS_UNIT,
        ),
        (within(3, "np.empty and fill"),),
    ),
    Case(
        "order-2-remainder",
        "components",
        "Components of order 1 and 2 and the remainder (compared with the model: their sum)",
        Size(rows=1_000_000),
        (
            ours("transform", **ORDER_2, common=margin_from_components),
            fill(1),
            Way("the model's predict", model_predicts),
        ),
        (
            Target(
                "skglex: at most 3 times np.empty and fill plus 1.5 times the model's predict",
                lambda s: s["skglex"] / (3 * s["np.empty and fill"] + 1.5 * s["the model's predict"]),
                1.0,
                at_least=False,
                needs=("skglex", "np.empty and fill", "the model's predict"),
            ),
        ),
    ),
    Case(
        "order-2-peers",
        "components",
        "Components of order 1 and 2, path-dependent",
        Size(rows=10_000),
        component_ways("path_dependent", 2),
    ),
    Case(
        "order-3",
        "components",
        "Components to order 3, path-dependent",
        Size(rows=10_000),
        component_ways("path_dependent", 3),
    ),
    Case(
        "all-orders",
        "components",
        "Components of all orders (Möbius), path-dependent",
        Size(rows=10_000),
        component_ways("path_dependent", None),
        (times_faster(8, "woodelf"), times_faster(20, "shapiq")),
    ),
    Case(
        "all-orders-empirical",
        "components",
        "Components of all orders (Möbius), empirical",
        Size(rows=10_000),
        component_ways("empirical", None),
        (times_faster(8, "woodelf"),),
    ),
    Case(
        "all-orders-R",
        "components",
        "Components of all orders on one thread, empirical, the rows their own background",
        Size(rows=10_000, trees=100, background=10_000, train=10_000),
        (
            ours_with_fit("transform", "empirical", max_components=1_000_000),
            AS_UNIT,
        ),
        (
            Target(
                "at least 30 times faster than the R package's 219 CPU seconds",
                lambda s: 219.0 / s["skglex, with fit"],
                30,
                needs=("skglex, with fit",),
            ),
        ),
        recorded=(Recorded("R package (recorded)", 219.0, "skglex, with fit"),),
        threads=1,
    ),
    Case(
        "treehfd",
        "components",
        "Components of trees of depth 2, fit and transform (treehfd's are others; compared: their sum)",
        # only on training rows do treehfd's sum to the prediction
        Size(rows=2_000, trees=100, depth=2, background=2_000, train=2_000),
        (
            on_background(ours_with_fit("transform", "empirical", common=margin_from_components)),
            on_background(Way("treehfd", treehfd_explains)),
        ),
    ),
    # -- predictions and partial dependence
    Case(
        "debiased",
        "predict",
        "Debiased predict, one feature removed",
        Size(),
        (
            Way("skglex", debiased, precision=np.float64),
            Way("skglex, exported booster", debiased_booster),
            Way("brute force", brute_force),
            PREDICT,
        ),
    ),
    Case(
        "debiased-row",
        "predict",
        "Debiased predict of one row",
        Size(rows=1),
        (Way("skglex", debiased, precision=np.float64), Way("brute force", brute_force), PREDICT),
        (within(2, PREDICT.label),),
        memory=False,
    ),
    Case(
        "partial-dependence",
        "predict",
        "Partial dependence of every feature at 100 values",
        Size(rows=100, background=5_000),
        (
            Way("skglex", ours_partial_dependence, precision=np.float64),
            Way("scikit-learn, brute", sklearn_partial_dependence),
            Way("woodelf", woodelf_partial_dependence),
        ),
    ),
    # -- one size after another
    sweep("shap", "path_dependent", "rows", (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)),
    sweep("shap", "path_dependent", "trees", (10, 50, 200, 500, 2_000)),
    sweep("shap", "path_dependent", "depth", (2, 4, 6, 8, 10), trees=100),
    sweep("shap", "path_dependent", "features", (5, 10, 30, 100, 300)),
    sweep("shap", "empirical", "background", (100, 1_000, 10_000, 100_000, 1_000_000), trees=100, rows=1_000),
    # -- the paper's figure
    paper("rows", (100, 300, 1_000, 3_000, 10_000), ("train", "background"), features=8, depth=4, trees=100),
    paper("features", (2, 4, 6, 8, 10), rows=10_000, train=10_000, background=10_000, depth=4, trees=100),
    paper("trees", (1, 10, 100, 1_000), rows=1_000, train=1_000, background=1_000, features=8, depth=4),
    paper("depth", (2, 4, 6, 8, 10), rows=1_000, train=1_000, background=1_000, features=6, trees=100),
    # -- random planted forests
    *planted(
        1_000,
        True,
        {
            "skglex, exact": 0.77,
            "skglex, 64 bins": 0.25,
            "skglex, squared_error": 3.6,
            "skglex, absolute_error": 4.6,
            "skglex, exponential": 7.1,
            "skglex, predict": 0.06,
            "skglex, 55 components": 0.46,
        },
    ),
    *planted(
        10_000,
        False,
        {
            "skglex, exact": 9.3,
            "skglex, 64 bins": 1.16,
            "skglex, predict": 0.37,
            "skglex, 55 components": 1.9,
        },
    ),
    Case(
        "planted-fit-large",
        "planted",
        "Random planted forest, fit on 100,000 rows of 20 features",
        Size(rows=1, train=100_000, background=1, features=20, trees=1, depth=1),
        (
            Way("skglex, 255 bins", planted_fit(max_bins=255), None, by_rows=False),
            Way("skglex, exact", planted_fit(max_bins=None), None, by_rows=False),
            HISTOGRAM_BOOSTING,
        ),
    ),
    # -- first use
    Case(
        "import",
        "startup",
        "Import in a fresh process",
        Size(rows=1, trees=1, depth=1, background=100, train=100),
        tuple(
            fresh(f"import {name}", label=name)
            for name in ("skglex", "numba", "xgboost", "shap", "woodelf.explainer", "shapiq", "treehfd")
        ),
        memory=False,
    ),
    Case(
        "first-use-warm",
        "startup",
        "First SHAP values in a fresh process with a model, warm numba cache: import, fit and call",
        Size(rows=1, trees=50, depth=4, background=100, train=1_000),
        (
            fresh("skglex"),
            *(fresh("skglex", step, label=f"skglex, {step}") for step in STEPS[1:]),
            fresh("numba", label="numba and an empty cached function"),
            fresh("xgboost", label=CONTRIBS.label),
            *(fresh(name) for name in ("shap", "woodelf", "shapiq")),
        ),
        (under(0.2),),
        memory=False,
    ),
    Case(
        "first-use-cold",
        "startup",
        "First SHAP values, the whole process, empty numba cache",
        Size(rows=1, trees=50, depth=4, background=100, train=1_000),
        (
            fresh("skglex", cold=True, whole=True),
            fresh("skglex", "every method", label="skglex, every method", cold=True, whole=True),
            fresh("numba", label="numba and an empty cached function", cold=True, whole=True),
            *(fresh(name, cold=True, whole=True) for name in ("xgboost", "shap", "woodelf", "shapiq")),
        ),
        (under(15),),
        memory=False,
    ),
)


def select(patterns: list[str]) -> list[Case]:
    """Cases whose name or group matches one of the patterns, in their order; all without patterns."""
    found: dict[str, Case] = {}
    for pattern in patterns or ["*"]:
        matches = [case for case in CASES if case.group == pattern or fnmatch(case.name, pattern)]
        if not matches:
            groups = ", ".join(dict.fromkeys(case.group for case in CASES))
            raise SystemExit(f"no case matches {pattern!r}. Groups: {groups}; --list shows the cases")
        found |= {case.name: case for case in matches if case.name not in found}
    return list(found.values())


def by_name(name: str) -> Case:
    return next(case for case in CASES if case.name == name)
