"""A `treelite.Model` as it is, with what GTIL, treelite's own predictor, makes of it."""

from __future__ import annotations

import copyreg
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import treelite
from numpy.typing import NDArray

from skglex._input import InputSpec, column_values
from skglex._readers._registry import SourceModel
from skglex._readers._treelite import from_treelite
from skglex._response import join_link

# A treelite model holds a pointer, which cannot be copied; its bytes do as well.
copyreg.pickle(
    treelite.Model, lambda model: (treelite.Model.deserialize_bytes, (bytes(model.serialize_bytes()),))
)


def read(model: treelite.Model) -> SourceModel:
    """Read a model that treelite has imported or built; its cover is ``sum_hess``, else ``data_count``."""
    as_float32 = model.input_type == "float32"
    ensemble = from_treelite(model, as_float32=as_float32)
    if ensemble.path_ratio is None:
        ensemble = from_treelite(model, as_float32=as_float32, cover="data_count")
    field = model.get_header_accessor().get_field
    link = str(field("postprocessor"))
    if link == "softmax" and int(field("num_target")[0]) > 1:
        raise ValueError(
            "cannot read a treelite model with several targets that are each classified by softmax: read one model "
            "per target"
        )
    if link in ("sigmoid", "multiclass_ova"):
        link = join_link(link, float(field("sigmoid_alpha")[0]))
    elif link == "exponential_standard_ratio":  # 2 ** (-margin / ratio_c)
        link = join_link("exponential", -float(np.log(2) / field("ratio_c")[0]))
    spec = InputSpec(n_features=model.num_feature, sparse_is_missing=True)
    used = ensemble.grid.features
    return SourceModel(
        ensemble=ensemble,
        input=spec,
        margin=partial(_predict, model, spec, used, pred_margin=True),
        output=partial(_predict, model, spec, used, pred_margin=False),
        link=link,
    )


def _predict(
    model: treelite.Model, spec: InputSpec, used: NDArray[np.int64], X: Any, *, pred_margin: bool
) -> NDArray[Any]:
    if sp.issparse(X):
        X = sp.csr_matrix(X)
    elif not isinstance(X, np.ndarray):  # GTIL takes no data frames
        columns = np.full((len(X), spec.n_features), np.nan)
        for feature in used:
            columns[:, feature] = column_values(X, int(feature), spec)
        X = columns
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite
        out = treelite.gtil.predict(model, X, pred_margin=pred_margin)
    return np.asarray(out).reshape(X.shape[0], -1)
