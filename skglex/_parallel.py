"""Threads over fixed chunks: results do not depend on the number of workers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

ROW_CHUNK = 8192
LONG_CHUNK = 1 << 18
# Fewer look-ups are not worth a thread.
FEW_LOOK_UPS = 1 << 17


def run(
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    label: str = "",
) -> list[Any]:
    """Call ``function(*task)`` for every task in threads; with ``verbose``, show a progress bar."""
    if len(tasks) < 2 or effective_n_jobs(n_jobs) == 1:
        try:
            return [function(*task) for task in _progress(tasks, len(tasks), verbose, label)]
        except SystemError as error:
            _raise_interrupt(error)
            raise
    parallel = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")
    results = parallel(delayed(function)(*task) for task in tasks)
    return list(_progress(results, len(tasks), verbose, label))


def _raise_interrupt(error: BaseException) -> None:
    """Raise the interrupt at the root of an error: numba, boxing a kernel's result, makes SystemErrors of it."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    if isinstance(root, KeyboardInterrupt):
        raise KeyboardInterrupt from None


def row_chunks(n_rows: int) -> list[tuple[int, int]]:
    """Split rows into ranges: eight or more of them, unless they get too short to be worth a thread."""
    size = min(ROW_CHUNK, max(1024, -(-n_rows // 8)))
    return [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def table_chunks(n_rows: int, n_tables: int) -> list[tuple[slice, int, int]]:
    """Split look-ups into tables and ranges of rows: long ones, since a table comes into cache once for each."""
    rows = [(start, min(start + LONG_CHUNK, n_rows)) for start in range(0, n_rows, LONG_CHUNK)]
    n_parts = min(n_tables, -(-n_rows * n_tables // FEW_LOOK_UPS), max(1, 64 // max(len(rows), 1)))
    ends = np.linspace(0, n_tables, n_parts + 1).astype(int).tolist()
    return [(slice(a, b), r0, r1) for r0, r1 in rows for a, b in pairwise(ends)]


def weight_chunks(cost: NDArray[Any], limit: float) -> list[tuple[int, int]]:
    """Split items into ranges whose summed cost stays within ``limit``, or that hold one item."""
    total = np.cumsum(cost, dtype=np.float64)
    chunks, start, done = [], 0, 0.0
    while start < len(cost):
        stop = max(int(np.searchsorted(total, done + limit, side="right")), start + 1)
        chunks.append((start, stop))
        start, done = stop, total[stop - 1]
    return chunks


def _progress(items: Iterable[Any], n: int, verbose: int, label: str) -> Iterable[Any]:
    if not verbose or n < 2:
        yield from items
        return
    begin = time.perf_counter()
    for i, item in enumerate(items):
        yield item
        share = (i + 1) / n
        bar = "#" * int(30 * share)
        seconds = time.perf_counter() - begin
        end = "\n" if i + 1 == n else ""
        sys.stderr.write(f"\r[skglex] {label:<22} [{bar:<30}] {share:4.0%} {seconds:6.1f} s{end}")
        sys.stderr.flush()
