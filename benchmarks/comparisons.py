"""Measure what comparisons cost, as ratios to the work that they are made of, in one run.

The model has 500 trees of depth 6 on 10 features. All times are CPU times of one thread, so that they hold on a busy
machine. Before anything is timed, the sums are compared with the model's own predictions.

Run ``python benchmarks/comparisons.py [--rows 1000000]``. This takes about five minutes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from xgboost import XGBRegressor

from skglex import GlexDecomposer
from skglex.inspection import compare_models, contrast, explain_shift, resample_components


def cpu_time(work: Callable[[], Any], repeat: int = 1) -> float:
    """Return the CPU seconds of one call."""
    start = time.process_time()
    for _ in range(repeat):
        work()
    return (time.process_time() - start) / repeat


def make_model(seed: int) -> XGBRegressor:
    """Return a model that is not fitted."""
    return XGBRegressor(n_estimators=500, max_depth=6, learning_rate=0.1, n_jobs=1, random_state=seed)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 10))
    y = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(X[:, 3]) * X[:, 4] + rng.normal(size=len(X))
    first, second = make_model(0).fit(X, y), make_model(1).fit(X, y + X[:, 5])
    decomposer = GlexDecomposer(first, n_jobs=1).fit(X)
    old, new = rng.normal(size=(args.rows, 10)), rng.normal(size=(args.rows, 10)) + 0.3

    # Kernels compile when they are first called.
    shift = explain_shift(decomposer, X[:500], X[500:1500])
    change = first.predict(X[500:1500]).mean() - first.predict(X[:500]).mean()
    assert abs(shift.change.sum() - change) < 1e-4
    pairs = contrast(decomposer, X[:100], X[100:200])
    assert np.abs(pairs.values.sum(axis=1) - first.predict(X[:100]) + first.predict(X[100:200])).max() < 1e-4
    compare_models([first, second], X[:500], n_jobs=1)

    rows = []
    predict = cpu_time(lambda: first.predict(old))
    seconds = cpu_time(lambda: explain_shift(decomposer, old, new))
    rows.append(
        (f"explain_shift, {args.rows:,} rows each", seconds, predict, "the model's predict of one data set")
    )
    one = cpu_time(lambda: first.predict(X[:1]), 200)
    rows.append(
        (
            "contrast, one pair",
            cpu_time(lambda: contrast(decomposer, X[0], X[1]), 200),
            one,
            "predict of one row",
        )
    )
    many = cpu_time(lambda: first.predict(X[:10_000]), 5)
    seconds = cpu_time(lambda: contrast(decomposer, X[:10_000], X[10_000:]))
    rows.append(("contrast, 10,000 pairs", seconds, many, "predict of 10,000 rows"))
    seconds = cpu_time(lambda: compare_models([first, second], X, n_jobs=1), 3)
    single = cpu_time(lambda: GlexDecomposer(first, n_jobs=1).fit(X).transform(X), 3)
    rows.append(("compare_models of two", seconds, single, "decomposition of one, with transform"))
    refits = cpu_time(lambda: [make_model(0).fit(X, y) for _ in range(4)])
    bands = cpu_time(
        lambda: resample_components(
            make_model(0), X, y, features=["x0", ("x0", "x1")], n_resamples=3, random_state=0
        )
    )
    rows.append(("resample_components, 3 refits and the whole", bands, refits, "the 4 fits alone"))

    print("| work | CPU seconds | ratio | to |\n|---|---|---|---|")
    for name, seconds, base, what in rows:
        print(f"| {name} | {seconds:.3g} | {seconds / base:.2f} | {what} |")


if __name__ == "__main__":
    main()
