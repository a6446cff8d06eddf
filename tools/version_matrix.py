"""Run tests against the oldest and newest supported versions, each in a throw-away environment.

    python tools/version_matrix.py                      # all rows
    python tools/version_matrix.py oldest xgboost-2.1   # some rows
    python tools/version_matrix.py --tests tests/readers/test_lightgbm.py newest-3.13

The package is built once as a wheel, installed in every environment, and tested from there, not from the source tree.
The oldest versions are read from ``pyproject.toml``, so the pins there are the ones tested. Pythons are found as
``python3.X`` on the path or among pyenv's. Not part of ``.ci/run``: one row takes minutes, most of it installing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What the default tests need besides the runtime dependencies.
TEST_PACKAGES = ["hypothesis", "lightgbm", "pandas", "polars", "pyarrow", "pytest", "shap", "skops"]
DEFAULT_TESTS = [
    "tests/test_decomposer.py",
    "tests/test_remover.py",
    "tests/export/test_store.py",
    "tests/test_concurrency.py",
    "tests/input/test_array_api.py",
    "tests/readers/test_lightgbm.py",
]
SHOWN = ["numpy", "scipy", "scikit-learn", "xgboost", "lightgbm", "numba", "treelite", "joblib", "pandas"]


def pins() -> dict[str, str]:
    """Lower bounds of pyproject.toml, by package: of the runtime dependencies and of the extra ``test``."""
    lines = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    found = (re.match(r"([\w-]+)(?:\[\w+\])?>=([\w.]+)", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def oldest(*packages: str) -> list[str]:
    """Requirements of the oldest supported versions of some packages, of all where none is named."""
    runtime = [re.split(r"[\[>]", line)[0] for line in PROJECT["dependencies"]]
    return [f"{name}=={pins()[name]}.*" for name in packages or [*runtime, *TEST_PACKAGES]]


@dataclass
class Row:
    """One environment: a Python, and what is held back in it (all else is the newest that installs)."""

    python: str
    held: list[str] = field(default_factory=list)


ROWS = {
    "oldest": Row("3.11", oldest()),
    # scikit-learn 1.6 reads the column names of a polars frame through a protocol that polars 2 has dropped
    "sklearn-1.6": Row("3.11", oldest("scikit-learn", "polars")),
    "xgboost-2.1": Row("3.12", oldest("xgboost")),
    # newer versions of pyarrow need NumPy 2, and say so only when imported
    "numpy-1.26": Row("3.12", oldest("numpy", "pyarrow")),
    "newest-3.11": Row("3.11"),
    "newest-3.12": Row("3.12"),
    "newest-3.13": Row("3.13"),
}


def find_python(version: str) -> str:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [*sorted(pyenv.glob(f"versions/{version}.*/bin/python")), shutil.which(f"python{version}")]
    for candidate in filter(None, candidates):
        asked = [str(candidate), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(asked, capture_output=True, text=True).stdout.strip() == version:
            return str(candidate)
    raise SystemExit(f"no Python {version} on the path or among pyenv's: pyenv install {version}")


def run_row(row: Row, wheel: Path, tests: list[str], folder: Path) -> tuple[str, str]:
    """Install and test one row. Returns the last line of the tests, and the versions."""
    subprocess.run([find_python(row.python), "-m", "venv", folder / "venv"], check=True)
    python = str(folder / "venv" / "bin" / "python")
    held = {re.split("=", line)[0] for line in row.held}
    packages = [*row.held, *(name for name in TEST_PACKAGES if name not in held), str(wheel)]
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        return f"does not install: {done.stderr.strip().splitlines()[-1]}", ""
    listed = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True)
    versions = dict(line.split("==", 1) for line in listed.stdout.splitlines() if "==" in line)
    shown = ", ".join(f"{name} {versions[name]}" for name in SHOWN if name in versions)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    # the oldest pandas and numpy warn of what newer ones have changed: not what is asked here
    command = [python, "-m", "pytest", "-q", "-x", "-W", "default", "-p", "no:cacheprovider", *tests]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    if done.returncode:
        print("\n".join(lines[-60:]))
    return ("ok: " if done.returncode == 0 else "FAILED: ") + lines[-1].strip("= "), shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="row", help=f"of {', '.join(ROWS)}; default: all")
    parser.add_argument("--tests", nargs="+", default=DEFAULT_TESTS, help="arguments of pytest")
    args = parser.parse_args()
    if unknown := set(args.rows) - set(ROWS):
        parser.error(f"no row {', '.join(sorted(unknown))}: rows are {', '.join(ROWS)}")
    failed = False
    with tempfile.TemporaryDirectory(prefix="skglex-matrix-") as temporary:
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", temporary, str(ROOT)]
        subprocess.run(build, check=True)
        (wheel,) = Path(temporary).glob("*.whl")
        for name in args.rows or ROWS:
            folder = Path(temporary) / name
            folder.mkdir()
            started = time.perf_counter()
            result, versions = run_row(ROWS[name], wheel, args.tests, folder)
            shutil.rmtree(folder)
            failed |= not result.startswith("ok")
            took = time.perf_counter() - started
            print(f"{name} (Python {ROWS[name].python}, {took:.0f} s): {result}\n    {versions}", flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
