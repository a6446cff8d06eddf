"""Test the adapter for TreeBranchMarks against its interface, which this file repeats: it is no package to install."""

import importlib
import sys
from dataclasses import dataclass
from enum import Enum
from inspect import signature
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor

TASKS = (
    "path_dependent_shap",
    "path_dependent_interactions",
    "background_shap",
    "background_shap_interactions",
)


@dataclass
class Method:
    name: str
    label: str
    description: str = ""


@dataclass
class ApproachOutput:
    elapsed_s: float
    is_estimated: bool = False
    not_supported: bool = False
    memory_crash: bool = False
    estimation_description: str = ""


class Approach:
    def path_dependent_shap(self, trained_model, X_explain, X_background):
        return ApproachOutput(0.0, not_supported=True)

    path_dependent_interactions = background_shap = background_shap_interactions = path_dependent_shap


class Dataset:
    def load(self):
        return self.preprocess(None)


@pytest.fixture
def adapter(monkeypatch):
    """Import the adapter with a module that has the classes of TreeBranchMarks."""
    package = ModuleType("treebranchmarks")
    names = ("EnsembleType", "Experiment", "Mission", "MissionConfig", "ModelConfig", "Task")
    vars(package).update(dict.fromkeys(names, object))
    vars(package).update(Method=Method, ApproachOutput=ApproachOutput, Approach=Approach, Dataset=Dataset)
    vars(package)["TaskType"] = Enum("TaskType", {task.upper(): task for task in TASKS})
    monkeypatch.setitem(sys.modules, "treebranchmarks", package)
    name = "benchmarks.treebranchmarks_adapter"
    monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


def test_every_task_is_timed(adapter, monkeypatch):
    """Each task calls skglex twice, with its kind of weights and of result."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    model = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, X["a"] * X["b"])
    trained = SimpleNamespace(raw_model=model, params=SimpleNamespace(D=3, T=3))
    approach, found = adapter.SkglexApproach(), []
    call = approach._call
    monkeypatch.setattr(approach, "_call", lambda *args: found.append(call(*args)))
    for task in TASKS:
        method = getattr(approach, task)
        assert list(signature(method).parameters) == list(signature(getattr(Approach(), task)).parameters)
        out = method(trained, X[:20], X[20:] if task.startswith("background") else None)
        assert type(out) is ApproachOutput
        assert out.elapsed_s > 0
        assert not any((out.not_supported, out.is_estimated, out.memory_crash))
    assert len(found) == 2 * len(TASKS)
    path, path_pairs, background, background_pairs = found[::2]
    assert path.shape == background.shape == (20, 3)
    assert not np.allclose(path, background)
    for values, blocks in ((path, path_pairs), (background, background_pairs)):
        # The SHAP values are the sums over the pairs of each feature, the pair with itself included.
        added = np.zeros_like(values)
        for block in blocks:
            for (i, j), column in zip(block.pairs, block.values.T):
                added[block.rows, i] += column
                added[block.rows, j] += column * (i != j)
        np.testing.assert_allclose(added, values, atol=1e-12)
    assert isinstance(approach.method, Method)
    assert approach.name


def test_too_little_memory_is_reported(adapter, monkeypatch):
    approach = adapter.SkglexApproach()

    def refuse(*args):
        raise MemoryError("needs 40 GB")

    monkeypatch.setattr(approach, "_call", refuse)
    out = approach.background_shap(SimpleNamespace(raw_model=None), None, np.ones((2, 1)))
    assert out.memory_crash


def test_data_sets(adapter, tmp_path):
    X, y = adapter.DrawnDataset("bike", 50, 13, tmp_path).load()
    assert X.shape == (50, 13)
    assert len(y) == 50
