"""The planted-forest results of the paper on functional decomposition: importance (figure 4) and removal (figure 5).

Settings of the paper: 50 families, 30 splits, R's other defaults, max_interaction=4 (the model refitted without sex in
the simulation: 1). Differences are medians of test predictions, male minus female, means over splits (their sd).

Run ``python benchmarks/planted_forest_paper.py [--splits 5]``. A minute.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestRegressor
from skglex.datasets import load_adult, load_bike_sharing, make_importance, make_salary

ADULT_COLUMNS = ["age", "workclass", "education", "education-num", "hours-per-week", "sex"]


def forest(max_interaction: int = 4, random_state: int = 0) -> RandomPlantedForestRegressor:
    return RandomPlantedForestRegressor(
        50, max_interaction=max_interaction, n_splits=30, random_state=random_state, n_jobs=2
    )


def print_importance(title: str, X: pd.DataFrame, y: np.ndarray) -> None:
    """Importance by order: mean over rows of (sum over S with j in S, |S| = q, of |m_S|) / q."""
    decomposer = GlexDecomposer(forest().fit(X, y)).fit(X)
    table = pd.DataFrame(0.0, index=X.columns, columns=[1, 2, 3, 4])
    for component in decomposer.components_:
        for name in component.features:
            table.loc[name, component.order] += component.importance / component.order
    table["mean |phi|"] = decomposer.feature_importances_
    print(f"\n{title}: importance by order, and SHAP importance\n{table.round(2).to_string()}")


def difference(prediction: np.ndarray, is_male: np.ndarray) -> float:
    return float(np.median(prediction[is_male]) - np.median(prediction[~is_male]))


def remove_sex(X: pd.DataFrame, y: np.ndarray, refitted_order: int, seed: int) -> list[float]:
    """Differences between the sexes: full model, refitted without sex, sex removed."""
    train, test = train_test_split(np.arange(len(X)), train_size=2 / 3, random_state=seed)
    is_male = X["sex"].iloc[test].isin([1, "Male"]).to_numpy()
    full = forest(4, seed).fit(X.iloc[train], y[train])
    others = X.drop(columns="sex")
    refitted = clone(forest(refitted_order, seed)).fit(others.iloc[train], y[train])
    removed = FeatureRemover(full, ["sex"]).fit(X.iloc[train])
    return [
        difference(full.predict(X.iloc[test]), is_male),
        difference(refitted.predict(others.iloc[test]), is_male),
        difference(removed.predict(X.iloc[test]), is_male),
    ]


def print_removal(title: str, load, refitted_order: int, n_splits: int, paper: str) -> None:
    results = np.array([remove_sex(*load(seed), refitted_order, seed) for seed in range(n_splits)])
    ours = " | ".join(f"{m:.3g} ({s:.2g})" for m, s in zip(results.mean(axis=0), results.std(axis=0)))
    print(f"| {title} | {ours} | {paper} |")


def salary(hours_sd: float):
    def load(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
        X, y = make_salary(hours_sd=hours_sd, random_state=seed)
        return pd.DataFrame(X, columns=["sex", "hours"]), y

    return load


def adult(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = load_adult(return_X_y=True)
    complete = X.notna().all(axis=1)
    return X.loc[complete, ADULT_COLUMNS], (y[complete] == ">50K").to_numpy(float)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, default=5)
    args = parser.parse_args()
    X, y = make_importance(random_state=0)
    print_importance("simulation", pd.DataFrame(X, columns=["x1", "x2", "x3", "x4"]), y)
    X, y = load_bike_sharing(return_X_y=True)
    bike = X["yr"] == 0
    columns = ["dayofyear", "hr", "temp", "windspeed", "workingday", "hum"]
    print_importance("bike sharing", X.loc[bike, columns], y[bike].to_numpy(float))
    print("\n| data | full | refitted | sex removed | the paper's |\n|---|---|---|---|---|")
    print_removal("simulation", salary(1.0), 1, args.splits, "29.90, 29.91, 9.84")
    for sd in (3.0, 5.0):
        print_removal(f"simulation, sd of hours {sd:g}", salary(sd), 1, args.splits, "")
    print_removal("adult", adult, 4, args.splits, "0.18, 0.052, 0.047")


if __name__ == "__main__":
    main()
