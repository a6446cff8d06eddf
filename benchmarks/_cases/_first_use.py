"""First use in a fresh process."""

from __future__ import annotations

from benchmarks._cases._shared import (
    CONTRIBS,
)
from benchmarks._startup import STEPS, fresh
from benchmarks._types import Case, Size, under

CASES: tuple[Case, ...] = (
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
