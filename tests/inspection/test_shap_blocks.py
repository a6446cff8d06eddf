"""Blocks of SHAP values and interactions are those of all rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from numpy.testing import assert_array_equal

from skglex import GlexDecomposer
from skglex.inspection import iter_shap_interactions, iter_shap_values

X = np.random.default_rng(0).normal(size=(70, 5))
Y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [-0.5, 0.5])
CLASSIFIER = xgb.XGBClassifier(n_estimators=4, max_depth=2).fit(X, Y)
REGRESSOR = xgb.XGBRegressor(n_estimators=8, max_depth=2).fit(X, Y)


@pytest.mark.parametrize("model", [CLASSIFIER, REGRESSOR], ids=["classes", "one output"])
@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sp.csr_matrix])
@pytest.mark.parametrize("block_rows", [None, 1, 32])
def test_blocks_are_the_whole(model, form, block_rows):
    decomposer, rows = GlexDecomposer(model).fit(X), form(X)
    # The engine may depend on the number of rows, and with it the last bits.
    close = {"rtol": 0, "atol": 1e-12}
    whole = decomposer.shap_values(rows)
    blocks = list(iter_shap_values(decomposer, rows, block_rows=block_rows))
    assert np.allclose(np.concatenate([block.values for block in blocks]), whole, **close)
    assert_array_equal(np.concatenate([np.arange(70)[block.rows] for block in blocks]), np.arange(70))
    whole = decomposer.shap_interaction_values(rows)
    blocks = list(iter_shap_interactions(decomposer, rows, block_rows=block_rows))
    assert np.allclose(np.concatenate([block.to_dense() for block in blocks]), whole, **close)
    listed = {(i, j) for i, j in blocks[0].pairs.tolist() if i != j}
    assert listed == {members for members in decomposer._decomposition.up_to(2).sets if len(members) == 2}


def test_groups():
    decomposer = GlexDecomposer(REGRESSOR, feature_groups={"both": [0, 1]}).fit(X)
    (block,) = iter_shap_interactions(decomposer, X)
    assert block.n_features == 4
    assert_array_equal(block.to_dense(), decomposer.shap_interaction_values(X))


@pytest.mark.parametrize("block_rows", [0, -1, 1.5, True, "all"])
def test_block_rows(block_rows):
    with pytest.raises(ValueError, match="block_rows must be a positive integer or None"):
        next(iter_shap_values(GlexDecomposer(REGRESSOR).fit(X), X, block_rows=block_rows))
