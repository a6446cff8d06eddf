"""Compile with Numba; without a cache where there is no directory for one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate as ``numba.njit`` does, and drop the cache if Numba finds no place for it.

    That happens if the package is in a read-only directory and the user has no home. Kernels then compile in every
    process. No kernel is called from C, so none gets a wrapper for that.
    """
    options.setdefault("no_cfunc_wrapper", True)

    def compile_lazily(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
        _warn_once()
        return numba.njit(**{**options, "cache": False})(function)

    return compile_lazily


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call, without the wrapper for calls from Python.

    The wrapper unpacks every array of every argument, and takes longer to compile than a small function.
    """
    return njit(cache=True, nogil=True, no_cpython_wrapper=True)(function)


@cache
def _warn_once() -> None:
    warnings.warn(
        "Numba found no writable directory for compiled kernels, so every process compiles them again, which takes "
        "seconds. Set NUMBA_CACHE_DIR to a directory that only you can write to",
        stacklevel=3,
    )
