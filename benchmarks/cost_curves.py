"""Draw what deep models cost, by depth, leaves, players per leaf, background and rows.

All models are LightGBM's. The CPU time of skglex, fit included, is divided by that of LightGBM's own path-dependent
contributions for as many rows of the same model, in the same run and on one thread. LightGBM is timed on few rows and
scaled, as its time grows with the rows. Values are compared before they are timed.

Run ``python -m benchmarks.cost_curves [--scale 1.0] [--out FILE]``. ``--scale`` multiplies the numbers of rows.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._data import prepare
from benchmarks._types import Data, Size

# Rows that LightGBM's contributions are timed on, and rows of one call of skglex.
TIMED, BLOCK = 200, 100_000
WORK = {
    "values, path-dependent": ("path_dependent", "shap_values"),
    "values, empirical": ("empirical", "shap_values"),
    "main effects and pairs, empirical": ("empirical", "transform"),
}
BASE = Size(2_000, 10, 12, 30, 2_000, 10_000, 255, "lightgbm", "continuous")


def sweeps(scale: float) -> Iterator[tuple[str, list[Size]]]:
    """Yield the name and the sizes of each panel."""

    def rows(*values: int) -> list[int]:
        return [max(100, int(value * scale)) for value in values]

    base = replace(BASE, rows=rows(BASE.rows)[0], background=rows(BASE.background)[0])
    yield "depth", [replace(base, depth=depth) for depth in (6, 9, 12, 15, 18, 21, 25)]
    yield "leaves", [replace(base, leaves=n, depth=15) for n in (31, 63, 127, 255, 511, 1_023, 2_000)]
    # Few features bound the players of a deep leaf.
    yield "players", [replace(base, features=d, depth=25, leaves=1_023) for d in (4, 6, 8, 12, 16, 24)]
    yield (
        "background",
        [replace(base, background=n) for n in rows(100, 1_000, 10_000, 100_000, 1_000_000, 5_000_000)],
    )
    yield "rows", [replace(base, rows=n) for n in rows(100, 1_000, 10_000, 100_000, 1_000_000, 3_000_000)]


def cpu(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of the second call; the first one compiles. Short calls are repeated."""
    work()
    calls, start = 0, time.process_time()
    while calls == 0 or time.process_time() - start < 0.05:
        work()
        calls += 1
    return (time.process_time() - start) / calls


def players(data: Data) -> float:
    """Return the mean number of different features on the path of a leaf."""
    counts = []

    def visit(node: dict[str, Any], path: frozenset[int]) -> None:
        if "split_feature" not in node:
            counts.append(len(path))
            return
        for child in ("left_child", "right_child"):
            visit(node[child], path | {node["split_feature"]})

    for tree in data.model.booster_.dump_model()["tree_info"]:
        visit(tree["tree_structure"], frozenset())
    return float(np.mean(counts))


def ratios(data: Data) -> dict[str, float]:
    """Return the CPU time of each kind of work, relative to LightGBM's own contributions."""
    from skglex import GlexDecomposer

    def own(n: int) -> Any:
        return data.model.predict(data.X[:n], pred_contrib=True, num_threads=1)

    n = min(TIMED, len(data.X))
    unit = cpu(lambda: own(n)) * len(data.X) / n
    out = {}
    for label, (weighting, method) in WORK.items():

        def work(weighting: str = weighting, method: str = method) -> Any:
            decomposer = GlexDecomposer(data.model, weighting=weighting, n_jobs=1).fit(data.background)
            first = getattr(decomposer, method)(data.X[:BLOCK])
            for start in range(BLOCK, len(data.X), BLOCK):
                getattr(decomposer, method)(data.X[start : start + BLOCK])
            return first

        if label == "values, path-dependent":
            assert np.abs(work()[:n] - own(n)[:, :-1]).max() < 1e-9
        out[label] = cpu(work) / unit
    return out


def draw(panels: dict[str, list[tuple[float, dict[str, float]]]], path: Path) -> None:
    """Draw a log-log panel per sweep."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.4), layout="constrained")
    FigureCanvasAgg(figure)
    for position, (name, points) in enumerate(panels.items()):
        axes: Any = figure.add_subplot(2, 3, position + 1)
        for label in WORK:
            ordered = sorted((x, found[label]) for x, found in points)
            axes.plot(*zip(*ordered), "o-", ms=4, label=label)
        axes.axhline(1, color="0.5", lw=1, ls="--")
        axes.set(yscale="log", xlabel={"players": "players per leaf (mean)"}.get(name, name))
        if name not in ("depth", "players"):
            axes.set_xscale("log")
        axes.grid(alpha=0.3)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower right", bbox_to_anchor=(0.98, 0.2))
    figure.supylabel("CPU time relative to LightGBM's own contributions (dashed: equal)", fontsize="medium")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all numbers of rows")
    parser.add_argument("--panels", nargs="+", default=["depth", "leaves", "players", "background", "rows"])
    parser.add_argument("--out", type=Path, default=Path("docs/contributors/benchmarks/cost_curves.png"))
    chosen = parser.parse_args()
    print(
        f"{date.today()}, {os.cpu_count()} cores, one thread; CPU time relative to LightGBM's contributions"
    )
    panels: dict[str, list[tuple[float, dict[str, float]]]] = {}
    for name, sizes in sweeps(chosen.scale):
        if name not in chosen.panels:
            continue
        for size in sizes:
            data = prepare(size, 1)
            x = players(data) if name == "players" else float(getattr(size, name))
            panels.setdefault(name, []).append((x, ratios(data)))
            print(
                name, f"{x:,.4g}", {label: f"{r:.3g}" for label, r in panels[name][-1][1].items()}, flush=True
            )
            draw(panels, chosen.out)


if __name__ == "__main__":
    main()
