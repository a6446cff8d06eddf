"""Write ``docs/_inventories``: on which page other projects document the names that our pages link to.

    python tools/inventories.py                # needs a network
    python tools/inventories.py numpy pandas   # only these projects

A build of the documentation reads these files and needs no network. The names are those between backticks on our
pages and in docstrings (`numpy.where`), and those that the examples import. Each file is a Sphinx inventory of
version 1: plain text, with a name, its kind and its page per line.
"""

import argparse
import re
import runpy
import zlib
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]


def load_mapping() -> dict[str, tuple[str, Path]]:
    """Return the address and the inventory of each project, by the name of its package."""
    mapping = runpy.run_path(str(ROOT / "docs" / "conf.py"))["intersphinx_mapping"]
    return {package: (url, ROOT / "docs" / path) for package, (url, path) in mapping.items()}


def find_names(packages) -> set[str]:
    """Return the names in these packages that our pages, docstrings or examples link to."""
    name = rf"(?:{'|'.join(packages)})(?:\.[A-Za-z]\w*)+"
    docs, examples = ROOT / "docs", sorted((ROOT / "examples").glob("plot_*.py"))
    made = {"_build", "auto_examples", "generated"}
    pages = [path for path in docs.rglob("*.rst") if not made & set(path.relative_to(docs).parts)]
    pages.append(docs / "models" / "models_table.inc")
    found = set()
    for path in [*pages, *(ROOT / "skglex").rglob("*.py"), *examples]:
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(rf"(?<!`)`(?:[^`<]+ <)?~?({name})>?`(?!`)", text))
        found |= set(re.findall(rf"(?m)^ +({name}) : ", text))  # an entry of "See Also"
    for path in examples:
        for module, imported in re.findall(
            r"(?m)^from ([\w.]+) import (.+)$", path.read_text(encoding="utf-8")
        ):
            found |= {
                f"{module}.{item.strip()}" for item in imported.split(",") if module.split(".")[0] in packages
            }
    return found


def reduce_inventory(content: bytes, names: set[str]) -> str:
    """Return the text of an inventory that has these names only, from the ``objects.inv`` of a project."""
    *header, compressed = content.split(b"\n", 4)
    if header[0].strip() != b"# Sphinx inventory version 2":
        raise ValueError(f"expected a Sphinx inventory of version 2, got {header[0]!r}")
    lines = {}
    for entry in re.findall(r"(?m)^(\S+) py:(\w+) -?\d+ (\S+) ", zlib.decompress(compressed).decode()):
        name, kind, location = entry
        if name in names:
            page, _, anchor = location.partition("#")
            if anchor not in ("$", "module-$", name, f"module-{name}"):
                raise ValueError(f"{name} is at {location}, but version 1 has only anchors that are names")
            lines[name] = f"{name} {'mod' if kind == 'module' else kind} {page}"
    if missing := names - lines.keys():
        raise ValueError(f"the inventory has no {', '.join(sorted(missing))}; correct the links on our pages")
    project, version = (line.decode().strip() for line in header[1:3])
    return "\n".join(["# Sphinx inventory version 1", project, version, *sorted(lines.values())]) + "\n"


def main() -> None:
    mapping = load_mapping()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", choices=[[], *mapping], default=[])
    for package in parser.parse_args().packages or mapping:
        url, path = mapping[package]
        with urlopen(f"{url}objects.inv") as response:
            path.write_text(reduce_inventory(response.read(), find_names([package])), encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(path.read_text(encoding='utf-8').splitlines()) - 3} names")


if __name__ == "__main__":
    main()
