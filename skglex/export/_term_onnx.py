"""Write a sum of components as an ONNX model."""

from __future__ import annotations

from typing import Any

import numpy as np

from skglex._kept import term_sum
from skglex.export._onnx import OnnxInput, onnx_of_trees
from skglex.export._onnx_metadata import describe_input
from skglex.export._term_trees import trees_of_sum


def to_onnx(model: Any, *, input_dtype: Any = np.float64) -> Any:
    """Write a sum of components as an ONNX model, with a small tree per component.

    This needs onnx: ``pip install "skglex[onnx]"``.

    Parameters
    ----------
    model : ComponentModel, GlexDecomposer or StoredComponents
        A fitted model or decomposer. The remainder of a component model is written as the trees of the model.
    input_dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the input ``X``. float32 is allowed only for models that cast to float32 anyway (XGBoost, CatBoost,
        scikit-learn's trees and forests), since rounding the input changes the predictions of others.

    Returns
    -------
    onnx.ModelProto
        The model. Its input ``X`` of shape (n_samples, n_features) has the model's columns; those of a pipeline are the
        columns after the preprocessing. Categories are passed as codes (positions in the model's categories). Missing
        values are NaN.

        Its outputs are ``margin`` and, for a classifier, ``label`` and ``probabilities``; for an isolation forest,
        ``label`` and ``scores``; otherwise ``variable``. ``doc_string`` describes the model, and ``metadata_props``
        holds, as JSON, ``feature_names``, ``components``, ``categories`` (by feature, in the order of their codes),
        ``preprocessing`` (the steps that have to be applied before), and ``zero_is_missing``.

    Raises
    ------
    ImportError
        onnx is not installed.
    ValueError
        A decomposer or stored components have a remainder, the model cannot be written as ONNX, or would be rounded by
        ``input_dtype``.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import ComponentModel
    >>> from skglex.export import to_onnx
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = HistGradientBoostingRegressor(max_iter=20).fit(X, X[:, 0] + 2 * X[:, 0] * X[:, 1])
    >>> exported = to_onnx(ComponentModel(model, n_terms=3).fit(X))  # doctest: +SKIP
    """
    terms = term_sum(model)
    base, trees = trees_of_sum(terms, one_output=False)
    sentences, metadata = describe_input(terms.view.fitted)
    names = [term.name for term in terms.terms]
    rest = "" if terms.complete else " and the remainder"
    first = f"Intercept and {len(names)} components{rest} of a tree ensemble (skglex)."
    source = OnnxInput(terms.grid, terms.spec, input_dtype, terms.view.fitted.zero_is_missing)
    return onnx_of_trees(
        base, trees, source, terms.response, " ".join([first, *sentences]), {**metadata, "components": names}
    )
