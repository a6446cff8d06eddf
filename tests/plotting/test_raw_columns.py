"""Draw what comes from one raw column as that column: its name, its categories, its units."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from skglex import GlexDecomposer
from skglex._decomposition import Rows, cells_of_component
from skglex.plotting import ComponentDisplay, ImportanceDisplay, ShapDisplay, WaterfallDisplay
from tests.plotting.drawn import bars, stairs
from tests.support.small_models import newer_xgboost

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("plt")
draw = ComponentDisplay.from_decomposer

RNG = np.random.default_rng(0)
N = 600
X = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, N),
        "city": RNG.choice(["Oslo", "Rome", "Bonn", "Lima"], N),
        "sex": RNG.choice(["Female", "Male"], N),
        "debt": RNG.normal(size=N),
    }
)
Y = X["age"] / 20 + (X["city"] == "Rome") * (X["sex"] == "Male") + (X["city"] == "Oslo") - X["debt"]


def pipeline(**encoder):
    encode = make_column_transformer(
        (StandardScaler(), ["age"]),
        (OneHotEncoder(**encoder), ["city", "sex"]),
        (FunctionTransformer(np.negative, feature_names_out="one-to-one"), ["debt"]),
    )
    return make_pipeline(encode, XGBRegressor(n_estimators=30, max_depth=3, n_jobs=1)).fit(X, Y)


@pytest.fixture(scope="module")
def grouped():
    return GlexDecomposer(pipeline(), feature_groups="auto").fit(X)


@pytest.fixture(scope="module")
def plain():
    return GlexDecomposer(pipeline()).fit(X)


def labels(ax):
    return [label.get_text() for label in ax.get_xticklabels()]


def test_a_group_is_a_bar_per_category(grouped):
    display = draw(grouped, "city")
    assert labels(display.ax_) == ["Bonn", "Lima", "Oslo", "Rome"]
    rows = X.drop_duplicates("city").sort_values("city")
    np.testing.assert_array_equal(bars(display.ax_), grouped["city"].evaluate(rows))
    assert display.ax_.get_xlabel() == "city"
    np.testing.assert_allclose(
        display.panels[0].views[0].shares, X["city"].value_counts(normalize=True).sort_index()
    )


def test_pairs_of_groups_and_numbers(grouped):
    display = draw(grouped, [("city", "sex"), ("age", "city")], X=X, subsample=N)
    pair = display.panels[0]
    x, y = pair.views
    for i, city in enumerate(x.labels):
        for j, sex in enumerate(y.labels):
            rows = X[(X["city"] == city) & (X["sex"] == sex)]
            assert (grouped["city", "sex"].evaluate(rows) == pair.values[i, j]).all()
    lines = display.panels[1]
    assert lines.kind == "lines"
    for (values, edges), city in zip(stairs(display.axes_[1]), lines.views[1].labels):
        rows = X[X["city"] == city]
        found = values[np.searchsorted(edges, rows["age"], side="right") - 1]
        np.testing.assert_array_equal(found, grouped["age", "city"].evaluate(rows))


@pytest.mark.parametrize("feature", ["age", "debt"])
def test_scaled_columns_are_drawn_in_raw_units(plain, grouped, feature):
    name = next(name for name in plain.explained_features_ if name.endswith(feature))
    for decomposer, component in ((plain, name), (grouped, feature)):
        for rows in (None, X):
            display = draw(decomposer, component, X=rows, subsample=0)
            assert display.ax_.get_xlabel() == feature
            ((values, edges),) = stairs(display.ax_)
            low, high = edges[[0, -1]]
            inside = X[(X[feature] > low) & (X[feature] < high)]
            found = values[np.searchsorted(edges, inside[feature], side="right") - 1]
            np.testing.assert_array_equal(found, decomposer[component].evaluate(inside))
    if feature == "age":
        # X has integers only.
        assert (edges[1:-1] % 1 == 0.5).all()


def test_columns_of_a_sparse_encoder_name_both_categories(plain):
    """XGBoost takes what a sparse matrix leaves out as missing: these are the rows of all other categories."""
    sex = next(name for name in plain.explained_features_ if "sex" in name)
    display = draw(plain, sex, X=X)
    assert labels(display.ax_) == ["Female", "Male"]
    rows = X.drop_duplicates("sex").sort_values("sex")
    np.testing.assert_array_equal(bars(display.ax_), plain[sex].evaluate(rows))
    (histogram,) = [p for p in display.ax_.patches if p.get_gid() == "background"]
    heights = histogram.get_data().values
    share = X["sex"].value_counts().sort_index()
    np.testing.assert_allclose(heights[0] / heights[-1], share["Female"] / share["Male"])
    oslo = next(name for name in plain.explained_features_ if "Oslo" in name)
    assert labels(draw(plain, oslo).ax_) == ["Bonn, Lima, Rome", "Oslo"]


def test_sparse_rows_without_an_encoder():
    Z = sp.csr_matrix(pd.get_dummies(X["city"]).to_numpy(dtype=float))
    model = XGBRegressor(n_estimators=10, max_depth=2, n_jobs=1).fit(Z, Y)
    decomposer = GlexDecomposer(model).fit(Z)
    assert labels(draw(decomposer, "x2", X=Z).ax_) == ["1", "0"]
    names = ["x0", "x1", "x2", "x3"]
    together = GlexDecomposer(model, feature_groups={"city": names}).fit(Z)
    display = draw(together, "city", X=Z)
    assert labels(display.ax_) == names
    rows = sp.csr_matrix(np.eye(4))
    np.testing.assert_array_equal(bars(display.ax_), together["city"].evaluate(rows))


def test_one_hot_columns_of_which_the_model_needs_one():
    Z = pd.get_dummies(X[["age", "sex"]], columns=["sex"])
    model = XGBRegressor(n_estimators=20, max_depth=3, n_jobs=1).fit(Z, Y)
    decomposer = GlexDecomposer(model, feature_groups={"sex": ["sex_Female", "sex_Male"]}).fit(Z)
    assert len(decomposer._fitted.grid.features) == 2
    display = draw(decomposer, "sex")
    assert labels(display.ax_) == ["Female", "Male"]
    rows = Z.loc[X.drop_duplicates("sex").sort_values("sex").index]
    np.testing.assert_array_equal(bars(display.ax_), decomposer["sex"].evaluate(rows))


@pytest.mark.parametrize("drop_first", [False, True])
def test_one_hot_columns_of_a_frame(drop_first):
    Z = pd.get_dummies(X[["city", "age"]], columns=["city"], drop_first=drop_first)
    model = XGBRegressor(n_estimators=30, max_depth=3, n_jobs=1).fit(Z, Y)
    names = [name for name in Z if name.startswith("city")]
    decomposer = GlexDecomposer(model, feature_groups={"city": names}).fit(Z)
    display = draw(decomposer, "city")
    expected = [name.removeprefix("city_") for name in names]
    assert labels(display.ax_) == (["Lima", "Oslo", "Rome", "none"] if drop_first else expected)
    for label, height in zip(labels(display.ax_), bars(display.ax_)):
        rows = Z[X["city"] == ("Bonn" if label == "none" else label)]
        assert (decomposer["city"].evaluate(rows) == height).all()
    first = WaterfallDisplay.from_decomposer(decomposer, Z[:1])
    assert any(f"city = {X['city'][0]}" in name for name in first.names) != (
        drop_first and X["city"][0] == "Bonn"
    )


@newer_xgboost
def test_native_categories_that_no_split_names():
    Z = X.assign(city=X["city"].astype("category"), sex=X["sex"].astype("category"))
    model = XGBClassifier(n_estimators=5, max_depth=2, enable_categorical=True, n_jobs=1)
    model.fit(Z, (X["sex"] == "Female") & (X["age"] > 40))
    decomposer = GlexDecomposer(model).fit(Z)
    display = draw(decomposer, "sex", X=Z)
    assert labels(display.ax_) == ["Female", "Male"]
    rows = Z.drop_duplicates("sex").sort_values("sex")
    np.testing.assert_array_equal(bars(display.ax_), decomposer["sex"].evaluate(rows))
    assert len(display.ax_.lines[-1].get_xdata()) == 200
    np.testing.assert_allclose(display.panels[0].views[0].shares.sum(), 1)
    # The other way round, the split names the second category.
    model.fit(Z, (X["sex"] == "Male") & (X["age"] > 40))
    assert labels(draw(GlexDecomposer(model).fit(Z), "sex").ax_) == ["Female", "Male"]


def test_an_ordinal_encoder_keeps_its_categories():
    encode = make_column_transformer((OrdinalEncoder(), ["city"]), remainder="passthrough")
    model = make_pipeline(encode, XGBRegressor(n_estimators=20, max_depth=2, n_jobs=1))
    data = X[["age", "city"]]
    decomposer = GlexDecomposer(model.fit(data, Y)).fit(data)
    display = draw(decomposer, "ordinalencoder__city")
    assert display.ax_.get_xlabel() == "city"
    for label, height in zip(labels(display.ax_), bars(display.ax_)):
        for city in label.split(", "):
            rows = data[data["city"] == city]
            assert (decomposer["ordinalencoder__city"].evaluate(rows) == height).all()


def test_a_number_in_several_columns():
    encode = make_column_transformer((OneHotEncoder(), ["age"]), remainder="passthrough")
    data = X[["age", "debt"]].assign(age=X["age"] // 5)
    model = make_pipeline(encode, XGBRegressor(n_estimators=20, max_depth=4, n_jobs=1)).fit(data, Y)
    decomposer = GlexDecomposer(model, feature_groups="auto", max_interaction=1).fit(data)
    display = draw(decomposer, "age", X=data, subsample=N)
    ((values, edges),) = stairs(display.ax_)
    found = values[np.searchsorted(edges, data["age"]) - 1]
    np.testing.assert_array_equal(found, decomposer["age"].evaluate(data))
    at, height = display.ax_.lines[-1].get_data()
    np.testing.assert_array_equal(at, data["age"])
    np.testing.assert_array_equal(height, found)


def test_shap_values_of_a_group(grouped):
    display = ShapDisplay.from_decomposer(grouped, "city", X, colour_by="sex")
    assert labels(display.ax_) == ["Bonn", "Lima", "Oslo", "Rome"]
    column = grouped.explained_features_.index("city")
    np.testing.assert_allclose(display.shap, grouped.shap_values(X)[:, column])
    rows = X.drop_duplicates("city").sort_values("city")
    np.testing.assert_array_equal(display.main_effect, grouped["city"].evaluate(rows))
    np.testing.assert_array_equal(display.at, np.searchsorted(["Bonn", "Lima", "Oslo", "Rome"], X["city"]))


def test_values_in_a_waterfall(grouped, plain):
    names = ", ".join(WaterfallDisplay.from_decomposer(grouped, X, row=3, k=20).names)
    for feature in ("age", "city", "sex"):
        assert f"{feature} = {X[feature][3]}" in names
    assert f"age = {X['age'][3]}" in ", ".join(WaterfallDisplay.from_decomposer(plain, X, row=3, k=20).names)
    assert "age" in ImportanceDisplay.from_decomposer(plain, "order").names


@pytest.mark.parametrize("groups", ["auto", None, {"place": ["city", "sex"]}])
@pytest.mark.parametrize("dense", [True, False])
def test_every_panel_has_the_components_values(groups, dense, plt):
    """Each row of the background is in a cell whose value is the component's value of the row, to the bit."""
    decomposer = GlexDecomposer(pipeline(sparse_output=not dense), max_interaction=3, feature_groups=groups)
    decomposer.fit(X)
    rows = Rows(decomposer, X)
    checked = 0
    for component in decomposer.strongest_components(40):
        if len(cells_of_component(decomposer, component)) > 2:
            continue
        (panel,) = draw(decomposer, component, X=X, subsample=0).panels
        plt.close("all")
        cells = [view.cell_of(rows) for view in panel.views]
        assert all((cell >= 0).all() for cell in cells)
        if not any(len(members) > 1 for view in panel.views for members in view.cells):
            np.testing.assert_array_equal(panel.values[tuple(cells)], component.evaluate(X))
            checked += 1
    assert checked > 3
