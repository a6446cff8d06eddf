"""Use private names only inside their sub-package; `lint-imports` checks the direction of imports."""

import ast
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import skglex
from skglex import FeatureRemover, GlexDecomposer

ROOT = Path(skglex.__file__).parent
# The modules of the estimators, and planted forests, which have private names of their own.
ESTIMATORS = {
    "_base.py",
    "_component_model.py",
    "_decomposer.py",
    "_remover.py",
    "_readers/_planted_forest.py",
}
DOOR = "_explained"


def imports(path):
    """Yield the modules, and names from them, that a module imports at any depth."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("skglex"):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("skglex"))


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_private_names_stay_at_home(path):
    home = ["skglex", *path.relative_to(ROOT).parts[:-1]]
    for module, name in imports(path):
        parts = [*module.split("."), name]
        for depth, part in enumerate(parts):
            private = part.startswith("_") and not part.startswith("__")
            assert not private or home[:depth] == parts[:depth], f"{module} {name}"


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def private_names():
    """Return the private attributes of fitted decomposers and removers, of the classes and of the instances."""
    X = np.arange(8.0).reshape(4, 2)
    model = DecisionTreeRegressor().fit(X, X[:, 0])
    names = set()
    for estimator in (GlexDecomposer(model).fit(X), FeatureRemover(model, [0]).fit(X)):
        names.update(vars(estimator))
        for cls in type(estimator).__mro__:
            if cls.__module__.startswith("skglex"):
                names.update(vars(cls))
    return set(filter(is_private, names))


def own_names(tree):
    """Yield the methods and the attributes that classes of a module define for themselves."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.Attribute(ast.Name(id="self"), name, ast.Store()):
                yield name


def reads(source, names):
    """Yield ``owner.name`` for every access to one of the names, unless the owner's class is in the same module."""
    tree = ast.parse(source)
    names = names - set(own_names(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                continue
            case ast.Attribute(owner, name) | ast.Call(
                ast.Name(id="getattr" | "hasattr"), [owner, ast.Constant(name), *_]
            ) if name in names:
                yield f"{ast.unparse(owner)}.{name}"


def test_one_door():
    """Check that other modules read decomposers and removers through public names and `_explained` only."""
    names = private_names() - {DOOR}
    assert {"_fitted", "_decomposition", "_debiased", "_removed"} <= names
    for path in sorted(ROOT.rglob("*.py")):
        module = path.relative_to(ROOT).as_posix()
        if module not in ESTIMATORS and not module.startswith("_planted/"):
            assert not list(reads(path.read_text(encoding="utf-8"), names)), module


def test_one_door_sees_other_ways_in():
    source = "d._fitted.grid; self._source._decomposition; getattr(d, '_fitted'); self._fitted; d._explained"
    found = sorted(reads(source, private_names() - {DOOR}))
    assert found == ["d._fitted", "d._fitted", "self._source._decomposition"]
