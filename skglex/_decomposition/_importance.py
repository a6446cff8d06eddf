"""Average absolute values over rows: of components, and of SHAP values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition._decomposition import Decomposition
from skglex._decomposition._index import TooManyComponents
from skglex._decomposition._listed_components import ListedComponents
from skglex._decomposition._pair_matrix import PairMatrix
from skglex._input import iter_binned
from skglex._kernels.component_tables import mean_absolute
from skglex._leaves import Background, BackgroundLike
from skglex._utils import DEFAULT_EXECUTION, Execution, rows_at_a_time

# Components whose means `top_components` computes at a time.
_BATCH = 64
# Components whose means one task computes.
_COMPONENTS_PER_TASK = 8


def component_means(
    listed: ListedComponents,
    background: BackgroundLike,
    chosen: NDArray[np.int64] | None = None,
    execution: Execution = DEFAULT_EXECUTION,
) -> NDArray[np.float64]:
    """Return the weighted means of ``|m_S|`` over rows, of all or the chosen components: (n_sets, n_outputs)."""
    if chosen is None:
        chosen = np.arange(len(listed))
    compute = partial(_component_means, listed, chosen=chosen, execution=execution)
    return background.average(compute)


def complete_means(
    known: dict[int, NDArray[np.float64]],
    listed: ListedComponents,
    background: BackgroundLike,
    chosen: NDArray[np.int64],
    execution: Execution,
) -> None:
    """Add the means of the chosen components that are not yet among the known ones, by position."""
    new = np.array([c for c in chosen.tolist() if c not in known], dtype=np.int64)
    if len(new):
        known.update(zip(new.tolist(), component_means(listed, background, new, execution)))


def _component_means(
    listed: ListedComponents,
    background: Background,
    *,
    chosen: NDArray[np.int64],
    execution: Execution,
) -> NDArray[np.float64]:
    """Average the absolute values of some components over one background.

    A tabulated component needs only the weight of the rows in each cell of its table. The others are evaluated for
    one chunk of rows after the other. No array of all rows and all components is ever made.
    """
    bins, weight, tables = background.bins, background.weight, listed.tables(execution)
    n_outputs = listed.n_outputs
    out = np.empty((len(chosen), n_outputs))
    by_table = np.flatnonzero(tables.tabulated[chosen])
    parts = [by_table[i : i + _COMPONENTS_PER_TASK] for i in range(0, len(by_table), _COMPONENTS_PER_TASK)]
    means = [np.empty((len(part), n_outputs)) for part in parts]
    execution.run(
        mean_absolute,
        [
            (bins, weight, tables.layout, tables.values, chosen[part], mean)
            for part, mean in zip(parts, means)
        ],
        label="importances",
    )
    for part, mean in zip(parts, means):
        out[part] = mean

    streamed = np.flatnonzero(~tables.tabulated[chosen])
    if len(streamed):
        out[streamed] = average_streamed(listed, background, chosen=chosen[streamed], execution=execution)
    return out


def average_streamed(
    listed: ListedComponents,
    background: Background,
    *,
    chosen: NDArray[np.int64],
    execution: Execution,
    absolute: bool = True,
) -> NDArray[np.float64]:
    """Average some components, or their absolute values, for one chunk of rows after the other."""
    bins, weight, width = background.bins, background.weight, len(chosen) * listed.n_outputs
    total = np.zeros(width)
    n_blocks = -(-bins.shape[1] // rows_at_a_time(width))
    for start, stop, some in execution.track(iter_binned(bins, width), n_blocks, "importances"):
        values = np.empty((width, stop - start))
        listed.evaluate(some, chosen, values, execution=execution)
        total += (np.abs(values, out=values) if absolute else values) @ weight[start:stop]
    return np.asarray(total.reshape(listed.n_outputs, -1).T / weight.sum())


def sum_by_feature_and_order(
    sets: Sequence[tuple[int, ...]], n_players: int, means: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum the means of ``|m_S|`` divided by ``|S|``, by player j in S and by order: (n_players, n_orders, ...)."""
    n_orders = max(map(len, sets), default=0)
    out = np.zeros((n_players, n_orders, *means.shape[1:]))
    for members, mean in zip(sets, means):
        for j in members:
            out[j, len(members) - 1] += mean / len(members)
    return out


def shapley_means(
    decomposition: Decomposition, background: BackgroundLike, execution: Execution = DEFAULT_EXECUTION
) -> NDArray[np.float64]:
    """Return the weighted means of ``|phi_k|`` over rows: shape (n_players, n_outputs)."""
    return background.average(partial(_shapley_means, decomposition, execution=execution))


def _shapley_means(
    decomposition: Decomposition, background: Background, execution: Execution
) -> NDArray[np.float64]:
    bins, weight = background.bins, background.weight
    total = np.zeros((decomposition.n_outputs, decomposition.n_players))
    for start, stop, part in iter_binned(bins, total.size):
        values = decomposition.shapley(part, execution=execution)
        total += np.abs(values, out=values) @ weight[start:stop]
    return np.asarray(total.T / weight.sum())


def strongest(
    decomposition: Decomposition,
    background: BackgroundLike,
    k: int | None,
    execution: Execution,
    known: dict[int, NDArray[np.float64]] | None = None,
) -> tuple[list[tuple[int, ...]], NDArray[np.float64]]:
    """Return the players and the means of the k components with the largest mean of ``|m_S|``, or of all of them.

    The largest comes first. Components up to ``max_order`` count. For ``known`` see `top_components`.

    Raises
    ------
    TooManyComponents
        There are too many to list, and they are not main effects and pairs that fit in one table.
    """
    listed = _listed_or_pairs(decomposition, execution)
    if isinstance(listed, PairMatrix):
        return listed.top(background, k)
    ranking, means = top_components(listed, background, k or len(listed), execution, known)
    return [listed.sets[int(i)] for i in ranking], means


def means_by_feature_and_order(
    decomposition: Decomposition, background: BackgroundLike, execution: Execution
) -> NDArray[np.float64]:
    """Return the sums of the means of ``|m_S|`` by player and order (see `sum_by_feature_and_order`)."""
    listed = _listed_or_pairs(decomposition, execution)
    if isinstance(listed, PairMatrix):
        return listed.means_by_feature_and_order(background, decomposition.n_players)
    means = component_means(listed, background, execution=execution)
    return sum_by_feature_and_order(listed.sets, decomposition.n_players, means)


def _listed_or_pairs(decomposition: Decomposition, execution: Execution) -> ListedComponents | PairMatrix:
    """Return the components up to ``max_order``, or a table of main effects and pairs that are too many to list."""
    try:
        return decomposition.listed
    except TooManyComponents:
        if decomposition.max_order != 2 or not PairMatrix.fits(decomposition.weights.games):
            raise
    return PairMatrix(decomposition.weights, decomposition.allowed, execution)


def top_components(
    listed: ListedComponents,
    background: BackgroundLike,
    k: int,
    execution: Execution = DEFAULT_EXECUTION,
    known: dict[int, NDArray[np.float64]] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return positions and means of the k components with the largest mean (summed over outputs), largest first.

    A mean is at most the largest entry of the component's table. Components are evaluated in the order of that bound,
    until no other component can be among the top k. ``known`` has the means by position that earlier calls computed
    for the same background; this call adds its own.
    """
    known = {} if known is None else known
    tables, n_sets = listed.tables(execution), len(listed)
    bound = np.full(n_sets, np.inf)
    for c in np.flatnonzero(tables.tabulated):
        table = tables.table(int(c), listed.n_outputs)
        bound[c] = np.maximum(table, -table).reshape(-1, table.shape[-1]).max(axis=0).sum()
    bound *= 1 + 1e-9  # Rounding may lift a mean above the largest entry.
    candidates = np.argsort(-bound, kind="stable")
    total = np.full(n_sets, -np.inf)
    means = np.empty((n_sets, listed.n_outputs))
    done, batch = 0, max(int((~tables.tabulated).sum()), k, _BATCH)
    while done < len(candidates):
        chosen = np.sort(candidates[done : done + batch])
        complete_means(known, listed, background, chosen, execution)
        means[chosen] = [known[c] for c in chosen.tolist()]
        total[chosen] = means[chosen].sum(axis=1)
        done, batch = done + len(chosen), _BATCH
        if done >= k and np.partition(total, -k)[-k] > bound[candidates[done:]].max(initial=-np.inf):
            break
    top = np.argsort(-total, kind="stable")[:k]
    return top, means[top]
