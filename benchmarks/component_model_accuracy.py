"""Compare twenty components of a boosted model with the model, with an EBM and with a distilled GLM of the same size.

All are trained on the same rows and compared on other rows, by their deviance skill: one minus the deviance, divided by
the deviance of the mean. The GLM is distilled in the usual way: the effects of the same twenty components are cut into
groups by regression trees, and a GLM with a ridge penalty, chosen on a fifth of the rows, is fitted to the groups.

Run ``python benchmarks/component_model_accuracy.py [--data adult bike insurance] [--terms 20]``. EBMs need
interpret-core. With two cores this takes about ten minutes, nearly all of it for the EBMs.
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

from skglex import ComponentModel
from skglex.datasets import load_adult, load_bike_sharing


class Data(NamedTuple):
    """Hold rows, targets and weights, and whether the target is binary (else it is a rate of events)."""

    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray
    binary: bool


def make_insurance(n_samples: int = 60_000, random_state: int = 0) -> Data:
    """Simulate claims of car policies: rates per year of exposure, with interactions."""
    rng = np.random.default_rng(random_state)
    age = rng.integers(18, 90, n_samples).astype(float)
    power = rng.integers(4, 16, n_samples).astype(float)
    vehicle_age = np.floor(rng.exponential(6, n_samples)).clip(0, 30)
    density = np.exp(rng.normal(6, 1.8, n_samples)).clip(1, 27_000)
    bonus = (50 + 60 * rng.beta(0.5, 2, n_samples) * (1 + (age < 30))).round()
    gas = rng.choice(["diesel", "regular"], n_samples)
    region = rng.choice([f"R{i:02}" for i in range(20)], n_samples)
    effect = rng.normal(0, 0.25, 20)
    log_rate = (
        -2.6
        + 0.9 * np.exp(-(age - 18) / 6)
        + 0.012 * (bonus - 50)
        + 0.09 * np.log(density)
        + 0.25 * (vehicle_age < 1)
        - 0.02 * vehicle_age
        + 0.05 * (power - 8) * (age < 27)
        + 0.3 * (gas == "diesel") * (vehicle_age > 12)
        + effect[[int(name[1:]) for name in region]]
    )
    exposure = rng.uniform(0.05, 1, n_samples)
    counts = rng.poisson(exposure * np.exp(log_rate) * rng.gamma(2, 0.5, n_samples))
    X = pd.DataFrame(
        {
            "age": age,
            "power": power,
            "vehicle_age": vehicle_age,
            "density": density,
            "bonus_malus": bonus,
            "gas": pd.Categorical(gas),
            "region": pd.Categorical(region),
        }
    )
    return Data(X, counts / exposure, exposure, binary=False)


def load(name: str) -> Data:
    """Load one of the data sets."""
    if name == "insurance":
        return make_insurance()
    if name == "adult":
        X, y = load_adult(return_X_y=True)
        return Data(X, (y == ">50K").to_numpy().astype(float), np.ones(len(y)), binary=True)
    X, y = load_bike_sharing(return_X_y=True)
    return Data(X.astype(float), y.to_numpy().astype(float), np.ones(len(y)), binary=False)


def skill(data: Data, prediction: np.ndarray, mean: float) -> float:
    """Return one minus the deviance, divided by the deviance of the training mean."""
    loss = log_loss if data.binary else mean_poisson_deviance
    found, null = (
        loss(data.y, p, sample_weight=data.weight) for p in (prediction, np.full(len(data.y), mean))
    )
    return 1 - found / null


def booster(data: Data, seed: int) -> Any:
    """Return an unfitted boosted model, with parameters that do well on all data sets."""
    how = {"max_depth": 4, "learning_rate": 0.05, "enable_categorical": True, "random_state": seed}
    if data.binary:
        return XGBClassifier(n_estimators=400, subsample=0.8, **how)
    # The made claims are nearly noise, on which more trees would overfit.
    n_trees = 600 if len(data.X.columns) > 7 else 150
    return XGBRegressor(n_estimators=n_trees, objective="count:poisson", subsample=0.8, **how)


def predict(model: Any, X: Any, binary: bool) -> np.ndarray:
    """Return the probability of the second class, or the rate."""
    return model.predict_proba(X)[:, 1] if binary else np.maximum(model.predict(X), 1e-9)


def fit_ebm(train: Data, n_terms: int, seed: int) -> Any:
    """Fit an explainable boosting machine with as many terms."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    # At most as many pairs as are left beside the main effects.
    how = {
        "interactions": max(n_terms - train.X.shape[1], 0),
        "random_state": seed,
        "n_jobs": 2,
        "outer_bags": 4,
    }
    made = (
        ExplainableBoostingClassifier(**how)
        if train.binary
        else ExplainableBoostingRegressor(objective="poisson_deviance", **how)
    )
    return made.fit(train.X, train.y, sample_weight=train.weight)


def distil(model: ComponentModel, train: Data, test: Data, n_groups: int = 10) -> np.ndarray:
    """Return the predictions of a GLM whose factors are groups of bins of the model's components."""
    parts = []
    for component in model.components_:
        values = component.evaluate(train.X)[:, None]
        # Regression trees on the component's own value cut it into levels of similar effect.
        tree = DecisionTreeRegressor(max_leaf_nodes=n_groups, min_weight_fraction_leaf=0.005)
        tree.fit(values, values[:, 0], sample_weight=train.weight)
        parts.append([tree.apply(component.evaluate(part.X)[:, None]) for part in (train, test)])
    encoder = OneHotEncoder(handle_unknown="ignore")
    A = encoder.fit_transform(np.column_stack([part[0] for part in parts]))
    B = encoder.transform(np.column_stack([part[1] for part in parts]))
    fit, held_out = train_test_split(np.arange(len(train.y)), test_size=0.2, random_state=0)
    found = []
    for strength in (1e-5, 1e-4, 1e-3, 1e-2):
        glm = _glm(strength, len(fit), train.binary)
        glm.fit(A[fit], train.y[fit], sample_weight=train.weight[fit])
        rest = Data(train.X, train.y[held_out], train.weight[held_out], train.binary)
        found.append((skill(rest, predict(glm, A[held_out], train.binary), train.y.mean()), strength))
    glm = _glm(max(found)[1], len(train.y), train.binary)
    return predict(glm.fit(A, train.y, sample_weight=train.weight), B, train.binary)


def _glm(strength: float, n_rows: int, binary: bool) -> Any:
    """Return an unfitted GLM with a ridge penalty, relative to the mean loss."""
    if binary:
        return LogisticRegression(C=1 / (strength * n_rows), max_iter=500)
    return PoissonRegressor(alpha=strength, max_iter=500)


def compare(name: str, n_terms: int, seed: int, ebm: bool) -> dict[str, float]:
    """Return the skill of every model on the test rows of one split, and the time of some fits."""
    data = load(name)
    parts = train_test_split(data.X, data.y, data.weight, test_size=0.3, random_state=seed)
    train, test = Data(*parts[::2], data.binary), Data(*parts[1::2], data.binary)
    mean = float(np.average(train.y, weights=train.weight))
    full = booster(train, seed).fit(train.X, train.y, sample_weight=train.weight)
    out = {"full": skill(test, predict(full, test.X, data.binary), mean)}
    for weighting in ("empirical", "path_dependent"):
        for selection, refit in (("importance", None), ("importance", "ridge"), ("lasso", "ridge")):
            begin = perf_counter()
            model = ComponentModel(
                full, n_terms=n_terms, selection=selection, refit=refit, weighting=weighting
            ).fit(train.X, sample_weight=train.weight)
            label = f"{weighting}, {selection}, refit={refit}"
            out[label] = skill(test, predict(model, test.X, data.binary), mean)
            out[f"seconds {label}"] = perf_counter() - begin
    out["GLM"] = skill(test, distil(model, train, test), mean)
    if ebm:
        begin = perf_counter()
        machine = fit_ebm(train, n_terms, seed)
        out["EBM"] = skill(test, predict(machine, test.X, data.binary), mean)
        out["seconds EBM"] = perf_counter() - begin
    return out


def main() -> None:
    """Print a table: the skill of the full model, and the share of it that each other model keeps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["adult", "bike", "insurance"])
    parser.add_argument("--terms", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--no-ebm", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.data:
        rows = [compare(name, options.terms, seed, not options.no_ebm) for seed in range(options.seeds)]
        mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        print(f"{name}: deviance skill of the full model {mean['full']:.4f}")
        for key, value in mean.items():
            if key.startswith("seconds"):
                print(f"  {key:48} {value:8.1f}")
            elif key != "full":
                print(f"  {key:48} {value:8.4f}  {value / mean['full']:7.1%} of the full model")


if __name__ == "__main__":
    main()
