"""Describe benchmarks: sizes, data, contenders, targets and cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Size:
    """Describe the size of the work; without ``depth`` and ``leaves`` the trees grow to purity.

    ``model`` names the library of the model, and ``data`` the source of its rows (`benchmarks._data`).
    """

    rows: int = 100_000
    trees: int = 500
    depth: int | None = 6
    features: int = 10
    background: int = 20_000
    train: int = 20_000
    leaves: int | None = None
    model: str = "xgboost"
    data: str = "runtime"

    def capped(self, **limits: int) -> Size:
        """Return a size that is at most as large as the limits; what has no limit stays so."""
        now = {name: getattr(self, name) for name in limits}
        return replace(
            self, **{name: min(limit, now[name]) for name, limit in limits.items() if now[name] is not None}
        )

    def __str__(self) -> str:
        values = [(f.name, getattr(self, f.name), f.default) for f in fields(self)]
        numbers = [f"{name} {value:,}" for name, value, _ in values if isinstance(value, int)]
        purity = ["trees grown to purity"] if self.depth is None and self.leaves is None else []
        words = [
            f"{name} {value}" for name, value, usual in values if isinstance(value, str) and value != usual
        ]
        return ", ".join([*numbers, *purity, *words])


@dataclass
class Data:
    """Hold rows to explain, a background, training rows, and a model that is fitted on them."""

    size: Size
    threads: int
    X: NDArray[np.float32]
    background: NDArray[np.float32]
    train: NDArray[np.float32]
    y: NDArray[np.float64]
    model: Any


Call = Callable[[int], Any]


class Skipped(Exception):
    """Signal that a contender cannot run here; the message names the reason."""


@dataclass(frozen=True)
class Contender:
    """Describe one way to do the work.

    Parameters
    ----------
    label : str
    prepare : callable
        ``prepare(data)`` does the untimed part, and returns ``call(n)``, which does the work for the first n rows.
    comparable : callable or None
        ``comparable(result)`` returns the array, or dict of arrays, that is compared with the other contenders.
        None marks a unit of time (for instance the model's prediction), whose result is not comparable.
    precision : type
        Float type in which the contender adds up.
    by_rows : bool
        Whether the work depends on the number of rows. If so, a slow contender is timed on fewer rows.
    note : str
    """

    label: str
    prepare: Callable[[Data], Call]
    comparable: Callable[[Any], Any] | None = lambda result: result
    precision: type[np.floating[Any]] = np.float32
    by_rows: bool = True
    note: str = ""


@dataclass(frozen=True)
class Target:
    """Describe a target.

    ``value`` turns the seconds of all contenders, with one entry per repeat, into numbers to compare with ``limit``.
    A target of a sweep belongs to one of its sizes, or to all if ``every_size`` is set.
    """

    text: str
    value: Callable[[dict[str, NDArray[np.float64]]], NDArray[np.float64]]
    limit: float
    at_least: bool = True
    needs: tuple[str, ...] = ()
    every_size: bool = False

    def met(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


def times_faster(factor: float, peer: str, contender: str = "skglex") -> Target:
    """Return the target that a contender is so many times faster than a peer."""
    return Target(
        f"at least {factor:g} times faster than {peer}",
        lambda seconds: seconds[peer] / seconds[contender],
        factor,
        needs=(peer, contender),
    )


def first_of(peers: tuple[str, ...], contender: str) -> Target:
    """Return the target that a contender is faster than every peer that finishes, at every size."""

    def value(seconds: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        finished = [np.median(seconds[peer]) for peer in peers if peer in seconds]
        return min(finished, default=np.inf) / seconds[contender]

    return Target(
        f"{contender}: faster than every peer that finishes", value, 1, needs=(contender,), every_size=True
    )


def within(limit: float, unit: str, contender: str = "skglex") -> Target:
    """Return the target that a contender takes at most so many times the time of a unit."""
    return Target(
        f"{contender}: at most {limit:g} times the time of {unit}",
        lambda seconds: seconds[contender] / seconds[unit],
        limit,
        at_least=False,
        needs=(unit, contender),
    )


def under(limit: float, contender: str = "skglex") -> Target:
    """Return the target that a contender takes at most so many seconds."""
    return Target(
        f"{contender}: at most {limit:g} s",
        lambda seconds: seconds[contender],
        limit,
        at_least=False,
        needs=(contender,),
    )


@dataclass(frozen=True)
class Recorded:
    """Hold CPU seconds of another machine, for software that does not run here, and the contender to compare with."""

    label: str
    cpu_seconds: float
    contender: str


@dataclass(frozen=True)
class Case:
    """Describe work of one kind; all contenders are compared with the first one.

    With ``axis`` and ``values`` the case is a sweep: this field of the size, and the ``linked`` fields, get all the
    values one after another. The picture ``figure`` draws it. ``quick`` has limits for tiny sizes of its own.
    """

    name: str
    group: str
    title: str
    size: Size
    contenders: tuple[Contender, ...]
    targets: tuple[Target, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    axis: str = ""
    values: tuple[int, ...] = ()
    linked: tuple[str, ...] = ()
    figure: str = ""
    threads: int | None = None
    memory: bool = True
    quick: Mapping[str, int] = field(default_factory=dict)

    def sizes(self) -> Iterator[Size]:
        """Yield the size, or all sizes of a sweep."""
        if not self.axis:
            yield self.size
        for value in self.values:
            yield replace(self.size, **dict.fromkeys((self.axis, *self.linked), value))
