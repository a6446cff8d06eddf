"""Build the wheel and the sdist, and try them in empty environments, as those who install a release do.

    python tools/release.py                      # Python 3.11 to 3.14: the commands, and the core of the tests
    python tools/release.py 3.13 --full          # all of the default tests
    python tools/release.py --no-tests           # a few minutes: build, install, and the commands
    python tools/release.py --keep dist          # keep the two files

A wheel must hold all that the package needs and nothing else, an sdist all that builds and tests it. In each empty
environment the wheel is installed with the extra ``report``, and the commands run on models trained there. Then the
tests of the sdist run against the installed package, in a folder where the source of the package is not. The last
environment installs the sdist.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

from version_matrix import LEFT_OUT, ROOT, find_python

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
IN_WHEEL = {
    "skglex/py.typed",
    "skglex/__main__.py",
    "skglex/datasets/data/README.md",
    "skglex/_explorer/page/page.html",
}
IN_SDIST = {
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "tests/conftest.py",
    "docs/index.rst",
}
# Train two models, write them and a table to files, and use them as somebody without Python would.
TRY_COMMANDS = """
import sys
import numpy as np, pandas as pd, xgboost, lightgbm, skglex
from skglex._command_line import main
assert "site-packages" in skglex.__file__, skglex.__file__
rng = np.random.default_rng(0)
frame = pd.DataFrame({"age": rng.integers(20, 70, 300), "job": rng.choice(["a", "b", "c"], 300)})
X, y = frame.astype({"job": "category"}), frame["age"] * (frame["job"] == "a")
xgboost.XGBRegressor(n_estimators=5, enable_categorical=True).fit(X, y).save_model("x.json")
lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y).booster_.save_model("l.txt")
for name in ["rows.csv", "rows.parquet"]:
    getattr(frame.assign(y=y), f"to_{name[5:]}")(name, index=False)
for model in ["x.json", "l.txt"] if xgboost.__version__ >= "3.1" else ["l.txt"]:
    for rows in ["rows.csv", "rows.parquet"]:
        assert main(["summary", model, rows, "-q"]) == 0
        assert main(["shap", model, rows, "-q", "-o", "out.parquet"]) == 0
        assert main(["debias", model, rows, "--remove", "job", "-q", "-o", "out.csv"]) == 0
        assert main(["report", model, rows, "--target", "y", "-q", "-o", "report.html"]) == 0
open("m.cbm", "wb").write(b"CBM1")
assert main(["summary", "m.cbm"]) == 2
"""


def run(command: list[object], folder: Path) -> str:
    """Run a command, and return its output; stop with the end of the output if it fails."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env["MPLBACKEND"] = "agg"
    text = [str(part) for part in command]
    done = subprocess.run(
        text, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        print("\n".join(done.stdout.splitlines()[-60:]))
        raise SystemExit(f"FAILED with exit code {done.returncode}: {' '.join(text)[:300]}")
    return done.stdout


def new_environment(python: str, folder: Path) -> Path:
    """Return the Python of an empty environment."""
    run([python, "-m", "venv", folder], folder.parent)
    return folder / "bin" / "python"


def build(folder: Path) -> tuple[Path, Path]:
    """Build from a copy of what a fresh clone has; return the wheel and the sdist."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
    python = new_environment(sys.executable, folder / "builder")
    run([python, "-m", "pip", "install", "-q", "build"], folder)
    # The wheel is built from the sdist, so that both hold what they need.
    run([python, "-m", "build", "--outdir", folder / "dist", tree], folder)
    (wheel,), (sdist,) = (list((folder / "dist").glob(ending)) for ending in ("*.whl", "*.tar.gz"))
    check_contents(wheel, sdist)
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path) -> None:
    """Raise unless the files hold all that they should, and the wheel nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    with tarfile.open(sdist) as archive:
        source = {name.partition("/")[2] for name in archive.getnames()}
    page = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "skglex/_explorer/page").rglob("*.*")
        if path.is_file()
    }
    missing = sorted((IN_WHEEL | page) - names) + sorted((IN_SDIST | IN_WHEEL | page) - source)
    others = sorted(
        name for name in names if not name.startswith(("skglex/", "skglex-")) or "__pycache__" in name
    )
    if missing or others:
        raise SystemExit(f"FAILED: the files lack {missing}; the wheel should not hold {others}")
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 2**20:.1f} MB" for path in (wheel, sdist))
    print(f"built {sizes}: {len(names)} files in the wheel", flush=True)


def try_release(python: str, wheel: Path, sdist: Path, folder: Path, tests: str | None) -> str:
    """Install the wheel into an empty environment and use it; return what was done."""
    own = new_environment(python, folder / "environment")
    (work := folder / "work").mkdir()
    run([own, "-m", "pip", "install", "-q", f"{wheel}[report]"], folder)
    version = run([own.with_name("skglex"), "--version"], work).strip()
    if run([own, "-m", "skglex", "--version"], work).strip() != version:
        raise SystemExit("FAILED: skglex and python -m skglex have other versions")
    run([own, "-c", TRY_COMMANDS], work)
    if tests is None:
        return f"{version}: commands"
    run([own, "-m", "pip", "install", "-q", f"{wheel}[test]"], folder)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (tree,) = folder.glob("skglex-*")
    shutil.rmtree(tree / "skglex")  # The tests must use the package that is installed.
    last = run([own, "-m", "pytest", "-q", "-n", "2", *tests.split(), "tests"], tree).strip().splitlines()[-1]
    return f"{version}: commands; tests: {last.strip('= ')}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "pythons", nargs="*", metavar="3.X", help=f"versions of Python; default: {' '.join(PYTHONS)}"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--full", action="store_true", help="run all of the default tests, not only their core")
    how.add_argument("--no-tests", action="store_true", help="only install the files and run the commands")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="copy the two files to this folder")
    args = parser.parse_args()
    tests = None if args.no_tests else "" if args.full else "-m core"
    with tempfile.TemporaryDirectory(prefix="skglex-release-") as name:
        folder = Path(name)
        wheel, sdist = build(folder)
        for version in args.pythons or PYTHONS:
            if (python := find_python(version)) is None:
                print(
                    f"Python {version}: left out, since it is not on the path and not among pyenv's",
                    flush=True,
                )
                continue
            started = time.perf_counter()
            with tempfile.TemporaryDirectory(prefix="skglex-release-") as place:
                result = try_release(python, wheel, sdist, Path(place), tests)
            print(f"Python {version} ({time.perf_counter() - started:.0f} s): {result}", flush=True)
        run(
            [new_environment(sys.executable, folder / "from_sdist"), "-m", "pip", "install", "-q", sdist],
            folder,
        )
        print("the sdist installs", flush=True)
        if args.keep is not None:
            args.keep.mkdir(parents=True, exist_ok=True)
            for path in (wheel, sdist):
                shutil.copy(path, args.keep)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
