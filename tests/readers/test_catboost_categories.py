"""Read CatBoost models of categories, refuse what is no sum of trees, and fit CatBoost models here."""

import catboost as cb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import FeatureRemover, GlexDecomposer
from skglex._fitted_model import takes_objects
from skglex._readers._registry import find_reader
from tests.readers.catboost_models import (
    BINARY,
    FLOAT64,
    POLICIES,
    SIGNAL,
    SMALL,
    X,
    classifier,
    margin_of,
    regressor,
)
from tests.support.data import WEIGHTINGS
from tests.support.oracles import brute_force_game, check_game, total

# A node that no training row reaches is common, and warns.
pytestmark = pytest.mark.filterwarnings("ignore:.* nodes of the model have cover 0:UserWarning")


# -- categorical features --------------------------------------------------------------------------


def categorical_frame(n=300, seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "town": rng.choice(["Mainz", "Köln", "Ulm", "Bonn"], size=n),
            "floor": rng.integers(-1, 4, size=n),
        }
    )
    y = frame["size"] * (frame["town"] == "Köln") + 2.0 * (frame["floor"] == 2) - (frame["town"] == "Ulm")
    return frame, y.to_numpy()


FRAME, PRICE = categorical_frame()
CATEGORICAL = ["town", "floor"]
UNSEEN = pd.DataFrame({"size": [0.1, 0.2, 0.3], "town": ["Köln", "Paris", ""], "floor": [99, 2, -7]})


def one_hot(policy="SymmetricTree", rows=FRAME, features=CATEGORICAL, **params):
    return regressor(
        PRICE, rows, cat_features=features, one_hot_max_size=20, grow_policy=policy, iterations=15, **params
    )


def variants():
    """Return the same rows in all containers that hold strings."""
    both = pd.concat([FRAME, UNSEEN], ignore_index=True)
    # CatBoost takes polars frames since 1.2.10.
    with_polars = tuple(int(part) for part in cb.__version__.split(".")) >= (1, 2, 10)
    return {
        "strings": both,
        "categories": both.astype({"town": "category", "floor": "category"}),
        "pandas' own strings": both.astype({"town": "string", "floor": str}),
    } | ({"polars": pl.DataFrame(both.to_dict("list"))} if with_polars else {})


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_one_hot_features_in_every_container(policy, weighting):
    model = one_hot(policy)
    for name, rows in variants().items():
        decomposer = GlexDecomposer(model, weighting=weighting, max_interaction=None).fit(rows[:300])
        assert_allclose(total(decomposer, rows), margin_of(model, rows), **FLOAT64, err_msg=name)
    array = pd.concat([FRAME, UNSEEN]).to_numpy(dtype=object)
    model = one_hot(policy, FRAME.to_numpy(dtype=object), [1, 2])
    decomposer = GlexDecomposer(model, weighting=weighting, max_interaction=None).fit(array[:300])
    assert decomposer.transform(array).shape == (303, decomposer.n_components_)
    assert_allclose(total(decomposer, array), margin_of(model, array), **FLOAT64)


def test_one_hot_shap_values_are_catboosts_own():
    model = one_hot()
    pool = cb.Pool(FRAME, cat_features=CATEGORICAL)
    decomposer = GlexDecomposer(model, weighting="path_dependent", max_interaction=None).fit(FRAME)
    own = model.get_feature_importance(pool, type="ShapValues")
    assert_allclose(decomposer.shap_values(FRAME), own[:, :3], **FLOAT64)
    own = model.get_feature_importance(pool, type="ShapInteractionValues")
    assert_allclose(decomposer.shap_interaction_values(FRAME), own[:, :3, :3], **FLOAT64)


def test_one_hot_components_are_averages_over_the_background():
    array = FRAME.to_numpy(dtype=object)
    model = one_hot("Depthwise", array, [1, 2])
    rows, background = np.vstack([array[:20], UNSEEN.to_numpy(dtype=object)]), array[100:160]
    game = brute_force_game(lambda Z: margin_of(model, Z), rows, background)
    check_game(GlexDecomposer(model, max_interaction=None).fit(background), rows, game, 1e-12)


def test_categories_have_their_names_on_axes():
    decomposer = GlexDecomposer(one_hot(), max_interaction=None).fit(FRAME)
    axis = decomposer.feature_axis("town")
    assert axis.categorical
    assert set(axis.edges) <= {"Mainz", "Köln", "Ulm", "Bonn"}
    table = decomposer["town"]
    assert_array_equal(table.edges[0], axis.edges)
    at = np.flatnonzero(axis.edges == "Köln")[0]
    rows = FRAME[FRAME["town"] == "Köln"]
    assert_allclose(table.evaluate(rows), table.values[at], **FLOAT64)
    assert set(decomposer.feature_axis("floor").edges) <= {-1, 0, 1, 2, 3}
    few = GlexDecomposer(one_hot(), max_interaction=None).fit(FRAME[FRAME["town"] == "Ulm"])
    assert "Ulm" in few.feature_axis("town").edges  # Absent categories keep the model's codes.


def test_integer_arrays_and_sparse_matrices():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, size=(300, 3))
    model = regressor(rows[:, 0] * (rows[:, 1] == 2), rows, cat_features=[1], one_hot_max_size=10)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(rows)
    assert_allclose(total(decomposer, rows), margin_of(model, rows), **FLOAT64)
    sparse = sp.csr_matrix(rows)
    assert_array_equal(
        GlexDecomposer(model, max_interaction=None).fit(sparse).transform(sparse), decomposer.transform(rows)
    )
    numeric = regressor(SIGNAL, np.nan_to_num(X))
    dense = GlexDecomposer(numeric, max_interaction=None).fit(np.nan_to_num(X))
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array):
        rows = kind(np.nan_to_num(X))
        assert_array_equal(
            GlexDecomposer(numeric, max_interaction=None).fit(rows).transform(rows),
            dense.transform(np.nan_to_num(X)),
        )


def test_categories_that_catboost_does_not_take():
    decomposer = GlexDecomposer(one_hot(), max_interaction=None).fit(FRAME)
    for bad in (np.nan, 1.5):
        rows = FRAME.astype({"town": object}).head(3)
        rows.iloc[1, 1] = bad
        with pytest.raises(ValueError, match=r"CatBoost does not accept the categories in column 'town'"):
            decomposer.transform(rows)


def test_plots_and_shap_explanations_of_categories():
    pytest.importorskip("shap")
    from skglex.export import to_shap
    from skglex.plotting import ComponentDisplay

    array = FRAME.to_numpy(dtype=object)
    for model, rows in ((one_hot(), FRAME), (one_hot(rows=array, features=[1, 2]), array)):
        decomposer = GlexDecomposer(model, max_interaction=None).fit(rows)
        explanation = to_shap(decomposer, rows[:5])
        assert_array_equal(explanation.display_data[:, 1], FRAME["town"][:5])
        name = decomposer.get_feature_names_out()[1]
        display = ComponentDisplay.from_decomposer(decomposer, name, X=rows)
        labels = {text.get_text() for text in np.ravel(display.axes_)[0].get_xticklabels()}
        assert labels & {"Mainz", "Köln", "Ulm", "Bonn"}


# -- refusals --------------------------------------------------------------------------------------


def test_encoders_before_the_model():
    pipeline = make_pipeline(TargetEncoder(), cb.CatBoostRegressor(**SMALL))
    encoded = GlexDecomposer(pipeline, max_interaction=None).fit(FRAME[["town"]], PRICE)
    assert_allclose(
        total(encoded, FRAME[["town"]])[:, 0], encoded.estimator_.predict(FRAME[["town"]]), **FLOAT64
    )


def test_text_and_embedding_features_are_refused():
    frame = pd.DataFrame({"a": X[:, 3], "words": np.where(BINARY, "good fine day", "bad rainy day")})
    model = classifier_on(frame, text_features=["words"])
    with pytest.raises(ValueError, match="words"):
        GlexDecomposer(model, max_interaction=None).fit(frame)
    frame = pd.DataFrame({"a": X[:, 3], "vector": [np.array(row) for row in np.nan_to_num(X[:, :2])]})
    model = classifier_on(frame, embedding_features=["vector"])
    with pytest.raises(ValueError, match="vector"):
        GlexDecomposer(model, max_interaction=None).fit(frame)


def classifier_on(frame, **params):
    return cb.CatBoostClassifier(**SMALL, **params).fit(frame, BINARY)


def test_unfitted_base_class():
    with pytest.raises(ValueError, match=r"the CatBoost is not fitted\. Call its fit method first"):
        find_reader(cb.CatBoost(SMALL))(cb.CatBoost(SMALL))
    with pytest.raises(ValueError, match=r"requires y|not fitted"):
        GlexDecomposer(cb.CatBoost(SMALL), max_interaction=None).fit(X)
    GlexDecomposer(cb.CatBoostRegressor(**SMALL), max_interaction=None).fit(
        X, SIGNAL
    )  # This must not warn that it was fitted before.


# -- fitted here -----------------------------------------------------------------------------------


def test_clone_mode_leaves_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    labels = np.where(BINARY, "yes", "no")
    estimator = cb.CatBoostClassifier(**SMALL)
    decomposer = GlexDecomposer(estimator, max_interaction=None).fit(
        X, labels, eval_set=[(X[:50], labels[:50])]
    )
    assert decomposer.classes_.tolist() == ["no", "yes"]
    own = classifier(labels, use_best_model=False)
    assert not estimator.is_fitted()
    assert_allclose(total(decomposer, X), margin_of(decomposer.estimator_, X), **FLOAT64)
    remover = FeatureRemover(estimator, ["x1"]).fit(X, labels)
    assert set(remover.predict(X)) == {"no", "yes"}
    assert_allclose(remover.set_params(strength=0).predict_proba(X), own.predict_proba(X), **FLOAT64)
    GlexDecomposer(one_hot(), max_interaction=None).fit(FRAME)
    assert list(tmp_path.iterdir()) == []


def test_clone_mode_with_categories():
    estimator = cb.CatBoostRegressor(**SMALL, cat_features=CATEGORICAL, one_hot_max_size=20)
    decomposer = GlexDecomposer(estimator, max_interaction=None).fit(FRAME, PRICE)
    assert_allclose(total(decomposer, UNSEEN), margin_of(decomposer.estimator_, UNSEEN), **FLOAT64)
    estimator.set_params(cat_features=tuple(CATEGORICAL))  # A search clones it, and CatBoost copies lists.
    search = GridSearchCV(
        GlexDecomposer(estimator, max_interaction=None), {"max_interaction": [1, 2]}, scoring=lambda *_: 0.0
    )
    assert search.fit(FRAME, PRICE).best_params_ == {"max_interaction": 1}
    array = FRAME.to_numpy(dtype=object)
    estimator = cb.CatBoostRegressor(**SMALL, one_hot_max_size=20)
    decomposer = GlexDecomposer(estimator, max_interaction=None).fit(array, PRICE, cat_features=[1, 2])
    assert_allclose(total(decomposer, array), margin_of(decomposer.estimator_, array), **FLOAT64)


# CatBoost itself fails these checks, and lists them among its own expected failures.
REFUSED = {
    "check_estimator_sparse_tag": "CatBoost takes no sparse arrays",
    "check_estimator_sparse_array": "CatBoost takes no sparse arrays",
    "check_estimator_sparse_matrix": "CatBoost takes no DIA matrices",
    "check_fit2d_1sample": "CatBoost raises a CatBoostError",
    "check_sample_weight_equivalence_on_dense_data": "CatBoost's borders do not depend on weights",
    "check_sample_weight_equivalence_on_sparse_data": "CatBoost's borders do not depend on weights",
}


def expected_failures(estimator):
    if isinstance(estimator, FeatureRemover) and isinstance(estimator.estimator, cb.CatBoostClassifier):
        return {**REFUSED, "check_classifiers_one_label": "CatBoost raises a CatBoostError"}
    return REFUSED


TINY = {**SMALL, "iterations": 5}


# Older versions of CatBoost do not pass these checks themselves.
@parametrize_with_checks(
    [
        GlexDecomposer(cb.CatBoostClassifier(**TINY)),
        FeatureRemover(cb.CatBoostRegressor(**TINY), [0]),
        FeatureRemover(cb.CatBoostClassifier(**TINY), [0]),
    ][: 3 * hasattr(cb.CatBoost, "__sklearn_tags__")],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_models_of_older_versions_have_no_tags(monkeypatch):
    if hasattr(cb.CatBoost, "__sklearn_tags__"):
        monkeypatch.delattr(cb.core._CatBoostBase, "__sklearn_tags__")
    assert is_classifier(FeatureRemover(cb.CatBoostClassifier(), [0]))
    assert is_regressor(FeatureRemover(cb.CatBoostRegressor(), [0]))
    assert takes_objects(cb.CatBoost())


def test_removed_categories_may_be_absent_or_anything():
    remover = FeatureRemover(one_hot(), ["town"]).fit(FRAME)
    expected = remover.predict(FRAME)
    assert_array_equal(remover.predict(FRAME.drop(columns="town")), expected)
    assert_array_equal(remover.predict(FRAME.assign(town=np.nan)), expected)
    array = FRAME.to_numpy(dtype=object)
    remover = FeatureRemover(one_hot(rows=array, features=[1, 2]), [1]).fit(array)
    changed = array.copy()
    changed[:, 1] = np.nan
    assert_array_equal(remover.predict(changed), remover.predict(array))
    assert_allclose(remover.predict(array), expected, **FLOAT64)


def test_onnx_of_categories(run_onnx):
    model = one_hot("Lossguide")
    remover = FeatureRemover(model, ["floor"]).fit(FRAME)
    names = GlexDecomposer(model, max_interaction=None).fit(FRAME).feature_axis("town").edges.tolist()
    rows = pd.concat([FRAME, UNSEEN], ignore_index=True)
    coded = [
        [size, names.index(town) if town in names else -1, 0] for size, town in rows.iloc[:, :2].to_numpy()
    ]
    out = run_onnx(remover.to_onnx(), np.array(coded, dtype=np.float64))
    assert_allclose(out["variable"][:, 0], remover.predict(rows), rtol=1e-5, atol=1e-5)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10_000),
    policy=st.sampled_from(POLICIES),
    depth=st.integers(1, 5),
    border_count=st.integers(1, 40),
    nan_mode=st.sampled_from(["Min", "Max"]),
    weighting=st.sampled_from(WEIGHTINGS),
    decimals=st.integers(0, 3),
    n_classes=st.sampled_from([0, 2, 3]),
)
def test_any_model(seed, policy, depth, border_count, nan_mode, weighting, decimals, n_classes):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(80, 4)), decimals)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    data = pd.DataFrame(rows[:, :3], columns=list("abc"))
    data["d"] = rng.choice(["u", "v", "w", "x"], size=80)
    y = np.nan_to_num(rows[:, 0] * rows[:, 1]) + (data["d"] == "v") + rng.normal(scale=0.1, size=80)
    kind = cb.CatBoostClassifier if n_classes else cb.CatBoostRegressor
    if n_classes:
        y = pd.qcut(y, n_classes, labels=False)
    params = {"depth": depth, "border_count": border_count, "nan_mode": nan_mode, "grow_policy": policy}
    model = kind(**{**SMALL, **params}, one_hot_max_size=9, cat_features=["d"]).fit(data, y)
    probe = data.sample(60, replace=True, random_state=seed).reset_index(drop=True)
    found = model.get_borders()
    for j, name in enumerate("abc"):
        if found.get(j):
            at = np.array(found[j], dtype=np.float32)
            with np.errstate(over="ignore"):
                beside = [np.nextafter(at, np.float32(to)) for to in (-np.inf, np.inf)]
            probe[name] = np.where(
                rng.random(60) < 0.5, rng.choice(np.concatenate([at, *beside]), 60).astype(float), probe[name]
            )
    probe["d"] = np.where(rng.random(60) < 0.1, "unseen", probe["d"])
    decomposer = GlexDecomposer(model, weighting=weighting, max_interaction=None).fit(data)
    assert_allclose(total(decomposer, probe), margin_of(model, probe), **FLOAT64)
    phi = decomposer.shap_values(probe)
    summed = phi.reshape(60, 4, -1).sum(axis=1) + decomposer.intercept_
    assert_allclose(summed, margin_of(model, probe), **FLOAT64)
    remover = FeatureRemover(model, ["d"], weighting=weighting).fit(data)
    without = sum(c.evaluate(probe) for c in decomposer.components_ if "d" not in c.features)
    assert_allclose(remover.margin(probe), without + decomposer.intercept_, **FLOAT64)
