"""Use stored components as those of a decomposer: look them up, rank, draw and sum them; say what is not known."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)

from skglex import ComponentModel, FeatureRemover, GlexDecomposer, RandomPlantedForestClassifier
from skglex.exceptions import RemainderWarning, StreamedComponentsWarning
from skglex.export import load_components, save_components, to_ebm, to_shap, to_shapiq
from skglex.inspection import component_importance, feature_importance, interaction_strength, truncated_margin
from skglex.plotting import ComponentDisplay, ImportanceDisplay, ShapDisplay, WaterfallDisplay
from tests.export.shipped_models import ESTIMATORS, shipped, training_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(1)
SIGNAL = X[:, 0] * X[:, 1] + X[:, 2]
BINARY = np.where(SIGNAL > 0, "yes", "no")
CLASSES = np.array(["low", "mid", "top"])[np.digitize(SIGNAL, [-0.5, 0.5])]
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(c=pd.Categorical(RNG.choice(list("xyz"), 300)))
SMALL = {"n_estimators": 5, "max_depth": 3, "random_state": 0}


def store(decomposer, folder):
    save_components(decomposer, folder / "components.zip")
    return load_components(folder / "components.zip")


def complete(model, rows, **params):
    return GlexDecomposer(model, max_interaction=None, **params).fit(rows)


PREDICTORS = {
    "regressor": lambda: xgb.XGBRegressor(**SMALL).fit(X, SIGNAL),
    "counts": lambda: xgb.XGBRegressor(**SMALL, objective="count:poisson").fit(X, np.abs(SIGNAL)),
    "two targets": lambda: xgb.XGBRegressor(**SMALL).fit(X, np.column_stack([SIGNAL, -X[:, 3]])),
    "two classes": lambda: xgb.XGBClassifier(**SMALL).fit(X, SIGNAL > 0),
    "three classes": lambda: xgb.XGBClassifier(**SMALL).fit(X, np.digitize(SIGNAL, [-0.5, 0.5])),
    "labels": lambda: HistGradientBoostingClassifier(max_iter=5).fit(X, CLASSES),
    "forest": lambda: RandomForestClassifier(**SMALL).fit(X, BINARY),
    "ties": lambda: GradientBoostingClassifier(n_estimators=1, max_depth=1).fit(X[:8], [0, 1] * 4),
    "planted": lambda: RandomPlantedForestClassifier(3, loss="squared_error", random_state=0).fit(X, BINARY),
    "isolation": lambda: IsolationForest(n_estimators=5, max_samples=20, random_state=0).fit(X),
}


@pytest.mark.parametrize("name", PREDICTORS)
def test_predictions(name, tmp_path):
    """Without components that are left out, the sums become the predictions of the model."""
    model = PREDICTORS[name]()
    stored = store(complete(model, X), tmp_path)
    assert stored.complete
    assert stored.remainder_share == 0
    oracle = FeatureRemover(model, [0], strength=0).fit(X)  # This asks the library itself.
    assert_allclose(stored.margin(X), oracle.margin(X), rtol=1e-10, atol=1e-10)
    predicted, expected = stored.predict(X), np.squeeze(model.predict(X))
    if hasattr(model, "predict_proba"):
        assert_array_equal(stored.classes_, model.classes_)
        assert_array_equal(predicted, expected)
        assert_allclose(stored.predict_proba(X), model.predict_proba(X), rtol=1e-5, atol=1e-6)
    elif name == "isolation":
        assert_array_equal(predicted, expected)
    else:
        assert_allclose(predicted, expected, rtol=1e-5, atol=1e-5)  # XGBoost computes in float32.
        assert not hasattr(stored, "predict_proba")
        assert not hasattr(stored, "classes_")


def test_labels_of_the_user(tmp_path):
    """The decomposer encodes labels for XGBoost; predictions are the user's labels."""
    decomposer = GlexDecomposer(xgb.XGBClassifier(**SMALL), prefit=False, max_interaction=None).fit(
        X, CLASSES
    )
    stored = store(decomposer, tmp_path)
    codes = decomposer.estimator_.predict(X)
    assert_array_equal(stored.predict(X), np.array(["low", "mid", "top"])[codes])


@pytest.mark.filterwarnings("ignore:components of more than")
def test_predictions_without_the_remainder(tmp_path):
    model = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, X[:, 0] * X[:, 1] * X[:, 2])
    decomposer = GlexDecomposer(model, max_interaction=2).fit(X)
    stored = store(decomposer, tmp_path)
    assert not stored.complete
    columns = decomposer.transform(X)
    margin = decomposer.intercept_ + columns.sum(axis=1)
    # The share in the file is that of the decomposer, whose components have the same background.
    assert stored.remainder_share == pytest.approx(columns[:, -1].var() / margin.var(), abs=1e-9)
    for predict in (stored.margin, stored.predict):
        with pytest.warns(RemainderWarning, match=f"hold {stored.remainder_share:.0%} of the variance"):
            found = predict(X)
        assert_allclose(found, margin - columns[:, -1], atol=1e-12)


def test_order_two_may_be_complete(tmp_path):
    model = xgb.XGBRegressor(n_estimators=5, max_depth=2).fit(X, SIGNAL)
    stored = store(GlexDecomposer(model).fit(X), tmp_path)
    assert stored.complete
    assert_allclose(stored.predict(X), model.predict(X), atol=1e-5)


def test_names_and_columns(tmp_path):
    model = PREDICTORS["three classes"]()
    decomposer = complete(model, X, separator="|", feature_groups={"pair": ["x0", "x1"]})
    stored = store(decomposer, tmp_path)
    assert_array_equal(stored.get_feature_names_out(), decomposer.get_feature_names_out())
    assert_array_equal(stored.transform(X), decomposer.transform(X))
    assert stored.explained_features_ == decomposer.explained_features_
    assert "x2|pair" in stored
    assert stored["x2", "pair"].name == decomposer["x2", "pair"].name
    assert [c.name for c in stored] == [c.name for c in decomposer]
    assert [c.name for c in stored.strongest_components(3)] == [
        c.name for c in decomposer.strongest_components(3)
    ]


def test_streamed_components_agree_up_to_rounding(tmp_path):
    """The decomposer sums these leaf by leaf, the file holds tables."""
    rows = RNG.normal(size=(400, 3))
    decomposer = complete(IsolationForest(n_estimators=10, random_state=0).fit(rows), rows)
    with pytest.warns(StreamedComponentsWarning):
        own = decomposer.transform(rows)
    stored = store(decomposer, tmp_path)
    tabulated = decomposer._decomposition.listed.layout(decomposer._execution).tabulated
    assert not tabulated.all()
    assert_array_equal(stored.transform(rows)[:, tabulated], own[:, tabulated])
    # Sums of some thousand leaves of about 10, in another order.
    assert_allclose(stored.transform(rows), own, rtol=0, atol=1e-12)


def test_importances(tmp_path):
    decomposer = complete(PREDICTORS["three classes"](), X)
    stored = store(decomposer, tmp_path)
    decomposer.component_importances_  # noqa: B018
    for by in ("component", "order", "feature"):
        pd.testing.assert_frame_equal(
            component_importance(stored, by=by), component_importance(decomposer, by=by)
        )
        pd.testing.assert_frame_equal(
            component_importance(stored, X[:50], by=by), component_importance(decomposer, X[:50], by=by)
        )
    expected = component_importance(decomposer, k=3, sample_weight=np.arange(300), X=X)
    pd.testing.assert_frame_equal(
        component_importance(stored, k=3, sample_weight=np.arange(300), X=X), expected
    )
    absolute = feature_importance(decomposer, kind="absolute")
    pd.testing.assert_frame_equal(feature_importance(stored, kind="absolute"), absolute)


def test_axes_and_background(tmp_path):
    model = HistGradientBoostingRegressor(max_iter=10, categorical_features=["c"])
    decomposer = complete(model.fit(FRAME, SIGNAL * (FRAME["c"] == "x")), FRAME)
    stored = store(decomposer, tmp_path)
    for name in ("a", "c"):
        axis, own = stored.feature_axis(name), decomposer.feature_axis(name)
        assert_array_equal(axis.edges, own.edges)
        assert_allclose(stored.background_weights(axis), decomposer.background_weights(own), atol=1e-15)
        assert_array_equal(stored.background_weights(name), stored.background_weights(axis))
        assert_array_equal(decomposer.background_weights(name), decomposer.background_weights(own))
        for component in stored:
            for axis in component.axes:
                assert_allclose(
                    stored.background_weights(axis), decomposer.background_weights(axis), atol=1e-15
                )
    assert stored.feature_axis(0).feature == "a"
    with pytest.raises(ValueError, match="unknown feature"):
        stored.feature_axis("nothing")


@pytest.mark.parametrize("max_interaction", [None, 2])
@pytest.mark.filterwarnings("ignore:components of more than")
def test_pictures_are_those_of_the_decomposer(max_interaction, tmp_path, plt):
    model = HistGradientBoostingRegressor(max_iter=10, categorical_features=["c"])
    model.fit(FRAME, SIGNAL * (FRAME["c"] == "x") * FRAME["d"])
    decomposer = GlexDecomposer(model, max_interaction=max_interaction).fit(FRAME)
    stored = store(decomposer, tmp_path)
    keys = ["a", "c", ("a", "b"), ("a", "c")]
    for rows in (None, FRAME):
        ours, theirs = (ComponentDisplay.from_decomposer(d, keys, X=rows) for d in (stored, decomposer))
        for mine, other in zip(ours.panels, theirs.panels, strict=True):
            assert (mine.title, mine.kind) == (other.title, other.kind)
            assert_array_equal(mine.values, other.values)
    ours, theirs = (ImportanceDisplay.from_decomposer(d) for d in (stored, decomposer))
    assert ours.names == theirs.names
    assert_array_equal(ours.heights, theirs.heights)
    ours, theirs = (
        ImportanceDisplay.from_decomposer(d, kind="order", shap=False) for d in (stored, decomposer)
    )
    assert_array_equal(ours.heights, theirs.heights)
    with pytest.raises(AttributeError, match=r"no SHAP values.*shap=False"):
        ImportanceDisplay.from_decomposer(stored, kind="order")
    with pytest.raises(AttributeError, match="no SHAP values"):
        ShapDisplay.from_decomposer(stored, "a", FRAME)


def test_pictures_of_sparse_columns(tmp_path, plt):
    """What a sparse matrix leaves out is missing to XGBoost, and 0 in pictures."""
    rows = sp.csr_matrix((X > 0).astype(float))
    decomposer = complete(xgb.XGBRegressor(**SMALL).fit(rows, SIGNAL), rows)
    pictures = [
        ComponentDisplay.from_decomposer(d, ["x0", "x1"]) for d in (store(decomposer, tmp_path), decomposer)
    ]
    labels = [[panel.views[0].cell_labels for panel in picture.panels] for picture in pictures]
    assert labels[0] == labels[1]


def test_pictures_of_groups(tmp_path, plt):
    decomposer = complete(PREDICTORS["three classes"](), X, feature_groups={"pair": ["x0", "x1"]})
    stored = store(decomposer, tmp_path)
    ours, theirs = (
        ComponentDisplay.from_decomposer(d, ["pair", "x2"], output=1) for d in (stored, decomposer)
    )
    for mine, other in zip(ours.panels, theirs.panels, strict=True):
        assert_array_equal(mine.values, other.values)
    ours, theirs = (WaterfallDisplay.from_decomposer(d, X[:1], output=2) for d in (stored, decomposer))
    assert ours.names == theirs.names


@pytest.mark.filterwarnings("ignore:components of more than")
def test_waterfall(tmp_path, plt):
    model = xgb.XGBRegressor(**SMALL).fit(X, X[:, 0] * X[:, 1] * X[:, 2])
    decomposer = complete(model, X)
    ours, theirs = (
        WaterfallDisplay.from_decomposer(d, X[:1]) for d in (store(decomposer, tmp_path), decomposer)
    )
    assert ours.names == theirs.names
    assert_array_equal(ours.values, theirs.values)
    assert ours.label == theirs.label
    partly = store(GlexDecomposer(model, max_interaction=1).fit(X), tmp_path)
    display = WaterfallDisplay.from_decomposer(partly, X[:1])
    assert display.label.endswith("without the components left out")
    assert "remainder" not in display.names


@pytest.mark.filterwarnings("ignore:1 components of order 3 and more are left out")
def test_what_is_not_known(tmp_path):
    stored = store(complete(PREDICTORS["regressor"](), X), tmp_path)
    message = "tables of components, but neither the model's leaves nor the rows of the background"
    for ask in (
        lambda: interaction_strength(stored, X),
        lambda: truncated_margin(stored, X, 1),
        lambda: feature_importance(stored, X),
        lambda: to_shap(stored, X),
        lambda: to_shapiq(stored, X),
        lambda: to_ebm(stored),
        lambda: component_importance(stored, sample_weight=np.ones(300)),
        lambda: stored.shap_values(X),
        lambda: stored.shap_interaction_values(X),
        lambda: stored.feature_importances_,
        lambda: stored.partial_dependence(["x0"], X),
        lambda: stored.estimator_,
        lambda: stored._explained.background.in_memory(),
    ):
        with pytest.raises(
            (ValueError, AttributeError, ImportError), match=f"{message}|could not be imported"
        ):
            ask()
    save_components(stored, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").stat().st_size == (tmp_path / "components.zip").stat().st_size
    assert_array_equal(load_components(tmp_path / "again.zip").margin(X), stored.margin(X))
    assert not hasattr(stored, "fit")
    with pytest.raises(AttributeError, match="'StoredComponents' object has no attribute 'nothing'"):
        stored.nothing  # noqa: B018


@pytest.mark.parametrize("name", ESTIMATORS)
def test_component_models(name, tmp_path):
    """An edited component model predicts the same after it was saved and loaded, also what it has never seen."""
    model, rows, _ = shipped(name)
    model = model.scale(model._kept.terms[0].name, 2.0)
    model.save(tmp_path / "model.zip")
    stored = ComponentModel.load(tmp_path / "model.zip")
    assert stored.complete
    assert_allclose(stored.margin(rows), model.margin(rows), rtol=1e-12, atol=1e-12)
    if hasattr(model, "classes_") or name == "isolation":
        assert_array_equal(stored.predict(rows), model.predict(rows))
    means = [np.abs(c.evaluate(training_rows(name))).mean(axis=0) for c in stored]
    assert_allclose(stored.component_importances_, means, rtol=1e-9)


def test_component_model_with_a_remainder(tmp_path):
    estimator = xgb.XGBRegressor(n_estimators=5, max_depth=4).fit(X, X[:, 0] * X[:, 1] * X[:, 2])
    model = ComponentModel(estimator, remainder=True, drop=["x0"]).fit(X)
    model.save(tmp_path / "model.zip")
    stored = ComponentModel.load(tmp_path / "model.zip")
    assert not stored.complete
    with pytest.warns(RemainderWarning, match="left components out of the file"):
        left_out = model.margin(X) - stored.margin(X)
    assert stored.remainder_share == pytest.approx(left_out.var() / model.margin(X).var())
    assert stored.remainder_share > 0.01
