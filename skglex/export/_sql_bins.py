"""Write the bin of a row along an axis as a SQL expression."""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._input import LARGEST_ZERO
from skglex._kept import TermSum
from skglex._leaves import Grid
from skglex.components import Axis

# More edges than this are compared in two steps.
_FLAT = 16
_LARGEST = {np.float32: float(np.finfo(np.float32).max), np.float64: float(np.finfo(np.float64).max)}
# Databases whose numbers may be NaN, which some of them count as the largest number.
_IS_NAN = ("bigquery", "duckdb")
_EQUALS_NAN = ("postgres", "snowflake")


def write_number(value: float) -> str:
    """Return a number as a literal of double precision: with an exponent, without which it may be a decimal."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def number(exp: Any, value: float) -> Any:
    """Return a number as an expression of double precision."""
    literal = exp.Literal.number(write_number(abs(value)))
    return exp.Neg(this=literal) if value < 0 else literal


class BinWriter:
    """Write ``CASE`` expressions that return the bin of a row along an axis, NULL if the model would refuse the row.

    Parameters
    ----------
    exp : module
        ``sqlglot.expressions``.
    terms : TermSum
        What is exported.
    dialect : str
        The dialect.
    names : list of str
        The column of every feature, in the table ``r``.
    """

    def __init__(self, exp: Any, terms: TermSum, dialect: str, names: list[str]) -> None:
        self.exp = exp
        self.spec = terms.spec
        self.as_float32 = terms.grid.as_float32
        self.zero_is_missing = terms.view.fitted.zero_is_missing
        self.feature_names = terms.feature_names
        self.dialect = dialect
        self.names = names

    def bin_of(self, axis: Axis, feature: int) -> Any:
        """Return the bin along an axis of a feature, which is given by its position."""
        exp = self.exp
        column = exp.column(self.names[feature], "r", quoted=True)
        if axis.categorical and feature in self.spec.categories:
            return self._bin_of_name(axis, feature, column)
        x = exp.cast(column, "double")
        case = exp.case().when(self._is_missing(feature, column, x), self._missing(axis))
        if self.spec.finite:
            _, beyond = self._range_of(_LARGEST[np.float32 if self.as_float32 else np.float64])
            case = case.when(exp.not_(self._less(exp.Abs(this=x), beyond)), exp.null())
        found = self._bin_of_code(axis, x) if axis.categorical else self._bin_of_number(axis, x)
        return case.else_(found)

    # -- missing values -----------------------------------------------------------------------

    def _missing(self, axis: Axis) -> Any:
        """Return the bin of missing values, NULL if the model refuses them."""
        return self.exp.null() if self.spec.finite is True else self._integer(axis.missing)

    def _is_missing(self, feature: int, column: Any, x: Any) -> Any:
        """Return whether the model counts a number as missing."""
        exp, tests = self.exp, [column.is_(self.exp.null())]
        tests += self._is_nan(x)
        if not np.isnan(self.spec.missing):
            tests.append(self._between(x, *self._range_of(float(self.spec.missing))))
        if feature in self.spec.missing_zeros:
            tests.append(exp.LTE(this=exp.Abs(this=x), expression=self._number(LARGEST_ZERO)))
        if self.zero_is_missing:
            tests.append(exp.EQ(this=x.copy(), expression=self._number(0.0)))
        return exp.or_(*tests, wrap=False)

    def _is_nan(self, x: Any) -> list[Any]:
        exp = self.exp
        if self.dialect in _IS_NAN:
            return [exp.IsNan(this=x.copy())]
        if self.dialect in _EQUALS_NAN:
            nan = exp.cast(exp.Literal.string("NaN"), "double")
            return [exp.EQ(this=x.copy(), expression=nan)]
        return []

    # -- numbers ------------------------------------------------------------------------------

    def _bin_of_number(self, axis: Axis, x: Any) -> Any:
        """Return the bin of a number that is not missing."""
        edges = axis.edges[axis.edges > -np.inf]
        first = len(axis.edges) - len(edges)
        if len(edges) <= _FLAT:
            return self._ladder(edges, first, x)
        size = ceil(sqrt(len(edges) + 1))
        case = self.exp.case()
        for start in range(0, len(edges) + 1, size):
            steps = self._ladder(edges[start : start + size - 1], first + start, x)
            if start + size > len(edges):
                return case.else_(steps)
            case = case.when(self._less(x, edges[start + size - 1]), steps, copy=False)
        raise AssertionError

    def _ladder(self, edges: NDArray[np.float64], first: int, x: Any) -> Any:
        """Return the bin among edges that are compared one after the other."""
        last = self._integer(first + len(edges))
        if not len(edges):
            return last
        case = self.exp.case()
        for i, edge in enumerate(edges):
            case = case.when(self._less(x, edge), self._integer(first + i), copy=False)
        return case.else_(last)

    def _less(self, x: Any, edge: float) -> Any:
        """Return whether a number lies below an edge. Not all databases can write infinity."""
        if edge == np.inf:
            return self.exp.LTE(this=x.copy(), expression=self._number(_LARGEST[np.float64]))
        return self.exp.LT(this=x.copy(), expression=self._number(edge))

    # -- categories ---------------------------------------------------------------------------

    def _bin_of_code(self, axis: Axis, x: Any) -> Any:
        """Return the bin of a code that is not missing."""
        case, other = self.exp.case(), self._integer(axis.missing - 1)
        for i, code in enumerate(axis.edges.tolist()):
            low, high = self._range_of(float(code), float(code) + 1)
            if code == 0 and self.spec.truncates_codes:
                low = float(np.nextafter(-1.0, 0.0))
            case = case.when(self._between(x, low, high), self._integer(i), copy=False)
        return case.else_(other) if len(axis.edges) else other

    def _bin_of_name(self, axis: Axis, feature: int, column: Any) -> Any:
        """Return the bin of a category that the model stores by its name."""
        exp, known = self.exp, self.spec.categories[feature].tolist()
        if feature in self.spec.encoders:
            raise ValueError(
                f"the model encodes the categories of {self.feature_names[feature]!r} itself, and SQL cannot repeat "
                "this. Encode the column before the model, for example with sklearn.preprocessing.OrdinalEncoder"
            )
        bins = {value: i for i, value in enumerate(axis.edges.tolist())}
        named = [value for value in known if value is not None]
        operand, literals = self._compare(column, named, self.feature_names[feature])
        case = exp.Case(this=operand)
        for value, literal in zip(named, literals):
            number = self._integer(bins.get(value, axis.missing - 1))
            case = case.when(literal, number, copy=False)
        unknown_is_missing = self.spec.unknown_is_missing or self.spec.by_value
        case = case.else_(self._missing(axis) if unknown_is_missing else exp.null())
        null = bins.get(None, axis.missing - 1) if None in known else None
        outer = exp.case()
        tests = exp.or_(column.is_(exp.null()), *self._nan_tests(operand, named), wrap=False)
        outer = outer.when(tests, self._missing(axis) if null is None else self._integer(null))
        return outer.else_(case) if named else outer.else_(exp.null())

    def _nan_tests(self, operand: Any, named: list[Any]) -> list[Any]:
        """Return the tests for NaN of a column of categories, which may be numbers."""
        return self._is_nan(operand) if named and not isinstance(named[0], (str, bool)) else []

    def _compare(self, column: Any, values: list[Any], name: str) -> tuple[Any, list[Any]]:
        """Return what is compared with categories, and the categories as literals."""
        exp = self.exp
        if all(isinstance(value, str) for value in values):
            text = exp.cast(column, "text")
            if self.dialect == "tsql":
                # Other collations take upper and lower case as equal.
                text = exp.Collate(this=text, expression=exp.Var(this="Latin1_General_BIN2"))
                return text, [exp.National(this=value) for value in values]
            return text, [exp.Literal.string(value) for value in values]
        if all(isinstance(value, bool) for value in values):
            return exp.cast(column, "int"), [self._integer(value) for value in values]
        if all(isinstance(value, (int, float)) for value in values):
            return exp.cast(column, "double"), [self._number(value) for value in values]
        kinds = sorted({type(value).__name__ for value in values})
        raise ValueError(
            f"the categories of {name!r} have the types {', '.join(kinds)}, but SQL compares texts, numbers or "
            "booleans. Convert the column to text before training"
        )

    # -- literals -----------------------------------------------------------------------------

    def _range_of(self, *numbers: float) -> tuple[float, float]:
        """Return the float64 numbers that the model reads as one number, or as those from one up to another."""
        kind = np.float32 if self.as_float32 else np.float64
        if len(numbers) == 1:
            with np.errstate(over="ignore"):
                numbers = numbers[0], float(np.nextafter(kind(numbers[0]), kind(np.inf)))
        grid = Grid.from_cuts(
            np.array([0]),
            [np.array(numbers)],
            np.array([False]),
            less_equal=False,
            as_float32=self.as_float32,
        )
        low, high = grid.edges(0).tolist()
        return low, high

    def _between(self, x: Any, low: float, high: float) -> Any:
        exp = self.exp
        return exp.and_(exp.GTE(this=x.copy(), expression=self._number(low)), self._less(x, high), wrap=False)

    def _number(self, value: float) -> Any:
        return number(self.exp, value)

    def _integer(self, value: int) -> Any:
        return self.exp.Literal.number(str(int(value)))
