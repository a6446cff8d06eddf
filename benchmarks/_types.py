"""Describe benchmarks: sizes, data, contenders, targets and cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Size:
    """Describe the size of the work; ``depth=None`` means a scikit-learn random forest grown to purity."""

    rows: int = 100_000
    trees: int = 500
    depth: int | None = 6
    features: int = 10
    background: int = 20_000
    train: int = 20_000

    def capped(self, **limits: int) -> Size:
        """Return a size that is at most as large as the limits."""
        small = {name: min(limit, getattr(self, name) or limit) for name, limit in limits.items()}
        if self.depth is None:
            small["depth"] = None
        return replace(self, **small)

    def __str__(self) -> str:
        values = ((f.name, getattr(self, f.name)) for f in fields(self))
        return ", ".join(f"{name} {'to purity' if value is None else f'{value:,}'}" for name, value in values)


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
    """

    text: str
    value: Callable[[dict[str, NDArray[np.float64]]], NDArray[np.float64]]
    limit: float
    at_least: bool = True
    needs: tuple[str, ...] = ()

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
    values one after another. The picture ``figure`` draws it.
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

    def sizes(self) -> Iterator[Size]:
        """Yield the size, or all sizes of a sweep."""
        if not self.axis:
            yield self.size
        for value in self.values:
            yield replace(self.size, **dict.fromkeys((self.axis, *self.linked), value))


def prepare(size: Size, threads: int) -> Data:
    """Return the data of the paper's run-time experiment, and a model.

    The model is fitted on one thread, so that it is the same on every machine.
    """
    from xgboost import XGBRegressor

    from skglex.datasets import make_runtime

    def rows(n: int, seed: int) -> NDArray[np.float32]:
        return make_runtime(n, size.features, random_state=seed)[0].astype(np.float32)

    train, y = make_runtime(size.train, size.features, random_state=0)
    train = train.astype(np.float32)
    background = train[: size.background] if size.background <= size.train else rows(size.background, 2)
    if size.depth is None:
        from sklearn.ensemble import RandomForestRegressor

        model = RandomForestRegressor(size.trees, n_jobs=1, random_state=0)
    else:
        model = XGBRegressor(
            n_estimators=size.trees, max_depth=size.depth, learning_rate=0.1, n_jobs=1, random_state=0
        )
    model.fit(train, y).set_params(n_jobs=threads)
    return Data(size, threads, rows(size.rows, 1), background, train, y, model)
