"""Components of several orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._cases._shared import (
    AS_UNIT,
)
from benchmarks._contenders import (
    margin_from_components,
    model_predicts,
    on_background,
    shapiq_explains,
    skglex_method,
    skglex_method_with_fit,
    treehfd_explains,
    woodelf_columns_by_features,
    woodelf_components,
)
from benchmarks._types import Case, Contender, Data, Recorded, Size, Target, times_faster, within

ORDER_2 = {"weighting": "path_dependent", "max_interaction": 2}


def component_contenders(weighting: str, order: int | None) -> tuple[Contender, ...]:
    """Return the contenders for components up to an order."""
    parameters: dict[str, Any] = {"max_interaction": order, "remainder": False}
    skglex = (
        skglex_method("transform", weighting, **parameters),
        skglex_method_with_fit("transform", weighting, **parameters),
    )
    peers = [Contender("woodelf", woodelf_components(weighting, order), woodelf_columns_by_features)]
    if weighting == "path_dependent":
        peers.append(Contender("shapiq", shapiq_explains("Moebius", order), lambda result: result[0]))
    return (*skglex, *peers)


def fill(extra: int) -> Contender:
    """Return a unit of time: allocate and fill an array for the components of order 1 and 2 and ``extra`` columns."""

    def prepare(data: Data) -> Any:
        width = data.size.features * (data.size.features + 1) // 2 + extra

        def call(n: int) -> Any:
            out = np.empty((width, n))
            out.fill(0.0)
            return out

        return call

    return Contender("np.empty and fill", prepare, None)


CASES: tuple[Case, ...] = (
    Case(
        "order-2",
        "components",
        "Components of order 1 and 2",
        Size(rows=1_000_000),
        (
            skglex_method("transform", **ORDER_2, remainder=False),
            skglex_method_with_fit("transform", **ORDER_2, remainder=False),
            fill(0),
            AS_UNIT,
        ),
        (within(3, "np.empty and fill"),),
    ),
    Case(
        "order-2-remainder",
        "components",
        "Components of order 1 and 2 and the remainder (their sum is compared with the model)",
        Size(rows=1_000_000),
        (
            skglex_method("transform", **ORDER_2, comparable=margin_from_components),
            fill(1),
            Contender("the model's predict", model_predicts),
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
        component_contenders("path_dependent", 2),
    ),
    Case(
        "order-3",
        "components",
        "Components to order 3, path-dependent",
        Size(rows=10_000),
        component_contenders("path_dependent", 3),
    ),
    Case(
        "all-orders",
        "components",
        "Components of all orders (Möbius), path-dependent",
        Size(rows=10_000),
        component_contenders("path_dependent", None),
        (times_faster(8, "woodelf"), times_faster(20, "shapiq")),
    ),
    Case(
        "all-orders-empirical",
        "components",
        "Components of all orders (Möbius), empirical",
        Size(rows=10_000),
        component_contenders("empirical", None),
        (times_faster(8, "woodelf"),),
    ),
    Case(
        "all-orders-R",
        "components",
        "Components of all orders on one thread, empirical, with the rows as background",
        Size(rows=10_000, trees=100, background=10_000, train=10_000),
        (
            skglex_method_with_fit("transform", "empirical", max_components=1_000_000),
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
        "Components of trees of depth 2, fit and transform (treehfd defines them differently; compared: their sum)",
        # The components of treehfd sum to the prediction on training rows only.
        Size(rows=2_000, trees=100, depth=2, background=2_000, train=2_000),
        (
            on_background(
                skglex_method_with_fit("transform", "empirical", comparable=margin_from_components)
            ),
            on_background(Contender("treehfd", treehfd_explains)),
        ),
    ),
)
