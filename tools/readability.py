"""Grade the paragraphs of the pages that a newcomer reads first, and fail if one is too hard.

    python tools/readability.py                     # README.md, Start and "What a component is"
    python tools/readability.py docs/right.rst      # other pages

The grade is that of Flesch and Kincaid, as textstat computes it: the years of school that a native reader needs. It
counts syllables, and words per sentence, so it does not see whether a paragraph is true or in the right order. Names of
the code are read as one short word, because they are looked at rather than read. Paragraphs of fewer than 15 words have
no grade.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/start.rst", "docs/method/concepts.rst")
HARDEST = 10.0
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


def main() -> None:
    from textstat import flesch_kincaid_grade

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", default=PAGES)
    too_hard = 0
    for page in parser.parse_args().pages:
        for paragraph in paragraphs((ROOT / page).read_text(encoding="utf-8")):
            grade = flesch_kincaid_grade(paragraph)
            if grade > HARDEST:
                too_hard += 1
                print(f"{page}: grade {grade:.1f}: {paragraph}")
    sys.exit(f"{too_hard} paragraphs are harder than grade {HARDEST:g}" if too_hard else 0)


if __name__ == "__main__":
    main()
