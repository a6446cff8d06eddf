"""What a margin means: decisions, labels, probabilities and scores."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from skglex._response import Isolation, Response, even_margin, inverse_link, is_link, join_link, split_link

BINARY = Response("sigmoid", classes=np.array(["no", "yes"]))
SEVERAL = Response("softmax", n_outputs=3, classes=np.array([3, 5, 9]))
LABELS = Response("sigmoid", n_outputs=2, classes=np.array([0, 1]))
FOREST = Response(isolation=Isolation(path_length=2.0, offset=-0.5))


def column(*values):
    return np.array(values, dtype=float)[:, None]


def test_regressor():
    response = Response("exponential", n_outputs=2)
    margin = np.array([[0.0, 1.0]])
    assert not any([response.is_classifier, response.binary, response.multilabel])
    np.testing.assert_array_equal(response.decision(margin), margin)
    np.testing.assert_array_equal(response.predict(response.output(margin)), np.exp(margin))
    assert Response().predict(column(1, 2)).shape == (2,)


def test_binary_classifier():
    margin = column(-1, 1e-13, -1e-13, 1)
    assert BINARY.is_classifier
    assert BINARY.binary
    np.testing.assert_array_equal(BINARY.decision(margin), [-1, 0, 0, 1])
    output = BINARY.output(margin)
    assert BINARY.predict(output).tolist() == ["no", "no", "no", "yes"]
    assert replace(BINARY, second_class_on_ties=True).predict(output).tolist() == ["no", "yes", "yes", "yes"]
    np.testing.assert_array_equal(BINARY.probabilities(output), np.hstack([1 - output, output]))


def test_a_single_class():
    response = replace(BINARY, classes=np.array([7]))
    np.testing.assert_array_equal(response.probabilities(column(0.2, 0.8)), np.ones((2, 1)))
    assert response.predict(column(0.2, 0.8)).tolist() == [7, 7]


def test_several_classes_and_labels():
    margin = np.array([[0.0, 2, 1], [4, 2, 1]])
    assert not SEVERAL.multilabel
    assert SEVERAL.predict(SEVERAL.output(margin)).tolist() == [5, 3]
    np.testing.assert_array_equal(SEVERAL.decision(margin), margin)
    assert LABELS.multilabel
    assert replace(LABELS, link="multiclass_ova", n_outputs=3).multilabel
    assert LABELS.predict(LABELS.output(np.array([[-1.0, 1], [0, 1e-3]]))).tolist() == [[0, 1], [0, 1]]


def test_isolation_forest():
    margin = column(2, 1, 4)
    np.testing.assert_array_equal(FOREST.scores(margin), -np.exp2(-margin[:, 0] / 2))
    np.testing.assert_array_equal(FOREST.decision(margin), FOREST.scores(margin) + 0.5)
    assert FOREST.outliers(FOREST.scores(margin)).tolist() == [1, -1, 1]
    without_length = replace(FOREST, isolation=Isolation(0.0, -0.5))
    assert without_length.scores(margin).tolist() == [-0.5] * 3
    with pytest.raises(ValueError, match="only isolation forests"):
        BINARY.scores(margin)


@pytest.mark.parametrize("link", ["sigmoid", "sigmoid 2.0", "identity", "probability", "exponential"])
def test_margin_of_equal_classes(link):
    assert inverse_link(link, column(even_margin(link)))[0, 0] == pytest.approx(0.5)


def test_links():
    assert split_link(join_link("sigmoid", 0.1)) == ("sigmoid", 0.1)
    assert join_link("sigmoid", 1.0) == "sigmoid"
    assert is_link("sigmoid 2.0")
    assert is_link("custom")
    assert not is_link("probit")
    assert not is_link("sigmoid two")
    with pytest.raises(ValueError, match="custom objective"):
        Response("custom").output(column(1))
    with pytest.raises(ValueError, match="unknown inverse link 'probit'"):
        Response("probit").output(column(1))


def test_pickle():
    response = pickle.loads(pickle.dumps(replace(SEVERAL, isolation=FOREST.isolation)))
    assert response.isolation == FOREST.isolation
    np.testing.assert_array_equal(response.classes, SEVERAL.classes)
