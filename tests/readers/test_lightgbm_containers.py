"""Read LightGBM models trained on data frames and other containers, and fit them here."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from scipy import sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from skglex import FeatureRemover, GlexDecomposer
from tests.readers.lightgbm_models import (  # noqa: F401
    BINARY,
    CLASSES,
    COUNTS,
    MODELS,
    SIGNAL,
    SKEWED,
    SMALL,
    SUMS,
    N,
    X,
    booster,
    decompose,
    fit_watched,
    raw,
)
from tests.support.oracles import total

# LightGBM < 4.7 warns of models trained on arrays, too.
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names, but LGBM:UserWarning")


# -- containers --------------------------------------------------------------------------------------


def test_arrays_of_other_types_are_cast_as_lightgbm_casts_them():
    integers = np.arange(2**24 - 60, 2**24 + 340)[:, None] + np.zeros((1, 2), np.int64)
    model = booster(data=integers.astype(float), min_data_in_bin=1, num_leaves=60, min_data_in_leaf=1)
    for kind in (np.int64, np.int32, np.uint32, np.float32, np.float64):
        rows = integers.astype(kind)
        np.testing.assert_allclose(
            total(decompose(model, background=rows), rows), raw(model, rows), atol=SUMS
        )
    frame = pd.DataFrame(integers)  # LightGBM converts these to float64.
    np.testing.assert_allclose(total(decompose(model, background=frame), frame), raw(model, frame), atol=SUMS)
    small = booster(data=(X > 0).astype(float))
    rows = X > 0
    np.testing.assert_allclose(total(decompose(small, background=rows), rows), raw(small, rows), atol=SUMS)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("name", ["regression", "categorical", "zero missing, no NaN", "classes"])
def test_sparse_zeros_are_zeros(name, kind, model_of):
    model = model_of(name)
    rows = np.where(np.isnan(SKEWED), 0, SKEWED)
    rows[3, 2] = np.nan
    dense = decompose(model, background=rows)
    sparse = decompose(model, background=kind(rows))
    np.testing.assert_array_equal(sparse.transform(kind(rows)), dense.transform(rows))
    np.testing.assert_allclose(total(dense, rows), raw(model, rows), atol=SUMS)


def make_frame():
    frame = pd.DataFrame(X[:, :3], columns=["a b", "üx", "c"])
    names = np.array(["low", "mid", "high"])
    frame["level"] = pd.Categorical(names[(X[:, 4] % 3).astype(int)], names, ordered=True)
    frame["town"] = pd.Categorical(np.array(list("qwertyuio"))[X[:, 4].astype(int)])
    frame["year"] = pd.Categorical(2000 + (X[:, 4] // 2).astype(int))
    frame.loc[::17, "town"] = None
    return frame


FRAME = make_frame()


@pytest.mark.parametrize("loaded", [False, True])
def test_categories_of_data_frames_count_by_value(loaded):
    model = booster(data=FRAME, rounds=20)
    assert len(model.pandas_categorical) == 3
    if loaded:
        model = lgb.Booster(model_str=model.model_to_string())
    decomposer = decompose(model, background=FRAME)
    assert list(decomposer._fitted.feature_names) == list(FRAME.columns)
    other = FRAME.copy()
    other["town"] = pd.Categorical(FRAME["town"].astype(object), list("zoiuytrewq"))
    other["level"] = FRAME["level"].cat.reorder_categories(["high", "low", "mid"])
    other.loc[:5, "town"] = "z"  # An unseen category goes where missing values go.
    other["year"] = FRAME["year"].cat.rename_categories({2000: 1999})
    for frame in (FRAME, other, FRAME[:1]):
        np.testing.assert_allclose(total(decomposer, frame), raw(model, frame), atol=SUMS)
    weighted = decompose(model, "path_dependent", background=other)
    phi = model.predict(other, pred_contrib=True)
    np.testing.assert_allclose(weighted.shap_values(other), phi[:, :-1], rtol=0, atol=SUMS)
    assert set(decomposer.feature_axis("town").edges) <= set("qwertyuio")
    # Data frames count by value even after a fit on codes.
    codes = FRAME.apply(lambda c: c.cat.codes.replace(-1, np.nan) if c.dtype == "category" else c).to_numpy(
        float
    )
    by_codes = decompose(model, background=codes)
    np.testing.assert_array_equal(
        by_codes._fitted.source.ensemble.grid.cuts, decomposer._fitted.source.ensemble.grid.cuts
    )


def test_other_columns_are_refused():
    model = booster(data=FRAME)
    decomposer = decompose(model, background=FRAME)
    shuffled = FRAME[["c", "a b", "üx", "level", "town", "year"]]
    with pytest.raises(ValueError, match="feature names should match"):
        decomposer.transform(shuffled)
    with pytest.raises(ValueError, match="feature names should match"):
        decompose(model, background=shuffled)
    renamed = FRAME.rename(columns={"a b": "a_b"})
    np.testing.assert_allclose(
        total(decompose(model, background=renamed), renamed), raw(model, renamed), atol=SUMS
    )
    swapped = FRAME.assign(level=1.0, c=FRAME["level"])
    for frame in (FRAME.assign(level=1.0), swapped):
        with pytest.raises(ValueError, match=r"categorical columns .* trained on"):
            decomposer.transform(frame)


def test_removed_columns_of_categories_may_be_absent():
    model = booster(data=FRAME)
    remover = FeatureRemover(model, ["town", "a b"]).fit(FRAME)
    expected = remover.predict(FRAME)
    np.testing.assert_array_equal(remover.predict(FRAME.drop(columns=["town", "a b"])), expected)
    np.testing.assert_array_equal(remover.predict(FRAME.assign(town=1.5)), expected)


def test_nullable_and_polars_frames(model_of):
    pl = pytest.importorskip("polars")
    model = model_of("regression")
    nullable = pd.DataFrame(X).convert_dtypes()
    assert isinstance(nullable.dtypes.iloc[4], pd.Int64Dtype)
    expected = total(decompose(model), X)
    np.testing.assert_array_equal(total(decompose(model, background=nullable), nullable), expected)
    polars = pl.DataFrame(X, schema=list("abcde"))
    np.testing.assert_array_equal(total(decompose(model, background=polars), polars), expected)
    for kind in (pl.Categorical, pl.String):
        with pytest.raises(ValueError, match="LightGBM accepts only numeric columns in a polars"):
            decompose(
                booster(data=np.nan_to_num(X) * [0, 1, 1, 1, 1]),
                background=polars.with_columns(a=pl.lit("x", kind)),
            )


# -- as an estimator ---------------------------------------------------------------------------------


def small(kind=lgb.LGBMRegressor, **params):
    return kind(n_estimators=5, num_leaves=4, min_child_samples=3, n_jobs=1, verbose=-1, **params)


@parametrize_with_checks(
    [
        GlexDecomposer(small(lgb.LGBMClassifier), weighting="path_dependent", max_interaction=None),
        FeatureRemover(small(), [0]),
    ],
    expected_failed_checks=lambda _: dict.fromkeys(
        [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
        "LightGBM counts rows, whatever their weights",
    ),
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [str, int, bool])
def test_classifiers_encode_labels_themselves(kind):
    labels = {str: np.array(["no", "yes"]), int: np.array([-7, 12]), bool: np.array([False, True])}[kind][
        BINARY
    ]
    weights = dict(zip(np.unique(labels), [1.0, 3.0]))
    model = small(lgb.LGBMClassifier, class_weight=weights)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(X, labels)
    own = clone(model).fit(X, labels)
    np.testing.assert_array_equal(decomposer.classes_, own.classes_)
    np.testing.assert_allclose(total(decomposer, X)[:, 0], own.predict(X, raw_score=True), atol=SUMS)
    remover = FeatureRemover(model, [1], strength=0).fit(X, labels)
    np.testing.assert_array_equal(remover.predict(X), own.predict(X))
    np.testing.assert_array_equal(remover.predict_proba(X), own.predict_proba(X))


def test_watched_fits_in_pipelines_and_searches():
    names = np.array(["a", "b", "c"])[CLASSES]
    model = lgb.LGBMClassifier(**{**SMALL, "n_estimators": 50, "learning_rate": 0.9})
    half = np.arange(N) < N // 2
    decomposer = fit_watched(
        GlexDecomposer(model, max_interaction=None), X[half], names[half], X[~half], names[~half]
    )
    assert 0 < decomposer.estimator_.best_iteration_ < 50
    np.testing.assert_allclose(total(decomposer, X), raw(decomposer.estimator_, X), atol=SUMS)
    assert list(decomposer.classes_) == ["a", "b", "c"]
    prepare = make_pipeline(FunctionTransformer(np.arctan, feature_names_out="one-to-one"), small())
    piped = GlexDecomposer(prepare, max_interaction=None).fit(pd.DataFrame(X, columns=list("abcde")), SIGNAL)
    ours = total(piped, pd.DataFrame(X, columns=list("abcde")))[:, 0]
    np.testing.assert_allclose(
        ours, piped.estimator_.predict(pd.DataFrame(X, columns=list("abcde"))), atol=SUMS
    )
    search = GridSearchCV(FeatureRemover(small(), [0]), {"estimator__num_leaves": [2, 4]}, cv=2).fit(
        X, SIGNAL
    )
    assert np.isfinite(search.best_score_)
    encoded = make_pipeline(OrdinalEncoder(), small(lgb.LGBMClassifier))
    towns = FRAME[["town", "year"]].astype(str)
    remover = FeatureRemover(encoded, ["town"]).fit(towns, names)
    assert remover.predict_proba(towns[["year"]]).shape == (N, 3)


def test_rankers_take_groups():
    relevance = COUNTS.clip(0, 4).astype(int)
    decomposer = GlexDecomposer(small(lgb.LGBMRanker), max_interaction=None).fit(
        X, relevance, group=[40] * 10
    )
    np.testing.assert_allclose(total(decomposer, X)[:, 0], decomposer.estimator_.predict(X), atol=SUMS)
    remover = FeatureRemover(decomposer.estimator_, [0]).fit(X)
    assert remover.predict(X).shape == (N,)


def test_init_score_is_not_part_of_the_model():
    with pytest.warns(UserWarning, match="fitted with init_score"):
        decomposer = GlexDecomposer(small(), max_interaction=None).fit(X, SIGNAL, init_score=np.full(N, 5.0))
    np.testing.assert_allclose(total(decomposer, X)[:, 0], decomposer.estimator_.predict(X), atol=SUMS)


def test_dask_wrappers_are_read_as_their_local_models(model_of):
    pytest.importorskip("dask.distributed")
    local = model_of("regression")
    try:
        model = lgb.DaskLGBMRegressor(**local.get_params())
    except lgb.basic.LightGBMError:
        pytest.skip("this LightGBM does not know this Dask")
    model.__dict__.update({k: v for k, v in local.__dict__.items() if k != "client"})
    np.testing.assert_array_equal(decompose(model, prefit=True).transform(X), decompose(local).transform(X))
