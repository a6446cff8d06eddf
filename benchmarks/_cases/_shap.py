"""SHAP values and SHAP interaction values."""

from __future__ import annotations

from benchmarks._cases._shared import (
    CONTRIBS,
    INTERACTIONS,
    SHAP,
    SHAPIQ,
    interaction_contenders,
    shap_contenders,
    woodelf,
)
from benchmarks._contenders import (
    shapiq_explains,
    shapiq_values,
    skglex_method,
)
from benchmarks._types import Case, Contender, Size, times_faster, under

CASES: tuple[Case, ...] = (
    Case(
        "shap-path",
        "shap",
        "SHAP values, path-dependent",
        Size(),
        shap_contenders("path_dependent"),
        (times_faster(40, CONTRIBS.label), times_faster(20, "woodelf")),
    ),
    Case(
        "shap-empirical",
        "shap",
        "SHAP values, empirical",
        Size(),
        shap_contenders("empirical"),
        (times_faster(20, "woodelf"),),
    ),
    Case(
        "shap-empirical-100",
        "shap",
        "SHAP values, empirical, small background",
        Size(background=100),
        (
            *shap_contenders("empirical"),
            Contender("shapiq", shapiq_explains("SV", 1, "interventional"), shapiq_values),
        ),
    ),
    Case(
        "shap-depth-10",
        "shap",
        "SHAP values of deep trees, path-dependent",
        Size(trees=100, depth=10),
        shap_contenders("path_dependent"),
        (times_faster(5, "woodelf"),),
    ),
    Case(
        "shap-forest",
        "shap",
        "SHAP values of a random forest grown to purity, path-dependent",
        Size(rows=1_000, trees=100, depth=None, model="random forest", train=5_000, background=5_000),
        (*(contender for contender in shap_contenders("path_dependent") if contender is not CONTRIBS),),
        (times_faster(1, "shap"),),
    ),
    Case(
        "shap-forest-empirical",
        "shap",
        "SHAP values of a random forest grown to purity, empirical",
        Size(rows=1_000, trees=100, depth=None, model="random forest", train=5_000, background=100),
        shap_contenders("empirical"),
    ),
    Case(
        "shap-row",
        "shap",
        "SHAP values of one row, path-dependent",
        Size(rows=1),
        (
            skglex_method("shap_values", "path_dependent"),
            CONTRIBS,
            SHAP,
            woodelf("shap_values", "path_dependent"),
            SHAPIQ,
        ),
        (under(0.001),),
        memory=False,
    ),
    Case(
        "interactions-path",
        "interactions",
        "SHAP interaction values, path-dependent",
        Size(rows=20_000),
        interaction_contenders("path_dependent"),
        (times_faster(25, INTERACTIONS.label), times_faster(15, "woodelf")),
    ),
    Case(
        "interactions-empirical",
        "interactions",
        "SHAP interaction values, empirical",
        Size(rows=20_000),
        interaction_contenders("empirical"),
        (times_faster(15, "woodelf"),),
    ),
)
