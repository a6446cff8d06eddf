"""Compare the test loss of the random planted forest with the R package, XGBoost and histogram gradient boosting.

Each row of the table is a mean over data splits and seeds (at least ten fits), with its standard deviation. The
numbers of the R package (randomPlantedForest 0.3, two seeds per split, same splits) are constants in this file. A
ratio of 1.03 means 3 % worse than R.

Run ``python benchmarks/planted_forest_accuracy.py [--max-bins 255] [--jobs 2] [--data friedman1]``. This
takes about five minutes.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_squared_error
from xgboost import XGBClassifier, XGBRegressor

from skglex import RandomPlantedForestClassifier, RandomPlantedForestRegressor
from skglex.datasets import load_adult, load_bike_sharing

# Each row has the data, the parameters, and the mean test loss of the R package.
ROWS = [
    ("friedman1", {"max_interaction": 1, "n_splits": 30}, 2.9768),
    ("friedman1", {"max_interaction": 1, "n_splits": 100}, 2.9930),
    ("friedman1", {"max_interaction": 2, "n_splits": 30}, 1.8119),
    ("friedman1", {"max_interaction": 2, "n_splits": 100}, 1.1926),
    ("friedman1", {"max_interaction": 3, "n_splits": 30}, 1.8883),
    ("friedman1", {"max_interaction": 3, "n_splits": 100}, 1.2325),
    ("interaction", {"max_interaction": 2, "n_splits": 30}, 1.1819),
    ("interaction", {"max_interaction": 2, "n_splits": 100}, 1.1321),
    ("bike", {"max_interaction": 1, "n_splits": 30}, 5650.7),
    ("bike", {"max_interaction": 2, "n_splits": 30}, 2544.0),
    ("bike", {"max_interaction": 4, "n_splits": 30}, 2104.4),
    ("bike", {"max_interaction": 3, "n_splits": 100, "t_try": 0.9, "split_try": 5}, 1417.1),
    ("adult", {"max_interaction": 2, "n_splits": 30, "loss": "squared_error"}, 0.3958),
    ("adult", {"max_interaction": 2, "n_splits": 30, "loss": "exponential", "epsilon": 0.1}, 0.3909),
    # The R package has no counterpart of these defaults.
    ("friedman1", {}, np.nan),
    ("interaction", {}, np.nan),
    ("bike", {}, np.nan),
    ("adult", {}, np.nan),
]
N_SPLITS = {"friedman1": 5, "interaction": 5, "bike": 3, "adult": 2}
N_SEEDS = {"friedman1": 2, "interaction": 2, "bike": 4, "adult": 5}
BIKE_COLUMNS = ["dayofyear", "hr", "temp", "windspeed", "workingday", "hum"]
ADULT_COLUMNS = ["age", "education-num", "hours-per-week", "capital-gain", "capital-loss", "sex"]


def load(name: str, split: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return X, y and the number of rows to train on."""
    if name == "friedman1":
        return *make_friedman1(4000, n_features=10, noise=1.0, random_state=split), 2000
    if name == "interaction":
        rng = np.random.default_rng(split)
        X = rng.normal(size=(4000, 4))
        return X, X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1] + rng.normal(size=4000), 2000
    if name == "bike":
        X, y = load_bike_sharing(return_X_y=True)
        frame = X[BIKE_COLUMNS].assign(target=y)[X["yr"] == 0].sample(frac=1, random_state=split)
        n_train = 5763
    else:
        X, y = load_adult(return_X_y=True)
        frame = X[ADULT_COLUMNS].assign(
            sex=(X["sex"] == "Male").astype(int), target=(y == ">50K").astype(int)
        )
        frame = frame[X.notna().all(axis=1)].sample(4000, random_state=split)
        n_train = 2000
    return frame.drop(columns="target").to_numpy(np.float64), frame["target"].to_numpy(), n_train


def test_loss(y: np.ndarray, model, X: np.ndarray) -> float:
    """Return the log loss of a classifier, or the mean squared error of a regressor."""
    if hasattr(model, "predict_proba"):
        return log_loss(y, np.clip(model.predict_proba(X)[:, 1], 1e-6, 1 - 1e-6))
    return mean_squared_error(y, model.predict(X))


def evaluate(name: str, make_model, n_seeds: int) -> tuple[float, float, float]:
    """Return the mean test loss, its standard deviation, and the seconds per fit."""
    losses, seconds = [], []
    for split in range(N_SPLITS[name]):
        X, y, n_train = load(name, split)
        for seed in range(n_seeds):
            model = make_model(random_state=seed)
            start = perf_counter()
            model.fit(X[:n_train], y[:n_train])
            seconds.append(perf_counter() - start)
            losses.append(test_loss(y[n_train:], model, X[n_train:]))
    return np.mean(losses), np.std(losses), np.mean(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--max-bins", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", choices=list(N_SPLITS), nargs="*", default=list(N_SPLITS))
    args = parser.parse_args()
    print(f"| data | parameters | R | max_bins={args.max_bins} | (sd) | ratio | seconds |\n{'|---' * 7}|")
    for name, parameters, expected in ROWS:
        if name not in args.data:
            continue
        forest = RandomPlantedForestClassifier if name == "adult" else RandomPlantedForestRegressor

        def make(random_state, forest=forest, parameters=parameters):
            return forest(random_state=random_state, max_bins=args.max_bins, n_jobs=args.jobs, **parameters)

        loss, sd, seconds = evaluate(name, make, N_SEEDS[name])
        text = ", ".join(f"{key}={value}" for key, value in parameters.items())
        print(
            f"| {name} | {text} | {expected:.5g} | {loss:.5g} | {sd:.2g} "
            f"| {loss / expected:.3f} | {seconds:.2f} |"
        )
    for name in args.data:
        boosters = (
            (XGBClassifier, HistGradientBoostingClassifier)
            if name == "adult"
            else (XGBRegressor, HistGradientBoostingRegressor)
        )
        for booster in boosters:
            loss, sd, seconds = evaluate(name, booster, 1)
            print(f"| {name} | {booster.__name__}() | | {loss:.5g} | {sd:.2g} | | {seconds:.2f} |")


if __name__ == "__main__":
    main()
