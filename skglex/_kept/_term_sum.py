"""Show what exports need of a sum of components, whoever holds it: a component model, a decomposer, a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skglex._decomposition import Explained, component_means, explained, remainder_share
from skglex._input import InputSpec
from skglex._kept._kept_components import KeptComponents, Term
from skglex._leaves import Background, Grid
from skglex._response import Response
from skglex._utils import budgets

# The share of the remainder is measured on at most this many background rows.
_MEASURED_ROWS = 1000


@dataclass(frozen=True)
class TermSum:
    """Hold a sum of components as tables, with what turns rows into its bins and its margin into predictions.

    Attributes
    ----------
    view : Explained
        The decomposer, or the stored components, that the tables come from.
    intercept : ndarray of shape (n_outputs,)
    terms : tuple of Term
        The components.
    response : Response
        How the margin becomes a prediction, with the labels in the y passed to `fit`.
    kept : KeptComponents, or None
        The components of a component model, which may have a remainder without tables.
    """

    view: Explained
    intercept: NDArray[np.float64]
    terms: tuple[Term, ...]
    response: Response
    kept: KeptComponents | None = None

    @property
    def grid(self) -> Grid:
        """Return the bins of the model's features."""
        return self.view.grid

    @property
    def spec(self) -> InputSpec:
        """Return how the model reads its input."""
        return self.view.source.input

    @property
    def feature_names(self) -> list[str]:
        """Return the names of the model's columns."""
        return self.view.feature_names

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs of the margin."""
        return len(self.intercept)

    @property
    def labels(self) -> list[Any] | None:
        """Return the labels of the outputs, None for a single output."""
        return self.view.output_labels

    @property
    def named(self) -> bool:
        """Return whether the model's columns have names of their own."""
        owner = self.view.estimator
        return bool(
            self.spec.feature_names
            or hasattr(owner, "feature_names_in_")
            or getattr(owner, "_named", False)
            or self.view.fitted.preprocess is not None
        )

    @property
    def complete(self) -> bool:
        """Return whether the terms are all that the prediction has; otherwise there is a remainder."""
        decomposition = self.view.decomposition
        if self.kept is None:
            return decomposition.complete
        if self.kept.rest is None:
            return True
        tabulated = {term.members for term in self.kept.rest.tabulated}
        return decomposition.complete and tabulated.issuperset(self.view.listed.sets)

    @cached_property
    def remainder_share(self) -> float | None:
        """Return the share of the variance of the margin that has no table; None if it cannot be measured."""
        if self.kept is None:
            stored: float | None = getattr(self.view.estimator, "remainder_share", None)
            return _share_of_decomposer(self.view) if stored is None else stored
        rows = self.view.background.spread_rows(_MEASURED_ROWS)
        return None if rows is None else _share_of_kept(self.kept, rows)

    def importances(self) -> NDArray[np.float64]:
        """Return the mean absolute value of each term over the background: shape (n_terms, n_outputs)."""
        if self.kept is None:
            return self.view.component_means()
        chosen = np.arange(len(self.terms))
        return component_means(self.kept.tables, self.view.background, chosen, execution=self.view.execution)

    def require_complete(self, name: str) -> None:
        """Raise a ValueError if there is a remainder; ``name`` is the export's name."""
        if self.complete:
            return
        share = self.remainder_share
        part = "a part" if share is None else f"{share:.2%} of the variance"
        raise ValueError(
            f"{name} writes tables of components, but {part} of the margin is in the remainder, which has no tables. "
            "Leave it out with ComponentModel(..., remainder=False), list more components with max_interaction, or use "
            "to_onnx or to_xgboost of ComponentModel(..., remainder=True), which write the remainder as trees"
        )

    def require_cells(self, name: str, limit: int) -> None:
        """Raise a ValueError if the tables have more than ``limit`` numbers; ``name`` is the export's name."""
        size = sum(term.values.size for term in self.terms)
        if size > limit:
            largest = max(self.terms, key=lambda term: term.values.size)
            raise ValueError(
                f"the tables have {size:,} numbers, more than the {limit:,} that {name} writes. The largest is that of "
                f"{largest.name!r} with {largest.values.size:,}. Keep fewer terms (n_terms, drop), smooth and round "
                "them, or train on fewer bins (max_bin)"
            )


def term_sum(model: Any, max_order: int | None = None) -> TermSum:
    """Return the sum of a fitted component model, of a fitted decomposer, or of stored components.

    With ``max_order``, the components of a higher order that a decomposer lists are left out.
    """
    kept: KeptComponents | None = None
    if hasattr(type(model), "to_tables"):
        check_is_fitted(model)
        kept, view = model._kept, explained(model.decomposer_)
    else:
        view = explained(model)
    if derived := view.source.input.derived:
        members = [view.feature_names[i] for i in derived[0]]
        raise ValueError(
            f"the model splits on combinations of features, such as {members}, whose tables cannot be stored or "
            "exported. Train it with max_ctr_complexity=1, or use pickle"
        )
    response = replace(view.source.response, classes=getattr(view.estimator, "classes_", None))
    if kept is not None:
        return TermSum(view, kept.intercept, kept.terms, response, kept)
    return TermSum(view, view.intercept, tuple(_listed_terms(view, max_order)), response)


def _listed_terms(view: Explained, max_order: int | None) -> Iterator[Term]:
    """Yield the tables of the listed components up to an order; raise if they are too large."""
    listed, size = view.listed, 0
    layout = listed.layout(view.execution)
    for i, (name, members) in enumerate(zip(view.component_names(listed), listed.sets)):
        if max_order is not None and len(members) > max_order:
            continue
        categories = view.source.input.categories
        axes, values = listed.table(i, view.feature_names, categories, view.execution)
        size += values.size
        if size > budgets.largest_table_cells:
            raise ValueError(
                f"the tables have more than {budgets.largest_table_cells:,} cells (1 GiB). Use max_interaction or "
                "features for fewer components, or train on fewer bins (max_bin)"
            )
        columns = tuple(view.grid.features[layout.axis_features(i)].tolist())
        yield Term(members, name, columns, axes, values)


def _share_of_decomposer(view: Explained) -> float | None:
    empirical = view.estimator.weighting == "empirical"
    return remainder_share(view.decomposition, view.background, view.execution, empirical=empirical)


def _share_of_kept(kept: KeptComponents, rows: Background) -> float:
    """Return Var(remainder) / Var(margin) over some rows, the largest over the outputs."""
    if kept.rest is None:
        return 0.0
    tables = replace(kept, rest=None).margins(rows.bins)
    margin = kept.margins(rows.bins)
    centred = [p - np.average(p, axis=1, weights=rows.weight)[:, None] for p in (margin - tables, margin)]
    left_out, total = [(part**2) @ rows.weight for part in centred]
    return float(np.divide(left_out, total, out=np.zeros(len(total)), where=total > 0).max())


def merge_equal_bins(term: Term) -> Term:
    """Return a term without the edges of numeric features at which its table does not change."""
    axes, values = list(term.axes), term.values
    for i, axis in enumerate(axes):
        if axis.categorical or axis.n_bins < 3:
            continue
        slices = np.moveaxis(values, i, 0)[: axis.missing].reshape(axis.missing, -1)
        changes = (slices[1:] != slices[:-1]).any(axis=1)
        first = np.concatenate([[0], np.flatnonzero(changes) + 1, [axis.missing]])
        values = np.take(values, first, axis=i)
        axes[i] = replace(axis, edges=axis.edges[changes], missing=len(first) - 1)
    return replace(term, axes=tuple(axes), values=values)


def name_outputs(name: str, labels: Sequence[Any] | None) -> list[str]:
    """Return a name per output: the name itself if there is one output, else ``label__name``."""
    return [name] if labels is None else [f"{label}__{name}" for label in labels]
