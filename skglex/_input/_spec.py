"""How a model takes its input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skglex._utils import PlainState

# LightGBM counts values up to this size as zero.
LARGEST_ZERO = float(np.float32(1e-35))


@dataclass(frozen=True)
class InputSpec(PlainState):
    """How a model takes its input.

    Attributes
    ----------
    n_features : int
    feature_names : list of str, or None
        The columns that the model was trained on, where it knows them.
    categories : mapping of int to ndarray
        Category values by code, for the features whose data-frame categories the model maps to codes itself.
    frame_categories : list of ndarray, or None
        The same for a model that knows their order among the categorical columns of a data frame, not the columns.
    unknown_is_missing : bool
        Whether a category that is not among ``categories`` counts as missing (else it is refused).
    encoders : mapping of int to callable
        From a column of raw categories (of an array or of a data frame) to codes, -1 for a category that is in no
        split, for the features whose categories the model encodes itself without keeping them.
    missing : float
        The value that counts as missing, besides NaN.
    sparse_is_missing : bool, or None
        Whether entries that a sparse matrix does not store are missing (else 0); None: sparse matrices are refused.
    by_value : bool
        Whether categories count by their value in every container: a data frame's that the model does not keep
        are numbers then (else codes), and arrays hold values of those that it keeps (else their codes).
    finite : {False, "allow-nan", True}
        Whether the model refuses infinite values (``"allow-nan"``), or missing ones too (True).
    missing_zeros : frozenset of int
        Features whose zeros are missing, values up to ``LARGEST_ZERO`` in size among them.
    truncates_codes : bool
        Whether a category's code is cut off towards zero, so that -0.5 is 0 (else negative values are no category).
    integers_as_float32 : bool
        Whether arrays of other numbers than float64 and float32 are cast to float32.
    spaces_become : str
        What the model writes for a space in the names of data-frame columns.
    """

    n_features: int
    feature_names: list[str] | None = None
    categories: Mapping[int, NDArray[Any]] = field(default_factory=dict)
    frame_categories: list[NDArray[Any]] | None = None
    unknown_is_missing: bool = False
    encoders: Mapping[int, Callable[[Any], NDArray[np.float64]]] = field(default_factory=dict)
    missing: float = np.nan
    sparse_is_missing: bool | None = False
    by_value: bool = False
    finite: bool | Literal["allow-nan"] = False
    missing_zeros: frozenset[int] = frozenset()
    truncates_codes: bool = False
    integers_as_float32: bool = False
    spaces_become: str = " "
