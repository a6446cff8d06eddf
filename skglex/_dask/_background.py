"""Average over a background that stays in Dask partitions: averages are sums over partitions, and no row is moved."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from skglex._dask._partitions import Partitions, active_client, check_weight, share
from skglex._leaves import Background, Empirical, LeafEnsemble, LeafGames, RankedSubsets
from skglex._utils import Execution, budgets

# Number of partitions whose sums are added in one task.
_FAN_IN = 8
_LOCK = Lock()
_IN_PARTITIONS = (
    "this method needs all background rows in memory, but they are in the partitions of a Dask collection. Pass rows "
    "X, or fit with n_background, which draws a sample"
)
_NO_ACCESS = (
    "this decomposer is a copy (pickled, or sent to a worker) without access to the background, which is in the "
    "partitions of a Dask collection. Call the method of the decomposer that was fitted"
)


class PartitionedBackground:
    """Hold a binned background in the partitions of a Dask collection.

    With a cluster, the binned partitions stay in the memory of its workers while this object exists. Without a
    cluster, every average reads and bins the partitions again, so that each thread holds one partition in memory.

    Parameters
    ----------
    partitions : Partitions
        The rows and their weights.
    read : callable
        Function of a partition's rows and weights that returns its `Background`, with weights divided by a power of
        two, and the exponent of this power.
    read_and_check : callable
        The same with an additivity check.
    """

    def __init__(
        self,
        partitions: Partitions,
        read: Callable[[Any, Any], tuple[Background, int]],
        read_and_check: Callable[[Any, Any], tuple[Background, int]],
    ) -> None:
        has_cluster = active_client() is not None
        checked = _read_all(partitions, read_and_check)
        if has_cluster:
            checked = list(dask.persist(*checked))
        self._parts = checked if has_cluster else _read_all(partitions, read)
        sizes = dask.compute(*[delayed(_size)(part) for part in checked])
        n_rows, mantissa, squares, exponent = (np.array(column) for column in zip(*sizes))
        self.n_rows = int(n_rows.sum())
        self._rows = [part for part, n in zip(partitions.rows, n_rows) if n]
        if not mantissa.any():
            raise ValueError(
                "sample_weight is zero for every row, so the background would be empty. Pass at least one positive "
                "weight"
            )
        exponent -= exponent[mantissa > 0].max()
        scaled = np.ldexp(mantissa, exponent)
        self.total = float(scaled.sum())
        self.effective_rows = self.total**2 / float(np.ldexp(squares, 2 * exponent).sum())
        self._share = scaled / self.total
        self.weighting = PartitionedEmpirical(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parts": None, "_rows": None}

    @property
    def copied(self) -> bool:
        """Return whether a pickled copy has the rows."""
        return False

    def average(self, compute: Callable[[Background], NDArray[np.float64]]) -> NDArray[np.float64]:
        """Average over all rows; ``compute`` averages over the rows of one partition.

        The averages are added in the order of the partitions, so that the result is the same on every cluster.
        """
        if self._parts is None:
            raise ValueError(_NO_ACCESS)
        task = share(compute)
        terms = [
            delayed(_weighted)(part, task, weight)
            for part, weight in zip(self._parts, self._share.tolist())
            if weight > 0
        ]
        while len(terms) > 1:
            terms = [delayed(_add)(terms[i : i + _FAN_IN]) for i in range(0, len(terms), _FAN_IN)]
        average: NDArray[np.float64] = terms[0].compute()
        return average

    def changed_columns(self, compare: Callable[[Any, Any], NDArray[np.bool_]], X: Any) -> NDArray[np.bool_]:
        """Return the columns for which ``compare`` is true in any partition.

        It compares the rows of a partition with those of the next one; the first partition follows the last. The rows
        are those that the user passed, before they are binned.
        """
        task = share(compare)
        changed = [delayed(_call)(task, *pair) for pair in zip(self._rows, [*self._rows[1:], self._rows[0]])]
        return np.asarray(np.any(dask.compute(*changed), axis=0))

    def spread_rows(self, n: int) -> None:
        """Return None: no row is in this process."""

    def in_memory(self) -> Background:
        """Raise a ValueError, since the rows are in partitions."""
        raise ValueError(_IN_PARTITIONS)


class PartitionedEmpirical:
    """Average the empirical weights of the partitions of a background (see `skglex._leaves.Weighting`).

    Weights are kept for all leaves once they are computed. Copies keep them too, and need no background for them.
    """

    def __init__(self, background: PartitionedBackground) -> None:
        self.background = background
        self._cache: dict[tuple[Any, ...], NDArray[np.float64]] = {}

    def joint_weights(
        self, ensemble: LeafEnsemble, averaged: NDArray[np.bool_], execution: Execution
    ) -> NDArray[np.float64]:
        """Return E_l of the marked conditions (see `Weighting`)."""
        compute = partial(_joint, ensemble=ensemble, averaged=averaged)
        return self._keep(("joint", np.packbits(averaged).tobytes()), ensemble.n_leaves, compute)

    def table_weights(self, games: LeafGames, first: int, last: int) -> NDArray[np.float64]:
        """Return the weights of all coalitions (see `Weighting`)."""
        ptr, group_leaf = games.players.coalition_ptr, games.groups.group_leaf
        compute = partial(_tables, games=games)
        kept = self._keep(("tables", _digest(ptr)), int(ptr[-1]), compute)
        return kept[ptr[group_leaf[first]] : ptr[group_leaf[last]]]

    def ranked_weights(
        self, games: LeafGames, wanted: RankedSubsets, execution: Execution
    ) -> NDArray[np.float64]:
        """Return the weights of small coalitions (see `Weighting`)."""
        compute = partial(_ranked, games=games, wanted=wanted)
        return self._keep(("ranked", _digest(wanted.leaves), wanted.max_order), wanted.size, compute)

    solves_leaves = False
    solves_any_path = False

    def shapley_kernel(
        self, games: LeafGames, leaves: NDArray[np.int64], n_rows: int
    ) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """Raise: without tables, SHAP values need all rows of the background (see `Weighting`)."""
        raise ValueError(_IN_PARTITIONS)

    def shapley_walks(
        self, games: LeafGames, margins: Any, bins: NDArray[np.unsignedinteger], layout: Any
    ) -> None:
        """Return None: there are no background rows at hand (see `Weighting`)."""

    def prepare_copies(self, games: LeafGames, fill_tables: Callable[[], object]) -> None:
        """Compute the weights of components and SHAP values, as far as they are kept (see `Weighting`)."""
        fill_tables()
        if self._has_room(int(games.players.coalition_ptr[-1])) and not games.players.long_path.any():
            self.table_weights(games, 0, games.groups.n_groups)

    def _has_room(self, size: int) -> bool:
        """Return whether so many more weights may be kept."""
        return sum(map(len, self._cache.values())) + size <= budgets.kept_dask_weights

    def _keep(
        self, key: tuple[Any, ...], size: int, compute: Callable[..., NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        with _LOCK:  # Several threads request parts of the same weights.
            if key not in self._cache:
                if not self._has_room(size):
                    raise ValueError(
                        f"the weights of the leaves are {size:,} more numbers, but a background in Dask partitions "
                        f"caches at most {budgets.kept_dask_weights:,}. Set max_interaction (2 gives main effects and "
                        "pairs), or n_background, which draws a sample"
                    )
                self._cache[key] = self.background.average(compute) if size else np.empty(0)
            return self._cache[key]


def _digest(array: NDArray[np.int64]) -> bytes:
    return sha256(array.tobytes()).digest()


def _read_all(partitions: Partitions, read: Callable[..., Any]) -> list[Delayed]:
    task = share(read)
    return [delayed(_read)(task, X, weight) for X, weight in zip(partitions.rows, partitions.weights)]


def _read(read: Callable[..., Any], X: Any, weight: Any) -> Any:
    return read(X, check_weight(weight, X.shape[0]))


def _call(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def _size(part: tuple[Background, int]) -> tuple[int, float, float, int]:
    """Return the number of rows, the sums of their weights and squared weights, and the exponent that scales both."""
    background, exponent = part
    return len(background.weight), background.total, float((background.weight**2).sum()), exponent


def _weighted(part: tuple[Background, int], compute: Callable[..., Any], weight: float) -> Any:
    return weight * compute(part[0])


def _add(terms: list[Any]) -> Any:
    return sum(terms[1:], terms[0])


def _joint(part: Background, *, ensemble: LeafEnsemble, averaged: NDArray[np.bool_]) -> NDArray[np.float64]:
    return Empirical(part).joint_weights(ensemble, averaged, Execution(1))


def _tables(part: Background, *, games: LeafGames) -> NDArray[np.float64]:
    return Empirical(part).table_weights(games, 0, games.groups.n_groups)


def _ranked(part: Background, *, games: LeafGames, wanted: RankedSubsets) -> NDArray[np.float64]:
    return Empirical(part).ranked_weights(games, wanted, Execution(1))
