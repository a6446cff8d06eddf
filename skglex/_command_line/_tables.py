"""Read and write tables: CSV, Parquet, Feather and Arrow."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from skglex._command_line._columns import is_text
from skglex._command_line._terminal import Mistake, one_line
from skglex._input import is_categorical
from skglex._utils import import_optional

_CSV = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")
_FEATHER = (".feather",)
_ARROW = (".arrow", ".ipc")
TABLE_ENDINGS = (*_CSV[:2], *_PARQUET, *_FEATHER, *_ARROW)
# Texts that count as missing in a CSV file, unless they are the name of a category.
_MISSING = (
    "",
    "NA",
    "N/A",
    "n/a",
    "<NA>",
    "nan",
    "NaN",
    "-nan",
    "-NaN",
    "null",
    "NULL",
    "None",
    "#N/A",
    "#NA",
)
# A character that no text contains.
_NO_SEPARATOR = "\x01"
# Rows of a CSV file whose values tell which columns hold text.
_FIRST_ROWS = 1000


def table_ending(path: Path) -> str:
    """Return the ending that tells the format of a table: ".csv" of "rows.csv.gz"."""
    endings = [ending.lower() for ending in path.suffixes]
    if len(endings) > 1 and endings[-1] in (".gz", ".bz2", ".xz", ".zip", ".zst"):
        endings.pop()
    return endings[-1] if endings else ""


def read_table(
    path: Path,
    categories_of: Callable[[Sequence[str], set[str]], Mapping[str, Any]],
) -> tuple[Any, Mapping[str, Any]]:
    """Read a table.

    Parameters
    ----------
    path : Path
        A file of CSV, Parquet, Feather or Arrow.
    categories_of : callable
        Gets the names of all columns, and of those that hold text or categories. Returns the columns that are
        categories to the model, with the categories that it stores.

    Returns
    -------
    frame : pandas.DataFrame
    categories : mapping
        The result of ``categories_of``.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not there"
        raise Mistake(f"the data file {path} {what}. Pass a CSV, Parquet, Feather or Arrow file")
    ending = table_ending(path)
    if ending not in (*_CSV, *_PARQUET, *_FEATHER, *_ARROW):
        raise Mistake(
            f"{path} does not say its format: its name must end in one of {', '.join(TABLE_ENDINGS)} (CSV also as "
            ".csv.gz)"
        )
    pd = import_optional("pandas", "report")
    if ending not in _CSV:
        import_optional("pyarrow", "report")
    try:
        if ending in _CSV:
            return _read_csv(pd, path, categories_of)
        frame = _read_columns(pd, path, ending)
    except (UnicodeDecodeError, UnicodeError) as error:
        raise Mistake(f"{path} is not in UTF-8. Save it in this encoding") from error
    except (OSError, ValueError) as error:  # Errors of pandas' parsers and of pyarrow are ValueErrors.
        raise Mistake(f"cannot read {path}: {one_line(error)}") from error
    frame.columns = [str(name) for name in frame.columns]
    _check_names(frame.columns, path)
    text = {name for name in frame.columns if is_text(frame[name].dtype) or is_categorical(frame[name].dtype)}
    return frame, categories_of(list(frame.columns), text)


def _read_columns(pd: Any, path: Path, ending: str) -> Any:
    if ending in _PARQUET:
        return pd.read_parquet(path)
    if ending in _FEATHER:
        return pd.read_feather(path)
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        try:
            return pa.ipc.open_file(source).read_pandas()
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source).read_pandas()


def _read_csv(
    pd: Any, path: Path, categories_of: Callable[..., Mapping[str, Any]]
) -> tuple[Any, Mapping[str, Any]]:
    """Read a CSV file, whose categories stay the text that they are in the file."""
    line = pd.read_csv(path, nrows=1, header=None, sep=_NO_SEPARATOR, quoting=csv.QUOTE_NONE, dtype=str)
    separator = max(",;\t|", key=str(line.iat[0, 0]).count)
    header = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0]
    _check_names(list(header), path)
    first = pd.read_csv(path, sep=separator, nrows=_FIRST_ROWS, dtype=str, keep_default_na=False)
    names = list(first.columns)
    categories = categories_of(names, {name for name in names if _holds_text(first[name])})
    missing = {
        name: _missing_texts(categories[name]) if name in categories else list(_MISSING) for name in names
    }
    frame = pd.read_csv(
        path,
        sep=separator,
        dtype=dict.fromkeys(categories, str),
        keep_default_na=False,
        na_values=missing,
        low_memory=False,
    )
    return frame, categories


def _holds_text(column: Any) -> bool:
    """Return whether some values are no numbers, or would lose zeros if they became some, as "01"."""
    for value in set(column) - set(_MISSING):
        try:
            float(value)
        except ValueError:
            return True
        if len(value) > 1 and value[0] == "0" and value.isdecimal():
            return True
    return False


def _missing_texts(categories: Any) -> list[str]:
    """Return the texts that are missing in a column of categories: none that is a category, or may be one."""
    if categories is None:  # The model does not tell its categories.
        return [""]
    known = {str(value) for value in categories}
    return [text for text in _MISSING if text not in known]


def _check_names(names: Sequence[str], path: Path) -> None:
    if len(names) == 0:
        raise Mistake(f"{path} has no columns")
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise Mistake(f"{path} has several columns with the name {twice!r}. Rename them")


def check_output(path: Path, endings: Sequence[str], inputs: Sequence[Path]) -> None:
    """Raise a Mistake before the work begins if the result cannot be written to a file."""
    if table_ending(path) not in endings:
        raise Mistake(f"-o {path}: the name must end in one of {', '.join(endings)}")
    if not path.absolute().parent.is_dir():
        raise Mistake(f"-o {path}: there is no folder {path.absolute().parent}. Make it first")
    if path.is_dir():
        raise Mistake(f"-o {path}: this is a folder. Pass the name of a file")
    if any(path.resolve() == other.resolve() for other in inputs):
        raise Mistake(f"-o {path} would overwrite an input. Choose another name")


def write_table(frame: Any, path: Path) -> None:
    """Write a table in the format that the ending of its name says."""
    ending = table_ending(path)
    if ending in _CSV:
        frame.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
        return
    pa = import_optional("pyarrow", "report")
    if ending in _PARQUET:
        frame.to_parquet(path, index=False)
    elif ending in _FEATHER:
        frame.to_feather(path)
    else:
        content = pa.Table.from_pandas(frame, preserve_index=False)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, content.schema) as writer:
            writer.write_table(content)
