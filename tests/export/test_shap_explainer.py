"""Call ShapExplainer as code written for shap.TreeExplainer does, and compare it with shap."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skglex import GlexDecomposer
from skglex.exceptions import AdditivityError
from skglex.export import ShapExplainer, to_shap
from tests.export.models import CLASSES, MODEL, X, Y

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"
)
ABOVE = (np.median(Y) < Y).astype(int)
NAMES = ["age", "hours", "grade", "gain"]
FRAME = pd.DataFrame(X, columns=NAMES)
SMALL = {"n_estimators": 8, "max_depth": 3, "random_state": 0}
BINARY = xgb.XGBClassifier(**SMALL).fit(X, ABOVE)
FOREST = RandomForestClassifier(**SMALL).fit(X, ABOVE)
MODELS = {
    "XGBRegressor": MODEL,
    "XGBClassifier": BINARY,
    "three classes": CLASSES,
    "Poisson": xgb.XGBRegressor(**SMALL, objective="count:poisson").fit(X, np.exp(Y / 3)),
    "RandomForestRegressor": RandomForestRegressor(**SMALL).fit(X, Y),
    "RandomForestClassifier": FOREST,
    "two targets": RandomForestRegressor(**SMALL).fit(X, np.column_stack([Y, -Y])),
    "GradientBoostingClassifier": GradientBoostingClassifier(**SMALL).fit(X, ABOVE),
}
# shap's values are float32 for XGBoost's path-dependent ones, and sums of float32 leaves otherwise.
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(scope="module")
def shap():
    return pytest.importorskip("shap")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("data", [None, X[:90]], ids=["path-dependent", "interventional"])
def test_numbers_and_shapes_of_shap(shap, name, data):
    """Use fewer rows than the 100 that shap draws; it has no interaction values with a background."""
    model = MODELS[name]
    theirs, ours = shap.TreeExplainer(model, data), ShapExplainer(model, data)
    values = theirs.shap_values(X, check_additivity=False)
    assert_allclose(ours.shap_values(X), values, **CLOSE)
    assert ours.feature_perturbation == theirs.feature_perturbation
    if name != "three classes" or data is None:  # shap 0.51 leaves out the base scores of the classes.
        assert_allclose(ours.expected_value, np.squeeze(theirs.expected_value), **CLOSE)
    assert_allclose(ours.shap_values(X[3]), values[3], **CLOSE)
    pairs = ours.shap_interaction_values(X[:9])
    assert_allclose(pairs.sum(axis=2), values[:9], **CLOSE)
    if data is None:
        assert_allclose(pairs, theirs.shap_interaction_values(X[:9]), **CLOSE)
    assert_array_equal(ours.shap_interaction_values(X[0]), pairs[0])


@pytest.mark.parametrize("name", ["XGBClassifier", "RandomForestClassifier", "GradientBoostingClassifier"])
def test_probabilities(shap, name):
    model = MODELS[name]
    theirs = shap.TreeExplainer(model, X[:90], model_output="probability")
    ours = ShapExplainer(model, X[:90], model_output="probability")
    assert ours.shap_values(X).shape == theirs.shap_values(X).shape
    assert_allclose(ours.expected_value, theirs.expected_value, **CLOSE)
    both = ShapExplainer(model, X[:90], model_output="predict_proba")
    values = both.shap_values(X)
    assert values.shape == (200, 4, 2)
    assert_allclose(both.expected_value, model.predict_proba(X[:90]).mean(axis=0), **CLOSE)
    assert_allclose(both.expected_value + values.sum(axis=1), model.predict_proba(X), **CLOSE)
    assert both.shap_interaction_values(X[:3]).shape == (3, 4, 4, 2)


def test_more_outputs():
    for model in (CLASSES, RandomForestClassifier(**SMALL).fit(X, CLASSES.predict(X))):
        classes = ShapExplainer(model, X[:50], model_output="predict_proba")
        total = classes.expected_value + classes.shap_values(X[:9]).sum(axis=1)
        assert_allclose(total, model.predict_proba(X[:9]), **CLOSE)
    counts = ShapExplainer(MODELS["Poisson"], X[:50], model_output="predict")
    total = counts.expected_value + counts.shap_values(X[:9]).sum(axis=1)
    assert_allclose(total, MODELS["Poisson"].predict(X[:9]), **CLOSE)
    many = np.tile(X, 4)  # 16 features, more than the response scale takes
    wide = RandomForestRegressor(**SMALL).fit(many, Y)
    same = ShapExplainer(wide, many, model_output="predict").shap_values(many)
    assert_array_equal(same, ShapExplainer(wide, many).shap_values(many))


def test_explanation(shap):
    ours = ShapExplainer(BINARY, FRAME)(FRAME)
    assert isinstance(ours, shap.Explanation)
    assert list(ours.feature_names) == NAMES
    assert_array_equal(ours.data, X)
    assert ours.base_values.shape == (200,)
    theirs = shap.TreeExplainer(FOREST)(X)
    ours = ShapExplainer(FOREST, feature_names=NAMES)(X)
    assert_allclose(ours.values, theirs.values, **CLOSE)
    assert_allclose(ours.base_values, theirs.base_values, **CLOSE)
    assert list(ours.feature_names) == NAMES
    assert list(ours.output_names) == ["0", "1"]
    assert ours[..., 1].values.shape == (200, 4)
    assert ShapExplainer(FOREST)(X[0], check_additivity=False).values.shape == (1, 4, 2)
    assert ShapExplainer(FOREST)(X[:5], interactions=True).values.shape == (5, 4, 4, 2)


def test_categories_are_displayed(shap):
    frame = FRAME.assign(grade=pd.Categorical(np.where(X[:, 2] > 0, "high", "low")))
    model = xgb.XGBRegressor(**SMALL, enable_categorical=True).fit(frame, Y)
    ours = ShapExplainer(model, frame)(frame)
    assert ours.display_data[:, 2].tolist() == frame["grade"].tolist()
    assert_allclose(ours.base_values + ours.values.sum(axis=1), model.predict(frame), atol=1e-5)


def test_backgrounds(shap):
    """All rows of a background count; a masker has the rows that it drew."""
    everything = ShapExplainer(MODEL, FRAME)
    assert everything.expected_value == pytest.approx(MODEL.predict(X).mean(), abs=1e-5)
    masker = shap.maskers.Independent(FRAME, max_samples=50)
    drawn = ShapExplainer(MODEL, masker)
    assert drawn.data.shape == (50, 4)
    assert list(drawn.data.columns) == NAMES
    assert_allclose(drawn.shap_values(X), shap.TreeExplainer(MODEL, masker).shap_values(X), **CLOSE)
    assert_array_equal(ShapExplainer(MODEL, shap.maskers.Independent(X)).data.shape, (100, 4))
    for summary in (shap.kmeans(X, 3), shap.maskers.Partition(X)):
        with pytest.raises(TypeError, match="Pass the rows themselves"):
            ShapExplainer(MODEL, summary)


def test_of_a_decomposer(shap):
    groups = {"both": ["hours", "grade"]}
    decomposer = GlexDecomposer(MODEL, feature_groups=groups).fit(FRAME)
    explainer = ShapExplainer(decomposer)
    assert explainer.decomposer is decomposer
    assert_array_equal(explainer.shap_values(FRAME), decomposer.shap_values(FRAME))
    assert_array_equal(explainer(FRAME).values, to_shap(decomposer, FRAME).values)
    assert explainer(FRAME).feature_names == ["age", "both", "gain"]
    copy = pickle.loads(pickle.dumps(explainer))
    assert_array_equal(copy.shap_values(FRAME), explainer.shap_values(FRAME))
    with pytest.raises(ValueError, match="has a background already"):
        ShapExplainer(decomposer, FRAME)
    with pytest.raises(ValueError, match="weighting='empirical'"):
        ShapExplainer(decomposer, feature_perturbation="tree_path_dependent")


def test_sums_are_checked():
    explainer = ShapExplainer(xgb.XGBRegressor(**SMALL).fit(X, Y))
    explainer.shap_values(X)
    explainer.model.fit(X, -Y)  # The decomposer has the leaves of the first fit.
    with pytest.raises(AdditivityError, match="SHAP values add up"):
        explainer.shap_values(X)
    explainer.shap_values(X, check_additivity=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ShapExplainer(MODEL, feature_perturbation="interventional"),
            "needs a background. Pass data",
        ),
        (lambda: ShapExplainer(MODEL, X, "raw", "tree_path_dependent"), "takes no data"),
        (lambda: ShapExplainer(MODEL, X, "raw", "global"), "must be one of"),
        (lambda: ShapExplainer(MODEL, X, "log_loss"), "log_loss.*'raw'"),
        (lambda: ShapExplainer(MODEL, X, 0), "must be one of"),
        (lambda: ShapExplainer(MODEL, X, "probability"), "is a regressor. Use model_output='predict'"),
        (lambda: ShapExplainer(BINARY, X, "predict"), "predicts labels. Use model_output='predict_proba'"),
        (lambda: ShapExplainer(BINARY, None, "probability"), "needs a background"),
        (lambda: ShapExplainer(MODEL, X, approximate=True), "always exact"),
        (lambda: ShapExplainer(MODEL, X, link="logit"), "model_output='probability'"),
        (lambda: ShapExplainer(MODEL).shap_values(X, tree_limit=3), "booster"),
        (lambda: ShapExplainer(MODEL).shap_values(X, y=Y), "log_loss"),
        (lambda: ShapExplainer(MODEL)(X, approximate=True), "always exact"),
    ],
)
def test_what_has_no_counterpart_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_members_without_a_common_margin():
    model = CalibratedClassifierCV(FOREST, cv=2, ensemble=True).fit(X, ABOVE)
    with pytest.raises(ValueError, match="model_output='predict_proba'"):
        ShapExplainer(model, X)
    explainer = ShapExplainer(model, X[:50], model_output="predict_proba")
    total = explainer.expected_value + explainer.shap_values(X[:9]).sum(axis=1)
    assert_allclose(total, model.predict_proba(X[:9]), **CLOSE)


def draw_with_arrays(shap, explainer, rows):
    """Draw the plots that take arrays."""
    values = explainer.shap_values(rows)
    shap.summary_plot(values, rows, show=False)
    shap.dependence_plot("age", values, rows, interaction_index="hours", show=False)
    shap.decision_plot(explainer.expected_value, values[:9], rows[:9], show=False)
    shap.force_plot(explainer.expected_value, values[0], rows.iloc[0], matplotlib=True, show=False)
    shap.summary_plot(explainer.shap_interaction_values(rows[:20]), rows[:20], show=False)


PLOTS = {
    "bar": lambda shap, e: shap.plots.bar(e, show=False),
    "beeswarm": lambda shap, e: shap.plots.beeswarm(e, show=False),
    "waterfall": lambda shap, e: shap.plots.waterfall(e[0], show=False),
    "force": lambda shap, e: shap.plots.force(e[0], matplotlib=True, show=False),
    "scatter": lambda shap, e: shap.plots.scatter(e[:, "age"], color=e, show=False),
    "heatmap": lambda shap, e: shap.plots.heatmap(e[:50], show=False),
    "violin": lambda shap, e: shap.plots.violin(e, show=False),
    "decision": lambda shap, e: shap.plots.decision(e.base_values[0], e.values[:9], e.data[:9], show=False),
    "embedding": lambda shap, e: shap.plots.embedding("age", e.values, list(e.feature_names), show=False),
    "group_difference": lambda shap, e: shap.plots.group_difference(
        e.values, ABOVE == 1, list(e.feature_names), show=False
    ),
}


@pytest.mark.filterwarnings("ignore")  # shap warns.
@pytest.mark.parametrize("name", PLOTS)
def test_plots_of_shap(shap, plt, name):
    PLOTS[name](shap, ShapExplainer(BINARY, FRAME)(FRAME))
    assert plt.gcf().axes


@pytest.mark.filterwarnings("ignore")  # shap warns.
def test_plots_of_arrays(shap, plt):
    draw_with_arrays(shap, ShapExplainer(BINARY, FRAME), FRAME)


def test_without_shap(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    explainer = ShapExplainer(MODEL, X)
    assert explainer.shap_values(X).shape == (200, 4)
    with pytest.raises(ImportError, match=r"needs shap.*pip install 'skglex\[shap\]'"):
        explainer(X)


@pytest.mark.filterwarnings("ignore")  # The packages warn.
def test_inside_explainerdashboard(monkeypatch):
    """Exchange the class that the package calls."""
    explainers = pytest.importorskip("explainerdashboard.explainers", reason="needs explainerdashboard")
    made = []

    def explain(*args, **kwargs):
        made.append(ShapExplainer(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(explainers.shap, "TreeExplainer", explain)
    for model in (BINARY, FOREST):
        for output in ("logodds", "probability"):
            dashboard = explainers.ClassifierExplainer(model, FRAME, ABOVE, model_output=output)
            shown = dashboard.get_shap_values_df(pos_label=1)
            values = made[-1].shap_values(FRAME)
            assert_allclose(shown, values if values.ndim == 2 else values[..., 1], atol=1e-6)
            assert dashboard.get_mean_abs_shap_df().shape == (4, 2)
            assert dashboard.plot_contributions(0).data
    dashboard = explainers.RegressionExplainer(MODEL, FRAME, Y)
    assert_allclose(dashboard.get_shap_values_df(), ShapExplainer(MODEL).shap_values(FRAME), atol=1e-6)
    assert_allclose(dashboard.shap_base_value(), ShapExplainer(MODEL).expected_value)
    assert dashboard.plot_interaction("age", "hours").data


@pytest.mark.filterwarnings("ignore")  # The packages warn.
def test_inside_shapicant():
    """Pass the class as a parameter."""
    shapicant = pytest.importorskip("shapicant", reason="needs shapicant")
    model = xgb.XGBRegressor(n_estimators=20, max_depth=3)
    target = FRAME["age"] + FRAME["hours"] / 2
    with_shap, ours = (
        shapicant.PandasSelector(model, explainer, n_iter=10, random_state=0).fit(FRAME, target).p_values_
        for explainer in (pytest.importorskip("shap").TreeExplainer, ShapExplainer)
    )
    pd.testing.assert_series_equal(with_shap, ours)
    assert ours[["age", "hours"]].max() < 0.3


def test_names_behind_a_preprocessing_are_those_of_a_decomposer(shap):
    """Rows show which raw column a column comes from; without a background there are none."""
    frame = pd.DataFrame(
        {"age": X[:, 0], "kind": np.array(["a", "b", "c"])[np.digitize(X[:, 1], [-0.5, 0.5])]}
    )
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), ["age"]))
    model = make_pipeline(encoder, RandomForestRegressor(2, max_depth=2)).fit(frame, Y)
    for data, weighting, last in [
        (frame, "empirical", "age"),
        (None, "path_dependent", "standardscaler__age"),
    ]:
        explainer = ShapExplainer(model, data)
        expected = to_shap(GlexDecomposer(model, weighting=weighting).fit(data), frame).feature_names
        assert explainer.feature_names == explainer(frame).feature_names == expected
        assert expected[-1] == last
