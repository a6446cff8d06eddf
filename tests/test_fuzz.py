"""Compare every way to a number with every other, and with brute force, on random models.

``pytest -m fuzz --fuzz-cases 2000`` draws 2,000 new models per test.
"""

import pickle
import warnings

import numpy as np
import pytest
import xgboost as xgb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lightgbm import LGBMRegressor
from sklearn.ensemble import HistGradientBoostingRegressor

from skglex import FeatureRemover, GlexDecomposer
from skglex._decomposition import _shapley
from skglex._leaves import _leaf_sum
from skglex._readers import _registry
from skglex._utils import _execution, budgets
from tests.support.fuzz_cases import complete, hand_built_case, trained_case
from tests.support.hand_built import HandBuilt
from tests.support.oracles import (
    game_components,
    shapley_interactions,
    shapley_values,
)
from tests.support.trained import TRAINERS, framed

pytestmark = pytest.mark.fuzz
keeps_categories = pytest.mark.skipif(
    tuple(int(part) for part in xgb.__version__.split(".")[:2]) < (3, 1), reason="the model knows codes only"
)
WEIGHTINGS = st.sampled_from(["empirical", "path_dependent"])


@pytest.fixture
def fuzz(request, monkeypatch):
    """Return a function that checks the cases of a strategy."""
    monkeypatch.setitem(_registry._READERS, "tests.support.hand_built", "tests.support.hand_built")
    n_cases = request.config.getoption("--fuzz-cases")

    def run(strategy, function, n_default):
        @settings(
            max_examples=n_cases or n_default,
            derandomize=n_cases is None,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def check(case):
            with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
                warnings.simplefilter("ignore")
                function(case, patch)

        check()

    return run


def hand_built_cases(kind):
    return st.builds(
        hand_built_case,
        st.integers(0, 2**32 - 1),
        kind=st.just(kind),
        d=st.integers(1, 4),
        n_trees=st.integers(1, 4),
        max_depth=st.integers(0, 5),
        n_outputs=st.integers(1, 3),
        chain=st.sampled_from([False, False, False, True]),
        weighting=WEIGHTINGS,
        n_rows=st.sampled_from([1, 2, 12, 20]),
        n_background=st.sampled_from([1, 2, 10, 10]),
    )


@pytest.mark.parametrize("kind", ["nodes", "xgboost", "treelite"])
def test_hand_built(kind, fuzz):
    fuzz(hand_built_cases(kind), check_case, {"nodes": 100}.get(kind, 30))


@pytest.mark.plain
@pytest.mark.parametrize("weighting", ["empirical", "path_dependent"])
@pytest.mark.parametrize(
    ("seed", "kind"), [(0, "nodes"), (1, "nodes"), (2, "nodes"), (3, "xgboost"), (4, "treelite")]
)
def test_fixed_hand_built(seed, kind, weighting, monkeypatch):
    monkeypatch.setitem(_registry._READERS, "tests.support.hand_built", "tests.support.hand_built")
    size = {"d": 4, "n_trees": 3, "max_depth": 4, "n_outputs": 2, "n_rows": 10, "n_background": 8}
    case = hand_built_case(seed, kind=kind, chain=seed == 1, weighting=weighting, **size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_case(case, monkeypatch)


@pytest.mark.plain
@pytest.mark.parametrize("library", list(TRAINERS))
def test_trained(library, fuzz):
    cases = st.builds(
        trained_case, st.integers(0, 2**32 - 1), st.just(library), st.integers(1, 4), WEIGHTINGS
    )
    fuzz(cases, check_case, 10)


@pytest.mark.parametrize(
    "library", [pytest.param("xgboost", marks=keeps_categories), "lightgbm", "hist_boosting"]
)
def test_framed(library, fuzz):
    """Results agree with the model's predictions for categories in any order."""

    def check(seed, patch):
        model, frames = framed(np.random.default_rng(seed), library)
        decomposer = GlexDecomposer(model, check_additivity=False).fit(frames[0])
        remover = FeatureRemover(model, ["idle"]).fit(frames[0])
        for frame in frames:
            own = model.predict(frame)
            sums = decomposer.intercept_ + decomposer.transform(frame).sum(axis=1)
            # Three trees of size one are summed in float32.
            assert np.allclose(sums, own, rtol=0, atol=1e-5)
            assert np.allclose(
                decomposer.intercept_ + decomposer.shap_values(frame).sum(axis=1), own, atol=1e-5
            )
            assert np.allclose(remover.predict(frame), own, rtol=0, atol=1e-5)

    fuzz(st.integers(0, 2**32 - 1), check, 10)


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=2),
        LGBMRegressor(n_estimators=2, min_child_samples=2, verbose=-1),
    ],
)
def test_nothing_is_right_of_infinity(model):
    """Histogram boosting separates missing values from all others by ``x <= inf``."""
    X = np.array([[np.nan], [-1.0], [0.0]] * 20)
    model = model.fit(X, np.isnan(X[:, 0]))
    decomposer = GlexDecomposer(model, max_interaction=None).fit(X)
    component = decomposer.components_[0]
    rows = np.array([[-np.inf], [-0.5], [np.inf], [np.nan]])
    assert np.inf in decomposer._fitted.source.ensemble.grid.cuts
    bins = [np.searchsorted(component.edges[0], x, side="right") for x in rows[:3, 0]]
    found = component.values[[*bins, component.axes[0].missing]]
    assert np.array_equal(found, component.evaluate(rows))
    assert np.allclose(decomposer.intercept_ + found, model.predict(rows), rtol=0, atol=1e-12)
    axis = decomposer.feature_axis(0)
    assert np.inf not in axis.edges
    beside = np.array([[np.nan], [-1.0], [0.0], [3.0]] * 20)
    model.fit(beside, 3.0 * np.isnan(beside[:, 0]) + (beside[:, 0] > -0.5))
    several = GlexDecomposer(model, max_interaction=None).fit(beside)
    assert len(several._fitted.source.ensemble.grid.cuts) > 1
    edges = several.feature_axis(0).edges
    assert len(edges) > 0
    assert np.isfinite(edges).all()
    assert np.allclose(
        several.intercept_ + several.transform(rows).sum(axis=1), model.predict(rows), atol=1e-12
    )
    assert np.allclose(decomposer.background_weights(axis)[axis.missing], 1 / 3)
    assert np.allclose(decomposer.background_weights(axis).sum(), 1)


def check_case(case, patch):
    params = {"weighting": case.weighting}

    def fitted(model=case.model, **more):
        return GlexDecomposer(model, **{"max_interaction": None, **params, **more}).fit(
            case.background, sample_weight=case.weight
        )

    dec = fitted()
    if case.rows is None:
        complete(case, dec)
    rows, rng, d = case.rows, case.rng, case.rows.shape[1]
    n = len(rows)
    margin = case.margin(rows)
    n_outputs = margin.shape[1]
    names = [set(c.features) for c in dec.components_]
    sets = [tuple(j for j in range(d) if f"x{j}" in s) for s in names]
    transformed = dec.transform(rows)
    columns = transformed.reshape(n, n_outputs, -1)
    intercept = np.broadcast_to(np.reshape(dec.intercept_, (1, -1)), margin.shape)
    close = {"rtol": 0, "atol": case.error}
    # The package sums in float64 throughout.
    size = max(np.abs(part).max(initial=0) for part in (margin, columns, intercept)) + case.error
    exact = {"rtol": 0, "atol": 1e-12 * size * 2**d + 1e-300 if case.hand_built is None else case.error}

    # Compare sums and components with the oracle.
    assert np.allclose(intercept + columns.sum(axis=2), margin, **close)
    phi = dec.shap_values(rows).reshape(n, d, n_outputs)
    pairs = dec.shap_interaction_values(rows).reshape(n, d, d, n_outputs)
    chosen = sorted(rng.choice(d, size=int(rng.integers(1, d + 1)), replace=False).tolist())
    dependence = dec.partial_dependence(chosen, rows).reshape(n, -1)
    own = {(): intercept, **{s: columns[:, :, c] for c, s in enumerate(sets)}}
    if case.game is not None:
        game = case.game(rows)
        for s, expected in game_components(game).items():
            assert np.allclose(own.get(s, 0.0), expected, **close), s
        assert np.allclose(dependence, game[tuple(chosen)], **close)
    # Check the identities.
    zeros = np.zeros((n, n_outputs))
    full = {s: own.get(s, zeros) for s in own}
    assert np.allclose(phi, shapley_values(full, d), **exact)
    assert np.allclose(pairs, shapley_interactions(full, d), **exact)
    inside = sum((m for s, m in own.items() if set(s) <= set(chosen)), zeros)
    assert np.allclose(dependence, inside, **exact)

    # Check the tables that users see.
    for component in dec.components_:
        cells = tuple(
            np.where(np.isnan(x), axis.missing, np.searchsorted(axis.edges, x, side="right"))
            for axis in component.axes
            for x in [rows[:, int(axis.feature[1:])]]
            if not axis.categorical
        )
        if len(cells) == component.order and not special_input(dec):
            assert np.array_equal(component.values[cells], component.evaluate(rows)), component.name

    # Removed features have no effect.
    if len(chosen) < d:
        remover = FeatureRemover(case.model, chosen, **params).fit(case.background, sample_weight=case.weight)
        debiased = remover.margin(rows)
        untouched = sum((m for s, m in own.items() if not set(s) & set(chosen)), zeros)
        assert np.allclose(debiased.reshape(n, -1), untouched, **exact)
        garbage = rows.copy()
        garbage[:, chosen] = rng.choice([np.nan, np.inf, 0.0, 1.0, 1e300], size=(n, len(chosen)))
        assert np.array_equal(remover.margin(garbage), debiased)

    # Results are equal to the bit for rows in any order, other chunks, any number of threads, and after loading.
    order = rng.integers(0, n, 2 * n)
    assert np.array_equal(dec.transform(rows[order]), transformed[order])
    loaded = pickle.loads(pickle.dumps(dec))
    assert np.array_equal(loaded.transform(rows), transformed)
    assert np.array_equal(loaded.shap_values(rows).reshape(phi.shape), phi)
    with patch.context() as chunks:
        chunks.setattr(_execution, "row_chunks", None)  # Every module imports the name.
        for module in modules_of("row_chunks"):
            chunks.setattr(module, "row_chunks", lambda n: [(r, min(r + 3, n)) for r in range(0, n, 3)])
        by_chunk = [dec.transform(rows), dec._decomposition.margins(binned(dec, rows))]
        assert np.array_equal(by_chunk[0], transformed)
        if rng.random() < 0.2:
            threads = fitted(n_jobs=2)
            assert np.array_equal(threads.transform(rows), transformed)
            assert np.array_equal(threads.shap_values(rows), dec.set_params(n_jobs=1).shap_values(rows))

    # Compare the algorithms with each other.
    patch.setattr(budgets, "table_cells", 0)
    assert np.allclose(fitted().transform(rows), transformed, **exact)
    with patch.context() as anew:
        anew.setattr(_shapley.ShapleySums, "_keeps_tables", False)
        again = fitted()
        for n_copies in (1, 500):  # Few rows, and enough to solve leaves in clusters.
            many = rows[np.tile(np.arange(n), n_copies)]
            assert np.allclose(again.shap_values(many)[-n:].reshape(phi.shape), phi, **exact)
            found = again.shap_interaction_values(many)[-n:].reshape(pairs.shape)
            assert np.allclose(found, pairs, **exact)
    sums = dec._decomposition.margins
    for visit in (0.0, np.inf):
        patch.setattr(_leaf_sum, "_VISIT", visit)
        assert np.allclose(sums(binned(dec, rows)).T, margin, **close)
        if len(chosen) < d:
            assert np.allclose(remover.margin(rows), debiased, **exact)

    # Compare with leaves that are too wide for a table of patterns.
    bits = int(rng.integers(1, 3))
    with patch.context() as narrow:
        for name in ("MAX_TABLE_BITS", "GROUP_BITS"):
            for module in modules_of(name):
                narrow.setattr(module, name, bits)
        again = fitted()
        assert np.allclose(again.transform(rows), transformed, **exact)
        assert np.allclose(again.shap_values(rows).reshape(phi.shape), phi, **exact)
        assert np.allclose(again.shap_interaction_values(rows).reshape(pairs.shape), pairs, **exact)
        if len(chosen) < d:
            again = FeatureRemover(case.model, chosen, **params)
            again.fit(case.background, sample_weight=case.weight)
            assert np.allclose(again.margin(rows), debiased, **exact)

    # A weight counts as repetition, and the order of rows and columns does not matter.
    if case.weighting == "empirical":
        weight = np.ones(len(case.background), int) if case.weight is None else case.weight
        repeated = rng.permutation(np.repeat(np.arange(len(weight)), weight))
        again = GlexDecomposer(case.model, max_interaction=None).fit(case.background[repeated])
        assert np.allclose(again.transform(rows), transformed, **exact)
    if isinstance(case.model, HandBuilt):
        order = rng.permutation(d)
        permuted = GlexDecomposer(case.model.with_columns_permuted(order), **params)
        permuted.fit(case.background[:, order], sample_weight=case.weight)
        assert np.allclose(permuted.shap_values(rows[:, order]).reshape(phi.shape), phi[:, order], **exact)


def special_input(decomposer):
    """Return whether the model changes numbers before it compares them."""
    spec = decomposer._fitted.source.input
    return bool(spec.missing_zeros) or not np.isnan(spec.missing) or bool(spec.encoders)


def binned(decomposer, rows):
    from skglex._input import bin_all

    return bin_all(rows, decomposer._fitted.source.input, decomposer._fitted.source.ensemble.grid)


def modules_of(name):
    import sys

    return [m for key, m in list(sys.modules.items()) if key.startswith("skglex") and name in vars(m)]
