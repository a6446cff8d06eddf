"""Import libraries that only some plots and exports need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_optional(module: str, extra: str) -> Any:
    """Import a module; if that fails, raise an error that names the extra of skglex which installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this function needs {module.partition('.')[0]}, which could not be imported ({error}). Install it with "
            f"pip install 'skglex[{extra}]'"
        ) from error
