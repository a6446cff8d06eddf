"""Compare the planted forest with the leaves, predictions and accuracy of the R package."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.metrics import mean_squared_error

from skglex import GlexDecomposer, RandomPlantedForestClassifier, RandomPlantedForestRegressor
from skglex._planted import PlantedLeaves
from skglex._planted._kernels.split import EVEN, FIRST

# Without numba, the random number generator warns about its arithmetic modulo 2**64.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


ORACLE = Path(__file__).parents[1] / "data" / "oracle"


class EvenRegressor(RandomPlantedForestRegressor):
    _rule = EVEN


class FirstClassifier(RandomPlantedForestClassifier):
    _rule = FIRST


def read_oracle(name):
    return pd.read_csv(ORACLE / f"{name}.csv", dtype={"tree": str})


@pytest.fixture(scope="module")
def oracle_X():
    return read_oracle("rpf_X_train")


def oracle_leaves(tag):
    """Read the leaves of the R package; bounds at the edge of its domain become infinite."""
    table = read_oracle(f"{tag}_leaves")
    meta = read_oracle("rpf_meta").set_index("tag").loc[tag]
    lower, upper = (np.array(meta[side].split(";"), dtype=float) for side in ("lower", "upper"))
    leaf_ptr, feature, lo, hi = [0], [], [], []
    for row in table.to_dict("records"):
        for k in [] if row["tree"] == "0" else [int(part) - 1 for part in row["tree"].split(":")]:
            a, b = row[f"lo{k + 1}"], row[f"hi{k + 1}"]
            feature.append(k)
            lo.append(-np.inf if a == lower[k] else a)
            hi.append(np.inf if b == upper[k] else b)
        leaf_ptr.append(len(feature))
    return PlantedLeaves(
        leaf_ptr=np.array(leaf_ptr),
        feature=np.array(feature, dtype=np.int32),
        lo=np.array(lo),
        hi=np.array(hi),
        missing=np.ones(len(feature), dtype=bool),
        values=table.filter(like="value").to_numpy(),
        family=(table["family"] - 1).to_numpy(np.int32),
    )


def as_table(leaves):
    """Return leaves as a mapping from boxes to values."""
    boxes = {}
    for leaf, values in enumerate(leaves.values):
        conditions = slice(leaves.leaf_ptr[leaf], leaves.leaf_ptr[leaf + 1])
        box = tuple(zip(leaves.feature[conditions].tolist(), leaves.lo[conditions], leaves.hi[conditions]))
        assert box not in boxes
        boxes[box] = values
    return boxes


DETERMINISTIC = {
    "rpf_det_leaves": (EvenRegressor(1, n_splits=15, t_try=1.0), "y"),
    "rpf_det_leaves_nodelete": (EvenRegressor(1, n_splits=15, t_try=1.0, delete_leaves=False), "y"),
    "rpf_det_bin_L2": (FirstClassifier(1, n_splits=12, t_try=1.0, loss="squared_error"), "ybin"),
    "rpf_det_multi_logit": (FirstClassifier(1, n_splits=12, t_try=1.0, loss="log_loss", epsilon=0.1), "y3"),
    "rpf_det_multi_exponential": (
        FirstClassifier(1, n_splits=12, t_try=1.0, loss="exponential", epsilon=0.1),
        "y3",
    ),
}


@pytest.mark.parametrize("tag", DETERMINISTIC)
def test_deterministic_fit_gives_r_leaves(tag, oracle_X):
    """Check that `grow_family` makes the same splits as the R package."""
    model, target = DETERMINISTIC[tag]
    y = read_oracle("rpf_y_train")[target]
    if target == "y3":
        # R orders the levels in this way.
        y = y.map({"l": 0, "m": 1, "h": 2})
    model = clone(model).set_params(max_bins=None).fit(oracle_X, y)
    leaves, expected = as_table(model.leaves_), as_table(oracle_leaves(tag))
    assert leaves.keys() == expected.keys()
    for box, values in expected.items():
        assert_allclose(leaves[box][-len(values) :], values, rtol=0, atol=1e-12)
    for part in ("train", "new"):
        expected_margin = read_oracle(f"{tag}_pred_{part}").to_numpy()
        n_columns = expected_margin.shape[1]
        margin = model._margin(read_oracle(f"rpf_X_{part}"))
        assert_allclose(margin[:, -n_columns:], expected_margin, rtol=0, atol=1e-12)
        # Our margin has a column of zeros for the reference class of the log loss.
        assert (margin[:, :-n_columns] == 0).all()


@pytest.mark.parametrize("part", ["train", "new"])
@pytest.mark.parametrize(
    "tag", ["rpf_rand", "rpf_rand3", "rpf_det_leaves", "rpf_det_leaves_nodelete", "rpf_det_bin_L2"]
)
def test_r_leaves_give_r_predictions_and_components(tag, part, oracle_X):
    forest = RandomPlantedForestRegressor(1, n_splits=1).fit(oracle_X, oracle_X["x1"])
    forest.leaves_ = oracle_leaves(tag)
    X = read_oracle(f"rpf_X_{part}")
    assert_allclose(forest.predict(X), read_oracle(f"{tag}_pred_{part}")["p1"], rtol=0, atol=1e-12)

    decomposer = GlexDecomposer(forest, max_interaction=None).set_output(transform="pandas").fit(oracle_X)
    components = decomposer.transform(X)
    expected = read_oracle(f"{tag}_components_{part}")
    assert_allclose(expected.pop("intercept"), decomposer.intercept_, rtol=0, atol=1e-12)
    assert set(components) <= set(expected)
    for name, values in expected.items():
        assert_allclose(components.get(name, 0.0 * values), values, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(("max_interaction", "expected"), [(1, 2.977), (2, 1.812)])
def test_accuracy_matches_the_r_package(max_interaction, expected):
    losses = []
    for seed in range(5):
        X, y = make_friedman1(4000, n_features=10, noise=1.0, random_state=seed)
        forest = RandomPlantedForestRegressor(
            50, max_interaction=max_interaction, n_splits=30, t_try=0.4, split_try=10, random_state=seed
        )
        losses.append(mean_squared_error(y[2000:], forest.fit(X[:2000], y[:2000]).predict(X[2000:])))
    assert np.mean(losses) < 1.03 * expected
