"""The rules of the house that no linter checks: short functions, few arguments of kernels, few rooms, no circles."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import skglex

ROOT = Path(skglex.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
MOST_LINES = 70
MOST_ARGUMENTS = 12
NO_VERB = re.compile(
    r"(A|All|An|As|From|How|It|Of|One|Some|The|These|This|Two|What|Where|Whether|Which|Who"
    r"|Names|Rows|Values|Tables|Weights|Components)\b"
)


def functions(path):
    """Yield the functions and methods of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def body_lines(function):
    """Count the lines of a function's body, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_are_short(path):
    long = {f.name: n for f in functions(path) if (n := body_lines(f)) > MOST_LINES}
    assert not long, f"bodies of more than {MOST_LINES} lines: {long}"


@pytest.mark.parametrize(
    "path", [p for p in MODULES if "_kernels" in p.parts], ids=lambda path: str(path.relative_to(ROOT))
)
def test_kernels_have_few_arguments(path):
    many = {f.name: n for f in functions(path) if (n := len(f.args.args)) > MOST_ARGUMENTS}
    assert not many, f"more than {MOST_ARGUMENTS} arguments: {many}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_begin_with_a_verb(path):
    """The linter's rule D401 knows verbs in the wrong form only; a noun phrase or a question passes it."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = [ast.get_docstring(node) or "Do" for node in nodes if isinstance(node, kinds)]
    assert not [docstring for docstring in docstrings if NO_VERB.match(docstring)]


def test_the_ground_floor_is_small():
    """A new room needs a reason: most new code belongs into a folder that is there."""
    entries = {p.name for p in ROOT.iterdir() if p.name not in ("py.typed", "__pycache__")}
    later = {"_component_model.py", "_kept", "_mixed_rows", "_explorer", "_command_line", "__main__.py"}
    assert len(entries - later) <= 22, sorted(entries)


def test_no_import_cycles():
    """Modules that import each other while they are loaded; imports inside functions do not count."""
    graph = {module_name(path): set(imports_on_load(path)) for path in MODULES}
    known = set(graph)
    TopologicalSorter({name: found & known for name, found in graph.items()}).prepare()


def module_name(path):
    """Return the dotted name of a module."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_on_load(path):
    """Yield the modules that a module imports while it is loaded, itself and its folders left out."""
    name = module_name(path)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skglex"):
            if not name.startswith(f"{node.module}.") and node.module != name:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("skglex"))
