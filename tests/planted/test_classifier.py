"""Check the planted forest for classification."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from skglex import GlexDecomposer, RandomPlantedForestClassifier

# Without numba, the random number generator warns about its arithmetic modulo 2**64.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


LOSSES = ["log_loss", "exponential", "squared_error", "absolute_error"]


@pytest.mark.parametrize("loss", LOSSES)
def test_classes(loss):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    forest = RandomPlantedForestClassifier(20, loss=loss, random_state=0).fit(X, names[y])
    proba = forest.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(names[forest.decision_function(X).argmax(axis=1)], forest.predict(X))
    assert forest.score(X, names[y]) > 0.93

    binary = RandomPlantedForestClassifier(20, loss=loss, random_state=0).fit(X, y == 1)
    assert_array_equal(binary.decision_function(X) > 0, binary.predict(X))
    assert_array_equal(binary.predict_proba(X)[:, 1] > 0.5, binary.predict(X))
    decomposer = GlexDecomposer(binary).fit(X)
    margin = decomposer.intercept_ + decomposer.transform(X).sum(axis=1)
    assert_allclose(margin, binary._margin(X)[:, 0], atol=1e-12)


def test_binary_feature_splits_in_classification():
    # The R package never splits a binary feature in classification, since it skips the largest value as well.
    x = np.repeat([0.0, 1.0], 20)
    forest = RandomPlantedForestClassifier(10, random_state=0).fit(x[:, None], x.astype(int))
    assert forest.score(x[:, None], x.astype(int)) == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_classifier_without_a_split_predicts_the_share(loss):
    y = np.repeat([0, 1], [30, 70])
    forest = RandomPlantedForestClassifier(3, n_splits=0, bootstrap=False, loss=loss)
    proba = forest.fit(np.zeros((100, 1)), y).predict_proba([[0.0]])
    assert_allclose(proba, [[0.3, 0.7]])


def test_decomposer_fits_a_forest_itself():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    decomposer = GlexDecomposer(RandomPlantedForestClassifier(5, random_state=0)).fit(X, names[y])
    assert_array_equal(decomposer.classes_, names)
    assert decomposer.transform(X).shape == (150, decomposer.n_components_)
    with pytest.raises(ValueError, match="path_dependent"):
        GlexDecomposer(RandomPlantedForestClassifier(5), weighting="path_dependent").fit(X, y)
