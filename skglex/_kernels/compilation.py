"""Compile kernels with Numba, into a cache that all environments of a user share."""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.types import unliteral

_Function = Callable[..., Any]
_config: Any = numba.config


def kernel(function: _Function) -> Any:
    """Compile a function that Python calls."""
    return _compile(function)


def helper(function: _Function) -> Any:
    """Compile a function that only kernels call, without the wrapper for calls from Python.

    The wrapper unpacks every array of every argument, and takes longer to compile than a small function.
    """
    return _compile(function, no_cpython_wrapper=True)


def inlined(function: _Function) -> Any:
    """Compile a function into its callers: the only one, or those of a short loop that a call would make slower.

    A call passes many arrays, and its code would be compiled twice.
    """
    return _compile(function, inline="always")


def report_compilations(verbose: int) -> None:
    """Say from now on, or do not say, when kernels have to be compiled."""
    _Cache.report = bool(verbose)


def _compile(function: _Function, **options: Any) -> Any:
    # No kernel is called from C, so none gets a wrapper for that.
    options |= {"nogil": True, "no_cfunc_wrapper": True}
    compiled: Any = numba.njit(**options)(function)
    if _config.DISABLE_JIT:
        return compiled
    vars(compiled)["get_call_template"] = partial(_without_literals, compiled.get_call_template)
    if cache_folder() is None:
        _warn_once()
    else:
        vars(compiled)["_cache"] = _Cache(function)
    return compiled


def _without_literals(template: _Function, args: Any, kws: Any) -> Any:
    """Find what a kernel calls for types of arguments.

    Numba has a type of its own for a number in the code, such as the 0 that a counter starts with, and would compile a
    helper for this type, and once more for other numbers.
    """
    return template(tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()})


@cache
def cache_folder() -> Path | None:
    """Return the folder of compiled kernels, or None if no folder can be written.

    Its name is a hash of the sources of all kernels and of the versions that the machine code depends on. Numba itself
    only looks at the file of a kernel, and would keep the old code of helpers in other files.
    """
    package = Path(__file__).parents[1]
    sources = sorted(path for path in package.rglob("*.py") if "_kernels" in path.parts)
    if not sources:  # The package was imported from an archive.
        return None
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag)
    digest.update(repr(versions).encode())
    chosen = _config.CACHE_DIR
    for root in [Path(chosen)] if chosen else [_user_cache(), package / "_kernels" / "__pycache__"]:
        if root is None:
            continue
        folder = root / "skglex" / digest.hexdigest()[:20]
        with suppress(OSError):
            root.mkdir(parents=True, exist_ok=True)
            for path in (folder.parent, folder):
                path.mkdir(mode=0o700, exist_ok=True)
            if chosen or _is_private(folder):
                return folder
    return None


def _user_cache() -> Path | None:
    """Return the folder of the user's caches, or None if the user has no home."""
    with suppress(RuntimeError):
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return None


def _is_private(folder: Path) -> bool:
    """Return whether only the user can write to a folder and replace it: loading compiled code runs it."""
    if not hasattr(os, "getuid"):
        return True
    found = [path.stat() for path in (folder, folder.parent)]
    return all(s.st_uid == os.getuid() and not s.st_mode & 0o022 for s in found) and os.access(
        folder, os.W_OK
    )


class _Locator:
    """Tell Numba where it caches a kernel."""

    def __init__(self, function: _Function) -> None:
        self._py_file = function.__code__.co_filename
        self._name = f"{function.__module__}-{function.__code__.co_firstlineno}"

    @classmethod
    def from_function(cls, function: _Function, path: str) -> _Locator:
        return cls(function)

    def ensure_cache_path(self) -> None:
        pass

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        # The name of the folder already depends on the source.
        return ""

    def get_disambiguator(self) -> str:
        return self._name


class _CacheFiles(CompileResultCacheImpl):
    """Name the files of a cached kernel."""

    _locator_classes: Any = (_Locator,)


class _Cache(FunctionCache):
    """Load a kernel from the cache, or say that it has to be compiled."""

    _impl_class = _CacheFiles
    report = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        # Processes that compile at the same time may overwrite each other's files.
        if found is not None and found.signature.args == tuple(sig):
            return found
        if _Cache.report:
            _Cache.report = False
            sys.stderr.write(f"[skglex] compiling kernels, once per version, into {cache_folder()}\n")
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):  # The folder may be read-only, or the disk full.
            super().save_overload(sig, data)


@cache
def _warn_once() -> None:
    warnings.warn(
        "there is no writable directory for compiled kernels, so every process compiles them again, which takes "
        "seconds. Set NUMBA_CACHE_DIR to a directory that only you can write to",
        stacklevel=5,
    )
