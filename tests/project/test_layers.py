"""Use private names only inside their sub-package; `lint-imports` checks the direction of imports."""

import ast
from pathlib import Path

import pytest

import skglex

ROOT = Path(skglex.__file__).parent


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
