"""Read XGBoost models in the situations in which explainers of trees are known to go wrong."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb

from skglex import GlexDecomposer
from tests.readers.xgboost_data import SMALL, VERSION, check_against_brute_force, make_numbers
from tests.support.data import WEIGHTINGS
from tests.support.oracles import (
    deep_components,
    deep_shapley,
    game_components,
    is_inner,
    path_dependent_game,
    read_json,
    shapley_values,
    total,
)

# -- routing --------------------------------------------------------------------------------------


def test_values_beside_thresholds_go_the_way_of_float32():
    # Thresholds of "exact" lie halfway between data values. For data in tenths, the float64 values lie beside the
    # float32 thresholds. Sums of components would not show a row on the wrong side.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, size=(400, 3)) / 10
    y = X[:, 0] * X[:, 1] + (X[:, 2] > 1.5)
    half = xgb.XGBRegressor(**SMALL, tree_method="exact").fit(X[::2] * 2, y[::2])
    check_against_brute_force(half, X[:40], X[40:120])
    model = xgb.XGBRegressor(**SMALL, tree_method="exact").fit(X, y)
    check_against_brute_force(model, X[:40], X[40:120])


@pytest.mark.parametrize("tree_method", ["exact", "hist"])
def test_integers_near_two_to_the_24th(tree_method):
    # float32 has no 2^24 + 1, so the model sees 2^24.
    rng = np.random.default_rng(0)
    X = 2.0**24 + rng.integers(-4, 8, size=(200, 2))
    y = (X[:, 0] > 2**24) * 1.0 + (X[:, 1] >= 2**24 + 2) * (X[:, 0] < 2**24 + 4)
    model = xgb.XGBRegressor(**SMALL, tree_method=tree_method).fit(X, y)
    check_against_brute_force(model, X[:30], X[30:90])
    check_against_brute_force(model, X[:30].astype(np.int64), X[30:90].astype(np.int64))


def test_a_threshold_beyond_those_above_it_keeps_only_missing_values():
    # "exact" separates missing values at twice the node's largest value, beyond its parent's cut.
    x = np.append(np.linspace(-1, 1, 201), np.full(40, np.nan))[:, None]
    y = np.where(np.isnan(x[:, 0]), 10, np.where(x[:, 0] > 0.5, 50, 0.0))
    model = xgb.XGBRegressor(n_estimators=1, max_depth=2, tree_method="exact", n_jobs=1).fit(x, y)
    tree = read_json(model)[0][0]
    cuts = np.array(tree["split_conditions"])[is_inner(tree)]
    assert cuts[1] > cuts[0]
    check_against_brute_force(model, x[::5], x)


@pytest.mark.parametrize("missing", [-999.0, 0.0, -0.1])
def test_the_wrappers_missing_value_counts_in_the_background_too(missing):
    X, y = make_numbers()
    X[::4, 0], X[::5, 2], X[::7, 1] = missing, missing, np.nan
    model = xgb.XGBRegressor(**SMALL, missing=missing).fit(X, y + 3 * (X[:, 0] == missing))
    check_against_brute_force(model, X[:40], X[40:120])
    frame = pd.DataFrame(X, columns=list("abc"))
    ours = GlexDecomposer(model, max_interaction=None).fit(frame).transform(frame)
    np.testing.assert_array_equal(ours, GlexDecomposer(model, max_interaction=None).fit(X).transform(X))


@pytest.mark.filterwarnings("ignore::skglex.exceptions.MissingValueWarning")
def test_a_bare_booster_knows_nan_alone_as_missing():
    X, y = make_numbers()
    X[::4, 0] = -999
    model = xgb.XGBRegressor(**SMALL, missing=-999).fit(X, y + 3 * (X[:, 0] == -999))
    check_against_brute_force(model.get_booster(), X[:30], X[30:90])


# -- columns and types of the input ---------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "csr64"])
def test_what_a_sparse_matrix_does_not_store_is_missing(form):
    X, y = make_numbers()
    X[np.abs(X) < 0.6] = 0
    dense = np.where(X == 0, np.nan, X)
    sparse = sp.csc_matrix(X) if form == "csc" else sp.csr_matrix(X)
    if form == "csr64":
        sparse.indices, sparse.indptr = sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)
    model = xgb.XGBRegressor(**SMALL).fit(sparse, y + 2 * (X[:, 0] == 0))
    decomposer = GlexDecomposer(model, max_interaction=None).fit(sparse)
    np.testing.assert_allclose(total(decomposer, sparse)[:, 0], model.predict(sparse), rtol=0, atol=1e-5)
    brute = check_against_brute_force(model, dense[:30], dense[30:])
    ours = GlexDecomposer(model, max_interaction=None).fit(sparse[30:]).shap_values(sparse[:30])
    np.testing.assert_array_equal(ours, brute.shap_values(dense[:30]))


def test_stored_zeros_of_a_sparse_matrix_are_zeros():
    X, y = make_numbers()
    X[::3, 0] = 0
    sparse = sp.csr_matrix(X)
    stored = sparse.copy()
    stored.data[::7] = 0
    model = xgb.XGBRegressor(**SMALL).fit(sparse, y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(stored)
    np.testing.assert_allclose(total(decomposer, stored)[:, 0], model.predict(stored), rtol=0, atol=1e-5)


def test_every_form_of_an_array_gives_the_same():
    X, y = make_numbers()
    X = np.round(X * 4)  # Whole numbers are exact in every type.
    model = xgb.XGBRegressor(**SMALL).fit(X, y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(X)
    expected = decomposer.transform(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    forms = [np.asfortranarray(X), frozen, X.tolist(), X[::-1][::-1], np.repeat(X, 2, axis=1)[:, ::2]]
    forms += [X.astype(t) for t in (np.float32, np.float16, np.int64, np.int32, np.int8)]
    for form in forms:
        before = np.array(form)
        np.testing.assert_array_equal(decomposer.transform(form), expected)
        np.testing.assert_array_equal(
            GlexDecomposer(model, max_interaction=None).fit(form).transform(X), expected
        )
        np.testing.assert_array_equal(np.array(form), before)
    bools = X > 0
    model = xgb.XGBRegressor(**SMALL).fit(bools, y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(bools)
    np.testing.assert_allclose(total(decomposer, bools)[:, 0], model.predict(bools), rtol=0, atol=1e-5)
    check_against_brute_force(model, bools[:20], bools[20:])


def test_input_is_left_as_it_is_where_values_become_missing():
    X, y = make_numbers()
    X[::4, 0] = -999
    model = xgb.XGBRegressor(**SMALL, missing=-999).fit(X, y)
    for form in (X.copy(), np.asfortranarray(X), pd.DataFrame(X)):
        before = np.array(form)
        GlexDecomposer(model, max_interaction=None).fit(form).transform(form)
        np.testing.assert_array_equal(np.array(form), before)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_one_row_one_column_one_term(weighting):
    X, y = make_numbers()
    column = X[:, :1]
    model = xgb.XGBRegressor(**SMALL).fit(column, y)
    decomposer = GlexDecomposer(model, weighting=weighting, max_interaction=None).fit(column)
    assert decomposer.transform(column[:1]).shape == (1, 1)
    assert decomposer.shap_values(column[:1]).shape == (1, 1)
    assert decomposer.shap_interaction_values(column[:1]).shape == (1, 1, 1)
    np.testing.assert_allclose(total(decomposer, column)[:, 0], model.predict(column), rtol=0, atol=1e-5)
    # The background may have one row.
    model = xgb.XGBRegressor(**SMALL).fit(X, y)
    decomposer = GlexDecomposer(model, weighting=weighting, max_interaction=None).fit(X[:1])
    np.testing.assert_allclose(total(decomposer, X)[:, 0], model.predict(X), rtol=0, atol=1e-5)
    if weighting == "empirical":
        np.testing.assert_allclose(decomposer.intercept_, model.predict(X[:1])[0], rtol=0, atol=1e-5)
        np.testing.assert_allclose(decomposer.transform(X[:1]), 0, atol=1e-12)
    # The model may have no term.
    constant = xgb.XGBRegressor(**SMALL).fit(X, np.ones(len(X)))
    decomposer = GlexDecomposer(constant, weighting=weighting, max_interaction=None).fit(X)
    assert decomposer.transform(X).shape == (len(X), 0)
    assert decomposer.strongest_components() == []
    # A single stump has one term.
    model = xgb.XGBRegressor(n_estimators=1, max_depth=1, n_jobs=1).fit(X, y)
    decomposer = GlexDecomposer(model, weighting=weighting, max_interaction=None).fit(X)
    assert decomposer.n_components_ == 1
    np.testing.assert_allclose(total(decomposer, X)[:, 0], model.predict(X), rtol=0, atol=1e-5)


# -- the model's parts ----------------------------------------------------------------------------


def test_nodes_without_cover_are_split_evenly():
    X, y = make_numbers()
    old = xgb.train({"max_depth": 3, "nthread": 1}, xgb.DMatrix(X, y), 4)
    params = {"process_type": "update", "updater": "refresh", "refresh_leaf": False, "nthread": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = xgb.train(params, xgb.DMatrix(np.abs(X) + 0.5, y), 4, xgb_model=old)
    with pytest.warns(UserWarning, match="cover 0"):
        decomposer = GlexDecomposer(model, weighting="path_dependent", max_interaction=None).fit(X)
    expected = shapley_values(game_components(path_dependent_game(model, X[:50], [0.0])), 3)[..., 0]
    np.testing.assert_allclose(decomposer.shap_values(X[:50]), expected, rtol=0, atol=1e-11)
    if VERSION >= (3, 4):
        phi = model.predict(xgb.DMatrix(X[:50]), pred_contribs=True)[:, :-1]
        np.testing.assert_allclose(decomposer.shap_values(X[:50]), phi, rtol=0, atol=1e-5)
    check_against_brute_force(model, X[:20], X[20:60])  # Empirical weights must not warn of the cover.


# -- the background -------------------------------------------------------------------------------


def test_every_background_row_counts():
    X, y = make_numbers(700)
    X[100:] += 1.5  # The first hundred rows differ from the later ones.
    model = xgb.XGBRegressor(**SMALL).fit(X, y)
    decomposer = check_against_brute_force(model, X[:20], X)
    assert len(decomposer.background_.rows) == 700
    np.testing.assert_allclose(decomposer.intercept_, model.predict(X).mean(dtype=float), rtol=0, atol=1e-5)


def test_roundings_that_go_the_same_way_are_no_misreading():
    """XGBoost's float32 sum of small steps and a large margin drifts with the number of trees."""
    X, y = make_numbers()
    model = xgb.XGBClassifier(
        n_estimators=2000, learning_rate=1, reg_lambda=0, min_child_weight=0, max_depth=6
    )
    model.set_params(n_jobs=1).fit(X, y > 0)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(X)
    np.testing.assert_allclose(total(decomposer, X)[:, 0], model.predict(X, output_margin=True), rtol=1e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [2.0**1020, 2.0**-1070])
def test_huge_and_tiny_weights(scale):
    X, y = make_numbers()
    weight = np.arange(len(X)) % 3 + 1.0
    model = xgb.XGBRegressor(**SMALL).fit(X, y)
    expected = GlexDecomposer(model, max_interaction=None).fit(X, sample_weight=weight)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(X, sample_weight=weight * scale)
    np.testing.assert_array_equal(decomposer.transform(X), expected.transform(X))
    np.testing.assert_array_equal(decomposer.component_importances_, expected.component_importances_)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_intercept_does_not_change_with_calls(weighting):
    X, y = make_numbers()
    decomposer = GlexDecomposer(
        xgb.XGBRegressor(**SMALL).fit(X, y), weighting=weighting, max_interaction=None
    ).fit(X)
    before, components = decomposer.intercept_, decomposer.transform(X)
    decomposer.shap_values(X[:5])
    decomposer.shap_interaction_values(X[5:])
    decomposer.partial_dependence(["x0"], X[:9])
    assert decomposer.feature_importances_.shape == (3,)
    assert decomposer.intercept_ == before
    np.testing.assert_array_equal(decomposer.transform(X), components)


# -- size and saving ------------------------------------------------------------------------------


def test_interactions_of_224_classes_are_refused_with_their_size():
    X, _ = make_numbers(448, 6)
    model = xgb.XGBClassifier(n_estimators=1, max_depth=1, n_jobs=1).fit(X, np.arange(448) % 224)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(X)
    many = np.broadcast_to(X[:1], (10_000_000, 6))
    decomposer._check_X = lambda X: X  # Do not copy the rows.
    with pytest.raises(MemoryError, match=r"shape \(224, 6, 6, 10000000\).* needs 600\.8 GiB"):
        decomposer.shap_interaction_values(many)


# -- wide leaves ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide():
    """Return a model whose leaves have up to 20 path features: a chain of splits, each on the next feature."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20))
    X[rng.random(X.shape) < 0.02] = np.nan
    falls = np.nan_to_num(X, nan=-2) < -1.2
    y = np.where(falls.any(axis=1), falls.argmax(axis=1), 25) + np.nan_to_num(X[:, 0])
    params = {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 50, "min_child_weight": 0}
    model = xgb.XGBRegressor(n_estimators=2, n_jobs=1, random_state=0, **params).fit(X, y)
    return model, X


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_components_of_wide_leaves(weighting, wide):
    model, X = wide
    rows, background = X[:25], X[100:160]
    decomposer = GlexDecomposer(model, weighting=weighting, max_interaction=2).fit(background)
    assert np.diff(decomposer._fitted.source.ensemble.leaf_ptr).max() > 16
    expected = deep_components(model, rows, background if weighting == "empirical" else None)
    ours = decomposer.transform(rows)
    for component, column in zip(decomposer.components_, ours.T, strict=False):
        s = tuple(int(name[1:]) for name in component.features)
        np.testing.assert_allclose(column, expected.pop(s), rtol=0, atol=1e-11, err_msg=component.name)
    assert list(expected) == [()]
    np.testing.assert_allclose(total(decomposer, X)[:, 0], model.predict(X), rtol=0, atol=1e-4)


def test_shap_values_and_interactions_of_wide_leaves(wide):
    model, X = wide
    rows, background = X[:8], X[100:160]
    decomposer = GlexDecomposer(model, max_interaction=2).fit(background)
    phi, pairs = deep_shapley(model, rows, background)
    np.testing.assert_allclose(decomposer.shap_values(rows), phi, rtol=0, atol=1e-10)
    np.testing.assert_allclose(decomposer.shap_interaction_values(rows), pairs, rtol=0, atol=1e-10)
    # `test_long_paths` compares path-dependent values with shap's to 1e-8.
    decomposer = GlexDecomposer(model, weighting="path_dependent").fit(background)
    own = model.get_booster().predict(xgb.DMatrix(rows), pred_contribs=True)[:, :-1]
    np.testing.assert_allclose(decomposer.shap_values(rows), own, rtol=0, atol=1e-4)
