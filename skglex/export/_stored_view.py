"""Show stored components to inspection and plots as if they were those of a decomposer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from skglex._decomposition import Explained, GivenTables
from skglex._input import FeatureGroups, RawMap, bin_all
from skglex._leaves import Background, Grid
from skglex._readers import SourceModel
from skglex._utils import DEFAULT_EXECUTION, Execution
from skglex.components import ComponentNames

if TYPE_CHECKING:
    from skglex.export._stored_components import StoredComponents

# What a file of components cannot answer, and who can.
NOT_STORED = (
    "stored components have no {}: the file holds tables of components, but neither the model's leaves nor the rows of "
    "the background. Use the decomposer that was saved"
)


class _WithoutLeaves:
    """Raise a ValueError for whatever needs the leaves of the model."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ValueError(NOT_STORED.format(name.strip("_").replace("_", " ")))


class _StoredBackground(_WithoutLeaves):
    """Hold what is known of the background beside its distribution along each feature."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows


class StoredModel(_WithoutLeaves):
    """Check and bin rows for stored components, as `FittedModel` does for a model."""

    preprocess = None
    row = None
    raw = RawMap([], [], [])
    limits = None

    def __init__(
        self, stored: StoredComponents, source: SourceModel, grid: Grid, *, n_background: int, sparse: bool
    ) -> None:
        self._stored = stored
        self.sparse = sparse
        self.zero_is_missing = sparse and bool(source.input.sparse_is_missing)
        self.background = _StoredBackground(n_background)
        self.source = source
        self.grid = grid
        self.feature_names = stored.feature_names

    def check(self, X: Any, estimator: Any) -> Any:
        """Check rows."""
        return self._stored._check(X)

    def to_model_space(self, X: Any) -> Any:
        """Return rows as they are: stored components have no preprocessing."""
        return X

    def bins(self, Xt: Any, execution: Execution = DEFAULT_EXECUTION) -> NDArray[np.unsignedinteger]:
        """Bin all rows at once: shape (n_used_features, n_samples)."""
        return bin_all(Xt, self.source.input, self.grid, execution)

    def weighted_rows(self, X: Any, sample_weight: Any, estimator: Any, execution: Execution) -> Background:
        """Return binned rows with weights, in the form of a background."""
        if X is None:
            raise ValueError(NOT_STORED.format("background rows") + ", or pass X")
        bins = self.bins(self.check(X, estimator), execution)
        weight = _check_sample_weight(
            sample_weight, np.empty((bins.shape[1], 0)), dtype=np.float64, ensure_non_negative=True
        )
        return Background(bins, weight)


class _StoredDecomposition(_WithoutLeaves):
    """Hold the listed components, and nothing that needs leaves."""

    def __init__(
        self, listed: GivenTables, intercept: NDArray[np.float64], n_players: int, *, complete: bool
    ) -> None:
        self.listed = listed
        self._intercept = intercept
        self.knows_margins = complete
        self.n_outputs = listed.n_outputs
        self.n_players = n_players
        self.complete = complete
        self.max_order = int(listed.orders.max(initial=0))

    def margins(
        self, bins: NDArray[np.unsignedinteger], execution: Execution = DEFAULT_EXECUTION
    ) -> NDArray[np.float64]:
        """Return the sum of intercept and components: shape (n_outputs, n_samples)."""
        values = np.empty((self.n_outputs * len(self.listed), bins.shape[1]))
        self.listed.evaluate(bins, np.arange(len(self.listed)), values, execution)
        sums = values.reshape(self.n_outputs, len(self.listed), -1).sum(axis=1)
        return np.asarray(self._intercept[:, None] + sums)


def stored_view(
    stored: StoredComponents,
    listed: GivenTables,
    fitted: StoredModel,
    groups: FeatureGroups,
    names: ComponentNames,
) -> Explained:
    """Return what inspection and plots may use of stored components."""
    intercept = np.reshape(stored.intercept_, -1)
    decomposition: Any = _StoredDecomposition(listed, intercept, len(groups.names), complete=stored.complete)
    model: Any = fitted
    n_outputs = listed.n_outputs

    def means() -> NDArray[np.float64]:
        return np.reshape(stored.component_importances_, (-1, n_outputs))

    def strongest(k: int | None) -> tuple[list[tuple[int, ...]], NDArray[np.float64]]:
        ranking = np.argsort(-means().sum(axis=1), kind="stable")[:k]
        return [listed.sets[int(i)] for i in ranking], means()[ranking]

    return Explained(
        estimator=stored,
        decomposition=decomposition,
        fitted=model,
        groups=groups,
        intercept=intercept,
        output_labels=stored.outputs,
        max_interaction=None,
        execution=DEFAULT_EXECUTION,
        component_means=means,
        strongest=strongest,
        find=lambda members: (listed, listed.sets.index(tuple(sorted(members)))),
        members=names.members,
        cached=frozenset({"component_importances"}),
    )
