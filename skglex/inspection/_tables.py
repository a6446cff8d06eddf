"""Write results as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained


def label_columns(
    view: Explained, name: str, values: NDArray[Any], *, scale: str = "margin"
) -> dict[str, NDArray[Any]]:
    """Name values of shape (n_rows, n_outputs) as columns: ``name``, or one ``label__name`` per output."""
    labels = view.response_labels if scale == "response" else view.output_labels
    if labels is None:
        return {name: values[:, 0]}
    return {f"{label}__{name}": values[:, o] for o, label in enumerate(labels)}


def as_table(columns: dict[str, Any]) -> Any:
    """Return a pandas data frame if pandas is installed, else a dict of arrays."""
    try:
        import pandas as pd
    except ImportError:
        return {name: np.asarray(values) for name, values in columns.items()}
    return pd.DataFrame(columns)
