"""XGBoost models of many kinds, and their debiased margins computed leaf by leaf in NumPy."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

from skglex._input import bin_all
from skglex._leaves import Background, Empirical, PathDependent
from skglex._readers._registry import find_reader
from skglex._utils import DEFAULT_EXECUTION

RNG = np.random.default_rng(0)
N = 600
# The values are rounded to 0.1 in float64, so that many rows lie on thresholds.
X = RNG.normal(size=(N, 6)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
Z = np.nan_to_num(X)
Y = Z[:, 0] * Z[:, 1] + np.sin(Z[:, 2]) + Z[:, 3] * (Z[:, 0] > 0) + Z[:, 4] * Z[:, 5]
LABELS = np.digitize(Y, [-1, 1])

FRAME = pd.DataFrame(X, columns=list("abcdef"))
FRAME["g"] = pd.Categorical(np.array(list("uvwxyz"))[RNG.integers(6, size=N)])
FRAME["h"] = pd.Categorical(np.array(list("ABCDEFGHIJKL"))[RNG.integers(12, size=N)])
FRAME.loc[::7, "g"] = np.nan
Y_FRAME = Y + FRAME["g"].cat.codes.to_numpy() % 3 + (FRAME["h"].cat.codes.to_numpy() % 5) * Z[:, 0]

DEFAULTS = {"n_estimators": 12, "max_depth": 5, "n_jobs": 1}


def regressor(**params):
    return xgb.XGBRegressor(**{**DEFAULTS, **params})


def classifier(**params):
    return xgb.XGBClassifier(**{**DEFAULTS, **params})


def early_stopped():
    model = regressor(n_estimators=200, learning_rate=0.5, early_stopping_rounds=2)
    return model.fit(X[:300], Y[:300], eval_set=[(X[300:], Y[300:])], verbose=False)


def categorical(max_cat_to_onehot):
    return regressor(enable_categorical=True, max_cat_to_onehot=max_cat_to_onehot).fit(FRAME, Y_FRAME)


MODELS = {
    "squared error": lambda: regressor().fit(X, Y),
    "exact, pruned": lambda: regressor(tree_method="exact", gamma=0.5).fit(X, Y),
    "leaf by leaf": lambda: regressor(grow_policy="lossguide", max_depth=0, max_leaves=40).fit(X, Y),
    "poisson": lambda: regressor(objective="count:poisson").fit(X, np.abs(Y)),
    "binary": lambda: classifier().fit(X, Y > 0),
    "multi-class": lambda: classifier(n_estimators=5).fit(X, LABELS),
    "parallel trees": lambda: classifier(n_estimators=4, num_parallel_tree=2, subsample=0.5).fit(X, LABELS),
    "two outputs": lambda: regressor().fit(X, np.column_stack([Y, Y**2])),
    "vector leaves": lambda: regressor(multi_strategy="multi_output_tree").fit(X, np.column_stack([Y, Y**2])),
    "early stopping": early_stopped,
    "one-hot": lambda: categorical(100),
    "partition": lambda: categorical(1),
    "one leaf": lambda: regressor(max_depth=1, gamma=1e9).fit(X, Y),
}


def is_frame(model):
    return model.n_features_in_ == FRAME.shape[1]


def rows_of(model):
    return FRAME if is_frame(model) else X


def codes(rows):
    """Return a data frame as numbers: categorical columns become the model's codes."""
    if not isinstance(rows, pd.DataFrame):
        return rows
    columns = [c.cat.codes.where(c.cat.codes >= 0) if c.dtype == "category" else c for _, c in rows.items()]
    return np.column_stack(columns).astype(float)


def leaf_weights(ensemble, bins, removed, weighting):
    """Return which features of the grid are removed, and the weight of every leaf."""
    gone = np.isin(ensemble.grid.features, list(removed))
    weighting = (
        Empirical(Background(bins, np.ones(bins.shape[1]))) if weighting == "empirical" else PathDependent()
    )
    return gone, weighting.joint_weights(ensemble, gone[ensemble.condition_feature], DEFAULT_EXECUTION)


def debiased_margin(ensemble, bins, gone, weight):
    """Add v_l * 1[x meets the conditions on kept features] * E_l, leaf by leaf."""
    conditions, b = ensemble.conditions, bins.astype(int)
    out = np.repeat(ensemble.base[None], b.shape[1], axis=0)
    width = ensemble.value.shape[1]
    for leaf in range(ensemble.n_leaves):
        met = np.ones(b.shape[1], dtype=bool)
        for c in ensemble.leaf_condition[ensemble.leaf_ptr[leaf] : ensemble.leaf_ptr[leaf + 1]]:
            x = b[conditions.feature[c]]
            if gone[conditions.feature[c]]:
                continue
            if conditions.mask[c] >= 0:
                met &= conditions.masks[conditions.mask[c] + x] != 0
            else:
                met &= ((x >= conditions.lo[c]) & (x < conditions.hi[c])) | (x == conditions.missing[c])
        outputs = slice(ensemble.output[leaf], ensemble.output[leaf] + width)
        out[:, outputs] += met[:, None] * ensemble.value[leaf] * weight[leaf]
    return out


def read(model):
    return find_reader(model)(model)


def debias(model, removed, weighting="empirical"):
    """Return the model that was read, its removed features, the leaf weights and the debiased margin."""
    source = read(model)
    if weighting == "path_dependent" and not source.ensemble.has_cover:
        pytest.skip("this XGBoost keeps no cover of vector leaves")
    bins = bin_all(rows_of(model), source.input, source.ensemble.grid)
    gone, weight = leaf_weights(source.ensemble, bins, removed, weighting)
    expected = debiased_margin(source.ensemble, bins, gone, weight)
    return source, gone, weight, expected


def assert_float32_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-6 * max(1, np.abs(expected).max()))
