"""Stay within the memory budget, under a hard limit of the operating system."""

import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

from skglex._utils._memory import scaled

LIMITED = Path(__file__).parents[1] / "support" / "limited.py"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, limits the address space")


# An array of 10,000 leaves by rows would take gigabytes; a copy of the rows, or of the result, tens of
# megabytes to hundreds. The measured peak is at most 40 MiB beyond the result, with 64 MiB of working memory.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "n_rows"),
    [
        ("fit", 400_000),
        ("transform", 400_000),
        ("shap_values", 400_000),
        ("shap_interaction_values", 100_000),
        ("remove", 400_000),
    ],
)
def test_peak_memory(method, n_rows):
    command = [sys.executable, str(LIMITED), method, str(n_rows), "64", "100"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]


def test_budgets_follow_the_working_memory():
    for working_memory, expected in ((1024, 2048), (4096, 2048), (256, 512), (1, 2), (0, 1)):
        with sklearn.config_context(working_memory=working_memory):
            assert scaled(2048) == expected
