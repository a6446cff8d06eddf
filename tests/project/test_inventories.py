"""Test the inventories of other projects in ``docs/_inventories``, and the script that writes them."""

import re
import runpy
import zlib
from importlib import import_module
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "inventories.py"))
MAPPING = TOOL["load_mapping"]()


def listed(package):
    """Return the kinds of the names in an inventory."""
    text = MAPPING[package][1].read_text(encoding="utf-8")
    return dict(re.findall(r"(?m)^(\w+[\w.]+) (\w+) \S+\.html$", text))


@pytest.mark.parametrize("package", MAPPING)
def test_inventory_has_the_names_that_pages_link_to(package):
    assert listed(package).keys() == TOOL["find_names"]([package])


@pytest.mark.parametrize("package", MAPPING)
def test_names_exist(package):
    module = pytest.importorskip(package, exc_type=ImportError)
    for name, kind in listed(package).items():
        if kind == "mod":
            continue
        owner = module
        for part in name.split(".")[1:-1]:
            owner = getattr(owner, part, None) or import_module(f"{owner.__name__}.{part}")
        assert hasattr(owner, name.rpartition(".")[2]), name


def test_names_are_found_on_pages_and_in_examples():
    names = TOOL["find_names"](["numpy", "sklearn"])
    assert {"numpy.searchsorted", "sklearn.config_context", "sklearn.model_selection.KFold"} <= names
    assert not any("._" in name for name in names)


ENTRIES = """\
acorn.Oak py:class 1 trees/acorn.Oak.html#$ -
acorn.Oak.grow py:method 1 trees/acorn.Oak.html#$ -
acorn.wood py:module 0 wood.html#module-$ -
acorn.leaf py:function 1 leaf.html#leaf-of-an-oak -
leaves std:label -1 leaf.html#leaves All leaves
"""


def published(version=2):
    header = f"# Sphinx inventory version {version}\n# Project: Acorn\n# Version: 1.0\n# zlib\n"
    return header.encode() + zlib.compress(ENTRIES.encode())


def test_inventory_is_reduced_to_some_names():
    text = TOOL["reduce_inventory"](published(), {"acorn.Oak", "acorn.wood"})
    assert text.splitlines() == [
        "# Sphinx inventory version 1",
        "# Project: Acorn",
        "# Version: 1.0",
        "acorn.Oak class trees/acorn.Oak.html",
        "acorn.wood mod wood.html",
    ]


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match=r"has no acorn\.Elm, acorn\.Pine"):
        TOOL["reduce_inventory"](published(), {"acorn.Oak", "acorn.Pine", "acorn.Elm"})
    with pytest.raises(ValueError, match="leaf-of-an-oak"):
        TOOL["reduce_inventory"](published(), {"acorn.leaf"})
    with pytest.raises(ValueError, match=r"of version 2, got .*version 3"):
        TOOL["reduce_inventory"](published(3), {"acorn.Oak"})


def test_sphinx_reads_the_inventories():
    inventory = pytest.importorskip("sphinx.util.inventory").InventoryFile
    path = MAPPING["numpy"][1]
    with path.open("rb") as file:
        data = inventory.load(file, "https://example.org", lambda *parts: "/".join(parts))
    uri = data["py:function"]["numpy.searchsorted"].uri
    assert uri == "https://example.org/reference/generated/numpy.searchsorted.html#numpy.searchsorted"
