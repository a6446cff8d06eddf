"""Boosters and ONNX models of tables, and their trees, agree with the tables."""

import numpy as np
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose
from sklearn.ensemble import GradientBoostingRegressor

from skglex import ComponentModel, GlexDecomposer, RandomPlantedForestRegressor
from skglex._kept import Term
from skglex._leaves import Grid
from skglex.components import Axis
from skglex.export import load_components, save_components, to_onnx, to_xgboost
from skglex.export._term_trees import trees_of_terms
from tests.export.shipped_models import (
    ESTIMATORS,
    F_SIGNAL,
    FRAME,
    IN_FRAME,
    SIGNAL,
    Z,
    as_codes,
    fit,
    shipped,
    training_rows,
)


def next_to_a_threshold(rows, grid):
    """Return which rows have a number that is not equal to a threshold, but has the same float32."""
    near = np.zeros(len(rows), dtype=bool)
    for j in np.flatnonzero(~grid.categorical):
        x, cuts = rows[:, grid.features[j]], grid.cuts_of(j)
        with np.errstate(over="ignore"):
            near |= np.isin(x.astype(np.float32), cuts.astype(np.float32)) & ~np.isin(x, cuts)
    return near


NO_OBJECTIVE = ("zeros", "forest", "isolation")


def assert_float32_close(actual, expected):
    """The values of some ten leaves are rounded to float32, and added in float32 by XGBoost."""
    assert_allclose(actual, expected, rtol=0, atol=2e-6 * max(1, np.abs(expected).max()))


def read_tree(forest, splits, root, bins, grid):
    """Walk one tree for every combination of bins, given per used feature."""
    out = []
    for row in bins:
        node = root
        while forest.left[node] >= 0:
            number = forest.split[node]
            j, members = splits.used_feature[number], splits.members[number]
            last = grid.n_bins[j] - 1
            if members is not None:
                left = members[row[j]] != 0
            elif row[j] == last:
                left = splits.missing_left[number]
            else:
                left = row[j] < splits.cut[number]
            node = forest.left[node] if left else forest.right[node]
        out.append(forest.value[node])
    return np.array(out)


@pytest.mark.parametrize("kind", ["random", "only missing", "equal", "rounded"])
def test_every_cell(kind):
    """The tree of a table has its value in every cell: of numbers, of a category, and of missing ones."""
    rng = np.random.default_rng(0)
    grid = Grid.from_cuts(
        np.array([0, 2]),
        [np.arange(5.0), np.array([1, 3, 4])],
        np.array([False, True]),
        less_equal=False,
        as_float32=False,
    )
    # The table does not change at the second and the fourth threshold.
    axes = (
        Axis("a", np.array([0.0, 2.0, 4.0]), False, 4),
        Axis("c", np.array([1, 3, 4]), True, 4),
    )
    values = rng.normal(size=(5, 5, 2))
    if kind == "only missing":
        values[:] = values[:1, :1]
        values[-1], values[:, -1] = 7, 8
    elif kind == "equal":
        values[:] = 3
    elif kind == "rounded":
        values = values.round()
    forest, splits = trees_of_terms([Term((0, 1), "a:c", (0, 2), axes, values)], grid)
    bins = np.array(list(np.ndindex(7, 5)))
    cell = np.array([0, 1, 1, 2, 2, 3, 4])[bins[:, 0]]
    expected = values[cell, bins[:, 1]]
    assert_allclose(read_tree(forest, splits, forest.roots[0], bins, grid), expected, rtol=0, atol=0)
    assert len(forest.left) == 1 or kind != "equal"


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in NO_OBJECTIVE])
def test_booster(name):
    model, rows, margin = shipped(name)
    booster = to_xgboost(model)
    exact = model._kept.grid.as_float32
    if not (exact and name in IN_FRAME):
        rows = as_codes(model, rows)
    if not exact:
        same = ~next_to_a_threshold(rows, model._kept.grid)
        assert same.mean() > 0.1
        rows, margin = rows[same], margin[same]
    missing = -999 if name == "sentinel" else np.nan
    found = booster.inplace_predict(rows, predict_type="margin", missing=missing, validate_features=False)
    assert_float32_close(np.reshape(found, margin.shape), margin)
    assert booster.num_boosted_rounds() == 1 + len(model._kept.terms)


def test_booster_of_a_frame_is_a_drop_in(tmp_path):
    """Names, types and categories are those of the model, after saving too; so are the links."""
    for name in ("xgboost", "classes", "counts", "binary"):
        model, rows, _ = shipped(name)
        to_xgboost(model).save_model(tmp_path / "booster.ubj")
        booster = xgb.Booster(model_file=tmp_path / "booster.ubj")
        if name != "binary":
            original = model.estimator_.get_booster()
            assert booster.feature_names == original.feature_names
            assert booster.feature_types == original.feature_types
        expected = model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)
        if name == "binary":
            rows = rows[~next_to_a_threshold(rows, model._kept.grid)]
            expected = model.predict_proba(rows)[:, 1]
        rows = rows[7:]  # A DMatrix refuses infinite numbers.
        finite = np.isfinite(np.asarray(rows, dtype=float)) if name == "counts" else None
        rows = np.where(finite | np.isnan(rows), rows, 0.0) if finite is not None else rows
        expected = model.predict(rows) if finite is not None else expected[7:]
        data = xgb.DMatrix(
            rows.replace([np.inf, -np.inf], np.nan) if hasattr(rows, "replace") else rows,
            enable_categorical=True,
        )
        assert_allclose(booster.predict(data), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_onnx(name, run_onnx):
    model, rows, margin = shipped(name)
    result = run_onnx(to_onnx(model), as_codes(model, rows))
    assert_float32_close(result["margin"], margin)
    if hasattr(model, "classes_"):
        assert_allclose(result["probabilities"], model.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize("name", ["xgboost", "classes", "outputs", "planted", "lightgbm"])
def test_remainder_is_written_as_trees(name, run_onnx):
    """A model with edits and a dropped interaction, which keeps what has no table."""
    if name == "planted":
        forest = RandomPlantedForestRegressor(3, n_splits=6, random_state=0, max_interaction=3).fit(Z, SIGNAL)
        model, rows = ComponentModel(forest, remainder=True, drop=[(0, 1)]).fit(Z), Z
    else:
        model, rows = fit(name, n_terms=None, remainder=True, drop=[(0, 1)]), training_rows(name)
    model = model.scale(model._kept.terms[0].name, 2.0)
    margin = model.margin(rows).reshape(len(rows), -1)
    assert_float32_close(run_onnx(to_onnx(model), as_codes(model, rows))["margin"], margin)
    if name == "lightgbm":
        return
    booster = to_xgboost(model)
    found = booster.inplace_predict(rows, predict_type="margin", validate_features=False)
    assert_float32_close(np.reshape(found, margin.shape), margin)


def test_decomposers_and_stored_components(tmp_path, run_onnx):
    model = xgb.XGBRegressor(n_estimators=4, max_depth=2).fit(FRAME[["age", "flag"]], F_SIGNAL)
    rows = FRAME[["age", "flag"]].astype(float)
    decomposer = GlexDecomposer(model).fit(rows)
    save_components(decomposer, tmp_path / "components.zip")
    for source in (decomposer, load_components(tmp_path / "components.zip")):
        booster = to_xgboost(source)
        assert booster.feature_names == ["age", "flag"]
        assert_float32_close(booster.predict(xgb.DMatrix(rows)), model.predict(rows))
        found = run_onnx(to_onnx(source), rows.to_numpy())["variable"][:, 0]
        assert_float32_close(found, model.predict(rows))


def test_metadata(run_onnx):
    import json

    model = fit("xgboost")
    metadata = {entry.key: json.loads(entry.value) for entry in to_onnx(model).metadata_props}
    assert metadata["components"] == [term.name for term in model._kept.terms]
    assert metadata["feature_names"] == list(FRAME)
    assert metadata["categories"] == {"job": list("uvwxyz")}


def test_what_has_no_booster():
    with pytest.raises(ValueError, match="the model treats zeros as missing"):
        to_xgboost(fit("zeros"))
    for name in ("forest", "isolation"):
        with pytest.raises(ValueError, match="XGBoost has no objective with the inverse link"):
            to_xgboost(fit(name))
    deep = GradientBoostingRegressor(n_estimators=3, max_depth=4).fit(Z, SIGNAL)
    for write in (to_xgboost, to_onnx):
        with pytest.raises(
            ValueError, match=r"ComponentModel\(\.\.\., remainder=True\), which write the remainder"
        ):
            write(GlexDecomposer(deep).fit(Z))
