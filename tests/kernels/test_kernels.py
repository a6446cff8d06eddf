"""The kernels beside plain NumPy statements of the same; none is left out.

Those over trees and leaves are in `test_leaf_kernels.py`, those of the random planted forest in
`planted/kernels`, those that take splits out of trees in `export/test_debiased_forest.py`.
"""

import re
from itertools import combinations
from math import factorial
from pathlib import Path

import numpy as np
import pytest

from skglex._kernels.arguments import (
    Axes,
    Conditions,
    Events,
    Paths,
    PlayerArrays,
    RankedSubsets,
    TableLayout,
)
from skglex._kernels.bitsets import add_near_misses
from skglex._kernels.coalitions import ranked_from_ratios, signed_weights, sum_ranked_subsets
from skglex._kernels.component_tables import condition_events, mean_absolute
from skglex._kernels.patterns import BLOCK, violations
from skglex._kernels.reasons import pick_largest
from skglex._kernels.shapley import shapley_pairs, shapley_values
from skglex._kernels.subsets import (
    binomials,
    count_members,
    distinct_patterns,
    first_members,
    next_members,
    subset_rank,
    sum_over_subsets,
)
from skglex._leaves import Background, Grid
from skglex._leaves._weighting import subset_ranks

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
pytestmark = pytest.mark.plain


CUTS = {
    "one": [0.5],
    "few": [-1.5, 0.0, 0.1, 0.3],
    "many": np.unique(RNG.normal(size=500)),
    "close to one end": np.concatenate([np.linspace(0, 1e-6, 50), [1e6]]),
    "neighbours": [1.0, np.nextafter(np.float32(1), np.float32(2)), 2.0],
    "denormal": [0.0, 1e-45, 3e-45],
    "huge": [-3e38, 0.0, 3e38],
    "infinite": [-np.inf, 0.0, 1.0, np.inf],
}


@pytest.mark.parametrize("less_equal", [False, True])
@pytest.mark.parametrize("as_float32", [False, True])
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
def test_bins(cuts, less_equal, as_float32):
    """`fill_buckets` and `bin_columns`."""
    cuts = np.asarray(cuts, dtype=np.float32).astype(np.float64)
    values = np.concatenate(
        [RNG.normal(size=200), RNG.uniform(-4e38, 4e38, 50), [np.inf, -np.inf, -0.0, np.nan]]
    )
    beside = np.concatenate([np.nextafter(cuts, -np.inf), cuts, np.nextafter(cuts, np.inf), values])
    with np.errstate(over="ignore"):
        x = beside.astype(np.float32).astype(float) if as_float32 else beside
    goes_right = x[:, None] > cuts if less_equal else x[:, None] >= cuts
    expected = np.where(np.isnan(x), len(cuts) + 1, goes_right.sum(axis=1))
    grid = Grid(np.array([0]), cuts, np.array([0, len(cuts)]), np.array([False]), less_equal, as_float32)
    assert np.array_equal(grid.bin(beside[None])[0], expected)


def test_bins_of_categories():
    codes = np.array([2.0, 5.0, 7.0])
    given = np.array([2, 5, 7, 5.9, -0.5, -1, 3, 1e9, np.inf, np.nan, 8, 0])
    grid = Grid(np.array([0]), codes, np.array([0, 3]), np.array([True]), False, True)
    assert grid.bin(given[None])[0].tolist() == [0, 1, 2, 1, 3, 3, 3, 3, 3, 4, 3, 3]


def some_conditions():
    """Intervals with and without missing, an empty one, and a set of categories, on one feature of 7 bins."""
    none = np.iinfo(np.uint16).max
    lo, hi = np.array([0, 2, 2, 3, 0], np.uint16), np.array([4, 6, 5, 3, 0], np.uint16)
    missing = np.array([none, 6, 6, none, none], np.uint16)
    mask = np.array([-1, -1, -1, -1, 0], np.int32)
    inside = np.array(
        [[1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0, 1], [0] * 7, [1, 0, 1, 1, 0, 0, 1]],
        bool,
    )
    masks = inside[4].astype(np.uint8)
    return Conditions(np.zeros(5, np.int32), lo, hi, missing, mask, masks), inside


def test_mean_absolute():
    """Two outputs of a table over 3 x 2 cells, at 1,500 rows of which the bins 0..3 and 0..1 are given."""
    bins = np.stack([RNG.integers(0, 4, size=1500), RNG.integers(0, 2, size=1500)]).astype(np.uint16)
    weight, tables = RNG.random(1500), RNG.normal(size=13)
    maps = np.array([0, 1, 1, 2, 0, 1], np.int32)
    layout = TableLayout(
        axes=Axes(ptr=np.array([0, 2]), feature=np.array([0, 1])),
        size=np.array([3, 2]),
        stride=np.array([2, 1]),
        map_ptr=np.array([0, 4]),
        maps=maps,
        table_ptr=np.array([1]),
        n_cells=np.array([6]),
    )
    out = np.empty((1, 2))
    mean_absolute(bins, weight, layout, tables, np.array([0]), out)
    values = tables[1:].reshape(2, 3, 2)[:, maps[bins[0]], bins[1]]
    assert np.allclose(out[0], np.average(np.abs(values), axis=1, weights=weight), atol=1e-12)


def test_violations_and_events():
    conditions, inside = some_conditions()
    bins = RNG.integers(0, 7, size=(1, 500)).astype(np.uint16)
    ids, bits = np.array([4, 1, 0, 2, 3], np.int32), np.arange(5, dtype=np.uint8)
    pattern = np.empty(BLOCK, np.uint16)
    violations(bins, 100, 300, conditions, ids, bits, 0, 5, pattern)
    expected = sum((~inside[c][bins[0, 100:300]]).astype(int) << bit for bit, c in enumerate(ids))
    assert np.array_equal(pattern[:200], expected)

    events = Events(np.empty(6, np.int64), np.empty(40, np.int32), np.empty(40, np.int8))
    assert condition_events(conditions, np.array([7]), events) == events.ptr[5]
    for c in range(5):
        corners, of_condition = np.zeros(8), slice(events.ptr[c], events.ptr[c + 1])
        np.add.at(corners, events.bin[of_condition], events.sign[of_condition])
        assert np.array_equal(np.cumsum(corners)[:7], inside[c])


def test_distinct_patterns():
    table = np.full(4 * BLOCK, -1, np.int64)
    number, distinct = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
    for high in (3, 2**63):
        pattern = RNG.integers(0, high, size=BLOCK, dtype=np.uint64)
        n = distinct_patterns(pattern, BLOCK, table, number, distinct)
        assert n == len(np.unique(pattern))
        assert np.array_equal(distinct[number], pattern)
        assert (table == -1).all()


def test_sum_over_subsets():
    f = RNG.normal(size=16)
    expected = [sum(f[b] for b in range(16) if b & a == b) for a in range(16)]
    sum_over_subsets(f, 4)
    assert np.allclose(f, expected, atol=1e-12)


def payments(weight, met, k):
    """Return what the leaf pays to every coalition of its players."""
    return {t: weight[t] if t & met == t else 0.0 for t in range(1 << k)}


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_shapley(k):
    weight = RNG.random(1 << k)
    n_bits = np.array([bin(t).count("1") for t in range(1 << k)])
    assert np.array_equal(count_members(k), n_bits)
    values, pairs = np.empty((k, 1 << k)), np.empty((k * (k - 1) // 2, 1 << k))
    shapley_values(weight, k, n_bits, values)
    shapley_pairs(weight, k, n_bits, pairs)
    for violated in range(1 << k):
        v = payments(weight, (1 << k) - 1 - violated, k)
        for i in range(k):
            expected = sum(
                factorial(n_bits[t]) * factorial(k - 1 - n_bits[t]) / factorial(k) * (v[t | 1 << i] - v[t])
                for t in v
                if not t >> i & 1
            )
            assert np.isclose(values[i, violated], expected, atol=1e-12)
        for c, (i, j) in enumerate(combinations(range(k), 2)):
            expected = sum(
                factorial(n_bits[t])
                * factorial(k - 2 - n_bits[t])
                / factorial(k - 1)
                * (v[t | 1 << i | 1 << j] - v[t | 1 << i] - v[t | 1 << j] + v[t])
                for t in v
                if not (t >> i & 1 or t >> j & 1)
            )
            assert np.isclose(pairs[c, violated], expected / 2, atol=1e-12)


@pytest.mark.parametrize("max_order", [0, 1, 3, 6])
def test_ranks(max_order):
    k = 6
    choose, offset = binomials(k)
    masks = sorted(
        (t for t in range(1 << k) if bin(t).count("1") <= max_order), key=lambda t: (bin(t).count("1"), t)
    )
    assert [subset_rank(np.uint64(t), choose, offset) for t in masks] == list(range(len(masks)))
    for n in range(max_order + 1):
        members = np.empty(n + 1, np.int64)
        first_members(members, n)
        for t in [t for t in masks if t.bit_count() == n]:
            assert members[:n].tolist() == [i for i in range(k) if t >> i & 1]
            more = next_members(members, n, k)
        assert not more

    # Each feature of the only leaf has one condition.
    paths = Paths(np.array([0, k]), np.arange(k, dtype=np.int32))
    players = PlayerArrays(np.arange(k, dtype=np.uint8), np.arange(k, dtype=np.int32), np.array([k]))
    ratio = RNG.random(k)
    out = np.empty(len(masks))
    wanted = RankedSubsets(np.array([0]), np.array([0]), len(masks), max_order)
    ranked_from_ratios(paths, ratio, players, wanted, out)
    expected = [np.prod([ratio[i] for i in range(k) if not t >> i & 1]) for t in masks]
    assert np.allclose(out, expected, atol=1e-15)
    largest = masks[-1]
    members = np.flatnonzero([largest >> i & 1 for i in range(k)])
    n = len(members)
    signed = np.empty(1 << n)
    signed_weights(out, members, n, True, choose, offset, signed)
    for v in range(1 << n):
        of_leaf = sum(1 << int(members[i]) for i in range(n) if v >> i & 1)
        assert signed[v] == (-1) ** (n - v.bit_count()) * out[masks.index(of_leaf)]


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("max_order", [0, 1, 3, 6])
def test_ranked_shares_of_the_background(max_order, equal):
    """Six players, one of two features: intervals, missing values, a set of categories."""
    n_bins = np.array([5, 4, 3, 6, 2, 7, 4])
    none = np.iinfo(np.uint16).max
    conditions = Conditions(
        feature=np.arange(7, dtype=np.int32),
        lo=np.array([1, 0, 0, 2, 0, 3, 0], np.uint16),
        hi=np.array([3, 2, 2, 2, 1, 6, 0], np.uint16),
        missing=np.array([4, none, none, 5, none, 6, none], np.uint16),
        mask=np.array([-1, -1, -1, -1, -1, -1, 0], np.int32),
        masks=np.array([1, 0, 1, 1], np.uint8),
    )
    players = PlayerArrays(np.array([0, 1, 2, 3, 4, 5, 1], np.uint8), np.zeros(7, np.int32), np.array([6]))
    bins = np.array([RNG.integers(0, n, 3000) for n in n_bins], np.uint16)
    met = np.empty((7, 3000), bool)
    for c in range(7):
        met[c] = (conditions.lo[c] <= bins[c]) & (bins[c] < conditions.hi[c]) | (
            bins[c] == conditions.missing[c]
        )
    met[6] = conditions.masks[bins[6]] == 1
    met[1] &= met[6]
    weight = np.full(3000, 0.3) if equal else RNG.random(3000)
    masks = sorted((t for t in range(64) if t.bit_count() <= max_order), key=lambda t: (t.bit_count(), t))
    expected = [
        weight[met[[i for i in range(6) if not t >> i & 1]].all(axis=0)].sum() / weight.sum() for t in masks
    ]
    back = Background(bins, weight)
    out = np.zeros(len(masks))
    paths, ranks = Paths(np.array([0, 7]), np.arange(7, dtype=np.int32)), subset_ranks(6)
    wanted = RankedSubsets(np.array([0]), np.array([0]), len(masks), max_order)
    for block in back.bit_sets(n_bins):
        add_near_misses(block, conditions, paths, players, wanted, ranks, out)
    sum_ranked_subsets(players, wanted, ranks, back.total, out)
    # The 3,000 weights are summed in another order.
    assert np.allclose(out, expected, rtol=0, atol=1e-12)


KERNELS = [
    kernel
    for folder, decorator in (("_kernels", "kernel"), ("_planted/_kernels", "kernel|helper|inlined"))
    for path in sorted((ROOT / "skglex" / folder).glob("[a-z]*.py"))
    for kernel in re.findall(rf"(?m)^@(?:{decorator})\ndef ([a-z]\w*)", path.read_text(encoding="utf-8"))
]
TESTS = [ROOT / "tests" / "export" / "test_debiased_forest.py"]
TESTS += [
    path
    for folder in ("kernels", "leaves", "mixed_rows", "planted")
    for path in (ROOT / "tests" / folder).rglob("*.py")
]


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_has_a_plain_statement(kernel):
    """By its name in the test that has it."""
    assert any(re.search(rf"\b{kernel}\b", path.read_text(encoding="utf-8")) for path in TESTS)


@pytest.mark.parametrize("k", [1, 3, 9])
def test_largest_values(k):
    """`pick_largest`: values that differ by rounding are equal, and the first of equal ones comes first."""
    values = RNG.integers(-2, 4, size=(6, 200)) + RNG.choice([0, 1e-15], size=(6, 200))
    position, value = np.empty((k, 200), np.int16), np.empty((k, 200))
    for start, stop in ((0, 120), (120, 200)):
        pick_largest(values, start, stop, position, value)
    for r in range(200):
        order = np.argsort(-values[:, r].round(12), kind="stable")[:k]
        order = order[values[order, r].round(12) > 0]
        n = len(order)
        assert np.array_equal(position[:n, r], order)
        assert np.array_equal(value[:n, r], values[order, r])
        assert (position[n:, r] == -1).all()
