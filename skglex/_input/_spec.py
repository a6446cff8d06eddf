"""Describe how a model reads its input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skglex._utils import PlainState

# LightGBM treats values up to this magnitude as zero.
LARGEST_ZERO = float(np.float32(1e-35))


@dataclass(frozen=True)
class InputSpec(PlainState):
    """Describe how a model reads its input.

    Attributes
    ----------
    n_features : int
        Number of columns that the model was trained on.
    feature_names : list of str, or None
        Names of these columns, if the model stores them.
    categories : mapping of int to ndarray
        For each feature whose data-frame categories the model itself maps to codes: the category of every code.
    frame_categories : list of ndarray, or None
        The same for a model that stores only the order of the categorical columns of a data frame, not their
        positions.
    unknown_is_missing : bool
        Whether a category that is not in ``categories`` counts as missing. Otherwise it raises an error.
    encoders : mapping of int to callable
        For each feature whose categories the model encodes without storing them: a function from a column of raw
        categories (of an array or of a data frame) to codes. The code is -1 for a category that no split contains.
    derived : tuple of tuple of int
        For each column that the model computes from several of its columns, the positions of these. Derived columns
        have the positions from ``n_features`` on.
    derived_borders : mapping of int to ndarray of float32
        For each numeric feature of a derived column, the borders at which derived columns change with it.
    derive : callable, or None
        A function from rows to the derived columns: shape (n_samples, n_derived).
    missing : float
        The value that counts as missing, besides NaN.
    sparse_is_missing : bool, or None
        Whether the unstored entries of a sparse matrix are missing (True) or 0 (False). None: sparse matrices raise
        an error.
    by_value : bool
        Whether the model compares categories by value in every container. Data-frame categories that the model does
        not store are then numbers (else codes), and arrays hold the values of stored categories (else their codes).
    finite : {False, "allow-nan", True}
        Whether the model rejects infinite values (``"allow-nan"``), or infinite and missing values (True).
    missing_zeros : frozenset of int
        Features whose zeros are missing, including values up to ``LARGEST_ZERO`` in magnitude.
    truncates_codes : bool
        Whether the model truncates category codes towards zero, so that -0.5 is 0. Otherwise a negative value is not
        a category.
    integers_as_float32 : bool
        Whether the model casts arrays of other dtypes than float64 and float32 to float32.
    spaces_become : str
        The string that replaces a space in the names of data-frame columns.
    """

    n_features: int
    feature_names: list[str] | None = None
    categories: Mapping[int, NDArray[Any]] = field(default_factory=dict)
    frame_categories: list[NDArray[Any]] | None = None
    unknown_is_missing: bool = False
    encoders: Mapping[int, Callable[[Any], NDArray[np.float64]]] = field(default_factory=dict)
    derived: tuple[tuple[int, ...], ...] = ()
    derived_borders: Mapping[int, NDArray[np.float32]] = field(default_factory=dict)
    derive: Callable[[Any], NDArray[np.float64]] | None = None
    missing: float = np.nan
    sparse_is_missing: bool | None = False
    by_value: bool = False
    finite: bool | Literal["allow-nan"] = False
    missing_zeros: frozenset[int] = frozenset()
    truncates_codes: bool = False
    integers_as_float32: bool = False
    spaces_become: str = " "
