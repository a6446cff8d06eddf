"""Grade the paragraphs of the pages that a newcomer reads first, and of the reference; fail if one is too hard.

    python tools/readability.py                     # README.md, Start, "What a component is", and public docstrings
    python tools/readability.py docs/right.rst      # other pages, without docstrings

The grade is that of Flesch and Kincaid, as textstat computes it: the years of school that a native reader needs. It
counts syllables, and words per sentence, so it does not see whether a paragraph is true or in the right order. Names of
the code are read as one short word, because they are looked at rather than read. Paragraphs of fewer than 15 words have
no grade.
"""

import argparse
import inspect
import re
import sys
import textwrap
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/start.rst", "docs/method/concepts.rst")
HARDEST = 10.0
HARDEST_DOCSTRING = 12.0
SECTION = r"\n([A-Z][\w ]+)\n-+\n"
FEWEST_WORDS = 15


def strip_markup(text: str) -> str:
    """Return the words of a paragraph of Markdown or reStructuredText, with names of the code as one short word."""
    text = re.sub(r":(?:doc|ref):`(?:([^`<]+) <[^`>]*>|[^`]*)`", lambda match: match[1] or "page", text)
    text = re.sub(r":math:`[^`]*`", "x", text)
    text = re.sub(r"``[^`]*``|`[^`]*`_*", "name", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[\d+\]_|https?://\S+|[*_#]", "", text)
    return re.sub(r"\s+", " ", text).strip()


def paragraphs(text: str):
    """Yield the paragraphs and the items of lists: no code, tables, titles, formulas, directives or citations."""
    text = re.sub(r"(?s)```.*?```|<!--.*?-->", "", text)
    for block in re.split(r"\n\s*\n", text):
        if re.match(r"\s*(?:>>>|\.\.|[|>#]|={3,}|\S.*\n[=\-~]{3,}(?:\n|$))|   ", block):
            continue
        for item in re.split(r"(?m)^(?:[*-]|\d+\.) ", block):
            words = strip_markup(item)
            if len(words.split()) >= FEWEST_WORDS:
                yield words


def docstrings():
    """Yield the public names, and the docstrings of these, of their methods and of their properties."""
    module = ""
    for line in (ROOT / "docs/reference/api.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r"   [A-Za-z]\w+", line):
            found = getattr(import_module(module), line.strip())
            name = f"{module}.{line.strip()}"
            yield name, inspect.getdoc(found) or ""
            for owner in inspect.getmro(found) if inspect.isclass(found) else ():
                if owner.__module__.startswith("skglex"):
                    for member in vars(owner):
                        if not member.startswith("_"):
                            yield f"{name}.{member}", inspect.getdoc(getattr(owner, member)) or ""


def descriptions(docstring: str):
    """Yield the texts of a numpydoc docstring: summary and notes, and what it says about each parameter."""
    first, *sections = re.split(SECTION, docstring)
    yield first
    for title, text in zip(sections[::2], sections[1::2]):
        if title == "Notes":
            yield text
        elif title not in ("Examples", "References", "See Also"):
            for item in re.split(r"\n(?=\S)", text):
                yield textwrap.dedent("\n".join(item.split("\n")[1:]))


def report(where: str, text: str, hardest: float) -> int:
    """Print the paragraphs of a text that are too hard, and return their number."""
    from textstat import flesch_kincaid_grade

    graded = [(flesch_kincaid_grade(paragraph), paragraph) for paragraph in paragraphs(text)]
    hard = [f"{where}: grade {grade:.1f}: {paragraph}" for grade, paragraph in graded if grade > hardest]
    print(*hard, sep="\n", end="\n" if hard else "")
    return len(hard)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*")
    pages = parser.parse_args().pages
    n_hard = sum(report(page, (ROOT / page).read_text(encoding="utf-8"), HARDEST) for page in pages or PAGES)
    seen = set[str]()
    for where, docstring in () if pages else docstrings():
        if docstring not in seen:
            seen.add(docstring)
            n_hard += sum(report(where, text, HARDEST_DOCSTRING) for text in descriptions(docstring))
    limits = f"grade {HARDEST:g}, or {HARDEST_DOCSTRING:g} in docstrings"
    sys.exit(f"{n_hard} paragraphs are harder than {limits}" if n_hard else 0)


if __name__ == "__main__":
    main()
