"""Write tables in Markdown and draw log-log pictures."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._run import Measured, Options
from benchmarks._types import Case, Size

PACKAGES = (
    "numpy",
    "numba",
    "scikit-learn",
    "xgboost",
    "lightgbm",
    "catboost",
    "shap",
    "woodelf-explainer",
    "shapiq",
    "treehfd",
)


def environment(options: Options) -> str:
    """Describe the machine, the versions and the options."""
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} not installed")
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    clock = "CPU seconds. " if options.cpu else ""
    bound = f", at most {options.gigabytes:.0f} GiB each" if options.gigabytes else ""
    return (
        f"{date.today():%B %Y}, Python {platform.python_version()}, {', '.join(versions)}. "
        f"{os.cpu_count()} cores{load}; {options.threads} threads for all contenders{bound}. {clock}"
        f"Medians of {options.repeats} (sweeps: half as many; fewer for contenders that exceed the budget) interleaved "
        "runs, [lowest to highest] of "
        "their ratios."
    )


def _ratio(values: np.ndarray) -> str:
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return f"{middle:.3g}" + (f" [{low:.3g} to {high:.3g}]" if np.size(values) > 1 else "")


def _seconds(value: float) -> str:
    return (
        f"{value * 1000:.3g} ms" if value < 0.1 else f"{value:,.3g} s" if value < 100 else f"{value:,.0f} s"
    )


def table(case: Case, size: Size, results: Sequence[Measured]) -> str:
    """Return the Markdown table of one case at one size."""
    base = results[0]
    lines = [
        f"`{case.name}`: {size}" + (", one thread" if case.threads == 1 else ""),
        "",
        f"| | time | relative to {base.label} | cores | peak memory | largest difference |",
        "|---|---|---|---|---|---|",
    ]
    for contender, out in zip(case.contenders, results):
        if out.reason or out.differs:
            lines.append(f"| {out.label} | {out.reason or 'differs: ' + out.differs} | | | | |")
            continue
        seconds = _seconds(float(np.median(out.seconds)))
        if out.rows < size.rows and contender.by_rows:
            seconds += f", extrapolated from {out.rows:,} rows"
        ratio = ""
        if base.seconds and out is not base:
            runs = min(len(out.seconds), len(base.seconds))
            ratio = _ratio(np.array(out.seconds[:runs]) / base.seconds[:runs])
        cores = f"{np.median(out.cpu) / np.median(out.seconds):.1f}" if out.cpu else ""
        memory = "" if out.memory is None else f"{out.memory:,.0f} MB"
        if memory and out.rows < size.rows:
            memory += f" ({out.rows:,} rows)"
        error = "" if out is base else "not comparable" if out.is_unit else f"{out.error:.1e}"
        lines.append(f"| {out.label} | {seconds} | {ratio} | {cores} | {memory} | {error} |")
    by_label = {out.label: out for out in results}
    for recorded in case.recorded if size == case.size else ():
        related = by_label[recorded.contender]
        if related.cpu:
            over = _ratio(recorded.cpu_seconds / np.array(related.cpu))
            lines.append(
                f"| {recorded.label} | {recorded.cpu_seconds:g} CPU seconds of another machine | {over} "
                f"times the CPU seconds of {recorded.contender} | | | |"
            )
    lines += [""] + [f"- {line}" for _, line in verdicts(case, size, results)]
    return "\n".join(lines)


def verdicts(case: Case, size: Size, results: Sequence[Measured]) -> list[tuple[bool | None, str]]:
    """Return for each target whether it is met (None: not measured), and a sentence about it.

    Targets belong to the size of the case, or to all sizes of a sweep; other sizes have none.
    """
    seconds = {out.label: np.array(out.seconds) for out in results if out.seconds}
    judged: list[tuple[bool | None, str]] = []
    swept = set(case.sizes())
    for target in case.targets:
        if size != case.size and not (target.every_size and size in swept):
            continue
        lacking = [label for label in target.needs if label not in seconds]
        if lacking:
            judged.append((None, f"target not measured ({target.text}): no time for {', '.join(lacking)}"))
            continue
        runs = min(len(seconds[label]) for label in target.needs or seconds)
        values = target.value({label: taken[:runs] for label, taken in seconds.items()})
        met = target.met(float(np.median(values)))
        judged.append((met, f"target {'met' if met else '**missed**'}: {target.text}: {_ratio(values)}"))
    return judged


def short(value: int) -> str:
    """Return a number as a short label of an axis: 300, 10k, 1M."""
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= unit and value % unit == 0:
            return f"{value // unit}{letter}"
    return f"{value:,}"


def draw(sweeps: Sequence[tuple[Case, list[tuple[Size, list[Measured]]]]], path: Path) -> Any:
    """Draw a log-log panel per sweep: seconds of every contender by size. Return the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = math.ceil(math.sqrt(len(sweeps)))
    rows = -(-len(sweeps) // columns)
    figure = Figure(figsize=(5.2 * columns, 4 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    labels = list(dict.fromkeys(contender.label for case, _ in sweeps for contender in case.contenders))
    for position, (case, points) in enumerate(sweeps):
        axes: Any = figure.add_subplot(rows, columns, position + 1)
        for i, contender in enumerate(case.contenders):
            line = [(getattr(s, case.axis), f[i]) for s, f in points if f[i].seconds]
            if not line:
                continue
            colour = f"C{labels.index(contender.label)}"
            x = [value for value, _ in line]
            y = [np.median(out.seconds) for _, out in line]
            axes.plot(
                x,
                y,
                color=colour,
                label=contender.label,
                lw=2 if contender.label.startswith("skglex") else 1.2,
            )
            axes.fill_between(
                x,
                [min(out.seconds) for _, out in line],
                [max(out.seconds) for _, out in line],
                color=colour,
                alpha=0.2,
                lw=0,
            )
            for extrapolated in (False, True):
                at = [
                    (value, np.median(out.seconds))
                    for (size, f) in points
                    for value, out in [(getattr(size, case.axis), f[i])]
                    if out.seconds and (out.rows < size.rows) == extrapolated
                ]
                if at:
                    face = "white" if extrapolated else colour
                    axes.plot(*zip(*at), "o", color=colour, markerfacecolor=face, ms=5)
        axes.set(xscale="log", yscale="log", xlabel=case.axis, ylabel="seconds", title=case.title)
        values = [getattr(size, case.axis) for size, found in points if any(out.seconds for out in found)]
        axes.set_xticks(values, [short(value) for value in values])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small")
    figure.supxlabel("white points: extrapolated from fewer rows", fontsize="small")
    figure.savefig(path, dpi=110)
    return figure
