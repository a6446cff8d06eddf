"""Require complete docstrings of all public names, with an example that calls them."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

validate = pytest.importorskip("numpydoc.validate")

# These rules are about style: extended summaries, "See Also", the mood of the summary, a period after each item.
FREE = {"ES01", "SA01", "SA04", "SS05", "PR09", "RT05", "YD01"}
# The docstring of the class covers these for its methods.
IN_CLASS = {"EX01", "GL08"}
# scikit-learn documents these methods.
OF_SKLEARN = {"fit_transform", "get_metadata_routing"}
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "api.rst"


def documented():
    """Yield the names in the API reference."""
    module = ""
    for line in REFERENCE.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r"   [A-Za-z]\w+", line):
            yield module, line.strip()


NAMES = sorted(documented())


def find(module, name):
    return getattr(import_module(module), name)


def members(cls):
    """Yield the public methods and properties that the package itself defines."""
    for owner in inspect.getmro(cls):
        if owner.__module__.startswith("skglex"):
            for name, value in vars(owner).items():
                if not name.startswith("_") and (
                    callable(value) or isinstance(value, (property, classmethod))
                ):
                    yield name, value


def errors(name, free):
    return [f"{code}: {text}" for code, text in validate.validate(name)["errors"] if code not in free]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_docstring(module, name):
    # Only a decomposer creates components, and only a function a report, so nobody needs their parameters.
    free = FREE | {"PR01"} if module == "skglex.components" or name == "Report" else FREE
    assert not errors(f"{module}.{name}", free)


CLASSES = [(module, name) for module, name in NAMES if inspect.isclass(find(module, name))]


@pytest.mark.parametrize(("module", "name"), CLASSES)
def test_methods(module, name):
    cls = find(module, name)
    examples = "\n".join(re.findall(r"(?:>>>|\.\.\.) (.*)", cls.__doc__))
    for member, value in members(cls):
        if member in OF_SKLEARN:
            continue
        path = f"{module}.{name}.{member}"
        if isinstance(value, property):
            assert value.__doc__ or re.search(rf"^{member} : ", inspect.getdoc(cls), re.MULTILINE), path
            continue
        assert not errors(path, FREE | IN_CLASS), path
        doc = inspect.getdoc(getattr(cls, member))
        assert ">>>" in doc or re.search(rf"\.{member}\b", examples), f"no example calls {path}"


@pytest.mark.parametrize("module", sorted({module for module, _ in NAMES}))
def test_reference_is_complete(module):
    internal = {"skglex.components"}  # These are public for imports only.
    if module not in internal:
        assert {name for m, name in NAMES if m == module} == set(import_module(module).__all__)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_defaults_are_those_documented(module, name):
    value = find(module, name)
    methods = [m for _, m in members(value) if inspect.isfunction(m)] if (module, name) in CLASSES else []
    for function in [value, *methods]:
        written = dict(re.findall(r"^(\w+) : .*?default=(.+)$", inspect.getdoc(function) or "", re.MULTILINE))
        parameters = inspect.signature(function).parameters if written else {}
        for parameter in written.keys() & parameters.keys():
            actual = parameters[parameter].default
            shown = {repr(actual), f'"{actual}"', f"numpy.{getattr(actual, '__name__', '')}"}
            if isinstance(actual, int):
                shown.add(f"{actual:_}")
            assert written[parameter] in shown, f"{function.__qualname__}: {parameter}"
