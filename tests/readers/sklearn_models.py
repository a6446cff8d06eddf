"""Train a model of every kind that the readers of scikit-learn's models know."""

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.ensemble._iforest import _average_path_length
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from tests.readers.lightgbm_models import splits
from tests.support.data import make_data

FOREST = {"n_estimators": 8, "max_depth": 4, "random_state": 0}
BOOST = {"n_estimators": 8, "max_depth": 3, "random_state": 0}
HIST = {"max_iter": 8, "max_leaf_nodes": 8, "min_samples_leaf": 5, "random_state": 0}
TREE = {"max_depth": 5, "random_state": 0}
# Everything is summed in float64, by the models too, except by XGBoost as a member.
EXACT = 1e-12
FLOAT32 = 5e-6

# In tenths: their float32 casts lie beside the float64 thresholds. Column 3 has the categories 0, 10, ..., 40.
GAPS, Y = make_data(decimals=1)
GAPS[:, 3] = 10 * (GAPS[:, 3] + 2)
GAPS[np.random.default_rng(2).random(len(GAPS)) < 0.1, 3] = np.nan
X = np.where(np.isnan(GAPS), [0.5, -0.2, 1.5, 20.0], GAPS)
BINARY = Y > 0.5
CLASSES = np.array(["low", "mid", "top"])[np.digitize(Y, [0, 1])]
TARGETS = np.column_stack([Y, X[:, 0] - 2 * Y])
WEIGHT = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)


def voting(*members, kind=VotingRegressor, **params):
    return kind([(f"m{i}", member) for i, member in enumerate(members)], **params)


MODELS = {
    "tree": lambda: DecisionTreeRegressor(**TREE).fit(X, Y),
    "tree, missing": lambda: DecisionTreeRegressor(**TREE).fit(GAPS, Y),
    "tree, one leaf": lambda: DecisionTreeRegressor(max_leaf_nodes=2, min_samples_leaf=300).fit(X, Y),
    "tree, absolute error": lambda: DecisionTreeRegressor(**TREE, criterion="absolute_error").fit(X, Y),
    "tree, poisson, pruned": lambda: DecisionTreeRegressor(**TREE, criterion="poisson", ccp_alpha=1e-3).fit(
        X, np.abs(Y)
    ),
    "tree, monotonic": lambda: DecisionTreeRegressor(**TREE, monotonic_cst=[1, 0, 0, -1]).fit(X, Y),
    "tree, targets": lambda: DecisionTreeRegressor(**TREE).fit(X, TARGETS),
    "tree, weighted": lambda: DecisionTreeRegressor(**TREE).fit(X, Y, sample_weight=WEIGHT),
    "tree, binary": lambda: DecisionTreeClassifier(**TREE).fit(GAPS, BINARY),
    "tree, classes": lambda: DecisionTreeClassifier(**TREE, class_weight="balanced").fit(X, CLASSES),
    "tree, one class": lambda: DecisionTreeClassifier(**TREE).fit(X, np.zeros(len(X))),
    "extra tree": lambda: ExtraTreeRegressor(**TREE).fit(X, Y),
    "extra tree, classes": lambda: ExtraTreeClassifier(**TREE).fit(X, CLASSES),
    "forest": lambda: RandomForestRegressor(**FOREST).fit(X, Y),
    "forest, missing": lambda: RandomForestRegressor(**FOREST).fit(GAPS, Y),
    "forest, targets": lambda: RandomForestRegressor(**FOREST).fit(X, TARGETS),
    "forest, weighted": lambda: RandomForestRegressor(**FOREST, max_leaf_nodes=9).fit(X, Y, WEIGHT),
    "forest, binary": lambda: RandomForestClassifier(**FOREST).fit(GAPS, BINARY),
    "forest, classes": lambda: RandomForestClassifier(
        **FOREST, class_weight="balanced_subsample", max_samples=0.5
    ).fit(X, CLASSES),
    "extra trees": lambda: ExtraTreesRegressor(**FOREST).fit(X, Y),
    "extra trees, missing, classes": lambda: ExtraTreesClassifier(**FOREST, bootstrap=True).fit(
        GAPS, CLASSES
    ),
    "boosting": lambda: GradientBoostingRegressor(**BOOST).fit(X, Y),
    "boosting, init zero": lambda: GradientBoostingRegressor(**BOOST, init="zero").fit(X, Y),
    "boosting, huber": lambda: GradientBoostingRegressor(**BOOST, loss="huber", subsample=0.5).fit(X, Y),
    "boosting, quantile": lambda: GradientBoostingRegressor(**BOOST, loss="quantile", alpha=0.8).fit(X, Y),
    "boosting, absolute": lambda: GradientBoostingRegressor(**BOOST, loss="absolute_error").fit(X, Y, WEIGHT),
    "boosting, early": lambda: GradientBoostingRegressor(
        n_estimators=200, n_iter_no_change=2, learning_rate=0.7, random_state=0
    ).fit(X, Y),
    "boosting, binary": lambda: GradientBoostingClassifier(**BOOST).fit(X, BINARY),
    "boosting, exponential": lambda: GradientBoostingClassifier(**BOOST, loss="exponential").fit(X, BINARY),
    "boosting, classes": lambda: GradientBoostingClassifier(**BOOST, init="zero").fit(X, CLASSES),
    "hist": lambda: HistGradientBoostingRegressor(**HIST).fit(X, Y),
    "hist, missing": lambda: HistGradientBoostingRegressor(**HIST, max_bins=20).fit(GAPS, Y),
    "hist, categories": lambda: HistGradientBoostingRegressor(**HIST, categorical_features=[3]).fit(GAPS, Y),
    "hist, only categories": lambda: HistGradientBoostingRegressor(
        **HIST, categorical_features=[0, 1, 2, 3]
    ).fit(GAPS, Y),
    "hist, poisson": lambda: HistGradientBoostingRegressor(**HIST, loss="poisson").fit(GAPS, np.abs(Y)),
    "hist, gamma": lambda: HistGradientBoostingRegressor(**HIST, loss="gamma").fit(GAPS, np.exp(Y)),
    "hist, quantile": lambda: HistGradientBoostingRegressor(**HIST, loss="quantile", quantile=0.7).fit(
        GAPS, Y
    ),
    "hist, binary": lambda: HistGradientBoostingClassifier(**HIST, interaction_cst="pairwise").fit(
        GAPS, BINARY
    ),
    "hist, classes": lambda: HistGradientBoostingClassifier(**HIST, categorical_features=[1, 3]).fit(
        GAPS, CLASSES
    ),
    "hist, early": lambda: HistGradientBoostingRegressor(
        max_iter=100, early_stopping=True, n_iter_no_change=2, learning_rate=0.8, random_state=0
    ).fit(GAPS, Y),
    "hist, warm": lambda: (
        HistGradientBoostingRegressor(**HIST, warm_start=True).fit(X, Y).set_params(max_iter=12).fit(X, Y)
    ),
    "isolation": lambda: IsolationForest(n_estimators=8, max_samples=50, random_state=0).fit(GAPS),
    "isolation, features": lambda: IsolationForest(
        n_estimators=8, max_features=2, contamination=0.1, bootstrap=True, random_state=0
    ).fit(X),
    "isolation, one row": lambda: IsolationForest(n_estimators=3, max_samples=1, random_state=0).fit(X),
    "voting": lambda: voting(
        RandomForestRegressor(**FOREST),
        GradientBoostingRegressor(**BOOST),
        HistGradientBoostingRegressor(**HIST),
        weights=[1, 2, 0.5],
    ).fit(X, Y),
    "voting, missing, xgboost": lambda: voting(
        xgb.XGBRegressor(n_estimators=8, max_depth=3),
        HistGradientBoostingRegressor(**HIST),
        DecisionTreeRegressor(**TREE),
    ).fit(GAPS, Y),
    "voting, categories": lambda: voting(
        HistGradientBoostingRegressor(**HIST, categorical_features=[3]),
        HistGradientBoostingRegressor(**HIST, categorical_features=[3], max_features=0.5),
    ).fit(GAPS, Y),
    "voting, classes": lambda: voting(
        RandomForestClassifier(**FOREST), DecisionTreeClassifier(**TREE), kind=VotingClassifier, voting="soft"
    ).fit(X, CLASSES),
    "voting of bagging": lambda: voting(
        BaggingRegressor(DecisionTreeRegressor(**TREE), 3, random_state=0), RandomForestRegressor(**FOREST)
    ).fit(X, Y),
    "voting, lightgbm, xgboost": lambda: voting(
        lgb.LGBMRegressor(n_estimators=8, num_leaves=6, min_child_samples=5, verbose=-1),
        xgb.XGBRegressor(n_estimators=8, max_depth=3),
        RandomForestRegressor(**FOREST),
        weights=[3, 1, 2],
    ).fit(GAPS, Y),
    "bagging, xgboost": lambda: BaggingRegressor(
        xgb.XGBRegressor(n_estimators=5, max_depth=3), 3, max_features=3, random_state=0
    ).fit(GAPS, Y),
    "bagging, features twice": lambda: BaggingRegressor(
        DecisionTreeRegressor(**TREE), 5, bootstrap_features=True, random_state=0
    ).fit(X, Y),
    "bagging, targets": lambda: BaggingRegressor(DecisionTreeRegressor(**TREE), 3, random_state=0).fit(
        X, TARGETS
    ),
    "bagging, binary": lambda: BaggingClassifier(ExtraTreesClassifier(**FOREST), 3, random_state=0).fit(
        X, BINARY
    ),
}


# -- plain statements of how the models compute -------------------------------------------------------


def margin_of(model, X):
    """Return the margin from the model's public methods, of shape (n_samples, n_outputs)."""
    if isinstance(model, IsolationForest):
        depth = np.zeros(len(X))
        for tree, columns in zip(model.estimators_, model.estimators_features_):
            leaf = tree.tree_.apply(np.asarray(X[:, columns], dtype=np.float32))
            # Depths count nodes, including the root and the leaf.
            depth += tree.tree_.compute_node_depths()[leaf] - 1
            depth += _average_path_length(tree.tree_.n_node_samples[leaf])
        margin = depth / len(model.estimators_)
    elif hasattr(model, "decision_function"):
        margin = model.decision_function(X)
    elif is_classifier(model):
        margin = model.predict_proba(X)
        margin = margin[:, 1] if margin.shape[1] == 2 else margin
    elif getattr(model, "loss", None) in ("poisson", "gamma"):
        margin = np.log(model.predict(X))
    else:
        margin = model.predict(X)
    return np.asarray(margin, dtype=np.float64).reshape(len(X), -1)


def thresholds(model):
    """Return (column, threshold) of all numeric splits."""
    if hasattr(model, "get_booster"):
        frame = model.get_booster().trees_to_dataframe()
        frame = frame[frame.Feature != "Leaf"]
        return [(int(name[1:]), split) for name, split in zip(frame.Feature, frame.Split)]
    if isinstance(model, lgb.LGBMModel):
        return splits(model)
    if isinstance(model, VotingRegressor | VotingClassifier):
        return [pair for member in model.estimators_ for pair in thresholds(member)]
    if isinstance(model, BaggingRegressor | BaggingClassifier):
        return [
            (own[j], t)
            for member, own in zip(model.estimators_, model.estimators_features_)
            for j, t in thresholds(member)
        ]
    if hasattr(model, "_predictors"):
        order = np.arange(4)
        if model.is_categorical_ is not None:
            order = np.concatenate(
                [np.flatnonzero(model.is_categorical_), np.flatnonzero(~model.is_categorical_)]
            )
        nodes = np.concatenate([tree.nodes for trees in model._predictors for tree in trees])
        nodes = nodes[(nodes["is_leaf"] == 0) & (nodes["is_categorical"] == 0)]
        return list(zip(order[nodes["feature_idx"]], nodes["num_threshold"]))
    out = []
    trees = np.ravel(getattr(model, "estimators_", [model]))
    owns = getattr(model, "estimators_features_", [np.arange(4)] * len(trees))
    for tree, own in zip(trees, owns):
        inner = tree.tree_.children_left >= 0
        out += list(zip(own[tree.tree_.feature[inner]], tree.tree_.threshold[inner]))
    return out


def takes(model, value):
    """Return whether the model itself accepts a value."""
    try:
        model.predict(np.full((1, 4), value))
    except ValueError:
        return False
    return True
