"""Export removers as ONNX: sparse rows, the type of the input, and what the file says of itself."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor, VotingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skglex import FeatureRemover, RandomPlantedForestRegressor

RNG = np.random.default_rng(0)
N = 600
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(40, 10, N).round(),
        "sex": RNG.choice(["Female", "Male"], N),
        "job": RNG.choice(list("abcde"), N),
    }
)
Y = ((FRAME["age"] > 40).to_numpy() ^ (FRAME["sex"] == "Male").to_numpy()) | (FRAME["job"] == "c").to_numpy()
DENSE = RNG.normal(size=(N, 4)) * (RNG.random((N, 4)) < 0.5)
TARGET = DENSE[:, 0] + DENSE[:, 1] * DENSE[:, 2]
XGBOOST = {"n_estimators": 10, "max_depth": 4}
# onnxruntime adds up trees in float64, and rounds the sum to float32.
FLOAT32 = {"rtol": 2e-6, "atol": 2e-6}


def encoder():
    return make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(), ["sex", "job"]), sparse_threshold=1
    )


def properties(exported):
    return {entry.key: json.loads(entry.value) for entry in exported.metadata_props}


def test_pipeline_of_sparse_columns(run_onnx):
    """XGBoost takes what a sparse matrix leaves out as missing, so a zero of the dense input has to be missing too."""
    pipeline = make_pipeline(encoder(), xgb.XGBClassifier(**XGBOOST)).fit(FRAME, Y)
    Z = pipeline[:-1].transform(FRAME)
    assert sp.issparse(Z)
    remover = FeatureRemover(pipeline, "job").fit(FRAME)
    exported = remover.to_onnx()
    for rows in (
        Z.toarray(),
        np.where(Z.toarray() == 0, -0.0, Z.toarray()),
        np.where(Z.toarray() == 0, np.nan, Z.toarray()),
    ):
        found = run_onnx(exported, rows)
        assert_allclose(found["margin"].ravel(), remover.margin(FRAME), **FLOAT32)
        assert_array_equal(found["label"], remover.predict(FRAME))
    # Taken as numbers, the zeros make a difference.
    assert (
        np.abs(
            remover.margin(FRAME) - FeatureRemover(pipeline[-1], [3]).fit(Z.toarray()).margin(Z.toarray())
        ).max()
        > 0.1
    )
    assert properties(exported)["zero_is_missing"] is True
    assert "Zero and NaN are missing" in exported.doc_string
    single = remover.to_onnx(input_dtype=np.float32)
    assert_allclose(
        run_onnx(single, Z.toarray().astype(np.float32))["margin"].ravel(), remover.margin(FRAME), **FLOAT32
    )


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("make", [xgb.XGBRegressor, LGBMRegressor, RandomForestRegressor, CatBoostRegressor])
def test_model_of_sparse_rows(make, container, run_onnx):
    """The exported model makes of the dense form of the rows what the remover makes of the sparse form."""
    quiet = {LGBMRegressor: {"verbose": -1}, CatBoostRegressor: {"verbose": 0, "allow_writing_files": False}}
    # CatBoost and LightGBM take no sparse arrays.
    rows, model = container(DENSE), make(n_estimators=5, **quiet.get(make, {}))
    model.fit(sp.csr_matrix(DENSE), TARGET)
    remover = FeatureRemover(model, [0]).fit(rows)
    exported = remover.to_onnx()
    assert_allclose(
        run_onnx(exported, DENSE)["variable"].ravel(), remover.predict(rows), rtol=1e-5, atol=1e-6
    )
    assert properties(exported)["zero_is_missing"] is (make is xgb.XGBRegressor)


def test_tiny_numbers_are_no_zeros(run_onnx):
    """XGBoost casts stored entries to float32, in which tiny numbers are 0, but not missing."""
    model = xgb.XGBRegressor(**XGBOOST).fit(sp.csr_matrix(DENSE), TARGET)
    rows = np.where(DENSE == 0, 1e-60, DENSE)
    remover = FeatureRemover(model, [3]).fit(sp.csr_matrix(DENSE))
    assert_allclose(
        run_onnx(remover.to_onnx(), rows)["variable"].ravel(), remover.predict(sp.csr_matrix(rows)), **FLOAT32
    )


@pytest.mark.parametrize(
    ("model", "allowed"),
    [
        (xgb.XGBRegressor(**XGBOOST), True),
        (RandomForestRegressor(n_estimators=5), True),
        (CatBoostRegressor(iterations=5, verbose=0, allow_writing_files=False), True),
        (LGBMRegressor(n_estimators=5, verbose=-1), False),
        (HistGradientBoostingRegressor(max_iter=5), False),
        (RandomPlantedForestRegressor(3), False),
        (VotingRegressor([("forest", RandomForestRegressor(n_estimators=3))]), False),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_float32_input(model, allowed, run_onnx):
    """Sines of the hour lie on thresholds: rounding them changes what a model predicts that compares in float64."""
    hour = RNG.integers(24, size=N)
    rows = np.column_stack([np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24), RNG.normal(size=N)])
    remover = FeatureRemover(model.fit(rows, (hour == 8) + rows[:, 2]), [2]).fit(rows)
    assert_allclose(run_onnx(remover.to_onnx(), rows)["variable"].ravel(), remover.predict(rows), **FLOAT32)
    if not allowed:
        with pytest.raises(ValueError, match=r"compares in float64.*input_dtype=numpy.float64"):
            remover.to_onnx(input_dtype=np.float32)
        return
    found = run_onnx(remover.to_onnx(input_dtype=np.float32), rows.astype(np.float32))
    assert_allclose(found["variable"].ravel(), remover.predict(rows), **FLOAT32)


def test_what_the_file_says():
    onnx = pytest.importorskip("onnx")
    pipeline = make_pipeline(encoder(), xgb.XGBClassifier(**XGBOOST)).fit(FRAME, Y)
    remover = FeatureRemover(pipeline, "sex", strength=0.5).fit(FRAME)
    exported = onnx.load_model_from_string(remover.to_onnx().SerializeToString())
    found = properties(exported)
    assert found == {
        "feature_names": pipeline[:-1].get_feature_names_out().tolist(),
        "removed_features": ["onehotencoder__sex_Female", "onehotencoder__sex_Male"],
        "categories": {},
        "preprocessing": ["ColumnTransformer"],
        "zero_is_missing": True,
    }
    assert exported.doc_string.startswith(
        "XGBClassifier without the effects of onehotencoder__sex_Female, onehot"
    )
    assert "after the preprocessing (ColumnTransformer), which is not included" in exported.doc_string
    assert "no effect" not in exported.doc_string  # With strength < 1 the removed columns matter.
    assert exported.producer_version


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "scikit-learn"])
def test_categories_in_the_file(library, run_onnx):
    """With the categories by code, a reader of the file can code rows as it expects."""
    frame = FRAME.assign(job=pd.Categorical(FRAME["job"], categories=list("edcba")), sex=FRAME["age"])
    model = {
        "xgboost": lambda: xgb.XGBRegressor(**XGBOOST, enable_categorical=True),
        "lightgbm": lambda: LGBMRegressor(n_estimators=10, verbose=-1, min_data_per_group=1, cat_smooth=0),
        "scikit-learn": lambda: HistGradientBoostingRegressor(max_iter=10, categorical_features=["job"]),
    }[library]()
    model.fit(frame, FRAME["age"] * (FRAME["job"] == "b") + FRAME["job"].isin(["c", "e"]))
    remover = FeatureRemover(model, "sex").fit(frame)
    exported = remover.to_onnx()
    codes = properties(exported)["categories"].get("job")
    if codes is None:
        pytest.skip("XGBoost before 3.1 keeps no categories")
    rows = frame.assign(job=frame["job"].map(codes.index).astype(float)).to_numpy()
    assert_allclose(
        run_onnx(exported, rows)["variable"].ravel(), remover.predict(frame), rtol=1e-5, atol=1e-5
    )
