"""Run skglex and its peers on the same work: ``python -m benchmarks [CASE or GROUP ...]``.

Writes tables (results.md), all measurements (results.json) and log-log pictures into a folder, and reports which
targets are met. A result that differs from that of skglex by more than its float precision gets no time.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks._cases import select
from benchmarks._profile import profile_case
from benchmarks._report import draw, environment, table, verdicts
from benchmarks._run import Options, in_child, machine_memory, run
from benchmarks._types import Case, Size

QUICK = {"rows": 300, "trees": 20, "depth": 4, "features": 20, "background": 200, "train": 500}


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("select", nargs="*", help="names (shell patterns) or groups of cases; default: all")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--profile", action="store_true", help="show the time of skglex by kernel")
    parser.add_argument("--quick", action="store_true", help="run every case at a tiny size")
    parser.add_argument("--rows", type=int, help="number of rows to explain, for all cases")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--budget", type=float, default=10.0, help="CPU seconds of a call; slower contenders get fewer rows"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=0.0,
        help="seconds until a peer must be ready; default 300 + 20 * budget",
    )
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu: CPU seconds, for a busy machine; one thread",
    )
    parser.add_argument("--models", type=Path, help="folder to keep fitted models in, for the next run")
    parser.add_argument("--peers", nargs="+", default=["*"], help="labels or shell patterns of the peers")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-memory", action="store_true", help="do not measure the peak memory")
    parser.add_argument(
        "--max-memory", type=float, default=0.8 * machine_memory(), help="bound of a process, in GiB"
    )
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    return parser.parse_args()


def sizes(case: Case, chosen: argparse.Namespace) -> list[Size]:
    """Return the sizes of a case, changed as the command line says."""
    case_sizes = list(case.sizes())
    if chosen.rows and case.axis != "rows":
        case_sizes = [replace(size, rows=chosen.rows) for size in case_sizes]
    if chosen.quick:
        case_sizes = list(dict.fromkeys(size.capped(**QUICK | case.quick) for size in case_sizes))
    return case_sizes


def main() -> None:
    chosen = arguments()
    cases = select(chosen.select)
    if chosen.list:
        for case in cases:
            swept = f"; {case.axis} {', '.join(f'{v:,}' for v in case.values)}" if case.axis else ""
            print(f"{case.group:13s} {case.name:24s} {case.title}{swept}")
        return
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.profile:
        parts = []
        for case in cases:
            parts.append(in_child(1, profile_case, case.name, sizes(case, chosen)[-1]))
            print(parts[-1], flush=True)
        (chosen.out / "profile.md").write_text("\n".join(parts), encoding="utf-8")
        return
    options = Options(
        chosen.repeats,
        tuple(chosen.peers),
        chosen.budget,
        chosen.threads,
        not (chosen.no_memory or chosen.quick),
        chosen.max_memory,
        chosen.limit or 300 + 20 * chosen.budget,
        chosen.clock == "cpu",
        chosen.models,
    )
    if chosen.quick:
        options = replace(options, repeats=1, budget=1.0)
    measure(cases, chosen, options)


def measure(cases: list[Case], chosen: argparse.Namespace, options: Options) -> None:
    """Measure the cases, and write the files as results come in."""
    head = environment(options)
    print(head)
    blocks: list[str] = []
    raw, judged = [], []
    figures: dict[str, list] = {}
    for case in cases:
        points = []
        blocks.append(f"### {case.title}")
        print(f"\n{blocks[-1]}")
        for size in sizes(case, chosen):
            fewer = replace(options, repeats=-(-options.repeats // 2)) if case.axis else options
            results = run(case, size, fewer)
            points.append((size, results))
            blocks.append(table(case, size, results))
            print(f"\n{blocks[-1]}", flush=True)
            judged += [(case.name, met, line) for met, line in verdicts(case, size, results)]
            raw.append(
                {"case": case.name, "size": asdict(size), "contenders": [asdict(out) for out in results]}
            )
            text = json.dumps({"environment": head, "results": raw}, indent=1)
            (chosen.out / "results.json").write_text(text, encoding="utf-8")
            write(chosen.out, head, judged, blocks, {})
        if case.figure:
            figures.setdefault(case.figure, []).append((case, points))
    print("\n".join(["", *write(chosen.out, head, judged, blocks, figures), f"written to {chosen.out}"]))


def write(
    out: Path, head: str, judged: list[tuple], blocks: list[str], figures: dict[str, list]
) -> list[str]:
    """Write the tables and the pictures, and return a line for each target."""
    targets = [f"- `{name}`: {line}" for name, _, line in judged]
    parts = [
        "# Benchmarks",
        head,
        *(["## Targets", "\n".join(targets)] if targets else []),
        "## Results",
        *blocks,
    ]
    for name, sweeps in figures.items():
        draw(sweeps, out / f"{name}.png")
        parts.append(f"![Seconds by size]({name}.png)")
    (out / "results.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return targets


if __name__ == "__main__":
    main()
