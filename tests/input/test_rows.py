"""Accept rows in every container, read-only ones too, and fill the removed columns of any with the row of any other."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import xgboost
from numpy.testing import assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestClassifier, RandomPlantedForestRegressor
from tests.support.small_models import newer_xgboost, small

RNG = np.random.default_rng(0)
N = 60
# These quarters are the same numbers in float32, and none is 0, which XGBoost takes as missing in sparse matrices.
X = (2 * RNG.integers(-8, 9, size=(N, 3)) + 1) / 4
Y = X[:, 0] * X[:, 1] + X[:, 2]
LETTERS = np.array(list("uvwx"))[np.digitize(X[:, 0], [-2, 0, 2])]
FRAME = pd.DataFrame(X, columns=list("abc"))


def read_only(X):
    """Return X with all of its arrays read-only."""
    if isinstance(X, pd.DataFrame):
        for block in X._mgr.blocks:
            if isinstance(block.values, np.ndarray):
                block.values.setflags(write=False)
    else:
        for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
            array.setflags(write=False)
    return X


READ_ONLY = {
    "array": read_only(X.copy()),
    "F-ordered array": read_only(np.asfortranarray(X)),
    "every other column": read_only(np.repeat(X, 2, axis=1))[:, ::2],
    "float32 array": read_only(X.astype(np.float32)),
    "array of objects": read_only(X.astype(object)),
    "array in a buffer": np.frombuffer(X.tobytes()).reshape(X.shape),
    "sparse matrix": read_only(sp.csr_matrix(X)),
    "sparse array": read_only(sp.csc_array(X)),
    "pandas": read_only(FRAME.copy()),
    "copy-on-write slice of pandas": pd.concat([FRAME, FRAME], axis=1).iloc[:, 3:],
    "pandas column": read_only(FRAME[["a"]]),
    "nullable pandas column": FRAME[["a"]].astype("Float64"),
    "pandas categories": pd.DataFrame({"a": pd.Categorical(LETTERS)}),
    "pandas categories and numbers": read_only(FRAME.assign(a=pd.Categorical(LETTERS))),
    "polars": pl.DataFrame(X, schema=list("abc")),
    "polars column": pl.DataFrame({"a": X[:, 0]}),
}
CATEGORIES = ("pandas categories", "pandas categories and numbers")
MODELS = {
    "xgboost": lambda: small(enable_categorical=True),
    "forest": lambda: RandomForestRegressor(3, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=3),
    "planted": lambda: RandomPlantedForestRegressor(n_estimators=2, n_splits=5, random_state=0),
    "planted classes": lambda: RandomPlantedForestClassifier(n_estimators=2, n_splits=5, random_state=0),
}


@newer_xgboost
@pytest.mark.filterwarnings("ignore:all features are removed")
@pytest.mark.parametrize("container", READ_ONLY)
@pytest.mark.parametrize("name", MODELS)
def test_read_only_rows(name, container):
    rows, model = READ_ONLY[container], MODELS[name]()
    if sp.issparse(rows) and name.startswith(("planted", "hist")):
        pytest.skip("the model accepts no sparse rows")
    if container in CATEGORIES and name == "forest":
        pytest.skip("the model accepts no strings")
    target = read_only((Y > 0).astype(int) if name == "planted classes" else Y.copy())
    weight = read_only(np.linspace(1, 2, N))
    model.fit(rows, target, sample_weight=weight)
    decomposer = GlexDecomposer(model).fit(rows, sample_weight=weight)
    sums = decomposer.intercept_ + decomposer.shap_values(rows).sum(axis=1)
    expected = model.decision_function(rows) if name == "planted classes" else model.predict(rows)
    np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-5)  # XGBoost adds up in float32.
    assert decomposer.transform(rows).shape[0] == N
    for strength in (1, 0.5):
        remover = FeatureRemover(model, [0], strength=strength).fit(rows, sample_weight=weight)
        assert len(remover.predict(rows)) == N
    GlexDecomposer(model, prefit=False).fit(rows, target, sample_weight=weight)


CONTAINERS = {
    "array": X,
    "list": X.tolist(),
    "float32": X.astype(np.float32),
    "objects": X.astype(object),
    "sparse matrix": sp.csr_matrix(X),
    "sparse array": sp.csc_array(X),
    "pandas": FRAME,
    "polars": pl.DataFrame(X, schema=list("abc")),
}
REFUSED = {  # scipy has no sparse matrices of objects, and XGBoost wants the names of a sparse array.
    ("pipeline", "objects", "sparse matrix"),
    ("pipeline", "objects", "sparse array"),
}


@newer_xgboost
@pytest.mark.filterwarnings("ignore:X (does not have|has) (valid )?feature names")
@pytest.mark.parametrize("name", ["xgboost", "forest", "pipeline"])
def test_removed_columns_across_containers(name):
    """The background row that replaces removed columns comes from the container of fit, X from another."""
    model = MODELS[name]() if name in MODELS else make_pipeline(SimpleImputer(), small())
    model.fit(X, Y)
    expected = FeatureRemover(model, [1]).fit(X).predict(X)
    for fitted_on, background in CONTAINERS.items():
        remover = FeatureRemover(model, [1]).fit(background)
        for given, rows in CONTAINERS.items():
            if (name, fitted_on, given) not in REFUSED:
                assert_array_equal(remover.predict(rows), expected, err_msg=f"{fitted_on}, {given}")


@newer_xgboost
def test_absent_columns_across_libraries_of_frames():
    polars = pl.from_pandas(FRAME)
    model = small().fit(FRAME, Y)
    expected = FeatureRemover(model, "b").fit(FRAME).predict(FRAME)
    assert_array_equal(FeatureRemover(model, "b").fit(FRAME).predict(polars.drop("b")), expected)
    assert_array_equal(FeatureRemover(model, "b").fit(polars).predict(FRAME.drop(columns="b")), expected)


DATA_SETS = {
    "DMatrix": lambda: xgboost.DMatrix(X),
    "Dataset": lambda: lightgbm.Dataset(X),
    "Pool": lambda: catboost.Pool(X),
}


@pytest.mark.parametrize("kind", DATA_SETS)
def test_data_sets_of_libraries_are_no_rows(kind):
    model = small().fit(X, Y)
    data = DATA_SETS[kind]()
    for call in (
        GlexDecomposer(model).fit,
        GlexDecomposer(make_pipeline(SimpleImputer(), small()).fit(X, Y)).fit,
        GlexDecomposer(model).fit(X).transform,
        FeatureRemover(model, [0]).fit(X).predict,
        RandomPlantedForestRegressor(2).fit(X, Y).predict,
    ):
        with pytest.raises(TypeError, match=f"X is a {kind} of .* Pass the array or the data frame"):
            call(data)


BIG_ENDIAN = {
    "array": lambda: (X.astype(">f8"), X),
    "integers": lambda: ((X * 4).astype(">i4"), (X * 4).astype(int)),
    "pandas": lambda: (FRAME.assign(a=FRAME["a"].to_numpy().astype(">f8")), FRAME),
}


@pytest.mark.parametrize("kind", BIG_ENDIAN)
def test_big_endian_numbers(kind):
    """XGBoost itself misreads them, and pandas cannot take rows of such columns."""
    rows, native = BIG_ENDIAN[kind]()
    for model in (small(), RandomForestRegressor(3, random_state=0)):
        model.fit(native, Y)
        with pytest.warns(UserWarning, match="are converted to the byte order of this machine"):
            decomposer = GlexDecomposer(model).fit(rows)
        with pytest.warns(UserWarning, match=r"XGBoost reads such numbers wrongly.*newbyteorder"):
            columns = decomposer.transform(rows)
        assert_array_equal(columns, GlexDecomposer(model).fit(native).transform(native))
    with pytest.warns(UserWarning, match="byte order"):
        refitted = GlexDecomposer(small(), prefit=False).fit(native, Y.astype(">f8"))
    expected = GlexDecomposer(small().fit(native, Y)).fit(native)
    assert_array_equal(refitted.transform(native), expected.transform(native))
