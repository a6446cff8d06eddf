"""Score models by the difference between groups."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, cross_validate

from skglex import FeatureRemover
from skglex.inspection import make_group_scorer

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.integers(0, 3, 600), RNG.normal(size=600)])
Y = X[:, 0] + X[:, 1]
FRAME = pd.DataFrame(X, columns=["team", "x"])
SMALL = {"max_iter": 5, "max_depth": 3}
CLASSIFIER = HistGradientBoostingClassifier(**SMALL).fit(X, np.where(Y > 1, "high", "low"))
REGRESSOR = HistGradientBoostingRegressor(**SMALL).fit(X, Y)
WEIGHT = RNG.integers(1, 4, 600)


def spread(values, weight=None):
    found = [
        np.average(values[X[:, 0] == g], weights=None if weight is None else weight[X[:, 0] == g])
        for g in range(3)
    ]
    return min(found) - max(found)


def test_rates_of_labels_and_means_of_numbers_are_the_defaults():
    scorer = make_group_scorer(groups=0)
    assert scorer(CLASSIFIER, X) == spread(CLASSIFIER.predict(X) == "low") < -0.1
    assert scorer(REGRESSOR, X, Y, sample_weight=WEIGHT) == spread(REGRESSOR.predict(X), WEIGHT)
    high = make_group_scorer("mean", groups=0, label="high")
    assert high(CLASSIFIER, X) == spread(CLASSIFIER.predict_proba(X)[:, 0])
    assert make_group_scorer(np.mean, groups=0)(REGRESSOR, X) == pytest.approx(spread(REGRESSOR.predict(X)))
    several = HistGradientBoostingClassifier(**SMALL).fit(X, np.digitize(Y, [0, 1]))
    assert make_group_scorer(groups=0, label=2)(several, X) == spread(several.predict(X) == 2)
    with pytest.raises(ValueError, match=r"label must be one of the classes \[0, 1, 2\]; got None"):
        scorer(several, X)


@pytest.mark.parametrize(
    ("rows", "groups"),
    [
        (FRAME, "team"),
        (FRAME, 0),
        (FRAME.set_axis([7, 0], axis=1), 7),
        (pl.DataFrame(FRAME.to_dict("list")), "team"),
        (X, -2),
        (X.tolist(), 0),
        (sp.csr_matrix(X), 0),
        (FRAME, lambda rows: rows["team"]),
    ],
)
def test_groups_are_found_in_every_container(rows, groups):
    class Constant(RegressorMixin, BaseEstimator):
        def predict(self, rows):
            return Y

    scorer = pickle.loads(pickle.dumps(make_group_scorer(groups=groups))) if not callable(groups) else None
    scorer = scorer or make_group_scorer(groups=groups)
    assert scorer(Constant(), rows) == spread(Y)


def test_a_search_removes_the_feature():
    search = GridSearchCV(
        FeatureRemover(HistGradientBoostingClassifier(**SMALL), "team"),
        {"strength": [0.0, 0.5, 1.0]},
        scoring={"accuracy": "accuracy", "parity": make_group_scorer(groups="team")},
        refit="parity",
        cv=2,
        n_jobs=2,
        error_score="raise",
    ).fit(FRAME, Y > 1)
    assert search.best_params_ == {"strength": 1.0}
    assert search.cv_results_["mean_test_parity"].argmin() == 0


def test_groups_by_metadata():
    with config_context(enable_metadata_routing=True):
        scorer = make_group_scorer()
        found = cross_validate(REGRESSOR, X[:, 1:], Y, scoring=scorer, cv=2, params={"groups": X[:, 0]})
        assert (found["test_score"] < 0).all()
        with pytest.raises(ValueError, match="the scorer needs groups"):
            scorer(REGRESSOR, X)
    with pytest.raises(ValueError, match="metadata routing is not enabled"):
        make_group_scorer("mean")


@pytest.mark.parametrize(
    ("scorer", "rows", "message"),
    [
        (
            make_group_scorer(groups="city"),
            FRAME,
            r"groups must be a column of X; got 'city'\. The columns are 'team'",
        ),
        (make_group_scorer(groups=2), X, r"got 2\. X has 2 columns, without names"),
        (make_group_scorer("rate", groups=0), X, "rates and labels are for classifiers; HistGradient"),
        (make_group_scorer(groups=lambda rows: np.ones(600)), X, "all rows are of the group 1.0"),
    ],
)
def test_bad_input(scorer, rows, message):
    with pytest.raises(ValueError, match=message):
        scorer(REGRESSOR, rows)


def test_unknown_statistics_are_refused_at_once():
    with pytest.raises(ValueError, match="got 'mode'"):
        make_group_scorer("mode", groups=0)
