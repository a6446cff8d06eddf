"""Count how often the bands of `resample_components` cover the learner's expected component.

Every simulated data set is one draw of the paper's importance simulation. For each, the bands of all main effects and
of one interaction are computed at fixed points over a fixed background. The expected component is the mean over 1,000
fits on fresh training sets of the same size, over the same background. The table also has the share of the points at
which the bands cover the true function; they need not, since a learner is biased.

Run ``python benchmarks/band_coverage.py [--data-sets 200] [--refits 40] [--fresh 1000] [--jobs 2]``. This takes
about ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import norm
from xgboost import XGBRegressor

from skglex import GlexDecomposer
from skglex.datasets import make_importance
from skglex.inspection import resample_components

N_ROWS = 500
# The columns x0 ... x3 are the paper's x1 ... x4, so the interaction is the paper's x2:x3.
COMPONENTS = ["x0", "x1", "x2", "x3", "x1:x2"]
TRUTH = {
    "x0": lambda x: x,
    "x1": np.zeros_like,
    "x2": lambda x: x,
    "x3": np.zeros_like,
    "x1:x2": lambda x, z: x * z,
}
# Quantiles of the features, from 2.5 % to 97.5 %.
POINTS = norm.ppf(np.linspace(0.025, 0.975, 20))
METHODS = {
    "bootstrap": {"method": "bootstrap"},
    "subsample, half of the rows": {"method": "subsample", "train_size": 0.5},
    "10 folds": {"method": 10},
}


def make_learner() -> XGBRegressor:
    """Return the learner."""
    return XGBRegressor(n_estimators=50, max_depth=3, learning_rate=0.1, n_jobs=1)


def grid_rows(component: str) -> np.ndarray:
    """Return rows with all points of a component, in the order of the bands."""
    columns = [int(name[1]) for name in component.split(":")]
    at = np.stack(np.meshgrid(*[POINTS] * len(columns), indexing="ij")).reshape(len(columns), -1)
    rows = np.zeros((at.shape[1], 4))
    rows[:, columns] = at.T
    return rows


def expected_components(background: np.ndarray, n_fresh: int) -> dict[str, np.ndarray]:
    """Return the mean of every component over fits on fresh data."""
    rows = {component: grid_rows(component) for component in COMPONENTS}
    total = {component: np.zeros(len(rows[component])) for component in COMPONENTS}
    for seed in range(n_fresh):
        X, y = make_importance(N_ROWS, random_state=1_000_000 + seed)
        # Naming all features says that the remainder is left out on purpose.
        decomposer = GlexDecomposer(make_learner().fit(X, y), features=[0, 1, 2, 3]).fit(background)
        for component in COMPONENTS:
            if component in decomposer:
                total[component] += decomposer[component].evaluate(rows[component]) / n_fresh
    return total


def coverage_of_data_set(
    seed: int, background: np.ndarray, expected: dict[str, np.ndarray], n_refits: int
) -> np.ndarray:
    """Return, by method and component: coverage of the expected and of the true component, and width."""
    warnings.simplefilter("ignore")
    X, y = make_importance(N_ROWS, random_state=seed)
    grid = dict.fromkeys(["x0", "x1", "x2", "x3"], POINTS)
    found = np.empty((len(METHODS), len(COMPONENTS), 3))
    for i, options in enumerate(METHODS.values()):
        how = {
            "n_resamples": n_refits,
            "background": background,
            "grid": grid,
            "random_state": seed,
            **options,
        }
        bands = resample_components(make_learner(), X, y, features=COMPONENTS, **how)
        for j, component in enumerate(COMPONENTS):
            low, high = (end.ravel() for end in bands.band(component))
            rows = grid_rows(component)
            truth = TRUTH[component](*(rows[:, int(feature[1])] for feature in component.split(":")))
            covers = [((low <= value) & (value <= high)).mean() for value in (expected[component], truth)]
            found[i, j] = *covers, (high - low).mean()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-sets", type=int, default=200)
    parser.add_argument("--refits", type=int, default=40)
    parser.add_argument("--fresh", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    background, _ = make_importance(N_ROWS, random_state=2**31 - 1)
    expected = expected_components(background, args.fresh)
    run = delayed(coverage_of_data_set)
    tasks = (run(seed, background, expected, args.refits) for seed in range(args.data_sets))
    coverage = np.mean(Parallel(n_jobs=args.jobs, verbose=5)(tasks), axis=0)
    print(f"{args.data_sets} data sets of {N_ROWS} rows, {args.refits} refits, {args.fresh} fresh fits\n")
    print("| method | component | expected component | true function | width |\n|---|---|---|---|---|")
    for name, of_method in zip(METHODS, coverage):
        numbers = [*of_method, of_method.mean(axis=0)]
        for component, (of_expected, of_truth, width) in zip([*COMPONENTS, "mean"], numbers):
            print(f"| {name} | {component} | {of_expected:.1%} | {of_truth:.1%} | {width:.3f} |")


if __name__ == "__main__":
    main()
