"""Save components in the open format, and load them."""

import contextlib
import inspect
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skglex import GlexDecomposer
from skglex.exceptions import RemainderWarning
from skglex.export import load_components, save_components

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
FILLED = np.nan_to_num(X)
Y = FILLED[:, 0] * FILLED[:, 1] + FILLED[:, 2]
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(c=pd.Categorical(RNG.choice(list("xyz"), 300)))
MODEL = xgb.XGBRegressor(n_estimators=10, max_depth=3, n_jobs=1).fit(X, Y)
ODD = np.array([[np.inf] * 4, [-np.inf] * 4, [np.nan] * 4, [0.1] * 4, [1e300] * 4, [-0.0] * 4])


def stored(decomposer, tmp_path):
    path = tmp_path / "components.zip"
    save_components(decomposer, path)
    return load_components(path)


def as_transform(decomposer, X):
    """Return the result of `transform` without the remainder, with outputs in the last axis."""
    out = np.asarray(decomposer.transform(X))
    outputs = decomposer._n_outputs
    out = np.moveaxis(out.reshape(len(out), outputs, -1), 1, 2)[:, : len(decomposer.components_)]
    return out[..., 0] if outputs == 1 else out


# -- the open format ------------------------------------------------------------------------------


CLASSES = np.array(["low", "mid", "high"])[np.digitize(Y, [-0.5, 0.5])]


@pytest.mark.parametrize(
    ("decomposer", "rows"),
    [
        (GlexDecomposer(MODEL, max_interaction=None), X),
        (GlexDecomposer(MODEL, max_interaction=1), X),
        (GlexDecomposer(MODEL, feature_groups={"pair": ["x0", "x1"]}, max_interaction=None), X),
        (GlexDecomposer(xgb.XGBRegressor(n_estimators=5, missing=0.1).fit(X, Y), max_interaction=None), X),
        (
            GlexDecomposer(
                HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, Y), max_interaction=None
            ),
            X,
        ),
        (
            GlexDecomposer(
                IsolationForest(n_estimators=5, max_samples=30, random_state=0).fit(FILLED), max_interaction=2
            ),
            FILLED,
        ),
    ],
)
def test_stored_components(decomposer, rows, tmp_path):
    decomposer.fit(rows)
    loaded = stored(decomposer, tmp_path)
    refuses = isinstance(decomposer.estimator, IsolationForest)
    for given_rows in (rows, rows.astype(np.float32)) if refuses else (rows, rows.astype(np.float32), ODD):
        assert np.array_equal(loaded.evaluate(given_rows), as_transform(decomposer, given_rows))
    assert loaded.intercept_ == decomposer.intercept_
    assert np.array_equal(loaded.component_importances_, decomposer.component_importances_)
    assert loaded.feature_names == decomposer._fitted.feature_names
    for mine, theirs in zip(loaded.components_, decomposer.components_, strict=True):
        assert (mine.name, mine.features, mine.importance) == (
            theirs.name,
            theirs.features,
            theirs.importance,
        )
        assert np.array_equal(mine.values, theirs.values)
        assert all(np.array_equal(a, b) for a, b in zip(mine.edges, theirs.edges, strict=True))
        assert np.array_equal(mine.evaluate(rows), theirs.evaluate(rows))
    if loaded.complete:
        own = np.ravel(decomposer._fitted.source.margin(rows))
        assert loaded.margin(rows) == pytest.approx(
            own, abs=1e-5
        )  # XGBoost sums values of about 1 in float32.
    else:
        with pytest.warns(RemainderWarning, match=r"left components out.* hold \d+% of the variance"):
            margin = loaded.margin(rows)
        total = decomposer.intercept_ + loaded.evaluate(rows).sum(axis=1)
        assert margin == pytest.approx(total, abs=1e-12)


def test_stored_classes(tmp_path):
    decomposer = GlexDecomposer(
        xgb.XGBClassifier(n_estimators=4, max_depth=2), prefit=False, max_interaction=None
    ).fit(X, CLASSES)
    loaded = stored(decomposer, tmp_path)
    assert np.array_equal(loaded.evaluate(X), as_transform(decomposer, X))
    assert loaded.outputs == ["high", "low", "mid"]
    assert loaded.link == "softmax"
    assert loaded["x0"].values.shape[-1] == 3
    assert loaded.margin(X).argmax(axis=1).tolist() == decomposer.estimator_.predict(X).tolist()


@pytest.mark.skipif(xgb.__version__ < "3.1", reason="XGBoost before 3.1 keeps no categories")
def test_stored_categories(tmp_path):
    model = xgb.XGBRegressor(n_estimators=10, max_depth=3, enable_categorical=True).fit(FRAME, Y)
    decomposer = GlexDecomposer(model, max_interaction=None).fit(FRAME)
    loaded = stored(decomposer, tmp_path)
    other_order = FRAME.assign(c=FRAME["c"].cat.reorder_categories(["z", "x", "y"]))
    for frame in (FRAME, other_order):
        assert np.array_equal(loaded.evaluate(frame), as_transform(decomposer, FRAME))
    assert loaded["c"].axes[0].edges.tolist() == decomposer["c"].axes[0].edges.tolist()
    with pytest.raises(ValueError, match="in this order"):
        loaded.evaluate(FRAME[list("badc")])
    with pytest.raises(ValueError, match="X has 3 features"):
        loaded.evaluate(X[:, :3])


def test_stored_pipeline_is_after_the_preprocessing(tmp_path):
    pipeline = make_pipeline(StandardScaler(), xgb.XGBRegressor(n_estimators=5, max_depth=2)).fit(X, Y)
    decomposer = GlexDecomposer(pipeline, max_interaction=None).fit(X)
    assert np.array_equal(
        stored(decomposer, tmp_path).evaluate(pipeline[:-1].transform(X)), decomposer.transform(X)
    )


def own_categories():
    return HistGradientBoostingRegressor(max_iter=10, categorical_features=["c"], random_state=0)


def test_stored_categories_of_scikit_learn(tmp_path):
    with_none = FRAME.assign(c=FRAME["c"].astype(object).where(FRAME["a"] < 1, None))  # None is a category.
    for frame in (FRAME, with_none):
        decomposer = GlexDecomposer(own_categories().fit(frame, Y), max_interaction=None).fit(frame)
        assert np.array_equal(stored(decomposer, tmp_path).evaluate(frame), decomposer.transform(frame))


def test_catboosts_own_encoding_cannot_be_stored(tmp_path):
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor(
        iterations=20, cat_features=[2], one_hot_max_size=5, verbose=0, allow_writing_files=False
    )
    frame = FRAME.assign(c=FRAME["c"].astype(str))
    model.fit(frame, FILLED[:, 0] + 3 * (frame["c"] == "x"))
    decomposer = GlexDecomposer(model, max_interaction=None).fit(frame)
    with pytest.raises(ValueError, match=r"encodes the categories of 'c' itself.*OrdinalEncoder"):
        save_components(decomposer, tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_stored(tmp_path):
    dates = FRAME.assign(
        c=pd.Categorical(pd.to_datetime(FRAME["c"].map({"x": "2020", "y": "2021", "z": "2022"})))
    )
    decomposer = GlexDecomposer(own_categories().fit(FRAME, Y), max_interaction=None).fit(FRAME)
    decomposer._fitted.source.input.categories[2][0] = dates["c"].iloc[0]
    with pytest.raises(ValueError, match=r"category Timestamp.* cannot be stored"):
        save_components(decomposer, tmp_path / "file")
    with pytest.raises(TypeError, match="GlexDecomposer"):
        save_components(MODEL, tmp_path / "file")


def test_the_file_is_open(tmp_path):
    decomposer = GlexDecomposer(MODEL, max_interaction=1).fit(X)
    path = tmp_path / "components.zip"
    path.write_bytes(b"an older file")
    save_components(decomposer, path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["components.zip"]
    with np.load(path) as file:  # allow_pickle=False
        description = json.loads(file["components.json"])
        edges, n_edges, values = file["edges"], file["n_edges"], file["values"]
    # The documentation of the format suffices to read the file.
    x = np.float32(X[:, 0])
    n = n_edges[0]
    bins = np.where(np.isnan(x), n + 1, np.searchsorted(edges[:n], x, side="right"))
    assert description["components"][0] == {"name": "x0", "features": ["x0"], "columns": [0]}
    assert np.array_equal(values[: n + 2][bins], decomposer.transform(X)[:, 0])


def test_no_code_on_load():
    from skglex.export import _file_check, _store, _stored_components

    text = "".join(map(inspect.getsource, (_file_check, _store, _stored_components)))
    assert not any(word in text for word in ("import pickle", "allow_pickle=True", "eval(", "exec("))


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def write_members(path, content, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in content.items():
            file.writestr(name, data)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "components.zip"
    frame = pd.DataFrame(FILLED, columns=list("abcd")).assign(c=RNG.integers(0, 3, 300))
    model = xgb.XGBRegressor(
        n_estimators=3, max_depth=2, enable_categorical=True, feature_types=["q", "q", "c", "q"]
    ).fit(frame.to_numpy(), Y)
    save_components(GlexDecomposer(model, max_interaction=None).fit(frame.to_numpy()), path)
    return path


def test_versions_of_the_format(good, tmp_path):
    content = members(good)
    description = json.loads(content["components.json"])
    path = tmp_path / "file"
    for changed, message in [
        ({"schema": 2, "version": "9.1"}, r"written by skglex 9\.1 \(schema 2\).*Load it with skglex 9\.1"),
        ({"schema": None}, "no schema number"),
        ({"format": "other"}, "does not have the format"),
    ]:
        write_members(path, {**content, "components.json": json.dumps({**description, **changed})})
        with pytest.raises(ValueError, match=message):
            load_components(path)
    write_members(path, content, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="compressed"):
        load_components(path)
    with pytest.raises(FileNotFoundError):
        load_components(tmp_path / "nothing")


FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def loads_or_raises(path):
    """Require that a damaged file raises a ValueError or gives numbers."""
    with contextlib.suppress(ValueError):
        loaded = load_components(path)
        assert len(loaded.evaluate(FILLED)) == len(
            FILLED
        )  # This may raise, too: the category may be unknown.


@FUZZ
@given(data=st.data())
def test_fuzzed_bytes(good, tmp_path, data):
    content = bytearray(good.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content
    path = tmp_path / "file"
    path.write_bytes(bytes(content))
    loads_or_raises(path)


@FUZZ
@given(data=st.data())
def test_fuzzed_members(good, tmp_path, data):
    """Damage the members of the zip, so that the checksums are right."""
    content = members(good)
    name = data.draw(st.sampled_from(sorted(content)))
    changed = bytearray(content[name])
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "file"
    write_members(path, {**content, name: bytes(changed)})
    loads_or_raises(path)


def places(value, path=()):
    """Yield the paths to all parts of a JSON value."""
    yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.lists(st.integers(-2, 5), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)


@FUZZ
@given(data=st.data())
def test_fuzzed_description(good, tmp_path, data):
    content = members(good)
    description = json.loads(content["components.json"])
    *path, last = data.draw(st.sampled_from([p for p in places(description) if p]))
    target = description
    for key in path:
        target = target[key]
    if data.draw(st.booleans()):
        target[last] = data.draw(JUNK)
    else:
        del target[last]
    file = tmp_path / "file"
    write_members(file, {**content, "components.json": json.dumps(description)})
    loads_or_raises(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["components"][0].update(columns=[1]), "columns are those of its features"),
        (
            lambda d: d["components"][1].update(name=d["components"][0]["name"]),
            "no two components have the same name",
        ),
        (
            lambda d: d["components"].__setitem__(1, d["components"][0]),
            "no two components have the same name",
        ),
        (lambda d: d.update(link="probit"), "the name of an inverse link"),
        (lambda d: d.update(link="sigmoid two"), "the name of an inverse link"),
    ],
)
def test_contradictions(tmp_path, change, message):
    model = xgb.XGBRegressor(n_estimators=3, max_depth=2).fit(FILLED, FILLED[:, 0] - FILLED[:, 1])
    save_components(GlexDecomposer(model, max_interaction=None).fit(FILLED), tmp_path / "good")
    content = members(tmp_path / "good")
    description = json.loads(content["components.json"])
    change(description)
    file = tmp_path / "file"
    write_members(file, {**content, "components.json": json.dumps(description)})
    with pytest.raises(ValueError, match=message):
        load_components(file)


def test_values_that_are_not_finite_are_damage(good, tmp_path):
    content, file = members(good), tmp_path / "file"
    values = content["values.npy"]
    write_members(file, {**content, "values.npy": values[:-8] + np.array([np.nan]).tobytes()})
    with pytest.raises(ValueError, match="values are finite"):
        load_components(file)


@FUZZ
@given(junk=st.binary(max_size=200))
def test_junk(tmp_path, junk):
    path = tmp_path / "file"
    path.write_bytes(junk)
    with pytest.raises(ValueError, match="cannot load components"):
        load_components(path)


@pytest.mark.parametrize("name", ["x.json", "x.pkl", "x.joblib", "x.csv", "x.JSON"])
def test_suffixes_of_other_formats_are_refused(name, tmp_path):
    decomposer = GlexDecomposer(MODEL, max_interaction=1).fit(X)
    with pytest.raises(
        ValueError, match=r"writes a zip of arrays and JSON. Use the suffix '.zip', as in 'x.zip'"
    ):
        save_components(decomposer, tmp_path / name)
    assert not list(tmp_path.iterdir())
    for allowed in ("x", "x.zip", "x.npz"):
        save_components(decomposer, tmp_path / allowed)


def test_huge_shapes_are_refused(good, tmp_path):
    """A header with a huge shape allocates nothing."""
    content = members(good)
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 60,)}
    np.lib.format.write_array_header_1_0(file, header)
    write_members(tmp_path / "file", {**content, "values.npy": file.getvalue()})
    with pytest.raises(ValueError, match="values has 0 bytes"):
        load_components(tmp_path / "file")


@pytest.mark.parametrize("depth", [1, 2])
def test_a_group_called_as_one_of_its_columns(tmp_path, depth):
    """A component of the group may use only its other columns."""
    frame = pd.DataFrame(FILLED, columns=["hr", "hr_sin", "temp", "hum"])
    model = xgb.XGBRegressor(n_estimators=5, max_depth=depth)
    model.fit(frame, frame["hr_sin"] * frame["temp"] + frame["hr_sin"] + frame["hum"])
    decomposer = GlexDecomposer(model, feature_groups={"hr": ["hr", "hr_sin"]}, max_interaction=None).fit(
        frame
    )
    save_components(decomposer, tmp_path / "file")
    stored = load_components(tmp_path / "file")
    np.testing.assert_array_equal(stored.evaluate(frame), decomposer.transform(frame))
