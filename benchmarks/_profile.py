"""Profile skglex: seconds by kernel, and by Python function."""

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
from benchmarks._data import prepare
from benchmarks._types import Case, Data, Size, Skipped

KERNELS = ("skglex._kernels", "skglex._planted._kernels")


@contextmanager
def kernels_timed(spent: dict[str, list[float]]) -> Iterator[None]:
    """Record the seconds of every call of a kernel from Python, in all threads together."""
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
        # Kernels call each other without Python, so only the modules that use them are patched.
        if module_name.startswith("skglex.") and not module_name.startswith(KERNELS):
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
    """Return Markdown about every contender of skglex in the case, on one thread so that shares add up."""
    data.threads = 1
    lines = [f"### {case.title}", "", f"`{case.name}`: {data.size}, one thread", ""]
    for contender in case.contenders:
        if not contender.label.startswith("skglex"):
            continue
        try:
            call = contender.prepare(data)
            call(min(data.size.rows, 100))
        except Skipped as reason:
            lines += [f"{contender.label}: skipped: {reason}", ""]
            continue
        spent: dict[str, list[float]] = defaultdict(list)
        with kernels_timed(spent):
            start = time.perf_counter()
            call(data.size.rows)
            wall = time.perf_counter() - start
        lines += [
            f"**{contender.label}**: {wall:.4g} s",
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
        printed = text.getvalue().splitlines()
        head = next(i for i, line in enumerate(printed) if line.lstrip().startswith("ncalls"))
        lines += ["```", *(line.rstrip() for line in printed[head:] if line.strip()), "```", ""]
    return "\n".join(lines)


def profile_case(name: str, size: Size) -> str:
    """Return the profile of a case; call this in a process of its own."""
    return profile(by_name(name), prepare(size, 1))
