"""Read voting and bagging ensembles: averages of other models."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from lightgbm import LGBMRegressor
from sklearn.ensemble import (
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)

from skglex import FeatureRemover, GlexDecomposer
from skglex._leaves._grid import Grid
from skglex._readers._combined import last_left
from tests.readers.sklearn_models import (
    BINARY,
    EXACT,
    FOREST,
    TREE,
    X,
    Y,
    voting,
)


@pytest.mark.parametrize("as_float32", [False, True])
@pytest.mark.parametrize("less_equal", [False, True])
@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
def test_one_comparison_for_all_members_of_a_sum(less_equal, as_float32):
    largest = float(np.finfo(np.float32).max)
    cuts = np.array([-largest, -1.0, -0.1, 0.0, 1e-46, 0.1, 0.6, 2.0**24, largest, np.inf])
    if as_float32 and not less_equal:  # XGBoost's thresholds are float32.
        cuts = np.unique(cuts.astype(np.float32).astype(float))
    whole = np.array([0, len(cuts)])
    grid = Grid(np.arange(1), cuts, whole, np.zeros(1, bool), less_equal, as_float32)
    single = cuts.astype(np.float32)
    near = [cuts, single, *(np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf))]
    near = np.concatenate([np.float64(part) for part in near])
    near = np.concatenate([near, (near[:, None] / 2 + near / 2).ravel()])
    rows = np.concatenate(
        [near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf), [1e39, 1e300, -np.inf]]
    )
    rows = rows[~np.isnan(rows)]
    ours = last_left(grid)
    # Cut i sends bins up to i left.
    goes_left = grid.bin(rows[None])[0][:, None] <= np.arange(len(cuts))
    np.testing.assert_array_equal(rows[:, None] <= ours, goes_left)


def test_sparse_input_on_which_members_disagree():
    model = voting(xgb.XGBRegressor(n_estimators=3), DecisionTreeRegressor(**TREE)).fit(X, Y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(X)
    with pytest.raises(ValueError, match="estimators of the ensemble read its unstored entries differently"):
        decomposer.transform(sp.csr_matrix(X))


def test_a_soft_vote_is_a_probability():
    votes = [RandomForestClassifier(**FOREST), DecisionTreeClassifier(**TREE)]
    soft = voting(*votes, kind=VotingClassifier, voting="soft").fit(X, BINARY)
    expected = soft.predict_proba(np.insert(X[:, 1:], 0, X[0, 0], axis=1))
    whole = FeatureRemover(soft, ["x0"], strength=0.5).fit(X[:1])  # x0 comes from the only background row.
    probabilities = (expected + soft.predict_proba(X)) / 2
    np.testing.assert_allclose(whole.predict_proba(X), probabilities, rtol=0, atol=EXACT)


def test_categories_that_members_take_in_different_ways():
    """This holds even if the other member uses other columns only."""
    codes = xgb.XGBRegressor(n_estimators=3, feature_types=["q", "q", "q", "c"])
    model = voting(codes, DecisionTreeRegressor(max_depth=1)).fit(X, Y + 3 * (X[:, 3] > X[:, 3].min()))
    with pytest.raises(ValueError, match="treat categories in different ways"):
        GlexDecomposer(model, max_interaction=None).fit(X)


def test_categorical_columns_that_one_member_knows_of():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = voting(LGBMRegressor(n_estimators=2, verbose=-1), DecisionTreeRegressor(**TREE)).fit(frame, Y)
    with pytest.raises(ValueError, match=r"X has the categorical columns \['d'\]"):
        GlexDecomposer(model, max_interaction=None).fit(frame.astype({"d": "category"}))


class Sampler(FunctionTransformer):
    """Stand in for a sampler, which the pipeline of imbalanced-learn passes over in ``predict``."""

    def fit_resample(self, X, y):
        return X, y


def test_members_behind_a_sampler():
    """The members of imbalanced-learn's bagging are pipelines of a sampler and a tree."""
    model = voting(DecisionTreeRegressor(**TREE), RandomForestRegressor(**FOREST)).fit(X, Y)
    plain = GlexDecomposer(model, max_interaction=None).fit(X).transform(X)
    model.estimators_ = [
        Pipeline([("draw", Sampler(validate=True).fit(X)), ("tree", member)]) for member in model.estimators_
    ]
    np.testing.assert_array_equal(GlexDecomposer(model, max_interaction=None).fit(X).transform(X), plain)
