"""Deep and wide models: boosted trees with many leaves, forests grown to purity, hundreds of features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks._cases._shared import SHAP, SHAPIQ, SHAPIQ_PAIRS, woodelf
from benchmarks._contenders import (
    catboost_explains,
    lightgbm_explains,
    off_diagonal,
    shap_explains,
    shap_on_whole_background,
    shapiq_explains,
    shapiq_interactions,
    shapiq_values,
    skglex_method,
    training,
    without_bias,
    woodelf_columns_by_features,
    woodelf_components,
    woodelf_interactions,
    woodelf_pairs,
    xgboost_explains,
)
from benchmarks._types import (
    Case,
    Contender,
    Data,
    Size,
    Skipped,
    Target,
    first_of,
    times_faster,
    under,
    within,
)

VALUES, PAIRS = "shap_values", "shap_interaction_values"
WITH_FIT = "skglex, with fit"
WORDS = {"path_dependent": "path-dependent", "empirical": "empirical"}
QUICK = {
    "rows": 60,
    "trees": 4,
    "depth": 9,
    "leaves": 31,
    "features": 20,
    "background": 80,
    "train": 400,
}


def pairs_without_bias(values: Any) -> Any:
    """Return the interactions of pairs alone, without the bias in the last row and column."""
    return off_diagonal(without_bias(values))


OWN = {
    "xgboost": {
        VALUES: Contender("XGBoost pred_contribs", xgboost_explains(pred_contribs=True), without_bias),
        PAIRS: Contender(
            "XGBoost pred_interactions", xgboost_explains(pred_interactions=True), pairs_without_bias
        ),
    },
    # LightGBM has no interactions. Its float64 sums and those of CatBoost differ by the rounding of the leaf values.
    "lightgbm": {VALUES: Contender("LightGBM pred_contrib", lightgbm_explains, without_bias)},
    "catboost": {
        VALUES: Contender(
            "CatBoost ShapValues", catboost_explains("ShapValues", "path_dependent"), without_bias
        ),
        PAIRS: Contender(
            "CatBoost ShapInteractionValues",
            catboost_explains("ShapInteractionValues", "path_dependent"),
            pairs_without_bias,
        ),
    },
}


def explained(method: str, weighting: str) -> tuple[Contender, Contender]:
    """Return skglex without and with its fit."""
    comparable = off_diagonal if method == PAIRS else None
    fitted = skglex_method(method, weighting, comparable=comparable)
    with_fit = skglex_method(method, weighting, WITH_FIT, fit=True, comparable=comparable)
    # All rows are timed: to find the number of rows within a budget takes several calls with their fits.
    return replace(fitted, by_rows=False), replace(with_fit, by_rows=False)


def refuses(reason: str) -> Any:
    """Return the untimed part of a peer that does not do this work."""

    def prepare(data: Data) -> Any:
        raise Skipped(reason)

    return prepare


def peers(method: str, weighting: str, model: str) -> tuple[Contender, ...]:
    """Return the peers for SHAP values or interactions of a model."""
    path = weighting == "path_dependent"
    own = OWN.get(model, {})
    found = [own[method]] if path and method in own else []
    if model == "catboost" and not path and method == VALUES:
        found.append(replace(own[VALUES], prepare=catboost_explains("ShapValues", weighting)))
    if method == VALUES:
        found += [
            SHAP if path else Contender("shap", shap_on_whole_background(method)),
            woodelf(method, weighting),
            SHAPIQ
            if path
            else Contender("shapiq", shapiq_explains("SV", 1, "interventional"), shapiq_values),
        ]
        return tuple(found)
    shap = (
        shap_explains(method, "tree_path_dependent") if path else refuses("no interactions on a background")
    )
    shapiq = SHAPIQ_PAIRS if path else Contender("shapiq", shapiq_explains("SII", 2, "interventional"))
    found += [
        Contender("shap", shap, off_diagonal),
        Contender("woodelf", woodelf_pairs(weighting), woodelf_interactions),
        replace(shapiq, comparable=lambda result: off_diagonal(shapiq_interactions(result))),
    ]
    return tuple(found)


def deep(
    name: str, title: str, size: Size, contenders: tuple[Contender, ...], *targets: Target, **more: Any
) -> Case:
    """Return a case of this group."""
    return Case(f"deep-{name}", "deep", title, size, contenders, targets, quick=QUICK, **more)


def boosted(name: str, words: str, size: Size) -> Iterator[Case]:
    """Yield the cases of one boosted model: values, interactions, the first rows, main effects and pairs."""
    own, first_rows = OWN[size.model], replace(size, rows=10, background=1_000)
    unit = replace(own[VALUES], comparable=None)
    for weighting in ("path_dependent", "empirical"):
        path, short = weighting == "path_dependent", WORDS[weighting]
        contenders = (*explained(VALUES, weighting), *peers(VALUES, weighting, size.model))
        factor = 40 if path else 30
        if not path:
            # The library's own contributions are path-dependent, so they are only a unit of time here.
            contenders += (replace(unit, label=f"{unit.label}, path-dependent"),)
        label = own[VALUES].label + ("" if path else ", path-dependent")
        yield deep(
            f"{name}-values-{short}",
            f"SHAP values of {words}, {short}",
            size,
            contenders,
            times_faster(factor, label, WITH_FIT),
        )
        contenders = (*explained(PAIRS, weighting), *peers(PAIRS, weighting, size.model))
        rival = times_faster(20, own[PAIRS].label, WITH_FIT) if path and size.model == "xgboost" else None
        rival = times_faster(15, "woodelf", WITH_FIT) if size.model == "lightgbm" else rival
        yield deep(
            f"{name}-interactions-{short}",
            f"SHAP interaction values of {words}, {short}",
            replace(size, rows=1_000),
            contenders,
            *([rival] if rival else []),
        )
        yield deep(
            f"{name}-first-rows-{short}",
            f"The first 10 rows of {words}, fit included, {short}",
            first_rows,
            (explained(VALUES, weighting)[1], *peers(VALUES, weighting, size.model)),
            under(3, WITH_FIT),
            memory=False,
        )
    yield deep(
        f"{name}-pairs",
        f"Main effects and pairs of {words}, fit included",
        size,
        (
            skglex_method("transform", "empirical", WITH_FIT, fit=True, max_interaction=2),
            replace(
                skglex_method("transform", "path_dependent", fit=True, max_interaction=2),
                label=f"{WITH_FIT}, path-dependent",
                comparable=None,
            ),
            Contender("woodelf", woodelf_components("empirical", 2), woodelf_columns_by_features),
        ),
        within(2, f"{WITH_FIT}, path-dependent", WITH_FIT),
    )


def grid(data: str, features: int, words: str, depths: tuple[int, ...]) -> Iterator[Case]:
    """Yield the sweeps over depth on one data set: LightGBM, 100 trees of up to 2,024 leaves."""
    for weighting in ("path_dependent", "empirical"):
        for method, rows in ((VALUES, 5_000), (PAIRS, 500)):
            kind = "values" if method == VALUES else "interactions"
            others = peers(method, weighting, "lightgbm")
            yield deep(
                f"{data}-{kind}-{WORDS[weighting]}",
                f"SHAP {kind} by depth, {words}, {WORDS[weighting]}",
                Size(rows, 100, depths[0], features, 50_000, 100_000, 2_024, "lightgbm", data),
                (*explained(method, weighting), *others),
                first_of(tuple(peer.label for peer in others), WITH_FIT),
                axis="depth",
                values=depths,
                figure="deep",
            )


def wide() -> Iterator[Case]:
    """Yield the headline setting of woodelf: 100 trees of depth 6 on 127 features, a large background."""
    size = Size(300_000, 100, 6, 127, 500_000, 100_000, None, "xgboost", "counts")
    for weighting in ("path_dependent", "empirical"):
        short = WORDS[weighting]
        for method, rows, factor in ((VALUES, 300_000, 12), (PAIRS, 20_000, 8)):
            kind = "values" if method == VALUES else "interactions"
            yield deep(
                f"wide-{kind}-{short}",
                f"SHAP {kind} of 100 trees of depth 6 on 127 features, {short}",
                replace(size, rows=rows),
                (*explained(method, weighting), *peers(method, weighting, size.model)),
                times_faster(factor, "woodelf", WITH_FIT),
            )


def forest(name: str, words: str, size: Size) -> Iterator[Case]:
    """Yield the cases of one forest grown to purity, on one thread."""
    unit = Contender("the forest's own training", training, None, by_rows=False)
    order = 1 if size.data == "words" else 2
    component = skglex_method("transform", "empirical", WITH_FIT, fit=True, max_interaction=order)
    shown = "main effects" if order == 1 else "main effects and pairs"
    yield deep(
        f"{name}-components",
        f"The {shown} of {words}, fit included",
        replace(size, rows=size.train),
        (replace(component, by_rows=False), unit),
        within(3, unit.label, WITH_FIT),
        threads=1,
    )
    if order == 1:
        return
    yield deep(
        f"{name}-values",
        f"SHAP values of {words}, path-dependent",
        replace(size, rows=1_000),
        (*explained(VALUES, "path_dependent"), *peers(VALUES, "path_dependent", size.model)),
        times_faster(1, "shap"),
        threads=1,
    )
    for background in (100, 1_000):
        yield deep(
            f"{name}-rows-{background}",
            f"SHAP values of 20 rows of {words} against {background:,} background rows, fit included",
            replace(size, rows=20, background=background),
            (explained(VALUES, "empirical")[1], *peers(VALUES, "empirical", size.model)),
            times_faster(1, "shap", WITH_FIT),
            threads=1,
        )
    yield deep(
        f"{name}-row",
        f"SHAP values of one row of {words} against 100 background rows",
        replace(size, rows=1, background=100),
        (*explained(VALUES, "empirical"), *peers(VALUES, "empirical", size.model)),
        under(1),
        threads=1,
        memory=False,
    )


def boosted_size(model: str, trees: int, depth: int | None, leaves: int | None) -> Size:
    """Return the size of one of the boosted models: 30 features, 10,000 rows, 50,000 background rows."""
    return Size(10_000, trees, depth, 30, 50_000, 50_000, leaves, model, "continuous")


DEPTHS = (6, 9, 12, 15, 18, 21)

CASES: tuple[Case, ...] = (
    *boosted("lightgbm-63", "LightGBM, 1,000 trees of 63 leaves", boosted_size("lightgbm", 1_000, None, 63)),
    *boosted("lightgbm-255", "LightGBM, 500 trees of 255 leaves", boosted_size("lightgbm", 500, None, 255)),
    *boosted("xgboost-8", "XGBoost, 500 trees of depth 8", boosted_size("xgboost", 500, 8, None)),
    *boosted("xgboost-12", "XGBoost, 200 trees of depth 12", boosted_size("xgboost", 200, 12, None)),
    *boosted("catboost-8", "CatBoost, 500 trees of depth 8", boosted_size("catboost", 500, 8, None)),
    *grid("mixed", 397, "397 features of mixed kinds with missing values", DEPTHS),
    *grid("continuous", 28, "28 continuous features", DEPTHS),
    *grid("counts", 121, "121 features, many of them counts", DEPTHS),
    *grid("bike", 13, "bike sharing", (6, 12, 21)),
    *grid("adult", 14, "adult", (6, 12, 21)),
    *wide(),
    *forest(
        "forest-bike",
        "a random forest on bike sharing",
        Size(1_000, 100, None, 13, 1_000, 17_379, None, "random forest", "bike"),
    ),
    *forest(
        "forest-continuous",
        "a random forest on 50,000 rows of 9 features",
        Size(1_000, 100, None, 9, 1_000, 50_000, None, "random forest", "continuous"),
    ),
    *forest(
        "extra-trees-bike",
        "extra trees on bike sharing",
        Size(1_000, 100, None, 13, 1_000, 17_379, None, "extra trees", "bike"),
    ),
    *forest(
        "forest-words",
        "a random forest on 1,000 words",
        Size(1_000, 100, None, 1_000, 1_000, 5_000, None, "random forest", "words"),
    ),
)
