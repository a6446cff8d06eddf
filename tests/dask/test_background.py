"""Average over backgrounds in Dask collections.

Sums over partitions add up in another order than sums over one table, so results agree to rounding: 1e-12 on
margins of about one. Dask runs agree to the bit, whatever the scheduler.
"""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from xgboost import XGBRegressor

from skglex import GlexDecomposer
from skglex._utils import budgets
from skglex.exceptions import SmallBackgroundWarning
from skglex.inspection import interaction_strength
from tests.dask.collections import NAMES, as_array, as_frame, compare, da, dd, same


@pytest.mark.parametrize("collection", [as_frame, as_array])
def test_same_as_on_one_table(data, model, local, collection):
    X, _ = data
    rows = collection(X)
    with warnings.catch_warnings():
        if collection is as_array:
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        dec = GlexDecomposer(model).fit(rows)
        compare(dec, local, rows, X)
    assert len(dec.background_.rows) == len(X)
    same(dec.component_importances_, local.component_importances_)
    same(dec.feature_importances_, local.feature_importances_)
    same(dec.background_weights(dec.feature_axis("a")), local.background_weights(local.feature_axis("a")))
    assert [c.name for c in dec.strongest_components(3)] == [c.name for c in local.strongest_components(3)]
    same(dec.transform(X) if collection is as_frame else dec.transform(X.to_numpy()), local.transform(X))


def test_several_outputs(data, classifier):
    X, _ = data
    rows = as_frame(X)
    compare(GlexDecomposer(classifier).fit(rows), GlexDecomposer(classifier).fit(X), rows, X)


def test_path_dependent(data, model):
    X, _ = data
    params = {"weighting": "path_dependent", "max_interaction": 2}
    compare(
        GlexDecomposer(model, **params).fit(as_frame(X)),
        GlexDecomposer(model, **params).fit(X),
        as_frame(X),
        X,
    )


@pytest.mark.parametrize("kind", ["column", "array", "numpy"])
def test_weights(data, model, kind):
    X, _ = data
    weight = np.random.default_rng(1).random(len(X)) * (np.arange(len(X)) >= 300)
    expected = GlexDecomposer(model).fit(X, sample_weight=weight)
    if kind == "column":
        rows = as_frame(X.assign(weight=1e300 * weight))
        dec = GlexDecomposer(model).fit(rows[NAMES], sample_weight=rows["weight"])
        same(dec.transform(rows[NAMES]), expected.transform(X))
        return
    rows = as_array(X)
    given = weight if kind == "numpy" else da.from_array(weight, chunks=450)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        dec = GlexDecomposer(model).fit(rows, sample_weight=given)
        same(dec.transform(rows), expected.transform(X))
    same(dec.component_importances_, expected.component_importances_)


@pytest.mark.parametrize(
    ("n", "weight", "few"),
    [(15, 1.0, True), (16, 1.0, False), (1000, [1e300, *999 * [0.0]], True), (1000, [1e-300] * 1000, False)]
    # The many rows of the other partitions have tiny weights.
    + [(1000, [1.0] * 7 + [2.0**-40] * 993, True)],
)
def test_small_backgrounds(data, model, n, weight, few):
    X = data[0].iloc[:n]
    rows = dd.from_pandas(X.assign(weight=weight), npartitions=3)
    decomposer = GlexDecomposer(model, max_interaction=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SmallBackgroundWarning)
        GlexDecomposer(model, weighting="path_dependent").fit(rows[NAMES])
        if not few:
            decomposer.fit(rows[NAMES], sample_weight=rows["weight"])
    if few:
        with pytest.warns(SmallBackgroundWarning, match=r"counts as \S+ rows .* of order") as lazy:
            decomposer.fit(rows[NAMES], sample_weight=rows["weight"])
        with pytest.warns(SmallBackgroundWarning) as local:
            decomposer.fit(X, sample_weight=np.broadcast_to(weight, n))
        assert str(lazy[0].message) == str(local[0].message)


def test_bad_weights(data, model):
    X, _ = data
    rows = as_frame(X)
    with pytest.raises(ValueError, match="zero for every row"):
        GlexDecomposer(model).fit(rows, sample_weight=0 * rows["a"].fillna(0))
    with pytest.raises(ValueError, match="finite and not negative"):
        GlexDecomposer(model).fit(rows, sample_weight=rows["a"])
    with pytest.raises(ValueError, match="sample_weight has 2 partitions, X has 5"):
        GlexDecomposer(model).fit(rows, sample_weight=da.ones(1000, chunks=500))
    with pytest.raises(ValueError, match="for example a column of X"):
        GlexDecomposer(model).fit(rows, sample_weight=np.ones(1000))
    with pytest.raises(ValueError, match=r"the length 1000; got the shape \(10,\)"):
        GlexDecomposer(model).fit(as_array(X), sample_weight=da.ones(10))
    with pytest.raises(ValueError, match="with other divisions"):
        GlexDecomposer(model).fit(
            dd.from_pandas(X, npartitions=2), sample_weight=dd.from_pandas(X["a"].iloc[:900], npartitions=2)
        )


def test_sampled_background(data, model):
    X, _ = data
    params = {"n_background": 50, "random_state": 3}
    expected = GlexDecomposer(model, **params).fit(X, sample_weight=np.arange(1000.0))
    rows = as_frame(X.assign(weight=np.arange(1000.0)))
    dec = GlexDecomposer(model, **params).fit(rows[NAMES], sample_weight=rows["weight"])
    np.testing.assert_array_equal(dec.background_.rows, expected.background_.rows)
    np.testing.assert_array_equal(dec.transform(X), expected.transform(X))  # A sample is one table.
    whole = GlexDecomposer(model, n_background=5000).fit(rows[NAMES])
    np.testing.assert_array_equal(whole.transform(X), GlexDecomposer(model).fit(X).transform(X))


def test_training_is_refused(data, model):
    X, y = data
    rows = as_frame(X)
    with pytest.raises(ValueError, match="Fit the model first"):
        GlexDecomposer(XGBRegressor()).fit(rows, da.from_array(y, chunks=500))
    with pytest.raises(ValueError, match="Fit the model first"):
        GlexDecomposer(XGBRegressor()).fit(rows)
    with pytest.raises(ValueError, match="fit without y"):
        GlexDecomposer(model).fit(rows, da.from_array(y, chunks=500))
    frozen = GlexDecomposer(FrozenEstimator(model)).fit(rows, da.from_array(y, chunks=500))
    same(frozen.intercept_, GlexDecomposer(model).fit(X).intercept_)
    with pytest.raises(NotFittedError):
        GlexDecomposer(model).transform(rows)


def test_misread_model_is_found_in_the_partitions(data, model):
    X, _ = data
    dec = GlexDecomposer(model)
    bad = pickle.loads(pickle.dumps(model))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skglex._readers._xgboost._wrapper_margin", lambda model, X: np.full(len(X), 1000.0))
        with pytest.raises(RuntimeError, match="not read exactly"):
            dec.fit(as_frame(X))
        GlexDecomposer(bad, check_additivity=False).fit(as_frame(X))


def test_what_needs_all_rows_in_one_place(data, model):
    dec = GlexDecomposer(model).fit(as_frame(data[0]))
    with pytest.raises(ValueError, match="Pass rows X, or fit with n_background"):
        interaction_strength(dec)
    interaction_strength(dec, data[0])


def test_copies_have_no_background(data, model, local):
    X, _ = data
    dec = GlexDecomposer(model).fit(as_frame(X))
    copied = pickle.loads(pickle.dumps(dec))
    same(copied.transform(X), local.transform(X))
    same(copied.shap_values(X), local.shap_values(X))
    same(copied.shap_values(as_frame(X)), local.shap_values(X))
    with pytest.raises(ValueError, match="Call the method of the decomposer that was fitted"):
        copied.component_importances_  # noqa: B018
    dec.component_importances_  # noqa: B018
    same(pickle.loads(pickle.dumps(dec)).component_importances_, local.component_importances_)


def test_deep_trees(data):
    """Rank weights serve orders up to two; the SHAP values of deep leaves need the rows themselves."""
    X, y = data
    wide = pd.concat(
        [X, X.add_suffix("2") ** 2, X.add_suffix("3") ** 3, X.add_suffix("4") * X.iloc[::-1].to_numpy()],
        axis=1,
    )
    model = XGBRegressor(n_estimators=3, max_depth=20, min_child_weight=0, colsample_bynode=0.3).fit(wide, y)
    local = GlexDecomposer(model, max_interaction=2).fit(wide)
    rows = as_frame(wide)
    dec = GlexDecomposer(model, max_interaction=2).fit(rows)
    assert local._decomposition.players.long_path.any()
    same(dec.transform(rows), local.transform(wide))
    same(dec.partial_dependence("a", rows), local.partial_dependence("a", wide))
    with pytest.raises(ValueError, match="fit with n_background"):
        dec.shap_values(rows)
    same(local.shap_values(rows), local.shap_values(wide))


def test_more_weights_than_are_kept(data, model, monkeypatch):
    monkeypatch.setattr(budgets, "kept_dask_weights", 1000)
    with pytest.raises(ValueError, match="a background in Dask partitions caches at most 1,000"):
        GlexDecomposer(model).fit(as_frame(data[0]))


def test_threads(data, model, local):
    """Several threads need parts of the same weights at the same time."""
    dec = GlexDecomposer(model, n_jobs=2).fit(as_frame(data[0]))
    same(dec.shap_values(data[0]), local.shap_values(data[0]))


def test_too_many_components(data, model, local):
    dec = pickle.loads(pickle.dumps(GlexDecomposer(model, max_components=2).fit(as_frame(data[0]))))
    same(dec.shap_values(as_frame(data[0])), local.shap_values(data[0]))
    with pytest.raises(ValueError, match="more than max_components=2"):
        dec.transform(as_frame(data[0]))
