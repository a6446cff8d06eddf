"""Trees rebuilt from leaves are the trees that were read, or sum to the same boxes."""

from dataclasses import replace

import numpy as np

from skglex._input import bin_all
from skglex.export._onnx import onnx_model
from tests.export.debiased_models import (
    MODELS,
    assert_float32_close,
    codes,
    debiased_margin,
    leaf_weights,
    read,
    rows_of,
)


def test_boxes_that_are_not_trees(run_onnx):
    """The leaves are in any order, some are missing, some occur twice: a sum of boxes, as in a planted forest."""
    for name in ("squared error", "partition"):
        model = MODELS[name]()
        source = read(model)
        gone, weight = leaf_weights(
            source.ensemble, bin_all(rows_of(model), source.input, source.ensemble.grid), {0}, "empirical"
        )
        keep = ~gone[source.ensemble.condition_feature]
        boxes = source.ensemble.keep_conditions(keep, source.ensemble.value * weight[:, None])
        bins = bin_all(rows_of(model), source.input, boxes.grid)
        expected = debiased_margin(boxes, bins, gone & False, np.ones(boxes.n_leaves))
        exported = onnx_model(replace(source, ensemble=boxes))
        assert_float32_close(run_onnx(exported, codes(rows_of(model)))["margin"], expected)
