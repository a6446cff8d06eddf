"""Refuse models that are no sums of trees, and find the reader of the others."""

import numpy as np
import pytest
import xgboost as xgb
from lightgbm import LGBMRegressor
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import (
    AdaBoostRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.multioutput import RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)

from skglex import GlexDecomposer, RandomPlantedForestRegressor
from skglex.exceptions import AdditivityError
from tests.readers.sklearn_models import (
    BINARY,
    BOOST,
    CLASSES,
    EXACT,
    FOREST,
    GAPS,
    HIST,
    TREE,
    X,
    Y,
    voting,
)
from tests.support.oracles import total


class MyForest(RandomForestRegressor):
    """Derive from a forest, as a user may do in another module."""


class MyMean(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class MyTwist(RandomForestRegressor):
    def predict(self, X):
        return 2 * super().predict(X)


def test_subclasses():
    model = MyForest(**FOREST).fit(X, Y)
    np.testing.assert_allclose(
        total(GlexDecomposer(model, max_interaction=None).fit(X), X)[:, 0], model.predict(X), atol=EXACT
    )
    with pytest.raises(TypeError, match="cannot read a MyMean into leaves"):
        GlexDecomposer(MyMean().fit(X, Y), max_interaction=None).fit(X)
    with pytest.raises(RuntimeError, match="the model was not read exactly"):
        GlexDecomposer(MyTwist(**FOREST).fit(X, Y), max_interaction=None).fit(X)


def test_pipelines_and_frozen_estimators():
    model = make_pipeline(SimpleImputer(), GradientBoostingRegressor(**BOOST)).fit(GAPS, Y)
    for estimator in (model, FrozenEstimator(model)):
        ours = total(GlexDecomposer(estimator, max_interaction=None).fit(GAPS), GAPS)
        np.testing.assert_allclose(ours[:, 0], model.predict(GAPS), atol=EXACT)
    member = FrozenEstimator(RandomForestRegressor(**FOREST).fit(X, Y))
    model = voting(member, DecisionTreeRegressor(**TREE)).fit(X, Y)
    np.testing.assert_allclose(
        total(GlexDecomposer(model, max_interaction=None).fit(X), X)[:, 0], model.predict(X), atol=EXACT
    )
    # A dropped member has no weight.
    model = voting(member, DecisionTreeRegressor(**TREE), "drop", weights=[1, 2, 7]).fit(X, Y)
    np.testing.assert_allclose(
        total(GlexDecomposer(model, max_interaction=None).fit(X), X)[:, 0], model.predict(X), atol=EXACT
    )


REFUSED = {
    "AdaBoostRegressor: .* Use gradient boosting": AdaBoostRegressor(),
    "GridSearchCV: .*best_estimator_": GridSearchCV(DecisionTreeRegressor(), {}),
    "RegressorChain: .*estimators_.* MultiOutputRegressor": RegressorChain(DecisionTreeRegressor()),
    "OneVsOneClassifier: .*estimators_.* OneVsRestClassifier": OneVsOneClassifier(DecisionTreeClassifier()),
    "RandomTreesEmbedding: its trees predict nothing": RandomTreesEmbedding(3),
}


@pytest.mark.parametrize("match", REFUSED)
def test_what_is_no_sum_of_trees_is_refused_before_it_is_fitted(match):
    for prefit in ("auto", True):
        with pytest.raises(TypeError, match="cannot decompose a " + match):
            GlexDecomposer(REFUSED[match], prefit=prefit, max_interaction=None).fit(X, Y)


def refused_models():
    tree = DecisionTreeRegressor(**TREE)
    yield (
        ValueError,
        "with init=LinearRegression.*Use init=None",
        GradientBoostingRegressor(**BOOST, init=LinearRegression()).fit(X, Y),
    )
    yield (
        ValueError,
        "with 2 targets: fit one classifier per target",
        RandomForestClassifier(**FOREST).fit(X, np.column_stack([BINARY, CLASSES == "top"])),
    )
    yield (
        ValueError,
        "Use voting='soft'",
        voting(DecisionTreeClassifier(), kind=VotingClassifier).fit(X, BINARY),
    )
    yield TypeError, "member LinearRegression", voting(tree, LinearRegression()).fit(X, Y)
    yield (
        ValueError,
        "with a member whose input has missing=-999.0",
        voting(xgb.XGBRegressor(n_estimators=2, missing=-999), tree).fit(X, Y),
    )
    yield (
        ValueError,
        "has no binary trees",
        voting(RandomPlantedForestRegressor(n_estimators=2, random_state=0)).fit(X, Y),
    )
    yield (
        ValueError,
        "different categories in column 3, or of which some treat",
        voting(HistGradientBoostingRegressor(**HIST, categorical_features=[3]), tree).fit(X, Y),
    )
    light = LGBMRegressor(n_estimators=2, verbose=-1)
    yield (
        ValueError,
        "only some members cast integers to float32",
        voting(light, HistGradientBoostingRegressor(**HIST)).fit(X, Y),
    )


def test_what_cannot_be_read_exactly_is_refused():
    for error, match, model in refused_models():
        with pytest.raises(error, match=match):
            GlexDecomposer(model, max_interaction=None).fit(X)


class Doubled(RandomForestRegressor):
    """Stand in for a model of another package that predicts something else than the mean of its trees."""

    def predict(self, X):
        return 2 * super().predict(X)


class Broken(RandomForestRegressor):
    """Stand in for a model of another package that keeps no trees."""

    def fit(self, X, y):
        super().fit(X, y)
        self.estimators_ = [None]
        return self


class Detector:
    """Stand in for a wrapper whose fitted attribute is a model that can be read."""

    def fit(self, X):
        self.detector_ = IsolationForest(n_estimators=2, random_state=0).fit(X)
        self.kind_, self._hidden = "isolation", self.detector_
        return self


def test_subclasses_of_other_packages_say_so():
    X = np.random.default_rng(0).normal(size=(40, 2))
    says = r"is a class of tests that derives from RandomForestRegressor of sklearn, .* Pass a model of sklearn itself"
    with pytest.raises(AdditivityError, match=f"Doubled {says}") as caught:
        GlexDecomposer(Doubled(2, random_state=0).fit(X, X[:, 0])).fit(X)
    assert "report" not in str(caught.value)
    with pytest.raises(ValueError, match=f"cannot read this model: .* Broken {says}"):
        GlexDecomposer(Broken(2, random_state=0).fit(X, X[:, 0])).fit(X)


def test_wrappers_name_the_parts_that_can_be_read():
    X = np.random.default_rng(0).normal(size=(40, 2))
    detector = Detector().fit(X)
    with pytest.raises(TypeError, match=r"parts that can be read. Pass `\.detector_` \(IsolationForest\)$"):
        GlexDecomposer(detector).fit(X)
    assert GlexDecomposer(detector.detector_).fit(X).transform(X).shape[0] == 40


@pytest.mark.parametrize(
    ("module", "match"),
    [
        ("quantile_forest._quantile_forest", "quantiles of the training targets.*quantile loss"),
        ("econml.grf.classes", "weight training rows.*Fit a regressor on its estimated effects"),
        ("isotree", "a format of their own. Use sklearn.ensemble.IsolationForest"),
    ],
)
def test_forests_of_other_packages_are_refused_with_the_nearest_thing_that_works(module, match):
    """Stand in for packages that are not installed: the module of the class counts, before its base classes."""
    kind = type("Forest", (RandomForestRegressor,), {"__module__": module})
    with pytest.raises(TypeError, match=f"cannot decompose a Forest: .*{match}"):
        GlexDecomposer(kind()).fit(X, Y)
