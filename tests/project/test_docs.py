"""Test that the code of the documentation runs and prints the results shown, and that the names in it exist."""

import doctest
import re
import runpy
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
LIBRARIES = ("shapiq", "interpret", "fairlearn", "explainerdashboard", "sksurv")
OPTIONAL = {doctest.register_optionflag(f"NEEDS_{name.upper()}"): name for name in LIBRARIES}


DOCS = ROOT / "docs"
MADE = {"_build", "_templates", "auto_examples", "generated"}
PAGES = sorted(path for path in DOCS.rglob("*.rst") if not MADE & set(path.relative_to(DOCS).parts))
# The pages of these sections are about tasks.
TASKS = ("explain", "change", "compare", "big_and_deep", "how_to")


def page_name(path):
    return path.relative_to(DOCS).with_suffix("").as_posix()


class Parser(doctest.DocTestParser):
    """Skip examples whose optional library is not installed."""

    def parse(self, string, name="<string>"):
        parts = super().parse(string, name)
        for part in parts:
            for flag in getattr(part, "options", {}).keys() & OPTIONAL:
                part.options[doctest.SKIP] = find_spec(OPTIONAL[flag]) is None
        return parts


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_page(page):
    how = {"module_relative": False, "optionflags": OPTIONS, "encoding": "utf-8", "parser": Parser()}
    with warnings.catch_warnings():
        if page.stem == "explainerdashboard":
            warnings.simplefilter("ignore")  # The package warns, of pandas and of IPython.
        result = doctest.testfile(str(page), **how)
    assert result.failed == 0
    assert (
        result.attempted or page.stem == "index" or page.parent.name not in ("explain", "change", "compare")
    )


def test_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it writes a report
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["prediction"].to_numpy() == pytest.approx(
        names["model"].predict(names["X"]), rel=1e-4, abs=1e-2
    )
    assert names["rising"].monotonicity("temp").status == "monotone"


REFERENCE = (ROOT / "docs" / "reference" / "api.rst").read_text(encoding="utf-8")
EXAMPLES = [path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.py")]
EXAMPLES += [
    example.source + example.want
    for page in PAGES
    for example in Parser().get_examples(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("name", re.findall(r"^   ([A-Za-z]\w+)$", REFERENCE, re.MULTILINE))
def test_every_public_name_is_used(name):
    """An example of the gallery or a page must use the name, because the reference alone does not show its purpose."""
    assert any(re.search(rf"\b{name}\b", text) for text in EXAMPLES)


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name in TASKS], ids=page_name)
def test_page_links_to_the_reference(page):
    """The build checks that each link leads somewhere."""
    names = "|".join(re.findall(r"^   ([A-Za-z]\w+)$", REFERENCE, re.MULTILINE))
    link = rf"(?<!`)`(?:[^`<]+ <)?~?(?:[\w.]+\.)?(?:{names})(?:\.\w+)?>?`(?!`)"
    assert page.name == "index.rst" or re.search(link, page.read_text(encoding="utf-8"))


PACKAGE = ROOT / "skglex"
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
DRAWING = runpy.run_path(str(ROOT / "docs" / "images" / "architecture.py"))
FILES = [
    path.as_posix() for folder in ("skglex", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")
]


def missing(names, roots):
    """Return the names that are no file below any of the roots, and that the package does not define."""
    defined = r"(?m)^ *(?:(?:def|class) +{0}\b|{0}(?:: .+| = ))"
    return [
        name
        for name in names
        if not any((root / name).exists() for root in roots)
        and not any(path.endswith(f"/{name}") for path in FILES)
        and not re.search(defined.format(re.escape(name.rpartition(".")[2])), SOURCE)
    ]


def test_architecture_names_what_exists():
    page = (ROOT / "docs" / "contributors" / "architecture.rst").read_text(encoding="utf-8")
    names = re.findall(r"``([^`]+)``", page)
    assert len(names) > 30
    outside = ("skglex/", "pyproject.toml", "lint-imports")
    assert not missing([name for name in names if name not in outside], [PACKAGE])


@pytest.mark.parametrize("name", ["architecture", "layers"])
def test_pictures_are_up_to_date(name):
    """After a change of the layers, run ``python docs/images/architecture.py``."""
    picture = (ROOT / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8")
    assert picture == DRAWING[f"draw_{name}"]()
    names = [name for line in re.findall(r"monospace\">([^<]+)<", picture) for name in line.split(", ")]
    assert len(names) > 12
    assert not missing([name for name in names if not (PACKAGE / f"{name}.py").exists()], [PACKAGE])


def test_contributing_explains_the_layers():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("| layer |") : text.index("## Adding a reader")]
    rows = [
        re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")
    ]
    assert rows == [re.split(r" *[|:] *", layer) for layer in DRAWING["layers"]()]


def test_listed_types_exist():
    """The page lists types to trust; some are relative to the package at the beginning of their line."""
    page = (ROOT / "docs" / "how_to" / "persistence.rst").read_text(encoding="utf-8")
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
    paths = re.findall(r"`([\w/.]+\.(?:py|rst|md|png|svg))`", text)
    # The first are written by the benchmarks, the others are examples of names for files.
    others = {
        "results.md",
        "sizes.png",
        "paper.png",
        "skglex/export/_example.py",
        "tests/export/test_example.py",
    }
    assert not missing([path for path in paths if path not in others], [ROOT, PACKAGE])
    elsewhere = {"gblinear", "fit", "predict", "test", "ValueError", "ReaderContract", "MODELS", "WEIGHTINGS"}
    recipe = text[text.index("## Adding a reader") : text.index("## Documentation")]
    names = re.findall(r"`(_?[A-Za-z]\w+)(?:\([^`]*\))?`", recipe)
    assert not missing([name for name in names if name not in elsewhere], [ROOT, PACKAGE])
