"""Run the code of the documentation, and find the modules that it names."""

import doctest
import re
import runpy
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import xgboost  # noqa: F401  its thread pool can only be limited once it is loaded
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[2]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
OPTIONAL = {doctest.register_optionflag(f"NEEDS_{name.upper()}"): name for name in ("shapiq", "interpret")}


@pytest.fixture(autouse=True)
def one_thread():
    """Use one thread: small models train faster so if several processes share the cores."""
    with threadpool_limits(1):
        yield


PAGES = sorted([*(ROOT / "docs").glob("*.rst"), *(ROOT / "docs" / "how_to").glob("*.rst")])


class Parser(doctest.DocTestParser):
    """Skip examples that need a library that is not installed everywhere."""

    def parse(self, string, name="<string>"):
        parts = super().parse(string, name)
        for part in parts:
            for flag in getattr(part, "options", {}).keys() & OPTIONAL:
                part.options[doctest.SKIP] = find_spec(OPTIONAL[flag]) is None
        return parts


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_page(page):
    how = {"module_relative": False, "optionflags": OPTIONS, "encoding": "utf-8", "parser": Parser()}
    result = doctest.testfile(str(page), **how)
    assert result.failed == 0
    assert result.attempted or page.stem != "user_guide"


def test_readme():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    prediction = names["model"].predict(names["X_test"])
    assert names["margin"].to_numpy() == pytest.approx(prediction, rel=1e-4, abs=1e-2)


REFERENCE = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
EXAMPLES = [path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.py")]
EXAMPLES += [
    example.source + example.want
    for page in PAGES
    for example in Parser().get_examples(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("name", re.findall(r"^   ([A-Za-z]\w+)$", REFERENCE, re.MULTILINE))
def test_every_public_name_is_used(name):
    """The gallery or the guide must use every name, since the reference alone does not show its purpose."""
    assert any(re.search(rf"\b{name}\b", text) for text in EXAMPLES)


PACKAGE = ROOT / "skglex"
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))


def missing(names, roots):
    """Return the names that are neither files below one of the roots nor defined by the package."""
    defined = r"(?m)^ *(?:(?:def|class) +{0}\b|{0}(?:: .+| = ))"
    return [
        name
        for name in names
        if not any((root / name).exists() for root in roots)
        and not re.search(defined.format(re.escape(name.rpartition(".")[2])), SOURCE)
    ]


def test_architecture_names_what_exists():
    page = (ROOT / "docs" / "architecture.rst").read_text(encoding="utf-8")
    names = re.findall(r"``([^`]+)``", page)
    assert len(names) > 30
    assert not missing([name for name in names if name not in ("skglex/", "__all__")], [PACKAGE])


def test_architecture_picture():
    folder = ROOT / "docs" / "images"
    picture = (folder / "architecture.svg").read_text(encoding="utf-8")
    assert picture == runpy.run_path(str(folder / "architecture.py"))["draw"]()
    names = [name for line in re.findall(r"monospace\">([^<]+)<", picture) for name in line.split(", ")]
    assert len(names) > 12
    assert not missing(names, [PACKAGE])


def test_listed_types_exist():
    """The types to trust in docs/persistence.rst exist; some names start at the package at the start of their line."""
    page = (ROOT / "docs" / "persistence.rst").read_text(encoding="utf-8")
    names = []
    for item in re.findall(r"(?ms)^\* (``skglex\..*?)(?=\n\*|\n\n)", page):
        package, *below = re.findall(r"``([\w.*]+)``", item)
        names += [
            package,
            *(name if name.startswith("skglex") else package.rstrip("*") + name for name in below),
        ]
    assert len(names) > 20
    for name in names:
        module, _, member = name.rpartition(".")
        assert member == "*" or hasattr(import_module(module), member), name


def test_contributing_names_what_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = re.findall(r"`([\w/.]+\.(?:py|rst|md|png))`", text)
    roots = [ROOT, PACKAGE, ROOT / "benchmarks", PACKAGE / "ensemble"]
    written = {"results.md", "sizes.png", "paper.png"}  # The benchmarks write these.
    assert not missing([path for path in paths if path not in written], roots)
    elsewhere = {"gblinear", "fit", "predict", "test", "ValueError"}
    recipe = text[text.index("## Adding a reader") : text.index("## Versions")]
    names = re.findall(r"`(_?[A-Za-z]\w+)(?:\([^`]*\))?`", recipe)
    assert not missing([name for name in names if name not in elsewhere], roots)
