"""Make the rows and the models of the benchmarks.

The data sets look like the public ones that the literature times: the number of columns, their kinds, their correlation
and their missing values. All are drawn from a seed, so that every machine has the same rows.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._types import Data, Size

Rows = tuple[NDArray[np.float32], NDArray[np.float64]]

# The columns of a data set are laid out by this seed, and its rows by others.
LAYOUT = 7


def runtime(n: int, features: int, seed: int) -> Rows:
    """Draw the data of the paper's run-time experiment."""
    from skglex.datasets import make_runtime

    X, y = make_runtime(n, features, random_state=seed)
    return X.astype(np.float32), y


def mixed(n: int, features: int, seed: int) -> Rows:
    """Draw rows that look like the IEEE-CIS fraud data (397 features).

    Blocks of correlated columns depend on few common factors. They hold numbers, amounts, counts or codes, and whole
    blocks are missing together.
    """
    layout, rng = np.random.default_rng(LAYOUT), np.random.default_rng(seed)
    factors = rng.normal(size=(n, 20)).astype(np.float32)
    X = np.empty((n, features), np.float32)
    for block, first in enumerate(range(0, features, 12)):
        columns = slice(first, min(first + 12, features))
        width = columns.stop - first
        common = factors[:, layout.choice(20, 3, replace=False)]
        noise = layout.uniform(0.1, 1.0) * rng.normal(size=(n, width))
        core = common @ layout.normal(size=(3, 12))[:, :width] + noise
        kinds = (lambda c: c, np.exp, lambda c: np.floor(np.exp(c)), lambda c: np.floor(np.abs(5 * c)) % 17)
        X[:, columns] = kinds[block % 4](core)
        share = layout.choice([0.0, 0.1, 0.4, 0.8])
        X[(rng.random(n) < share) & (common[:, 0] < 1.5), columns] = np.nan
    a, b, c, d = factors[:, :4].T
    known = np.nan_to_num(X[:, :4]).sum(axis=1)
    y = a * b + np.sin(2 * c) * d + (factors[:, 4:9] > 0.5).sum(axis=1) * a + np.tanh(known)
    return X, (y + 0.3 * rng.normal(size=n)).astype(np.float64)


def continuous(n: int, features: int, seed: int) -> Rows:
    """Draw rows that look like the HIGGS data (28 features): momenta, angles, few levels, and masses made of these."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, features), np.float32)
    derived = features // 4
    simple = features - derived
    for j in range(simple):
        if j % 4 == 0:
            X[:, j] = rng.gamma(3.0, 1 / 3, n)
        elif j % 4 == 1:
            X[:, j] = rng.normal(size=n)
        elif j % 4 == 2:
            X[:, j] = rng.uniform(-1.743, 1.743, n)
        else:
            X[:, j] = rng.choice([0.0, 1.087, 2.173], n, p=[0.5, 0.25, 0.25])
    for j in range(derived):
        first, second, angle = X[:, 4 * j % simple], X[:, (4 * j + 4) % simple], X[:, (4 * j + 2) % simple]
        X[:, simple + j] = np.sqrt(np.abs(first * second) * (1.1 + np.cos(angle)))
    sign = (
        np.sin(X[:, 0] * 4) + np.cos(2 * X[:, simple - 1]) * X[:, 1] + X[:, -1] * np.sign(X[:, 2 % features])
    )
    return X, (sign + 0.5 * rng.normal(size=n)).astype(np.float64)


def counts(n: int, features: int, seed: int) -> Rows:
    """Draw rows that look like the KDD Cup 1999 data (121 features): heavy-tailed counts, rates and flags."""
    layout, rng = np.random.default_rng(LAYOUT), np.random.default_rng(seed)
    kind = rng.integers(6, size=n)
    X = np.zeros((n, features), np.float32)
    for j in range(features):
        level = layout.gamma(0.7, 1.5, 6)[kind]
        if j % 4 < 2:
            X[:, j] = rng.poisson(level * rng.lognormal(0.0, 1.5, n))
        elif j % 4 == 2:
            X[:, j] = np.round(rng.beta(0.3 + level, 0.8), 2)
        else:
            X[:, j] = rng.random(n) < np.minimum(0.02 + level / 8, 0.9)
    y = (
        kind * 0.5
        + np.log1p(X[:, 0]) * (X[:, 2 % features] > 0.5)
        - np.sqrt(X[:, 1])
        + X[:, 3 % features] * kind
    )
    return X, (y + 0.3 * rng.normal(size=n)).astype(np.float64)


def words(n: int, features: int, seed: int) -> Rows:
    """Draw a bag of words: counts of words, most of them zero, of texts about twenty topics."""
    layout, rng = np.random.default_rng(LAYOUT), np.random.default_rng(seed)
    rates = layout.gamma(0.15, 1.0, (20, features)) / np.arange(2, features + 2) ** 0.6
    topic = rng.integers(20, size=n)
    X = rng.poisson(2 * rates[topic]).astype(np.float32)
    weight = layout.normal(size=features)
    return X, np.tanh(X @ weight / 4) + layout.normal(size=20)[topic] + 0.5 * rng.normal(size=n)


def shipped(name: str) -> Callable[[int, int, int], Rows]:
    """Return a function that draws rows, with replacement, from a data set that the package ships."""

    def draw(n: int, features: int, seed: int) -> Rows:
        from skglex.datasets import load_adult, load_bike_sharing

        if name == "bike":
            X, y = load_bike_sharing(return_X_y=True, as_frame=False)
        else:
            frame, income = load_adult(return_X_y=True)
            codes = {c: frame[c].cat.codes for c in frame.select_dtypes("category")}
            X, y = frame.assign(**codes).to_numpy(np.float64), income == ">50K"
        # Ranks give the same trees. shap and woodelf round thresholds to float32, and then take some decimals to the
        # wrong side.
        X = np.column_stack([np.unique(column, return_inverse=True)[1] for column in np.asarray(X).T])
        chosen = np.random.default_rng(seed).choice(len(X), n, replace=n > len(X))
        return X[chosen, :features].astype(np.float32), np.asarray(y, np.float64)[chosen]

    return draw


SOURCES: dict[str, Callable[[int, int, int], Rows]] = {
    "runtime": runtime,
    "mixed": mixed,
    "continuous": continuous,
    "counts": counts,
    "words": words,
    "bike": shipped("bike"),
    "adult": shipped("adult"),
}


def make_model(size: Size) -> Any:
    """Return a model that is not fitted. It fits on one thread, so that it is the same on every machine."""
    if size.model == "xgboost":
        from xgboost import XGBRegressor

        return XGBRegressor(
            n_estimators=size.trees, max_depth=size.depth, learning_rate=0.1, n_jobs=1, random_state=0
        )
    if size.model == "lightgbm":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(
            n_estimators=size.trees,
            max_depth=size.depth or -1,
            num_leaves=size.leaves or 31,
            learning_rate=0.1,
            subsample=0.8,
            subsample_freq=1,
            colsample_bytree=0.8,
            n_jobs=1,
            random_state=0,
            verbose=-1,
        )
    if size.model == "catboost":
        from catboost import CatBoostRegressor

        return CatBoostRegressor(
            iterations=size.trees,
            depth=size.depth,
            learning_rate=0.1,
            thread_count=1,
            random_seed=0,
            verbose=False,
            allow_writing_files=False,
        )
    from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

    forest = {"random forest": RandomForestRegressor, "extra trees": ExtraTreesRegressor}[size.model]
    return forest(size.trees, max_depth=size.depth, n_jobs=1, random_state=0)


def trained(size: Size, train: NDArray[np.float32], y: NDArray[np.float64], models: Path | None) -> Any:
    """Return a model that is fitted on the training rows, and keep it in a folder for the next case."""
    if models is None:
        return make_model(size).fit(train, y)
    names = (size.model, size.data, size.trees, size.depth, size.leaves, size.features, size.train)
    path = models / ("-".join(map(str, names)) + ".pickle")
    if not path.exists():
        models.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(make_model(size).fit(train, y)))
    return pickle.loads(path.read_bytes())


def prepare(size: Size, threads: int, models: Path | None = None) -> Data:
    """Return rows to explain, a background, training rows, and a model that is fitted on them."""
    draw = SOURCES[size.data]
    train, y = draw(size.train, size.features, 0)
    enough = size.background <= size.train
    background = train[: size.background] if enough else draw(size.background, size.features, 2)[0]
    model = trained(size, train, y, models)
    if size.model != "catboost":  # CatBoost takes the number of threads in its calls only.
        model.set_params(n_jobs=threads)
    return Data(size, threads, draw(size.rows, size.features, 1)[0], background, train, y, model)
