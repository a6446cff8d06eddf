"""Compare accumulated local effects with a plain statement of their definition."""

import functools
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from lightgbm import LGBMRegressor
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier

from skglex import GlexDecomposer
from skglex.inspection import ale
from tests.support.oracles import model_margin

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3)).round(1)
X[:, 1] += X[:, 0]
Y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 1]) + X[:, 2]
X[RNG.random(X.shape) < 0.05] = np.nan
WEIGHT = RNG.integers(0, 4, size=150).astype(float)
MODEL = xgb.XGBRegressor(n_estimators=10, max_depth=3, n_jobs=1).fit(X, Y)
CLASSES = xgb.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1).fit(X, np.digitize(Y, [-0.5, 0.5]))


def quantile(x, weight, q):
    """Return the least value that at least the share q of the weight does not exceed."""
    order = np.argsort(x)
    return x[order][np.searchsorted(np.cumsum(weight[order]) / weight.sum(), q - 1e-12)]


def edges_of(x, weight, n):
    x, weight = x[weight > 0], weight[weight > 0]
    return np.unique([x.min(), *(quantile(x, weight, k / n) for k in range(1, n + 1))])


def moved(f, rows, j, value):
    """Return the margins of rows with another value of a feature."""
    rows = rows.copy()
    rows[:, j] = value
    return f(rows)


class Plain:
    """State the definition, one point and one bin after the other."""

    def __init__(self, f, rows, weight, features, edges):
        self.f, self.rows, self.weight, self.features, self.z = f, rows, weight, features, edges
        self.found = {}
        self.x = [rows[:, j] for j in features]
        self.bin = [np.maximum(np.searchsorted(z, x, side="left"), 1) for z, x in zip(edges, self.x)]

    def mean(self, values, of):
        return np.average(values, axis=0, weights=of)

    def uncentred(self, x):
        (j,), (z,), (cell,) = self.features, self.z, self.bin
        total, k = 0.0, 1
        while True:
            near = self.rows[cell == k]
            stop = min(x, z[k])
            difference = moved(self.f, near, j, stop) - moved(self.f, near, j, z[k - 1])
            total = total + self.mean(difference, self.weight[cell == k])
            if x <= z[k]:
                return total
            k += 1

    def first(self, points):
        self.uncentred = functools.cache(self.uncentred)
        constant = self.mean(np.array([self.uncentred(x) for x in self.x[0]]), self.weight)
        return np.array([self.uncentred(x) for x in points]) - constant

    def accumulated(self, x, y):
        (u, v), (a, b) = self.z, self.bin
        total = 0.0
        n_x, n_y = (max(np.searchsorted(z, at, side="left"), 1) for z, at in ((u, x), (v, y)))
        for k in range(1, n_x + 1):
            for m in range(1, n_y + 1):
                near = (a == k) & (b == m)
                if not near.any():
                    filled = np.array(sorted(set(zip(a, b))))
                    distance = ((filled - [k, m]) / [len(u) - 1, len(v) - 1]) ** 2
                    near = self.choose(filled, distance.sum(axis=1), k, m)
                corners = [
                    self.moved_to((at, to), near, k, m)
                    for at in (min(x, u[k]), u[k - 1])
                    for to in (min(y, v[m]), v[m - 1])
                ]
                total += corners[0] - corners[1] - corners[2] + corners[3]
        return total

    def moved_to(self, point, near, *rectangle):
        """Return the mean over some rows with both values replaced."""
        if (point, rectangle) not in self.found:
            rows = self.rows[near].copy()
            rows[:, self.features] = point
            self.found[point, rectangle] = self.mean(self.f(rows), self.weight[near])
        return self.found[point, rectangle]

    def choose(self, filled, distance, k, m):
        best = filled[np.isclose(distance, distance.min())]
        assert len(best) == 1, "the nearest rectangle must be unique in this test"
        return (self.bin[0] == best[0][0]) & (self.bin[1] == best[0][1])

    def second(self, points):
        h = {}

        def at(x, y):
            if (x, y) not in h:
                h[x, y] = self.accumulated(x, y)
            return h[x, y]

        def main(x, along):
            z, cell, others = self.z[along], self.bin[along], self.x[1 - along]
            total = 0.0
            for k in range(1, max(np.searchsorted(z, x, side="left"), 1) + 1):
                near = np.flatnonzero(cell == k)
                ends = [
                    [at(*((e, o) if along == 0 else (o, e))) for o in others[near]]
                    for e in (min(x, z[k]), z[k - 1])
                ]
                total += self.mean(np.subtract(*ends), self.weight[near])
            return total

        def pure(x, y):
            return at(x, y) - main(x, 0) - main(y, 1)

        constant = self.mean([pure(x, y) for x, y in zip(*self.x)], self.weight)
        return np.array([pure(x, y) for x, y in points]) - constant


def evaluate(result, *points):
    steps = [np.searchsorted(edges, x, side="right") for edges, x in zip(result.edges, points)]
    return result.effect[tuple(steps)]


@pytest.fixture(scope="module")
def decomposer():
    return GlexDecomposer(MODEL).fit(X)


@pytest.fixture(scope="module")
def leaf_margin(decomposer):
    """Return a function of rows: the sum of the leaves, which the tests of the reader compare with the model."""
    view = decomposer._explained
    return lambda rows: view.decomposition.margins(view.fitted.bins(rows, view.execution))[0]


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("bins", [1, 6, 40, np.array([-1.05, -0.3, 0.2, 1.5])])
def test_first_order(decomposer, leaf_margin, bins, weight):
    result = ale(decomposer, "x1", X, bins=bins, sample_weight=weight)
    w = np.ones(len(X)) if weight is None else weight
    kept = ~np.isnan(X[:, 1]) & (w > 0)
    assert result.n_missing == (np.isnan(X[:, 1]) & (w > 0)).sum()
    z = edges_of(X[kept, 1], w[kept], bins) if np.ndim(bins) == 0 else bins
    outside = kept & ((X[:, 1] < z[0]) | (X[:, 1] > z[-1]))
    assert result.n_outside == outside.sum()
    kept &= ~outside
    assert_allclose(result.bins[0], z)
    plain = Plain(leaf_margin, X[kept], w[kept], [1], [z])
    # Thresholds, the values right before them, the edges, and points between.
    points = np.concatenate(
        [result.edges[0], np.nextafter(result.edges[0], -np.inf), z, np.linspace(z[0], z[-1], 20)]
    )
    points = points[(points >= z[0]) & (points <= z[-1])]
    assert_allclose(evaluate(result, points), plain.first(points), atol=1e-10)
    assert_allclose(np.average(evaluate(result, X[kept, 1]), weights=w[kept]), 0, atol=1e-12)


@pytest.mark.parametrize("weight", [None, WEIGHT[80:150]])
@pytest.mark.parametrize("bins", [2, (4, np.array([-2.0, -1.2, 0.0, 3.0]))])
def test_second_order(decomposer, leaf_margin, bins, weight):
    rows = (2 * X[:70]).round() / 2
    result = ale(decomposer, ("x1", "x0"), rows, bins=bins, sample_weight=weight)
    assert result.features == ["x1", "x0"]
    w = np.ones(len(rows)) if weight is None else weight
    kept = ~np.isnan(rows[:, :2]).any(axis=1) & (w > 0)
    parts = bins if isinstance(bins, tuple) else (bins, bins)
    z = [edges_of(rows[kept, j], w[kept], n) if np.ndim(n) == 0 else n for j, n in zip((1, 0), parts)]
    for j, edges in zip((1, 0), z):
        kept &= ~((rows[:, j] < edges[0]) | (rows[:, j] > edges[-1]))
    plain = Plain(leaf_margin, rows[kept], w[kept], [1, 0], z)
    points = [(x, y) for x in z[0] for y in z[1]]
    points += list(map(tuple, RNG.uniform([e[0] for e in z], [e[-1] for e in z], (10, 2))))
    assert_allclose(evaluate(result, *np.array(points).T), plain.second(points), atol=1e-10)
    filled = set(zip(*plain.bin))
    assert result.n_empty == (len(z[0]) - 1) * (len(z[1]) - 1) - len(filled)
    assert result.n_empty > 0 or bins == 2


def test_background_is_the_default(decomposer):
    """The background lies in bins of the model, so the edges are thresholds; rows at them are the same."""
    fitted = GlexDecomposer(MODEL).fit(X, sample_weight=WEIGHT)
    for features in ("x1", ("x1", "x0")):
        binned = ale(fitted, features, bins=4)
        # The outermost edges of the bins of the background reach beyond all rows.
        given = tuple(np.clip(z, -1e9, 1e9) for z in binned.bins)
        exact = ale(fitted, features, X, bins=given if len(given) == 2 else given[0], sample_weight=WEIGHT)
        steps = [slice(None)] * exact.effect.ndim
        for i, (inner, outer) in enumerate(zip(binned.edges, exact.edges)):
            first = int(np.searchsorted(outer, inner[0])) if len(inner) else 0
            steps[i] = slice(first, first + len(inner) + 1)
        assert_allclose(exact.effect[tuple(steps)], binned.effect, atol=1e-12)
        assert (binned.n_missing, binned.n_outside) == (exact.n_missing, 0)
    edges = binned.bins[0][1:-1]
    some = np.concatenate([[-np.inf], edges, [np.inf]])
    assert_allclose(ale(fitted, "x1", bins=some).bins[0], some)
    with pytest.raises(ValueError, match=r"lies between two thresholds of the model.*Pass the rows X"):
        ale(decomposer, "x1", bins=[-3.0, (edges[0] + edges[1]) / 2 + 1e-3, 3.0])


def test_weighting_does_not_matter(decomposer):
    fitted = GlexDecomposer(MODEL, weighting="path_dependent").fit(X)
    for features in ("x1", (0, 1)):
        for rows in (None, X[:50]):
            assert_allclose(
                ale(fitted, features, rows).effect, ale(decomposer, features, rows).effect, atol=1e-12
            )
    without = GlexDecomposer(MODEL, weighting="path_dependent").fit()
    assert_allclose(ale(without, "x1", X).effect, ale(decomposer, "x1", X).effect, atol=1e-12)
    with pytest.raises(ValueError, match="needs rows"):
        ale(without, "x1")


def test_empty_bins_are_merged(decomposer):
    edges = np.array([-9.0, -8.0, -1.0, 0.33, 0.36, 9.0, 10.0, 11.0])
    result, merged = ale(decomposer, "x0", X, bins=edges), ale(decomposer, "x0", X, bins=[-9.0, -1, 0.33, 11])
    assert (result.n_empty, merged.n_empty) == (4, 0)
    assert_allclose(result.bins[0], merged.bins[0])
    assert_allclose(result.effect, merged.effect)


def test_several_outputs():
    fitted = GlexDecomposer(CLASSES).fit(X)
    first, second = ale(fitted, "x1", X), ale(fitted, ("x0", "x1"), X, bins=3)
    assert first.effect.shape == (len(first.edges[0]) + 1, 3)
    assert second.effect.shape == (*(len(edges) + 1 for edges in second.edges), 3)
    kept = ~np.isnan(X[:, 1])
    weight, z = np.ones(kept.sum()), first.bins[0][::4]
    for c in range(3):
        plain = Plain(lambda rows, c=c: model_margin(CLASSES, rows)[:, c], X[kept], weight, [1], [z])
        # The model's own margins are float32 sums, of which a curve adds up some ten differences.
        assert_allclose(evaluate(ale(fitted, "x1", X, bins=z), z)[:, c], plain.first(z), atol=1e-5)


COLOURS = ["red", "green", "blue", "grey"]
FRAME = pd.DataFrame(
    {"colour": pd.Categorical(RNG.choice(COLOURS, 150)).set_categories(COLOURS), "size": RNG.normal(size=150)}
)
FRAME.loc[:9, "colour"] = np.nan
BRIGHT = FRAME["colour"].isin(["red", "green"])
CATEGORICAL = {
    "xgboost": xgb.XGBRegressor(n_estimators=5, max_depth=3, enable_categorical=True, n_jobs=1),
    "lightgbm": LGBMRegressor(
        n_estimators=5, min_child_samples=5, min_data_per_group=1, cat_smooth=0, verbose=-1
    ),
}


@pytest.mark.parametrize("library", CATEGORICAL)
def test_categories(library):
    model = CATEGORICAL[library].fit(FRAME, FRAME["size"] * BRIGHT + (FRAME["colour"].cat.codes - 1.2) ** 2)
    fitted = GlexDecomposer(model).fit(FRAME)
    order = ["grey", "green", "blue"]
    result = ale(fitted, "colour", FRAME, order=order)
    assert list(result.edges[0]) == order
    assert result.n_missing == 10
    assert result.n_outside == (FRAME["colour"] == "red").sum()
    expected = [0.0]
    for lower, upper in pairwise(order):
        rows = FRAME[FRAME["colour"] == upper]
        down = rows.assign(colour=pd.Categorical([lower] * len(rows), categories=COLOURS))
        expected.append(expected[-1] + np.mean(model.predict(rows) - model.predict(down)))
    shares = [(FRAME["colour"] == colour).sum() for colour in order]
    expected -= np.average(expected, weights=shares)
    assert_allclose(result.effect, expected, atol=1e-5)  # means of float32 predictions
    if library == "xgboost":
        assert_allclose(ale(fitted, "colour", order=order).effect, result.effect, atol=1e-12)
    pair = ale(fitted, ("size", "colour"), FRAME, bins=5, order={"colour": order})
    assert pair.effect.shape == (len(pair.edges[0]) + 1, 3)
    assert np.abs(pair.effect).max() > 0.1
    swapped = ale(fitted, ("colour", "size"), FRAME, bins=5, order={"colour": order})
    assert_allclose(swapped.effect, pair.effect.T, atol=1e-12)
    for wrong, message in [
        (None, r"'colour' is categorical.*order=\[...\]"),
        (["red", "pink"], "order contains 'pink', but neither the model nor the rows"),
        (["red"], "at least two categories"),
        (["red", "red"], "each once"),
    ]:
        with pytest.raises(ValueError, match=message):
            ale(fitted, "colour", FRAME, order=wrong)
    with pytest.raises(ValueError, match="'size' is numeric"):
        ale(fitted, "size", FRAME, order=[1, 2])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda d: ale(d, "x1", bins=0), ValueError, "bins must be an integer of at least 1"),
        (lambda d: ale(d, "x1", X, bins=[1.0]), ValueError, "at least two increasing edges"),
        (lambda d: ale(d, "x1", X, bins=[1.0, 0.5]), ValueError, "at least two increasing edges"),
        (lambda d: ale(d, "x1", X, bins=2.5), ValueError, "bins must be an integer"),
        (lambda d: ale(d, "x1", X, bins=[50.0, 60.0]), ValueError, "no row is left"),
        (lambda d: ale(d, ("x0", "x1", "x2")), ValueError, "one feature, or a tuple of two"),
        (lambda d: ale(d, ("x0", "x0")), ValueError, "one feature, or a tuple of two"),
        (lambda d: ale(d, ("x0", "x1"), order=["a"]), ValueError, "order must be a dict"),
        (lambda d: ale(d, ("x0", "x1"), bins=(3, 3, 3)), ValueError, "one entry for each"),
        (lambda d: ale(d, "x9"), KeyError, "there is no feature 'x9'"),
        (lambda d: ale(d, "x0", sample_weight=WEIGHT), ValueError, "sample_weight was passed without X"),
        (lambda d: ale(MODEL, "x0"), TypeError, "expected a GlexDecomposer"),
        (
            lambda d: ale(GlexDecomposer(MODEL, feature_groups={"g": [0, 1]}).fit(X), "g"),
            ValueError,
            "'g' stands for the columns",
        ),
    ],
)
def test_bad_input(decomposer, call, error, message):
    with pytest.raises(error, match=message):
        call(decomposer)


def test_response():
    model = HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5).fit(X, Y > 0.2)
    fitted, rows = GlexDecomposer(model).fit(X), X[~np.isnan(X[:, :2]).any(axis=1)][:25]

    def plain(z):
        columns = [1, 0][: len(z)]
        return Plain(lambda rows: model.predict_proba(rows)[:, 1], rows, np.ones(len(rows)), columns, z)

    first = ale(fitted, "x1", rows, bins=6, scale="response")
    points = np.concatenate([first.edges[0][:4], first.bins[0]])
    points = points[(points >= first.bins[0][0]) & (points <= first.bins[0][-1])]
    assert_allclose(evaluate(first, points), plain(first.bins).first(points), atol=1e-12)
    second = ale(fitted, ("x1", "x0"), rows, bins=2, scale="response")
    points = [(x, y) for x in second.bins[0] for y in second.bins[1]]
    assert_allclose(evaluate(second, *np.array(points).T), plain(second.bins).second(points), atol=1e-12)
    by_class = ale(GlexDecomposer(CLASSES).fit(X), "x1", X, scale="response")
    assert by_class.effect.shape == (len(by_class.edges[0]) + 1, 3)
    assert_allclose(by_class.effect.sum(axis=1), 0, atol=1e-12)  # Probabilities add up to one.
    with pytest.raises(ValueError, match="weighting='path_dependent' does not have"):
        ale(GlexDecomposer(MODEL, weighting="path_dependent").fit(X), "x1", scale="response")
