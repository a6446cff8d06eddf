"""Compare every edit with a plain statement of it, cell by cell."""

from itertools import product

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.base import clone

from skglex import ComponentModel
from skglex.components import Edit
from tests.support.kept_models import coarse_model

MODEL, X, Y = coarse_model(0)
TERMS = [component.name for component in MODEL.components_]
CELLS = {name: MODEL.components_[name].values for name in TERMS}


def table(model, name):
    return model.components_[name].values


def unchanged(model, *names):
    """Return whether all other terms are as they were."""
    return all(np.array_equal(table(model, name), CELLS[name]) for name in TERMS if name not in names)


def shares(component, X):
    """Return the share of the rows in each cell of a component, and what a cell counts at least."""
    counts = np.zeros([axis.n_bins for axis in component.axes])
    for row in X:
        cell = []
        for axis in component.axes:
            x = row[int(axis.feature[1])]
            cell.append(axis.missing if np.isnan(x) else int(np.sum(axis.edges <= x)))
        counts[tuple(cell)] += 1 / len(X)
    return np.maximum(counts, 1e-3 / counts.size)


def test_scale_cap_and_round():
    scaled = MODEL.scale("x0:x1", -2.5)
    assert np.array_equal(table(scaled, "x0:x1"), -2.5 * CELLS["x0:x1"])
    assert unchanged(scaled, "x0:x1")
    capped = MODEL.cap("x0", -0.1, 0.2)
    assert np.array_equal(table(capped, "x0"), np.minimum(np.maximum(CELLS["x0"], -0.1), 0.2))
    assert unchanged(capped, "x0")
    rounded = MODEL.round_to("x1", 0.25)
    assert np.array_equal(table(rounded, "x1"), [0.25 * round(v / 0.25) for v in CELLS["x1"]])
    assert unchanged(rounded, "x1")
    everything = MODEL.round_to(step=0.1)
    for name in TERMS:
        # Multiples of 0.1 are the closest numbers to decimals of one digit.
        assert np.array_equal(table(everything, name), np.round(CELLS[name], 1))
    assert everything.intercept_ == round(MODEL.intercept_, 1)


def inside(axis, wanted):
    """Return the bins of an axis that have one of some values: numbers, None, or pairs of ends."""
    out = set()
    for item in wanted:
        ends = item if isinstance(item, tuple) else (item, item)
        if item is None:
            out.add(axis.missing)
        else:
            edges = [-np.inf, *axis.edges, np.inf]
            out |= {b for b in range(axis.missing) if edges[b] <= ends[1] and edges[b + 1] > ends[0]}
    return out


@pytest.mark.parametrize(
    "where",
    [
        None,
        {"x0": (1, 2)},
        {"x0": 3.0, "x1": None},
        {"x1": [0, 2, None]},
        {"x1": [(1, 2.5), 7], "x0": np.array([2.0, np.nan])},
    ],
)
def test_set(where):
    model = MODEL.set("x0:x1", 5, where)
    axes = MODEL.components_["x0:x1"].axes
    chosen = []
    for axis in axes:
        wanted = (where or {}).get(axis.feature, [None, (-np.inf, np.inf)])
        wanted = (
            [None if w != w else w for w in wanted] if isinstance(wanted, (list, np.ndarray)) else [wanted]
        )
        chosen.append(inside(axis, wanted))
    for cell in product(*(range(axis.n_bins) for axis in axes)):
        hit = all(b in bins for b, bins in zip(cell, chosen))
        assert table(model, "x0:x1")[cell] == (5 if hit else CELLS["x0:x1"][cell])
    assert unchanged(model, "x0:x1")


@pytest.mark.parametrize("strength", [0.0, 1.0, 300.0])
@pytest.mark.parametrize("name", ["x1", "x0:x1"])
def test_smooth(name, strength):
    """The gradient of the penalized sum of squares, written out, is zero; the weighted mean stays."""
    component = MODEL.components_[name]
    weight, before = shares(component, X), component.values
    after = table(MODEL.smooth(name, strength), name)
    gradient = weight * (after - before)
    for i, axis in enumerate(component.axes):
        for b in range(axis.missing - 1):
            low, high = ([slice(None)] * before.ndim for _ in range(2))
            low[i], high[i] = b, b + 1
            step = strength * weight.mean() * (after[tuple(high)] - after[tuple(low)])
            gradient[tuple(high)] += step
            gradient[tuple(low)] -= step
    # A linear system of a few cells.
    assert np.allclose(gradient, 0, atol=1e-12)
    assert np.isclose((weight * after).sum(), (weight * before).sum(), atol=1e-12)


def test_merge_levels():
    model = MODEL.merge_levels("x0", [(1, 2), None])
    for name in TERMS:
        component = MODEL.components_[name]
        if "x0" not in component.features:
            assert np.array_equal(table(model, name), CELLS[name])
            continue
        i = component.features.index("x0")
        bins = sorted(inside(component.axes[i], [(1, 2), None]))
        weight = np.moveaxis(shares(component, X), i, 0)
        before, after = (np.moveaxis(values, i, 0) for values in (CELLS[name], table(model, name)))
        mean = np.average(before[bins], axis=0, weights=weight[bins])
        for b in range(len(before)):
            assert np.allclose(after[b], mean if b in bins else before[b], atol=1e-15)


def test_categories():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 5, 300), rng.normal(size=300)])
    model = LGBMRegressor(n_estimators=5, max_depth=2, verbose=-1, min_child_samples=5, min_data_per_group=5)
    model.fit(rows, 2 * (rows[:, 0] % 3) + rows[:, 1] * (rows[:, 0] > 2), categorical_feature=[0])
    kept = ComponentModel(model).fit(rows)
    name = kept._fitted.feature_names[0]
    merged = kept.merge_levels(name, [1, 2])
    one, two = rows.copy(), rows.copy()
    one[:, 0], two[:, 0] = 1, 2
    # The two bins have the same mean, summed once.
    assert np.array_equal(merged.predict(one), merged.predict(two))
    assert not np.array_equal(kept.predict(one), kept.predict(two))
    with pytest.raises(ValueError, match=r"has no bin for the category 17 of .* It has bins for \[1, 2, 4\]"):
        kept.merge_levels(name, [17])
    assert np.ptp(kept.smooth(name, 5.0).components_[name].values - kept.components_[name].values) < 1e-12


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Edit("scale", "x0:x9", factor=1), r"there is no feature 'x9' \(in 'x0:x9'\)"),
        (
            Edit("scale", "x0", factor="big"),
            r"Edit\('scale', 'x0', factor='big'\): factor must be a finite number",
        ),
        (Edit("set", "x0", value=(1, 2)), "value must be a finite number, or a tuple of one per output"),
        (
            Edit("set", "x0", value=1, where={"x1": 2}),
            r"where names 'x1', but the features of 'x0' are \['x0'\]",
        ),
        (Edit("set", "x0", value=1, where={"x0": "red"}), "'x0' is numeric, so expected a number"),
        (Edit("set", "x0", value=1, where={"x0": (2, 1)}), "'x0' is numeric, so expected a number"),
        (Edit("cap", "x0"), "expected lower, upper, or both, and lower <= upper"),
        (Edit("cap", "x0", lower=1, upper=0), "lower <= upper"),
        (Edit("smooth", "x0", strength=-1), "strength must not be negative"),
        (Edit("round_to", step=0), "step must be positive"),
        (Edit("merge_levels", "height", levels=[1]), "unknown feature 'height'"),
    ],
)
def test_errors(edit, message):
    with pytest.raises(ValueError, match=message):
        clone(MODEL).set_params(edits=[edit], estimator=MODEL.estimator_).fit(X)


def test_absent_terms_are_named():
    few = ComponentModel(MODEL.estimator_, terms=["x0", "x1"]).fit(X)
    with pytest.raises(
        ValueError, match=r"there is no such term in the model\. The terms of the model are 'x0', 'x1'"
    ):
        few.smooth(("x0", "x1"))
    with pytest.raises(ValueError, match=r"no term of the model has the feature 'x2'\. .* are 'x0', 'x1'"):
        few.monotonize("x2")


def test_edits_are_values():
    edit = Edit("set", ["a", "b"], value=1, where={"a": [1, 2], "b": (0, 3)})
    assert edit == Edit("set", ("a", "b"), where={"b": (0, 3), "a": np.array([2, 1])}, value=np.int64(1))
    assert hash(edit) == hash(clone([edit], safe=False)[0])
    assert edit.values["value"] == 1
    assert (
        repr(Edit("merge_levels", "a", levels=["y", "x"])) == "Edit('merge_levels', 'a', levels=['x', 'y'])"
    )
    assert edit != Edit("set", ("a", "b"), value=2)
    with pytest.raises(AttributeError):
        edit.kind = "cap"
    for wrong, error in (
        (lambda: Edit("shrink", "a"), ValueError),
        (lambda: Edit("scale", "a"), TypeError),
        (lambda: Edit("scale", factor=2), TypeError),
        (lambda: Edit("cap", "a", factor=2), TypeError),
    ):
        with pytest.raises(error):
            wrong()
