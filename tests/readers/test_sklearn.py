"""Read every kind of scikit-learn's tree models, and of averages of them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import shap
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import FeatureRemover, GlexDecomposer
from tests.readers.contract import ReaderContract
from tests.readers.sklearn_models import (
    EXACT,
    FLOAT32,
    FOREST,
    GAPS,
    HIST,
    MODELS,
    X,
    Y,
    margin_of,
    takes,
    thresholds,
)
from tests.support import tree_walks
from tests.support.oracles import total

# scikit-learn's own cast to float32 warns of values that become infinite.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")


class TestContract(ReaderContract):
    X = X
    special = (0.0, -0.0, 1e30, -1e30, 5.0, 50.0, -10.0, np.nan, np.inf, -np.inf, 1e39)
    explained = ("tree", "tree, weighted", "tree, classes", "forest", "forest, weighted", "forest, binary")
    explained += ("extra trees", "boosting", "boosting, binary", "hist", "hist, binary")
    # The members of the others are XGBoost's.
    without_walk = tuple(name for name in MODELS if "xgboost" in name)
    without_onnx = ("tree, one class", "voting, categories")
    saved = ("forest, binary", "boosting, classes", "hist, classes", "isolation", "voting")
    dependence = ("tree", "forest", "boosting", "hist", "hist, missing", "voting", "bagging, targets")

    def margin(self, model, rows):
        return margin_of(model, rows)

    def thresholds(self, model):
        return thresholds(model)

    def takes(self, model, value):
        return takes(model, value)

    def tolerance(self, name, model, decomposer):
        return FLOAT32 if "xgboost" in name else EXACT * max(1.0, np.abs(margin_of(model, X)).max())

    def path_dependent_game(self, model, rows):
        return tree_walks.game(model, rows, margin_of(model, rows))

    def explainable_rows(self, model):
        # shap rounds thresholds to float32, and sends rows on them the wrong way.
        return X[:30]

    def shap_values(self, name, model, rows):
        phi = np.asarray(shap.TreeExplainer(model).shap_values(rows)).reshape(*rows.shape, -1)
        return phi[:, :, 1:] if phi.shape[2] == 2 else phi, None, None

    def output(self, estimator, rows):
        if hasattr(estimator, "score_samples"):
            return np.column_stack([estimator.score_samples(rows), estimator.decision_function(rows)])
        return super().output(estimator, rows)

    def response(self, estimator, rows):
        if hasattr(estimator, "score_samples"):
            return estimator.score_samples(rows)[:, None]
        return super().response(estimator, rows)

    def coded(self, model, rows):
        """Replace categories by their codes, unknown ones by NaN."""
        rows = rows.copy()
        if getattr(model, "_preprocessor", None) is not None:
            known = model._preprocessor.named_transformers_["encoder"].categories_
            for column, values in zip(np.flatnonzero(model.is_categorical_), known):
                codes = {value: code for code, value in enumerate(values) if not np.isnan(value)}
                rows[:, column] = [codes.get(value, np.nan) for value in rows[:, column]]
        return rows


# -- inputs -------------------------------------------------------------------------------------------


def frames():
    names = np.array(["oslo", "rome", "bern", "kyiv", "lima"])
    frame = pd.DataFrame(GAPS, columns=["a", "b", "c", "city"])
    frame["city"] = pd.Categorical(
        [None if np.isnan(v) else names[int(v) // 10] for v in GAPS[:, 3]], categories=names
    )
    return frame


def test_categories_of_data_frames_count_by_value():
    frame = frames()
    model = HistGradientBoostingRegressor(**HIST).fit(frame, Y)  # It finds categories by the dtype.
    decomposer = GlexDecomposer(model, max_interaction=None).fit(frame)
    other = frame.copy()
    other["city"] = other["city"].cat.reorder_categories(["kyiv", "lima", "bern", "oslo", "rome"])
    np.testing.assert_allclose(total(decomposer, other)[:, 0], model.predict(frame), rtol=0, atol=EXACT)
    strings = frame.assign(city=frame["city"].astype(object))
    np.testing.assert_array_equal(decomposer.transform(strings), decomposer.transform(frame))
    other = frame.copy()
    other["city"] = other["city"].cat.rename_categories(
        {"bern": "paris"}
    )  # An unknown category counts as missing.
    other.loc[5, "city"] = None
    np.testing.assert_allclose(total(decomposer, other)[:, 0], model.predict(other), rtol=0, atol=EXACT)
    assert np.abs(model.predict(other) - model.predict(frame)).max() > 0.1
    axis = decomposer.feature_axis("city")
    assert set(axis.edges) <= set(frame["city"].cat.categories)


def test_polars_frames():
    frame = pl.DataFrame(GAPS, schema=["a", "b", "c", "d"], orient="row")
    model = HistGradientBoostingRegressor(**HIST, categorical_features=["d"]).fit(frame, Y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(frame)
    np.testing.assert_allclose(total(decomposer, frame)[:, 0], model.predict(frame), rtol=0, atol=EXACT)


@pytest.mark.parametrize("model", [RandomForestRegressor(**FOREST), HistGradientBoostingRegressor(**HIST)])
def test_numeric_categories_that_a_model_takes_as_numbers(model):
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"d": "category"})
    if isinstance(model, HistGradientBoostingRegressor):
        model.set_params(categorical_features=None)
    model.fit(frame, Y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(frame)
    np.testing.assert_allclose(total(decomposer, frame)[:, 0], model.predict(frame), rtol=0, atol=EXACT)
    frame["d"] = frame["d"].cat.rename_categories(dict(zip([0, 10, 20, 30, 40], "vwxyz")))
    with pytest.raises(ValueError, match=r"column 'd' has the categories \['v'"):
        decomposer.transform(frame)


@pytest.mark.parametrize("name", ["forest", "boosting, classes", "isolation, features", "bagging, targets"])
def test_sparse_input(name, model_of):
    decomposer = GlexDecomposer(model_of(name), max_interaction=None)
    dense = decomposer.fit(X).transform(X)
    for kind in (sp.csr_matrix, sp.csc_matrix):
        np.testing.assert_array_equal(decomposer.fit(kind(X)).transform(kind(X)), dense)


def test_entries_of_a_sparse_matrix_stored_twice_are_added(model_of):
    rows = sp.csr_matrix(([2.0, -2.0, 0.5, 0.25], [1, 1, 3, 1], [0, 2, 4]), shape=(2, 4))
    decomposer = GlexDecomposer(model_of("forest"), max_interaction=None).fit(X)
    expected = decomposer.transform(rows.toarray())
    for stored in (rows, rows.tocsc()):
        np.testing.assert_array_equal(decomposer.transform(stored), expected)


def test_values_that_the_model_refuses_are_refused(model_of):
    rows = X[:5].copy()
    rows[2, 0] = np.nan
    with pytest.raises(
        ValueError, match="Input X contains NaN in column 0, but this model does not accept missing"
    ):
        GlexDecomposer(model_of("boosting"), max_interaction=None).fit(X).transform(rows)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        GlexDecomposer(model_of("boosting"), max_interaction=None).fit(rows)
    for value in (np.inf, -np.inf, 1e39):
        rows[2, 0] = value
        with pytest.raises(ValueError, match="infinity or a value too large for float32 in column 0"):
            GlexDecomposer(model_of("forest"), max_interaction=None).fit(X).transform(rows)
    # A removed column never matters.
    remover = FeatureRemover(model_of("boosting"), [0]).fit(X)
    np.testing.assert_array_equal(remover.predict(rows), remover.predict(X[:5]))
    with pytest.raises(ValueError, match="Input X contains infinity"):
        FeatureRemover(model_of("boosting"), [1]).fit(X).predict(rows)


# -- scikit-learn's contract --------------------------------------------------------------------------


def failures_of_the_models_own(estimator):
    """Return the checks that the wrapped models fail, since they draw, bin or count rows whatever their weights."""
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": "so does the wrapped model"
        for kind in ("dense", "sparse")
        if kind == "dense" or not isinstance(estimator.estimator, HistGradientBoostingClassifier)
    }


@parametrize_with_checks(
    [
        GlexDecomposer(
            RandomForestRegressor(n_estimators=3, max_depth=3, random_state=0), max_interaction=None
        ),
        GlexDecomposer(
            HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4, min_samples_leaf=2),
            max_interaction=None,
        ),
        GlexDecomposer(IsolationForest(n_estimators=3, max_samples=8, random_state=0), max_interaction=None),
        # The checks put missing values into the first column.
        FeatureRemover(GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0), [-1]),
        FeatureRemover(RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0), [0]),
        FeatureRemover(IsolationForest(n_estimators=20, random_state=0), [0]),
    ],
    expected_failed_checks=failures_of_the_models_own,
)
def test_sklearn_checks(estimator, check):
    check(estimator)
