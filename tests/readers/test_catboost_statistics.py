"""Read CatBoost's target statistics, of single categorical features and of combinations."""

import pickle

import catboost as cb
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skglex import FeatureRemover, GlexDecomposer
from skglex._utils import budgets
from skglex.datasets import load_adult
from skglex.exceptions import JoinedFeaturesWarning
from skglex.export import save_components
from skglex.plotting import ComponentDisplay
from tests.readers.catboost_models import FLOAT64, SMALL, margin_of
from tests.support.oracles import brute_force_game, check_game, check_single_components, total

# A node that no training row reaches is common, and warns.
pytestmark = pytest.mark.filterwarnings("ignore:.* nodes of the model have cover 0:UserWarning")

N = 400
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=N),
        "town": RNG.choice(list("abcdefgh"), N),
        "floor": RNG.integers(-1, 4, N),
        "kind": RNG.choice(["u", "v", "w"], N),
        "new": RNG.choice(["no", "yes"], N),
    }
)
FRAME.loc[RNG.random(N) < 0.1, "size"] = np.nan
CATEGORICAL = ["town", "floor", "kind", "new"]
PRICE = (
    FRAME["size"].fillna(1) * (FRAME["town"] == "c") + 2.0 * (FRAME["floor"] == 2) - (FRAME["town"] == "d")
)
PRICE += 1.5 * (FRAME["kind"] == "u") * (FRAME["town"] == "a") + RNG.normal(scale=0.1, size=N)
CLASSES = np.digitize(PRICE, [-0.5, 0.5, 2])
# Categories unseen in training, alone and together.
UNSEEN = FRAME.head(30).assign(town="Paris")
PROBE = pd.concat([FRAME, UNSEEN, UNSEEN.assign(floor=77, kind="x")], ignore_index=True)
BOOST = {**SMALL, "iterations": 20, "depth": 4, "cat_features": CATEGORICAL}


def regressor(**params):
    return cb.CatBoostRegressor(**{**BOOST, **params}).fit(FRAME, PRICE)


def classifier(y=CLASSES, **params):
    return cb.CatBoostClassifier(**{**BOOST, **params}).fit(FRAME, y)


SINGLE = {"max_ctr_complexity": 1}
# The default with many iterations; with few, CatBoost combines no features.
COMBINED = {"max_ctr_complexity": 4}
KINDS = {
    "regression": regressor,
    "two classes": lambda **p: classifier(PRICE > 0, **p),
    "classes": classifier,
    "several borders of the target": lambda **p: regressor(
        simple_ctr="Borders:TargetBorderCount=3", combinations_ctr="Buckets:TargetBorderCount=3", **p
    ),
    "mean values": lambda **p: regressor(
        simple_ctr="BinarizedTargetMeanValue", combinations_ctr="BinarizedTargetMeanValue", **p
    ),
    "counters": lambda **p: regressor(simple_ctr="Counter", combinations_ctr="Counter", **p),
    "depth-wise": lambda **p: classifier(grow_policy="Depthwise", **p),
}


def no_warning():
    return pytest.warns(JoinedFeaturesWarning, match="features count as one: .*max_ctr_complexity=1")


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_of_single_features_are_sets_of_categories(kind):
    model = KINDS[kind](**SINGLE)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(FRAME)
    assert not decomposer._fitted.source.input.derived
    assert decomposer.feature_groups_ == {}
    assert_allclose(total(decomposer, PROBE), margin_of(model, PROBE), **FLOAT64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
def test_groups_read_combinations(kind, weighting):
    model = KINDS[kind](**COMBINED)
    decomposer = GlexDecomposer(model, weighting=weighting, max_interaction=None, feature_groups="auto")
    if kind == "depth-wise":  # CatBoost combines features in symmetric trees only.
        decomposer.fit(FRAME)
        assert not decomposer._fitted.source.input.derived
    else:
        with pytest.warns(
            JoinedFeaturesWarning, match=r"so [2-5] features count as one: .*max_ctr_complexity=1"
        ):
            decomposer.fit(FRAME)
        assert decomposer._fitted.source.input.derived
    assert_allclose(total(decomposer, PROBE), margin_of(model, PROBE), **FLOAT64)


def test_components_of_single_features_are_averages_over_the_background():
    model = classifier(**SINGLE)
    rows, background = PROBE.iloc[[0, 7, 410, 455]].to_numpy(object), FRAME.iloc[100:140].to_numpy(object)
    array = cb.CatBoostClassifier(**{**BOOST, **SINGLE, "cat_features": [1, 2, 3, 4]})
    array.fit(FRAME.to_numpy(object), CLASSES)
    game = brute_force_game(lambda Z: margin_of(array, Z), rows, background)
    decomposer = GlexDecomposer(array, max_interaction=None).fit(background)
    check_game(decomposer, rows, game, 1e-12)
    check_single_components(GlexDecomposer(array, max_interaction=1).fit(background), decomposer, rows, 1e-12)
    assert_array_equal(margin_of(model, FRAME), margin_of(array, FRAME.to_numpy(object)))


def test_shap_values_of_single_features_are_catboosts_own():
    model = regressor(**SINGLE)
    decomposer = GlexDecomposer(model, weighting="path_dependent", max_interaction=None).fit(FRAME)
    pool = cb.Pool(PROBE, cat_features=CATEGORICAL)
    own = model.get_feature_importance(pool, type="ShapValues")
    assert_allclose(decomposer.shap_values(PROBE), own[:, :5], **FLOAT64)
    own = model.get_feature_importance(pool, type="ShapInteractionValues")
    assert_allclose(decomposer.shap_interaction_values(PROBE), own[:, :5, :5], **FLOAT64)


def test_components_of_groups_are_averages_over_the_background(tmp_path):
    """Mixing whole groups mixes what is derived from them."""
    model = regressor(**COMBINED)
    with no_warning():
        decomposer = GlexDecomposer(model, max_interaction=None, feature_groups="auto").fit(FRAME.head(40))
    (group,) = decomposer.feature_groups_.values()
    rows, background = PROBE.iloc[[0, 5, 409, 450]], FRAME.head(40)
    others = [name for name in FRAME.columns if name not in group]
    phi = decomposer.shap_values(rows)
    for player, columns in (("+".join(group), group), *((name, [name]) for name in others)):
        removed = [name for name in FRAME.columns if name not in columns]
        expected = brute_force(model, rows, background, removed)
        assert_allclose(decomposer.partial_dependence(player, rows), expected, rtol=0, atol=1e-12)
    assert_allclose(phi.sum(axis=1) + decomposer.intercept_, margin_of(model, rows)[:, 0], rtol=0, atol=1e-12)
    copy = pickle.loads(pickle.dumps(decomposer))
    assert_array_equal(copy.transform(rows), decomposer.transform(rows))
    with pytest.raises(
        ValueError, match="cannot be drawn along an axis, since the model splits on combinations"
    ):
        ComponentDisplay.from_decomposer(decomposer, "+".join(group))
    with pytest.raises(ValueError, match=r"splits on combinations of features, such as .* cannot be stored"):
        save_components(decomposer, tmp_path / "components.zip")


def test_what_has_axes_is_drawn():
    """Without names, a picture leaves out groups that no axis shows; if there is nothing else, it says so."""
    params = {"simple_ctr": "Borders:TargetBorderCount=3", "combinations_ctr": "Buckets:TargetBorderCount=3"}
    model = regressor(**COMBINED, **params)
    with no_warning():
        decomposer = GlexDecomposer(model, feature_groups="auto").fit(FRAME)
    (group,) = decomposer.feature_groups_
    titles = {panel.title for panel in ComponentDisplay.from_decomposer(decomposer).panels}
    assert titles
    assert all(group not in title for title in titles)


def brute_force(model, rows, background, removed, weight=None, response=None):
    """Average the model's own predictions over the background's values of the removed features."""
    means = []
    for i in range(len(rows)):
        mixed = background.copy()
        for name in rows.columns:
            if name not in removed:
                mixed[name] = rows[name].iloc[i]
        predicted = margin_of(model, mixed) if response is None else response(mixed)
        means.append(np.average(np.reshape(predicted, (len(mixed), -1)), axis=0, weights=weight))
    return np.squeeze(means)


@pytest.mark.parametrize("scale", ["margin", "response"])
@pytest.mark.parametrize("removed", [["new"], ["town"], ["floor", "kind"], ["size", "town"]])
def test_any_features_are_removed_exactly_without_groups(removed, scale):
    weight = np.arange(50) % 4
    model, rows, background = classifier(**COMBINED), PROBE.iloc[[0, 5, 200, 409, 450]], FRAME.head(50)
    remover = FeatureRemover(model, removed, scale=scale).fit(background, sample_weight=weight)
    response = model.predict_proba if scale == "response" else None
    expected = brute_force(model, rows, background, removed, weight, response)
    found = remover.predict_proba(rows) if scale == "response" else remover.margin(rows)
    assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert_array_equal(remover.predict(rows.drop(columns=removed)), remover.predict(rows))
    assert_array_equal(pickle.loads(pickle.dumps(remover)).predict(rows), remover.predict(rows))
    remover.strength = 0.25
    full = model.predict_proba(rows) if scale == "response" else margin_of(model, rows)
    found = remover.predict_proba(rows) if scale == "response" else remover.margin(rows)
    assert_allclose(found, full - 0.25 * (full - expected), rtol=0, atol=1e-12)


def test_offsets_and_pipelines():
    model = make_pipeline(FunctionTransformer(), classifier(PRICE > 0, **COMBINED))
    offset = np.linspace(-1, 1, len(PROBE))
    remover = FeatureRemover(model, ["town"]).fit(FRAME)
    assert_allclose(remover.margin(PROBE, offset=offset), remover.margin(PROBE) + offset, **FLOAT64)
    response = FeatureRemover(model, ["town"], scale="response").fit(FRAME.head(50))
    shifted = [
        margin_of(model[-1], PROBE.head(3).assign(town=town))[:, 0] + 0.5 for town in FRAME["town"].head(50)
    ]
    expected = np.mean(1 / (1 + np.exp(-np.array(shifted))), axis=0)
    assert_allclose(response.predict_proba(PROBE.head(3), offset=np.full(3, 0.5))[:, 1], expected, **FLOAT64)


def test_what_needs_groups_or_rows_says_so(monkeypatch):
    model = regressor(**COMBINED)
    with pytest.raises(
        ValueError, match=r"combinations of features, such as \['town', 'kind'\].*feature_groups='auto'"
    ):
        GlexDecomposer(model).fit(FRAME)
    with pytest.raises(ValueError, match="which must count as one feature"):
        GlexDecomposer(model, feature_groups={"place": ["town", "floor"]}).fit(FRAME)
    with pytest.raises(
        ValueError, match=r"combinations of \['town'\].*weighting='path_dependent' does not have"
    ):
        FeatureRemover(model, ["town"], weighting="path_dependent").fit(FRAME)
    monkeypatch.setattr(budgets, "removed_values", 7)
    with pytest.raises(
        ValueError, match=r"have 8 distinct combinations of values .* at most 7 are supported"
    ):
        FeatureRemover(model, ["town"]).fit(FRAME)
    with pytest.raises(
        ValueError, match="to_onnx cannot write a model that splits on combinations of features"
    ):
        FeatureRemover(model, ["new"]).fit(FRAME).to_onnx()


def test_many_categories_share_codes(monkeypatch):
    """Categories that all splits treat alike share a bin if there are too many for a bin each."""
    model = classifier(**SINGLE)
    plain = GlexDecomposer(model, max_interaction=None).fit(FRAME)
    monkeypatch.setattr(budgets, "category_codes", 3)
    shared = GlexDecomposer(model, max_interaction=None).fit(FRAME)
    assert_allclose(shared.transform(PROBE), plain.transform(PROBE), **FLOAT64)
    assert shared._fitted.grid.n_bins.sum() <= plain._fitted.grid.n_bins.sum()


def test_sets_of_categories_are_drawn_and_exported(run_onnx):
    model = regressor(**SINGLE)
    decomposer = GlexDecomposer(model).fit(FRAME)
    assert set(decomposer["town"].edges[0]) <= set("abcdefgh")
    labels = ComponentDisplay.from_decomposer(decomposer, "town").ax_.get_xticklabels()
    assert set("abcdefgh") >= {label.get_text() for label in labels} - {"other"}
    remover = FeatureRemover(model, ["town"]).fit(FRAME)
    coded = PROBE.assign(size=PROBE["size"])
    for name in CATEGORICAL:
        known = dict(zip(decomposer._fitted.source.input.categories[name_position(name)].tolist(), range(99)))
        coded[name] = [known.get(value, -1) for value in PROBE[name]]
    found = run_onnx(remover.to_onnx(), coded.to_numpy(dtype=np.float64))
    assert_allclose(found["variable"][:, 0], remover.predict(PROBE), rtol=1e-5, atol=1e-5)


def name_position(name):
    return FRAME.columns.get_loc(name)


def test_adult_data_with_all_categories():
    """A model of eight categorical columns decomposes, and `FeatureRemover` takes out sex."""
    X, y = load_adult(return_X_y=True)
    X, y = X.iloc[:3000], y[:3000]
    categorical = [name for name in X.columns if X[name].dtype.kind not in "iuf"]
    assert len(categorical) == 8
    X = X.assign(**{name: X[name].astype(object).fillna("?") for name in categorical})
    params = {**SMALL, "iterations": 25, "depth": 6, "cat_features": categorical}
    for complexity in (1, 4):
        model = cb.CatBoostClassifier(**params, max_ctr_complexity=complexity).fit(X, y)
        remover = FeatureRemover(model, ["sex"]).fit(X)
        expected = sum(
            share * margin_of(model, X.head(50).assign(sex=sex))[:, 0]
            for sex, share in X["sex"].value_counts(normalize=True).items()
        )
        assert_allclose(remover.margin(X.head(50)), expected, rtol=0, atol=1e-12)
        decomposer = GlexDecomposer(model, feature_groups="auto")
        if complexity == 1:
            decomposer.fit(X.head(500))
        else:
            with no_warning():
                decomposer.fit(X.head(500))
        assert_allclose(total(decomposer, X.head(50)), margin_of(model, X.head(50)), rtol=0, atol=1e-12)
