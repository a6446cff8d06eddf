"""Read categories, and "no value" among them, as the model's own predict does, in every container."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor, VotingRegressor
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBRegressor

from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestRegressor
from tests.support.small_models import newer_xgboost

# Histogram boosting adds up float64 in the order of its trees, we in the order of the leaves.
EXACT = 1e-12
# XGBoost adds up ten leaf values of about 1 in float32.
FLOAT32 = 1e-5

RNG = np.random.default_rng(5)
N = 240
CODE, ABSENT, Z = RNG.integers(0, 5, N), RNG.random(N) < 0.2, RNG.normal(size=N).round(1)
Y = np.where(ABSENT, 2.5 * Z, np.where(CODE % 2 == 0, Z, -Z)) + CODE
LEVELS = [f"k{code}" for code in range(5)]


def column(value, no_value):
    """Return a list of values with "no value" in a fifth of the rows."""
    return [no_value if absent else value(code) for absent, code in zip(ABSENT, CODE)]


def pandas(values, dtype):
    return pd.DataFrame({"d": pd.Series(values, dtype=dtype), "z": Z})


def polars(values, dtype=None):
    return pl.DataFrame({"d": pl.Series(values, dtype=dtype), "z": Z})


def array(values):
    return np.array(list(zip(values, Z)), dtype=object)


NAMES, NAN_NAMES = column(LEVELS.__getitem__, None), column(LEVELS.__getitem__, np.nan)
COUNTS, SIGNS, DAYS = (
    column(int, None),
    column(lambda code: bool(code % 2), None),
    column(lambda code: pd.Timestamp(2020, 1, code + 1), None),
)
CONTAINERS = {
    "strings": {
        "pandas category": pandas(NAMES, "category"),
        "pandas category of strings with NA": pandas(pd.Series(NAMES, dtype="string"), "category"),
        "pandas objects with None": pandas(NAMES, object),
        "pandas objects with NaN": pandas(NAN_NAMES, object),
        "pandas objects with NA": pandas(column(LEVELS.__getitem__, pd.NA), object),
        "pandas objects with NaT": pandas(column(LEVELS.__getitem__, pd.NaT), object),
        "pandas objects with None and NaN": pandas([*NAMES[:120], *NAN_NAMES[120:]], object),
        "pandas strings": pandas(NAMES, "string"),
        "pandas dictionary": pandas(pd.arrays.ArrowExtensionArray(pa.array(NAMES).dictionary_encode()), None),
        "polars Enum": polars(NAMES, pl.Enum(LEVELS)),
        "polars Categorical": polars(NAMES, pl.Categorical),
        "polars String": polars(NAMES),
        "array with None": array(NAMES),
        "array with NaN": array(NAN_NAMES),
    },
    "numbers": {
        "pandas Int64": pandas(COUNTS, "Int64"),
        "pandas float": pandas(COUNTS, float),
        "pandas objects": pandas(COUNTS, object),
        "pandas category": pandas(COUNTS, "category"),
        "pandas arrow": pandas(COUNTS, "int64[pyarrow]"),
        "polars Int": polars(COUNTS),
        "polars Float": polars(column(float, None)),
        "array of float": np.column_stack([column(float, np.nan), Z]),
        "array with None": array(COUNTS),
    },
    "booleans": {
        "pandas boolean": pandas(SIGNS, "boolean"),
        "pandas objects": pandas(SIGNS, object),
        "polars Boolean": polars(SIGNS),
    },
    "dates": {
        "pandas microseconds": pandas(DAYS, "datetime64[us]"),
        "pandas nanoseconds": pandas(DAYS, "datetime64[ns]"),
        "pandas objects": pandas(DAYS, object),
        "polars Datetime": polars(DAYS),
    },
}


def hist_boosting():
    return HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5, categorical_features=[0])


def fitted(model, frame):
    """Return the fitted model, or None if it does not accept this container."""
    try:
        return model.fit(frame, Y)
    except Exception:  # Each library raises errors of its own kinds.
        return None


def prediction(model, frame):
    """Return what the model itself predicts, or None if it does not accept this container."""
    try:
        return model.predict(frame)
    except Exception:  # Each library raises errors of its own kinds.
        return None


def check_sums(model, frame, tolerance):
    """Compare sums of components, of absent values and others, with what the model itself predicts."""
    decomposer = GlexDecomposer(model).fit(frame)
    sums = decomposer.intercept_ + decomposer.transform(frame).sum(axis=1)
    np.testing.assert_allclose(sums, model.predict(frame), rtol=0, atol=tolerance)


@pytest.mark.filterwarnings("ignore:X (does not have|has) (valid )?feature names")
@pytest.mark.parametrize("kind", CONTAINERS)
def test_no_value_among_categories_of_histogram_boosting(kind):
    """scikit-learn gives None a code of its own, but takes NaN as missing; some containers turn None into NaN."""
    trained = {name: fitted(hist_boosting(), frame) for name, frame in CONTAINERS[kind].items()}
    models = {name: model for name, model in trained.items() if model is not None}
    assert len(models) > 2
    compared = 0
    for model in models.values():
        for frame in CONTAINERS[kind].values():
            if prediction(model, frame) is not None:
                check_sums(model, frame, EXACT)
                compared += 1
    assert compared > 2 * len(models)


@pytest.mark.parametrize(
    "name", ["polars Enum", "polars Categorical", "polars String", "pandas objects with None"]
)
def test_null_is_a_category_of_its_own(name):
    frame = CONTAINERS["strings"][name]
    model = hist_boosting().fit(frame, Y)
    take = frame.__getitem__ if name.startswith("polars") else frame.iloc.__getitem__
    background, nulls = take(np.flatnonzero(~ABSENT)), take(np.flatnonzero(ABSENT)[:10])
    decomposer = GlexDecomposer(model).fit(background)  # No row of it has a null.

    def brute_force(**values):
        changed = background.to_pandas() if name.startswith("polars") else background
        changed = changed.assign(
            d=pd.Series([None] * len(changed), dtype=object, index=changed.index), **values
        )
        if name.startswith("polars"):
            changed = pl.from_pandas(changed).with_columns(d=pl.lit(None, dtype=frame.schema["d"]))
        return model.predict(changed).mean()

    at_null = brute_force()
    assert decomposer.partial_dependence("d", nulls) == pytest.approx(at_null, abs=EXACT)
    assert decomposer["d"].evaluate(nulls) == pytest.approx(at_null - decomposer.intercept_, abs=EXACT)
    both = np.array([brute_force(z=z) for z in np.asarray(nulls["z"])])
    assert FeatureRemover(model, "z").fit(background).predict(nulls) == pytest.approx(at_null, abs=EXACT)
    assert decomposer.partial_dependence(["d", "z"], nulls) == pytest.approx(both, abs=EXACT)
    assert None in decomposer.feature_axis("d").edges.tolist()


# CatBoost accepts no container with missing categories.
MODELS = {
    "xgboost": lambda: XGBRegressor(n_estimators=10, max_depth=3, enable_categorical=True, n_jobs=1),
    "lightgbm": lambda: LGBMRegressor(
        n_estimators=10, min_child_samples=3, min_data_per_group=1, verbose=-1, n_jobs=1
    ),
    "planted": lambda: RandomPlantedForestRegressor(n_estimators=3, random_state=0),
    "voting": lambda: VotingRegressor(
        [("a", hist_boosting()), ("b", hist_boosting().set_params(max_iter=3))]
    ),
}
ENDS_THE_PROCESS = {"lightgbm": "polars"}  # LightGBM does so for polars columns that are not numeric.


@newer_xgboost
@pytest.mark.parametrize("kind", ["strings", "numbers", "booleans"])
@pytest.mark.parametrize("library", MODELS)
def test_no_value_among_categories(library, kind):
    compared = 0
    for name, frame in CONTAINERS[kind].items():
        if name.startswith(ENDS_THE_PROCESS.get(library, "-")) or (library, name[:5]) == ("voting", "array"):
            continue
        model = fitted(MODELS[library](), frame)
        if model is not None:
            check_sums(model, frame, EXACT if library in ("planted", "voting") else FLOAT32)
            compared += 1
    assert compared > 0


OLD_POLARS = tuple(int(part) for part in pl.__version__.split(".")[:2]) < (1, 10)
NUMBERS = [Decimal(str(v)) if i % 3 else int(v * 10) for i, v in enumerate(Z)]
OBJECTS = {
    "objects": lambda: pd.DataFrame({"d": pd.Series(NUMBERS, dtype=object), "z": Z}),
    "booleans and None": lambda: pandas(SIGNS, object),
    "arrow decimals": lambda: pd.DataFrame(
        {"d": pd.Series([Decimal(str(v)) for v in Z], dtype=pd.ArrowDtype(pa.decimal128(5, 1))), "z": Z}
    ),
    "polars objects": lambda: pl.DataFrame(
        {"d": pl.Series([float(v) for v in NUMBERS], dtype=pl.Object), "z": Z}
    ),
    "polars decimals": lambda: pl.DataFrame({"d": pl.Series([Decimal(str(v)) for v in Z]), "z": Z}),
    "array": lambda: np.array(list(zip(NUMBERS, Z)), dtype=object),
    "list of mixed rows": lambda: [[number, z] for number, z in zip(NUMBERS, Z.tolist())],
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_that_are_numbers(kind):
    if OLD_POLARS and kind.startswith("polars"):
        pytest.skip("before 1.10 polars does not hand objects and decimals to scikit-learn")
    frame = OBJECTS[kind]()
    models = [
        RandomForestRegressor(3, max_depth=4, random_state=0),
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5),
        RandomPlantedForestRegressor(n_estimators=3, random_state=0),
        VotingRegressor([("tree", DecisionTreeRegressor(max_depth=4))]),
        CatBoostRegressor(iterations=5, silent=True, allow_writing_files=False),
    ]
    for model in models[: 4 if kind.startswith("polars") else 5]:
        check_sums(model.fit(frame, Y), frame, EXACT)


@pytest.mark.skipif(OLD_POLARS, reason="the oldest pandas and polars convert dates to numbers")
def test_text_and_dates_are_no_numbers():
    # Columns that no split uses are not read, so every split has to use this one.
    model = DecisionTreeRegressor(max_depth=3).fit(pd.DataFrame({"d": Z, "z": np.zeros(N)}), Y)
    for values in (Z.astype(str), pd.date_range("2020", periods=N), pd.to_timedelta(np.arange(N), unit="s")):
        with pytest.raises(
            ValueError, match=r"could not convert column 'd' of dtype .* Convert it to numbers"
        ):
            GlexDecomposer(model).fit(pd.DataFrame({"d": values, "z": Z}))
    with pytest.raises(ValueError, match="could not convert column 'd' of dtype Date to float"):
        GlexDecomposer(model).fit(pl.DataFrame({"d": pl.Series([date(2020, 1, 1)] * N), "z": Z}))
