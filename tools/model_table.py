"""Write ``docs/models/models_table.inc`` from what the readers declare: which models are read, and which are refused.

python tools/model_table.py
"""

from pathlib import Path

from skglex._readers._registry import UNSUPPORTED, declared_kinds

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "models" / "models_table.inc"
# Classes that are refused by a rule for their whole package.
WHOLE_PACKAGES = {"sksurv": "other models of scikit-survival"}


def known_names():
    """Return the names that the inventories of other projects have, and our own."""
    lines = [
        line
        for file in sorted((ROOT / "docs" / "_inventories").glob("*.txt"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return {line.split()[0] for line in lines if not line.startswith("#")}


def link(name, known):
    """Return a link to a class, or its name where it has no page."""
    if name.startswith("skglex."):
        return f"`~{name}`"
    return f"`~{name}`" if name in known else f"``{name.rpartition('.')[2]}``"


def table(header, widths, rows):
    """Return a list table."""
    lines = [
        ".. list-table::",
        "   :class: models",
        "   :header-rows: 1",
        f"   :widths: {' '.join(map(str, widths))}",
        "",
    ]
    for row in [header, *rows]:
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join(lines)


def write_tables():
    """Return both tables as text."""
    known = known_names()
    rows = [
        (
            f"{kind.library}: {', '.join(link(name, known) for name in kind.classes)}",
            kind.margin,
            kind.cover,
            kind.missing,
            kind.refused,
        )
        for kinds in declared_kinds().values()
        for kind in kinds
    ]
    header = ("Model", "Margin", 'Cover (``"path_dependent"``)', "Missing values", "Not supported")
    read = table(header, (31, 18, 17, 15, 19), rows)
    refused = [
        (WHOLE_PACKAGES.get(path, f"``{path}``"), f"{why}.".replace("`", "``"))
        for path, why in UNSUPPORTED.items()
    ]
    return "\n".join(
        [
            ".. Made by tools/model_table.py from what the readers declare.",
            "",
            read,
            "",
            "Refused with an error before anything is fitted:",
            "",
            table(("Model", "Why, and what works"), (30, 70), refused),
            "",
        ]
    )


if __name__ == "__main__":
    FILE.write_text(write_tables(), encoding="utf-8")
