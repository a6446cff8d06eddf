"""Define what a reader returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skglex._input import InputSpec
from skglex._leaves import LeafEnsemble
from skglex._response import Response
from skglex._utils import PlainState


class ModelKind(NamedTuple):
    """Declare what a reader reads, as a row of the table in the documentation; texts are reStructuredText.

    Attributes
    ----------
    library : str
    classes : tuple of str
        The classes, with their public modules.
    margin : str
        What the components add up to.
    cover : str
        What path-dependent weights count.
    missing : str
        Which values are missing, and where they go.
    refused : str
        What is refused.
    """

    library: str
    classes: tuple[str, ...]
    margin: str
    cover: str
    missing: str
    refused: str = ""


@dataclass(frozen=True)
class SourceModel(PlainState):
    """Hold a model that was read into leaves.

    Attributes
    ----------
    ensemble : LeafEnsemble
        The leaves, whose sum is the margin.
    input : InputSpec
        How the model treats its input columns.
    margin : callable
        The library's own raw prediction of rows, of shape (n_samples,) or (n_samples, n_outputs).
    output : callable
        The library's own output for rows: probabilities of a classifier that has them, otherwise the prediction.
    response : Response
        How the margin becomes the output, labels and scores.
    offset_replaces : ndarray of shape (n_outputs,), or None
        What an offset of rows replaces in the margin: the base score, or 0 if the library adds the offset. None: the
        library has no offsets.
    with_missing : callable, or None
        For a model that does not store which value is missing: a function of this value, which reads the model again.
    with_survival : callable, or None
        For a survival model: a function of ``survival_output`` and ``times``, which reads the model again.
    """

    ensemble: LeafEnsemble
    input: InputSpec
    margin: Callable[[Any], NDArray[Any]]
    output: Callable[[Any], NDArray[Any]]
    response: Response
    offset_replaces: NDArray[np.float64] | None = None
    with_missing: Callable[[float], SourceModel] | None = None
    with_survival: Callable[[str, Any], SourceModel] | None = None
