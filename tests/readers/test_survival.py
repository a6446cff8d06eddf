"""Read scikit-survival's trees, forests and gradient boosting."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skglex import ComponentModel, FeatureRemover, GlexDecomposer
from tests.readers.contract import ReaderContract
from tests.readers.sklearn_models import EXACT, takes
from tests.support import tree_walks
from tests.support.oracles import brute_force_game, check_game, check_single_components, to_float32, total

ensemble = pytest.importorskip("sksurv.ensemble", reason="needs scikit-survival")
from sksurv.ensemble import (  # noqa: E402
    ComponentwiseGradientBoostingSurvivalAnalysis,
    ExtraSurvivalTrees,
    GradientBoostingSurvivalAnalysis,
    RandomSurvivalForest,
)
from sksurv.tree import SurvivalTree  # noqa: E402
from sksurv.util import Surv  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")

N = 250
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4)).round(1)
RISK = X[:, 0] * X[:, 1] + X[:, 2]
TIME = 1 + np.minimum(np.ceil(10 * RNG.exponential(np.exp(-RISK))) / 10, 20)
Y = Surv.from_arrays(RNG.random(N) < 0.7, TIME)
GAPS = np.where(RNG.random(X.shape) < 0.08, np.nan, X)
SMALL = {"n_estimators": 5, "max_depth": 4, "random_state": 0}
BOOST = {"n_estimators": 6, "random_state": 0}
METHODS = {
    "cumulative_hazard": "predict_cumulative_hazard_function",
    "survival": "predict_survival_function",
}

MODELS = {
    "forest": lambda: RandomSurvivalForest(**SMALL).fit(GAPS, Y),
    "forest, low memory": lambda: RandomSurvivalForest(**SMALL, low_memory=True).fit(GAPS, Y),
    "extra trees": lambda: ExtraSurvivalTrees(**SMALL).fit(X, Y),
    "tree": lambda: SurvivalTree(max_depth=4, random_state=0).fit(GAPS, Y),
    "boosting": lambda: GradientBoostingSurvivalAnalysis(**BOOST).fit(X, Y),
    "boosting, dropout": lambda: GradientBoostingSurvivalAnalysis(**BOOST, dropout_rate=0.3).fit(X, Y),
    "boosting, squared": lambda: GradientBoostingSurvivalAnalysis(**BOOST, loss="squared").fit(X, Y),
}


class TestContract(ReaderContract):
    X = X
    special = (0.0, 5.0, np.nan, np.inf)
    saved = ("forest", "boosting, dropout")
    # Their walks would repeat the reader.
    without_walk = tuple(name for name in MODELS if name.startswith("boosting"))

    def margin(self, model, rows):
        risk = model.predict(rows)
        return (np.log(risk) if getattr(model, "loss", "coxph") != "coxph" else risk)[:, None]

    def thresholds(self, model):
        for member in np.ravel(getattr(model, "estimators_", [model])):
            inner = member.tree_.children_left >= 0
            yield from zip(member.tree_.feature[inner], member.tree_.threshold[inner])

    def takes(self, model, value):
        return takes(model, value)

    def path_dependent_game(self, model, rows):
        return tree_walks.game_of_trees(trees(model), rows, self.margin(model, rows))


def trees(model):
    """Yield the trees with the risk score in their leaves, from the methods of every tree."""
    members = getattr(model, "estimators_", [model])
    for member in members:
        tree = member.tree_
        missing = tree.missing_go_to_left
        yield tree_walks.from_arrays(
            tree.children_left,
            tree.children_right,
            tree.feature,
            lambda node, tree=tree, missing=missing: (
                lambda x: np.where(np.isnan(x), missing[node], to_float32(x) <= tree.threshold[node])
            ),
            tree.weighted_n_node_samples,
            risk_of_nodes(member)[:, None] / len(members),
        )


def risk_of_nodes(member):
    hazard = member.tree_.value[..., 0]
    return hazard[:, 0] if member.low_memory else hazard[:, member.is_event_time_].sum(axis=1)


def curve(model, kind, rows, times):
    """Return a curve as the library predicts it; its step functions take one row at a time."""
    known = getattr(model, METHODS[kind])(rows[:1])[0].x
    at = [max(int(np.sum(known <= time)) - 1, 0) for time in times]
    return getattr(model, METHODS[kind])(rows, return_array=True)[:, at]


@pytest.mark.parametrize("kind", METHODS)
def test_curves_are_means_over_trees(kind, model_of):
    """Times between, before and on event times; single components and removal against the library's own curves."""
    times = [0.5, 1.1, 2.0, 2.04, 9.0]
    for name, rows in (("forest", GAPS), ("extra trees", X)):
        model = model_of(name)
        options = {"survival_output": kind, "times": times}
        decomposer = GlexDecomposer(model, **options, max_interaction=None).fit(rows[:40])
        assert_allclose(total(decomposer, rows), curve(model, kind, rows, times), rtol=0, atol=EXACT)
        steps = [function(times) for function in getattr(model, METHODS[kind])(rows[:5])]
        assert_allclose(total(decomposer, rows[:5]), steps, rtol=0, atol=EXACT)
        assert decomposer.get_feature_names_out()[0].startswith("0.5__")
        few = rows[40:52]
        game = brute_force_game(lambda Z, model=model: curve(model, kind, Z, times), few, rows[:40])
        check_game(decomposer, few, game, 1e-12)
        limited = GlexDecomposer(model, **options, max_interaction=1).fit(rows[:40])
        check_single_components(limited, decomposer, few, 1e-12)
        remover = FeatureRemover(model, [0, 2], **options).fit(rows[:40])
        mixed = np.repeat(rows[None, :40], len(few), axis=0)
        mixed[:, :, [1, 3]] = few[:, None, [1, 3]]
        expected = curve(model, kind, mixed.reshape(-1, 4), times).reshape(len(few), 40, -1).mean(axis=1)
        assert_allclose(remover.predict(few), expected, rtol=0, atol=EXACT)


def test_all_times_by_default(model_of):
    model = model_of("forest")
    remover = FeatureRemover(model, [0], survival_output="survival", strength=1e-300).fit(GAPS)
    own = model.predict_survival_function(GAPS, return_array=True)
    assert_allclose(remover.predict(GAPS), own, rtol=0, atol=EXACT)
    kept = ComponentModel(model, survival_output="survival", max_interaction=None).fit(GAPS)
    assert_allclose(kept.predict(GAPS), own, rtol=0, atol=EXACT)


@pytest.mark.parametrize("kind", METHODS)
def test_curves_of_proportional_hazards_are_responses(kind, model_of):
    model, times = model_of("boosting"), [1.5, 3.0, 8.0]
    decomposer = GlexDecomposer(model, survival_output=kind, times=times, max_interaction=None).fit(X)
    assert_allclose(total(decomposer, X)[:, 0], model.predict(X), rtol=0, atol=EXACT)
    remover = FeatureRemover(model, [0], survival_output=kind, times=times, strength=1e-300).fit(X)
    assert_allclose(remover.predict(X), curve(model, kind, X, times), rtol=1e-12)
    kept = ComponentModel(model, survival_output=kind, times=times, max_interaction=None).fit(X)
    assert_allclose(kept.predict(X), curve(model, kind, X, times), rtol=1e-12)
    remover.strength = 1.0
    ratio = np.exp(remover.margin(X))[:, None]
    baseline = model.predict_cumulative_hazard_function(X[:1])[0]
    hazard = ratio * baseline(times) / np.exp(model.predict(X[:1]))
    expected = hazard if kind == "cumulative_hazard" else np.exp(-hazard)
    assert_allclose(remover.predict(X), expected, rtol=1e-12)


def test_forests_are_fitted_here():
    decomposer = GlexDecomposer(RandomSurvivalForest(**SMALL)).fit(X, Y)
    own = RandomSurvivalForest(**SMALL).fit(X, Y).predict(X)
    assert_array_equal(decomposer.estimator_.predict(X), own)


def refusals():
    low_memory, boosting, forest = (MODELS[n] for n in ("forest, low memory", "boosting, squared", "forest"))
    curves = {"survival_output": "survival"}
    yield "trained with low_memory=True and has only the risk score", low_memory, curves
    yield "only with loss='coxph'; this one has loss='squared'", boosting, curves
    yield "times was passed, but survival_output='risk'", forest, {"times": [1.0]}
    for times in ([2.0, 1.0], [], [50.0], [-1.0], [[1.0]], [np.nan]):
        yield "times must be increasing numbers from 0 to", forest, {**curves, "times": times}


def test_what_a_model_does_not_have_is_refused():
    for match, make, options in refusals():
        with pytest.raises(ValueError, match=match):
            GlexDecomposer(make(), **options).fit(X)
    from sklearn.tree import DecisionTreeRegressor

    with pytest.raises(ValueError, match="DecisionTreeRegressor predicts no curves over time"):
        GlexDecomposer(DecisionTreeRegressor(max_depth=2).fit(X, RISK), survival_output="survival").fit(X)
    with pytest.raises(
        TypeError, match=r"Componentwise.*: it is no sum of trees\. Use a RandomSurvivalForest"
    ):
        GlexDecomposer(ComponentwiseGradientBoostingSurvivalAnalysis()).fit(X, Y)
