"""Save the state of estimators with a schema number, and restore it when a fit fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial, wraps
from typing import Any, TypeVar

from sklearn.utils import Bunch

from skglex._version import __version__

# Increase this number when the attributes of fitted estimators change and older files can no longer be used.
SCHEMA = 2

Fit = TypeVar("Fit", bound=Callable[..., Any])


class VersionedState:
    """Add the schema number and the version of skglex to the pickled state of an estimator."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        if "background_" in state:
            # skops trusts a dict, but not a Bunch.
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


def check_schema(schema: Any, writer: Any, supported: int, name: str) -> None:
    """Raise unless a file has the supported schema number; the error names the version that can read the file."""
    if schema == supported and not isinstance(schema, bool):
        return
    if not isinstance(schema, int) or isinstance(schema, bool) or not isinstance(writer, str):
        raise ValueError(
            f"{name} has no schema number. It was written before skglex 0.1.0, or by another program. Fit again"
        )
    raise ValueError(
        f"{name} was written by skglex {writer[:40]} (schema {schema}), but this is skglex {__version__} "
        f"(schema {supported}). Load it with skglex {writer[:40]}, or fit again"
    )


def restore_on_failure(fit: Fit) -> Fit:
    """Wrap ``fit`` so that the estimator keeps its previous state if ``fit`` raises or is interrupted."""

    @wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.__dict__.copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException:  # A KeyboardInterrupt must restore the state too.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return wrapper  # type: ignore[return-value]


def without_cached(instance: Any) -> dict[str, Any]:
    """Return the attributes of an object without its cached properties, which a copy computes again.

    The state, and so the bytes and the hash of a saved object, then do not depend on what was looked at before.
    """
    kind = type(instance)
    return {
        name: value
        for name, value in vars(instance).items()
        if not isinstance(getattr(kind, name, None), cached_property)
    }


class PlainState:
    """Save partial functions and sets as tuples, since skops would make users trust each of their types."""

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
    # Arrays of NumPy 2.5 and later match patterns of sequences, too.
    if isinstance(value, tuple):
        match value:
            case ("partial", function, args, keywords):
                return partial(function, *args, **keywords)
            case ("frozenset", members):
                return frozenset(members)
    return {key: _from_plain(v) for key, v in value.items()} if isinstance(value, dict) else value
