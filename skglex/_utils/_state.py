"""What the estimators hold: written with a schema number, and put back as it was where a fit fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

from sklearn.utils import Bunch

from skglex._version import __version__

# Raised whenever attributes of fitted estimators change so that older files cannot be used as they are.
SCHEMA = 1

Fit = TypeVar("Fit", bound=Callable[..., Any])


class VersionedState:
    """Mixin of estimators whose pickled state says which version wrote it."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        if "background_" in state:  # a dict, which skops trusts
            state = {**state, "background_": dict(state["background_"])}
        return {**state, "_skglex_schema": SCHEMA, "_skglex_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        check_schema(
            state.pop("_skglex_schema", None),
            state.pop("_skglex_version", None),
            SCHEMA,
            f"this {type(self).__name__}",
        )
        if "background_" in state:
            state["background_"] = Bunch(**state["background_"])
        self.__dict__.update(state)


def check_schema(schema: Any, writer: Any, known: int, what: str) -> None:
    """Raise unless a file's schema number is the known one; say which version reads it."""
    if schema == known and not isinstance(schema, bool):
        return
    if not isinstance(schema, int) or isinstance(schema, bool) or not isinstance(writer, str):
        raise ValueError(
            f"{what} has no schema number: it was written before skglex 0.1.0, or by another program. Fit again"
        )
    raise ValueError(
        f"{what} was written by skglex {writer[:40]} (schema {schema}), and this is skglex {__version__} "
        f"(schema {known}). Load it with skglex {writer[:40]}, or fit again"
    )


def restore_on_failure(fit: Fit) -> Fit:
    """A ``fit`` that leaves the estimator as it was if it raises or is interrupted."""

    @wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.__dict__.copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException:  # an interrupt, too
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return wrapper  # type: ignore[return-value]


class PlainState:
    """Saved with partial functions and sets as tuples: skops would have users trust all of their types."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: _to_plain(value) for name, value in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: _from_plain(value) for name, value in state.items()})


def _to_plain(value: Any) -> Any:
    if isinstance(value, partial):
        return "partial", value.func, list(value.args), value.keywords
    if isinstance(value, frozenset):
        return "frozenset", sorted(value)
    return {key: _to_plain(v) for key, v in value.items()} if isinstance(value, dict) else value


def _from_plain(value: Any) -> Any:
    match value:
        case ("partial", function, args, keywords):
            return partial(function, *args, **keywords)
        case ("frozenset", members):
            return frozenset(members)
    return {key: _from_plain(v) for key, v in value.items()} if isinstance(value, dict) else value
