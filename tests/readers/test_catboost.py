"""Read every kind of CatBoost model."""

import json

import catboost as cb
import numpy as np
import pytest
from numpy.testing import assert_allclose

from skglex import GlexDecomposer
from tests.readers.catboost_models import (  # noqa: F401
    BINARY,
    FLOAT64,
    KINDS,
    MODELS,
    POLICIES,
    POSITIVE,
    SIGNAL,
    SMALL,
    SquaredError,
    X,
    classifier,
    margin_of,
    regressor,
    to_json,
)
from tests.readers.contract import ReaderContract
from tests.support import tree_walks
from tests.support.oracles import total

# A node that no training row reaches is common, and warns.
pytestmark = pytest.mark.filterwarnings("ignore:.* nodes of the model have cover 0:UserWarning")


class TestContract(ReaderContract):
    X = X
    # CatBoost 1.2.10's SHAP values of other trees do not add up to its margin, or CatBoost crashes.
    explained = tuple(kind for kind in KINDS if kind != "RMSEWithUncertainty")
    # `catboost.CatBoost` predicts its margin whatever the loss.
    without_output = tuple(kind for kind in KINDS if kind.startswith("CatBoost, "))
    without_onnx = ("MultiLogloss",)
    saved = ("Logloss", "Logloss, Depthwise", "Logloss, Lossguide", "MultiClass")
    dependence = ("RMSE", "RMSE, Depthwise")

    def margin(self, model, rows):
        return margin_of(model, rows)

    def thresholds(self, model):
        return [(j, np.float32(t)) for j, found in model.get_borders().items() for t in found]

    def path_dependent_game(self, model, rows):
        return tree_walks.game(model, rows, margin_of(model, rows))

    def shap_values(self, name, model, rows):
        n, d = rows.shape
        phi, pairs = (
            model.get_feature_importance(cb.Pool(rows), type=kind, thread_count=1)
            for kind in ("ShapValues", "ShapInteractionValues")
        )
        phi, pairs = phi.reshape(n, -1, d + 1), pairs.reshape(n, -1, d + 1, d + 1)[:, :, :d, :d]
        return phi[:, :, :d].transpose(0, 2, 1), phi[0, :, d], pairs.transpose(0, 2, 3, 1)

    def reloaded(self, model, folder):
        model.save_model(str(folder / "model.cbm"))
        yield type(model)().load_model(str(folder / "model.cbm"))
        yield cb.CatBoost().load_model(str(folder / "model.cbm"))


def test_nodes_without_cover_count_nothing():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    model = regressor(rows[:, 0] * rows[:, 1], rows, depth=6, iterations=20)
    assert (model.get_leaf_weights() == 0).mean() > 0.5
    with pytest.warns(UserWarning, match=r"nodes of the model have cover 0 .* taken as 0 for each child"):
        decomposer = GlexDecomposer(model, weighting="path_dependent", max_interaction=None).fit(rows)
    own = model.get_feature_importance(cb.Pool(rows), type="ShapValues")
    assert_allclose(decomposer.shap_values(rows), own[:, :3], **FLOAT64)
    assert_allclose(decomposer.intercept_, own[0, 3], **FLOAT64)


def test_trees_without_leaf_weights(tmp_path):
    """Files may omit leaf weights, which margins and empirical weights do not need."""
    model = regressor()
    content = to_json(model, tmp_path)
    for tree in content["oblivious_trees"]:
        del tree["leaf_weights"]
    (tmp_path / "bare.json").write_text(json.dumps(content))
    bare = cb.CatBoost().load_model(str(tmp_path / "bare.json"), format="json")
    with pytest.raises(ValueError, match="needs node covers, which this CatBoost does not have"):
        GlexDecomposer(bare, weighting="path_dependent", max_interaction=None).fit(X)
    expected = GlexDecomposer(model, max_interaction=None).fit(X).transform(X)
    assert_allclose(
        GlexDecomposer(bare, max_interaction=None).fit(X).transform(X), expected, **FLOAT64
    )  # JSON rounds values.


# -- missing values, borders, scale, early stopping --------------------------------------------------


def test_many_borders_on_integers_near_2_to_24():
    rng = np.random.default_rng(0)
    rows = 2.0**24 + rng.integers(-20, 20, size=(500, 2))
    model = regressor((rows[:, 0] - 2.0**24) * (rows[:, 1] > 2.0**24), rows, iterations=30)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(rows)
    assert_allclose(total(decomposer, rows), margin_of(model, rows), **FLOAT64)
    probe = rows + rng.choice([-1.0, 0.0, 0.5, 1.0], size=rows.shape)
    assert_allclose(total(decomposer, probe), margin_of(model, probe), **FLOAT64)


@pytest.mark.parametrize("policy", POLICIES)
def test_labels_and_sums_of_models(policy, tmp_path):
    model = classifier(np.where(BINARY, "yes", "no"), grow_policy=policy)
    reference = GlexDecomposer(model, max_interaction=None).fit(X)
    for loaded in TestContract().reloaded(model, tmp_path):
        assert GlexDecomposer(loaded, max_interaction=None).fit(X).classes_.tolist() == ["no", "yes"]
    both = cb.sum_models([model, model], weights=[0.25, 2.0])
    decomposer = GlexDecomposer(both, max_interaction=None).fit(X)
    assert_allclose(decomposer.transform(X), 2.25 * reference.transform(X), **FLOAT64)


def test_splits_at_minus_infinity_cannot_be_written():
    rows = np.random.default_rng(0).normal(size=(300, 2)).round(1)
    target = rows[:, 0] * rows[:, 1]
    model = cb.CatBoostRegressor(iterations=5, silent=True, allow_writing_files=False)
    model.fit(np.where(rows < -1, -np.inf, rows), target)
    with pytest.raises(
        ValueError, match=r"as JSON, since it splits at -inf.*Replace -inf by a finite number"
    ):
        GlexDecomposer(model).fit(rows)
    above = np.where(rows > 1, np.inf, rows)
    model.fit(above, target)
    decomposer = GlexDecomposer(model).fit(above)
    assert_allclose(
        total(decomposer, above)[:, 0], model.predict(above), rtol=0, atol=1e-12
    )  # Sums of 5 trees.
