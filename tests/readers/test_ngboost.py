"""Read NGBoost's models, whose outputs are the parameters of a distribution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skglex import FeatureRemover, GlexDecomposer
from tests.readers.contract import ReaderContract
from tests.readers.sklearn_models import BINARY, EXACT, X, Y

ngboost = pytest.importorskip("ngboost", reason="NGBoost needs an older pandas through lifelines")

SMALL = {"n_estimators": 5, "verbose": False, "random_state": 0}
COUNTS = np.round(np.abs(Y))
CODES = np.digitize(Y, [0, 1])
MODELS = {
    "normal": lambda: ngboost.NGBRegressor(**SMALL, col_sample=0.75).fit(X, Y),
    "poisson": lambda: ngboost.NGBRegressor(ngboost.distns.Poisson, **SMALL).fit(X, COUNTS),
    "survival": lambda: ngboost.NGBSurvival(**SMALL).fit(X, np.exp(Y), BINARY),
    "two classes": lambda: ngboost.NGBClassifier(**SMALL).fit(X, BINARY),
    "three classes": lambda: ngboost.NGBClassifier(ngboost.distns.k_categorical(3), **SMALL).fit(X, CODES),
}


class TestContract(ReaderContract):
    X = X
    special = (0.0, 1e30)
    without_walk = tuple(MODELS)
    # No operator of ONNX knows the distributions.
    without_onnx = ("normal", "poisson", "survival")
    saved = ("normal",)
    with_skops = False

    def margin(self, model, rows):
        parameters = np.asarray(model.pred_param(rows))
        return (
            np.insert(parameters, 0, 0.0, axis=1)
            if "Classifier" in str(type(model)) and parameters.shape[1] > 1
            else parameters
        )

    def thresholds(self, model):
        for members, columns in zip(model.base_models, model.col_idxs):
            for member in members:
                inner = member.tree_.children_left >= 0
                yield from zip(np.array(columns)[member.tree_.feature[inner]], member.tree_.threshold[inner])

    def takes(self, model, value):
        return abs(value) < 1e38


def test_parameters_are_outputs(model_of):
    decomposer = GlexDecomposer(model_of("normal")).fit(X)
    assert {name.partition("__")[0] for name in decomposer.get_feature_names_out()} == {"loc", "log_scale"}
    remover = FeatureRemover(model_of("survival"), [0], strength=1e-300).fit(X)
    assert_allclose(remover.predict(X), model_of("survival").predict(X), rtol=EXACT)


def test_other_base_learners_are_refused():
    from sklearn.linear_model import Ridge

    model = ngboost.NGBRegressor(Base=Ridge(), **SMALL).fit(X, Y)
    with pytest.raises(ValueError, match="NGBRegressor over a Ridge"):
        GlexDecomposer(model).fit(X)
