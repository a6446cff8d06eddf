"""Read the tables as a user would: the cell of a row by its intervals and names, then sums or products."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose

from skglex import ComponentModel, GlexDecomposer
from skglex._input import LARGEST_ZERO
from skglex.components import OTHER
from skglex.export import load_components, save_components, to_tables
from tests.export.shipped_models import ESTIMATORS, N_ROWS, SIGNAL, X, fit, shipped

# The points are summed in another order than in the package.
SUMS = {"rtol": 0, "atol": 1e-9}
COUNTED = ("points", "relativity", "share")


def cells_along(labels, column, model):
    """Return the position among the distinct labels of an axis of every value; None and NaN are missing."""
    labels = list(labels)
    missing = next(i for i, label in enumerate(labels) if label != label)
    column = np.asarray(column, dtype=object)
    if OTHER not in labels:
        edges = np.array([label.left for label in labels[1:missing]])
        numbers = column.astype(float)
        absent = np.isnan(numbers)
        spec = model._fitted.source.input
        if spec.missing_zeros:
            absent |= np.abs(numbers) <= LARGEST_ZERO
        absent |= numbers.astype(np.float32) == np.float32(spec.missing)
        return np.where(absent, missing, np.searchsorted(edges, numbers, side="right"))
    position = {label: i for i, label in enumerate(labels) if label == label}
    return np.array([missing if x is None or x != x else position.get(x, position[OTHER]) for x in column])


def distinct(column):
    return column[~column.map(lambda label: str(label)).duplicated()].tolist()


def look_up(table, rows, names, model):
    """Return the numbers of every row, of shape (n_rows, n_outputs)."""
    features = [name for name in table if not str(name).endswith(COUNTED)]
    labels = [distinct(table[name]) for name in features]
    columns = [rows.iloc[:, names.index(name)] for name in features]
    cell = np.ravel_multi_index(
        [cells_along(axis, column, model) for axis, column in zip(labels, columns)], [len(a) for a in labels]
    )
    values = table[[c for c in table if str(c).endswith(COUNTED[:2])]].to_numpy()
    assert len(values) == np.prod([len(axis) for axis in labels])
    return values[cell]


def as_named(model, rows):
    """Return rows as the tables name them: categories by name, unseen ones as the model takes them, codes as whole."""
    spec = model._fitted.source.input
    frame = pd.DataFrame(rows).copy()
    grid = model._kept.grid
    for j, feature in enumerate(grid.features.tolist()):
        if not grid.categorical[j]:
            continue
        if feature in spec.categories:
            known = spec.categories[feature].tolist()
            values = frame.iloc[:, feature].astype(object)
            frame.isetitem(feature, values.where(values.isin(known), None))
        else:
            codes = np.asarray(frame.iloc[:, feature], dtype=float)
            codes = np.trunc(codes) if spec.truncates_codes else np.where(codes < 0, -1, np.floor(codes))
            frame.isetitem(feature, codes)
    return frame


@pytest.mark.parametrize("name", ESTIMATORS)
def test_points_add_up(name):
    model, rows, margin = shipped(name)
    tables = to_tables(model)
    names, frame = model._fitted.feature_names, as_named(model, rows)
    total = tables["(intercept)"].to_numpy() + np.zeros((N_ROWS, 1))
    assert list(tables)[1:] == [term.name for term in model._kept.terms]
    for key in list(tables)[1:]:
        total = total + look_up(tables[key], frame, names, model)
        assert tables[key]["share"].sum() == pytest.approx(1)
    assert_allclose(total, margin, **SUMS)


def test_relativities_multiply():
    model, rows, _ = shipped("counts")
    tables = to_tables(model, scale="relativities")
    product = tables["(intercept)"]["relativity"].item()
    for key in list(tables)[1:]:
        product = product * look_up(tables[key], pd.DataFrame(rows), model._fitted.feature_names, model)[:, 0]
    assert_allclose(product, model.predict(rows), rtol=1e-12)
    with pytest.raises(ValueError, match="the inverse link of this model is 'identity'"):
        to_tables(fit("codes"), scale="relativities")
    with pytest.raises(ValueError, match="scale must be 'points' or 'relativities'; got 'odds'"):
        to_tables(model, scale="odds")


def test_shares_are_those_of_the_background():
    model = fit("counts", terms=["x0", ("x0", "x1")], n_terms=None)
    for key, table in list(to_tables(model).items())[1:]:
        features = key.split(":")
        inside = np.ones((len(table), len(X)), dtype=bool)
        for feature in features:
            x = X[:, int(feature[1:])]
            inside &= np.array(
                [
                    np.isnan(x) if cell != cell else (x >= cell.left) & (x < cell.right)
                    for cell in table[feature]
                ]
            )
        assert_allclose(table["share"], inside.mean(axis=1), rtol=1e-12)


def test_equal_neighbours_are_one_bin():
    model = fit("counts", terms=["x0"], n_terms=None).round_to("x0", step=0.5)
    table = to_tables(model)["x0"]
    assert (np.diff(table["points"][:-1]) != 0).all()
    assert len(table) < model._kept.terms[0].axes[0].n_bins


def test_stored_components_know_the_shares_of_single_features(tmp_path):
    model = xgb.XGBRegressor(n_estimators=4, max_depth=2).fit(X, SIGNAL)
    decomposer = GlexDecomposer(model).fit(X)
    save_components(decomposer, tmp_path / "components.zip")
    ours, theirs = to_tables(load_components(tmp_path / "components.zip")), to_tables(decomposer)
    assert list(ours) == list(theirs)
    for key, table in ours.items():
        assert ("share" in table) == (key != "(intercept)" and ":" not in key)
        pd.testing.assert_frame_equal(table, theirs[key][table.columns])


def test_a_remainder_has_no_tables():
    deep = xgb.XGBRegressor(n_estimators=5, max_depth=4).fit(X, SIGNAL)
    with pytest.raises(
        ValueError, match=r"to_tables writes tables of components, but \d+\.\d\d% of the variance"
    ):
        to_tables(GlexDecomposer(deep, max_interaction=1).fit(X))
    shallow = xgb.XGBRegressor(n_estimators=5, max_depth=2).fit(X, SIGNAL)
    whole = ComponentModel(shallow, remainder=True, drop=["x0"]).fit(X)
    assert "x0" not in to_tables(whole)
