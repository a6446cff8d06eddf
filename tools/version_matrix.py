"""Run README's two commands with the oldest and the newest supported versions, each in a throw-away environment.

    python tools/version_matrix.py                            # all rows: the example, and the core of the tests
    python tools/version_matrix.py --full newest-3.13 oldest  # both commands in full
    python tools/version_matrix.py oldest --tests tests/readers/test_lightgbm.py

Every row runs the commands as README states them, in a copy of the source tree, with the row's Python as ``python3``.
The oldest versions are read from ``pyproject.toml``, so the pins there are the ones tested. Pythons are found as
``python3.X`` on the path or among pyenv's; a row whose Python is missing is left out with a message.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# A copy of the tree has what a fresh clone has.
LEFT_OUT = shutil.ignore_patterns(
    ".git",
    ".venv*",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
    "_build",
    "auto_examples",
    "generated",
    "build",
)
SHOWN = [
    "numpy",
    "scipy",
    "scikit-learn",
    "xgboost",
    "lightgbm",
    "catboost",
    "numba",
    "treelite",
    "pandas",
    "polars",
]


def oldest(*packages: str) -> list[str]:
    """Return pins of the oldest supported versions of some packages, or of all that the tests need if none is named."""
    lines = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    found = (re.match(r"([\w-]+)(?:\[\w+\])?>=([\w.]+)", line) for line in lines)
    pins = {match[1]: match[2] for match in found if match}
    return [f"{name}=={pins[name]}.*" for name in packages or pins]


@dataclass
class Row:
    """Describe one environment: a Python, and the pins in it; everything else is the newest that installs."""

    python: str
    pins: list[str] = field(default_factory=list)


ROWS = {
    "oldest": Row("3.11", oldest()),
    # scikit-learn 1.6 reads the column names of a polars frame through a protocol that polars 2 has dropped.
    "sklearn-1.6": Row("3.11", oldest("scikit-learn", "polars")),
    "xgboost-2.1": Row("3.12", oldest("xgboost")),
    # Newer versions of pyarrow need NumPy 2, and say so only when imported.
    "numpy-1.26": Row("3.12", oldest("numpy", "pyarrow")),
    "newest-3.11": Row("3.11"),
    "newest-3.12": Row("3.12"),
    "newest-3.13": Row("3.13"),
}


def find_python(version: str) -> str | None:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"versions/{version}.*/bin/python"))]
    for candidate in filter(None, candidates):
        asked = [str(candidate), "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(asked, capture_output=True, text=True).stdout.strip() == version:
            return str(candidate)
    return None


def readme_command(marker: str) -> str:
    """Return the code of README's first fenced block after a marker."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.split(f"<!-- {marker} -->")[1].split("```")[1].partition("\n")[2]


def run_row(row: Row, python: str, options: str, folder: Path) -> tuple[str, str]:
    """Run both commands of the README. Returns their last line, of the first if it fails, and the versions."""
    tree, pins, bin_folder = folder / "tree", folder / "pins.txt", folder / "bin"
    shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
    pins.write_text("\n".join(row.pins), encoding="utf-8")
    bin_folder.mkdir()
    (bin_folder / "python3").write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n', encoding="utf-8")
    (bin_folder / "python3").chmod(0o755)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"PATH": f"{bin_folder}:{env['PATH']}", "MPLBACKEND": "agg", "PYTEST_ADDOPTS": options}
    # Older versions of pandas and NumPy warn of what newer ones have changed, which is not asked here.
    env |= {"PIP_CONSTRAINT": str(pins), "PYTEST_ADDOPTS": f"{options} -W default"} if row.pins else {}
    for marker in ("main-command", "test-command"):
        command = ["bash", "-euo", "pipefail", "-c", readme_command(marker)]
        done = subprocess.run(
            command, cwd=tree, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        lines = done.stdout.strip().splitlines() or ["no output"]
        if done.returncode:
            print("\n".join(lines[-60:]))
            return f"FAILED in README's {marker}: {lines[-1].strip('= ')}", ""
    listed = subprocess.run(
        [tree / ".venv/bin/pip", "list", "--format=freeze"], capture_output=True, text=True
    )
    versions = dict(line.split("==", 1) for line in listed.stdout.splitlines() if "==" in line)
    shown = ", ".join(f"{name} {versions[name]}" for name in SHOWN if name in versions)
    return "ok: " + lines[-1].strip("= "), shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="row", help=f"of {', '.join(ROWS)}; default: all")
    parser.add_argument(
        "--full", action="store_true", help="run all of the default tests, not only their core"
    )
    parser.add_argument("--tests", nargs="+", default=[], help="arguments of pytest, in place of the core")
    args = parser.parse_args()
    if unknown := set(args.rows) - set(ROWS):
        parser.error(f"no row {', '.join(sorted(unknown))}: rows are {', '.join(ROWS)}")
    options = "" if args.full else shlex.join(args.tests) or "-m core"
    failed = False
    for name in args.rows or ROWS:
        row = ROWS[name]
        if (python := find_python(row.python)) is None:
            print(
                f"{name}: left out, since no Python {row.python} is on the path or among pyenv's", flush=True
            )
            continue
        with tempfile.TemporaryDirectory(prefix="skglex-matrix-") as folder:
            started = time.perf_counter()
            result, versions = run_row(row, python, options, Path(folder))
            took = time.perf_counter() - started
        failed |= not result.startswith("ok")
        print(f"{name} (Python {row.python}, {took:.0f} s): {result}\n    {versions}", flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
