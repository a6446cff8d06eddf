"""Time of fitting and predicting with a random planted forest, related to histogram gradient boosting.

CPU seconds on one core; ten features, 50 families, max_interaction=2, n_splits=30. The calibration is
``HistGradientBoostingRegressor(max_iter=100).fit`` on the same data with one thread. The R package's seconds
(randomPlantedForest 0.3, C++, another machine) are constants here.

Run ``python benchmarks/planted_forest_speed.py [--large]``. One minute; ``--large`` adds 100,000 rows x 20
features.
"""

from __future__ import annotations

import argparse
import resource
from time import perf_counter, process_time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from skglex import GlexDecomposer, RandomPlantedForestClassifier, RandomPlantedForestRegressor

# CPU seconds of the R package, by (n, what)
R_SECONDS = {
    (1000, "fit, exact"): 0.77,
    (10000, "fit, exact"): 9.3,
    (1000, "fit, 64 bins"): 0.25,
    (10000, "fit, 64 bins"): 1.16,
    (1000, "predict"): 0.06,
    (10000, "predict"): 0.37,
    (1000, "55 components"): 0.46,
    (10000, "55 components"): 1.9,
    (1000, "fit, squared_error"): 3.6,
    (1000, "fit, absolute_error"): 4.6,
    (1000, "fit, exponential"): 7.1,
}


def make(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1] + rng.normal(size=n)


def best_of(function, repeats: int = 3, clock=process_time) -> float:
    seconds = []
    for _ in range(repeats):
        start = clock()
        function()
        seconds.append(clock() - start)
    return min(seconds)


def regressor(**parameters) -> RandomPlantedForestRegressor:
    return RandomPlantedForestRegressor(50, max_interaction=2, n_splits=30, random_state=0, **parameters)


def classifier(loss: str) -> RandomPlantedForestClassifier:
    return RandomPlantedForestClassifier(
        50, max_interaction=2, n_splits=30, max_bins=None, loss=loss, random_state=0
    )


def report(n: int) -> None:
    X, y = make(n, 10)
    labels = (y > 0).astype(int)
    fitted = regressor(max_bins=None).fit(X, y)
    tasks = {
        "fit, exact": lambda: regressor(max_bins=None).fit(X, y),
        "fit, 255 bins": lambda: regressor(max_bins=255).fit(X, y),
        "fit, 64 bins": lambda: regressor(max_bins=64).fit(X, y),
        "predict": lambda: fitted.predict(X),
        "55 components": lambda: GlexDecomposer(fitted, check_additivity=False).fit(X).transform(X),
    }
    for loss in ("squared_error", "absolute_error", "exponential", "log_loss"):
        tasks[f"fit, {loss}"] = lambda loss=loss: classifier(loss).fit(X, labels)
    with threadpool_limits(1):
        calibration = best_of(lambda: HistGradientBoostingRegressor(max_iter=100).fit(X, y))
        print(f"| {n:,} | calibration | {calibration:.3f} | 1.00 | | |")
        for name, task in tasks.items():
            seconds = best_of(task)
            theirs = R_SECONDS.get((n, name))
            r = f"{theirs} | {seconds / theirs:.2f}" if theirs else " | "
            print(f"| {n:,} | {name} | {seconds:.3f} | {seconds / calibration:.2f} | {r} |")


def report_two_cores(n: int, d: int) -> None:
    X, y = make(n, d)
    for max_bins in (None, 255):
        one, two = (
            best_of(lambda m=max_bins, j=n_jobs: regressor(max_bins=m, n_jobs=j).fit(X, y), 3, perf_counter)
            for n_jobs in (1, 2)
        )
        print(
            f"{n:,} x {d}, max_bins={max_bins}: {one:.2f} s on one core, {two:.2f} s on two, "
            f"{one / two:.2f} times as fast"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", action="store_true")
    args = parser.parse_args()
    print("| n | what | CPU seconds | / calibration | R | ours / R |\n|---|---|---|---|---|---|")
    report(1000)
    report(10000)
    report_two_cores(10000, 10)
    if args.large:
        X, y = make(100_000, 20)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for max_bins in (255, None):
            seconds = best_of(lambda m=max_bins: regressor(max_bins=m, n_jobs=2).fit(X, y), 1, perf_counter)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            print(
                f"100,000 x 20, max_bins={max_bins}, two jobs: {seconds:.1f} s, "
                f"{(peak - before) / 1024:.0f} MB more"
            )


if __name__ == "__main__":
    main()
