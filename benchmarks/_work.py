"""What a benchmark is made of: sizes, data, ways to do the work, targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Size:
    """The size of the work; ``depth=None`` is a scikit-learn random forest grown to purity."""

    rows: int = 100_000
    trees: int = 500
    depth: int | None = 6
    features: int = 10
    background: int = 20_000
    train: int = 20_000

    def capped(self, **limits: int) -> Size:
        """No larger than the limits."""
        small = {name: min(limit, getattr(self, name) or limit) for name, limit in limits.items()}
        if self.depth is None:
            small["depth"] = None
        return replace(self, **small)

    def __str__(self) -> str:
        said = ((f.name, getattr(self, f.name)) for f in fields(self))
        return ", ".join(f"{name} {'to purity' if value is None else f'{value:,}'}" for name, value in said)


@dataclass
class Data:
    """Rows to explain, a background, training rows, and a model fitted on these."""

    size: Size
    threads: int
    X: NDArray[np.float32]
    background: NDArray[np.float32]
    train: NDArray[np.float32]
    y: NDArray[np.float64]
    model: Any


Call = Callable[[int], Any]


class Skipped(Exception):
    """A way that is not to be had here; the message says why."""


@dataclass(frozen=True)
class Way:
    """One way to do the work.

    Parameters
    ----------
    label : str
    prepare : callable
        ``prepare(data)`` does what is not timed and returns ``call(n)``, the work on the first n rows.
    common : callable or None
        ``common(result)``: the array, or dict of arrays, that all ways have in common. None for a unit of time
        that the others are related to (say the model's own prediction), whose result is another one.
    precision : type
        Of its sums.
    by_rows : bool
        Whether n means anything to it. If so, slow ways are timed on fewer rows.
    note : str
    """

    label: str
    prepare: Callable[[Data], Call]
    common: Callable[[Any], Any] | None = lambda result: result
    precision: type[np.floating[Any]] = np.float32
    by_rows: bool = True
    note: str = ""


@dataclass(frozen=True)
class Target:
    """``value`` of the seconds of every way (one number per repeat), and where it has to be."""

    text: str
    value: Callable[[dict[str, NDArray[np.float64]]], NDArray[np.float64]]
    limit: float
    at_least: bool = True
    needs: tuple[str, ...] = ()

    def met(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


def times_faster(factor: float, peer: str, ours: str = "skglex") -> Target:
    return Target(
        f"at least {factor:g} times faster than {peer}",
        lambda seconds: seconds[peer] / seconds[ours],
        factor,
        needs=(peer, ours),
    )


def within(limit: float, unit: str, ours: str = "skglex") -> Target:
    return Target(
        f"{ours}: at most {limit:g} times the time of {unit}",
        lambda seconds: seconds[ours] / seconds[unit],
        limit,
        at_least=False,
        needs=(unit, ours),
    )


def under(limit: float, ours: str = "skglex") -> Target:
    return Target(
        f"{ours}: at most {limit:g} s", lambda seconds: seconds[ours], limit, at_least=False, needs=(ours,)
    )


@dataclass(frozen=True)
class Recorded:
    """CPU seconds of something that does not run here, on another machine, and the way it is set against."""

    label: str
    cpu_seconds: float
    ours: str


@dataclass(frozen=True)
class Case:
    """Work of one kind; the first way is the one that the others are compared with.

    ``axis`` and ``values`` make it a sweep over one field of its size, and over the ``linked`` ones with it, drawn in
    the picture ``figure``.
    """

    name: str
    group: str
    title: str
    size: Size
    ways: tuple[Way, ...]
    targets: tuple[Target, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    axis: str = ""
    values: tuple[int, ...] = ()
    linked: tuple[str, ...] = ()
    figure: str = ""
    threads: int | None = None
    memory: bool = True

    def sizes(self) -> Iterator[Size]:
        if not self.axis:
            yield self.size
        for value in self.values:
            yield replace(self.size, **dict.fromkeys((self.axis, *self.linked), value))


def prepare(size: Size, threads: int) -> Data:
    """The data of the paper's run-time experiment, and a model, fitted on one thread: the same everywhere."""
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
