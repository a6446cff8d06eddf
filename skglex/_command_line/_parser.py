"""Define the commands and their options, with the help that explains them."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from textwrap import dedent
from typing import Any, NoReturn

from skglex._command_line import _commands
from skglex._command_line._terminal import Mistake
from skglex._utils import suggest
from skglex._version import __version__

_MODELS = """\
MODEL is a file that the library of the model has written:
  XGBoost    model.json or model.ubj, from save_model
  LightGBM   model.txt, from save_model (a wrapper: model.booster_.save_model)
  CatBoost   model.cbm or model.json, from save_model
  skops      model.skops, for models and pipelines of scikit-learn
  pickle     model.pkl or model.joblib, only with --trust: loading a pickle runs code
DATA is a table with the columns of the model, by name: .csv (also .csv.gz), .tsv, .parquet, .feather or .arrow.
Columns that the model does not know are left out. Text becomes categories where the model has categories.
"""


COMMANDS = ("report", "summary", "components", "shap", "debias")


class _Parser(ArgumentParser):
    """Report mistakes in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        if found := re.match("argument COMMAND: invalid choice: '([^']*)'", message):
            message = f"there is no command {found[1]!r}. {suggest(found[1], COMMANDS, 'commands')}"
        raise Mistake(f"{message}{'' if message.endswith('?') else '.'} See {self.prog} --help")


def build_parser() -> ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="skglex",
        description="Explain tree models exactly: what the model does with each feature, and with features together.",
        epilog=dedent("""\
            start here:
              skglex summary model.json                     what is in this file?
              skglex summary model.json rows.csv            which features and interactions matter?
              skglex report model.json rows.csv -o report.html
                                                            everything, as one page to look at and to pass on

            skglex COMMAND --help explains a command, with examples.
            Exit codes: 0 done, 2 something is wrong with what was passed, 1 something is wrong with skglex.
            """),
    )
    parser.add_argument("--version", action="version", version=f"skglex {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", parser_class=_Parser)
    _add_report(commands)
    _add_summary(commands)
    _add_components(commands)
    _add_shap(commands)
    _add_debias(commands)
    return parser


def _add(
    commands: Any, name: str, run: Callable[..., None], text: str, details: str, examples: str
) -> ArgumentParser:
    """Add a command with the options that all commands have."""
    examples = "".join(f"  {line.strip()}\n" for line in examples.strip().splitlines())
    parser: ArgumentParser = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.\n\n{dedent(details).strip()}\n\n{_MODELS}",
        epilog=f"examples:\n{examples}",
        usage=f"skglex {name} MODEL {'[DATA]' if name == 'summary' else 'DATA'} [options]",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", type=Path, help="file of the model")
    loading = parser.add_argument_group("reading the files")
    loading.add_argument(
        "--trust",
        action="store_true",
        help="load pickles, and unknown types in skops files: they may run code",
    )
    loading.add_argument(
        "--missing",
        type=_number,
        metavar="VALUE",
        help="value that was missing in training besides empty fields, for XGBoost, which does not store it (-999)",
    )
    loading.add_argument(
        "--drop",
        type=_names,
        action="extend",
        default=[],
        metavar="COLUMNS",
        help="columns that are no features, for a model that stores no names; separate names by commas",
    )
    loading.add_argument(
        "--categorical",
        type=_names,
        action="extend",
        default=[],
        metavar="COLUMNS",
        help="columns that are categories, where a LightGBM model and the table do not tell",
    )
    work = parser.add_argument_group("how it is computed")
    work.add_argument(
        "--weighting",
        choices=["empirical", "path_dependent"],
        default="empirical",
        help="average features out over rows of the table, or by the counts that the trees store (default: empirical)",
    )
    work.add_argument(
        "--sample", type=_count, metavar="N", help="average over N rows, drawn at random (default: all rows)"
    )
    work.add_argument("--seed", type=int, default=0, help="of the random draw (default: 0)")
    work.add_argument("--weights", metavar="COLUMN", help="column with the weights of the rows")
    work.add_argument("--n-jobs", type=int, metavar="N", help="threads; -1: all cores (default: one)")
    work.add_argument(
        "--quiet", "-q", action="store_true", help="write nothing but results, warnings and errors"
    )
    work.add_argument(
        "--traceback", action="store_true", help="show where an error comes from, for a report of a fault"
    )
    return parser


def _add_rows(parser: ArgumentParser, result: str) -> None:
    """Add the options of commands that write something for each row."""
    parser.add_argument("data", metavar="DATA", type=Path, help="table of the rows")
    parser.add_argument("--output", "-o", type=Path, metavar="FILE", help=result)
    parser.add_argument(
        "--background",
        type=Path,
        metavar="FILE",
        help="table of the rows to average over (default: DATA itself)",
    )
    _add_keep(parser, "columns of DATA to write beside the results")


def _add_keep(parser: ArgumentParser, text: str) -> None:
    """Add the option that names columns which the model does not take."""
    parser.add_argument(
        "--keep",
        type=_names,
        action="extend",
        default=[],
        metavar="COLUMNS",
        help=f"{text}, such as an id; separate names by commas",
    )


def _add_separate(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--separate",
        dest="feature_groups",
        action="store_const",
        const=None,
        default="auto",
        help="keep columns apart that the preprocessing makes of one raw column, such as those of a one-hot encoder",
    )


def _add_max_interaction(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--max-interaction",
        type=_count,
        default=2,
        metavar="N",
        help="most features in a component; the rest is in the column remainder (default: 2)",
    )


def _add_report(commands: Any) -> None:
    parser = _add(
        commands,
        "report",
        _commands.report,
        "write a page to explore the model, as one HTML file",
        """
        The page shows what the model does with each feature and with pairs of features, explains single rows, and lets
        one change their values and see the prediction move. It works without a network, without Python and without a
        server, so it can be passed on. It contains up to --max-rows rows of DATA: choose --max-rows 0 if nobody may
        see them.
        """,
        """
        skglex report model.json rows.csv -o report.html
        skglex report model.txt rows.parquet -o report.html --target price --units EUR --keep id
        skglex report model.cbm rows.csv -o report.html --remove sex --groups sex --sample 5000
        skglex report new.json rows.csv -o report.html --compare old.json
        """,
    )
    parser.add_argument("data", metavar="DATA", type=Path, help="table of the rows")
    parser.add_argument(
        "--output", "-o", type=Path, default=Path("report.html"), metavar="FILE", help="default: report.html"
    )
    parser.add_argument(
        "--target", metavar="COLUMN", help="column with what the model predicts, for its score"
    )
    _add_keep(parser, "columns of DATA to show beside the rows of the page")
    parser.add_argument("--groups", metavar="COLUMN", help="column whose groups of rows are compared")
    parser.add_argument(
        "--remove",
        type=_names,
        action="extend",
        default=[],
        metavar="COLUMNS",
        help="features that the page offers first to remove; separate names by commas",
    )
    parser.add_argument(
        "--compare", type=Path, metavar="FILE", help="second model, or table of another period"
    )
    parser.add_argument("--title", help="title of the page")
    parser.add_argument("--units", help="unit of the target, such as EUR")
    parser.add_argument(
        "--max-rows", type=_size, default=1000, metavar="N", help="most rows on the page (default: 1000)"
    )
    parser.add_argument(
        "--background-rows",
        type=_size,
        default=200,
        metavar="N",
        help="rows on the page for probabilities and for SHAP values of changed rows, only as bins (default: 200)",
    )
    _add_separate(parser)


def _add_summary(commands: Any) -> None:
    parser = _add(
        commands,
        "summary",
        _commands.summary,
        "print the model at a glance",
        """
        Without DATA: what is in the file. With DATA: how much of the predictions main effects, pairs and higher orders
        explain, and the strongest features and components. The importance of a feature is the mean of its absolute SHAP
        values; the page of skglex report adds up the mean sizes of its components instead, in which nothing cancels.
        """,
        """
        skglex summary model.json
        skglex summary model.json rows.csv
        skglex summary pipeline.skops rows.parquet --sample 2000 --top 20
        """,
    )
    parser.add_argument("data", metavar="DATA", type=Path, nargs="?", help="table of rows")
    parser.add_argument(
        "--top", type=_count, default=10, metavar="N", help="features and components to show (default: 10)"
    )
    parser.add_argument("--target", metavar="COLUMN", help="column of DATA that is no feature")
    _add_max_interaction(parser)
    _add_separate(parser)


def _add_components(commands: Any) -> None:
    parser = _add(
        commands,
        "components",
        _commands.components,
        "compute the components of rows: main effects and interactions",
        """
        The columns of a row add up to its margin, the raw score of the model: intercept + components = margin. Without
        -o, the first rows and the largest components are shown.
        """,
        """
        skglex components model.json rows.csv
        skglex components model.json rows.csv -o components.parquet --keep id
        skglex components model.txt new.csv --background train.parquet -o components.csv --max-interaction 3
        """,
    )
    _add_rows(parser, "file of all rows and components: .csv, .parquet, .feather or .arrow")
    _add_max_interaction(parser)
    _add_separate(parser)


def _add_shap(commands: Any) -> None:
    parser = _add(
        commands,
        "shap",
        _commands.shap,
        "compute the SHAP values of rows",
        """
        The columns of a row add up to its margin (intercept + SHAP values = margin), or to its prediction with --scale
        response. Without -o, the first rows and the largest values are shown.
        """,
        """
        skglex shap model.json rows.csv
        skglex shap model.json rows.csv -o shap.parquet --keep id
        skglex shap model.txt rows.csv --weighting path_dependent -o shap.csv
        """,
    )
    _add_rows(parser, "file of all rows and features: .csv, .parquet, .feather or .arrow")
    parser.add_argument(
        "--scale",
        choices=["margin", "response"],
        default="margin",
        help="values of the raw score, or of the probability, price or count (default: margin)",
    )
    _add_separate(parser)


def _add_debias(commands: Any) -> None:
    parser = _add(
        commands,
        "debias",
        _commands.debias,
        "predict without the effects of some features, or write the model without them",
        """
        The features lose their main effects and all their interactions; nothing is trained again. What other columns
        tell about them stays. The ending of FILE says what is written: a table of predictions, with and without the
        features; an XGBoost model (.json, .ubj); or an ONNX model (.onnx).
        """,
        """
        skglex debias model.json rows.csv --remove sex
        skglex debias model.json rows.csv --remove sex,age -o predictions.csv --keep id
        skglex debias model.json train.parquet --remove sex -o without_sex.json
        skglex debias model.txt new.csv --background train.csv --remove sex -o predictions.parquet
        """,
    )
    _add_rows(parser, "predictions: .csv, .parquet, .feather, .arrow; model: .json, .ubj (XGBoost), .onnx")
    parser.add_argument(
        "--remove",
        type=_names,
        action="extend",
        required=True,
        metavar="COLUMNS",
        help="features to remove; separate names by commas",
    )
    parser.add_argument(
        "--strength", type=_number, default=1.0, help="how much of them is removed, from 0 to 1 (default: 1)"
    )
    parser.add_argument(
        "--scale",
        choices=["margin", "response"],
        default="margin",
        help="average the raw score or the prediction itself (default: margin)",
    )


def _names(text: str) -> list[str]:
    """Return names that are separated by commas."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ArgumentTypeError(f"expected names separated by commas, got {text!r}")
    return names


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise ArgumentTypeError(f"expected a number, got {text!r}")
    return value


def _size(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"expected a number of rows, 0 or more, got {text!r}")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)
