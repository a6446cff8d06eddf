"""Read the random planted forest of this package, whose leaves already are boxes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from skglex._input import InputSpec
from skglex._leaves import Grid, LeafEnsemble, collect_conditions
from skglex._readers._source_model import ModelKind, SourceModel
from skglex._response import Response

if TYPE_CHECKING:
    from skglex._planted import PlantedLeaves

READS = (
    ModelKind(
        "skglex",
        ("skglex.RandomPlantedForestRegressor", "skglex.RandomPlantedForestClassifier"),
        "see :doc:`/explain/planted_forest`",
        "none: empirical weights only",
        "as missing",
    ),
)


def read(model: Any) -> SourceModel:
    """Read a fitted forest; each family becomes a tree of the ensemble."""
    check_is_fitted(model)
    categories = {j: np.asarray(names) for j, names in model.categories_.items()}
    names = getattr(model, "feature_names_in_", None)
    classifies = is_classifier(model)
    ensemble = _to_ensemble(model.leaves_, {j: len(c) for j, c in categories.items()})
    return SourceModel(
        ensemble=ensemble,
        input=InputSpec(
            n_features=model.n_features_in_,
            feature_names=None if names is None else [str(name) for name in names],
            categories=categories,
            unknown_is_missing=True,
            by_value=True,
            finite="allow-nan",
        ),
        margin=partial(_margin, model),
        output=partial(_probabilities if classifies else _prediction, model),
        response=Response(
            link=model._link if classifies else "identity",
            n_outputs=ensemble.n_outputs,
            classes=model.classes_ if classifies else None,
        ),
    )


def _margin(model: Any, X: Any) -> NDArray[np.float64]:
    margin: NDArray[np.float64] = model._margin(X)
    return margin


def _prediction(model: Any, X: Any) -> NDArray[np.float64]:
    return np.asarray(model.predict(X))


def _probabilities(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the probabilities, for two classes those of the second class only."""
    probabilities: NDArray[np.float64] = model.predict_proba(X)
    return probabilities[:, 1] if len(model.classes_) == 2 else probabilities


def _to_ensemble(leaves: PlantedLeaves, n_categories: dict[int, int]) -> LeafEnsemble:
    """Express the boxes by the bins of a grid."""
    features, used_feature = np.unique(leaves.feature.astype(np.int64), return_inverse=True)
    cuts = []
    for s, feature in enumerate(features):
        if feature in n_categories:
            cuts.append(np.arange(n_categories[feature], dtype=np.float64))
        else:
            bounds = np.unique(np.concatenate([leaves.lo[used_feature == s], leaves.hi[used_feature == s]]))
            cuts.append(bounds[np.isfinite(bounds)])
    categorical = np.isin(features, list(n_categories))
    grid = Grid.from_cuts(features, cuts, categorical, less_equal=False, as_float32=False)
    conditions, complement, leaf_condition = collect_conditions(
        grid,
        used_feature,
        _first_bin(leaves.lo, used_feature, grid),
        _first_bin(leaves.hi, used_feature, grid),
        leaves.missing,
    )
    ends = np.searchsorted(leaves.family, np.arange(leaves.n_families), side="right")
    return LeafEnsemble(
        grid=grid,
        conditions=conditions,
        complement=complement,
        leaf_ptr=leaves.leaf_ptr,
        leaf_condition=leaf_condition,
        value=leaves.values / leaves.n_families,
        output=np.zeros(len(leaves.values), dtype=np.int32),
        tree_ptr=np.concatenate([[0], ends]).astype(np.int64),
        base=np.zeros(leaves.values.shape[1]),
    )


def _first_bin(bound: NDArray[np.float64], used_feature: NDArray[np.int64], grid: Grid) -> NDArray[np.int64]:
    """Return the first bin of values at or above each bound: bin 0 for -inf, and the missing bin for inf."""
    out = np.zeros(len(bound), dtype=np.int64)
    for s in range(len(grid.features)):
        rows = used_feature == s
        # A numeric bin i begins at cut i - 1; a categorical bin i is category i.
        at = np.searchsorted(grid.cuts_of(s), bound[rows]) + (0 if grid.categorical[s] else 1)
        out[rows] = np.where(np.isinf(bound[rows]), np.where(bound[rows] < 0, 0, grid.n_bins[s] - 1), at)
    return out
