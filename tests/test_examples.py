"""Every example runs, without a warning."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    # as many threads as there are workers would otherwise fight over the cores
    environment = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(path)]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=600)
