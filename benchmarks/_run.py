"""Measuring: results compared first, then times interleaved, then memory; every case in a fresh process."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._startup import Seconds
from benchmarks._work import Call, Case, Data, Size, Skipped, Way, prepare

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# rows of the first call, whose results are compared
COMPARED = 100
# A short call is repeated for so long.
SHORTEST = 0.05


@dataclass(frozen=True)
class Options:
    """How to measure; ``budget`` is the CPU seconds that one call may take, ``peers`` are shell patterns."""

    repeats: int = 5
    peers: tuple[str, ...] = ("*",)
    budget: float = 10.0
    threads: int = 2
    memory: bool = True

    def includes(self, way: Way) -> bool:
        """Whether a way is skglex's, or of the peers that are wanted."""
        return way.label.startswith("skglex") or any(fnmatch(way.label, peer) for peer in self.peers)

    @property
    def limit(self) -> float:
        """Seconds after which a way that is not ready to be timed is given up."""
        return 300 + 20 * self.budget


@dataclass
class Measured:
    """A way's results at one size; ``refused`` says why there are none."""

    label: str
    refused: str = ""
    differs: str = ""
    error: float | None = None
    rows: int = 0
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: float | None = None
    is_unit: bool = False


# -- comparing ------------------------------------------------------------------------------------


def difference(ours: Any, theirs: Any) -> tuple[float, float]:
    """Largest absolute difference, and largest absolute value. Columns that a dict lacks are zero."""
    if isinstance(ours, dict) or isinstance(theirs, dict):
        pairs = [(ours.get(key, 0.0), theirs.get(key, 0.0)) for key in {*ours, *theirs}]
    else:
        pairs = [(ours, theirs)]
    worst = scale = 0.0
    for a, b in pairs:
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if a.ndim and b.ndim and a.shape != b.shape:
            return np.inf, scale
        gap = np.abs(a - b)
        worst = np.inf if np.isnan(gap).any() else max(worst, float(gap.max(initial=0)))
        scale = max(scale, float(np.abs(a).max(initial=0)))
    return worst, scale


def tolerance(way: Way, size: Size, scale: float) -> float:
    """What rounding explains: one unit in the last place of the largest value for every tree summed up."""
    return float(np.finfo(way.precision).eps) * (size.trees + 100) * max(scale, 1e-3)


# -- timing ---------------------------------------------------------------------------------------


class TooSlow(Exception):
    pass


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Give up what runs Python code for longer than that; where the system has no such timer, wait."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def give_up(*_: Any) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def time_call(call: Call, rows: int) -> tuple[float, float | None]:
    """Wall and CPU seconds of one call; short ones are repeated. No CPU seconds of what took its own time."""
    calls, cpu, start = 0, time.process_time(), time.perf_counter()
    while True:
        result = call(rows)
        calls += 1
        wall = time.perf_counter() - start
        if isinstance(result, Seconds):
            return float(result), None
        if wall >= SHORTEST:
            return wall / calls, (time.process_time() - cpu) / calls


def affordable_rows(call: Call, rows: int, budget: float) -> int:
    """As many rows as may be timed: what grows with them stays within the budget, a fixed cost is on top.

    In CPU seconds, which depend less on what else the machine does.
    """

    def cpu_seconds(n: int) -> float:
        return time_call(call, n)[1] or 0.0

    n = min(rows, COMPARED)
    few, less, spent = n // 4, 0.0, 0.0
    if n < rows:
        less, spent = cpu_seconds(few), cpu_seconds(n)
    while n < rows:
        # where the fixed cost is the larger part, the slope is mostly noise
        most = 4 * n if spent < 2 * less else int(budget * (n - few) / (spent - less))
        if most < 1.5 * n:
            break
        few, less, expected = n, spent, spent / n
        n = rows if rows < min(8 * n, 3 * most) else min(8 * n, most)
        spent = cpu_seconds(n)
        if spent > 2 * expected * n:  # something was compiled
            spent = cpu_seconds(n)
    return n


def time_scaled(call: Call, timed: int, rows: int) -> tuple[float, float | None]:
    """Seconds of a call on all rows.

    If fewer are timed, a quarter of them is timed too, and the line through the CPU seconds of both continued.
    """
    wall, cpu = time_call(call, timed)
    if timed == rows or cpu is None:
        return wall, cpu
    few = max(1, timed // 4)
    less = time_call(call, few)[1] or 0.0
    growth = 1 + max(0.0, 1 - less / cpu) * (rows - timed) / (timed - few)
    return wall * growth, cpu * growth


def measure(case: Case, data: Data, options: Options) -> list[Measured]:
    """Compare all ways with the first, then time them in turn; slow ones fewer times."""
    found = [Measured(way.label, is_unit=way.common is None) for way in case.ways]
    calls: dict[int, Call] = {}
    reference: Any = None
    for i, (way, out) in enumerate(zip(case.ways, found)):
        if not options.includes(way):
            out.refused = "left out"
            continue
        if i and way.common is not None and reference is None and case.ways[0].common is not None:
            out.refused = "not timed: skglex has no result to compare with"
            continue
        try:
            with at_most(options.limit):
                call = way.prepare(data)
                result = call(min(data.size.rows, COMPARED))
                out.rows = data.size.rows
                if way.by_rows:
                    out.rows = affordable_rows(call, data.size.rows, options.budget)
        except TooSlow:
            out.refused = f"not ready within {options.limit:g} s"
            continue
        except Skipped as reason:
            out.refused = f"skipped: {reason}"
            continue
        except Exception as error:
            out.refused = f"fails: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            continue
        if way.common is not None:
            common = way.common(result)
            if reference is None:
                reference = common
            out.error, scale = difference(reference, common)
            if out.error > tolerance(way, data.size, scale):
                out.differs = f"off by {out.error:.2g}, values to {scale:.2g}"
                continue
        calls[i] = call
    for _ in range(options.repeats):
        for i, call in calls.items():
            if sum(found[i].seconds) > options.repeats * options.budget:
                continue
            wall, cpu = time_scaled(call, found[i].rows, data.size.rows)
            found[i].seconds.append(wall)
            if cpu is not None:
                found[i].cpu.append(cpu)
    return found


# -- memory ---------------------------------------------------------------------------------------


def reset_peak() -> None:
    """Forget the process's peak so far, on Linux; elsewhere a smaller peak than before is not seen."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def peak_memory(case: Case, data: Data, label: str, rows: int) -> float:
    """MB that a call takes at its peak beyond what was there before it, its result included."""
    way = next(way for way in case.ways if way.label == label)
    call = way.prepare(data)
    call(min(rows, COMPARED))
    reset_peak()
    before = peak_mb()
    call(rows)
    return max(peak_mb() - before, 0.0)


# -- processes ------------------------------------------------------------------------------------


def _load(path: str) -> Data:
    warnings.simplefilter("ignore")
    data: Data = pickle.loads(Path(path).read_bytes())
    return data


def _prepare_child(path: str, size: Size, threads: int) -> None:
    Path(path).write_bytes(pickle.dumps(prepare(size, threads)))


def _measure_child(path: str, name: str, options: Options) -> list[Measured]:
    from benchmarks._cases import by_name

    return measure(by_name(name), _load(path), options)


def _memory_child(path: str, name: str, label: str, rows: int) -> float:
    from benchmarks._cases import by_name

    return peak_memory(by_name(name), _load(path), label, rows)


def in_child(threads: int, function: Callable[..., Any], *args: Any) -> Any:
    """Call it in a fresh process that has so many threads for everyone."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def run(case: Case, size: Size, options: Options) -> list[Measured]:
    """Everything about a case at one size."""
    threads = case.threads or options.threads
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "data.pickle")
        in_child(1, _prepare_child, path, size, threads)
        try:
            found: list[Measured] = in_child(threads, _measure_child, path, case.name, options)
        except BrokenProcessPool:
            return [Measured(way.label, refused="one of the ways ended the process") for way in case.ways]
        for out in found:
            if options.memory and case.memory and out.seconds:
                with suppress(BrokenProcessPool, Skipped):
                    out.memory = in_child(threads, _memory_child, path, case.name, out.label, out.rows)
    return found
