"""Write to the terminal: progress, warnings, tables and bars; results go to stdout, all else to stderr."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_WIDEST_NAME, _BAR = 32, 28


class Mistake(Exception):
    """Report a mistake of the user: one line, which says what was received, what is expected, and the way out."""


def one_line(text: object) -> str:
    """Join the lines of a message."""
    return " ".join(str(text).split())


class Progress:
    """Say on stderr what is being done.

    Parameters
    ----------
    quiet : bool
        Whether to say nothing.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet

    @property
    def verbose(self) -> int:
        """Return whether long computations show a bar, which only a terminal can draw."""
        return int(not self.quiet and sys.stderr.isatty())

    def __call__(self, text: str) -> None:
        """Write a line."""
        if not self.quiet:
            print(f"skglex: {text}", file=sys.stderr, flush=True)


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Write each warning once, in one line; leave out those that concern programmers."""
    seen: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = one_line(message)
        if text not in seen:
            seen.add(text)
            print(f"skglex: warning: {text}", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        # A model that was trained on an array gets the columns of a table.
        warnings.filterwarnings("ignore", message="X has feature names, but")
        warnings.showwarning = show
        yield


def number(value: float) -> str:
    """Return a number with four significant digits."""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def bars(title: str, rows: Iterable[tuple[str, float, str]]) -> str:
    """Return a title and a bar for each name.

    Parameters
    ----------
    title : str
    rows : iterable of (str, float, str)
        A name, the length of its bar, and the number as it is shown.
    """
    rows = list(rows)
    width = min(_WIDEST_NAME, max((len(name) for name, _, _ in rows), default=0))
    figures = max((len(text) for _, _, text in rows), default=0)
    longest = max((length for _, length, _ in rows), default=0) or 1
    lines = [
        f"  {_short(name, width):<{width}}  {text:>{figures}}  {'#' * round(_BAR * max(length, 0) / longest)}".rstrip()
        for name, length, text in rows
    ]
    return "\n".join([title, *lines])


def table(frame: Any) -> str:
    """Return a data frame as text."""
    columns = [_lines_of(str(name), frame[name]) for name in frame.columns]
    return "\n".join("  ".join(cells).rstrip() for cells in zip(*columns))


def fits(text: str) -> bool:
    """Return whether no line of a text is longer than one of the terminal."""
    return max(map(len, text.splitlines())) <= shutil.get_terminal_size().columns


def _lines_of(name: str, values: Any) -> list[str]:
    """Return a column as texts of equal length, the name first; numbers stand on the right."""
    numeric = values.dtype.kind in "f"
    cells = [number(value) if numeric else str(value) for value in values]
    width = max(map(len, [name, *cells]))
    left = values.dtype.kind not in "biuf"
    return [text.ljust(width) if left else text.rjust(width) for text in (name, *cells)]


def _short(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 3]}..."
