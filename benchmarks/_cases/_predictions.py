"""Debiased predictions and partial dependence."""

from __future__ import annotations

import numpy as np

from benchmarks._contenders import (
    brute_force,
    debiased,
    debiased_booster,
    model_predicts,
    skglex_partial_dependence,
    sklearn_partial_dependence,
    woodelf_partial_dependence,
)
from benchmarks._types import Case, Contender, Size, within

PREDICT = Contender("the model's predict", model_predicts, None)


CASES: tuple[Case, ...] = (
    Case(
        "debiased",
        "predict",
        "Debiased predict, one feature removed",
        Size(),
        (
            Contender("skglex", debiased, precision=np.float64),
            Contender("skglex, exported booster", debiased_booster),
            Contender("brute force", brute_force),
            PREDICT,
        ),
    ),
    Case(
        "debiased-row",
        "predict",
        "Debiased predict of one row",
        Size(rows=1),
        (Contender("skglex", debiased, precision=np.float64), Contender("brute force", brute_force), PREDICT),
        (within(2, PREDICT.label),),
        memory=False,
    ),
    Case(
        "partial-dependence",
        "predict",
        "Partial dependence of every feature at 100 values",
        Size(rows=100, background=5_000),
        (
            Contender("skglex", skglex_partial_dependence, precision=np.float64),
            Contender("scikit-learn, brute", sklearn_partial_dependence),
            Contender("woodelf", woodelf_partial_dependence),
        ),
    ),
)
