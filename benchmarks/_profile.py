"""Where skglex spends its time: seconds by kernel, and by Python function."""

from __future__ import annotations

import cProfile
import io
import pstats
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks._cases import by_name
from benchmarks._work import Case, Data, Size, Skipped, prepare


@contextmanager
def kernels_timed(spent: dict[str, list[float]]) -> Iterator[None]:
    """Add up the calls of every kernel from Python, the seconds of each, all threads together."""
    from numba.core.dispatcher import Dispatcher

    patched: list[tuple[Any, str, Any]] = []

    def timed(name: str, kernel: Any) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            start = time.perf_counter()
            try:
                return kernel(*args)
            finally:
                spent[name].append(time.perf_counter() - start)

        return call

    for module_name, module in list(sys.modules.items()):
        # kernels call each other without Python: only the modules that use them are changed
        if module_name.startswith("skglex.") and not module_name.startswith("skglex._kernels"):
            for name, value in list(vars(module).items()):
                if isinstance(value, Dispatcher):
                    patched.append((module, name, value))
                    setattr(module, name, timed(name, value))
    try:
        yield
    finally:
        for module, name, value in patched:
            setattr(module, name, value)


def profile(case: Case, data: Data, top: int = 12) -> str:
    """Markdown: every way of skglex in the case, on one thread so that shares add up."""
    data.threads = 1
    lines = [f"### {case.title}", "", f"`{case.name}`: {data.size}, one thread", ""]
    for way in case.ways:
        if not way.label.startswith("skglex"):
            continue
        try:
            call = way.prepare(data)
            call(min(data.size.rows, 100))
        except Skipped as reason:
            lines += [f"{way.label}: skipped: {reason}", ""]
            continue
        spent: dict[str, list[float]] = defaultdict(list)
        with kernels_timed(spent):
            start = time.perf_counter()
            call(data.size.rows)
            wall = time.perf_counter() - start
        lines += [
            f"**{way.label}**: {wall:.4g} s",
            "",
            "| kernel | calls | seconds | share |",
            "|---|---|---|---|",
        ]
        for name, seconds in sorted(spent.items(), key=lambda item: -sum(item[1])):
            share = sum(seconds) / wall
            lines.append(f"| {name} | {len(seconds):,} | {sum(seconds):.4g} | {share:.1%} |")
        rest = wall - sum(map(sum, spent.values()))
        lines += [f"| outside the kernels | | {rest:.4g} | {rest / wall:.1%} |", ""]
        profiler = cProfile.Profile()
        profiler.runcall(call, data.size.rows)
        text = io.StringIO()
        pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(top)
        found = text.getvalue().splitlines()
        head = next(i for i, line in enumerate(found) if line.lstrip().startswith("ncalls"))
        lines += ["```", *(line.rstrip() for line in found[head:] if line.strip()), "```", ""]
    return "\n".join(lines)


def profile_case(name: str, size: Size) -> str:
    """The profile of a case, in a process of its own."""
    return profile(by_name(name), prepare(size, 1))
