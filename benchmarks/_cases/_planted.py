"""Random planted forests."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._contenders import (
    histogram_boosting_fit,
    margin_from_components,
    planted_components,
    planted_fit,
    planted_predict,
)
from benchmarks._types import Case, Contender, Recorded, Size

HISTOGRAM_BOOSTING = Contender("HistGradientBoosting fit", histogram_boosting_fit, None, by_rows=False)


def planted(n: int, losses: bool, recorded: dict[str, float]) -> tuple[Case, ...]:
    """Return cases of random planted forests: 50 families, order 2, 30 splits, one thread.

    ``recorded`` has the CPU seconds of the R package randomPlantedForest 0.3.
    """
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
        "skglex, predict": Contender("skglex, predict", planted_predict, precision=np.float64),
        "skglex, 55 components": Contender(
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
            (
                *(Contender(label, fit, None, by_rows=False) for label, fit in fits.items()),
                HISTOGRAM_BOOSTING,
            ),
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
            Contender("skglex, 255 bins", planted_fit(max_bins=255), None, by_rows=False),
            Contender("skglex, exact", planted_fit(max_bins=None), None, by_rows=False),
            HISTOGRAM_BOOSTING,
        ),
    ),
)
