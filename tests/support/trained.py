"""Fit small models of every library on random data, for the fuzzer."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import xgboost as xgb
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn import ensemble as sk
from sklearn.tree import DecisionTreeRegressor, ExtraTreeClassifier

from skglex import RandomPlantedForestRegressor


def _xgboost(rng, X, y, codes=()):
    params = {
        "n_estimators": int(rng.integers(1, 6)),
        "max_depth": int(rng.integers(1, 5)),
        "tree_method": str(rng.choice(["hist", "exact", "approx"])),
        "num_parallel_tree": int(rng.integers(1, 3)),
        "booster": str(rng.choice(["gbtree", "gbtree", "dart"])),
        "n_jobs": 1,
    }
    if codes:
        params["tree_method"] = str(rng.choice(["hist", "approx"]))
        params["feature_types"] = ["c" if j in codes else "q" for j in range(X.shape[1])]
        params["max_cat_to_onehot"] = int(rng.integers(1, 8))
    if rng.random() < 0.5:
        return xgb.XGBClassifier(**params).fit(X, np.unique(y.round() % 3, return_inverse=True)[1])
    model = xgb.XGBRegressor(**params, missing=rng.choice([np.nan, 1.0])).fit(X, y)
    return model if rng.random() < 0.7 else model.get_booster()


def _lightgbm(rng, X, y, codes=()):
    params = {
        "n_estimators": int(rng.integers(1, 6)),
        "num_leaves": int(rng.integers(2, 10)),
        "min_child_samples": 1,
        "min_data_in_bin": 1,
        "zero_as_missing": bool(rng.random() < 0.3),
        "use_missing": bool(rng.random() < 0.8),
        "boosting_type": str(rng.choice(["gbdt", "dart", "rf"])),
        "subsample_freq": 1,
        "subsample": 0.7,
        "extra_trees": bool(rng.random() < 0.3),
        "n_jobs": 1,
        "verbose": -1,
    }
    fit = {}
    if codes:
        params |= {"min_data_per_group": 1, "cat_smooth": 0.0, "max_cat_to_onehot": int(rng.integers(1, 8))}
        fit["categorical_feature"] = codes
    if rng.random() < 0.4:
        return LGBMClassifier(**params).fit(X, y.round() % 3, **fit)
    model = LGBMRegressor(**params).fit(X, y, **fit)
    return model if rng.random() < 0.7 else model.booster_


def _catboost(rng, X, y):
    params = {
        "iterations": int(rng.integers(1, 5)),
        "depth": int(rng.integers(1, 4)),
        "grow_policy": str(rng.choice(["SymmetricTree", "Depthwise", "Lossguide"])),
        "nan_mode": str(rng.choice(["Min", "Max"])),
        "thread_count": 1,
        "silent": True,
        "allow_writing_files": False,
    }
    if rng.random() < 0.3 and len(labels := np.unique(y.round() % 3)) > 1:
        return CatBoostClassifier(**params, loss_function="MultiClass").fit(
            X, labels[np.digitize(y, [0]) % len(labels)]
        )
    return CatBoostRegressor(**params).fit(X, y)


def _scikit_learn(rng, X, y):
    size, depth = {"n_estimators": int(rng.integers(1, 5))}, {"max_depth": int(rng.integers(1, 6))}
    labels = y.round() % 3
    seed = {"random_state": int(rng.integers(100))}
    leaves = {"min_samples_leaf": int(rng.integers(1, 4))}
    choice = rng.integers(0, 10)
    if choice == 8:
        return sk.IsolationForest(**size, **seed).fit(np.nan_to_num(X))
    if choice == 9:
        return sk.GradientBoostingRegressor(**size, **depth, **seed).fit(np.nan_to_num(X), y)
    model = [
        sk.RandomForestRegressor(**size, **depth, **seed),
        sk.RandomForestClassifier(**size, **depth, **seed),
        sk.ExtraTreesRegressor(**size, **depth, **seed),
        sk.ExtraTreesClassifier(**size, **leaves, **seed),
        DecisionTreeRegressor(**depth, **leaves, **seed),
        ExtraTreeClassifier(**depth, **seed),
        sk.BaggingRegressor(DecisionTreeRegressor(**depth), 2, max_features=0.7, **seed),
        sk.VotingRegressor([("a", DecisionTreeRegressor(**depth)), ("b", sk.ExtraTreesRegressor(**size))]),
    ][choice]
    return model.fit(X, labels if "Classifier" in type(model).__name__ else y)


def _hist_boosting(rng, X, y, codes=None):
    params = {
        "max_iter": int(rng.integers(1, 5)),
        "min_samples_leaf": int(rng.integers(1, 4)),
        "categorical_features": codes,
    }
    if rng.random() < 0.5:
        return sk.HistGradientBoostingClassifier(**params).fit(X, y.round() % 3)
    return sk.HistGradientBoostingRegressor(**params).fit(X, y)


def _planted(rng, X, y):
    return RandomPlantedForestRegressor(
        n_estimators=int(rng.integers(1, 4)),
        n_splits=int(rng.integers(1, 8)),
        max_interaction=int(rng.integers(1, 4)),
        random_state=int(rng.integers(100)),
    ).fit(np.nan_to_num(X), y)


TRAINERS = {
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "catboost": _catboost,
    "scikit_learn": _scikit_learn,
    "hist_boosting": _hist_boosting,
    "planted": _planted,
}


CATEGORICAL = ["xgboost", "lightgbm", "hist_boosting"]


def trained(rng, library, d):
    """Return a small model fitted on random data, the data, and its categorical columns."""
    # Histogram boosting splits on categories of 10 rows or more.
    n = int(rng.integers(12, 100 if library == "hist_boosting" else 40))
    X = rng.normal(size=(n, d)).round(int(rng.choice([0, 1, 8])))
    if rng.random() < 0.5 and library != "planted":
        X[rng.random(X.shape) < 0.2] = np.nan
    codes = set(np.flatnonzero(rng.random(d) < 0.3).tolist()) if library in CATEGORICAL else set()
    for j in codes:
        X[:, j] = np.where(np.isnan(X[:, j]), np.nan, rng.integers(0, rng.integers(2, 7), n))
    y = np.nan_to_num(X).prod(axis=1) + rng.normal(size=n)
    if library == "lightgbm":  # It takes values of up to 1e-35 as zero.
        X *= rng.choice([1.0, 1.0, 1e-35, 1e290], size=d) ** ~np.isin(range(d), list(codes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TRAINERS[library](rng, X, y, *([sorted(codes)] if codes else [])), X, codes


def framed(rng, library):
    """Return a model fitted on a data frame with categories, and frames with the categories in other orders."""
    n, letters = int(rng.integers(30, 120)), np.array(list("abcdef"))
    frame = pd.DataFrame({"x": rng.normal(size=n).round(1), "idle": 1.0})
    for name in ("kind", "level")[: int(rng.integers(1, 3))]:
        own = rng.permutation(letters)[: int(rng.integers(2, 7))]
        frame[name] = pd.Categorical(rng.choice(own, n), categories=own)
        frame[name] = frame[name].mask(rng.random(n) < 0.1)
    frame = frame[rng.permutation(frame.columns)]
    names = [name for name in frame if name not in ("x", "idle")]
    y = frame["x"] * (frame[names[0]] == letters[0]) + sum(frame[name].cat.codes for name in names) % 3
    model = {
        "xgboost": lambda: xgb.XGBRegressor(
            n_estimators=3,
            max_depth=3,
            max_cat_to_onehot=int(rng.integers(1, 8)),
            enable_categorical=True,
            missing=rng.choice([np.nan, 0.0, 1.0, 2.0]),
        ),
        "lightgbm": lambda: LGBMRegressor(
            n_estimators=3, min_child_samples=2, min_data_per_group=1, cat_smooth=0.0, verbose=-1
        ),
        "hist_boosting": lambda: sk.HistGradientBoostingRegressor(
            max_iter=3, min_samples_leaf=2, categorical_features="from_dtype"
        ),
    }[library]()
    model.fit(frame, y)
    frames = [frame]
    for _ in range(3):
        part = frame.iloc[rng.integers(0, n, int(rng.choice([1, 2, 20])))].copy()
        for name in names:
            own, used = part[name].cat.categories, part[name].cat.remove_unused_categories().cat.categories
            few = len(used) > 0 and rng.random() < 0.5  # XGBoost expects at least one category.
            part[name] = part[name].cat.set_categories(rng.permutation(used if few else own))
        frames.append(part)
    return model, frames
