"""Make treelite's models picklable."""

from __future__ import annotations

import copyreg
import sys
from typing import Any


def register_treelite_pickling() -> None:
    """Let `copy`, `pickle` and scikit-learn's `clone` handle treelite's models.

    Without treelite in the process there are no such models, so that treelite is not imported here.
    """
    if "treelite" in sys.modules:
        import treelite

        copyreg.pickle(treelite.Model, _reduce)


def _reduce(model: Any) -> tuple[Any, tuple[bytes]]:
    # The model is a pointer, which cannot be copied; its serialized bytes can.
    return type(model).deserialize_bytes, (bytes(model.serialize_bytes()),)
