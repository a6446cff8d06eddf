"""Measure: compare results, then time the contenders in turn, then measure memory; every case in a fresh process."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks._data import prepare
from benchmarks._startup import Seconds
from benchmarks._types import Call, Case, Contender, Data, Size, Skipped

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# The first call gets this many rows, and its results are compared.
COMPARED = 100
# The file that names the contender at work, and the seconds after its limit at which its process ends.
NOTE = "at_work.txt"
GRACE = 5.0
# The file beside it with the contenders that are known to be ready, or not to be.
KEPT = "known.pickle"
# A short call is repeated for at least this many seconds.
SHORTEST = 0.05


@dataclass(frozen=True)
class Options:
    """Hold the options.

    ``budget`` is the CPU seconds of one call, ``peers`` are shell patterns of labels, and ``gigabytes`` bounds the
    memory of the process (0 for no bound). A peer that is not ready to be timed after ``limit`` seconds is skipped.
    With ``cpu``, the limit and the results are CPU seconds. ``models`` is the folder that keeps fitted models.
    """

    repeats: int = 5
    peers: tuple[str, ...] = ("*",)
    budget: float = 10.0
    threads: int = 2
    memory: bool = True
    gigabytes: float = 0.0
    limit: float = 500.0
    cpu: bool = False
    models: Path | None = None

    def includes(self, contender: Contender) -> bool:
        """Return whether to measure a contender: always for skglex, otherwise if a pattern matches."""
        return contender.label.startswith("skglex") or any(
            fnmatch(contender.label, peer) for peer in self.peers
        )

    def seconds_for(self, contender: Contender) -> float:
        """Return the limit of a contender: ten times that of a peer for skglex, without which nothing is compared."""
        return self.limit * (10 if contender.label.startswith("skglex") else 1)


@dataclass
class Measured:
    """Hold the results of a contender at one size; ``reason`` says why there are none."""

    label: str
    reason: str = ""
    differs: str = ""
    error: float | None = None
    rows: int = 0
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: float | None = None
    is_unit: bool = False


# -- comparing ------------------------------------------------------------------------------------


def difference(reference: Any, other: Any) -> tuple[float, float]:
    """Return the largest absolute difference, and the largest absolute value.

    Columns that are missing in a dict count as zero.
    """
    if isinstance(reference, dict) or isinstance(other, dict):
        pairs = [(reference.get(key, 0.0), other.get(key, 0.0)) for key in {*reference, *other}]
    else:
        pairs = [(reference, other)]
    worst = scale = 0.0
    for a, b in pairs:
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if a.ndim and b.ndim and a.shape != b.shape:
            return np.inf, scale
        gap = np.abs(a - b)
        worst = np.inf if np.isnan(gap).any() else max(worst, float(gap.max(initial=0)))
        scale = max(scale, float(np.abs(a).max(initial=0)))
    return worst, scale


def tolerance(contender: Contender, size: Size, scale: float) -> float:
    """Return the difference that rounding can explain: one unit in the last place of the largest value per tree."""
    return float(np.finfo(contender.precision).eps) * (size.trees + 100) * max(scale, 1e-3)


# -- timing ---------------------------------------------------------------------------------------


class TooSlow(Exception):
    """Signal that a contender exceeds its time limit."""


@contextmanager
def at_most(seconds: float, cpu: bool = False) -> Iterator[None]:
    """Raise TooSlow if Python code runs for longer; on a system without such a timer, wait. ``cpu``: CPU seconds."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def give_up(*_: Any) -> None:
        raise TooSlow

    timer, number = (signal.ITIMER_PROF, signal.SIGPROF) if cpu else (signal.ITIMER_REAL, signal.SIGALRM)
    before = signal.signal(number, give_up)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)


@contextmanager
def watched(note: Path | None, label: str, seconds: float, cpu: bool = False) -> Iterator[None]:
    """Write to the note who is at work, and end the process after so many seconds; ``cpu``: CPU seconds.

    Compiled code hears no signal, and a crash leaves no message. The process that waits reads the note.
    """
    if note is None:
        yield
        return
    note.write_text(label, encoding="utf-8")
    if cpu:  # The system ends a process that exceeds this bound.
        most = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, most))
        seconds *= 20  # A process that waits for ever is ended all the same.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            if cpu:
                resource.setrlimit(resource.RLIMIT_CPU, (most, most))


def time_call(call: Call, rows: int) -> tuple[float, float | None]:
    """Return wall and CPU seconds of one call. Short calls are repeated.

    The CPU seconds are None if the call returns its time itself.
    """
    calls, cpu, start = 0, time.process_time(), time.perf_counter()
    while True:
        result = call(rows)
        calls += 1
        wall = time.perf_counter() - start
        if isinstance(result, Seconds):
            return float(result), None
        if wall >= SHORTEST:
            return wall / calls, (time.process_time() - cpu) / calls


def affordable_rows(call: Call, rows: int, budget: float, first: float = 0.0) -> int:
    """Return the number of rows to time, so that the cost of these rows stays within the budget.

    A fixed cost does not count. The budget is in CPU seconds, which depend less on the load of the machine. A contender
    whose first call took longer gets no more rows than in that call.
    """

    def cpu_seconds(n: int) -> float:
        return time_call(call, n)[1] or 0.0

    n = min(rows, COMPARED)
    if first > budget:
        return n
    few, less, spent = n // 4, 0.0, 0.0
    if n < rows:
        less, spent = cpu_seconds(few), cpu_seconds(n)
    while n < rows:
        # If the fixed cost is the larger part, the slope is mostly noise.
        most = 4 * n if spent < 2 * less else int(budget * (n - few) / (spent - less))
        if most < 1.5 * n:
            break
        few, less, expected = n, spent, spent / n
        n = rows if rows < min(8 * n, 3 * most) else min(8 * n, most)
        spent = cpu_seconds(n)
        if spent > 2 * expected * n:  # The call has compiled something.
            spent = cpu_seconds(n)
    return n


def time_scaled(call: Call, timed: int, rows: int) -> tuple[float, float | None]:
    """Return wall and CPU seconds of a call for all rows.

    If fewer rows are timed, a quarter of them is timed too. The line through both CPU times is extended to all rows.
    """
    wall, cpu = time_call(call, timed)
    if timed == rows or cpu is None:
        return wall, cpu
    few = max(1, timed // 4)
    less = time_call(call, few)[1] or 0.0
    growth = 1 + max(0.0, 1 - less / cpu) * (rows - timed) / (timed - few)
    return wall * growth, cpu * growth


def make_ready(contender: Contender, data: Data, options: Options, out: Measured) -> tuple[Call | None, Any]:
    """Return the call of a contender and its first result; without a call, ``out.reason`` says why."""
    limit = options.seconds_for(contender)
    try:
        with at_most(limit, options.cpu):
            call = contender.prepare(data)
            start = time.process_time()
            result = call(min(data.size.rows, COMPARED))
            first = time.process_time() - start
            out.rows = data.size.rows
            if contender.by_rows:
                out.rows = affordable_rows(call, data.size.rows, options.budget, first)
        return call, result
    except TooSlow:
        out.reason = f"not ready within {limit:g} s"
    except Skipped as reason:
        out.reason = f"skipped: {reason}"
    except Exception as error:
        out.reason = f"fails: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return None, None


def measure(
    case: Case,
    data: Data,
    options: Options,
    note: Path | None = None,
    without: Mapping[str, str] = MappingProxyType({}),
) -> list[Measured]:
    """Compare all contenders with the first, then time them in turn; slow ones are timed fewer times.

    ``without`` has the contenders that ended an earlier process, and how. ``note`` is the file that names the contender
    at work; beside it stands what an earlier process found.
    """
    kept = note.with_name(KEPT) if note else None
    known: dict[str, Measured] = pickle.loads(kept.read_bytes()) if kept and kept.exists() else {}
    results = [
        Measured(contender.label, is_unit=contender.comparable is None) for contender in case.contenders
    ]
    calls: dict[int, Call] = {}
    reference: Any = None
    for i, (contender, out) in enumerate(zip(case.contenders, results)):
        if not options.includes(contender):
            out.reason = "left out"
            continue
        if contender.label in without:
            out.reason = without[contender.label]
            continue
        compared = contender.comparable is not None
        if i and compared and reference is None and case.contenders[0].comparable is not None:
            out.reason = "not timed: skglex has no result to compare with"
            continue
        limit = options.seconds_for(contender) + GRACE
        with watched(note, contender.label, limit, options.cpu):
            if i and contender.label in known:
                results[i] = known[contender.label]
                if results[i].rows and not results[i].differs:
                    calls[i] = contender.prepare(data)
                continue
            call, result = make_ready(contender, data, options, out)
        if call is not None and contender.comparable is not None:
            comparable = contender.comparable(result)
            reference = comparable if reference is None else reference
            out.error, scale = difference(reference, comparable)
            if out.error > tolerance(contender, data.size, scale):
                out.differs = f"off by {out.error:.2g}, values to {scale:.2g}"
        known[contender.label] = out
        if kept:
            kept.write_bytes(pickle.dumps(known))
        if call is not None and not out.differs:
            calls[i] = call
    for _ in range(options.repeats):
        for i, call in calls.items():
            if sum(results[i].seconds) > options.repeats * options.budget:
                continue
            contender = case.contenders[i]
            with watched(note, contender.label, options.seconds_for(contender) + GRACE, options.cpu):
                wall, cpu = time_scaled(call, results[i].rows, data.size.rows)
            results[i].seconds.append(cpu if options.cpu and cpu is not None else wall)
            if cpu is not None:
                results[i].cpu.append(cpu)
    return results


# -- memory ---------------------------------------------------------------------------------------


def machine_memory() -> float:
    """Return the memory of the machine in GiB, or 0 if the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):
        return 0.0


def reset_peak() -> None:
    """Reset the peak memory of the process. This works on Linux only; elsewhere the peak never falls."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """Return the peak memory of the process in MB."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def peak_memory(case: Case, data: Data, label: str, rows: int) -> float:
    """Return the MB that a call adds to the memory at its peak, including its result."""
    contender = next(contender for contender in case.contenders if contender.label == label)
    call = contender.prepare(data)
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


def _prepare_child(path: str, size: Size, threads: int, models: Path | None) -> None:
    Path(path).write_bytes(pickle.dumps(prepare(size, threads, models)))


def _measure_child(path: str, name: str, options: Options, without: dict[str, str]) -> list[Measured]:
    from benchmarks._cases import by_name

    if options.gigabytes and hasattr(resource, "RLIMIT_DATA"):
        bound = int(options.gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    return measure(by_name(name), _load(path), options, Path(path).with_name(NOTE), without)


def _memory_child(path: str, name: str, label: str, rows: int) -> float:
    from benchmarks._cases import by_name

    return peak_memory(by_name(name), _load(path), label, rows)


def in_child(threads: int, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a fresh process, in which all libraries use this number of threads."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def despite_crashes(
    measured: Callable[[dict[str, str]], list[Measured]], note: Path, limit: float
) -> list[Measured]:
    """Measure in a process, and once more for each contender that ends it, without this contender."""
    without: dict[str, str] = {}
    while True:
        note.unlink(missing_ok=True)
        try:
            return measured(without)
        except BrokenProcessPool:
            if not note.exists():  # Not even the data could be loaded.
                raise
            label, took = note.read_text(encoding="utf-8"), time.time() - note.stat().st_mtime
            if label in without:
                raise
            late = took >= limit
            without[label] = (
                f"not ready within {limit:g} s" if late else "ends the process (memory or a fault)"
            )


def run(case: Case, size: Size, options: Options) -> list[Measured]:
    """Measure all contenders of a case at one size."""
    threads = case.threads or options.threads
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "data.pickle")
        in_child(1, _prepare_child, path, size, threads, options.models)
        results = despite_crashes(
            lambda without: in_child(threads, _measure_child, path, case.name, options, without),
            Path(folder) / NOTE,
            options.limit,
        )
        for out in results:
            if options.memory and case.memory and out.seconds:
                with suppress(BrokenProcessPool, Skipped):
                    out.memory = in_child(threads, _memory_child, path, case.name, out.label, out.rows)
    return results
