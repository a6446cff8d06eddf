"""Run tasks in threads. The chunks are fixed, so that results do not depend on the number of threads."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from skglex._utils._budgets import budgets
from skglex._utils._messages import warn_user
from skglex.exceptions import SlowComputationWarning

# Seconds before the first estimate of a duration, and the longest duration that needs no warning.
_FIRST_ESTIMATE, _LONG = 10.0, 60.0
# Seconds after which the line of a progress bar is drawn again.
_REDRAW = 0.2


class Execution(NamedTuple):
    """Hold the execution options that every long-running call gets.

    Attributes
    ----------
    n_jobs : int or None
        Number of threads, as in joblib.
    verbose : int
        Whether tasks with a label show a progress bar.
    """

    n_jobs: int | None = None
    verbose: int = 0

    @property
    def n_threads(self) -> int:
        """Return the number of threads that tasks run in."""
        return int(effective_n_jobs(self.n_jobs))

    def run(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], label: str = ""
    ) -> list[Any]:
        """Call ``function(*task)`` for every task in threads; show a progress bar if there is a label."""
        return list(self.stream(function, tasks, label))

    def stream(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], label: str = ""
    ) -> Iterator[Any]:
        """Yield the results of `run` one after the other, so that they need not be in memory together."""
        if len(tasks) < 2 or self.n_threads == 1:
            try:
                for task in self.track(tasks, len(tasks), label):
                    yield function(*task)
            except SystemError as error:
                _raise_interrupt(error)
                raise
            return
        parallel = Parallel(n_jobs=self.n_jobs, require="sharedmem", return_as="generator")
        yield from self.track(parallel(delayed(function)(*task) for task in tasks), len(tasks), label)

    def track(self, items: Iterable[Any], n: int, label: str) -> Iterator[Any]:
        """Yield n items of work; if there is a label, show a progress bar, and warn if all will take over a minute.

        An item counts as done when the next one is requested.
        """
        if not label or n < 2:
            yield from items
            return
        begin, first, warned = time.perf_counter(), 0.0, False
        drawn = begin
        for i, item in enumerate(items):
            yield item
            now = time.perf_counter()
            share, seconds = (i + 1) / n, now - begin
            # The first item may take longer than any other, since kernels compile when they are first called.
            first = first or seconds
            total = first + (seconds - first) / max(i, 1) * (n - 1)
            if not warned and seconds - first > _FIRST_ESTIMATE and total > _LONG:
                warned = True
                _warn_of_duration(label, total)
            # Quick work is not worth a line, and a line that was drawn just now is not drawn again.
            last = i + 1 == n and drawn > begin
            if self.verbose and (last or now - drawn >= _REDRAW):
                drawn = now
                bar, end = "#" * int(30 * share), "\n" if i + 1 == n else ""
                sys.stderr.write(f"\r[skglex] {label:<24} [{bar:<30}] {share:4.0%} {seconds:6.1f} s{end}")
                sys.stderr.flush()


DEFAULT_EXECUTION = Execution()


def _warn_of_duration(label: str, seconds: float) -> None:
    minutes = round(seconds / 60)
    if label.startswith("SHAP values"):
        cheaper = "Fewer rows take less time, and so do a smaller background (n_background) and path-dependent weights"
    else:
        cheaper = (
            "Fewer rows or a lower max_interaction take less time, and so do single components "
            "(decomposer['a', 'b']) instead of all"
        )
    warn_user(
        f"{label}: this will take about {'a minute' if minutes < 2 else f'{minutes} minutes'} in all. {cheaper}; "
        "n_jobs uses more cores, and verbose=1 shows the progress",
        SlowComputationWarning,
    )


def _raise_interrupt(error: BaseException) -> None:
    """Raise the KeyboardInterrupt at the root of an error: numba may turn it into a SystemError."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    if isinstance(root, KeyboardInterrupt):
        raise KeyboardInterrupt from None


def row_chunks(n_rows: int) -> list[tuple[int, int]]:
    """Split rows into at least eight ranges, unless these were too short to be worth a thread."""
    size = min(budgets.row_chunk, max(1024, -(-n_rows // 8)))
    return [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def table_chunks(n_rows: int, n_tables: int) -> list[tuple[slice, int, int]]:
    """Split look-ups by table and by long ranges of rows, so that a table is loaded into cache only once per range."""
    rows = [
        (start, min(start + budgets.long_row_chunk, n_rows))
        for start in range(0, n_rows, budgets.long_row_chunk)
    ]
    n_parts = min(n_tables, -(-n_rows * n_tables // budgets.few_look_ups), max(1, 64 // max(len(rows), 1)))
    ends = np.linspace(0, n_tables, n_parts + 1).astype(int).tolist()
    return [(slice(a, b), r0, r1) for r0, r1 in rows for a, b in pairwise(ends)]


def weight_chunks(cost: NDArray[Any], limit: float) -> list[tuple[int, int]]:
    """Split items into ranges whose total cost is at most ``limit``; a range of a single item may cost more."""
    total = np.cumsum(cost, dtype=np.float64)
    chunks, start, done = [], 0, 0.0
    while start < len(cost):
        stop = max(int(np.searchsorted(total, done + limit, side="right")), start + 1)
        chunks.append((start, stop))
        start, done = stop, total[stop - 1]
    return chunks
