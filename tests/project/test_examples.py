"""Test that every example, and the reproduction of the paper, run without a warning."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    _run(str(path), cwd=tmp_path)


@pytest.mark.slow
def test_paper(tmp_path):
    _run("-m", "examples.paper", "--quick", "--output", str(tmp_path), cwd=ROOT)
    page = (tmp_path / "paper.rst").read_text(encoding="utf-8")
    images = {path.name for path in (tmp_path / "images").iterdir()}
    assert set(re.findall(r"image:: images/(\S+)", page)) == images
    # The committed page must have the same sections and pictures; its numbers are those of the full run.
    committed = (ROOT / "docs" / "paper.rst").read_text(encoding="utf-8")
    structure = re.compile(r"^(.+)\n[-=~]{4,}$|image:: (\S+)", re.MULTILINE)
    assert structure.findall(page) == structure.findall(committed)
    assert images <= {path.name for path in (ROOT / "docs" / "images").iterdir()}


def _run(*arguments, cwd):
    # One thread each, because several test workers share the cores.
    environment = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", *arguments]
    subprocess.run(command, cwd=cwd, env=environment, check=True, capture_output=True, timeout=600)
