"""Train a model of every kind that LightGBM knows."""

import warnings

import lightgbm as lgb
import numpy as np

from skglex import GlexDecomposer
from tests.support.data import make_data, make_targets

N, D = 400, 5
ZERO = float(np.float32(1e-35))
# LightGBM sums some tens of trees of size about 1 in float64, in another order.
SUMS = 1e-11
SMALL = {"num_leaves": 7, "min_data_in_leaf": 3, "num_threads": 1, "verbose": -1, "learning_rate": 0.3}
SMALL |= {"min_data_per_group": 3, "cat_smooth": 1.0, "cat_l2": 1.0}


def make_rows():
    """Add zeros to column 1, and column 4 with the codes of categories."""
    rng = np.random.default_rng(0)
    X, signal = make_data(N)
    X[:, 1][rng.random(N) < 0.3] = 0.0
    codes = rng.integers(0, 9, size=N).astype(float)
    return np.column_stack([X, codes]), signal + np.isin(codes, [1, 3, 8])


X, SIGNAL = make_rows()
_, BINARY, CLASSES, POSITIVE, COUNTS, _, _ = make_targets(SIGNAL)
SHARES = 1 / (1 + np.exp(-SIGNAL))
CATEGORICAL = {"categorical_feature": [4]}


def booster(y=SIGNAL, rounds=8, data=X, **params):
    params = {**SMALL, **params}
    categorical = params.pop("categorical_feature", "auto")
    return lgb.train(params, lgb.Dataset(data, y, categorical_feature=categorical), rounds)


def regressor(y=SIGNAL, kind=None, **params):
    params = {**SMALL, "n_estimators": 8, **params}
    return (kind or lgb.LGBMRegressor)(**params).fit(X, y)


def classifier(y=BINARY, **params):
    return regressor(y, lgb.LGBMClassifier, **params)


def early(kind=lgb.LGBMRegressor, y=SIGNAL, **params):
    noise = np.random.default_rng(1).permutation(len(y))
    model = kind(**{**SMALL, "n_estimators": 60, "learning_rate": 0.9, **params})
    half = np.arange(N) < N // 2
    return fit_watched(model, X[half], y[half], X[~half], np.where(noise < N // 3, y, y[noise])[~half])


def fit_watched(model, X, y, X_val, y_val, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM 4.7 expects eval_X and eval_y.
        callbacks = [lgb.early_stopping(3, verbose=False)]
        return model.fit(X, y, eval_set=[(X_val, y_val)], callbacks=callbacks, **params)


def early_booster():
    """Keep the trees after the best iteration, which `lightgbm.train` drops by default."""
    watched = lgb.Dataset(X[::2], SIGNAL[::2][::-1].copy())
    stop = lgb.early_stopping(5, verbose=False)
    data = lgb.Dataset(X, SIGNAL)
    return lgb.train(SMALL, data, 60, valid_sets=[watched], callbacks=[stop], keep_training_booster=True)


def ranker():
    return lgb.LGBMRanker(**SMALL, n_estimators=8).fit(X, COUNTS.clip(0, 4), group=[40] * 10)


def custom(y, margin):
    return margin - y, np.ones_like(margin)


def custom_classes(y, margin):
    return margin - np.eye(3)[y.astype(int)], np.ones_like(margin)


def continued():
    """Train trees without missing values, then trees with them and another learning rate."""
    first = booster(data=np.nan_to_num(X), **CATEGORICAL)
    data = lgb.Dataset(X, SIGNAL, categorical_feature=[4])
    return lgb.train({**SMALL, "learning_rate": 0.1}, data, 5, init_model=first)


def with_leaf_output():
    model = booster()
    model.set_leaf_output(2, 1, 5.25)
    return model


SKEWED = np.where(np.random.default_rng(5).random((N, D)) < 0.6, 0.0, np.nan_to_num(X))

MODELS = {
    "regression": regressor,
    "l1": lambda: regressor(objective="regression_l1"),
    "huber": lambda: regressor(objective="huber"),
    "fair": lambda: regressor(objective="fair"),
    "quantile": lambda: regressor(objective="quantile", alpha=0.7),
    "mape": lambda: regressor(1 + POSITIVE, objective="mape"),
    "poisson": lambda: regressor(COUNTS, objective="poisson"),
    "gamma": lambda: regressor(POSITIVE, objective="gamma"),
    "tweedie": lambda: regressor(COUNTS, objective="tweedie", tweedie_variance_power=1.4),
    "sqrt": lambda: regressor(9 * SIGNAL, reg_sqrt=True),
    "sqrt, l1": lambda: regressor(9 * SIGNAL, objective="regression_l1", reg_sqrt=True),
    "sqrt, quantile": lambda: regressor(9 * SIGNAL, objective="quantile", reg_sqrt=True),
    "sqrt, huber": lambda: regressor(9 * SIGNAL, objective="huber", reg_sqrt=True),
    "cross entropy": lambda: regressor(SHARES, objective="cross_entropy"),
    "cross entropy lambda": lambda: regressor(SHARES, objective="cross_entropy_lambda"),
    "custom": lambda: regressor(objective=custom),
    "custom booster": lambda: booster(objective=lambda margin, data: custom(data.get_label(), margin)),
    "binary": classifier,
    "binary, sigmoid": lambda: classifier(sigmoid=2.5),
    "binary, sigmoid of many digits": lambda: classifier(sigmoid=0.7234567891234),
    "binary, unbalanced": lambda: classifier(is_unbalance=True),
    "classes": lambda: classifier(CLASSES),
    "one against all": lambda: classifier(CLASSES, objective="multiclassova", sigmoid=1.5),
    "classes booster": lambda: booster(CLASSES, objective="multiclass", num_class=3),
    "custom classes": lambda: regressor(CLASSES, lgb.LGBMClassifier, objective=custom_classes, num_class=3),
    "lambdarank": ranker,
    "xendcg": lambda: lgb.LGBMRanker(**SMALL, objective="rank_xendcg").fit(
        X, COUNTS.clip(0, 4), group=[40] * 10
    ),
    "booster": booster,
    "categorical": lambda: booster(**CATEGORICAL),
    "categorical, one against the rest": lambda: booster(max_cat_to_onehot=20, **CATEGORICAL),
    "categorical, large codes": lambda: booster(
        data=np.column_stack([X[:, :4], 1000 * X[:, 4] + 7]), max_cat_to_onehot=2, **CATEGORICAL
    ),
    "categorical, missing": lambda: booster(
        data=np.column_stack([X[:, :4], np.where(X[:, 4] == 3, np.nan, X[:, 4])]), **CATEGORICAL
    ),
    "categorical, negative": lambda: booster(data=np.column_stack([X[:, :4], X[:, 4] - 2]), **CATEGORICAL),
    "categorical, classes": lambda: booster(CLASSES, objective="multiclass", num_class=3, **CATEGORICAL),
    "no missing": lambda: booster(use_missing=False),
    "missing never seen": lambda: booster(data=np.nan_to_num(X)),
    "zero missing": lambda: booster(zero_as_missing=True),
    "zero missing, no NaN": lambda: booster(data=SKEWED, zero_as_missing=True),
    "zero missing, categorical": lambda: booster(data=SKEWED, zero_as_missing=True, **CATEGORICAL),
    "zero missing, two values": lambda: booster(data=np.sign(SKEWED), zero_as_missing=True),
    "tiny": lambda: booster(data=SKEWED * 1e-34, min_data_in_bin=1),
    "tiny, zero missing": lambda: booster(data=SKEWED * 1e-34, min_data_in_bin=1, zero_as_missing=True),
    "huge": lambda: booster(data=X * 1e300),
    "infinite": lambda: booster(data=np.where(np.abs(X) > 2, np.copysign(np.inf, X), X)),
    "split by NaN only": lambda: booster(data=np.where(np.isnan(X), np.nan, 0.0)),
    "forest": lambda: regressor(boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
    "forest, binary": lambda: classifier(boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
    "forest, classes": lambda: classifier(CLASSES, boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
    "dart": lambda: regressor(boosting_type="dart", drop_rate=0.5, skip_drop=0.0),
    "dart, classes": lambda: classifier(CLASSES, boosting_type="dart", drop_rate=0.5, skip_drop=0.0),
    "goss": lambda: regressor(data_sample_strategy="goss", n_estimators=20),
    "bagging": lambda: regressor(bagging_freq=1, bagging_fraction=0.3, feature_fraction=0.5),
    "extra trees": lambda: regressor(extra_trees=True),
    "early": early,
    "early, classes": lambda: early(lgb.LGBMClassifier, CLASSES),
    "early booster": lambda: early().booster_,
    "early, later trees kept": early_booster,
    "early forest": lambda: early(boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
    "one leaf": lambda: regressor(min_data_in_leaf=N),
    "one leaf, classes": lambda: classifier(CLASSES, min_data_in_leaf=N),
    "constant": lambda: regressor(np.ones(N)),
    "some trees of one leaf": lambda: classifier(
        np.where(np.arange(N) < 6, 2, BINARY), min_gain_to_split=15.0
    ),
    "no trees": lambda: lgb.Booster(SMALL, lgb.Dataset(X, SIGNAL)),
    "continued": continued,
    "refitted": lambda: booster().refit(np.nan_to_num(X) + 0.2, -SIGNAL, decay_rate=0.1),
    "leaf set": with_leaf_output,
    "shuffled": lambda: booster().shuffle_models(0, 4),
    "no average": lambda: regressor(boost_from_average=False),
    "linear terms off": lambda: regressor(linear_tree=False),
}


def bare(model):
    return model.booster_ if isinstance(model, lgb.LGBMModel) else model


def n_averaged(model):
    """Return the number of trees of a forest, else 1: raw scores of a forest are sums, predictions use the mean."""
    model = bare(model)
    averaged = "\naverage_output\n" in model.model_to_string(num_iteration=1)
    return (
        (model.best_iteration if model.best_iteration > 0 else model.current_iteration()) if averaged else 1
    )


def raw(model, rows):
    return bare(model).predict(rows, raw_score=True).reshape(rows.shape[0], -1) / n_averaged(model)


def splits(model):
    """Return (feature, threshold) of all numeric splits in the model's dump."""
    found, stack = [], [tree["tree_structure"] for tree in bare(model).dump_model()["tree_info"]]
    while stack:
        node = stack.pop()
        if "split_feature" in node:
            stack += [node["left_child"], node["right_child"]]
            if node["decision_type"] == "<=":
                found.append((node["split_feature"], node["threshold"]))
    return found


def decompose(model, weighting="empirical", background=X, **params):
    return GlexDecomposer(model, weighting=weighting, **params, max_interaction=None).fit(background)
