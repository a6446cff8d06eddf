"""Read every kind of LightGBM model."""

import re

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skglex import FeatureRemover, GlexDecomposer
from skglex._readers._registry import find_reader
from skglex.plotting import ComponentDisplay
from tests.readers.contract import ReaderContract
from tests.readers.lightgbm_models import (
    MODELS,
    SIGNAL,
    SKEWED,
    SMALL,
    SUMS,
    ZERO,
    D,
    N,
    X,
    bare,
    booster,
    decompose,
    n_averaged,
    raw,
    regressor,
    splits,
)
from tests.support import tree_walks
from tests.support.oracles import total

# LightGBM < 4.7 warns of models trained on arrays, too.
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names, but LGBM:UserWarning")


class TestContract(ReaderContract):
    X = X
    special = (
        *(np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 1.7e308, -1.7e308, 1e39),
        *(ZERO, -ZERO, np.nextafter(ZERO, 1), np.nextafter(ZERO, 0), 1e-36, 5e-324, -1e-34),
        *(-1.0, -0.5, -1e-9, 0.5, 1.999, 3.5, 9.0, 40.0, 1e9, 2.0**31, 2.0**32 + 1, 1 - 2.0**32, 7.0, 1007.9),
    )
    removed = (0, 4)
    explained = tuple(name for name in MODELS if name != "no trees")
    without_output = ("custom classes", "no trees")
    without_onnx = ("custom classes", "no trees")
    # The dump writes infinite thresholds as 1e300.
    without_walk = ("no trees", "huge")
    saved = ("regression", "binary, sigmoid", "categorical", "zero missing, no NaN", "forest, classes")
    saved += ("early", "huge")
    dependence = ("regression", "forest", "dart", "early")

    def margin(self, model, rows):
        return raw(model, rows)

    def thresholds(self, model):
        return splits(model)

    def tolerance(self, name, model, decomposer):
        return SUMS * max(1.0, np.abs(raw(model, np.nan_to_num(X))).max())

    def path_dependent_game(self, model, rows):
        return tree_walks.game(model, rows, raw(model, rows))

    def shap_values(self, name, model, rows):
        phi = bare(model).predict(rows, pred_contrib=True).reshape(len(rows), -1, D + 1) / n_averaged(model)
        return phi[:, :, :-1].transpose(0, 2, 1), phi[0, :, -1], None

    def reloaded(self, model, folder):
        bare(model).save_model(folder / "model.txt")
        yield lgb.Booster(model_file=folder / "model.txt")
        yield FrozenEstimator(model) if isinstance(model, lgb.LGBMModel) else model


def test_models_are_what_their_names_say(model_of):
    def types(name):
        lines = re.findall(r"^decision_type=(.*)$", bare(model_of(name)).model_to_string(), re.M)
        return {int(code) for line in lines for code in line.split()}

    assert types("zero missing") >= {4, 6}
    assert types("zero missing, categorical") & {1, 5, 9}
    assert types("no missing") <= {0, 2}
    assert all(types("continued") & kind for kind in ({0, 2}, {8, 10}, {1, 9}))
    assert {abs(t) for _, t in splits(model_of("tiny"))} & {ZERO}
    assert re.search(r"^threshold=.*\binf\b", model_of("split by NaN only").model_to_string(), re.M)
    assert 0 < model_of("early").best_iteration_ < 60
    kept = model_of("early, later trees kept")
    assert 0 < kept.best_iteration < kept.current_iteration()
    assert "num_leaves=1\n" in bare(model_of("some trees of one leaf")).model_to_string()
    assert re.search(r"num_leaves=[2-7]\n", bare(model_of("some trees of one leaf")).model_to_string())


def test_wrapper_and_booster_count_trees_up_to_the_best_iteration_as_each_predicts(model_of):
    kept = model_of("early, later trees kept")
    ours = total(decompose(kept), X)[:, 0]
    np.testing.assert_allclose(ours, kept.predict(X), atol=SUMS)
    assert np.abs(ours - kept.predict(X, num_iteration=-1)).max() > 0.01
    wrapper = regressor(n_estimators=20)
    wrapper.booster_.best_iteration = 5
    np.testing.assert_allclose(total(decompose(wrapper), X)[:, 0], wrapper.predict(X), atol=SUMS)
    # LightGBM copies by way of text, which keeps the later trees but not the best iteration.
    copied = clone(GlexDecomposer(kept, max_interaction=None)).fit(X)
    np.testing.assert_allclose(total(copied, X)[:, 0], copied.estimator_.predict(X), atol=SUMS)


def test_predictions_that_stop_early_are_refused():
    model = lgb.LGBMClassifier(n_estimators=5, pred_early_stop=True, verbose=-1).fit(X, SIGNAL > 0)
    with pytest.raises(ValueError, match=r"pred_early_stop=True.*Pass the booster"):
        decompose(model)
    decompose(model.booster_)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_leaves_that_are_not_finite_are_refused(value):
    model = booster(data=np.nan_to_num(X))
    model.set_leaf_output(0, 1, value)
    with pytest.raises(ValueError, match=f"the Booster has leaves with the value {value}"):
        decompose(model)


def test_linear_trees_are_refused():
    with pytest.raises(ValueError, match=r"linear_tree=True.*linear_tree=False"):
        decompose(booster(data=np.nan_to_num(X), linear_tree=True))


@pytest.mark.parametrize("change", ["v3", "v5", "missing type", "leaf", "objective", "link"])
def test_a_text_that_is_not_known_is_refused(change, monkeypatch):
    class Changed(lgb.Booster):
        def model_to_string(self, *args, **kwargs):
            text = super().model_to_string(*args, **kwargs)
            old, new = {
                "v3": ("version=v4", "version=v3"),
                "v5": ("version=v4", "version=v5"),
                "missing type": ("decision_type=", "decision_type=12 "),
                "leaf": ("leaf_value=", "leaf_value=1.5 "),
                "objective": ("objective=regression", "objective=anything"),
                "link": ("objective=regression", "objective=poisson"),
            }[change]
            assert old in text
            return text.replace(old, new)

    model = Changed(model_str=booster().model_to_string())
    with pytest.raises(ValueError, match=r"cannot read (a|the) LightGBM model"):
        find_reader(model)(model)


def test_zeros_missing_in_some_iterations_only():
    first = booster(data=SKEWED, zero_as_missing=True)
    with_nan = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, SKEWED)
    params = {**SMALL, "boost_from_average": False}
    mixed = lgb.train(params, lgb.Dataset(with_nan, SIGNAL), 8, init_model=first)
    with pytest.raises(ValueError, match="zero_as_missing"):
        decompose(mixed)
    # The last value is for missing. values there is nothing that contradicts
    mixed = lgb.train({**params, "use_missing": False}, lgb.Dataset(SKEWED, SIGNAL), 8, init_model=first)
    rows = TestContract().rows(mixed)
    np.testing.assert_allclose(total(decompose(mixed), rows), raw(mixed, rows), atol=SUMS)


def test_a_classifier_with_a_custom_objective_has_a_margin_but_no_probabilities(model_of):
    model = model_of("custom classes")
    remover = FeatureRemover(model, [0]).fit(X)
    assert remover.margin(X).shape == (N, 3)
    with pytest.raises(ValueError, match="custom objective"):
        remover.predict_proba(X)
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="custom"):
        remover.to_onnx()


def test_splits_on_missing_values_alone_have_tables_and_plots(model_of, plt):
    background = np.where(np.isnan(X), np.nan, 0.0)
    decomposer = decompose(model_of("split by NaN only"), background=background)
    component = decomposer.components_[0]
    assert component.edges[0].tolist() == []  # Every number goes left at x <= inf.
    np.testing.assert_allclose(
        component.values[[0, -1]], component.evaluate(np.array([[0.0] * D, [np.nan] * D])), rtol=0, atol=0
    )
    ComponentDisplay.from_decomposer(decomposer, [0, (0, 1)])
