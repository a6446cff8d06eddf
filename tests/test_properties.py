"""What holds for every model: checked on random ones, on rows at thresholds and beside them."""

import warnings

import numpy as np
import xgboost as xgb
from hypothesis import given, settings
from hypothesis import strategies as st

from skglex import FeatureRemover, GlexDecomposer
from tests.support.oracles import own_margin, rounding, thresholds


@st.composite
def models(draw):
    """A small fitted model, and rows that include its thresholds, their neighbours, missing and infinite values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, 5))
    X = np.round(rng.normal(size=(80, d)), draw(st.sampled_from([0, 1, 8])))
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    y = np.nan_to_num(X).prod(axis=1) + rng.normal(size=80)
    params = {
        "n_estimators": draw(st.integers(1, 8)),
        "max_depth": draw(st.integers(1, 5)),
        "tree_method": draw(st.sampled_from(["hist", "exact"])),
        "booster": draw(st.sampled_from(["gbtree", "dart"])),
        "num_parallel_tree": draw(st.integers(1, 2)),
        "n_jobs": 1,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # booster="dart" is deprecated from XGBoost 3.4 on
        if draw(st.booleans()):
            labels = np.unique(np.digitize(y, [-0.5, 0.5]), return_inverse=True)[1]
            model = xgb.XGBClassifier(**params, rate_drop=0.3).fit(X, labels)
        else:
            model = xgb.XGBRegressor(**params, rate_drop=0.3).fit(X, y)
    rows = X[rng.integers(0, 80, size=40)]
    for j, cuts in thresholds(model).items():
        t = rng.choice(cuts, size=24).astype(float)
        rows[:24, j] = np.concatenate([t[:8], np.nextafter(t[8:16], -np.inf), np.nextafter(t[16:], np.inf)])
    rows[rng.random(rows.shape) < 0.05] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
    return model, X, rows, draw(st.sampled_from(["empirical", "path_dependent"])), rng


@settings(max_examples=30, deadline=None, derandomize=True)
@given(models())
def test_identities(case):
    model, X, rows, weighting, rng = case
    weight = rng.integers(1, 4, size=len(X))
    dec = GlexDecomposer(model, weighting=weighting).fit(X, sample_weight=weight)
    shape = (len(rows), -1, len(dec.components_))
    columns = dec.transform(rows).reshape(shape)
    intercept = np.reshape(dec.intercept_, (1, -1))
    margin = intercept + columns.sum(axis=2)
    assert np.allclose(margin, own_margin(model, rows), rtol=0, atol=rounding(model, intercept))

    # everything below is float64 throughout
    exact = {"rtol": 0, "atol": 1e-10 * max(1.0, np.abs(margin).max())}
    phi, pairs = dec.shap_values(rows), dec.shap_interaction_values(rows)
    phi, pairs = phi.reshape(*phi.shape[:2], -1), pairs.reshape(*pairs.shape[:3], -1)
    expected = np.zeros_like(phi)
    for c, component in enumerate(dec.components_):
        for name in component.features:
            expected[:, int(name[1:])] += columns[:, :, c] / component.order
    assert np.allclose(phi, expected, **exact)
    assert np.allclose(pairs.sum(axis=2), phi, **exact)
    assert np.allclose(pairs, pairs.swapaxes(1, 2), **exact)

    chosen = sorted({int(rng.integers(X.shape[1])), 0})
    inside = [c for c, m in enumerate(dec.components_) if set(m.features) <= {f"x{j}" for j in chosen}]
    dependence = dec.partial_dependence(chosen, rows).reshape(len(rows), -1)
    assert np.allclose(dependence, intercept + columns[:, :, inside].sum(axis=2), **exact)

    untouched = [c for c, m in enumerate(dec.components_) if not set(m.features) & {f"x{j}" for j in chosen}]
    if len(chosen) < X.shape[1]:
        remover = FeatureRemover(model, chosen, weighting=weighting).fit(X, sample_weight=weight)
        debiased = remover.margin(rows)
        assert np.allclose(
            debiased.reshape(len(rows), -1), intercept + columns[:, :, untouched].sum(axis=2), **exact
        )
        garbage = rows.copy()
        garbage[:, chosen] = rng.normal(size=(len(rows), len(chosen)))
        assert np.array_equal(remover.margin(garbage), debiased)

    order = rng.permutation(len(rows))
    assert np.array_equal(dec.transform(rows[order]), dec.transform(rows)[order])
    if weighting == "empirical":
        repeated = GlexDecomposer(model).fit(np.repeat(X, weight, axis=0)[rng.permutation(weight.sum())])
        assert np.allclose(repeated.transform(rows), dec.transform(rows), **exact)
