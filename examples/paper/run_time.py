"""The appendix: run time by rows, features, trees and depth."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xgboost as xgb

from examples.paper.models import xgboost
from examples.paper.report import Report
from skglex import GlexDecomposer
from skglex.datasets import make_runtime

PAIRS = "skglex, main effects and pairs"
PAIRS_BY_PATH = "the same, path-dependent"
ALL = "skglex, all orders"
CONTRIBUTIONS = "XGBoost, SHAP values"
INTERACTIONS = "XGBoost, SHAP interactions"
STYLES = {
    INTERACTIONS: ("#D55E00", "s"),
    CONTRIBUTIONS: ("#E69F00", "D"),
    ALL: ("#56B4E9", "^"),
    PAIRS: ("#0072B2", "o"),
    PAIRS_BY_PATH: ("#000000", "x"),
}

# These are the rows, features, trees and depths of the paper's four panels.
GRIDS = {
    "rows": [{"n": n, "p": 8, "depth": 4, "rounds": 100} for n in (100, 1_000, 2_500, 5_000, 10_000)],
    "features": [{"n": 10_000, "p": p, "depth": 4, "rounds": 100} for p in (2, 4, 6, 8, 10)],
    "trees": [{"n": 1_000, "p": 8, "depth": 4, "rounds": r} for r in (1, 10, 100, 300, 1_000)],
    "depth": [{"n": 1_000, "p": 6, "depth": d, "rounds": 100} for d in (2, 4, 6, 8, 10)],
}
VARIED = {"rows": "n", "features": "p", "trees": "rounds", "depth": "depth"}

# These are CPU seconds of the R package on one core of another machine, for both weightings: empirical, path-dependent.
QUOTED = [
    ("depth 3, all orders", 3, None, ["1.07 / 0.91", "5.4 / 4.5"]),
    ("depth 6, orders 1 and 2", 6, 2, ["1.6 / 1.6", "23.5 / 19.4"]),
    ("depth 6, all orders", 6, None, ["36.5 / 32.2", "219 / -"]),
]

INTRODUCTION = r"""
:math:`y = x_1 + x_2 + 2 x_1 x_2 + \varepsilon` with :math:`p` features, all normal and independent; :math:`n` rows
to train with and :math:`n` rows to explain. CPU seconds to decompose those, on one thread: ``fit`` with these rows
as the background (empirical, if not said otherwise) and ``transform``, without training the model; XGBoost's own
SHAP values (``pred_contribs``) and SHAP interactions (``pred_interactions``) in the same run. Unless varied: 10,000
rows for the second panel, 1,000 for the third and fourth, 8 features (fourth: 6), depth 4, 100 trees.
"""

CLAIM = """
The paper's claim: interactions of two features in about the time of XGBoost's own SHAP interactions.
"""

DIFFERENCES = """
* The claim holds with a large margin: components are worked out once per leaf and then looked up, so rows cost next
  to nothing, and what grows with the rows in the first panel is above all XGBoost's time.
* With a hundred rows or a handful of trees, what is fixed per call (reading the model, checks) is more than
  XGBoost's SHAP values take.
* All orders cost more than pairs, as in the paper's figure. From a depth of about 6 on, some components of five and
  six features have too many cells for tables; they are summed over the leaves for each row (the step of the light
  blue line in the fourth panel).
* Another machine, another year: R's seconds are quoted and were not measured here.
"""


def write(report: Report, quick: bool) -> None:
    grids = {name: grid[:2] if quick else grid for name, grid in GRIDS.items()}
    _measure(n=100, p=3, depth=2, rounds=2)  # This call compiles the kernels.
    times = {}
    for name, grid in grids.items():
        times[name] = [_measure(**setting, slow_rows=50 if quick else 2_000) for setting in grid]
    report.title("Run time (appendix)", level=1)
    report.text(INTRODUCTION)
    report.figure(_draw(grids, times), "run_time", "Seconds by rows, features, trees and depth")
    report.text(CLAIM)
    largest = times["rows"][-1]
    n = grids["rows"][-1]["n"]
    report.table(
        [f"{n:,} rows, 8 features, depth 4, 100 trees", "CPU seconds", "times as fast as SHAP interactions"],
        [[name, f"{largest[name]:.3g}", f"{largest[INTERACTIONS] / largest[name]:,.1f}"] for name in STYLES],
    )
    report.text(
        f"XGBoost {xgb.__version__}, one thread of {os.cpu_count()} cores. CPU seconds with 10 features, 100 trees, "
        "and the rows as their own background (empirical / path-dependent weights):"
    )
    sizes = [1_000] if quick else [1_000, 10_000]
    head = ["", *(f"{n:,} rows, {who}" for n in sizes for who in ("R, quoted", "skglex"))]
    rows = []
    for label, depth, order, quoted in QUOTED:
        cells = []
        for n, theirs in zip(sizes, quoted):
            cells += [theirs, _cpu_seconds(n, depth, order)]
        rows.append([label, *cells])
    report.table(head, rows)
    report.text(DIFFERENCES)


def _data(n: int, p: int, depth: int, rounds: int) -> tuple[Any, np.ndarray]:
    X, y = make_runtime(2 * n, p, random_state=0)
    return xgboost(rounds, depth).fit(X[:n], y[:n]), X[n:]


def _decompose(model: Any, X: np.ndarray, order: int | None, weighting: str = "empirical") -> None:
    decomposer = GlexDecomposer(
        model, weighting=weighting, max_interaction=order, remainder=False, check_additivity=False, n_jobs=1
    )
    decomposer.fit(X).transform(X)


def _measure(n: int, p: int, depth: int, rounds: int, slow_rows: int = 2_000) -> dict[str, float]:
    """CPU seconds by task; XGBoost's interactions, whose time is proportional to the rows, on ``slow_rows`` at most."""
    model, X = _data(n, p, depth, rounds)
    booster = model.get_booster()
    rows = xgb.DMatrix(X, nthread=1)
    few = xgb.DMatrix(X[:slow_rows], nthread=1)
    return {
        PAIRS: _seconds(lambda: _decompose(model, X, 2)),
        PAIRS_BY_PATH: _seconds(lambda: _decompose(model, X, 2, "path_dependent")),
        ALL: _seconds(lambda: _decompose(model, X, None)),
        CONTRIBUTIONS: _seconds(lambda: booster.predict(rows, pred_contribs=True), 1),
        INTERACTIONS: _seconds(lambda: booster.predict(few, pred_interactions=True), 1)
        * max(n / slow_rows, 1),
    }


def _seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def _cpu_seconds(n: int, depth: int, order: int | None) -> str:
    model, X = _data(n, 10, depth, 100)
    cells = []
    for weighting in ("empirical", "path_dependent"):
        start = time.process_time()
        _decompose(model, X, order, weighting)
        cells.append(f"{time.process_time() - start:.2f}")
    return " / ".join(cells)


def _draw(grids: dict[str, list[dict[str, int]]], times: dict[str, list[dict[str, float]]]) -> plt.Figure:
    figure, axes = plt.subplots(1, 4, figsize=(13, 4.2), sharey=True, layout="constrained")
    for ax, (name, grid) in zip(axes, grids.items()):
        at = [setting[VARIED[name]] for setting in grid]
        for task, (colour, marker) in STYLES.items():
            ax.plot(at, [t[task] for t in times[name]], color=colour, marker=marker, lw=1.8, label=task)
        ax.set(yscale="log", xlabel=name, xscale="log" if name in ("rows", "trees") else "linear")
        ax.grid(axis="y", lw=0.5, alpha=0.5)
    axes[0].set_ylabel("CPU seconds")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=10)
    return figure
