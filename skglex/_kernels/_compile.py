"""numba's ``njit``, which goes without a cache where there is no place for one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As ``numba.njit``: a package in a read-only directory, for a user without a home, compiles in every process."""

    def compile_lazily(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
        _warn_once()
        return numba.njit(**{**options, "cache": False})(function)

    return compile_lazily


@cache
def _warn_once() -> None:
    warnings.warn(
        "there is no place to keep compiled kernels, so every process compiles them anew, which takes seconds: set "
        "NUMBA_CACHE_DIR to a directory that only you can write to",
        stacklevel=3,
    )
