"""List and sort all public names, and keep their import cheap."""

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import skglex

MODULES = [
    "skglex",
    *(f"skglex.{name}" for name in ["datasets", "exceptions", "export", "inspection", "plotting"]),
]
OPTIONAL = [
    "interpret",
    "lightgbm",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "openpyxl",
    "pandas",
    "polars",
    "shap",
    "shapiq",
    "sqlglot",
]
# scikit-learn and XGBoost import pandas if it is installed, so only further imports count.
PRINT_OPTIONAL_IMPORTS = """
import sys
import joblib, numba, scipy, sklearn, treelite, xgboost
before = set(sys.modules)
import {modules}
print(*set({optional}) & (set(sys.modules) - before))
"""
IMPORT_WITHOUT_OPTIONAL = """
import sys
sys.modules.update(dict.fromkeys({optional}))
import {modules}
"""


@pytest.mark.parametrize("module", MODULES)
def test_all_is_sorted_and_importable(module):
    public = importlib.import_module(module)
    assert public.__all__ == sorted(set(public.__all__))
    for name in public.__all__:
        assert getattr(public, name).__doc__


def test_version_is_the_projects():
    pyproject = Path(__file__).parents[2] / "pyproject.toml"
    assert skglex.__version__ == tomllib.loads(pyproject.read_text())["project"]["version"]


@pytest.mark.parametrize("code", [PRINT_OPTIONAL_IMPORTS, IMPORT_WITHOUT_OPTIONAL], ids=["with", "without"])
def test_import_leaves_optional_libraries_alone(code):
    command = [sys.executable, "-c", code.format(modules=", ".join(MODULES), optional=OPTIONAL)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert not run.stdout.split()
