"""Test that every example, and the reproduction of the paper, run without a warning."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def _block_names(block):
    """Return the names of figures and axes that a block uses and that it sets, outside functions."""
    used, given = set(), set()
    for statement in ast.parse(block).body:
        if isinstance(statement, ast.FunctionDef):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in ("figure", "axes", "ax", "fig"):
                (given if isinstance(node.ctx, ast.Store) else used).add(node.id)
    return used, given


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_figure_is_finished_in_its_block(path):
    """The gallery takes all open figures after each block, so later changes would be lost."""
    for block in path.read_text(encoding="utf-8").split("\n# %%\n"):
        used, given = _block_names(block)
        assert used <= given, block


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_output_names_no_folder_of_this_machine(path):
    assert not re.search(r"resolve\(\)|absolute\(\)|getcwd|__file__", path.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    _run(str(path), cwd=tmp_path)


@pytest.mark.slow
def test_paper(tmp_path):
    _run("-m", "examples.paper", "--quick", "--output", str(tmp_path), cwd=ROOT)
    page = (tmp_path / "method" / "paper.rst").read_text(encoding="utf-8")
    images = {path.name for path in (tmp_path / "images").iterdir()}
    assert set(re.findall(r"image:: /images/(\S+)", page)) == images
    # The committed page must have the same sections and pictures; its numbers are those of the full run.
    committed = (ROOT / "docs" / "method" / "paper.rst").read_text(encoding="utf-8")
    structure = re.compile(r"^(.+)\n[-=~]{4,}$|image:: (\S+)", re.MULTILINE)
    assert structure.findall(page) == structure.findall(committed)
    assert images <= {path.name for path in (ROOT / "docs" / "images").iterdir()}


def _run(*arguments, cwd):
    # One thread each, because several test workers share the cores.
    environment = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", *arguments]
    subprocess.run(command, cwd=cwd, env=environment, check=True, capture_output=True, timeout=600)
